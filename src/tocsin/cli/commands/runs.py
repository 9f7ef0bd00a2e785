"""runs: list, show, follow and stop runs, and read their output."""

import argparse
import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import indent
from time import time
from typing import Any

from tocsin.assembly.program import App
from tocsin.assembly.runs import open_run_control
from tocsin.cli.running import with_app
from tocsin.core.audit.actions import CLI
from tocsin.core.records.as_json import to_json
from tocsin.core.text.visible import without_sequences
from tocsin.core.time.timestamps import timestamp
from tocsin.features.contract import run_kinds
from tocsin.features.registry import find_features
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import MAX_GRACE_S
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.engine.executor import GRACE_S
from tocsin.runs.log_file import MAX_LINES, LogPage
from tocsin.runs.model import TERMINAL, Line, Run, RunStatus
from tocsin.runs.service import Runs
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.text import add_limit, readable, whole_number

USUAL_LIMIT, MAX_LIMIT = 20, 200
_REASON = 60  # characters of the reason in a list
_LEFT_OUT = {"steps", "hosts", "output", "delivery", "error"}  # shown in the table of fields in other words


def configure_runs(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin runs`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list runs, newest first",
            "show": "show one run with its steps, hosts and command",
            "log": "print the output of a run; -f follows it",
            "cancel": "cancel a run in any process",
            "retry": "start a run again as a new run, and print its output",
            "approve": "approve a waiting step",
            "reject": "reject a waiting step",
        },
    )
    parser.epilog = "example: tocsin runs log -f 2b8d7c6e"
    _configure_list(commands["list"])
    for name in ("show", "log", "cancel", "retry", "approve", "reject"):
        commands[name].epilog = f"example: tocsin runs {name} 2b8d7c6e"
        commands[name].add_argument("id", help="ID of the run, or its short form from `tocsin runs list`")
    commands["show"].set_defaults(run=_show)
    _configure_log(commands["log"])
    _configure_cancel(commands["cancel"])
    commands["retry"].epilog = "example: tocsin runs retry 2b8d7c6e\n\nexit code 0: the new run succeeded, 1: it failed"
    commands["retry"].add_argument(
        "--from-step", default="", metavar="STEP", help="reuse the outputs of earlier steps that succeeded"
    )
    commands["retry"].add_argument(
        "-y", "--yes", action="store_true", help="do not ask for confirmation to repeat a successful run"
    )
    commands["retry"].set_defaults(run=_retry)
    for name in ("approve", "reject"):
        commands[name].add_argument("--step", default="", help="name of the step, if several wait")
        commands[name].add_argument("--comment", default="", metavar="TEXT", help="comment to record with the decision")
        commands[name].set_defaults(run=_decide, approved=name == "approve")


def _configure_list(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin runs list --kind cron --status failed --status timed_out"
    parser.add_argument("--kind", choices=run_kinds(find_features().features), help="kind of the runs")
    parser.add_argument("--subject", default="", metavar="ID", help="ID of the job, workflow, skill or other subject")
    parser.add_argument(
        "--status",
        action="append",
        default=[],
        choices=[str(status) for status in RunStatus],
        help="state of the runs; may be repeated",
    )
    add_limit(parser, USUAL_LIMIT, MAX_LIMIT)
    parser.set_defaults(run=_list)


def _configure_log(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin runs log -f -n 50 2b8d7c6e"
    parser.add_argument("-f", "--follow", action="store_true", help="print new lines until the run ends")
    parser.add_argument(
        "-n", "--lines", type=whole_number(1, MAX_LINES), metavar="N", help="number of existing lines to print first"
    )
    parser.add_argument("--stream", default="", help="output stream, for example stderr")
    parser.add_argument("--times", action="store_true", help="prefix each line with its time and stream")
    parser.add_argument("--ansi", action="store_true", help="keep colours")
    parser.set_defaults(run=_log)


def _configure_cancel(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'example: tocsin runs cancel 2b8d7c6e --reason "wrong host" --wait'
    parser.add_argument("--reason", default="", metavar="TEXT", help="reason to record with the run")
    parser.add_argument(
        "--grace",
        type=whole_number(0, int(MAX_GRACE_S)),
        default=GRACE_S,
        metavar="SECONDS",
        help=f"seconds before the run is killed, 0 to {MAX_GRACE_S:.0f} (default: {GRACE_S:.0f})",
    )
    parser.add_argument("--wait", action="store_true", help="wait until the run has ended")
    parser.set_defaults(run=_cancel)


def _list(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> tuple[Sequence[Run], dict[str, str]]:
        runs = app.runs()
        page = await runs.search(
            str(arguments.kind) if arguments.kind else None,
            readable(arguments.subject),
            [RunStatus(status) for status in arguments.status],
            arguments.limit,
            parts=out.as_json,
        )
        short = {} if out.as_json else await runs.shortened([run.id for run in page.items])
        return page.items, short

    found, short = with_app(options, out, work)
    return out.listing(
        found,
        ("id", "queued", "kind", "name", "trigger", "status", "took", "reason"),
        (_row(run, short[run.id]) for run in found),
        empty="no matching runs",
    )


def _row(run: Run, short: str) -> tuple[str, ...]:
    queued = (timestamp(run.queued_at) or "")[5:16].replace("T", " ")  # `show` has year and seconds
    reason = run.reason or ""
    took = run.duration_ms
    if took is None and run.started_at is not None and run.status not in TERMINAL:
        took = round((time() - run.started_at) * 1000)
    return (
        short,
        queued,
        str(run.kind),
        run.subject_name,
        str(run.trigger),
        str(run.status),
        _duration(took),
        reason if len(reason) <= _REASON else reason[: _REASON - 1] + "…",
    )


def _duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _show(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> tuple[Run, dict[str, Any] | None, list[str], Callable[[str], str]]:
        runs = app.runs()
        run = await runs.get(await runs.whole_id(arguments.id))
        asked = [each.question for each in await runs.waiting(run.id)]
        return run, runs.definition(run), [f"{asks.step}: {asks.message}" for asks in asked], app.registry.label

    run, definition, waiting, label = with_app(options, out, work)
    if out.as_json:
        out.document({**to_json(run), "definition": definition})
    else:
        _tell(run, definition, waiting, label, out)
    return DONE


def _tell(
    run: Run, definition: dict[str, Any] | None, waiting: Sequence[str], label: Callable[[str], str], out: Console
) -> None:
    shown: dict[str, Any] = {name: value for name, value in to_json(run).items() if name not in _LEFT_OUT}
    shown["output"] = f"{run.output.bytes:,} bytes, {run.output.lines:,} lines{_shortened(run)}"
    sent = [each.result for each in run.delivery.results]
    results = [f"{label(r.channel)} {r.target}: {r.message if r.ok else r.error}" for r in sent]
    shown["delivery"] = "; ".join([str(run.delivery.status), *results])
    shown["waits for"] = "; ".join(waiting)
    given = [(name, value) for name, value in shown.items() if value not in (None, "", [], {}, False)]
    out.table(("field", "value"), [(name, str(value)) for name, value in given])
    if run.steps:
        columns = ("step", "type", "status", "attempt", "took", "exit", "error")
        out.table(columns, [_step_row(step) for step in run.steps])
    if run.hosts:
        out.table(("host", "status", "took", "exit", "error"), [_host_row(host) for host in run.hosts])
    if definition:
        text = definition.get("yaml") or json.dumps(definition, indent=2, ensure_ascii=False)
        out.text("what ran:\n" + indent(text.rstrip("\n"), "  "))
    if run.output.tail:
        out.text(run.output.tail)


def _shortened(run: Run) -> str:
    return ", middle part omitted" if run.output.truncated else ""


def _step_row(step: Any) -> tuple[str, ...]:
    error = step.error["message"] if step.error else ""
    return step.name, step.type, str(step.status), str(step.attempt), _duration(step.duration_ms), _code(step), error


def _host_row(host: Any) -> tuple[str, ...]:
    return host.host, str(host.status), _duration(host.duration_ms), _code(host), host.error or ""


def _code(part: Any) -> str:
    return "" if part.exit_code is None else str(part.exit_code)


def _log(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    show = _line_printer(arguments, out)

    async def work(app: App) -> LogPage:
        runs = app.runs()
        run_id = await runs.whole_id(arguments.id)
        if arguments.follow and out.as_json:  # JSON output is one document: the final state
            async for _ in runs.follow(run_id):
                pass
        pages = await _pages(runs, run_id, arguments, show if not out.as_json else None)
        if arguments.follow and not out.as_json:
            async for line in runs.follow(run_id, pages[-1].next_line):
                show(line)
        lines = tuple(line for page in pages for line in page.lines)
        return replace(pages[-1], lines=lines)

    document = with_app(options, out, work)
    return out.answer(document)


async def _pages(
    runs: Runs, run_id: str, arguments: argparse.Namespace, show: Callable[[Line], None] | None
) -> list[LogPage]:
    """Read the log page by page; lines passed to `show` are not collected."""
    tail, ansi = arguments.lines or 0, arguments.ansi
    pages = [await runs.log(run_id, stream=arguments.stream, tail=tail, ansi=True if show else ansi)]
    while True:
        if show:
            for line in pages[-1].lines:
                show(line)
        if tail or len(pages[-1].lines) < MAX_LINES:
            return pages
        following = await runs.log(run_id, pages[-1].next_line, arguments.stream, ansi=True if show else ansi)
        pages = [*([] if show else pages), following]


def _line_printer(arguments: argparse.Namespace, out: Console) -> Callable[[Line], None]:
    def show(line: Line) -> None:
        if arguments.stream not in {"", line.stream}:
            return
        before = f"{timestamp(line.ts)} {line.stream:<6} " if arguments.times else _origin(line)
        if arguments.ansi:
            out.coloured(before + line.text)
        else:
            out.text(before + without_sequences(line.text))

    return show


def _origin(line: Line) -> str:
    """Return the host or step that printed a line, from a stream such as `web1/stdout` or `copy:stderr`."""
    place = re.sub("(^|[/:])(stdout|stderr|system)$", "", line.stream)
    return f"{place}: " if place else ""


def _cancel(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> Run:
        caller = Caller(CLI.name)
        run = await open_run_control(app).cancel(arguments.id, caller, readable(arguments.reason), arguments.grace)
        out.effect_done(f"the run is {run.status}")
        if arguments.wait:
            async for _ in app.runs().follow(run.id, run.output.lines):
                pass
            run = await app.runs().get(run.id)
        return run

    run = with_app(options, out, work, writes=True)
    return out.answer(run, f"{run.subject_name} is {run.status}: {run.id}")


def _retry(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    show = _plain_shower(out)

    async def work(app: App) -> Run:
        runs = app.runs()
        before = await runs.get(await runs.whole_id(arguments.id))
        question = f"{before.subject_name} succeeded in that run. Run it again?"
        await out.confirm(question, yes=arguments.yes or not before.ok)
        running = await open_run_control(app).retry(arguments.id, Caller(CLI.name), readable(arguments.from_step))
        out.effect_done("the run was started again")
        out.note(f"tocsin: attempt {running.run.attempt} of {running.run.subject_name} is run {running.run.id}")
        return await _follow_run(runs, running, show)

    run = with_app(options, out, work, writes=True)
    return out.answer(run, ok=run.ok, error=f"{run.subject_name}: {run.status}: {run.reason}")


async def _follow_run(runs: Runs, running: ActiveRun, show: Callable[[Line], None]) -> Run:
    """Show the output of a run of this process until it ends; cancelling the caller cancels the run."""
    try:
        async for line in runs.follow(running.run.id):
            show(line)
        return await running.wait()
    except asyncio.CancelledError:
        await running.stop()
        raise


def _plain_shower(out: Console) -> Callable[[Line], None]:
    def show(line: Line) -> None:
        (out.aside if line.stream.endswith("stderr") else out.text)(f"{_origin(line)}{line.plain}")

    return show


def _decide(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> tuple[str, Run]:
        decision = await open_run_control(app).decide(
            arguments.id,
            Caller(CLI.name),
            approved=arguments.approved,
            step=readable(arguments.step),
            comment=readable(arguments.comment),
        )
        return decision.step, await app.runs().get(decision.run_id)

    step, run = with_app(options, out, work, writes=True)
    done = "approved" if arguments.approved else "rejected"
    out.effect_done(f"step {step} was {done}")
    return out.answer(run, f"{run.subject_name}: step {step} was {done}")
