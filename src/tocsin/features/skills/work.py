"""Hooks of skills: starting a skill, and their kind of run."""

from collections.abc import Mapping
from typing import Any

from tocsin.core.audit.actions import CLI
from tocsin.features.ability_records import AssistantRequest
from tocsin.features.hooks import WorkHooks
from tocsin.features.run_notices import NotifyingRuns
from tocsin.features.skills.feature import SKILL_RUN
from tocsin.features.skills.model import DependencyMissingError, is_assistant_run
from tocsin.features.skills.service import SkillRequest, Skills, runnable
from tocsin.runs.document import audit_facts, writes_own_entry
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.engine.run_type import RunAuditEntry, RunType
from tocsin.runs.model import Run


async def begin(skills: Skills, name: str, call: SkillRequest, *, dry_run: bool = False) -> ActiveRun | Run:
    """Start a skill and return as soon as its run is recorded; of an assistant skill, the arguments are files.

    With `dry_run`, return what would be run, which is neither executed nor recorded. Raises UnknownSkillError,
    InvalidSkillError, SkillDisabledError, DependencyMissingError, and what the assistant raises.
    """
    if await skills.is_assistant(name):
        asked = AssistantRequest(
            source=call.source, cause=call.trigger, actor=call.actor, files=call.args, input=call.input
        )
        return await skills.abilities.assistants.start(name, asked, dry_run=dry_run)
    found = await skills.dependencies(runnable(skills.get(name), name), call.mode)
    if missing := [each.name for each in found if not each.found]:
        raise DependencyMissingError(name, missing)
    return await skills.plan(name, call) if dry_run else await skills.start(name, call)


class SkillRuns(NotifyingRuns, RunType):
    """Programs of skills."""

    kind = "skill"
    source = CLI.name

    def owns(self, params: Mapping[str, Any]) -> bool:
        return not is_assistant_run(params)

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the `skill.run` entry, unless the caller writes one of its own."""
        if not writes_own_entry(run, request):
            return None
        facts = {
            "skill": run.subject_id,
            **{name: value for name, value in run.params.items() if name != "args"},
            **audit_facts(run),
            "exit_code": run.exit_code,
        }
        return RunAuditEntry(SKILL_RUN, f"{run.subject_name} {run.status}", facts)


WORK = WorkHooks[Skills](
    run_types={"skill": lambda skills: SkillRuns(skills.abilities.notices)},
)
