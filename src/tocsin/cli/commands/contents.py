"""The options of `send`, `notify` and `publish` that say more than a text: title, priority, buttons and others."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from tocsin.assembly.program import App
from tocsin.channels.model import FORMATS
from tocsin.core.errors import TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.core.text.strings import number_of
from tocsin.messaging.outbound.results import PlannedTarget
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.text import readable

PRIORITIES = ("min", "low", "default", "high", "urgent")
ACTION_FORMS = "must be view,LABEL,URL or call,LABEL,NAME or call,LABEL,NAME,VALUE"
TYPES = ("info", "success", "warning", "failure")


def add_contents(parser: argparse.ArgumentParser, *, planned: bool = True) -> None:
    """Add the options, for `read_contents` and `parse_mode_of`; with `planned`, also `--dry-run`."""
    group = parser.add_argument_group("title, urgency and links")
    group.add_argument("--title", "--subject", type=_line, metavar="LINE", help="title, subject or first line")
    group.add_argument("--priority", metavar="1-5", help=f"1 to 5, or {', '.join(PRIORITIES)}")
    group.add_argument("--type", choices=TYPES, help="colour and symbol of the message")
    group.add_argument("--click", metavar="URL", help="address that the message is about")
    group.add_argument(
        "--action",
        action="append",
        default=[],
        type=_action,
        metavar="ACTION",
        help="button: view,LABEL,URL opens an address, call,LABEL,NAME[,VALUE] starts what NAME says; repeatable",
    )
    group.add_argument(
        "--mention", action="append", default=[], metavar="WHO", help="@here, @channel, @name or an ID; repeatable"
    )
    group.add_argument("--silent", action="store_true", help="deliver without a sound")
    group.add_argument("--key", metavar="KEY", help="a later message with the same key edits this one")
    group.add_argument("--thread", metavar="NAME", help="group messages below the first one with the same thread")
    group.add_argument("--format", metavar="FORMAT", help=f"{', '.join(FORMATS)}, or a parse mode of the channel")
    files = group.add_mutually_exclusive_group()
    files.add_argument(
        "--attach", action="append", default=[], metavar="FILE", help="file to send with the message; repeatable"
    )
    files.add_argument(
        "--no-files", action="store_const", const=[], dest="files", help="with --key: an edit removes the former files"
    )
    if planned:
        group.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def read_contents(arguments: argparse.Namespace) -> Mapping[str, Any]:
    """Return the content that the options give, as a message takes it."""
    given: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("title", "type", "click", "mention", "silent", "key", "thread", "attach")
        if getattr(arguments, name)
    }
    if arguments.files is not None:
        given["attach"] = arguments.files
    if arguments.priority:
        given["priority"] = int(arguments.priority) if arguments.priority.isdecimal() else arguments.priority
    if arguments.action:
        given["actions"] = arguments.action
    return given


async def stored_contents(arguments: argparse.Namespace, app: App) -> Mapping[str, Any]:
    """Return the content with its files, which are stored; a dry run only reads them."""
    content = read_contents(arguments)
    if not arguments.attach:
        return content
    return await app.files().take(content, paths=True, dry_run=getattr(arguments, "dry_run", False))


def parse_mode_of(arguments: argparse.Namespace) -> str:
    """Return the parse mode that `--format` gives."""
    given = arguments.format or ""
    return FORMATS.get(given, given)


def show_plans(out: Console, plans: list[PlannedTarget], label: Callable[[str], str]) -> int:
    """Print what a message would become for each target; return the exit code."""
    ok = not any(isinstance(each.plan, TocsinError) and not each.skipped for each in plans)
    if out.as_json:
        out.document([_as_json(each) for each in plans])
        return DONE if ok else FAILED
    for each in plans:
        plan = each.plan
        if each.skipped:
            out.line(f"{label(each.channel)} {each.target}: {each.skipped}")
            continue
        if isinstance(plan, TocsinError):
            out.error(f"{label(each.channel)} {each.target}: {plan.in_result()}")
            continue
        counted = [number_of(len(plan.parts), "message")] if plan.parts else []
        counted += [number_of(len(plan.files), "file")] if plan.files else []
        out.line(f"{label(plan.channel)} {plan.target}: {', '.join(counted)}")
        for field in plan.fields:
            out.line(f"  {field.field}: {field.support}{f' ({field.note})' if field.note else ''}")
        for file in plan.files:
            out.line(f"  file: {file.name} ({file.type}, {number_of(file.size, 'byte')})")
        for part in plan.parts:
            for line in part.text.split("\n"):
                out.line(f"  | {line}")
    return DONE if ok else FAILED


def _as_json(planned: PlannedTarget) -> dict[str, Any]:
    place, plan = {"channel": planned.channel, "target": planned.target}, planned.plan
    if isinstance(plan, TocsinError):
        return {**place, "parts": [], "fields": [], "files": [], "error": plan.in_result(), "skipped": planned.skipped}
    return {**to_json(plan), "error": "", "skipped": planned.skipped}


def _line(text: str) -> str:
    line = readable(text).strip()
    if not line or not line.isprintable():
        raise argparse.ArgumentTypeError("must be one line of printable characters")
    return line


def _action(text: str) -> dict[str, str]:
    kind, *rest = (part.strip() for part in readable(text).split(",", 2 if text.startswith("view") else 3))
    if kind == "view" and len(rest) == 2 and all(rest):
        return {"action": kind, "label": rest[0], "url": rest[1]}
    if kind == "call" and len(rest) in {2, 3} and all(rest[:2]):
        return {"action": kind, "label": rest[0], "name": rest[1], **({"value": rest[2]} if rest[2:] else {})}
    raise argparse.ArgumentTypeError(ACTION_FORMS)
