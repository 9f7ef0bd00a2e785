"""audit: read, search and verify the audit log."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from tocsin.cli.opening import open_settings
from tocsin.cli.options import Options, add_subcommands
from tocsin.cli.output import DONE, FAILED, Output
from tocsin.core.audit import AuditEntry, AuditLog


def configure_audit(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin audit`."""
    commands = add_subcommands(
        parser,
        {
            "tail": "show the newest entries",
            "search": "show the newest entries that contain a text",
            "verify": "check that no line was edited, removed or inserted",
        },
    )
    parser.epilog = "example: tocsin audit search msg.send"
    commands["tail"].epilog = "example: tocsin audit tail -n 50"
    commands["search"].epilog = "example: tocsin audit search msg.send"
    commands["search"].add_argument("query", help="a text; upper and lower case are the same")
    for name in ("tail", "search"):
        commands[name].add_argument(
            "-n", "--limit", type=_count, default=20, metavar="N", help="at most N entries (20)"
        )
    commands["verify"].epilog = "example: tocsin audit verify"
    commands["tail"].set_defaults(run=_tail)
    commands["search"].set_defaults(run=_search, free_text="query")
    commands["verify"].set_defaults(run=_verify)


def _tail(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    return _show(_log(options, out).tail(arguments.limit), out)


def _search(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    return _show(_log(options, out).search(arguments.query, arguments.limit), out)


def _verify(_: argparse.Namespace, options: Options, out: Output) -> int:
    log = _log(options, out)
    verification = log.verify()
    if out.as_json:
        out.document({**asdict(verification), "ok": verification.ok})
    elif verification.ok:
        lines = "1 line" if verification.lines == 1 else f"{verification.lines} lines"
        out.line(f"ok: {lines}, none edited, removed or inserted")
    else:
        out.table(("line", "problem"), [(str(p.line or "-"), p.reason) for p in verification.problems])
        out.error(
            f"{log.path} is not as it was written",
            "compare it with a backup; the lines above name the places",
        )
    return DONE if verification.ok else FAILED


def _show(entries: Sequence[AuditEntry], out: Output) -> int:
    if out.as_json:
        out.document([{**asdict(entry), "metadata": dict(entry.metadata)} for entry in entries])
    else:
        # Oldest first, as in every log on a terminal: the newest stands next to the prompt.
        out.table(
            ("time", "action", "source", "detail"),
            [(e.ts, e.action, e.source, e.detail) for e in reversed(entries)],
        )
    return DONE


def _log(options: Options, out: Output) -> AuditLog:
    settings, _ = open_settings(options, out)
    return AuditLog(settings.data_dir / "audit.log")


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError("it must be a whole number from 1 to 100000")
    return int(text)
