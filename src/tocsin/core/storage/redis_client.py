"""Redis: one pool of connections, Lua scripts, and errors in plain sentences.

Nothing here blocks on the server's side: a reader that waits for messages opens a client of its own
without a read time-out (redis-py ends blocking reads after its `socket_timeout`).
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tocsin.core.errors import ConfigError, StoreUnavailableError

if TYPE_CHECKING:
    from redis.asyncio import Redis

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 3.0
MAX_CONNECTIONS = 16
# Script flags, ZMSCORE and `ZRANGE … BYSCORE` as they are used here.
OLDEST_VERSION = (7, 0)

Argument = str | bytes | int | float


@dataclass(frozen=True)
class Script:
    """A Lua script; the server keeps it under the hash of its text."""

    text: str

    @cached_property
    def sha(self) -> str:
        """Return the name under which the server knows the script."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


def load_script(folder: Path, name: str, *libraries: str, **constants: str | int) -> Script:
    """Return the script of the file `<name>.lua` in `folder`, behind its libraries, `.lua` files as well.

    `constants` become locals before all of them. A shebang with flags in the first line of the script stays the first.
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

    After such an error the call may have happened all the same, unless the server refused it.
    """

    def __init__(self, redis: "Redis", where: str, connections: int, answer_timeout_s: float) -> None:
        self.where = where  # without user and password
        # Over the whole call: waiting for a free connection and connecting come before the answer.
        self._timeout_s = answer_timeout_s + CONNECT_TIMEOUT_S / 2
        self.redis = redis  # for pipelines and subscriptions; answers are bytes
        # First come, first served; the library's own blocking pool lets a busy caller push in for ever.
        self._turns = asyncio.Semaphore(connections)
        self._execute: Callable[..., Awaitable[Any]] = redis.execute_command

    async def command(self, *words: Argument) -> Any:
        """Run one command and return its answer: text as bytes, and what redis-py knows as it makes it.

        HGETALL and INFO are dictionaries, for example; only the answers of scripts are always plain.
        """
        return await self._call(lambda: self._execute(*words))

    async def run(self, script: Script, keys: Sequence[Argument], args: Sequence[Argument]) -> Any:
        """Run a script as one transaction; the server need not have seen it before."""
        from redis.exceptions import NoScriptError

        async def call() -> Any:
            try:
                return await self._execute("EVALSHA", script.sha, len(keys), *keys, *args)
            except NoScriptError:  # the server was restarted
                return await self._execute("EVAL", script.text, len(keys), *keys, *args)

        return await self._call(call)

    async def _call(self, call: Callable[[], Awaitable[Any]]) -> Any:
        from redis.exceptions import ConnectionError as LostError

        try:
            async with asyncio.timeout(self._timeout_s), self._turns:
                try:
                    return await call()
                except LostError as error:
                    if "while writing" not in str(error):
                        raise
                    return await call()  # nothing was sent: that connection was left over from before a restart
        except Exception as error:  # sorted by `failure`, which returns what it does not know
            raise failure(error, self.where) from error

    async def info(self) -> dict[str, str]:
        """Return what the server tells of itself."""
        answer = await self.command("INFO")
        if isinstance(answer, dict):  # redis-py reads this answer itself
            return {str(name): str(value) for name, value in answer.items()}
        lines = bytes(answer).decode(errors="replace").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.redis.aclose()


