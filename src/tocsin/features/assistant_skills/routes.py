"""The operation on proposed changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tocsin.core.records.marks import Time
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.skill_records import SkillFinding
from tocsin.rest.bodies import FLAG, RequestBody
from tocsin.rest.callers import CallerOf
from tocsin.rest.operations import operation, operations_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyPatch(RequestBody):
    """Options for writing the changes of a run."""

    dry_run: Annotated[bool, FLAG, "Only return the patch."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPatch:
    """Proposed changes of a run, and the files that were written."""

    run_id: str
    skill: str
    folder: str
    findings: Sequence[SkillFinding]
    patch: Annotated[str, "The changes as a unified diff."]
    written: Annotated[list[str], "Files that were written."]
    applied_at: Time | None


class AssistantRoutes:
    """The operation on proposed changes."""

    def __init__(self, skills: AssistantSkills) -> None:
        self._skills = skills

    @operation(
        "POST",
        "/api/runs/{run_id}/apply",
        scope="run",
        once=True,
        extension=True,
        problems=("not-found", "conflict", "validation-failed"),
        answer=AppliedPatch,
    )
    async def apply_run(self, run_id: str, caller: CallerOf, body: ApplyPatch | None = None) -> Any:
        """Write the changes that a run of an assistant skill proposed, all or none."""
        shown = body is not None and body.dry_run
        if not shown:
            await self._skills.runner().apply(run_id, source=caller.source)
        found = await self._skills.results.get(run_id)
        return AppliedPatch(
            run_id=found.run_id,
            skill=found.skill,
            folder=found.folder,
            findings=found.findings,
            patch=found.patch,
            written=[] if shown else [change.path for change in found.changes],
            applied_at=found.applied_at,
        )


OPERATIONS = operations_of("skills", AssistantRoutes)
