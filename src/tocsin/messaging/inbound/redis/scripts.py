"""The scripts of the Redis inbox, each one atomic step; `lua/inbox.lua` describes the keys.

The flag `allow-oom` allows accepted events to be processed while Redis is out of memory; only new events are refused
then.
"""

from pathlib import Path

from tocsin.core.storage.redis_client import load_script
from tocsin.core.storage.redis_time import TIME, micro
from tocsin.messaging.inbound.store import BODIES_KEPT_S, KEYS_KEPT_S

_LUA = Path(__file__).parent / "lua"
_KEYS_KEPT_US = micro(KEYS_KEPT_S)

ACCEPT = load_script(_LUA, "accept", TIME, "inbox", KEYS_KEPT_US=_KEYS_KEPT_US)
CLAIM = load_script(_LUA, "claim", TIME, "inbox")
BEGIN = load_script(_LUA, "begin", TIME, "inbox")
OUTCOME = load_script(_LUA, "outcome", TIME, "inbox")
FINISH = load_script(_LUA, "finish", TIME, "inbox")
ADOPT = load_script(_LUA, "adopt", TIME, "inbox")
SET_ASIDE = load_script(_LUA, "set_aside", TIME, "inbox")
COUNTS = load_script(_LUA, "counts", TIME, "inbox")
SEARCH = load_script(_LUA, "search", TIME, "inbox")
PRUNE = load_script(_LUA, "prune", TIME, "inbox", KEYS_KEPT_US=_KEYS_KEPT_US, BODIES_KEPT_US=micro(BODIES_KEPT_S))
TAKE_IN = load_script(_LUA, "take_in", TIME, "inbox")
REMOVE = load_script(_LUA, "remove", TIME, "inbox")
KEY_AGES = load_script(_LUA, "key_ages", TIME)
TAKE_KEYS = load_script(_LUA, "take_keys", TIME)
LEASE = load_script(_LUA, "lease", TIME)
UNLEASE = load_script(_LUA, "unlease", TIME)
