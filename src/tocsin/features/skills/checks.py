"""The checks of skills in `tocsin doctor`."""

from collections.abc import AsyncIterator, Collection

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import refuse_others
from tocsin.core.text.strings import number_of
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.skills.model import Skill
from tocsin.features.skills.service import Skills
from tocsin.terminal.findings import Finding, failure


async def check_skills(skills: Skills) -> AsyncIterator[Finding]:
    """Check each skill: its files, and the programs that it needs."""
    if skills.folder.is_dir():
        try:
            refuse_others(skills.folder)
        except ConfigError as error:
            yield failure("skills", error)
    found = skills.list()
    for skill in found:
        for mistake in skill.errors:
            yield Finding("error", "skills", f"{skill.name} cannot be used: {mistake}", "correct the file")
    async for finding in _check_programs(skills, found):
        yield finding
    valid = sum(skill.valid for skill in found)
    if valid:
        yield Finding("ok", "skills", f"{number_of(valid, 'skill')} in {found[0].path.parent}")


async def _check_programs(skills: Skills, found: Collection[Skill]) -> AsyncIterator[Finding]:
    for skill in found:
        missing = [needed.name for needed in await skills.dependencies(skill) if not needed.found]
        if missing:
            detail = f"{skill.name} needs {', '.join(missing)}, which is not available in the sandbox"
            yield Finding("warning", "skills", detail, f"install {', '.join(missing)} into a system directory")
        for doubt in await skills.doubts(skill):
            yield Finding("warning", "skills", f"{skill.name}: {doubt.detail}", doubt.fix)


CHECKS: Checks[Skills] = (FeatureCheck(check_skills, at_start=True),)
