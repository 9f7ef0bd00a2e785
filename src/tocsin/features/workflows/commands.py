"""workflows: list them, show one, look for mistakes, plan and run one, write a new one."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tocsin.core.config.data_dir import require_usable
from tocsin.core.errors import ConfigError
from tocsin.core.process.detaching import run_in_background
from tocsin.core.reading.value import shorten
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.files import make_directory, only_writer, read_limited, write_atomically
from tocsin.core.text.shell import format_value
from tocsin.core.text.strings import number_of
from tocsin.core.time.timestamps import timestamp
from tocsin.features.contract import Commands
from tocsin.features.file_schemas import modeline, write_schemas
from tocsin.features.workflows.feature import WORKFLOW_FILE
from tocsin.features.workflows.language.schema import WORKFLOW_NAME
from tocsin.features.workflows.records import WorkflowRecord, WorkflowSummary, describe, summarize, validate
from tocsin.features.workflows.requests import PlannedRun, WorkflowRequest
from tocsin.features.workflows.service import Workflows
from tocsin.features.workflows.store import WorkflowFile
from tocsin.runs.model import SUCCESSFUL, Line, Run, RunTrigger
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import add_pairs, readable

SHOWN_ITEMS = 20  # of `for_each`, in the text of a plan


def configure_workflows(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin workflows`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list the workflows",
            "show": "show the steps, parameters and last runs of one workflow",
            "validate": "check workflow files and report all errors with line and column",
            "run": "run a workflow and print its output, or show its plan",
            "new": "create a workflow from a commented example",
        },
    )
    parser.epilog = "example: tocsin workflows run nightly --param host=web1"
    commands["list"].epilog = "example: tocsin workflows list"
    commands["list"].set_defaults(run=_list)
    commands["show"].epilog = "example: tocsin workflows show nightly"
    commands["show"].add_argument("name", help="name of the workflow; `tocsin workflows list` shows them")
    commands["show"].set_defaults(run=_show)
    commands["validate"].epilog = (
        "example: tocsin workflows validate nightly\n\n"
        "Each error is one line FILE:LINE:COLUMN: …\n"
        "exit code 0: no file has an error, 1: at least one has"
    )
    commands["validate"].add_argument(
        "names", nargs="*", metavar="NAME", help="name or path of a workflow (default: all workflows)"
    )
    commands["validate"].set_defaults(run=_validate)
    commands["new"].epilog = "example: tocsin workflows new nightly"
    commands["new"].add_argument("name", help="name of the workflow and its file")
    commands["new"].set_defaults(run=_new)
    _configure_run(commands["run"])


def _configure_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin workflows run nightly --param host=web1 --dry-run\n\n" + _EXIT_CODES
    parser.add_argument("name", help="the workflow")
    add_pairs(parser, "--param", "parameter; may be repeated")
    add_pairs(parser, "--env", "environment variable for all commands")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="show the plan, and run nothing")
    how.add_argument("--detach", action="store_true", help="print the ID of the run once it has started, and exit")
    parser.add_argument("--from-step", default="", metavar="STEP", help="start from this step")
    parser.add_argument(
        "--only", action="append", default=[], metavar="STEP", help="run only this step; may be repeated"
    )
    parser.set_defaults(run=_run)


_EXIT_CODES = (
    "exit code 0: the run succeeded fully or partly, or started with --detach, 1: it failed, 2: invalid "
    "file or parameter"
)


def _list(_: argparse.Namespace, out: Console, program: Program) -> int:

    async def work(workflows: Workflows) -> tuple[list[WorkflowSummary], list[str]]:
        found = await workflows.all()
        schedules = await workflows.schedules()
        records = [summarize(file, await workflows.recent(file.name), schedules.get(file.name, ())) for file in found]
        return records, [file.unreadable.sentence() for file in found if file.unreadable]

    found, unreadable = program.run(work)
    for sentence in unreadable:
        out.error(sentence)
    if invalid := next((each.name for each in found if not each.valid), ""):
        out.note(f"`tocsin workflows validate {invalid}` shows the errors with their lines")
    out.listing(
        found,
        ("name", "state", "steps", "last run", "description"),
        (_row(each) for each in found),
        empty="no workflows exist; create one with `tocsin workflows new NAME`",
    )
    return MISUSED if invalid else DONE


def _row(record: WorkflowSummary) -> tuple[str, ...]:
    last = record.last_run
    state = "ok" if record.valid else f"error: {number_of(record.error_count, 'error')}"
    ended = f"{last.status}, {timestamp(last.started_at or last.queued_at)}" if last else "never"
    return record.name, state, str(record.steps_count), ended, record.description


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:

    async def work(workflows: Workflows) -> tuple[WorkflowRecord, WorkflowFile]:
        file = await workflows.get(readable(arguments.name))
        schedules = (await workflows.schedules()).get(file.name, ())
        return describe(file, await workflows.recent(file.name), schedules), file

    record, file = program.run(work)
    last = record.last_run
    shown = {
        "name": record.name,
        "description": record.description,
        "file": record.file,
        "notify profile": record.notify_profile or "none",
        "schedules": ", ".join(record.schedules) or "none",
        "last run": f"{last.status}, {timestamp(last.started_at)}, {last.id}" if last else "never",
    }
    out.listing(record, ("field", "value"), shown.items())
    if workflow := file.read.workflow:
        waves = {node.id: str(node.wave) for node in record.graph.nodes}
        rows = [
            (waves.get(step.name, "after"), step.name, str(step.type), ", ".join(step.needs), step.description)
            for step in workflow.all_steps()
        ]
        out.line("")
        out.table(("wave", "step", "type", "after", "description"), rows)
    if record.params:
        out.line("")
        out.table(("parameter", "type", "default", "description"), [_param_row(n, p) for n, p in record.params.items()])
    _tell_problems(file, out)
    return DONE


def _param_row(name: str, param: dict[str, Any]) -> tuple[str, ...]:
    default = "required" if param["required"] else str(param.get("default", ""))
    return name, param["type"], default, param.get("description", "")


def _tell_problems(file: WorkflowFile, out: Console) -> None:
    for problem in file.read.problems:
        out.line(problem.as_line(str(file.path)))


def _validate(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(workflows: Workflows) -> list[WorkflowFile]:
        return [await _named(workflows, name) for name in arguments.names] or await workflows.all()

    found = program.run(work)
    for error in (file.unreadable for file in found if file.unreadable):
        out.error(str(error), error.hint)
    files = [file for file in found if not file.unreadable]
    bad = sum(not file.valid for file in found)
    if out.as_json:
        out.document([{"name": f.name, "file": str(f.path), **to_json(validate(f))} for f in files])
        return FAILED if bad else DONE
    for file in files:
        _tell_problems(file, out)
    out.note(f"{number_of(len(found), 'workflow')}{f', {bad} with errors' if bad else ' without errors'}")
    return FAILED if bad else DONE


async def _named(workflows: Workflows, name: str) -> WorkflowFile:
    """Return a workflow of the data directory, or a file that is given with its path."""
    name = readable(name)
    if "/" not in name and not name.endswith((".yaml", ".yml")):
        return await workflows.get(name)
    path = Path(name)
    read = await workflows.read_text(path.stem, read_limited(path))
    return WorkflowFile(read.name, path, read.content, read.modified_at, read.read)


def _new(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name = readable(arguments.name)
    if not re.fullmatch(WORKFLOW_NAME, name):
        raise ConfigError(f"{name!r} is not a valid workflow name", hint="use letters, digits, '.', '_' and '-'")
    settings = program.settings()
    require_usable(settings.data_dir)
    folder = settings.data_dir / "workflows"
    path = folder / f"{name}.yaml"
    make_directory(folder)
    with only_writer(folder):
        if path.exists():
            raise ConfigError(f"{path} already exists", hint="choose another name, or edit it")
        write_atomically(path, _example(name))
    write_schemas(settings.data_dir, [WORKFLOW_FILE])
    out.effect_done("the workflow was written")
    out.answer({"name": name, "file": str(path)}, str(path))
    out.note(f"edit it, then: tocsin workflows validate {name}")
    return DONE


def _run(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    name = readable(arguments.name)
    request = WorkflowRequest(
        RunTrigger.MANUAL,
        source="cli",
        params=dict(arguments.param),
        env=dict(arguments.env),
        only=tuple(arguments.only),
        from_step=arguments.from_step,
    )
    if arguments.dry_run:
        return _tell_plan(program.run(lambda workflows: workflows.plan(name, request)), out)

    if arguments.detach:
        return run_in_background(lambda go_on: _run_alone(name, request, out, program, go_on))

    async def work(workflows: Workflows) -> Run:
        out.effect_done("the workflow was run")
        return await workflows.run(name, request, watch=lambda line: _show_line(line, out))

    run = program.run(work, writes=True)
    if out.as_json:
        out.document(run)
    else:
        out.table(("step", "status", "took", "why"), [_step_row(step) for step in run.steps])
        if run.reason:
            out.error(f"{run.subject_name}: {run.status}: {run.reason}")
        out.note(f"run {run.id}: {run.status}")
    return DONE if run.status in SUCCESSFUL else FAILED


def _run_alone(name: str, request: WorkflowRequest, out: Console, program: Program, go_on: Callable[[], None]) -> int:
    """Run a workflow in the background; `go_on` is called once its run has begun and is shown."""

    async def work(workflows: Workflows) -> Run:
        begun = await workflows.begin(name, request)
        out.effect_done("the workflow was started")
        out.answer(begun.run, begun.run.id)
        out.note(f"the run continues in the background: tocsin runs log -f {begun.run.id}")
        go_on()
        return await begun.wait()  # a waiting run goes on elsewhere when this process is ended

    return DONE if program.run(work, writes=True).status in SUCCESSFUL else FAILED


def _step_row(step: Any) -> tuple[str, ...]:
    took = "" if step.duration_ms is None else f"{step.duration_ms / 1000:.1f} s"
    return step.name, str(step.status), took, (step.error or {}).get("message", "")


def _show_line(line: Line, out: Console) -> None:
    (out.aside if line.stream.endswith(":stderr") else out.text)(f"{line.stream} | {line.plain}")


def _tell_plan(planned: PlannedRun, out: Console) -> int:
    if out.as_json:
        out.document(planned)
        return DONE if planned.ok else FAILED
    rows = [
        (str(each.wave), each.step, each.type, _WOULD[each.would_run], each.when or "", each.command)
        for each in planned.plan
    ]
    out.table(("wave", "step", "type", "runs", "when", "command"), rows)
    for each in planned.plan:
        for name, value in each.variables.items():
            out.line(f"{each.step}: {name}={shorten(value)}")
        if each.items is not None:
            out.line(f"{each.step}: for each of {_listed(each.items)}")
        elif each.for_each:
            out.line(f"{each.step}: for each of {each.for_each}, known when the previous steps have ended")
        for problem in each.problems:
            out.error(f"{each.step}: {problem}")
    for problem in planned.problems:
        out.error(problem, f"tocsin workflows show {planned.workflow}")
    for warning in planned.warnings:
        out.line(warning)
    return DONE if planned.ok else FAILED


def _listed(items: Sequence[Any]) -> str:
    shown = [shorten(format_value(item)) for item in items[:SHOWN_ITEMS]]
    more = f" and {len(items) - SHOWN_ITEMS:,} more" if len(items) > SHOWN_ITEMS else ""
    return f"{number_of(len(items), 'value')}: {', '.join(shown)}{more}" if items else "no value"


_WOULD = {True: "yes", False: "no", None: "depends"}


_EXAMPLE = """\
# Check: tocsin workflows validate {name}    Plan: tocsin workflows run {name} --dry-run
name: {name}
description: Report how full a disk is

