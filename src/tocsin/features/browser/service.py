"""The browser profiles of this installation: how they are, and starting and stopping those that are managed."""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.process.detaching import DetachedProcess, end_detached, kill_detached, start_detached
from tocsin.core.reading.value import near_word, shorten
from tocsin.core.storage.files import make_directory
from tocsin.core.tasks import run_concurrently, to_the_end
from tocsin.features.browser import directory
from tocsin.features.browser.endpoint import is_browser, is_free
from tocsin.features.browser.feature import BROWSER_START, BROWSER_STOP
from tocsin.features.browser.looking import STARTS_WITHIN_S, ProfileLooks, running, sizes_of
from tocsin.features.browser.model import (
    BrowserDriver,
    BrowserError,
    BrowserInUseError,
    BrowserLook,
    BrowserProcess,
    BrowserProfile,
    BrowserStatus,
    UnknownBrowserProfileError,
    local_endpoint,
)
from tocsin.features.browser.profiles_file import ProfilesFile
from tocsin.features.browser.programs import command_of
from tocsin.features.browser.store import BrowserStore
from tocsin.features.context import FeatureContext

_LOOK_S = 0.02
_MAX_LOG = 1024 * 1024  # of what a browser prints
_SHOWN_LOG, _SHOWN_LINE = 4096, 200


