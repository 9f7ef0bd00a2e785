"""Redis: commands and Lua scripts on one server, a Sentinel's master or a cluster; errors as plain sentences.

No call blocks on the server longer than a call may take: a reader that waits for messages sets the limit in its
command, or subscribes.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.core.errors import ConfigError, StoreUnavailableError
from tocsin.core.storage.redis_address import CLUSTER, RedisAddress, read_address
from tocsin.core.storage.redis_failures import failure
from tocsin.core.storage.redis_routes import CONNECT_TIMEOUT_S, RedisRoute, Words, open_route, parse_url

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

T = TypeVar("T")
R = TypeVar("R")

ANSWER_TIMEOUT_S = 3.0
MAX_CONNECTIONS = 16
WAIT_S = 1.0  # for replicas

Argument = str | bytes | int | float

# Commands that need not wait for replicas.
_READS = frozenset(
    {"PING", "INFO", "CONFIG", "TIME", "ROLE", "CLUSTER", "SCAN", "TYPE", "EXISTS", "TTL", "PTTL"}
    | {"GET", "HGET", "HMGET", "HGETALL", "LRANGE", "LLEN", "XLEN", "XRANGE", "XREVRANGE", "XINFO", "ZCARD", "ZRANGE"}
    | {"SMEMBERS", "SISMEMBER", "LINDEX"}
    | {"PUBLISH", "PEXPIRE", "XREADGROUP"}  # their changes may be lost with the master
)
_KEYLESS = frozenset({"PING", "INFO", "CONFIG", "TIME", "ROLE", "CLUSTER", "SCAN", "PUBLISH", "CLIENT", "ACL", "KEYS"})
_PAIRS = frozenset({"HGETALL", "CONFIG"})


@dataclass(frozen=True)
class Script:
    """A Lua script, which the server caches under the hash of its text."""

    text: str
    fleeting: bool = False  # its changes may be lost with the master, such as counts towards a limit

    @cached_property
    def sha(self) -> str:
        """The hash under which the server caches the script."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    @cached_property
    def writes(self) -> bool:
        """Whether the script may make changes that replicas must have."""
        return not self.fleeting and "no-writes" not in self.text.partition("\n")[0]


def load_script(folder: Path, name: str, *libraries: str, **constants: str | int) -> Script:
    """Load the script of the file `<name>.lua` in `folder`, after its libraries, which are `.lua` files, too.

    Constants become locals before all of them. A shebang with flags in the first line of the script stays the first
    line.
    """
    text = _lua(folder, name)
    shebang, body = text.split("\n", 1) if text.startswith("#!") else ("", text)
    values = (f"local {constant} = {json.dumps(value, ensure_ascii=False)}" for constant, value in constants.items())
    parts = (shebang, *values, *(_lua(folder, library) for library in libraries), body)
    return Script("\n".join(part for part in parts if part))


def _lua(folder: Path, name: str) -> str:
    return (folder / f"{name}.lua").read_text(encoding="utf-8")


