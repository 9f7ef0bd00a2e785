"""A handler over a real table of runs and real processes, in a data directory of its own."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.audit_entries import check_audit_log
from tests.runs.conftest import RUN_SCHEMAS

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.process.beats import Beats, SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.core.storage.files import write_atomically
from tocsin.core.time.clock import SystemClock
from tocsin.features.context import Notice
from tocsin.features.triggers.actions import ActionDependencies
from tocsin.features.triggers.rules import Triggers
from tocsin.features.triggers.service import TriggerHandler
from tocsin.features.triggers.work import TriggerRuns
from tocsin.messaging.inbound.handling import HandlerResult, MessageContext
from tocsin.runs.engine.run_type import RunType
from tocsin.runs.engine.settling import RunSettler, SettlerDependencies
from tocsin.runs.model import Run, RunTrigger
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.store import RunStore
from tocsin.testing.features import CollectedNotices

MESSAGE = InboundMessage(
    channel="bell",
    kind=MessageKind.MESSAGE,
    id="m1",
    dedupe_keys=("k1",),
    chat_id="C1",
    sender_id="U7",
    sender_name="Ada",
)


def received(text: str, *, id: str = "i1", attempt: int = 1, **fields: Any) -> MessageContext:
    """Return a message as the inbox hands it over."""
    return MessageContext(id, replace(MESSAGE, text=text, **fields), attempt=attempt)


async def unexpected(*_: object, **__: object) -> Any:
    raise AssertionError("no rule of this test asks for it")


def dependencies(runs: Runs, env: dict[str, str], data_dir: Path, **more: Any) -> ActionDependencies:
    """Return what actions need; what a test does not give is not asked for."""
    given = {"ask": unexpected, "run_skill": unexpected, "cause": lambda _: RunTrigger.WEBHOOK, **more}
    abilities = SimpleNamespace(
        models=SimpleNamespace(ask=given.pop("ask")),
        skills=SimpleNamespace(run=given.pop("run_skill")),
        bot=SimpleNamespace(cause=given.pop("cause"), indicate=given.pop("indicate", lambda _: nullcontext())),
    )
    return ActionDependencies(runs, lambda: env, data_dir, cast("Any", abilities), **given)


@dataclass
class Triggered:
    """A handler and what it leaves behind."""

    data_dir: Path
    runs: Runs
    audit: AuditTrail
    database: Database
    notices: list[Notice]
    env: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"], "HOME": "/nowhere"})
    means: dict[str, Any] = field(default_factory=dict)

    def write(self, rules: str) -> "Triggered":
        """Write `triggers.yaml`."""
        write_atomically(self.data_dir / "triggers.yaml", rules)
        return self

    def handler(self) -> TriggerHandler:
        """Return a handler as app.py puts it together."""
        rules = Triggers(self.data_dir / "triggers.yaml")
        parts = dependencies(self.runs, self.env, self.data_dir, **self.means)
        return TriggerHandler(rules, parts)

    async def handle(self, text: str, **fields: Any) -> HandlerResult | None:
        """Hand one message over."""
        return await self.handler()(received(text, **fields))

    async def answer(self, text: str, **fields: Any) -> str:
        """Return the one reply to a message."""
        verdict = await self.handle(text, **fields)
        assert verdict is not None
        (reply,) = verdict.replies
        return reply.text

    async def all_runs(self) -> Sequence[Run]:
        """Return what ran, the newest first."""
        return (await self.runs.search()).items

    def entries(self) -> list[AuditEntry]:
        """Return the audit log, the oldest first."""
        return self.audit.log.tail(1000)[::-1]


@asynccontextmanager
async def opened(tmp_path: Path, store: RunStore | None = None, beats: Beats | None = None) -> AsyncIterator[Triggered]:
    """Open a handler over `store`, by default a database in `tmp_path`."""
    database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
    clock = SystemClock()
    audit, notices = AuditTrail(AuditLog(tmp_path / "audit.log")), list[Notice]()

    def type_of(kind: str, _: Mapping[str, Any]) -> RunType | None:
        return TriggerRuns(CollectedNotices(notices)) if kind == "trigger" else None

    store = store or sqlite_runs(database)
    settler = RunSettler(SettlerDependencies(store, unexpected, audit, clock, type_of))
    presence = Presence(beats or SqliteBeats(database), clock)
    runs = Runs(store, tmp_path / "runs", clock, presence, settler=settler, poll_s=0.05)
    yield Triggered(tmp_path, runs, audit, database, notices)
    await runs.aclose()
    check_audit_log(audit.log)
    audit.log.close()
    await database.aclose()


@pytest.fixture
async def triggered(tmp_path: Path) -> AsyncIterator[Triggered]:
    async with opened(tmp_path) as triggered:
        yield triggered


__all__ = ["MESSAGE", "Triggered", "received"]
