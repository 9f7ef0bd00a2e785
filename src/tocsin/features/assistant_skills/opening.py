"""The assistant skills of a program as the rest of it uses them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tocsin.features.assistant_skills.results import SkillResults
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.assistant_skills.store import AssistantFolders
from tocsin.features.assistant_skills.watch.versions import ActedVersions
from tocsin.features.context import FeatureContext, RunAssistant

SKILLS_FOLDER = "skills"  # that of runnable skills: a skill may be both


def open_assistant_skills(context: FeatureContext) -> AssistantSkills:
    """Return the assistant skills."""
    folders = AssistantFolders(context.data_dir / SKILLS_FOLDER)
    results, versions = SkillResults(context.database, context.clock), ActedVersions(context.database, context.clock)
    return AssistantSkills(folders, results, versions, context)


def list_assistants_of(skills: AssistantSkills) -> Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]:
    """Return what lists the records of all assistant skills."""
    return skills.documents


def run_assistant_of(skills: AssistantSkills) -> RunAssistant:
    """Return what runs an assistant skill."""
    return skills.run


async def prune(skills: AssistantSkills) -> None:
    """Delete results that are older than their runs, and forget old versions of files."""
    await skills.results.prune()
    await skills.versions.prune()
