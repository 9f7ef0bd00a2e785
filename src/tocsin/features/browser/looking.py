"""The present state of a profile, from its record, its directory and the answer on its port."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tocsin.core.errors import ConfigError, StoreUnavailableError
from tocsin.core.process.detaching import DetachedProcess
from tocsin.core.time.clock import Clock
from tocsin.features.browser import directory
from tocsin.features.browser.endpoint import is_browser, why_unreachable
from tocsin.features.browser.model import (
    BrowserDriver,
    BrowserLook,
    BrowserProcess,
    BrowserProfile,
    BrowserStatus,
    local_endpoint,
)
from tocsin.features.browser.programs import program_of
from tocsin.features.browser.store import BrowserStore
from tocsin.features.context import Notice, NoticeLevel

if TYPE_CHECKING:
    from tocsin.features.abilities import Notices

log = logging.getLogger(__name__)

STARTS_WITHIN_S = 30.0
ANSWERS_WITHIN_S = 1.0  # a browser that was not started here


class ProfileLooks:
    """Looks at profiles; an unexpected end of a browser is recorded and reported once."""

    def __init__(
        self, store: BrowserStore, clock: Clock, environment: Callable[[], Mapping[str, str]], notices: "Notices"
    ) -> None:
        self._store = store
        self._clock = clock
        self._environment = environment
        self._notices = notices
        self.answers_within_s = ANSWERS_WITHIN_S

    async def look(self, profile: BrowserProfile, process: BrowserProcess | None) -> BrowserLook:
        """Return how a profile is; `process` is the browser that was last started for it."""
        if profile.driver is BrowserDriver.REMOTE:
            reason = await why_unreachable(profile.cdp_endpoint, self.answers_within_s)
            status = BrowserStatus.ERROR if reason else BrowserStatus.RUNNING
            return BrowserLook(profile, status, profile.cdp_endpoint, error=reason)
        if profile.driver is BrowserDriver.EXISTING_SESSION:
            return await self._look_at_session(profile)
        return await self._look_at_managed(profile, process)

    async def look_at_forgotten(self, process: BrowserProcess) -> BrowserLook | None:
        """Return how a browser is whose profile is not in the file any more; None once it has ended."""
        if process.ended_at is not None or not running(process).runs():
            return None
        profile = BrowserProfile(process.profile, user_data_dir=process.user_data_dir)
        error = "it is running, but its profile is no longer in browser_profiles.yaml"
        endpoint = local_endpoint(process.port) if process.port else ""
        return BrowserLook(profile, BrowserStatus.ERROR, endpoint, process.pid, self._clock.now(), error)

    async def _look_at_managed(self, profile: BrowserProfile, process: BrowserProcess | None) -> BrowserLook:
        place = profile.user_data_dir or Path()
        if process and process.ended_at is None:
            if running(process).is_elsewhere:
                return self._elsewhere(profile, process)
            if running(process).runs():
                return await self._look_at_running(profile, process)
            process = await self._note_end(process)
        used = _last_used(place, process)
        if holder := directory.holder_of(place):
            return _held(profile, holder, self._clock.now())
        if process and process.problem:
            return BrowserLook(profile, BrowserStatus.ERROR, last_used_at=used, error=process.problem)
        try:
            program_of(profile, self._environment())
        except ConfigError as error:
            return BrowserLook(profile, BrowserStatus.MISSING, last_used_at=used, error=error.sentence())
        return BrowserLook(profile, BrowserStatus.STOPPED, last_used_at=used)

    async def _look_at_running(self, profile: BrowserProfile, process: BrowserProcess) -> BrowserLook:
        now = self._clock.now()
        port = process.port or profile.port or directory.port_in(process.user_data_dir)
        if port and await is_browser(port):
            return BrowserLook(profile, BrowserStatus.RUNNING, local_endpoint(port), process.pid, now)
        if not process.port and now - process.started_at < STARTS_WITHIN_S:  # it is being started
            return BrowserLook(profile, BrowserStatus.RUNNING, "", process.pid, now)
        said = f"its debugging port {port} does not respond" if port else "it did not open a debugging port"
        return BrowserLook(profile, BrowserStatus.ERROR, "", process.pid, now, f"it is running, but {said}: stop it")

    async def _look_at_session(self, profile: BrowserProfile) -> BrowserLook:
        place, endpoint = profile.user_data_dir, profile.cdp_endpoint
        used = directory.last_used_at(place) if place else None
        if not endpoint and place and (port := directory.port_in(place)):
            endpoint = local_endpoint(port)
        if endpoint and await self._answers(endpoint):
            holder = directory.holder_of(place) if place else None
            pid = holder.pid if holder and not holder.is_elsewhere else None
            return BrowserLook(profile, BrowserStatus.RUNNING, endpoint, pid, self._clock.now())
        if place and not place.is_dir():
            return BrowserLook(profile, BrowserStatus.MISSING, error=f"{place} does not exist")
        if place and (holder := directory.holder_of(place)):
            return _held(profile, holder, self._clock.now())
        return BrowserLook(profile, BrowserStatus.STOPPED, profile.cdp_endpoint, last_used_at=used)

    async def _answers(self, endpoint: str) -> bool:
        parts = urlsplit(endpoint)
        if parts.scheme in {"http", "ws"}:
            return await is_browser(parts.port or 80, parts.hostname or "", self.answers_within_s)
        return not await why_unreachable(endpoint, self.answers_within_s)

    def _elsewhere(self, profile: BrowserProfile, process: BrowserProcess) -> BrowserLook:
        error = (
            "it was started on another machine or in a container; if that no longer exists, run `tocsin browser "
            f"stop {profile.name} --forget`"
        )
        return BrowserLook(profile, BrowserStatus.IN_USE, last_used_at=process.started_at, error=error)

    async def _note_end(self, process: BrowserProcess) -> BrowserProcess:
        """Record that a browser has ended without being stopped here, and tell it unless a person closed it."""
        crashed = not directory.ended_well(process.user_data_dir, process.started_at)
        problem = f"the browser (process {process.pid}) ended unexpectedly: start it again" if crashed else ""
        try:
            is_new = await self._store.end(process, self._clock.now(), problem)
        except StoreUnavailableError as error:  # the next look records it
            log.debug("the end of a browser could not be recorded", extra={"reason": error.sentence()})
            is_new = False
        if problem and is_new:
            title = f"The browser of the profile {process.profile} ended unexpectedly"
            body = f"Start it again with `tocsin browser start {process.profile}`."
            source, key = f"browser:{process.profile}", f"browser.ended:{process.profile}"
            await self._notices.notify(Notice(title, body, NoticeLevel.WARNING, "browser", source, "#/browser", key))
        return process._replace(ended_at=self._clock.now(), problem=problem)


def running(process: BrowserProcess) -> DetachedProcess:
    return DetachedProcess(process.pid, process.identity)


def _held(profile: BrowserProfile, holder: directory.Holder, now: float) -> BrowserLook:
    if holder.is_elsewhere:
        error = f"it is locked by process {holder.pid} on the machine {holder.host}"
        return BrowserLook(profile, BrowserStatus.IN_USE, error=error)
    error = f"it is used by process {holder.pid}, which Tocsin did not start"
    return BrowserLook(profile, BrowserStatus.IN_USE, pid=holder.pid, last_used_at=now, error=error)


def _last_used(place: Path, process: BrowserProcess | None) -> float | None:
    times = [directory.last_used_at(place)]
    if process:
        times += [process.started_at, process.ended_at]
    return max((time for time in times if time is not None), default=None)


async def sizes_of(looks: list[BrowserLook]) -> list[int | None]:
    """Return the size of each profile's directory in bytes; `None` if it has none on this machine."""

    def work() -> list[int | None]:
        places = [look.profile.user_data_dir for look in looks]
        return [directory.size_of(place) if place else None for place in places]

    return await asyncio.to_thread(work)
