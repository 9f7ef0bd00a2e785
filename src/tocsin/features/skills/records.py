"""Skills in their public form: with `--json`, and in the dashboard; programs and assistant skills in one list."""

from asyncio import to_thread
from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.features.skills.model import Kind, Skill, SkillProblem, UnknownSkillError
from tocsin.features.skills.service import Skills
from tocsin.runs.model import RunSummary

# What only one of the two kinds has.
_UNUSED: dict[str, Any] = {
    "priority": None, "model": None, "tools": [], "trigger_keywords": [], "file_patterns": [], "exclude_patterns": [],
    "coordination": None, "vault": None, "usable": None, "at_hand": None,
}  # fmt: skip


async def all_records(skills: Skills) -> list[dict[str, Any]]:
    """Return the records of all skills by name, also of those for the assistant that other features bring."""
    assistants = {str(record["name"]): dict(record) for record in await skills.abilities.assistants.list()}
    own = {skill.name: await record_of(skills, skill) for skill in await to_thread(skills.list)}
    # One with both files is one skill: what runs is the program.
    both = {name: assistants[name] | record for name, record in own.items() if name in assistants}
    programs = {name: record for name, record in both.items() if record["kind"] == str(Kind.RUNNABLE)}
    every = own | assistants | programs
    return [_UNUSED | record | {"active_reason": _reason(record)} for _, record in sorted(every.items())]


async def record_named(skills: Skills, name: str) -> dict[str, Any]:
    """Return the record of one skill; raises UnknownSkillError."""
    named = [record for record in await all_records(skills) if record["name"] == name]
    if not named:
        skills.get(name)
        raise UnknownSkillError(f"skill {name} was removed")
    return named[0]


async def detail_of(skills: Skills, name: str, file: str = "") -> dict[str, Any]:
    """Return the record of one skill, its instructions, and whether it acts on a file."""
    record = await record_named(skills, name)
    if record["priority"] is None and record["kind"] == str(Kind.RUNNABLE):
        return {**record, "body": None, "checks": _questions(record)}  # it has no instructions
    return {**record, **await skills.abilities.assistants.describe(name, file)}


def _questions(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the questions whether a skill acts on a file, of a program, which files never start."""
    mistakes = "; ".join(f"{error['line']}:{error['column']}: {error['detail']}" for error in record["errors"])
    enabled = (record["enabled"], f"enabled: {'true' if record['enabled'] else 'false'}")
    answers = (
        ("is the definition valid?", record["valid"], mistakes or "it has no errors"),
        ("is it enabled?", *(enabled if record["valid"] else (None, "unknown while the definition has an error"))),
        ("does a pattern match?", False, "runnable skills have no patterns: they are run by name"),
        ("is the file not excluded?", True, "no pattern excludes it"),
    )
    return [{"question": question, "ok": ok, "reason": reason} for question, ok, reason in answers]


async def record_of(skills: Skills, skill: Skill) -> dict[str, Any]:
    """Return the record of a skill of the data directory."""
    manifest = skill.manifest
    last, count = await skills.last_run(skill.name)
    return {
        "name": skill.name,
        "kind": str(skill.kind),
        "description": skill.description,
        "enabled": skill.definition.enabled if skill.definition else True,
        "permissions": list(map(str, manifest.permissions)) if manifest else [],
        "vault": list(manifest.vault) if manifest and manifest.vault is not None else None,
        "dependencies": [
            {"name": d.name, "found": d.found, "path": d.path or None} for d in await skills.dependencies(skill)
        ],
        "command": manifest.command if manifest else None,
        "timeout_seconds": manifest.timeout_s if manifest else None,
        "runnable": skill.runnable,
        "valid": skill.valid,
        "errors": [_problem(error) for error in skill.errors],
        "warnings": [doubt._asdict() for doubt in await skills.doubts(skill)],
        "hints": [_problem(hint) for hint in skill.hints],
        "built_in": False,
        "path": str(skill.path),
        "file": str(skill.file),
        "last_run": to_json(last, RunSummary) if last else None,
        "runs_30d": count,
    }


def _reason(record: Mapping[str, Any]) -> str:
    """Return why a skill is active or not, in one sentence."""
    if not record["valid"]:
        return f"it has an error: {record['errors'][0]['detail']}"
    if not record["enabled"]:
        return f"it is disabled in {record['file']}"
    if missing := missing_of(record["dependencies"]):
        return f"missing programs: {', '.join(missing)}"
    if record["kind"] == str(Kind.RUNNABLE):
        return "it is run by name"
    if not record.get("usable", True):
        return "it needs a chat model"
    if record.get("at_hand"):
        return "it checks changes in the folders of SKILLS_WATCH"
    return "SKILLS_WATCH is empty: it runs only by name or with `tocsin skills watch`"


def hindrance_of(record: Mapping[str, Any]) -> str:
    """Return why a skill cannot be run without being given a folder, or `""`; it is shown in chats."""
    if not record["valid"]:
        return "it has an error"
    if not record["enabled"]:
        return "it is disabled"
    if record["kind"] == str(Kind.RUNNABLE) or record["at_hand"]:
        return ""
    return "SKILLS_WATCH contains no folder for it" if record["usable"] else "it needs a chat model"


def missing_of(dependencies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the dependencies that are not there."""
    return [str(each["name"]) for each in dependencies if not each["found"]]


def _problem(problem: SkillProblem) -> dict[str, object]:
    return {"file": str(problem.file), **problem.problem.as_dict()}