def open_redis(
    url: str, *, connections: int = MAX_CONNECTIONS, answer_timeout_s: float = ANSWER_TIMEOUT_S
) -> RedisClient:
    """Return a client for `url`; it connects at the first call, and again whenever that is needed.

    Takes `redis://`, `rediss://` (TLS) and `unix://` addresses. Raises ConfigError for any other, and
    when the package is missing.
    """
    where = without_password(url)
    try:
        from redis.asyncio import ConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError:
        raise ConfigError("redis: package not installed", hint="run `pip install redis hiredis`") from None
    try:
        pool = ConnectionPool.from_url(
            url,
            protocol=2,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=answer_timeout_s,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError:
        raise ConfigError(f"{where} is not the address of a Redis", hint=_ADDRESS_HINT) from None
    return RedisClient(Redis.from_pool(pool), where, connections, answer_timeout_s)


_ADDRESS_HINT = "it looks like redis://:password@host:6379/0, rediss://… for TLS, or unix:///path?db=0"


def without_password(url: str) -> str:
    """Return the address for display: without user, password and options, with the database."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "the given address"
    if parts.scheme not in {"redis", "rediss", "unix"}:
        return "the given address"
    if parts.scheme == "unix":
        database = dict(parse_qsl(parts.query)).get("db", "")
        return f"unix://{parts.path}{'?db=' * bool(database)}{database}"
    shown = f"[{host}]" if ":" in host else host or "localhost"
    return f"{parts.scheme}://{shown}:{port or 6379}{parts.path.rstrip('/')}"


# What is in the answer, what it means, and what to do. The server's own words may quote a password or
# a user's name, so they are not repeated.
_RIGHTS = "give it `~tocsin* ~outbound:* &tocsin* &outbound:* +@all -@admin +info +config|get`"
_REFUSALS = (
    ("NOAUTH", "asks for a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("unauthenticated", "asks for a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("WRONGPASS", "refuses the user or the password", "correct REDIS_URL"),
    ("invalid username-password", "refuses the user or the password", "correct REDIS_URL"),
    ("AUTH <password> called without any password", "has no password set", "remove the password from REDIS_URL"),
    ("without any password configured", "has no password set", "remove the password from REDIS_URL"),
    (
        "NOPERM",
        "does not allow this user what is needed",
        _RIGHTS,
    ),
    ("READONLY", "is a read-only replica", "name the master in REDIS_URL"),
    ("OOM", "has reached its maxmemory and stores nothing more", "raise maxmemory, or prune what is not needed"),
    ("MISCONF", "cannot write to its disk and stores nothing more", "free some space; its log says more"),
    ("LOADING", "is still reading its data after a start", "nothing to do; it is tried again"),
    ("BUSY", "is busy with another client's script", "see `redis-cli SCRIPT KILL`"),
    ("MASTERDOWN", "has lost its master", "start the master, or name another one in REDIS_URL"),
    ("invalid DB index", "has no such database", "correct the number at the end of REDIS_URL"),
    ("DB index is out of range", "has no such database", "correct the number at the end of REDIS_URL"),
    ("unknown command", f"is older than {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]}", "update Redis"),
)
_CODES = {  # redis-py cuts the code off where it has a class for it
    "AuthenticationError": "WRONGPASS",
    "AuthenticationWrongNumberOfArgsError": "WRONGPASS",
    "AuthorizationError": "NOAUTH",
    "NoPermissionError": "NOPERM",
    "ReadOnlyError": "READONLY",
    "OutOfMemoryError": "OOM",
    "BusyLoadingError": "LOADING",
    "MasterDownError": "MASTERDOWN",
}


def failure(error: Exception, where: str) -> Exception:
    """Return what to raise for `error`: StoreUnavailableError for all that Redis or the network cause."""
    from redis.exceptions import ConnectionError as LostError
    from redis.exceptions import RedisError, ResponseError
    from redis.exceptions import TimeoutError as SilentError

    if any(isinstance(cause, TimeoutError | SilentError) for cause in _causes(error)):
        sentence = f"Redis at {where} does not answer in time"
        return StoreUnavailableError(sentence, hint="it is paused, overloaded or cut off; it is tried again")
    if not isinstance(error, RedisError | OSError):
        return error
    for words in (str(error), _CODES.get(type(error).__name__, "")):
        for sign, meaning, hint in _REFUSALS:
            if sign in words:
                return StoreUnavailableError(f"Redis at {where} {meaning}", hint=hint)
    if isinstance(error, ResponseError):
        return StoreUnavailableError(f"Redis at {where} refuses a command: {error}", hint="this is a bug; report it")
    if isinstance(error, LostError | OSError):
        sentence = f"Redis at {where} cannot be reached: {_reason(error)}"
        return StoreUnavailableError(sentence, hint="start it, or correct REDIS_URL")
    return StoreUnavailableError(f"Redis at {where} gives no usable answer: {error}")


def _reason(error: BaseException) -> str:
    """Return the system's message, without the address that the library prepends."""
    said = (cause.strerror for cause in _causes(error) if isinstance(cause, OSError) and cause.strerror)
    return next(said, "the connection was lost").lower()


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, what it came from, what that came from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


async def listens(url: str) -> bool:
    """Whether a server accepts connections at the address; importing a client to ask would cost 10 MB."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(0.5):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
