"""Skills in their public form: programs and assistant skills in one list."""

from asyncio import to_thread
from dataclasses import replace

from tocsin.features.skill_records import (
    ActivationCheck,
    Kind,
    SkillDetail,
    SkillRecord,
    problem_in,
    to_mapping,
)
from tocsin.features.skills.model import Skill, UnknownSkillError
from tocsin.features.skills.service import Skills


async def all_records(skills: Skills) -> list[SkillRecord]:
    """Return the records of all skills by name, also of those for the assistant that other features bring."""
    every = {record.name: record for record in await skills.abilities.assistants.list()}
    for skill in await to_thread(skills.list):
        record, instructions = await record_of(skills, skill), every.get(skill.name)
        # With both files it is one skill: what runs is the program.
        if instructions is None:
            every[skill.name] = record
        elif record.kind is Kind.RUNNABLE:
            every[skill.name] = _with_instructions(record, instructions)
    return [record for _, record in sorted(every.items())]


async def detail_of(skills: Skills, name: str, file: str = "") -> SkillDetail:
    """Return one skill with its instructions, and whether it acts on a file; raises UnknownSkillError."""
    record = next((record for record in await all_records(skills) if record.name == name), None)
    if record is None:
        skills.get(name)
        raise UnknownSkillError(f"skill {name} was removed")
    if record.priority is None and record.kind is Kind.RUNNABLE:
        return SkillDetail(**to_mapping(record), body=None, checks=_questions(record))  # it has no instructions
    body, checks = await skills.abilities.assistants.describe(name, file)
    return SkillDetail(**to_mapping(record), body=body, checks=checks)


def _questions(record: SkillRecord) -> list[ActivationCheck]:
    """Return the questions whether a skill acts on a file, of a program, which files never start."""
    mistakes = "; ".join(f"{error.line}:{error.column}: {error.detail}" for error in record.errors)
    enabled = (record.enabled, f"enabled: {'true' if record.enabled else 'false'}")
    return [
        ActivationCheck("is the definition valid?", record.valid, mistakes or "it has no errors"),
        ActivationCheck(
            "is it enabled?", *(enabled if record.valid else (None, "unknown while the definition has an error"))
        ),
        ActivationCheck("does a pattern match?", False, "runnable skills have no patterns: they are run by name"),
        ActivationCheck("is the file not excluded?", True, "no pattern excludes it"),
    ]


async def record_of(skills: Skills, skill: Skill) -> SkillRecord:
    """Return the record of a skill of the data directory."""
    manifest = skill.manifest
    last, count = await skills.last_run(skill.name)
    return SkillRecord(
        name=skill.name,
        kind=skill.kind,
        description=skill.description,
        enabled=skill.definition.enabled if skill.definition else True,
        permissions=manifest.permissions if manifest else (),
        vault=manifest.vault if manifest else None,
        dependencies=await skills.dependencies(skill),
        command=manifest.command if manifest else None,
        timeout_seconds=manifest.timeout_s if manifest else None,
        runnable=skill.runnable,
        valid=skill.valid,
        errors=[problem_in(error.file, error.problem) for error in skill.errors],
        warnings=await skills.doubts(skill),
        hints=[problem_in(hint.file, hint.problem) for hint in skill.hints],
        built_in=False,
        path=str(skill.path),
        file=str(skill.file),
        last_run=last,
        runs_30d=count,
    )


def _with_instructions(program: SkillRecord, instructions: SkillRecord) -> SkillRecord:
    """Return the record of a program that also has instructions for the assistant."""
    return replace(
        program,
        priority=instructions.priority,
        model=instructions.model,
        tools=instructions.tools,
        trigger_keywords=instructions.trigger_keywords,
        file_patterns=instructions.file_patterns,
        exclude_patterns=instructions.exclude_patterns,
        coordination=instructions.coordination,
        usable=instructions.usable,
        at_hand=instructions.at_hand,
    )
