"""A folder that is watched for one rule or several."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.watching.folder_watcher import FileChange, FolderWatcher
from tocsin.features.watchers.model import SeenState, WatcherRule

log = logging.getLogger(__name__)

RETRY_S = 1.0  # how soon a folder is watched that was not there

TakeBatch = Callable[[Sequence[WatcherRule], Sequence[FileChange]], Awaitable[None]]


class RuleFolder:
    """Watches one folder; its rules may be replaced while it does."""

    def __init__(self, path: Path, *, recursive: bool, take: TakeBatch, poll: bool | None = None) -> None:
        """`take` gets the changes, and the rules at that time."""
        self.rules: tuple[WatcherRule, ...] = ()
        self._path = path
        self._recursive = recursive
        self._take = take
        self._poll = poll
        self._watcher: FolderWatcher | None = None
        self._problem = ""  # why the last try to watch failed

    def state(self) -> SeenState:
        watcher = self._watcher
        if watcher is None or not watcher.ready.is_set():
            return SeenState(error=self._problem)
        return SeenState(str(watcher.backend), not watcher.problem, watcher.problem or watcher.reason)

    async def run(self) -> None:
        """Watch until this is cancelled; a folder that is not there is waited for."""
        while True:
            self._watcher = await asyncio.to_thread(self._make)  # it looks where the folder is
            try:
                async with aclosing(self._watcher.changes()) as batches:
                    async for batch in batches:
                        await self._take(self.rules, batch)
            except ConfigError as error:
                self._problem = error.sentence()
            await asyncio.sleep(RETRY_S)

    def _make(self) -> FolderWatcher:
        return FolderWatcher(self._path, poll=self._poll, ignore=False, recursive=self._recursive)
