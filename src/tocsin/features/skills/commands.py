"""skills: list them, look for mistakes, show one, run one."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tocsin.core.process.sandbox import State
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import cell
from tocsin.core.text.strings import number_of
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.contract import Commands
from tocsin.features.skill_records import Severity, SkillDetail, SkillProblemRecord, SkillRecord
from tocsin.features.skills.model import (
    INSTRUCTIONS,
    MANIFEST,
    MAX_TIMEOUT_S,
    ExecutionMode,
    Skill,
    UnknownSkillError,
)
from tocsin.features.skills.records import all_records, detail_of, record_of
from tocsin.features.skills.service import SkillRequest, Skills
from tocsin.features.skills.store import SkillFolder, read_skill
from tocsin.runs.model import Line, Run, RunTrigger
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import read_message, readable, whole_number

# What still belongs to us behind the name, until the first word of another kind: with and without a value.
_VALUED, _PLAIN = ("--mode", "--timeout", "--input"), ("--json", "--exit-code")


def configure_skills(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin skills`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list runnable skills and assistant skills",
            "lint": "check the files of skills for errors and possible problems",
            "show": "show one skill, its dependencies, and the sandbox level available here",
            "run": "run a skill and print its output or findings",
        },
    )
    parser.epilog = "example: tocsin skills run backup web"
    commands["list"].epilog = "example: tocsin skills list"
    commands["list"].set_defaults(run=_list)
    commands["lint"].epilog = "example: tocsin skills lint ./my-skill\n\nexit code 0: no errors, 1: at least one error"
    commands["lint"].add_argument(
        "path", nargs="?", help="name, folder or file of a skill, or a folder of skills (default: all skills)"
    )
    commands["lint"].set_defaults(run=_lint)
    commands["show"].epilog = "example: tocsin skills show backup"
    commands["show"].add_argument("name", help="name of the skill; `tocsin skills list` shows them")
    commands["show"].set_defaults(run=_show)
    _configure_run(commands["run"])


def _configure_run(parser: argparse.ArgumentParser) -> None:
    parser.usage = "tocsin skills run [options] NAME [ARGUMENT ...]"
    parser.epilog = (
        "example: tocsin skills run backup --mode sandboxed web\n\n"
        "Arguments after the name are passed to the skill; `--` ends the options. For an assistant skill, the\n"
        "arguments are files and folders, --input is its task, and only --input and --exit-code apply.\n"
        "exit code 0: the run succeeded, 1: it failed"
    )
    parser.add_argument(
        "--mode",
        choices=[str(mode) for mode in ExecutionMode],
        default=str(ExecutionMode.STANDARD),
        help="standard: the environment of this command without secrets; sandboxed: confined, with four variables",
    )
    parser.add_argument(
        "--timeout",
        type=whole_number(1, MAX_TIMEOUT_S),
        metavar="SECONDS",
        help="time limit, capped at the skill's own",
    )
    parser.add_argument(
        "--input", default="", metavar="TEXT", help="standard input for the skill; `-` forwards this command's"
    )
    parser.add_argument(
        "--exit-code", action="store_true", help="exit with code 1 if a finding has the severity warning or higher"
    )
    # One argument for both: argparse would take a `--` behind the name for its own.
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="NAME ARGUMENT", help="name of the skill, and its arguments"
    )
    parser.set_defaults(run=_run)


def _list(_: argparse.Namespace, out: Console, program: Program) -> int:
    found = _records(program)
    if out.as_json:
        out.document(found)
    else:
        out.table(("name", "kind", "state", "description"), [_row(skill) for skill in found])
        for skill in found:
            _tell_mistakes(skill, out)
        if all(skill.built_in for skill in found):
            out.note(
                "no skills of your own exist; put a folder with skill.yaml or SKILL.md into the folder skills of "
                "the data directory"
            )
    return MISUSED if any(skill.errors for skill in found) else DONE


def _records(program: Program, path: str | None = None) -> list[SkillRecord]:
    async def work(skills: Skills) -> list[SkillRecord]:
        every = await all_records(skills)
        if path is None:
            return every
        named = [record for record in every if record.name == path]
        return named or [await record_of(skills, skill) for skill in _read(skills, path)]

    return program.run(work)


def _read(skills: Skills, path: str) -> Sequence[Skill]:
    """Return the skills at a path; raises UnknownSkillError if it has none and is not the name of one."""
    place = Path(path)
    if not place.exists():
        return (skills.get(readable(path)),)
    folder = (place if place.is_dir() else place.parent).absolute()
    if skill := read_skill(folder):
        return (skill,)
    found = SkillFolder(folder).all()
    if not found:
        raise UnknownSkillError(
            f"{folder} contains no skill", hint=f"a skill is a folder with a {INSTRUCTIONS} or {MANIFEST}"
        )
    return found


def _lint(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    found = _records(program, arguments.path)
    errors, warnings, hints = (
        sum(len(getattr(skill, kind)) for skill in found) for kind in ("errors", "warnings", "hints")
    )
    if out.as_json:
        out.document(found)
        return FAILED if errors else DONE
    for skill in found:
        _tell_mistakes(skill, out)
        for hint in skill.hints:
            out.line(f"hint: {_place(hint)}")
    counts = ((errors, "error"), (warnings, "warning"), (hints, "hint"))
    out.line(f"{number_of(len(found), 'skill')}: {', '.join(number_of(*count) for count in counts)}")
    return FAILED if errors else DONE


def _row(skill: SkillRecord) -> tuple[str, ...]:
    state = f"missing: {', '.join(skill.missing)}" if skill.missing else "warning" if skill.warnings else "ok"
    state = state if skill.enabled else "off"
    return skill.name, skill.kind, state if skill.valid else "error", skill.description


def _tell_mistakes(skill: SkillRecord, out: Console) -> None:
    for error in skill.errors:
        out.error(_place(error), "fix this skill; the other skills are not affected")
    for warning in skill.warnings:
        out.error(f"{skill.name}: {warning.detail}", warning.fix)


def _place(problem: SkillProblemRecord) -> str:
    is_named = f"'{problem.key}'" in problem.detail
    key = f"{problem.key}: " if problem.key and not is_named else ""
    return f"{problem.file}:{problem.line}:{problem.column}: {key}{problem.detail}"


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(skills: Skills) -> tuple[SkillDetail, State]:
        return await detail_of(skills, readable(arguments.name)), await skills.sandbox_state()

    detail, state = program.run(work)
    skill = to_json(detail)
    confined = {"level": str(state.level), "reason": state.reason}
    if out.as_json:
        out.document({**skill, "sandbox": confined})
        return DONE
    last = skill["last_run"]
    dependencies = [f"{d['name']} ({d['path'] or 'missing'})" for d in skill["dependencies"]]
    shown = {
        **{name: skill.get(name) for name in _SHOWN if skill.get(name) is not None},
        "permissions": ", ".join(skill["permissions"]) or "none",
        "dependencies": ", ".join(dependencies) or "none",
        "sandbox": f"{state.level} ({state.reason})" if state.reason else str(state.level),
        "last run": f"{last['status']}, {last['started_at']}, {last['id']}" if last else "never",
        "runs in 30 days": skill["runs_30d"],
    }
    out.table(("field", "value"), [(name, cell(value)) for name, value in shown.items()])
    _tell_mistakes(detail, out)
    return DONE


_SHOWN = (
    "name", "kind", "description", "built_in", "path", "command", "timeout_seconds", "enabled", "priority", "model",
    "tools", "file_patterns", "exclude_patterns", "trigger_keywords",
)  # fmt: skip


def _run(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    if not arguments.words:
        arguments.parser.error("the name of a skill is missing")
    name, *words = arguments.words
    own, words = _split(words)
    if own:
        arguments.parser.parse_args(own, arguments)
        out.as_json = out.as_json or getattr(arguments, "json", False)
    call = SkillRequest(
        ExecutionMode(arguments.mode),
        RunTrigger.MANUAL,
        source="cli",
        args=tuple(readable(word) for word in words),
        input=read_message(arguments.input, out) if arguments.input else "",
        timeout_s=arguments.timeout,
    )
    ended = program.run(lambda skills: _watched(skills, readable(name), call, out), writes=True)
    run = ended.run
    if out.as_json:
        found = {"findings": list(ended.findings), "patch": ended.patch} if isinstance(ended, AssistantRun) else {}
        out.document({**to_json(run), **found})
    elif not run.ok:
        out.error(f"{run.subject_name}: {run.status}: {run.reason}")
    found_some = isinstance(ended, AssistantRun) and any(each.severity is not Severity.INFO for each in ended.findings)
    return FAILED if not run.ok or (arguments.exit_code and found_some) else DONE


class _ProgramRun(NamedTuple):
    run: Run


async def _watched(skills: Skills, name: str, call: SkillRequest, out: Console) -> "_ProgramRun | AssistantRun":
    """Run a skill, and show its output while it runs."""

    def show(line: Line) -> None:
        (out.aside if line.stream == "stderr" else out.text)(line.plain)

    if await skills.is_assistant(name):
        out.effect_done("the skill was run")
        return await skills.abilities.assistants.run(
            name,
            AssistantRequest(
                source=call.source,
                cause=call.trigger,
                folder=Path.cwd(),
                files=call.args,
                input=call.input,
                watch=show,
            ),
        )
    if call.mode is ExecutionMode.SANDBOXED:
        state = await skills.sandbox_state()
        if state.reason:
            out.note(f"tocsin: the sandbox level is only {state.level}: {state.reason}")
    out.effect_done("the skill was run")
    return _ProgramRun(await skills.run(name, call, watch=show))


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words into our options, which come first, and the arguments of the skill."""
    own, rest = [], list(words)
    while rest:
        name, _, value = rest[0].partition("=")
        if name in _PLAIN and not value:
            own.append(rest.pop(0))
        elif name in _VALUED:
            own += [rest.pop(0)] if value else [rest.pop(0), *(rest.pop(0) for _ in rest[:1])]
        else:
            break
    return own, rest[1:] if rest[:1] == ["--"] else rest


COMMANDS: Commands = {"skills": configure_skills}
