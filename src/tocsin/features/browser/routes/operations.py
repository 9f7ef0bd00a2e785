"""The operations on browser profiles."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tocsin.core.errors import ConfigError, ProcessError, TocsinError
from tocsin.core.records.marks import Time
from tocsin.features.browser.model import BrowserError, BrowserInUseError, UnknownBrowserProfileError
from tocsin.features.browser.service import Browsers
from tocsin.rest.bodies import FLAG, RequestBody
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.operations import Operations, operation
from tocsin.rest.pages import Page, PagingOf

# Not the request is wrong, but what it is about.
_CODES: dict[type[TocsinError], str] = {
    UnknownBrowserProfileError: "not-found",
    BrowserInUseError: "conflict",
    BrowserError: "conflict",
    ConfigError: "conflict",
    ProcessError: "conflict",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserProfileRecord:
    """Browser profile with its state."""

    name: str
    browser: Literal["chromium", "chrome", "firefox"]
    driver: Annotated[Literal["managed", "existing_session", "remote"], "How the browser is started."]
    user_data_dir: str | None
    cdp_endpoint: Annotated[str | None, "Address of the debugging port, without credentials."]
    headless: bool | None
    default: bool
    proxy: str | None
    status: Literal["stopped", "running", "in_use", "missing", "error"]
    pid: int | None
    size_bytes: int | None
    last_used_at: Time | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopBrowser(RequestBody):
    """Options for stopping a browser."""

    forget: Annotated[
        bool, FLAG, "Only remove the record and the lock, for a browser on a machine that no longer exists."
    ] = False


class BrowserRoutes:
    """The operations on browser profiles."""

    def __init__(self, browsers: Browsers) -> None:
        self._browsers = browsers

    @operation("GET", "/api/browser/profiles", problems=("validation-failed",), answer=Page[BrowserProfileRecord])
    async def list_browser_profiles(self, paging: PagingOf) -> Any:
        """List the browser profiles by name, with their state."""
        found = sorted(await self._browsers.documents(), key=_name)
        page, following = paging.cut(found, _name)
        return paging.page(page, following, len(found))

    @operation(
        "POST",
        "/api/browser/profiles/{name}/start",
        scope="run",
        once=True,
        extension=True,
        problems=("not-found", "conflict"),
        answer=BrowserProfileRecord,
    )
    async def start_browser(self, name: str) -> Any:
        """Start the browser of a managed profile, unless it is already running."""
        look, _ = await self._browsers.start(name, source=DASHBOARD.name)
        return (await self._browsers.with_sizes([look]))[0]

    @operation(
        "POST",
        "/api/browser/profiles/{name}/stop",
        scope="run",
        extension=True,
        problems=("not-found", "conflict", "validation-failed"),
        answer=BrowserProfileRecord,
    )
    async def stop_browser(self, name: str, body: StopBrowser | None = None) -> Any:
        """Stop the browser of a managed profile, if it is running."""
        forget = body is not None and body.forget
        look, _ = await self._browsers.stop(name, source=DASHBOARD.name, forget=forget)
        return (await self._browsers.with_sizes([look]))[0]


def browser_operations(browsers: Browsers) -> Operations:
    """Return the operations."""
    return Operations("browser", BrowserRoutes(browsers), _CODES)


def _name(record: dict[str, object]) -> str:
    return str(record["name"])
