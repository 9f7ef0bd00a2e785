"""`browser_profiles.yaml`: the profiles that there are."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    IntegerType,
    ListType,
    RecordType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.json_schema import either_schema
from tocsin.core.reading.yaml_file import parse_yaml, refuse_repeated
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.browser.model import NAME, NAME_RULE, BrowserDriver, BrowserKind, BrowserProfile

FILE_NAME = "browser_profiles.yaml"


def _path(text: str) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise ValueError("the current user has no home directory: use an absolute path") from None
    if not path.is_absolute() or not text.isprintable():
        raise ValueError("expected an absolute path, or a path that starts with ~/")
    return path


def _split(text: str) -> SplitResult:
    """Return the parts of an address; errors do not quote it, because it may contain credentials."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.port != 0 and text.isprintable() and " " not in text
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("expected a URL with a host, for example http://127.0.0.1:9222")
    return parts


def _endpoint(text: str) -> str:
    if _split(text).scheme not in {"http", "https", "ws", "wss"}:
        raise ValueError("expected a URL that starts with http://, https://, ws:// or wss://")
    return text


def _proxy(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in {"http", "https", "socks4", "socks5"}:
        raise ValueError("expected a URL that starts with http://, https://, socks4:// or socks5://")
    if "@" in parts.netloc:
        raise ValueError(
            "browsers do not accept a user and password here: they ask for them when they open the first page"
        )
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("expected only host and port, for example http://proxy.example.org:3128")
    return text


_PATH_TYPE = TextType(parse=_path, schema={"type": "string", "pattern": "^[/~]"})
_ENDPOINT = TextType(parse=_endpoint, schema={"type": "string", "pattern": "^([Hh][Tt][Tt][Pp]|[Ww][Ss])[Ss]?://"})
_PROXY = TextType(
    parse=_proxy,
    schema={"type": "string", "pattern": "^([Hh][Tt][Tt][Pp][Ss]?|[Ss][Oo][Cc][Kk][Ss][45])://[^@]*$"},
)
PROFILE = RecordType(
    (
        Field("name", TextType(pattern=NAME, rule=NAME_RULE), required=True, doc="Name of the profile"),
        Field("browser", ChoiceType(tuple(BrowserKind)), default="chromium", doc="Browser to use"),
        Field("driver", ChoiceType(tuple(BrowserDriver)), default="managed", doc="How the browser is started"),
        Field("user_data_dir", _PATH_TYPE, doc="Data directory of the browser"),
        Field("cdp_endpoint", _ENDPOINT, doc="Address of a browser that is not started by Tocsin"),
        Field("port", IntegerType(0, 65535), default=0, doc="Debugging port; 0 selects a free port"),
        Field("headless", BooleanType(), default=True, doc="Whether the browser runs without a window"),
        Field("default", BooleanType(), default=False, doc="Whether this is the default profile"),
        Field("proxy", _PROXY, doc="Proxy server"),
        Field("executable", _PATH_TYPE, doc="Program of the browser"),
        Field("sandbox", BooleanType(), default=True, doc="Whether the browser's sandbox is enabled"),
    )
)
_PROFILES = ListType(PROFILE)
_FILE = RecordType((Field("profiles", _PROFILES, default=(), doc="The profiles"),))


def profiles_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file: a mapping, or a plain list."""
    return either_schema(f"{FILE_NAME} of Tocsin", {"type": "array"}, _PROFILES, _FILE)


_MANAGED_ONLY = ("port", "headless", "proxy", "executable", "sandbox")


class ProfilesFile(WatchedFile[tuple[BrowserProfile, ...]]):
    """The profiles of the file, which is read again when it changes."""

    def __init__(self, path: Path, folder: Path) -> None:
        """`folder` has the directories of managed profiles that name no other one."""
        super().__init__(
            path, lambda content: parse_yaml(content, path, lambda root: _read(root, folder)), (), is_run=True
        )

    def all(self) -> dict[str, BrowserProfile]:
        """Return the active profiles by name."""
        return {profile.name: profile for profile in self.value}


def _read(root: Node, folder: Path) -> tuple[BrowserProfile, ...]:
    if root.absent or root.is_null:
        return ()
    # A plain list, as in triggers.yaml and watchers.yaml, means the same.
    records = _FILE.read(root)["profiles"] if root.as_items() is None else _PROFILES.read(root)
    for each in records:
        for reason in _mistakes(each):
            each.source.refuse(reason)
    refuse_repeated(records, "name", "the profile in line {} already has this name")
    refuse_repeated(records, "user_data_dir", "the profile in line {} already has this directory")
    refuse_repeated(records, "default", "the profile in line {} is already the default")
    refuse_repeated(records, "port", "the profile in line {} already has this port")
    return tuple(_profile(each, folder) for each in records)


def _mistakes(read: RecordValues[Node]) -> Iterator[str]:
    """Yield the errors of a profile as a whole."""
    written = {name for name, node in read.given.items() if not node.absent}
    if read["driver"] == BrowserDriver.MANAGED:
        if read["browser"] == BrowserKind.FIREFOX:
            yield "only chromium and chrome can be managed: Firefox has no compatible debugging port"
        if "cdp_endpoint" in written:
            yield "the endpoint of a managed browser is chosen automatically: remove cdp_endpoint, or set port"
        return
    for name in _MANAGED_ONLY:
        if name in written:
            yield f"{name} has no effect on a browser that Tocsin does not start: remove it, or set driver: managed"
    if read["driver"] == BrowserDriver.REMOTE:
        yield from _mistakes_of_remote(written)
    elif read["driver"] == BrowserDriver.EXISTING_SESSION:
        if not written & {"user_data_dir", "cdp_endpoint"}:
            yield "an existing session needs user_data_dir, cdp_endpoint or both"
        if read["cdp_endpoint"] and not _is_local(read["cdp_endpoint"]):
            yield "an existing session must be on this machine: use 127.0.0.1 in cdp_endpoint, or set driver: remote"


def _mistakes_of_remote(written: set[str]) -> Iterator[str]:
    if "user_data_dir" in written:
        yield "user_data_dir has no effect on a remote browser: remove it"
    if "cdp_endpoint" not in written:
        yield "a remote browser needs cdp_endpoint"


def _is_local(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _profile(read: RecordValues[Node], folder: Path) -> BrowserProfile:
    managed = read["driver"] == BrowserDriver.MANAGED
    return BrowserProfile(
        read["name"],
        BrowserKind(read["browser"] or "chromium"),
        BrowserDriver(read["driver"] or "managed"),
        read["user_data_dir"] or (data_directory(folder, read["name"]) if managed else None),
        read["cdp_endpoint"] or "",
        read["port"],
        read["headless"],
        read["default"],
        read["proxy"] or "",
        read["executable"],
        read["sandbox"],
    )


def data_directory(folder: Path, name: str) -> Path:
    """Return the data directory of a managed profile that names no other one."""
    return folder / name / "data"
