"""A folder of skills, with everything that runs them."""

import os
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.audit_entries import check_audit_log
from tests.runs.conftest import RUN_SCHEMAS

from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.identity import own_identity
from tocsin.core.process.presence import Presence
from tocsin.core.process.sandbox import Level, ResourceLimits, Sandbox
from tocsin.core.storage.database import Database
from tocsin.core.text.redaction import Redactor
from tocsin.features.skills.model import ExecutionMode
from tocsin.features.skills.service import SkillRequest, Skills
from tocsin.features.skills.snapshot import Workplace
from tocsin.features.skills.store import SkillFolder
from tocsin.features.skills.work import SkillRuns
from tocsin.messaging.outbound.output_routing import OutputRouter
from tocsin.runs.engine.settling import RunSettler, SettlerDependencies
from tocsin.runs.model import Run, RunTrigger
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import CollectedNotices

SECRET = "correct-horse-battery"


@pytest.fixture
async def bubblewrap() -> None:
    """Skip where bubblewrap does not run."""
    state = await Sandbox().state()
    if state.level is not Level.BUBBLEWRAP:
        pytest.skip(state.reason)


def call(mode: ExecutionMode = ExecutionMode.STANDARD, **changes: object) -> SkillRequest:
    return SkillRequest(mode, RunTrigger.MANUAL, source="cli", actor="tester", **changes)  # type: ignore[arg-type]


@dataclass
class Workshop:
    """A data directory with skills."""

    folder: Path
    runs: Runs
    clock: FakeClock
    environment: dict[str, str] = field(default_factory=dict)
    vault: dict[str, str] = field(default_factory=dict)
    readers: list[str] = field(default_factory=list)
    redact: Redactor = field(default_factory=Redactor)
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    sandbox: Sandbox | None = None

    @property
    def skills(self) -> Skills:
        return Skills(
            SkillFolder(self.folder / "skills"),
            self.runs,
            self.sandbox or Sandbox(self.limits),
            AuditTrail(AuditLog(self.folder / "audit.log")),
            environment=self.environment,
            redact=self.redact,
            workplace=Workplace(self.folder / "snapshots", self.folder / "scratch", own_identity()),
            abilities=cast(Any, SimpleNamespace(secrets=SimpleNamespace(reveal_several=self.secrets))),
        )

    async def secrets(self, names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
        self.readers.append(reader)
        self.redact.learn(self.vault.values())
        return self.vault if names is None else {name: self.vault[name] for name in names}

    def write(self, name: str, command: str, more: str = "") -> Path:
        """Write a skill; `more` are further lines of its manifest."""
        body = "\n".join("  " + line for line in command.splitlines())
        return self.put(
            f"{name}/skill.yaml", f"name: {name}\ndescription: Does it.\ncommand: |\n{body}\n{more}\n"
        ).parent

    def put(self, name: str, text: str) -> Path:
        path = self.folder / "skills" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def run(
        self, command: str, mode: ExecutionMode = ExecutionMode.STANDARD, *, more: str = "", **changes: object
    ) -> Run:
        """Run a command as a skill."""
        self.write("it", command, more)
        return await self.skills.run("it", call(mode, **changes))

    def audit(self) -> list[AuditEntry]:
        log = AuditLog(self.folder / "audit.log")
        check_audit_log(log)
        return list(reversed(log.tail(100))) if log.path.exists() else []


def _no_output() -> OutputRouter:
    raise AssertionError("a skill sends nothing")


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
    clock, redact = FakeClock(), Redactor([SECRET])
    presence = Presence(SqliteBeats(database), clock)
    types = {"skill": SkillRuns(CollectedNotices([]))}
    audit = AuditTrail(AuditLog(tmp_path / "audit.log"))
    parts = SettlerDependencies(sqlite_runs(database), _no_output, audit, clock, lambda kind, _: types.get(kind))
    settler = RunSettler(parts)
    runs = Runs(
        sqlite_runs(database),
        tmp_path / "runs",
        clock,
        presence,
        poll_s=0.01,
        redact=redact,
        settler=settler,
    )
    environment = {"PATH": os.environ["PATH"], "HOME": "/home/tester", "EDITOR": "ed", "TERM": "vt100"}
    yield Workshop(tmp_path, runs, clock, environment, redact=redact)
    await runs.aclose()
    await database.aclose()
