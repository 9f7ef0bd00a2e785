"""Redis errors as plain sentences."""

from tocsin.core.errors import StoreUnavailableError, walk_causes

# For script flags, ZMSCORE, and `ZRANGE … BYSCORE` as used here.
OLDEST_VERSION = (7, 0)

# The least permissions that a Redis user needs; a test runs every script with them.
ACL_RULES = (
    "~tocsin* ~{tocsin* ~outbound:* &tocsin* &outbound:*"
    " -@all +@read +@write +@pubsub +@connection -@dangerous"
    " +eval +evalsha +time +wait +info +role +config|get +cluster|slots"
)

_RIGHTS = f"grant it `{ACL_RULES}`"
# A part of the error, its meaning, and the remedy. The server's own text is not repeated: it may quote a password or a
# user name.
REFUSALS = (
    ("NOAUTH", "requires a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("Authentication required", "requires a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("unauthenticated", "requires a password", "put it into REDIS_URL: redis://:password@host:6379/0"),
    ("WRONGPASS", "rejects the user or the password", "correct REDIS_URL"),
    ("invalid username-password", "rejects the user or the password", "correct REDIS_URL"),
    ("AUTH <password> called without any password", "has no password set", "remove the password from REDIS_URL"),
    ("without any password configured", "has no password set", "remove the password from REDIS_URL"),
    ("NOPERM", "denies this user a required command", _RIGHTS),
    ("READONLY", "is a read-only replica", "put the master into REDIS_URL"),
    ("OOM", "has reached its maxmemory limit and rejects new data", "raise maxmemory, or delete unneeded data"),
    (
        "MISCONF",
        "cannot write to its disk and rejects new data",
        "free some disk space; the log of Redis has the details",
    ),
    ("NOREPLICAS", "has fewer replicas than its min-replicas-to-write", "start the replicas"),
    ("LOADING", "is still loading its data", "wait; the operation is retried"),
    ("BUSY", "is busy with another client's script", "see `redis-cli SCRIPT KILL`"),
    ("MASTERDOWN", "has lost its master", "start the master, or put another one into REDIS_URL"),
    ("CLUSTERDOWN", "is a cluster that is currently down", "see `redis-cli cluster info`"),
    ("MOVED", "is part of a cluster", "write redis+cluster://host:6379 into REDIS_URL"),
    ("cluster support disabled", "is not a cluster", "write redis://host:6379/0 into REDIS_URL"),
    ("No master found", "has no master, according to Sentinel", "start one; or correct REDIS_URL"),
    ("invalid DB index", "does not have this database", "correct the number at the end of REDIS_URL"),
    ("DB index is out of range", "does not have this database", "correct the number at the end of REDIS_URL"),
    ("SELECT is not allowed in cluster mode", "does not have this database", "a cluster has only database 0"),
    ("unknown command", f"is older than {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]}", "update Redis"),
)
_CODES = {  # redis-py removes the code if it has a class for it
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
    """Return the exception to raise for `error`: StoreUnavailableError for every failure of Redis or the network."""
    from redis.exceptions import ConnectionError as LostError
    from redis.exceptions import RedisError, ResponseError
    from redis.exceptions import TimeoutError as SilentError

    if any(isinstance(cause, TimeoutError | SilentError) for cause in walk_causes(error)):
        sentence = f"Redis at {where} does not respond in time"
        return StoreUnavailableError(sentence, hint="it is paused, overloaded or unreachable; the operation is retried")
    if not isinstance(error, RedisError | OSError):
        return error
    for words in (str(error), _CODES.get(type(error).__name__, "")):
        for sign, meaning, hint in REFUSALS:
            if sign in words:
                return StoreUnavailableError(f"Redis at {where} {meaning}", hint=hint)
    if isinstance(error, ResponseError):
        return StoreUnavailableError(f"Redis at {where} rejects a command: {error}", hint="this is a bug; report it")
    if isinstance(error, LostError | OSError):
        sentence = f"cannot connect to Redis at {where}: {_reason(error)}"
        return StoreUnavailableError(sentence, hint="start it, or correct REDIS_URL")
    return StoreUnavailableError(f"Redis at {where} sent an invalid response: {error}")


def _reason(error: BaseException) -> str:
    """Return the system's message, without the address that the library prepends."""
    import ssl

    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in walk_causes(error)):
        return "its certificate could not be verified; trust your own CA with ?ssl_ca_certs=/path in REDIS_URL"
    said = (cause.strerror for cause in walk_causes(error) if isinstance(cause, OSError) and cause.strerror)
    return next(said, "connection lost").lower()
