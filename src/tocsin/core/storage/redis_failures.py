"""What Redis answers instead of doing something, in plain sentences."""

from collections.abc import Iterator

from tocsin.core.errors import StoreUnavailableError

# Script flags, ZMSCORE and `ZRANGE … BYSCORE` as they are used here.
OLDEST_VERSION = (7, 0)

# What a user of Redis needs and no more; a test runs every script under it.
ACL_RULES = (
    "~tocsin* ~{tocsin* ~outbound:* &tocsin* &outbound:*"
    " -@all +@read +@write +@pubsub +@connection -@dangerous"
    " +eval +evalsha +time +wait +info +role +config|get +cluster|slots"
)

_RIGHTS = f"give it `{ACL_RULES}`"
# What is in the answer, what it means, and what to do. The server's own words may quote a password or
# a user's name, so they are not repeated.
REFUSALS = (
    ("NOAUTH", "asks for a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("Authentication required", "asks for a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("unauthenticated", "asks for a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("WRONGPASS", "refuses the user or the password", "correct REDIS_URL"),
    ("invalid username-password", "refuses the user or the password", "correct REDIS_URL"),
    ("AUTH <password> called without any password", "has no password set", "remove the password from REDIS_URL"),
    ("without any password configured", "has no password set", "remove the password from REDIS_URL"),
    ("NOPERM", "does not allow this user what is needed", _RIGHTS),
    ("READONLY", "is a read-only replica", "name the master in REDIS_URL"),
    ("OOM", "has reached its maxmemory and stores nothing more", "raise maxmemory, or prune what is not needed"),
    ("MISCONF", "cannot write to its disk and stores nothing more", "free some space; its log says more"),
    ("NOREPLICAS", "has fewer replicas than its min-replicas-to-write", "start the replicas"),
    ("LOADING", "is still reading its data after a start", "nothing to do; it is tried again"),
    ("BUSY", "is busy with another client's script", "see `redis-cli SCRIPT KILL`"),
    ("MASTERDOWN", "has lost its master", "start the master, or name another one in REDIS_URL"),
    ("CLUSTERDOWN", "is a cluster that does not work at present", "see `redis-cli cluster info`"),
    ("MOVED", "is part of a cluster", "write redis+cluster://host:6379 into REDIS_URL"),
    ("cluster support disabled", "is no cluster", "write redis://host:6379/0 into REDIS_URL"),
    ("No master found", "has no master, as its Sentinels say", "start one; or correct REDIS_URL"),
    ("invalid DB index", "has no such database", "correct the number at the end of REDIS_URL"),
    ("DB index is out of range", "has no such database", "correct the number at the end of REDIS_URL"),
    ("SELECT is not allowed in cluster mode", "has no such database", "a cluster has only database 0"),
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
    "ClusterDownError": "CLUSTERDOWN",
    "MovedError": "MOVED",
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
        for sign, meaning, hint in REFUSALS:
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
    import ssl

    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error)):
        return "its certificate does not verify; name your own authority with ?ssl_ca_certs=/path in REDIS_URL"
    said = (cause.strerror for cause in _causes(error) if isinstance(cause, OSError) and cause.strerror)
    return next(said, "the connection was lost").lower()


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, what it came from, what that came from."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
