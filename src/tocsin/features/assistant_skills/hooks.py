"""The assistant skills of a program as the rest of it uses them."""

import asyncio
from collections.abc import Collection, Sequence

from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.results import SkillResults
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.assistant_skills.store import AssistantFolders
from tocsin.features.assistant_skills.watch.versions import ActedVersions
from tocsin.features.context import FeatureContext
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.features.skill_records import ActivationCheck, SkillRecord
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run

SKILLS_FOLDER = "skills"  # that of runnable skills: a skill may be both


def open_assistant_skills(context: FeatureContext) -> AssistantSkills:
    folders = AssistantFolders(context.data_dir / SKILLS_FOLDER)
    results, versions = SkillResults(context.database, context.clock), ActedVersions(context.database, context.clock)
    return AssistantSkills(folders, results, versions, context)


class ProvidedAssistants:
    """The skills of the package and of the data directory: `Assistants`."""

    def __init__(self, skills: AssistantSkills) -> None:
        self._skills = skills

    async def list(self) -> Sequence[SkillRecord]:
        return await self._skills.records()

    async def names(self) -> Collection[str]:
        """Return the names of all skills, valid or not."""
        return await asyncio.to_thread(self._skills.names)

    async def run(self, name: str, request: AssistantRequest) -> AssistantRun:
        return await self._skills.runner().run(name, request)

    async def start(self, name: str, request: AssistantRequest, *, dry_run: bool = False) -> ActiveRun | Run:
        """Start a skill; with `dry_run`, only return the planned run."""
        return await self._skills.runner().start(name, request, dry_run=dry_run)

    async def describe(self, name: str, file: str = "", /) -> tuple[str, Sequence[ActivationCheck]]:
        return await asyncio.to_thread(self._skills.describe, name, file)


async def prune(skills: AssistantSkills) -> None:
    """Delete results that are older than their runs, and forget old versions of files."""
    await skills.results.prune()
    await skills.versions.prune()


HOOKS = FeatureHooks[AssistantSkills](
    open=open_assistant_skills,
    hourly=prune,
    provides=ProvidedAbilities(assistants=ProvidedAssistants),
)
