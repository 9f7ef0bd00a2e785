"""Watchers in a directory of their own, over a real folder."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import eventually

from tocsin.core.storage.files import write_atomically
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.features.watchers.feature import FEATURE
from tocsin.features.watchers.model import KIND
from tocsin.features.watchers.service import Watchers
from tocsin.features.watchers.watching.watcher_service import WatcherService
from tocsin.features.watchers.work import service_of
from tocsin.runs.model import Run
from tocsin.testing.features import FeatureBench, open_feature


@dataclass
class Site:
    """Open watchers and the folder that they watch."""

    bench: FeatureBench
    folder: Path

    @property
    def watchers(self) -> Watchers:
        return self.bench.service

    def write(self, *rules: Mapping[str, Any]) -> None:
        """Write the rules; each has a name, and watches the folder without delay unless it says otherwise."""
        usual = {"path": str(self.folder), "debounce_ms": 20}
        lines = [f"- {json.dumps({**usual, **rule})}\n" for rule in rules]
        write_atomically(self.watchers.rules.path, "".join(lines) or "# none\n")

    @asynccontextmanager
    async def watching(self, holder: str = "", *, poll: bool | None = None) -> AsyncIterator[WatcherService]:
        """Run the service until the end of the block; the folders of all enabled rules are watched by then."""
        service = service_of(self.watchers, holder, poll=poll)
        task = asyncio.create_task(service.run())
        await eventually(self._are_watched)
        yield service
        service.stop()
        await task

    async def _are_watched(self) -> bool:
        is_begun = await self.watchers.store.states() is not None
        records = await self.watchers.list_rules()
        if not is_begun and records:
            return False
        return all(record.state != "paused" or not record.rule.enabled for record in records)

    async def runs(self, name: str = "") -> list[Run]:
        """Return the runs that have ended, the oldest first."""
        found = (await self.bench.app.runs().search(KIND, name, limit=200)).items
        return [run for run in found if run.finished_at is not None][::-1]

    async def acted(self, count: int = 1, name: str = "") -> list[tuple[str, str]]:
        """Wait for so many runs, and return events and files in the order in which they began."""

        async def enough() -> list[Run] | None:
            runs = await self.runs(name)
            return runs if len(runs) >= count else None

        return [_told(run, self.folder) for run in await eventually(enough)]


def _told(run: Run, folder: Path) -> tuple[str, str]:
    return run.params["event"], run.params["path"].removeprefix(f"{folder}/")


@asynccontextmanager
async def open_site(tmp_path: Path, *, clock: Clock | None = None, **options: Any) -> AsyncIterator[Site]:
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "watched").mkdir(exist_ok=True)
    async with open_feature(FEATURE, tmp_path / "data", clock=clock or SystemClock(), **options) as bench:
        yield Site(bench, tmp_path / "watched")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as site:
        yield site


@pytest.fixture
def bench(site: Site) -> FeatureBench:
    return site.bench
