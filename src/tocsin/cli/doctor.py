"""doctor: check the installation, and name cause and fix of every finding."""

import argparse
import asyncio
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from tocsin import __version__
from tocsin.app import DATABASE_FILE, App, direct_transport, open_app
from tocsin.channels.registry import ChannelState, Discovery
from tocsin.cli.opening import open_settings
from tocsin.cli.options import Options
from tocsin.cli.output import DONE, FAILED, Output
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.sandbox import Level, Sandbox
from tocsin.core.security import check_gateway_bind, validate_security
from tocsin.core.settings import Settings
from tocsin.core.variables import GATEWAY_HOST, GATEWAY_PORT, REDIS_URL
from tocsin.core.yaml_node import suggestion
from tocsin.messaging.messenger import Caller

OLDEST_PYTHON = (3, 11)
# Nobody runs this program before it was written: such a clock breaks signatures and certificates.
WRITTEN = datetime(2026, 11, 1, tzinfo=UTC)
OPTIONAL_PACKAGES = {
    "uvloop": "services run on the slower event loop of Python",
    "shtab": 'no shell completion; pip install "tocsin[completion]"',
    "trustme": 'no `tocsin demo`; pip install "tocsin[demo]"',
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `state` is ok, warning, error or off."""

    state: str
    subject: str
    detail: str
    fix: str = ""


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin doctor`."""
    parser.epilog = "example: tocsin doctor --offline"
    parser.add_argument("--offline", action="store_true", help="do not ask the providers whether the credentials work")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace, options: Options, out: Output) -> int:
    try:
        settings, discovery = open_settings(options, out)
    except ConfigError as error:
        findings = [*check_machine(), Finding("error", "settings", str(error), error.hint)]
    else:
        work = examine(settings, discovery, probe=not arguments.offline)
        findings = asyncio.run(out.while_waiting("Asking the providers …", work))
    return _report(findings, out)


def _report(findings: list[Finding], out: Output) -> int:
    broken = any(finding.state == "error" for finding in findings)
    if out.as_json:
        out.document({"ok": not broken, "findings": findings})
        return FAILED if broken else DONE
    out.table(("state", "subject", "finding"), [(f.state, f.subject, f.detail) for f in findings])
    for finding in findings:
        if finding.state in {"error", "warning"}:
            out.line(f"\n{finding.state}: {finding.subject}: {finding.detail}")
            if finding.fix:
                out.line(f"  fix: {finding.fix}")
    return FAILED if broken else DONE


async def examine(settings: Settings, discovery: Discovery, *, probe: bool) -> list[Finding]:
    """Return all findings; with `probe`, every configured channel is asked, all at the same time."""
    findings = [
        *check_machine(),
        *check_data_dir(settings.data_dir),
        *check_env_files(settings),
        *check_security(settings),
        *check_ports(settings),
        *(Finding("error", "plug-in", problem, "update or remove it") for problem in discovery.problems),
    ]
    findings.append(await check_sandbox())
    async with open_app(settings, discovery, direct_transport) as app:
        findings += check_files(app)
        findings += [finding async for finding in check_queue(app)]
        findings += [finding async for finding in check_channels(app, probe=probe)]
    return findings


def check_machine() -> Iterator[Finding]:
    """Check Python, the clock and the optional packages."""
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
    for package, consequence in OPTIONAL_PACKAGES.items():
        if find_spec(package) is None:
            yield Finding("off", "package", f"{package} is not installed: {consequence}")


async def check_sandbox() -> Finding:
    """Check how far sandboxed skills are confined."""
    state = await Sandbox().state()
    if state.level is Level.BUBBLEWRAP:
        return Finding("ok", "sandbox", "bubblewrap works: sandboxed skills see their own folder alone")
    return Finding("off", "sandbox", f"{state.reason}: sandboxed skills have limits and four variables, no more")


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
    """Check rights and spelling of the `.env` files in force."""
    known = {v.name for v in settings.variables} | {f"{v.name}_FILE" for v in settings.variables if v.secret}
    for layer in settings.layers:
        path = Path(layer.name)
        if not path.is_absolute():
            continue
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield Finding("warning", ".env", f"others may read {path}", f"chmod 600 {path}")
        else:
            yield Finding("ok", ".env", str(path))
        for name in sorted(set(layer.values) - known):
            if meant := suggestion(name, known):
                yield Finding("warning", ".env", f"{path}: there is no setting {name}", f"correct the name{meant}")
    if not any(Path(layer.name).is_absolute() for layer in settings.layers):
        yield Finding("off", ".env", "there is none; `tocsin init` writes one")


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