class Browsers:
    """The service of the feature."""

    def __init__(self, file: ProfilesFile, store: BrowserStore, folder: Path, context: FeatureContext) -> None:
        """`folder` has a directory for each managed profile."""
        self.file = file
        self.starts_within_s = STARTS_WITHIN_S
        self.ends_within_s = 10.0
        self.environment = context.environment
        self._store = store
        self._folder = folder
        self._audit = context.audit
        self._clock = context.clock
        self._redact = context.redact
        self.profile_looks = ProfileLooks(store, context.clock, context.environment, context.abilities.notices)

    async def looks(self, *, remote: bool = True) -> list[BrowserLook]:
        """Return how every profile is, without `remote` only those of this machine.

        A browser that runs although its profile is not in the file any more is among them.
        """
        known, profiles = await self._store.all(), self.file.all()
        wanted = [each for each in profiles.values() if remote or each.driver is not BrowserDriver.REMOTE]
        found = await run_concurrently(self.profile_looks.look(each, known.get(each.name)) for each in wanted)
        rest = [process for name, process in known.items() if name not in profiles]
        forgotten = [await self.profile_looks.look_at_forgotten(process) for process in rest]
        return [*found, *(look for look in forgotten if look)]

    async def with_sizes(self, looks: list[BrowserLook]) -> list[BrowserLook]:
        """Return profiles with the sizes of their directories."""
        sizes = await sizes_of(looks)
        return [replace(look, size_bytes=size) for look, size in zip(looks, sizes, strict=True)]

    async def last_event_at(self) -> float | None:
        """Return when a browser was last started or ended."""
        processes = (await self._store.all()).values()
        return max((each.ended_at or each.started_at for each in processes), default=None)

    async def start(self, name: str = "", *, source: str) -> tuple[BrowserLook, bool]:
        """Start the browser of a profile; return its state, and False if it was running.

        Without a name, that is the default profile. Raises UnknownBrowserProfileError, BrowserInUseError,
        BrowserError, ConfigError, ProcessError.
        """
        profile = self._chosen(name)
        _refuse_foreign(profile, "start")
        with self._held(profile.name):
            look = await self.profile_looks.look(profile, (await self._store.all()).get(profile.name))
            if look.status is BrowserStatus.RUNNING:
                return look, False
            _refuse_used(look)
            try:
                process = await self._start(profile, command_of(profile, self.environment()))
            except BrowserError as error:
                self._note_start(profile.name, source, None, str(error))
                raise
            self._note_start(profile.name, source, process)
        return BrowserLook(
            profile, BrowserStatus.RUNNING, local_endpoint(process.port or 0), process.pid, self._clock.now()
        ), True

    async def stop(self, name: str = "", *, source: str, forget: bool = False) -> tuple[BrowserLook, bool]:
        """Stop the browser of a profile; return its state, and False if none was running.

        With `forget`, only drop the record and the lock of a browser that ran on another machine or in a container
        that is gone. Raises UnknownBrowserProfileError, BrowserInUseError, ConfigError, ProcessError.
        """
        profile, process = await self._to_stop(name)
        _refuse_foreign(profile, "stop")
        with self._held(profile.name):
            if forget:
                done = await self._forget(profile, process, source)
            else:
                done = await self._stop(profile, process, source)
            return await self.profile_looks.look(profile, (await self._store.all()).get(profile.name)), done

    async def look_hourly(self) -> None:
        """Notify about browsers that have ended, and limit the size of their logs."""
        await self.looks(remote=False)
        for log in self._folder.glob("*/browser.log"):
            with suppress(OSError):
                if log.stat().st_size > _MAX_LOG:
                    os.truncate(log, 0)  # it is written at its end, wherever that is

    def _chosen(self, name: str) -> BrowserProfile:
        profiles = self.file.all()
        if name in profiles:
            return profiles[name]
        if self.file.problem:
            raise self.file.problem
        if name:
            near = near_word(name, profiles)
            hint = f"did you mean {near}?" if near else "`tocsin browser profiles` lists the profiles"
            raise UnknownBrowserProfileError(f"unknown browser profile: {shorten(name)!r}", hint=hint)
        chosen = [each for each in profiles.values() if each.default] or list(profiles.values())
        if not chosen:
            raise ConfigError("no browser profiles exist", hint=f"add one to {self.file.path}")
        if len(chosen) > 1:
            raise ConfigError(
                "no profile was given, and there is no default profile", hint="give a profile, or set default: true"
            )
        return chosen[0]

    async def _to_stop(self, name: str) -> tuple[BrowserProfile, BrowserProcess | None]:
        process = (await self._store.all()).get(name)
        if process and process.ended_at is None and name not in self.file.all():
            return BrowserProfile(name, user_data_dir=process.user_data_dir), process
        profile = self._chosen(name)
        return profile, (await self._store.all()).get(profile.name)

    async def _start(self, profile: BrowserProfile, command: list[str]) -> BrowserProcess:
        place, log = profile.user_data_dir or Path(), self._folder / profile.name / "browser.log"
        if profile.port and not is_free(profile.port):
            raise ConfigError(
                f"port {profile.port} is already in use", hint="choose another port, or remove `port` from the profile"
            )
        try:
            make_directory(place)
            (place / directory.PORT_FILE).unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot use {place}: {error.strerror}", hint="check its permissions") from None
        detached = await start_detached(command, env=self.environment(), log=log)
        process = BrowserProcess(profile.name, place, detached.pid, detached.identity, None, self._clock.now())
        try:
            await self._store.put(process)
            process = process._replace(port=await self._port_of(profile, detached, log))
            await self._store.put(process)
        except BaseException:
            await to_the_end(self._undo(process, detached))
            raise
        return process

    async def _port_of(self, profile: BrowserProfile, detached: DetachedProcess, log: Path) -> int:
        """Wait until a browser answers on its debugging port, and return that; raises BrowserError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.starts_within_s
        while detached.runs():
            port = profile.port or directory.port_in(profile.user_data_dir or Path())
            if port and await is_browser(port):
                return port
            if loop.time() > deadline:
                sentence = f"{profile.browser} did not open a debugging port within {self.starts_within_s:g} s"
                raise BrowserError(f"{sentence} and was stopped", hint=f"see {log}")
            await asyncio.sleep(_LOOK_S)
        said = self._redact(_last_line(log))
        raise BrowserError(f"{profile.browser} exited immediately{f': {said}' if said else ''}", hint=f"see {log}")

    async def _undo(self, process: BrowserProcess, detached: DetachedProcess) -> None:
        await kill_detached(detached)
        await self._note_wanted_end(process)

    async def _note_wanted_end(self, process: BrowserProcess) -> None:
        """Record an end, even if another process has recorded it as a crash meanwhile."""
        await self._store.put(process._replace(ended_at=self._clock.now()))

    async def _stop(self, profile: BrowserProfile, process: BrowserProcess | None, source: str) -> bool:
        look = await self.profile_looks.look(profile, process)
        if look.status is BrowserStatus.IN_USE:
            raise BrowserInUseError(f"profile {profile.name}: {look.error}", hint="stop it on that machine")
        if process is None or look.pid is None:
            await self._store.forget(profile.name)  # a browser that ended by itself needs no attention any more
            return False
        ended = await end_detached(running(process), self.ends_within_s)
        await self._note_wanted_end(process)
        self._note_stop(profile.name, source, process.pid, forced=not ended)
        return True

    async def _forget(self, profile: BrowserProfile, process: BrowserProcess | None, source: str) -> bool:
        look = await self.profile_looks.look(profile, process)
        if look.pid is not None:
            raise BrowserInUseError(
                f"profile {profile.name} is running here, as process {look.pid}", hint="remove --forget"
            )
        directory.forget_elsewhere(profile.user_data_dir or Path())
        await self._store.forget(profile.name)
        self._note_stop(profile.name, source, process.pid if process else None, forgotten=True)
        return True

    def _note_start(self, name: str, source: str, process: BrowserProcess | None, reason: str = "") -> None:
        pid, port = (process.pid, process.port) if process else (None, None)
        facts = {"profile": name, "pid": pid, "port": port, "ok": process is not None}
        said = f"{name} {f'started on port {port}' if process else 'did not start'}"
        self._audit.record(
            BROWSER_START, said, source=source, metadata={**facts, **({"reason": reason} if reason else {})}
        )

    def _note_stop(
        self, name: str, source: str, pid: int | None, *, forced: bool = False, forgotten: bool = False
    ) -> None:
        facts = {"profile": name, "pid": pid, "forced": forced, "forgotten": forgotten}
        said = f"{name} {'forgotten' if forgotten else 'killed' if forced else 'stopped'}"
        self._audit.record(BROWSER_STOP, said, source=source, metadata=facts)

    @contextmanager
    def _held(self, name: str) -> Iterator[None]:
        """Lock a profile against other starts and stops."""
        place = self._folder / name
        try:
            make_directory(place)
            lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot use {place}: {error.strerror}", hint="check its permissions") from None
        try:
            _take(lock, name)
            yield
        finally:
            os.close(lock)  # gives the lock back, as the end of a process does


def _take(lock: int, name: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sentence = f"browser profile {name} is being started or stopped"
        raise BrowserInUseError(sentence, hint="try again in a moment") from None
    except OSError as error:
        sentence = f"cannot lock browser profile {name}: {error.strerror}"
        raise ConfigError(sentence, hint="put the data directory on a file system that supports locks") from None


def _refuse_foreign(profile: BrowserProfile, verb: str) -> None:
    if profile.driver is not BrowserDriver.MANAGED:
        where = "by its user" if profile.driver is BrowserDriver.EXISTING_SESSION else "on its own machine"
        sentence = f"{profile.name} is not managed by Tocsin (driver: {profile.driver}): {verb} it there"
        raise ConfigError(sentence, hint=f"it is started and stopped {where}")


def _refuse_used(look: BrowserLook) -> None:
    name = look.profile.name
    if look.status is BrowserStatus.IN_USE:
        hint = f"close that browser; if it no longer exists: tocsin browser stop {name} --forget"
        raise BrowserInUseError(f"profile {name} is in use: {look.error}", hint=hint)
    if look.pid is not None:
        raise BrowserError(f"profile {name}: {look.error}", hint=f"tocsin browser stop {name}")


def _last_line(log: Path) -> str:
    """Return the last line that a browser printed, shortened."""
    with suppress(OSError), log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _SHOWN_LOG))
        lines = [line.strip() for line in stream.read().decode(errors="replace").splitlines()]
        return next((line[-_SHOWN_LINE:] for line in reversed(lines) if line), "")
    return ""
