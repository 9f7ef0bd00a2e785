"""Memory on a real database, with a clock that only the test moves."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.audit_entries import check_audit_log

from tocsin.core.audit.log import AuditEntry
from tocsin.features.memory.feature import FEATURE
from tocsin.features.memory.model import EntryDraft, EntrySource, MemoryEntry
from tocsin.features.memory.service import MAX_PER_CHAT, Memories, MemoryCaller
from tocsin.features.memory.store import STEPS, MemoryStore
from tocsin.features.memory.tables.rows import EntryFilter
from tocsin.testing import FakeClock
from tocsin.testing.features import FeatureBench, open_feature

CLI = MemoryCaller(EntrySource.CLI)
DAY_S = 86_400.0


@dataclass
class MemoryBench:
    """An open memory, and what a test asks of it most."""

    bench: FeatureBench
    clock: FakeClock

    @property
    def memory(self) -> Memories:
        service: Memories = self.bench.service
        return service

    def limited(self, *, steps: Sequence[int] = STEPS, max_per_chat: int = MAX_PER_CHAT) -> Memories:
        """Return the same memory with other limits."""
        app = self.bench.app
        return Memories(MemoryStore(app.database, steps), app.audit, self.clock, app.redact, max_per_chat)

    async def store(self, key: str, value: str, **fields: Any) -> MemoryEntry:
        entry, _ = await self.memory.set(EntryDraft(key=key, value=value, **fields), CLI)
        return entry

    async def found(self, query: str, wanted: EntryFilter | None = None, **options: Any) -> list[str]:
        """Return the keys that a search finds."""
        result = await self.memory.search(query, wanted or EntryFilter(), **options)
        return [match.entry.key for match in result.items]

    async def keys(self, **options: Any) -> list[str]:
        page = await self.memory.listing(**options)
        return [entry.key for entry in page.items]

    def audited(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return action, source and facts of every audit entry, the oldest first."""
        return [(entry.action, entry.source, _facts(entry)) for entry in self.bench.audit()]

    def passes(self, days: float) -> None:
        self.clock.advance(days * DAY_S)


def _facts(entry: AuditEntry) -> dict[str, Any]:
    return {name: value for name, value in (entry.metadata or {}).items() if name != "chain"}


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[MemoryBench]:
    clock = FakeClock()
    env = {"GATEWAY_TOKEN": "correct-horse-battery-staple"}
    async with open_feature(FEATURE, tmp_path, env, clock=clock) as bench:
        yield MemoryBench(bench, clock)
        check_audit_log(bench.app.audit.log)


@pytest.fixture
def bench(kept: MemoryBench) -> FeatureBench:
    return kept.bench