# Values that a run is given: tocsin workflows run {name} --param folder=/var
params:
  folder: {{type: string, default: /, description: Which file system}}
  limit: {{type: integer, default: 90, minimum: 1, maximum: 100}}

# Who gets a summary when a run fails, and when one succeeds again. The profile must exist in profiles.yaml.
# notify_profile: oncall
# notify_on: [failure, recovery]

# Without depends_on the steps run from top to bottom.
steps:
  - name: measure
    # Every parameter is a variable PARAM_<NAME> of the shell, and every output of a step STEP_<STEP>_<OUTPUT>.
    command: df -P "$PARAM_FOLDER" | awk 'NR == 2 {{ print $5 }}' | tr -d %
    timeout: 30s
    outputs:
      used: stdout | trim

  - name: warn
    when: steps.measure.outputs.used > params.limit
    command: echo "the file system of $PARAM_FOLDER is $STEP_MEASURE_USED % full"

# These run after the steps, when the run has failed.
on_failure:
  - name: explain
    # Other values become variables here.
    env: {{CODE: "${{steps.measure.exit_code}}"}}
    command: echo "the measurement failed with exit code $CODE"
"""


def _example(name: str) -> str:
    """Return the file of a new workflow."""
    return modeline(WORKFLOW_FILE) + _EXAMPLE.format(name=name)


COMMANDS: Commands = {"workflows": configure_workflows}
