"""doctor, the machine: Python, packages, directories, `.env` files, security, ports, the sandbox."""

import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from tocsin import __version__
from tocsin.cli.doctor_findings import Finding
from tocsin.core.errors import ConfigError
from tocsin.core.sandbox import Level, Sandbox
from tocsin.core.security import check_gateway_bind, validate_security
from tocsin.core.settings import Settings
from tocsin.core.unknown_settings import unknown_settings
from tocsin.core.variables import GATEWAY_HOST, GATEWAY_PORT

OLDEST_PYTHON = (3, 11)
# Nobody runs this program before it was written: such a clock breaks signatures and certificates.
WRITTEN = datetime(2026, 11, 1, tzinfo=UTC)
OPTIONAL_PACKAGES = {
    "uvloop": "services run on the slower event loop of Python",
    "shtab": 'no shell completion; pip install "tocsin[completion]"',
    "trustme": 'no `tocsin demo`; pip install "tocsin[demo]"',
    "pydantic_ai": 'no chat model; pip install "tocsin[chat]"',
    "av": 'no voice messages; pip install "tocsin[voice]"',
    "pywhispercpp": 'no voice messages; pip install "tocsin[voice]"',
}
# They belong to every installation, and are loaded only when they are needed.
NEEDED_PACKAGES = {
    "nacl": "webhook calls with an Ed25519 signature are rejected",
    "re2": "no trigger rule can be used",
    "pypdf": "the bot reads no PDF",
    "markdown_it": "the bot cannot format its answers",
}


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
            f"it says {now:%Y-%m-%d %H:%M} UTC",
            "set the clock or start time synchronisation",
        )
    else:
        yield Finding("ok", "clock", f"{now:%Y-%m-%d %H:%M} UTC")


def is_installed(package: str) -> bool:
    """Whether a package is there; it is not imported."""
    return find_spec(package) is not None


def check_packages(is_there: Callable[[str], bool] = is_installed) -> Iterator[Finding]:
    """Check the packages that are loaded only when something needs them."""
    for package, consequence in NEEDED_PACKAGES.items():
        if not is_there(package):
            detail = f"{package} is not installed: {consequence}"
            yield Finding("error", "package", detail, "install Tocsin again: this installation is not complete")
    for package, consequence in OPTIONAL_PACKAGES.items():
        if not is_there(package):
            yield Finding("off", "package", f"{package} is not installed: {consequence}")


async def check_sandbox(sandbox: Sandbox) -> Finding:
    """Check how far sandboxed skills are confined."""
    state = await sandbox.state()
    if state.level is Level.BUBBLEWRAP:
        return Finding(
            "ok", "sandbox", "bubblewrap works: sandboxed skills see their own folder and a read-only system only"
        )
    fix = "allow user namespaces to unprivileged users" if sandbox.bwrap else "apt install bubblewrap"
    consequence = "sandboxed skills have limits and five variables only: they can read your files and use the network"
    return Finding("off", "sandbox", f"{state.reason}: {consequence}", fix)


def check_runs_folder(path: Path) -> Iterator[Finding]:
    """Check that the output of runs can be kept."""
    if path.exists() and not (path.is_dir() and os.access(path, os.W_OK | os.X_OK)):
        yield Finding("error", "runs", f"{path} cannot be written", "make it a directory that this user may write to")
    elif path.exists():
        yield Finding("ok", "runs", str(path))


def check_data_dir(path: Path) -> Iterator[Finding]:
    """Check that the data directory can be written to, by nobody else."""
    nearest = next((p for p in (path, *path.parents) if p.exists()), Path("/"))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield Finding(
            "error",
            "data directory",
            f"{path} cannot be written",
            f"correct the rights of {nearest}, or set TOCSIN_DATA_DIR",
        )
        return
    if nearest != path:
        yield Finding("ok", "data directory", f"{path} (made when it is first needed)")
        return
    if path.stat().st_mode & stat.S_IWOTH:
        yield Finding("error", "data directory", f"anybody can write to {path}", f"chmod o-w {path}")
        return
    yield Finding("ok", "data directory", str(path))


def check_env_files(settings: Settings) -> Iterator[Finding]:
    """Check the rights of the `.env` files in force."""
    for layer in settings.layers:
        path = Path(layer.name)
        if not path.is_absolute():
            continue
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield Finding("warning", ".env", f"others may read {path}", f"chmod 600 {path}")
        else:
            yield Finding("ok", ".env", str(path))
    if not any(Path(layer.name).is_absolute() for layer in settings.layers):
        yield Finding("off", ".env", "there is none; `tocsin init` writes one")


def check_names(settings: Settings) -> Iterator[Finding]:
    """Check that no setting is misspelt."""
    for unknown in unknown_settings(settings):
        yield Finding("warning", "settings", str(unknown), unknown.hint)


def check_security(settings: Settings) -> Iterator[Finding]:
    """Repeat what a service warns of at its start."""
    for warning in validate_security(settings):
        problem, _, fix = warning.partition("; ")
        yield Finding("warning", "security", problem, fix)
    try:
        check_gateway_bind(settings, settings[GATEWAY_HOST])
    except ConfigError as error:
        yield Finding("error", "security", str(error), error.hint)


def check_ports(settings: Settings) -> Iterator[Finding]:
    """Check that the gateway's port is free, or that it is the gateway who has it."""
    host, port = settings[GATEWAY_HOST], settings[GATEWAY_PORT]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if _is_gateway(host, port):
            yield Finding("ok", "gateway", f"it runs on {host} port {port}")
            return
        fix = f"stop the program that uses it, or set {GATEWAY_PORT.name}"
        yield Finding("error", "gateway", f"cannot listen on {host} port {port}: {error.strerror}", fix)
        return
    yield Finding("ok", "gateway", f"{host} port {port} is free")


def _is_gateway(host: str, port: int) -> bool:
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/health")
        return b'"channels"' in connection.getresponse().read(65536)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