def check_files(app: App) -> Iterator[Finding]:
    """Check the hand-written files and the audit log."""
    profiles = app.profiles().all()
    if problem := app.profiles().problem:
        yield Finding("error", "profiles", str(problem), problem.hint or "correct the file")
    for profile in profiles:
        for mistake in profile.problems:
            yield Finding("error", "profiles", f"{profile.name}: {mistake}", f"correct {app.profiles().path}")
    if profiles and all(profile.valid for profile in profiles):
        yield Finding("ok", "profiles", f"{len(profiles)} in {app.profiles().path}")
    try:
        newest = app.audit.log.tail(1)
    except TocsinError as error:
        yield Finding("error", "audit log", str(error), error.hint)
    else:
        yield Finding("ok", "audit log", f"last entry {newest[0].ts}" if newest else "empty")


async def check_queue(app: App) -> AsyncIterator[Finding]:
    """Check that the queue can be relied on, and that a Redis that was named answers."""
    health = await app.outbox.store.health()
    try:
        if (app.settings.data_dir / DATABASE_FILE).exists() or health.backend != "sqlite":
            await app.outbox.store.counts()
    except TocsinError as error:
        yield Finding("error", "queue", str(error), error.hint)
    else:
        yield Finding("ok" if health.ok else "error", "queue", health.backend)
    for problem in health.problems:
        state = "warning" if health.ok else "error"
        yield Finding(state, "queue", f"{health.backend}: {problem}", "see docs/delivery.md")
    if REDIS_URL.name not in app.settings.sources or not app.settings[REDIS_URL]:
        yield Finding(
            "off", "bus", "REDIS_URL is not set: it is used only where something answers at its usual address"
        )
        return
    from tocsin.core.redis_client import open_redis

    client = open_redis(app.settings[REDIS_URL])
    try:
        await client.command("PING")
        yield Finding("ok", "bus", f"{client.where} answers")
    except TocsinError as error:
        yield Finding("warning", "bus", str(error), error.hint or "start Redis, or set REDIS_URL=off")
    finally:
        await client.aclose()


async def check_channels(app: App, *, probe: bool) -> AsyncIterator[Finding]:
    """Check each channel: configured at all, credentials of the right shape, and accepted by the provider."""
    states = app.registry.states()
    ready = [state for state in states if state.configured]
    results = dict(zip((s.spec.kind for s in ready), await _probe(app, ready), strict=True)) if probe else {}
    for state in states:
        kind = state.spec.kind
        if not state.configured:
            needs = (
                f"needs {state.spec.platform}"
                if not state.available
                else f"not configured: set {', '.join(state.missing)}"
            )
            yield Finding("off", kind, needs)
            continue
        for finding in _check_shapes(app.settings, state):
            yield finding
        result = results.get(kind)
        yield result or Finding("ok", kind, "configured (not probed)")


async def _probe(app: App, states: list[ChannelState]) -> list[Finding]:
    async def one(kind: str) -> Finding:
        result = await app.messenger.test(kind, Caller("cli"))
        if result.ok:
            return Finding("ok", kind, result.message)
        return Finding("error", kind, result.error)  # the sentence of a channel holds cause and remedy

    return await asyncio.gather(*(one(state.spec.kind) for state in states))


def _check_shapes(settings: Settings, state: ChannelState) -> Iterator[Finding]:
    import re

    for variable in state.spec.variables:
        value = settings[variable]
        if variable.shape and value and not re.fullmatch(variable.shape, str(value)):
            detail = f"{variable.name} does not look like what it should be"
            yield Finding("warning", state.spec.kind, detail, f"it should be: {variable.doc}")
