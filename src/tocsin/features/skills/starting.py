"""Start a skill of whichever kind, and leave it at work."""

from tocsin.features.abilities import AssistantRequest
from tocsin.features.skills.model import DependencyMissingError, Kind, SkillDisabledError
from tocsin.features.skills.records import record_named
from tocsin.features.skills.service import SkillRequest, Skills
from tocsin.runs.active_run import ActiveRun
from tocsin.runs.model import Run


async def begin(skills: Skills, name: str, call: SkillRequest, *, dry_run: bool = False) -> ActiveRun | Run:
    """Start a skill and return as soon as its run is recorded; of an assistant skill, the arguments are files.

    With `dry_run`, return what would be run, which is neither executed nor recorded. Raises UnknownSkillError,
    InvalidSkillError, SkillDisabledError, DependencyMissingError, and what the assistant raises.
    """
    record = await record_named(skills, name)
    if record["valid"] and not record["enabled"]:
        raise SkillDisabledError(f"the skill {name} is switched off", hint=f"write enabled: true in {record['file']}")
    if record["kind"] == str(Kind.ASSISTANT):
        asked = AssistantRequest(
            source=call.source, cause=call.trigger, actor=call.actor, files=call.args, input=call.input
        )
        return await skills.can.start_assistant(name, asked, dry_run=dry_run)
    found = await skills.dependencies(skills.get(name), call.mode)
    if missing := [each.name for each in found if not each.found]:
        raise DependencyMissingError(name, missing)
    return await skills.plan(name, call) if dry_run else await skills.start(name, call)
