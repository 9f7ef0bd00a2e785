"""doctor, machine: Python, packages, directories, `.env` files, security, the sandbox."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from tocsin import __version__
from tocsin.core.config.core_variables import (
    DASHBOARD_HOST,
    GATEWAY_HOST,
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
)
from tocsin.core.config.data_dir import foreign_files, try_write, unusable
from tocsin.core.config.security import check_dashboard_bind, check_gateway_bind, validate_security
from tocsin.core.config.settings import Settings
from tocsin.core.config.unknown_settings import unknown_settings
from tocsin.core.errors import ConfigError
from tocsin.core.process.sandbox import Level, Sandbox
from tocsin.core.process.starting import SUPERVISES
from tocsin.core.storage.files import refuse_others
from tocsin.terminal.findings import Finding, failure
from tocsin.terminal.packages import EXTRAS, NEEDED_PACKAGES, how_to_install, is_installed

OLDEST_PYTHON = (3, 11)
PROBE_BYTES = 64 * 1024  # more than one message takes in the queue and the audit log
# A clock that is earlier than the release of this program breaks signatures and certificates.
WRITTEN = datetime(2026, 11, 1, tzinfo=UTC)


def check_machine() -> Iterator[Finding]:
    """Check Python and the clock."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        yield Finding("error", "python", f"Python {version} is too old", "install Python 3.11 or newer")
    else:
        yield Finding("ok", "python", f"Python {version}, Tocsin {__version__}")
    now = datetime.now(UTC)
    if now < WRITTEN:
        yield Finding(
            "error",
            "clock",
            f"the clock says {now:%Y-%m-%d %H:%M} UTC",
            "set the clock, or enable time synchronisation",
        )
    else:
        yield Finding("ok", "clock", f"{now:%Y-%m-%d %H:%M} UTC")


def check_packages(is_there: Callable[[str], bool] = is_installed) -> Iterator[Finding]:
    """Check the packages that are loaded on first use."""
    for package, consequence in NEEDED_PACKAGES.items():
        if not is_there(package):
            detail = f"{package} is not installed: {consequence}"
            yield Finding("error", "package", detail, how_to_install(package))
    if not is_there("uvloop"):
        yield Finding("off", "package", "uvloop is not installed: services use the slower standard event loop")
    for package, (_, consequence) in EXTRAS.items():
        if not is_there(package):
            yield Finding("off", "package", f"{package} is not installed: {consequence}; {how_to_install(package)}")


async def check_sandbox(sandbox: Sandbox) -> Finding:
    """Check how far sandboxed skills are confined."""
    state = await sandbox.state()
    if state.level is Level.BUBBLEWRAP:
        return Finding(
            "ok",
            "sandbox",
            "bubblewrap works: sandboxed skills can read only their own folder and the system directories",
        )
    needed = "allow unprivileged user namespaces; in a systemd unit, use the settings of the units in deploy/systemd"
    fix = needed if sandbox.bwrap else "apt install bubblewrap"
    consequence = (
        "sandboxed skills have only resource limits and four variables: they can read your files and use the network"
    )
    return Finding("off", "sandbox", f"{state.reason}: {consequence}", fix)


def check_processes(*, supervises: bool = SUPERVISES) -> Finding:
    """Check whether the processes that commands start can be ended with them."""
    if supervises:
        detail = (
            "when a command ends, all processes that it started are ended, daemons included (PID namespace "
            "or subreaper)"
        )
        return Finding("ok", "processes", detail)
    return Finding(
        "off",
        "processes",
        "processes that leave the process group of a command keep running when it ends: only Linux can find them",
    )


def check_runs_folder(path: Path) -> Iterator[Finding]:
    """Check that the output of runs can be stored."""
    if path.exists() and not (path.is_dir() and os.access(path, os.W_OK | os.X_OK)):
        yield Finding("error", "runs", f"{path} is not writable", "make it a directory that this user can write to")
    elif path.exists():
        yield Finding("ok", "runs", str(path))


def check_data_dir(path: Path) -> Iterator[Finding]:
    """Check that only this user can write to the data directory."""
    nearest = next((p for p in (path, *path.parents) if p.exists()), Path("/"))
    try:
        try_write(nearest, bytes(PROBE_BYTES) if nearest == path else b"")
    except OSError as error:
        yield failure("data directory", unusable(path, error))
        return
    if nearest != path:
        yield Finding("ok", "data directory", f"{path} (created when it is first needed)")
        return
    try:
        refuse_others(path)
    except ConfigError as error:
        yield failure("data directory", error)
        return
    foreign = [failure("data directory", problem) for problem in foreign_files(path)]
    if foreign:
        yield from foreign
        return
    yield Finding("ok", "data directory", str(path))


def check_env_file(settings: Settings) -> Iterator[Finding]:
    """Check the mode of the `.env` file that was read, and that it hides no other one."""
    path = settings.env_file
    if path is None:
        yield Finding("off", ".env", f"{settings.own_file} does not exist; `tocsin init` creates it")
    elif path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding("warning", ".env", f"other users can read {path}", f"chmod 600 {path}")
    else:
        yield Finding("ok", ".env", str(path))
    if unread := settings.unread_env_file:
        detail = f"{unread} is ignored, because Tocsin reads {path}"
        yield Finding("warning", ".env", detail, f"move its settings, or select it with --env-file {unread}")


def check_names(settings: Settings) -> Iterator[Finding]:
    for unknown in unknown_settings(settings):
        yield Finding("warning", "settings", str(unknown), unknown.hint)


def check_traces(settings: Settings, is_there: Callable[[str], bool] = is_installed) -> Iterator[Finding]:
    """Check that traces can be exported, if a collector is set."""
    if not settings.exports_traces:
        return
    package, collector = "opentelemetry.sdk", settings[OTEL_EXPORTER_OTLP_TRACES_ENDPOINT]
    collector = collector or settings[OTEL_EXPORTER_OTLP_ENDPOINT]
    if is_there(package):
        yield Finding("ok", "traces", f"exported to {collector}")
    else:
        yield Finding(
            "warning", "traces", f"not exported to {collector}: {package} is not installed", how_to_install(package)
        )


def check_security(settings: Settings) -> Iterator[Finding]:
    """Report the warnings that a service logs at its start."""
    for warning in validate_security(settings):
        problem, _, fix = warning.partition("; ")
        yield Finding("warning", "security", problem, fix)
    for check, host in ((check_gateway_bind, GATEWAY_HOST), (check_dashboard_bind, DASHBOARD_HOST)):
        try:
            check(settings, settings[host])
        except ConfigError as error:
            yield Finding("error", "security", str(error), error.hint)
