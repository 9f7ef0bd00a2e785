"""The assistant skills of a program as the rest of it uses them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tocsin.features.assistant_skills.results import SkillResults
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.assistant_skills.settings import SKILLS_WATCH
from tocsin.features.assistant_skills.store import AssistantFolders
from tocsin.features.assistant_skills.watch.versions import ActedVersions
from tocsin.features.context import FeatureContext
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities

if TYPE_CHECKING:
    from tocsin.features.abilities import DescribeAssistant, RunAssistant, StartAssistant
    from tocsin.features.assistant_skills.running.assistant_runner import AssistantRuns
    from tocsin.features.assistant_skills.watch.watch_service import WatchService

SKILLS_FOLDER = "skills"  # that of runnable skills: a skill may be both


def open_assistant_skills(context: FeatureContext) -> AssistantSkills:
    """Return the assistant skills."""
    folders = AssistantFolders(context.data_dir / SKILLS_FOLDER)
    results, versions = SkillResults(context.database, context.clock), ActedVersions(context.database, context.clock)
    return AssistantSkills(folders, results, versions, context)


def run_type_of(skills: AssistantSkills) -> "AssistantRuns":
    """Return what the engine asks about looks of assistant skills."""
    from tocsin.features.assistant_skills.running.assistant_runner import AssistantRuns

    return AssistantRuns(skills.context.abilities.notify)


def list_assistants_of(skills: AssistantSkills) -> Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]:
    """Return what lists the records of all assistant skills."""
    return skills.documents


def assistant_names_of(skills: AssistantSkills) -> Callable[[], Awaitable[Collection[str]]]:
    """Return what lists the names of all assistant skills, valid or not."""

    async def names() -> Collection[str]:
        return await asyncio.to_thread(skills.names)

    return names


def run_assistant_of(skills: AssistantSkills) -> "RunAssistant":
    """Return what runs an assistant skill."""
    return skills.runner().run


def start_assistant_of(skills: AssistantSkills) -> "StartAssistant":
    """Return what starts an assistant skill."""
    return skills.runner().start


def describe_assistant_of(skills: AssistantSkills) -> "DescribeAssistant":
    """Return what tells the instructions of an assistant skill, and whether it acts on a file."""

    async def describe(name: str, file: str = "", /) -> Mapping[str, Any]:
        return await asyncio.to_thread(skills.describe, name, file)

    return describe


def watch_service_of(skills: AssistantSkills) -> "WatchService":
    """Return what watches the folders of SKILLS_WATCH."""
    # Only processes that run services need these.
    from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch
    from tocsin.features.assistant_skills.watch.watch_service import LEASE, WatchService
    from tocsin.scheduling.lease import Lease

    context = skills.context
    folders = context.settings[SKILLS_WATCH]
    lease = Lease(context.database, LEASE, context.clock)
    return WatchService((lambda: AssistantWatch(skills, folders)) if folders else None, lease, context.clock)


async def prune(skills: AssistantSkills) -> None:
    """Delete results that are older than their runs, and forget old versions of files."""
    await skills.results.prune()
    await skills.versions.prune()


HOOKS = FeatureHooks[AssistantSkills](
    open=open_assistant_skills,
    services=(watch_service_of,),
    hourly=prune,
    provides=ProvidedAbilities(
        describe_assistant=describe_assistant_of,
        start_assistant=start_assistant_of,
        list_assistants=list_assistants_of,
        assistant_names=assistant_names_of,
        run_assistant=run_assistant_of,
    ),
    run_types={"skill": run_type_of},
)
