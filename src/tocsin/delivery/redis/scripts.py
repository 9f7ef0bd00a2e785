"""The scripts of the Redis queue, each one atomic step.

`lua/queue.lua` describes the keys. The flag `allow-oom` lets accepted deliveries finish while the memory of Redis is
full; only new ones are refused then.
"""

from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import FailureKind
from tocsin.core.storage.redis_client import load_script
from tocsin.core.storage.redis_time import TIME
from tocsin.delivery.model import (
    IDEMPOTENCY_S,
    KEYS_KEPT_S,
    LONGEST_HOLD_S,
    PROMPT_SCHEDULE_S,
    PROMPT_SOURCES,
    SCHEDULE_S,
    Delivery,
    DeliveryStatus,
    Policy,
    judge_abandoned,
)

_LUA = Path(__file__).parent / "lua"
_ANY = Delivery("", "", "", "", "", DeliveryStatus.SENDING, Policy.AT_LEAST_ONCE, created_at=0.0)
_LONGEST_HOLD_US = round(LONGEST_HOLD_S * 1_000_000)


def _said(delivery: Delivery) -> str:
    """Return the outcome for a delivery whose worker died."""
    return judge_abandoned(delivery, recognises_repeats=False).error


# Accepting
ENQUEUE = load_script(
    _LUA,
    "enqueue",
    TIME,
    "queue",
    IDEMPOTENCY_US=round(IDEMPOTENCY_S * 1_000_000),
    AMBIGUOUS=str(FailureKind.AMBIGUOUS),
)
RECORD = load_script(_LUA, "record", TIME, "queue")

# Sending
CLAIM = load_script(
    _LUA,
    "claim",
    TIME,
    "queue",
    "rules",
    "recover",
    LONGEST_HOLD_US=_LONGEST_HOLD_US,
    MAX_FAILURES=len(SCHEDULE_S),
    PROMPT_SOURCES=f" {' '.join(sorted(PROMPT_SOURCES))} ",
    MAX_PROMPT_FAILURES=len(PROMPT_SCHEDULE_S),
    SENT_AGAIN=_said(_ANY),
    OUTCOME_UNKNOWN=_said(replace(_ANY, policy=Policy.AT_MOST_ONCE)),
    AMBIGUOUS=str(FailureKind.AMBIGUOUS),
    LATE="not sent before it expired",
)
NEXT = load_script(_LUA, "next", TIME, "queue", "rules", LONGEST_HOLD_US=_LONGEST_HOLD_US)
PACE = load_script(_LUA, "pace", TIME, "queue", "rules", LONGEST_HOLD_US=_LONGEST_HOLD_US)
RENEW = load_script(_LUA, "renew", TIME, "queue")
PROGRESS = load_script(_LUA, "progress", TIME, "queue")
BEGIN_CHANGE = load_script(_LUA, "begin_change", TIME, "queue")
HOLD = load_script(_LUA, "hold", TIME, "queue")
FINISH = load_script(_LUA, "finish", TIME, "queue")
RELEASE = load_script(_LUA, "release", TIME, "queue")

# Moving between stores
TAKE_IN = load_script(_LUA, "take_in", TIME, "queue")
REMOVE = load_script(_LUA, "remove", TIME, "queue")

# Changes by people
REPLAY = load_script(_LUA, "replay", TIME, "queue")
DISMISS = load_script(_LUA, "dismiss", TIME, "queue")
RETRY = load_script(_LUA, "retry", TIME, "queue")
CANCEL = load_script(_LUA, "cancel", TIME, "queue")
PRUNE = load_script(_LUA, "prune", TIME, "queue", KEYS_KEPT_US=round(KEYS_KEPT_S * 1_000_000))

# Reading
GET = load_script(_LUA, "get")
LATEST = load_script(_LUA, "latest")
MATCHING = load_script(_LUA, "matching")
WHY = load_script(_LUA, "why", TIME, "queue")
SCAN = load_script(_LUA, "scan")
COUNT = load_script(_LUA, "count")
