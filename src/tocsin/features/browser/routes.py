"""The operations on browser profiles."""

from dataclasses import dataclass
from typing import Annotated, Any

from tocsin.core.errors import ConfigError, ProcessError, TocsinError
from tocsin.features.browser.model import BrowserError, BrowserInUseError, BrowserLook, UnknownBrowserProfileError
from tocsin.features.browser.service import Browsers
from tocsin.rest.bodies import FLAG, RequestBody
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.operations import operation, operations_of
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
class StopBrowser(RequestBody):
    """Options for stopping a browser."""

    forget: Annotated[
        bool, FLAG, "Only remove the record and the lock, for a browser on a machine that no longer exists."
    ] = False


class BrowserRoutes:
    """The operations on browser profiles."""

    def __init__(self, browsers: Browsers) -> None:
        self._browsers = browsers

    @operation("GET", "/api/browser/profiles", problems=("validation-failed",), answer=Page[BrowserLook])
    async def list_browser_profiles(self, paging: PagingOf) -> Any:
        """List the browser profiles by name, with their state."""
        found = sorted(await self._browsers.looks(), key=lambda look: look.profile.name)
        page, following = paging.cut(found, lambda look: look.profile.name)
        return paging.page(await self._browsers.with_sizes([*page]), following, len(found))

    @operation(
        "POST",
        "/api/browser/profiles/{name}/start",
        scope="run",
        once=True,
        extension=True,
        problems=("not-found", "conflict"),
        answer=BrowserLook,
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
        answer=BrowserLook,
    )
    async def stop_browser(self, name: str, body: StopBrowser | None = None) -> Any:
        """Stop the browser of a managed profile, if it is running."""
        forget = body is not None and body.forget
        look, _ = await self._browsers.stop(name, source=DASHBOARD.name, forget=forget)
        return (await self._browsers.with_sizes([look]))[0]


OPERATIONS = operations_of("browser", BrowserRoutes, _CODES)
