"""store: move the records that the setting STORE covers to the other store."""

import argparse
from collections.abc import Mapping

from tocsin.assembly.audit import audit_trail
from tocsin.assembly.light import Installed
from tocsin.assembly.migration.moves import STORE_MIGRATE, OnProgress, open_migration
from tocsin.cli.opening import open_settings
from tocsin.core.audit.actions import CLI
from tocsin.core.config.core_variables import STORE
from tocsin.core.config.settings import Settings
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.signals import run_until_signal


def configure_store(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin store`."""
    commands = add_subcommands(
        parser, {"migrate": "move messages, events, keys, runs and access decisions to the other store"}
    )
    parser.epilog = "example: tocsin store migrate --to redis --dry-run"
    migrate = commands["migrate"]
    migrate.description = (
        "Move messages, events, keys, runs and access decisions to the other store.\n\n"
        "Stop all services on all hosts first, and set STORE on every host afterwards.\n"
        "If the command is interrupted, run it again: it continues where it stopped.\n"
        "Secrets, memory, cron jobs and all other data stay in the data directory."
    )
    migrate.epilog = "example: tocsin store migrate --to redis"
    migrate.add_argument("--to", required=True, choices=("redis", "sqlite"), help="store to move the data to")
    migrate.add_argument("--dry-run", action="store_true", help="print the number of records to move, and move none")
    migrate.set_defaults(run=_migrate)


def _migrate(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    settings, installed = open_settings(options, out)
    work = _run(settings, installed, arguments, out)
    found = run_until_signal(out.while_waiting(f"Moving records to {arguments.to} …", work))
    if not arguments.dry_run:
        out.effect_done(f"the records are in {arguments.to}")
    _show(found, arguments, settings, out)
    return DONE


async def _run(
    settings: Settings, installed: Installed, arguments: argparse.Namespace, out: Console
) -> Mapping[str, int]:
    async with open_migration(settings, installed.features, arguments.to) as migration:
        if arguments.dry_run:
            return await migration.counts()
        moved = await migration.run(_progress(out))
    audit = audit_trail(settings)
    detail = f"{sum(moved.values())} records moved to {arguments.to}"
    audit.record(STORE_MIGRATE, detail, source=CLI.name, metadata={"to": arguments.to, "moved": dict(moved)})
    audit.log.close()
    return moved


def _progress(out: Console) -> OnProgress:
    def report(what: str, moved: int, total: int) -> None:
        out.note(f"{what}: {moved:,} of {total:,}")

    return report


def _show(found: Mapping[str, int], arguments: argparse.Namespace, settings: Settings, out: Console) -> None:
    if out.as_json:
        out.document({"to": arguments.to, "dry_run": arguments.dry_run, "moved": dict(found)})
        return
    out.table(("Records", "To move" if arguments.dry_run else "Moved"), [(what, str(n)) for what, n in found.items()])
    if not arguments.dry_run and settings[STORE] != arguments.to:
        out.line(f"Set STORE={arguments.to} on every host, then start the services.")
