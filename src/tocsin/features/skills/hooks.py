"""The skills of a data directory as the rest of the program uses them."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tocsin.core.process.identity import own_identity
from tocsin.core.process.sandbox import ResourceLimits, Sandbox
from tocsin.core.text.strings import number_of
from tocsin.features.ability_records import AssistantRequest, SkillInfo
from tocsin.features.context import AttentionItem, FeatureContext, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.features.skills.feature import SKILL_HOME_MIB
from tocsin.features.skills.model import ExecutionMode
from tocsin.features.skills.records import all_records
from tocsin.features.skills.service import SkillRequest, Skills
from tocsin.features.skills.snapshot import Workplace
from tocsin.features.skills.store import SkillFolder
from tocsin.runs.control import NotRetriedError, Retry, StartRequest
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run

log = logging.getLogger(__name__)

SKILLS_FOLDER = "skills"
BOT = "bot"  # the source of runs that a person asks for by the bot's /run
SNAPSHOTS_FOLDER, HOMES_FOLDER = "skill-snapshots", "skill-scratch"


def open_skills(context: FeatureContext) -> Skills:
    """Return the skills of the data directory."""
    data_dir = context.data_dir
    return Skills(
        SkillFolder(data_dir / SKILLS_FOLDER),
        context.runs(),
        Sandbox(ResourceLimits(home_bytes=context.settings[SKILL_HOME_MIB] * 1024**2)),
        context.audit,
        environment=context.environment(),
        redact=context.redact,
        workplace=Workplace(data_dir / SNAPSHOTS_FOLDER, data_dir / HOMES_FOLDER, own_identity()),
        abilities=context.abilities,
    )


class ProvidedSkills:
    """The skills of the data directory, and those for the assistant that have a folder: `RunnableSkills`."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def list(self, *, every: bool = False) -> Sequence[SkillInfo]:
        """Return the skills that can be run; with `every`, all of them."""
        if every:
            return [
                SkillInfo(record.name, record.description, record.hindrance, tuple(record.trigger_keywords))
                for record in await all_records(self._skills)
            ]
        assistants = await self._skills.abilities.assistants.list()
        found = {
            record.name: SkillInfo(record.name, record.description, "", tuple(record.trigger_keywords))
            for record in assistants
            if record.at_hand
        }
        for skill in self._skills.list():
            if skill.runnable:
                keywords = skill.definition.trigger_keywords if skill.definition else ()
                found[skill.name] = SkillInfo(skill.name, skill.description, "", tuple(keywords))
        return [found[name] for name in sorted(found)]

    async def is_assistant(self, name: str) -> bool:
        return await self._skills.is_assistant(name)

    async def run(  # noqa: PLR0913  # each is a fact about the run
        self,
        name: str,
        *,
        source: str,
        cause: str,
        actor: str | None = None,
        args: Sequence[str] = (),
        input: str = "",
        folder: Path | None = None,
        part_of: str | None = None,
        audited: bool = True,
    ) -> Run:
        """Run a program in the sandbox, or a skill for the assistant if no program has the name."""
        if await self._skills.is_assistant(name):
            asked = AssistantRequest(
                source=source,
                cause=cause,
                actor=actor,
                folder=folder,
                files=tuple(args),
                input=input,
                is_typed=source == BOT,
                parent_run_id=part_of,
                audited=audited and part_of is None,
            )
            return (await self._skills.abilities.assistants.run(name, asked)).run
        request = SkillRequest(
            ExecutionMode.SANDBOXED,
            cause,
            source,
            actor,
            args,
            input,
            parent_run_id=part_of,
            audited=audited and part_of is None,
        )
        return await self._skills.run(name, request)


async def start_skill(skills: Skills, name: str, asked: StartRequest) -> ActiveRun:
    """Start a skill in the sandbox, or as in an earlier run; `asked.params` may have `args` and `input`.

    Of an assistant skill, `args` are files.
    """
    if await skills.is_assistant(name, asked.retry.run if asked.retry else None):
        for_assistant = AssistantRequest(
            source=asked.source,
            cause=asked.cause,
            actor=asked.actor,
            files=tuple(asked.params.get("args", ())),
            input=str(asked.params.get("input", "")),
            parent_run_id=asked.parent_run_id,
            retry=asked.retry,
        )
        return await _start_assistant(skills, name, for_assistant)
    given = _kept_of(asked.retry) if asked.retry else asked.params
    request = SkillRequest(
        ExecutionMode(given.get("mode", ExecutionMode.SANDBOXED)),
        asked.cause,
        asked.source,
        asked.actor,
        args=tuple(given.get("args", ())),
        input=str(given.get("input", "")),
        timeout_s=given.get("timeout_s"),
        parent_run_id=asked.parent_run_id,
        retry=asked.retry,
    )
    return await skills.start(name, request)


async def _start_assistant(skills: Skills, name: str, request: AssistantRequest) -> ActiveRun:
    started = await skills.abilities.assistants.start(name, request)
    if not isinstance(started, ActiveRun):
        raise TypeError(f"skill {name} was only run as a dry run instead of being started")
    return started


def _kept_of(retry: Retry) -> Mapping[str, Any]:
    """Return how a skill was run that is run again."""
    if retry.run.snapshot is None:
        name = retry.run.subject_name
        raise NotRetriedError(
            "the arguments or the input of this run were not stored, because they are long or contain a secret",
            hint=f"pass them again: tocsin skills run {name}",
        )
    return retry.run.snapshot


async def tell_sandbox(skills: Skills) -> None:
    """Log how far skills are confined: under the limits of a unit or container that may differ from a shell's."""
    state = await skills.sandbox_state()
    facts = {"by": str(state.level), **({"reason": state.reason} if state.reason else {})}
    log.info("skills run in the sandbox", extra=facts)


async def check_subsystem(skills: Skills) -> SubsystemStatus:
    """Return the state of skills: how many there are, which are broken, and how far the sandbox confines them."""
    own = await asyncio.to_thread(skills.list)
    every = {skill.name for skill in own}.union(await skills.abilities.assistants.names())
    broken = [skill.name for skill in own if not skill.valid]
    sandbox = await skills.sandbox_state()
    said = f"{number_of(len(every), 'skill')}, {len(own)} of your own"
    said += f", {len(broken)} with errors" if broken else ""
    item = AttentionItem(
        NoticeLevel.WARNING, f"skills with errors: {', '.join(broken)}: `tocsin skills lint`", "#/skills"
    )
    return SubsystemStatus(
        SubsystemState.DEGRADED if broken else SubsystemState.OK if every else SubsystemState.UNCONFIGURED,
        f"{said}; sandbox: {sandbox.level}",
        {"skills": len(every), "broken": len(broken)},
        attention=[item] if broken else [],
    )


HOOKS = FeatureHooks[Skills](
    open=open_skills,
    subsystems={"skills": check_subsystem},
    on_start=tell_sandbox,
    provides=ProvidedAbilities(skills=ProvidedSkills),
    starts={"skill": start_skill},
)
