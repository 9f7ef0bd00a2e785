"""watchers: list them, show one, try one on a file, enable and disable them, write a new one."""

import argparse
import os
from pathlib import Path

from tocsin.core.config.data_dir import require_usable
from tocsin.core.errors import ConfigError
from tocsin.core.reading.value import shorten
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import cell, short_time
from tocsin.features.contract import Commands
from tocsin.features.file_schemas import write_schemas
from tocsin.features.watchers.feature import WATCHERS_FILE
from tocsin.features.watchers.model import (
    WatcherAction,
    WatcherRecord,
    WatcherRule,
    WatcherWithEvents,
    WatchEvent,
    shown,
)
from tocsin.features.watchers.rules import FILE_NAME, with_rule
from tocsin.features.watchers.service import Watchers
from tocsin.runs.model import FAILING, Line, Run
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import readable

_EXAMPLE = """\
example of a watchers.yaml:
  # yaml-language-server: $schema=schemas/watchers.json
  - name: invoices
    path: ~/Scans
    patterns: ["*.pdf"]
    command: pdftotext "$1" - | head"""


def configure_watchers(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin watchers`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list the rules with their state and last run",
            "show": "show one rule and its latest changes",
            "run": "run the action of a rule on a file now, even if the rule is disabled",
            "retry": "run the action again on files whose last run failed",
            "enable": "enable a rule",
            "disable": "disable a rule; changes made meanwhile are skipped",
            "new": "add a new rule to watchers.yaml",
        },
    )
    parser.epilog = f"example: tocsin watchers run invoices ~/Scans/a.pdf\n\n{_EXAMPLE}"
    commands["list"].epilog = f"example: tocsin watchers list\n\n{_EXAMPLE}"
    commands["list"].set_defaults(run=_list)
    for name, run in {"show": _show, "enable": _switch, "disable": _switch}.items():
        commands[name].epilog = f"example: tocsin watchers {name} invoices"
        commands[name].add_argument("name", help="name of the rule; `tocsin watchers list` shows them")
        commands[name].set_defaults(run=run, enabled=name == "enable")
    _configure_run(commands["run"])
    _configure_retry(commands["retry"])
    _configure_new(commands["new"])


def _configure_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin watchers run invoices ~/Scans/a.pdf\n\nexit code 0: the run succeeded, 1: it failed"
    )
    parser.add_argument("name", help="name of the rule; `tocsin watchers list` shows them")
    parser.add_argument("path", help="file in the watched folder")
    parser.add_argument(
        "--event",
        choices=[str(event) for event in WatchEvent],
        default="modified",
        help="event to simulate (default: modified)",
    )
    parser.set_defaults(run=_run)


def _configure_retry(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin watchers retry --failed\n\n"
        "Files that no longer exist are skipped.\n"
        "exit code 0: all runs succeeded, or no file had failed, 1: a run failed again"
    )
    parser.add_argument("name", nargs="?", default="", help="name of the rule (default: all rules)")
    parser.add_argument("--failed", action="store_true", required=True, help="select the files whose last run failed")
    parser.set_defaults(run=_retry)


def _configure_new(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin watchers new invoices --path ~/Scans --pattern '*.pdf' --command 'lp \"$1\"'"
    parser.add_argument("name", help="name of the new rule")
    parser.add_argument("--path", required=True, metavar="DIR", help="the folder")
    parser.add_argument(
        "--command", default="", metavar="COMMAND", help="command, name of a skill, or other value for the action"
    )
    parser.add_argument(
        "--action",
        choices=[str(action) for action in WatcherAction],
        default="shell",
        help="type of action (default: shell)",
    )
    parser.add_argument("--pattern", action="append", default=[], metavar="GLOB", help="file pattern; may be repeated")
    parser.add_argument(
        "--output", default="", metavar="WHERE", help="destination of the output: <channel>:<target>, or a profile"
    )
    parser.set_defaults(run=_new)


def _list(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(watchers: Watchers) -> tuple[list[WatcherRecord], ConfigError | None]:
        return await watchers.list_rules(), watchers.problem

    records, problem = program.run(work)
    if problem:
        out.error(str(problem), "services keep using the last valid version")
    if out.as_json:
        out.document(records)
    elif records:
        out.table(
            ("name", "folder", "events", "action", "state", "last change", "last run"), [_row(r) for r in records]
        )
        for record in records:
            if record.error:
                out.note(f"{record.rule.name}: {record.error}")
    elif not problem:
        out.note("no watchers exist; add one with `tocsin watchers new`")
    return MISUSED if problem else DONE


def _row(record: WatcherRecord) -> tuple[str, ...]:
    rule, event, last = record.rule, record.last_event, record.last_run
    seen = f"{event.type} {short_time(event.at)}" if event else ""
    ended = f"{last.status} {short_time(last.started_at)}" if last else ""
    action = f"{rule.action}: {shorten(rule.command)}"
    return rule.name, shown(str(rule.path)), ", ".join(rule.events), action, record.state, seen, ended


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    found = program.run(lambda watchers: watchers.find_rule(readable(arguments.name)))
    record = to_json(found)
    last = record["last_run"]
    fields = {key: value for key, value in record.items() if key not in {"recent", "last_event", "last_run"}}
    rows = [(key.replace("_", " "), cell(value)) for key, value in fields.items()]
    rows.append(("last run", f"{last['status']}, {last['started_at']}, {last['id']}" if last else "never"))
    out.listing(record, ("field", "value"), rows)
    if record["recent"]:
        out.line("")
        seen = [(each["at"], each["type"], each["path"], each["run_id"] or "") for each in record["recent"]]
        out.table(("at", "change", "file", "run"), seen)
    return DONE


def _run(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name, event = readable(arguments.name), WatchEvent(arguments.event)

    async def work(watchers: Watchers) -> Run:
        change = await watchers.change(name, arguments.path, event)
        if not watchers.concerns(await watchers.get(name), change):
            out.note(f"{name} would not run for this file by itself: see its events and patterns")
        out.effect_done("the action was run")
        return await watchers.run(name, change, source="cli", watch=lambda line: _show_line(line, out))

    run = program.run(work, writes=True)
    error = f"{name}: {run.status}: {run.reason}" if run.reason else f"{name}: {run.status}"
    return out.answer(run, ok=run.ok, error=error)


def _retry(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(watchers: Watchers) -> list[Run]:
        found = []
        retried = watchers.retry_failed(
            readable(arguments.name), source="cli", watch=lambda line: _show_line(line, out)
        )
        async for run in retried:
            out.effect_done("some actions were run")
            found.append(run)
            out.note(f"{run.subject_name}: {run.params['path']}: {run.reason or run.status}")
        return found

    runs = program.run(work, writes=True)
    if out.as_json:
        out.document(runs)
    elif not runs:
        out.note("no file has a failed last run")
    return FAILED if any(run.status in FAILING for run in runs) else DONE


def _show_line(line: Line, out: Console) -> None:
    (out.text if line.stream == "stdout" else out.aside)(line.plain)


def _switch(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name, enabled = readable(arguments.name), arguments.enabled

    async def work(watchers: Watchers) -> WatcherWithEvents:
        await (watchers.enable if enabled else watchers.disable)(name, source="cli")
        return await watchers.find_rule(name)

    record = program.run(work, writes=True)
    switched = f"{name} is {'enabled' if enabled else 'disabled'}"
    out.effect_done(switched)
    return out.answer(record, switched)


def _new(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    folder = os.path.abspath(os.path.expanduser(arguments.path))  # noqa: PTH100, PTH111  # a name may have any bytes
    rule = WatcherRule(
        readable(arguments.name),
        Path(readable(folder)),
        readable(arguments.command),
        WatcherAction(arguments.action),
        patterns=tuple(map(readable, arguments.pattern)),
        output=readable(arguments.output),
    )
    settings = program.settings()
    require_usable(settings.data_dir)
    path = settings.data_dir / FILE_NAME
    with_rule(path, rule)
    write_schemas(settings.data_dir, [WATCHERS_FILE])
    out.effect_done("the rule was written")
    out.answer({"name": rule.name, "file": str(path)}, str(path))
    out.note(f"running services load it automatically; try it: tocsin watchers run {rule.name} FILE")
    return DONE


COMMANDS: Commands = {"watchers": configure_watchers}
