"""doctor: check the installation, and report cause and fix of every finding."""

import argparse
import asyncio
from collections.abc import AsyncIterator, Mapping

from tocsin.assembly.checks import feature_findings
from tocsin.assembly.light import Installed
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.assembly.runs import RUNS_FOLDER
from tocsin.cli.doctor.channels import check_channels, check_receiving
from tocsin.cli.doctor.files import check_audit_log, check_profiles, check_targets
from tocsin.cli.doctor.machine import (
    check_data_dir,
    check_env_file,
    check_machine,
    check_names,
    check_packages,
    check_processes,
    check_runs_folder,
    check_sandbox,
    check_security,
    check_traces,
)
from tocsin.cli.doctor.models import SUBJECT, check_chat_model, check_speech
from tocsin.cli.doctor.ports import check_ports
from tocsin.cli.doctor.stores import check_bus, check_inbox, check_message_files, check_queue
from tocsin.cli.opening import open_settings
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError
from tocsin.core.process.sandbox import Sandbox
from tocsin.terminal.findings import Finding, collect, failure
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.packages import not_installed


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin doctor --offline"
    parser.add_argument("--offline", action="store_true", help="skip the checks that call providers")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    try:
        settings, installed = open_settings(options, out)
    except (ConfigError, ModuleNotFoundError) as error:
        problem = error if isinstance(error, ConfigError) else not_installed(error)
        if problem is None:
            raise
        findings, labels = [*check_machine(), *check_packages(), failure("settings", problem)], {}
    else:
        labels = {channel.spec.kind: channel.spec.label for channel in installed.channels}
        work = examine(settings, installed, probe=not arguments.offline)
        findings = asyncio.run(out.while_waiting("Checking the providers …", work))
    return _report(findings, labels, out)


def _report(findings: list[Finding], labels: Mapping[str, str], out: Console) -> int:
    """Print the findings; those of a channel are listed under its label, in JSON under its kind."""
    broken = any(finding.state == "error" for finding in findings)
    if out.as_json:
        out.document({"ok": not broken, "findings": [finding.as_dict() for finding in findings]})
        return FAILED if broken else DONE
    out.table(
        ("state", "subject", "finding"), [(f.state, labels.get(f.subject, f.subject), _shown(f)) for f in findings]
    )
    for finding in findings:
        if finding.state in {"error", "warning"}:
            out.line("")
            out.line(f"{finding.state}: {labels.get(finding.subject, finding.subject)}: {finding.detail}")
            if finding.fix:
                out.line(f"  fix: {finding.fix}")
    return FAILED if broken else DONE


def _shown(finding: Finding) -> str:
    """Return the table row of a finding: how to enable a disabled part; errors are explained below the table."""
    return f"{finding.detail}; {finding.fix}" if finding.state == "off" and finding.fix else finding.detail


async def examine(settings: Settings, installed: Installed, *, probe: bool) -> list[Finding]:
    """Return all findings; with `probe`, the providers of all configured channels are called concurrently."""
    findings = [
        *check_machine(),
        *check_packages(),
        *check_data_dir(settings.data_dir),
        *check_runs_folder(settings.data_dir / RUNS_FOLDER),
        *check_env_file(settings),
        *check_names(settings),
        *check_traces(settings),
        *check_security(settings),
        *check_ports(settings),
        *(Finding("error", "plug-in", problem, "update or remove it") for problem in installed.problems),
        await check_sandbox(Sandbox()),
        check_processes(),
    ]
    return [*findings, *await collect("program", _examine_opened(settings, installed, probe=probe))]


async def _examine_opened(settings: Settings, installed: Installed, *, probe: bool) -> AsyncIterator[Finding]:
    async with open_app(settings, installed, direct_transport) as app:
        for finding in await _examine_app(app, probe=probe):
            yield finding


async def _examine_app(app: App, *, probe: bool) -> list[Finding]:
    return [
        *await check_targets(app),
        *await collect("profiles", check_profiles(app)),
        *await feature_findings(app.features),
        check_audit_log(app),
        *await collect("queue", check_queue(app)),
        *await collect("files", check_message_files(app)),
        *await collect("bus", check_bus(app)),
        *await collect("inbox", check_inbox(app)),
        *await collect("channels", check_channels(app, probe=probe)),
        *await collect("receiving", check_receiving(app)),
        *await collect(SUBJECT, check_chat_model(app)),
        *await collect("speech", check_speech(app)),
    ]
