"""Event sources without inotify: repeated scans, and FSEvents of macOS."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.core.watching.inotify import GROUP_S, STEP_S
from tocsin.core.watching.touched import TouchedPaths, WatchBackend

if TYPE_CHECKING:
    from watchfiles import Change

POLL_S = 1.0
# Scanning a hundred thousand files takes seconds on a network file system: leave time for other work.
_REST_FACTOR = 10


class PollingSource:
    """Reports at intervals that anything may have changed."""

    backend = WatchBackend.POLLING

    def __init__(self) -> None:
        self._looked_at = 0.0

    def enter(self, directory: str) -> None:
        """Do nothing: every directory is scanned."""

    async def wait(self) -> None:
        """Return after a second, later if the last scan took long."""
        took = time.monotonic() - self._looked_at if self._looked_at else 0.0
        await asyncio.sleep(max(POLL_S, _REST_FACTOR * took))

    def collect(self) -> TouchedPaths:
        """Return that anything may have changed."""
        self._looked_at = time.monotonic()
        return TouchedPaths(everything=True)

    async def aclose(self) -> None:
        """Do nothing."""


class WatchfilesSource:
    """Events of whole trees from the package `watchfiles`: FSEvents on macOS."""

    backend = WatchBackend.FSEVENTS

    def __init__(self, places: Sequence[Path], *, recursive: bool = True) -> None:
        self._places = places
        self._recursive = recursive
        self._stop = asyncio.Event()
        self._batches: AsyncGenerator[set[tuple[Change, str]], None] | None = None
        self._coming: asyncio.Future[set[tuple[Change, str]] | None] | None = None
        self._touched = TouchedPaths()

    def enter(self, directory: str) -> None:
        """Do nothing: whole trees are watched."""

    async def wait(self) -> None:
        coming = self._coming or self.start()
        found = await asyncio.shield(coming)
        self._coming = None
        for _, path in found or ():
            self._touched.paths[path] = True

    def start(self) -> "asyncio.Future[set[tuple[Change, str]] | None]":
        import watchfiles

        batches = self._batches
        if batches is None:
            batches = self._batches = watchfiles.awatch(
                *self._places,
                watch_filter=None,
                stop_event=self._stop,
                debounce=int(GROUP_S * 1000),
                step=int(STEP_S * 1000),
                recursive=self._recursive,
                ignore_permission_denied=True,
            )
        self._coming = asyncio.ensure_future(anext(batches, None))
        return self._coming

    def collect(self) -> TouchedPaths:
        """Return the paths with events."""
        touched, self._touched = self._touched, TouchedPaths()
        return touched

    async def aclose(self) -> None:
        """End the package's thread."""
        self._stop.set()
        if self._coming is not None:
            self._coming.cancel()
            with suppress(asyncio.CancelledError):
                await self._coming
        if self._batches is not None:
            await self._batches.aclose()
