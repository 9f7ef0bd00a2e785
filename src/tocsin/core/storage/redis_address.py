"""The address of a Redis: one server, a master that Sentinels know, or a cluster.

    redis://[user:password@]host:6379/0, rediss://… (TLS), unix:///path?db=0, valkey:// and valkeys:// alike
    redis+sentinel://[user:password@]host:26379,host2:26379/service/0, rediss+sentinel://…
    redis+cluster://[user:password@]host:6379,host2:6379, rediss+cluster://…

Options after `?` are those of redis-py, such as `ssl_ca_certs`; `sentinel_username` and `sentinel_password` are for
the Sentinels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

from tocsin.core.errors import ConfigError

SENTINEL, CLUSTER = "sentinel", "cluster"
SCHEMES = (
    "redis",
    "rediss",
    "unix",
    "valkey",
    "valkeys",
    *(f"redis{s}+{k}" for k in (SENTINEL, CLUSTER) for s in ("", "s")),
)
PORTS = {SENTINEL: 26379}
PORT = 6379
_UNKNOWN = "invalid address"
ADDRESS_HINT = (
    "use redis://:password@host:6379/0, rediss://… for TLS, unix:///path?db=0, "
    "redis+sentinel://host:26379,host2:26379/service/0, or redis+cluster://host:6379,host2:6379"
)

HostAndPort = tuple[str, int]
ParseUrl = Callable[[str], Mapping[str, Any]]  # returns redis-py's options for one server; raises ValueError


class _Split(NamedTuple):
    """The parts of an address; `path` begins with a slash, or is empty."""

    scheme: str
    user: str
    hosts: str
    path: str
    query: str


@dataclass(frozen=True)
class RedisAddress:
    """The address of a Redis; `shown` is its form without secrets."""

    shown: str
    kind: str = ""  # empty, SENTINEL or CLUSTER
    hosts: Sequence[HostAndPort] = ()
    service: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of a connection to a server
    sentinel_options: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of a connection to a Sentinel

    @property
    def database(self) -> int:
        """The number of the database."""
        return int(self.options.get("db") or 0)


def read_address(url: str, parse_url: ParseUrl) -> RedisAddress:
    """Parse an address; raise ConfigError if it is invalid."""
    shown = without_password(url)
    try:
        return _read(url, shown, parse_url)
    except (ValueError, TypeError):
        raise ConfigError(f"{shown} is not a valid Redis URL", hint=ADDRESS_HINT) from None


def _read(url: str, shown: str, parse_url: ParseUrl) -> RedisAddress:
    scheme, user, hosts, path, query = _split(url)
    if scheme not in SCHEMES:
        raise ValueError(scheme)
    plain, _, kind = scheme.replace("valkey", "redis").partition("+")
    words = dict(parse_qsl(query))
    told = {name: words.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    if words.get("ssl_cert_reqs", "required") != "required":
        raise ConfigError(
            "TLS without certificate verification is insecure", hint="trust your own CA: ?ssl_ca_certs=/path"
        )
    if not kind:
        options = _checked(parse_url(f"{plain}://{user}{hosts}{path}{_query(words)}"), path * (plain != "unix"))
        return RedisAddress(shown, options=options)
    service, _, database = path.strip("/").rpartition("/") if "/" in path.strip("/") else (path.strip("/"), "", "")
    if kind == CLUSTER and (service or database.strip("0")):
        raise ValueError("a cluster has only database 0")
    if kind == SENTINEL and not service:
        raise ValueError("the name of the service is missing")
    options = _checked(parse_url(f"{plain}://{user}host/{database}{_query(words)}"), database)
    places = [_host(host, PORTS.get(kind, PORT)) for host in hosts.split(",")]
    secure = {name: value for name, value in options.items() if name.startswith("ssl_")} | {"ssl": plain == "rediss"}
    sentinels = secure | {name: value for name, value in told.items() if value}
    return RedisAddress(shown, kind, places, unquote(service), options, sentinels if kind == SENTINEL else {})


def _checked(options: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the options without host and path; raise for a database that is not a number."""
    if path.strip("/") and not path.strip("/").isdigit():
        raise ValueError("the database must be a number")
    return dict(options)


def _query(words: Mapping[str, str]) -> str:
    return f"?{urlencode(words)}" if words else ""


def _split(url: str) -> _Split:
    """Split an address with any number of hosts, which `urlsplit` rejects."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator:
        raise ValueError("no scheme")
    rest, _, query = rest.partition("?")
    place, slash, path = rest.partition("/")
    user, at, hosts = place.rpartition("@")
    return _Split(scheme.lower(), user + at, hosts, slash + path, query)


def _host(text: str, default: int) -> HostAndPort:
    host, colon, port = text.strip().rpartition(":")
    if not colon or port.endswith("]"):
        host, port = text.strip(), ""
    host = host.strip("[]")
    if not host:
        raise ValueError("a host is missing")
    number = int(port) if port else default
    if not 0 < number < 65536:
        raise ValueError("invalid port")
    return host, number


def _shown_host(text: str, default: int) -> str:
    host, port = _host(text or "localhost", default)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def without_password(url: str) -> str:
    """Return the address for display, without user, password and options, but with the database."""
    try:
        scheme, _, hosts, path, query = _split(url)
        if scheme not in SCHEMES:
            return _UNKNOWN
        if scheme == "unix":
            database = dict(parse_qsl(query)).get("db", "")
            return f"unix://{path}{'?db=' * bool(database)}{database}"
        default = PORTS.get(scheme.partition("+")[2], PORT)
        shown = ",".join(_shown_host(host, default) for host in hosts.split(","))
    except ValueError:
        return _UNKNOWN
    return f"{scheme}://{shown}{path.rstrip('/')}"
