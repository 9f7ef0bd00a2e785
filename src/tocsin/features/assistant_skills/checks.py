"""The checks of assistant skills in `tocsin doctor`."""

from collections.abc import AsyncIterator

from tocsin.core.text.strings import number_of
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding


async def check_assistant_skills(skills: AssistantSkills) -> AsyncIterator[Finding]:
    """Check the definition of each skill."""
    found = skills.list()
    for skill in found:
        for mistake in skill.errors:
            detail = f"{skill.name} cannot be used: {skill.file}:{mistake}"
            yield Finding("error", "assistant skills", detail, "correct the file")
    active = [skill for skill in found if skill.definition and skill.definition.enabled and not skill.errors]
    yield Finding("ok", "assistant skills", f"{number_of(len(active), 'skill')} enabled")


CHECKS: Checks[AssistantSkills] = (FeatureCheck(check_assistant_skills, at_start=True),)
