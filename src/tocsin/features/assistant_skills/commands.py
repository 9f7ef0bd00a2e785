"""skills why, which and watch: show which skills act on a file, and run them when files change."""

import argparse
import os
from pathlib import Path

from tocsin.features.assistant_skills.activation import activation
from tocsin.features.assistant_skills.folder.place import place_of
from tocsin.features.assistant_skills.results import SkillResultRecord
from tocsin.features.assistant_skills.service import AssistantSkills
from tocsin.features.assistant_skills.settings import SKILLS_WATCH
from tocsin.features.contract import Commands
from tocsin.features.skill_records import ActivationCheck
from tocsin.runs.model import Line
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable


def configure_why(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin skills why code-reviewer src/app.py\n\n"
        "exit code 0: the skill is active for the file, 1: it is not"
    )
    parser.add_argument("name", help="name of the skill; `tocsin skills list` shows them")
    _add_file(parser)
    parser.set_defaults(run=_why)


def configure_which(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin skills which src/app.py"
    _add_file(parser)
    parser.set_defaults(run=_which)


def configure_apply(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin skills apply 019abc\n\nexit code 1: a file has changed since the run, and no file was written"
    )
    parser.add_argument("run_id", metavar="run", help="ID of the run, or its beginning, as printed by the run")
    parser.add_argument("--show", action="store_true", help="print the patch without writing files")
    parser.set_defaults(run=_apply)


def _apply(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(skills: AssistantSkills) -> SkillResultRecord:
        found = await skills.results.get(readable(arguments.run_id))
        return found if arguments.show else await skills.runner().apply(found.run_id, source="cli")

    found = program.run(work, writes=True)
    if not arguments.show:
        out.effect_done("the patch was applied")
    if out.as_json:
        written = [] if arguments.show else [change.path for change in found.changes]
        out.document({"run": found.run_id, "folder": found.folder, "patch": found.patch, "written": written})
    elif arguments.show:
        out.text(found.patch, end="")
    else:
        for change in found.changes:
            out.line(f"written: {change.path}")
    return DONE


def configure_watch(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin skills watch src\n\nPress Ctrl-C to stop."
    parser.add_argument(
        "folder", nargs="*", help="folder to watch (default: the folders in SKILLS_WATCH, else the working directory)"
    )
    parser.set_defaults(run=_watch)


def _watch(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch

    def show(line: Line) -> None:
        (out.aside if line.stream == "stderr" else out.text)(line.plain)

    named, here = [Path(readable(folder)).absolute() for folder in arguments.folder], Path.cwd()

    async def work(skills: AssistantSkills) -> None:
        folders = named or list(skills.context.settings[SKILLS_WATCH]) or [here]
        watch = AssistantWatch(skills, folders, show=show)
        if not skills.has_model:
            out.note(f"tocsin: {skills.without_model()}")
        out.note(f"tocsin: watching {', '.join(map(str, folders))}; press Ctrl-C to stop")
        await watch.run()

    program.run(work, writes=True)
    return DONE


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="path of the file; it need not exist")
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        help="folder that patterns are relative to (default: the git work tree of the file, else the working "
        "directory)",
    )


def _why(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(skills: AssistantSkills) -> tuple[str, str, tuple[ActivationCheck, ...]]:
        file, path = await _path(skills, arguments)
        return path, skills.unwatched(file), skills.why(readable(arguments.name), path)

    path, reason, checks = program.run(work)
    acts = all(check.ok for check in checks)
    if reason:
        out.line(f"services skip {path}: {reason}")
    watched: dict[str, object] = {"watched": not reason, "reason": reason or None}
    document = {"name": arguments.name, "file": path, **watched, "acts": acts, "checks": checks}
    out.listing(document, ("question", "answer", "because"), map(_answer, checks))
    out.line(f"{arguments.name} {'is active' if acts else 'is not active'} for {path}")
    return DONE if acts else FAILED


def _answer(check: ActivationCheck) -> tuple[str, str, str]:
    return check.question, "not known" if check.ok is None else "yes" if check.ok else "no", check.reason


def _which(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(skills: AssistantSkills) -> tuple[str, str, list[dict[str, object]]]:
        file, path = await _path(skills, arguments)
        return (
            path,
            skills.unwatched(file),
            [
                {
                    "name": skill.name,
                    "priority": skill.definition.priority if skill.definition else "",
                    "because": activation(skill, path)[2].reason,
                }
                for skill in skills.which(path)
            ],
        )

    path, reason, found = program.run(work)
    if reason:
        out.line(f"services skip {path}: {reason}")
    if found:
        out.table(("skill", "priority", "because"), [[str(value) for value in each.values()] for each in found])
    else:
        out.line(f"no skill is active for {path}")
    return out.answer({"file": path, "watched": not reason, "reason": reason or None, "skills": found})


async def _path(skills: AssistantSkills, arguments: argparse.Namespace) -> tuple[Path, str]:
    """Return the full path of a file, and its path as patterns see it."""
    file, base, folder = _places(readable(arguments.file), arguments.folder)
    top = folder or await skills.runner().top_of(base, file)
    return file, place_of(top, [file]).paths[0]


def _places(file: str, folder: str | None) -> tuple[Path, Path, Path | None]:
    """Return a file in full, the working directory, and the folder in full."""
    path = Path(os.path.abspath(file))  # noqa: PTH100  # a link is not followed
    return path, Path.cwd(), None if folder is None else Path(folder).absolute()


COMMANDS: Commands = {
    "skills apply": configure_apply,
    "skills why": configure_why,
    "skills which": configure_which,
    "skills watch": configure_watch,
}