class RedisClient:
    """Commands and scripts on one Redis; every failure is a StoreUnavailableError.

    After such an error, the call may have taken effect, unless the server rejected it. With `wait_replicas`, a change
    that too few replicas confirm is such an error.
    """

    def __init__(
        self, route: RedisRoute, address: RedisAddress, connections: int, answer_timeout_s: float, wait_replicas: int
    ) -> None:
        self.where = address.shown  # without user and password
        self.database = address.database
        self.clustered = address.kind == CLUSTER
        self.wait_replicas = wait_replicas
        # For the whole call, including the wait for a free connection; connecting has additional time.
        self._timeout_s = answer_timeout_s + CONNECT_TIMEOUT_S / 2
        self._route = route
        # First come, first served.
        self._turns = asyncio.Semaphore(connections)
        self._wait: Words = ("WAIT", wait_replicas, round(min(WAIT_S, answer_timeout_s / 2) * 1000))

    async def command(self, *words: Argument) -> Any:
        """Run a command and return its reply, text as bytes; HGETALL and CONFIG return dictionaries."""
        name = str(words[0]).partition(" ")[0]
        answer = await self._call(_key_of(name, words), words, writes=name not in _READS)
        return _pairs(answer) if name in _PAIRS else answer

    async def run(self, script: Script, keys: Sequence[Argument], args: Sequence[Argument]) -> Any:
        """Run a script as one transaction, and load it first if the server does not have it.

        In a cluster, all keys must be in the slot of the first one.
        """
        from redis.exceptions import NoScriptError

        rest = (len(keys), *keys, *args)
        try:
            return await self._call(keys[0] if keys else None, ("EVALSHA", script.sha, *rest), writes=script.writes)
        except StoreUnavailableError as error:
            if not isinstance(error.__cause__, NoScriptError):
                raise
        # The server was restarted, or never loaded it.
        return await self._call(keys[0] if keys else None, ("EVAL", script.text, *rest), writes=script.writes)

    async def _call(self, key: Any, words: Words, *, writes: bool) -> Any:
        waits = writes and self.wait_replicas > 0
        try:
            async with asyncio.timeout(self._timeout_s) as limit, self._turns:
                allow = partial(self._allow, limit)
                answers = await self._route.exchange(key, (words, self._wait) if waits else (words,), allow)
            if isinstance(answers[0], Exception):
                raise answers[0]  # noqa: TRY301  # errors of the server are classified like any failure
            if waits:
                self._check_replicas(answers[1])
        except StoreUnavailableError:
            raise
        except Exception as error:  # classified by `failure`, which returns unknown errors unchanged
            raise failure(error, self.where) from error
        return answers[0]

    def _allow(self, limit: asyncio.Timeout, more_s: float) -> None:
        limit.reschedule(asyncio.get_running_loop().time() + self._timeout_s + more_s)

    def _check_replicas(self, answer: Any) -> None:
        if isinstance(answer, Exception):
            raise answer
        if answer < self.wait_replicas:
            raise StoreUnavailableError(
                f"Redis at {self.where} stored it on {answer} of the {self.wait_replicas} replicas required by "
                "REDIS_WAIT_REPLICAS: it is not accepted",
                hint="start the missing replicas, or lower REDIS_WAIT_REPLICAS; then repeat the request with the "
                "same key",
            )

    async def scan(self, pattern: str, *, kind: str = "", count: int = 1000) -> AsyncGenerator[list[bytes]]:
        """Yield the names of matching keys, some at a time, from all servers; a name may repeat."""
        options = ("TYPE", kind) if kind else ()
        for place in await self._places():
            cursor: Argument = 0
            while True:
                words = ("SCAN", cursor, "MATCH", pattern, "COUNT", count, *options)
                at, names = await self._call(place, words, writes=False)
                yield names
                cursor = int(at)
                if not cursor:
                    break

    async def info(self) -> dict[str, str]:
        """Return INFO of the server, in a cluster of any server."""
        return (await self.infos())[0]

    async def infos(self) -> list[dict[str, str]]:
        """Return INFO of each server that stores data."""
        answers = [await self._call(place, ("INFO",), writes=False) for place in await self._places()]
        texts = [bytes(answer).decode(errors="replace").splitlines() for answer in answers]
        return [dict(line.split(":", 1) for line in lines if ":" in line) for lines in texts]

    async def _places(self) -> list[Any]:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._route.places()
        except Exception as error:  # as in `_call`
            raise failure(error, self.where) from error

    def groups(self, keys: Sequence[str]) -> list[list[str]]:
        """Return the keys in groups that one command or script may access: one group, unless in a cluster."""
        found: dict[int, list[str]] = {}
        for key in keys:
            found.setdefault(self._route.slot(key), []).append(key)
        return list(found.values())

    def pubsub(self) -> "PubSub":
        """Return a subscription of redis-py on a separate connection; its errors go through `failure`."""
        return self._route.pubsub()

    async def aclose(self) -> None:
        await self._route.aclose()


def _key_of(name: str, words: Sequence[Argument]) -> Argument | None:
    if name == "XREADGROUP":
        return words[words.index("STREAMS") + 1]
    if name in {"EVAL", "EVALSHA"}:
        return words[3] if int(words[2]) else None
    if " " in str(words[0]) or name not in _KEYLESS:
        return words[1] if len(words) > 1 else None
    return None


def _pairs(answer: Any) -> Any:
    return dict(zip(answer[::2], answer[1::2], strict=True)) if isinstance(answer, list) else answer


def open_redis(
    url: str,
    *,
    answer_timeout_s: float = ANSWER_TIMEOUT_S,
    wait_replicas: int = 0,
) -> RedisClient:
    """Return a client for `url`; it connects at the first call, and reconnects when needed.

    Raises ConfigError for an address that `redis_address` cannot parse, and if the package is missing.
    """
    try:
        import redis as _  # noqa: F401  # to check that it is installed
    except ImportError:
        raise ConfigError("redis: package not installed", hint="run `pip install redis hiredis`") from None
    address = read_address(url, parse_url)
    return RedisClient(open_route(address), address, MAX_CONNECTIONS, answer_timeout_s, wait_replicas)


async def for_each(call: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
    """Call `call` for each item, as many concurrently as there are connections; return the results in order.

    One fsync of the server serves all concurrent calls.
    """
    answers: list[R] = []
    for first in range(0, len(items), MAX_CONNECTIONS):
        answers += await asyncio.gather(*map(call, items[first : first + MAX_CONNECTIONS]))
    return answers
