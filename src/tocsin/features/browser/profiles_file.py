"""`browser_profiles.yaml`: the profiles that there are."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from tocsin.core.errors import ConfigError
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
from tocsin.core.reading.value import DUPLICATE
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.browser.model import NAME, NAME_RULE, BrowserDriver, BrowserKind, BrowserProfile

FILE_NAME = "browser_profiles.yaml"


def _path(text: str) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise ValueError("this user has no home directory here: write the full path") from None
    if not path.is_absolute() or not text.isprintable():
        raise ValueError("expected a full path, or one that begins with ~/")
    return path


def _split(text: str) -> SplitResult:
    """Return the parts of an address; what is wrong is said without quoting it, for it may hold credentials."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.port != 0 and text.isprintable() and " " not in text
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("expected an address with a host, such as http://127.0.0.1:9222")
    return parts


def _endpoint(text: str) -> str:
    if _split(text).scheme not in {"http", "https", "ws", "wss"}:
        raise ValueError("expected an address that begins with http://, https://, ws:// or wss://")
    return text


def _proxy(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in {"http", "https", "socks4", "socks5"}:
        raise ValueError("expected an address that begins with http://, https://, socks4:// or socks5://")
    if "@" in parts.netloc:
        raise ValueError("a browser takes no user and password here: it asks for them when it opens the first page")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("expected no more than host and port, such as http://proxy.example.org:3128")
    return text


PROFILE = RecordType(
    (
        Field("name", TextType(pattern=NAME, rule=NAME_RULE), required=True, doc="What the profile is called"),
        Field("browser", ChoiceType(tuple(BrowserKind)), default="chromium", doc="Which browser it is"),
        Field("driver", ChoiceType(tuple(BrowserDriver)), default="managed", doc="Who starts the browser"),
        Field("user_data_dir", TextType(parse=_path), doc="The browser's data directory"),
        Field("cdp_endpoint", TextType(parse=_endpoint), doc="Where a browser that others start listens"),
        Field("port", IntegerType(0, 65535), default=0, doc="The debugging port; 0 is any that is free"),
        Field("headless", BooleanType(), default=True, doc="Whether it runs without a window"),
        Field("default", BooleanType(), default=False, doc="Whether it is meant where no profile is named"),
        Field("proxy", TextType(parse=_proxy), doc="The proxy through which it opens pages"),
        Field("executable", TextType(parse=_path), doc="The browser's program"),
        Field("sandbox", BooleanType(), default=True, doc="Whether pages are confined by the browser's sandbox"),
    )
)
_PROFILES = ListType(PROFILE)
_FILE = RecordType((Field("profiles", _PROFILES, default=(), doc="The profiles"),))
_MANAGED_ONLY = ("port", "headless", "proxy", "executable", "sandbox")


class ProfilesFile:
    """The profiles of the file, which is read again when it changes."""

    def __init__(self, path: Path, folder: Path) -> None:
        """`folder` is where managed profiles have their directories, unless they name another one."""
        self._file: WatchedFile[tuple[BrowserProfile, ...]] = WatchedFile(
            path, lambda content: parse_yaml(content, path, lambda root: _read(root, folder)), (), is_run=True
        )

    @property
    def path(self) -> Path:
        """Where the profiles are kept."""
        return self._file.path

    @property
    def problem(self) -> ConfigError | None:
        """Why the present file is not in force."""
        return self._file.problem

    def all(self) -> dict[str, BrowserProfile]:
        """Return the profiles by name."""
        return {profile.name: profile for profile in self._file.value}


def _read(root: Node, folder: Path) -> tuple[BrowserProfile, ...]:
    if root.absent or root.is_null:
        return ()
    # A plain list, as in triggers.yaml and watchers.yaml, means the same.
    records = _FILE.read(root)["profiles"] if root.as_items() is None else _PROFILES.read(root)
    for each in records:
        for reason in _mistakes(each):
            each.source.refuse(reason)
    _refuse_repeated(records, "name", "the profile of line {} has this name already")
    _refuse_repeated(records, "user_data_dir", "the profile of line {} has this directory already")
    _refuse_repeated(records, "default", "the profile of line {} is the default already")
    _refuse_repeated(records, "port", "the profile of line {} has this port already")
    return tuple(_profile(each, folder) for each in records)


def _mistakes(read: RecordValues[Node]) -> Iterator[str]:
    """Yield what is wrong with a profile as a whole."""
    written = {name for name, node in read.given.items() if not node.absent}
    if read["driver"] == BrowserDriver.MANAGED:
        if read["browser"] == BrowserKind.FIREFOX:
            yield "only chromium and chrome can be managed: Firefox has no such debugging port"
        if "cdp_endpoint" in written:
            yield "a managed browser chooses its endpoint: remove cdp_endpoint, or set port"
        return
    for name in _MANAGED_ONLY:
        if name in written:
            yield f"{name} has no effect on a browser that others start: remove it, or set driver: managed"
    if read["driver"] == BrowserDriver.REMOTE:
        yield from _mistakes_of_remote(written)
    elif read["driver"] == BrowserDriver.EXISTING_SESSION:
        if not written & {"user_data_dir", "cdp_endpoint"}:
            yield "an existing session needs user_data_dir, cdp_endpoint or both: where the browser is found"
        if read["cdp_endpoint"] and not _is_local(read["cdp_endpoint"]):
            yield "an existing session is on this machine: use 127.0.0.1 in cdp_endpoint, or set driver: remote"


def _mistakes_of_remote(written: set[str]) -> Iterator[str]:
    if "user_data_dir" in written:
        yield "user_data_dir has no effect on a remote browser: remove it"
    if "cdp_endpoint" not in written:
        yield "a remote browser needs cdp_endpoint: the address where it listens"


def _is_local(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_repeated(records: list[RecordValues[Node]], name: str, sentence: str) -> None:
    first: dict[object, RecordValues[Node]] = {}
    for each in records:
        if not (value := each[name]):
            continue
        earlier = first.setdefault(value, each)
        if earlier is not each:
            each.given[name].refuse(sentence.format(earlier.source.place.line), DUPLICATE)


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
