"""audit: read, search and verify the audit log."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from time import time

from tocsin.cli.opening import open_settings
from tocsin.core.audit.chain import Verification
from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.reader import Anchor
from tocsin.core.audit.record import as_record
from tocsin.core.config.core_variables import AUDIT_ANCHOR, AUDIT_KEEP_DAYS
from tocsin.messaging.outbound.audit_anchor import load_anchors, retention_start
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.text import add_limit


def configure_audit(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin audit`."""
    commands = add_subcommands(
        parser,
        {
            "tail": "show the newest entries",
            "search": "search the newest entries for a text",
            "verify": "verify that no entry was changed, removed or inserted",
        },
    )
    parser.epilog = "example: tocsin audit search msg.send"
    commands["tail"].epilog = "example: tocsin audit tail -n 50"
    commands["search"].epilog = "example: tocsin audit search msg.send"
    commands["search"].add_argument("query", help="text to find; case is ignored")
    for name in ("tail", "search"):
        add_limit(commands[name], 20, 100_000, "entries")
    commands["verify"].epilog = "example: tocsin audit verify"
    commands["verify"].add_argument(
        "--anchor",
        type=_anchor,
        action="append",
        default=[],
        metavar="N:HASH",
        help="number and hash of an entry that you recorded elsewhere; may be repeated",
    )
    commands["tail"].set_defaults(run=_tail)
    commands["search"].set_defaults(run=_search, free_text="query")
    commands["verify"].set_defaults(run=_verify)


def _tail(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    entries = _log(options, out).tail(arguments.limit + 1)  # one more, whose hash the oldest shown includes
    return _show([*zip_longest(entries, entries[1:])][: arguments.limit], out)


def _search(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    return _show([(entry, None) for entry in _log(options, out).search(arguments.query, arguments.limit)], out)


def _verify(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    settings, _ = open_settings(options, out)
    log = AuditLog(settings.data_dir / "audit.log")
    noted, unread = load_anchors(settings.data_dir, settings[AUDIT_ANCHOR])
    verification = _verified(log, retention_start(settings[AUDIT_KEEP_DAYS], time()), [*arguments.anchor, *noted], out)
    verification = replace(verification, problems=(*verification.problems, *unread))
    if out.as_json:
        out.document(verification)
    elif verification.ok:
        lines = "1 line" if verification.lines == 1 else f"{verification.lines} lines"
        files = f" in {verification.files} files" if verification.files > 1 else ""
        out.line(f"ok: {lines}{files}, none changed, removed or inserted")
    else:
        rows = [(p.file, str(p.line or "-"), p.reason) for p in verification.problems]
        out.table(("file", "line", "problem"), rows)
        out.error(f"{log.path} failed verification", "compare it with a backup; the lines above say where")
    return DONE if verification.ok else FAILED


def _verified(log: AuditLog, keep_since: str, anchors: Sequence[Anchor], out: Console) -> Verification:
    """Verify a log; on a terminal, show progress."""
    import asyncio

    async def work() -> Verification:
        check = asyncio.to_thread(log.verify, keep_since=keep_since, anchors=anchors)
        return await out.while_waiting("Verifying the audit log …", check)

    return asyncio.run(work())


def _show(entries: Sequence[tuple[AuditEntry, AuditEntry | None]], out: Console) -> int:
    if out.as_json:
        out.document([as_record(entry, before) for entry, before in entries])
    elif not entries:
        out.note("no matching entries")
    else:
        # Oldest first, as in every log on a terminal: the newest entry is next to the prompt.
        out.table(
            ("time", "action", "source", "detail"),
            [(e.ts, e.action, e.source, e.detail) for e, _ in reversed(entries)],
        )
    return DONE


def _log(options: Options, out: Console) -> AuditLog:
    settings, _ = open_settings(options, out)
    return AuditLog(settings.data_dir / "audit.log")


def _anchor(text: str) -> Anchor:
    found = re.fullmatch(r"([0-9]{1,18}):([0-9a-f]{64})", text)
    if found is None:
        raise argparse.ArgumentTypeError("must be the number of an entry, a colon and its hash of 64 hex digits")
    return Anchor(int(found[1]), found[2].encode())
