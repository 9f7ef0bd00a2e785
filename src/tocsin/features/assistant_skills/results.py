"""The stored results of runs of assistant skills."""

import json
import sqlite3
from dataclasses import asdict, dataclass

from tocsin.core.errors import NotFoundError
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.features.assistant_skills.model import ChangedText
from tocsin.features.skill_records import Severity, SkillFinding

KEPT_S = 30 * 86400.0  # as long as runs are


class UnknownResultError(NotFoundError):
    """No run of an assistant skill has that id."""


@dataclass(frozen=True, slots=True)
class SkillResultRecord:
    """The findings and proposed changes of one run; its paths are relative to `folder`."""

    run_id: str
    skill: str
    folder: str
    findings: tuple[SkillFinding, ...] = ()
    patch: str = ""  # for people
    changes: tuple[ChangedText, ...] = ()
    applied_at: float | None = None


class SkillResults:
    """The table of results."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, result: SkillResultRecord) -> None:
        findings = json.dumps([asdict(finding) for finding in result.findings])
        facts = (result.run_id, result.skill, result.folder, findings, result.patch)
        row = (*facts, self._clock.now(), result.applied_at, json.dumps([asdict(each) for each in result.changes]))

        await self._database.execute("INSERT OR REPLACE INTO assistant_results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    async def get(self, run_id: str) -> SkillResultRecord:
        """Return the result of a run, by its id or the only one that begins or ends like it."""

        def work(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            sql = "SELECT * FROM assistant_results WHERE run_id = ?1 OR run_id LIKE ?2 OR run_id LIKE ?3 LIMIT 2"
            plain = run_id.replace("%", "").replace("_", "")
            return list(connection.execute(sql, [run_id, f"{plain}%", f"%-{plain}%"]))

        found = await self._database.read(work) if run_id else []
        if len(found) != 1:
            reason = "has an ID that starts with" if found else "has the ID"
            raise UnknownResultError(
                f"{'more than one run' if found else 'no run of an assistant skill'} {reason}: {run_id[:60]}",
                hint="`tocsin runs list --kind skill` lists the runs; results are kept for 30 days",
            )
        row = found[0]
        findings = tuple(
            SkillFinding(**each | {"severity": Severity(each["severity"])}) for each in json.loads(row["findings"])
        )
        changes = tuple(ChangedText(**each) for each in json.loads(row["changes"]))
        facts = (row["run_id"], row["skill"], row["folder"])
        return SkillResultRecord(*facts, findings, row["patch"], changes, row["applied_at"])

    async def mark_applied(self, run_id: str) -> bool:
        """Record that a patch was applied; return False if it was applied before."""
        sql = "UPDATE assistant_results SET applied_at = ? WHERE run_id = ? AND applied_at IS NULL"
        return await self._database.execute(sql, [self._clock.now(), run_id]) == 1

    async def prune(self) -> None:
        """Delete results that are older than runs are kept."""
        oldest = self._clock.now() - KEPT_S

        await self._database.execute("DELETE FROM assistant_results WHERE created_at < ?", [oldest])
