"""Browser profiles and their states."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from tocsin.core.errors import TocsinError
from tocsin.core.records.marks import Flat, Private, TextOrNull, Time, after
from tocsin.core.text.redaction import MASK

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
NAME_RULE = "not a valid profile name: use letters, digits and . _ -, starting with a letter or digit"


class UnknownBrowserProfileError(TocsinError):
    """No browser profile has that name."""

    code = "unknown-browser-profile"


class BrowserInUseError(TocsinError):
    """A browser that was not started here uses the profile."""

    code = "browser-in-use"


class BrowserError(TocsinError):
    """A browser was started and did not come up, or cannot be stopped."""

    code = "browser-failed"


class BrowserDriver(StrEnum):
    """The way in which the browser of a profile is started."""

    MANAGED = "managed"  # we do
    EXISTING_SESSION = "existing_session"  # a person does, on this machine
    REMOTE = "remote"  # it is started elsewhere, on another machine


class BrowserKind(StrEnum):
    """The kind of browser of a profile."""

    CHROMIUM = "chromium"
    CHROME = "chrome"
    FIREFOX = "firefox"


class BrowserStatus(StrEnum):
    """The state of a profile."""

    STOPPED = "stopped"
    RUNNING = "running"
    IN_USE = "in_use"  # by a browser that was not started here
    MISSING = "missing"  # its program or its directory is not there
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class BrowserProfile:
    """A profile of the file."""

    name: str
    browser: BrowserKind = BrowserKind.CHROMIUM
    driver: Annotated[BrowserDriver, "How the browser is started."] = BrowserDriver.MANAGED
    user_data_dir: Path | None = None
    cdp_endpoint: Private[str] = ""  # it may hold credentials
    port: Private[int] = 0  # 0 is any that is free
    headless: Private[bool] = True
    default: bool = False
    proxy: TextOrNull = ""
    executable: Private[Path | None] = None
    sandbox: Private[bool] = True


class BrowserProcess(NamedTuple):
    """A browser that was started for a profile; `port` is None until it is known."""

    profile: str
    user_data_dir: Path
    pid: int
    identity: str
    port: int | None
    started_at: float  # Unix seconds, like the next
    ended_at: float | None = None  # None as far as is known
    problem: str = ""  # why it ended unexpectedly


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BrowserLook:
    """Browser profile with its state."""

    schema_name: ClassVar[str] = "BrowserProfileRecord"

    profile: Flat[BrowserProfile]
    status: BrowserStatus
    endpoint: Private[str] = ""  # it may hold credentials
    pid: int | None = None
    size_bytes: int | None = field(default=None, kw_only=True)  # None where the directory was not measured
    last_used_at: Time | None = None
    error: TextOrNull = ""

    @property
    @after("user_data_dir")
    def cdp_endpoint(self) -> str | None:
        """Address of the debugging port, without credentials."""
        return masked(self.endpoint) or None

    @property
    @after("user_data_dir")
    def headless(self) -> bool | None:
        """Whether a managed browser has no window."""
        return self.profile.headless if self.profile.driver is BrowserDriver.MANAGED else None


def masked(endpoint: str) -> str:
    """Return an address without the credentials before the host and the parts after `?` and `#`."""
    parts = urlsplit(endpoint)
    _, at, host = parts.netloc.rpartition("@")
    netloc = f"{MASK}@{host}" if at else host
    query, fragment = MASK if parts.query else "", MASK if parts.fragment else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, fragment))


def has_credentials(endpoint: str) -> bool:
    """Whether an address contains parts that must not be shown."""
    return masked(endpoint) != endpoint


def local_endpoint(port: int) -> str:
    """Return the address at which a browser of this machine listens."""
    return f"http://127.0.0.1:{port}"
