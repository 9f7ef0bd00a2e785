"""doctor, what people wrote: profiles, trigger rules, skills; and the audit log."""

from collections.abc import AsyncIterator, Collection, Iterator

from tocsin.assembly.program import SKILLS_FOLDER, App, checked_profiles, skills_of
from tocsin.cli.doctor.findings import Finding, collect, failure, first_of, number_of
from tocsin.cli.doctor.machine import is_installed
from tocsin.core.config.variables import CHAT_PROVIDER
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.storage.files import refuse_others
from tocsin.features.skills.model import Skill
from tocsin.features.skills.service import Skills
from tocsin.features.triggers.captures import notes_on
from tocsin.features.triggers.rules import Action, Rule


async def check_files(app: App) -> list[Finding]:
    """Check all that people wrote."""
    return [*check_profiles(app), *check_triggers(app), *await collect("skills", check_skills(app))]


def check_profiles(app: App) -> Iterator[Finding]:
    """Check the notification profiles, each target as a send would."""
    path = app.profiles().path
    if problem := app.profiles().problem:
        yield Finding("error", "profiles", str(problem), problem.hint or "correct the file")
        return
    profiles = checked_profiles(app).all()
    for mistake in (mistake for profile in profiles for mistake in profile.problems):
        yield Finding("error", "profiles", f"{path}:{mistake}", "correct the file, or configure the channel")
    if profiles and all(profile.valid for profile in profiles):
        yield Finding("ok", "profiles", f"{len(profiles)} in {path}")


def check_audit_log(app: App) -> Finding:
    """Check that the audit log can be read."""
    try:
        newest = app.audit.log.tail(1)
    except TocsinError as error:
        return failure("audit log", error)
    return Finding("ok", "audit log", f"last entry {newest[0].ts}" if newest else "empty")


async def check_skills(app: App) -> AsyncIterator[Finding]:
    """Check each skill: its files, and the programs that it needs."""
    skills = skills_of(app)
    folder = app.settings.data_dir / SKILLS_FOLDER
    if folder.is_dir():
        try:
            refuse_others(folder)
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
            detail = f"{skill.name} needs {', '.join(missing)}, which a sandboxed run does not find"
            yield Finding(
                "warning", "skills", detail, f"install {', '.join(missing)} where the system has its programs"
            )
        for doubt in await skills.doubts(skill):
            yield Finding("warning", "skills", f"{skill.name}: {doubt.detail}", doubt.fix)


def check_triggers(app: App) -> Iterator[Finding]:
    """Check the trigger rules, and that what they run is there."""
    if not is_installed("re2"):
        return  # the package has a finding of its own
    triggers = app.triggers()
    rules = triggers.all()
    if problem := triggers.problem:
        yield Finding("error", "triggers", str(problem), problem.hint or "correct the file")
    for rule in rules:
        for detail, fix in _doubts(rule, app):
            yield Finding("warning", "triggers", f"rule {rule.number} (line {rule.line}): {detail}", fix)
    if rules:
        yield Finding("ok", "triggers", f"{number_of(len(rules), 'rule')} in {triggers.path}")


def _doubts(rule: Rule, app: App) -> Iterator[tuple[str, str]]:
    """Yield what is dangerous about a rule or keeps it from working, each with what to do."""
    if rule.action is Action.SHELL:
        for note in notes_on(rule.command):
            detail, _, fix = note.partition(": ")
            yield detail, fix
    elif rule.action is Action.CLAUDE and not app.settings[CHAT_PROVIDER]:
        yield "it asks a chat model, and none is configured", f"set {CHAT_PROVIDER.name}"
    elif rule.action is Action.SKILL:
        runnable = [skill.name for skill in skills_of(app).list() if skill.runnable]
        if rule.words[0] not in runnable:
            there = ", ".join(first_of(runnable)) or "none"
            yield f"there is no skill {rule.words[0]} that can be run", f"correct the name; there are: {there}"
