"""up, gateway, bot, worker: the services."""

import argparse
import logging
import sys
from collections.abc import Coroutine, Mapping
from typing import Any

from tocsin.assembly.full.services import monitor, serve
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.cli.doctor.files import check_files
from tocsin.core.config.core_variables import LOG_FILE, LOG_FORMAT, LOG_LEVEL
from tocsin.core.config.data_dir import require_usable
from tocsin.core.config.security import missing_login, validate_security
from tocsin.core.config.settings import Settings
from tocsin.core.config.unknown_settings import unknown_settings
from tocsin.core.log import configure, reopen
from tocsin.core.process.forking import forked_reapers
from tocsin.core.storage.files import refuse_others
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.text import own_command

log = logging.getLogger(__name__)


def configure_up(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin up\n\n"
        "Runs the gateway, the queue and the scheduler, and the dashboard and the bot if they are configured."
    )
    parser.set_defaults(run=run_services, parts=frozenset({"gateway", "bot", "dashboard", "scheduler"}))


def configure_gateway(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin gateway\n\n"
        "Also works off the queue and received messages. The scheduler runs with `tocsin up` or `tocsin dashboard`."
    )
    parser.set_defaults(run=run_services, parts=frozenset({"gateway"}))


def configure_worker(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin worker\n\n"
        "Serves no HTTP. Several workers share the load: on one host, or with STORE=redis on any host."
    )
    parser.set_defaults(run=run_services, parts=frozenset())


def run_services(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    """Run the services that `arguments.parts` names until a signal stops them."""
    settings, installed = load_settings(data_dir=options.data_dir, env_file=options.env_file)
    prepare_service(settings, options)
    out.settings = settings
    for problem in installed.problems:
        log.error(problem)

    require_usable(settings.data_dir)
    if settings.data_dir.exists():  # otherwise the disk is full
        refuse_others(settings.data_dir)  # its programs are run

    async def main() -> None:
        opened = open_app(settings, installed, direct_transport, monitor(arguments.parts))
        async with forked_reapers(), opened as app:  # in this order: runs must end before their supervisors
            log.info("channels configured", extra={"channels": app.registry.configured()})
            await report_mistakes(app, out)

            async def reload() -> None:
                reopen()
                await report_mistakes(app, out)
                log.info("files were read again")

            await serve(
                app,
                arguments.parts,
                lambda addresses: announce(out, addresses, own_command(options)),
                reload=None if sys.stderr.isatty() else reload,  # closing a terminal ends its programs
            )

    run_on_uvloop(main())
    return DONE


def prepare_service(settings: Settings, options: Options) -> None:
    """Set up logging, then log a warning for every insecure and every misspelt setting."""
    configure(
        "debug" if options.verbose else settings[LOG_LEVEL],
        settings[LOG_FORMAT],
        settings.redact,
        file=settings[LOG_FILE],
        journal=settings.from_parent("JOURNAL_STREAM"),
    )
    for problem in settings.problems:
        log.warning("secrets stored only in the vault are treated as not set: %s", problem.sentence())
    weaknesses = validate_security(settings)
    for warning in weaknesses:
        log.warning(warning)
    for unknown in unknown_settings(settings):
        log.warning("%s; %s", unknown, unknown.hint)
    for warning in missing_login(settings):
        if warning not in weaknesses:
            log.warning(warning)


async def report_mistakes(app: App, out: Console) -> None:
    """Log the problems that the checks of files and features find; on a terminal, also print them."""
    for finding in await check_files(app):
        if finding.state not in {"error", "warning"}:
            continue
        if not finding.logged:
            facts = {"subject": finding.subject, "problem": finding.detail, "fix": finding.fix}
            log.warning("a check found a problem", extra=facts)
        if sys.stderr.isatty():
            out.error(f"{finding.subject}: {finding.detail}", finding.fix)


def run_on_uvloop(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to completion, on uvloop if it is installed."""
    import asyncio

    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(work)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


def announce(out: Console, addresses: Mapping[str, str], command: str) -> None:
    """Report the address of each service, and how to sign in to the dashboard."""
    link = f"{command} dashboard link"
    for service, address in addresses.items():
        how = {"sign_in": link} if service == "dashboard" else {}
        log.info("listening", extra={"service": service, "address": address, **how})
    if sys.stderr.isatty():
        if dashboard := addresses.get("dashboard"):
            out.note(f"The dashboard is at {dashboard}; `{link}` prints a sign-in link.")
        out.note("Press Ctrl-C to stop.")
