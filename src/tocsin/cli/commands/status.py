"""status: the state of all subsystems, starting with items that need a person."""

import argparse
from datetime import UTC, datetime

from tocsin.assembly.status import status_report
from tocsin.cli.running import with_app
from tocsin.features.context import SubsystemState
from tocsin.status.model import StatusReport
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, FAILED, Console


def configure_status(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin status\n\nexit code 0: no subsystem has an error, 1: a subsystem has an error"
    parser.set_defaults(run=_status)


def _status(_: argparse.Namespace, options: Options, out: Console) -> int:
    report = with_app(options, out, status_report)
    if out.as_json:
        out.document(report)
    else:
        _show(report, out)
    return FAILED if report.status is SubsystemState.ERROR else DONE


def _show(report: StatusReport, out: Console) -> None:
    if report.attention:
        out.table(("severity", "needs attention"), [(item.severity, item.message) for item in report.attention])
        out.line("")
    rows = [
        (status.status, name, status.summary, _local(status.last_event_at))
        for name, status in report.subsystems.items()
    ]
    out.table(("state", "subsystem", "summary", "last event"), rows)
    out.line("")
    out.table(
        ("state", "service", "detail"),
        [(each.status, each.name.replace("_", " "), each.detail) for each in report.services],
    )
    out.line("")
    if runs := report.runs:
        out.line(
            f"runs: {runs.active} running, {runs.waiting} waiting, {runs.queued} queued; "
            f"in 24 hours {runs.succeeded_24h} succeeded, {runs.failed_24h} failed, {runs.missed_24h} missed"
        )
    if report.unread_notifications is not None:
        out.line(f"notifications: {report.unread_notifications} unread")
    for run in report.next_runs:
        out.line(f"next: {run.name}, {_local(run.at)}")


def _local(seconds: float | None) -> str:
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}"
