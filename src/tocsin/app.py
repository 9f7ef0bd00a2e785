"""The composition root: the only place where parts are put together."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.channels.contract import Tools
from tocsin.channels.registry import ChannelState, Discovery, Registry, discover
from tocsin.core.clock import Clock, SystemClock
from tocsin.core.http import Transport
from tocsin.core.redaction import Redactor
from tocsin.core.security import check_gateway_bind
from tocsin.core.settings import Settings
from tocsin.core.variables import AUDIT_REDACT, GATEWAY_HOST, GATEWAY_PORT

if TYPE_CHECKING:
    from tocsin.core.audit_trail import AuditTrail
    from tocsin.messaging.messenger import Messenger
    from tocsin.messaging.profiles import Profiles


@dataclass(frozen=True, slots=True)
class App:
    """All parts of one running program."""

    settings: Settings
    discovery: Discovery
    redact: Redactor
    clock: Clock
    audit: "AuditTrail"
    registry: Registry
    profiles: "Profiles"
    messenger: "Messenger"


def load_settings(
    *, data_dir: Path | None = None, env_file: Path | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Settings, Discovery]:
    """Read the settings of the core and of every channel there is; `environ` replaces the environment."""
    discovery = discover()
    variables = [variable for channel in discovery.classes for variable in channel.spec.variables]
    return Settings.load(variables, environ=environ, data_dir=data_dir, env_file=env_file), discovery


def list_channels(settings: Settings, discovery: Discovery) -> list[ChannelState]:
    """Return the state of every channel; nothing is opened."""
    return Registry(discovery.classes, settings, _no_tools).states()


def _no_tools() -> Tools:
    raise AssertionError("a command that only lists needs no tools")


def read_profiles(settings: Settings, discovery: Discovery) -> "Profiles":
    """Return the notification profiles; nothing is opened for sending."""
    return assemble(settings, discovery, _no_tools).profiles


def assemble(settings: Settings, discovery: Discovery, tools: Callable[[], Tools]) -> App:
    """Put the parts together; nothing is opened, started or sent."""
    # Listing channels needs none of these, and they take as long to import as everything else.
    from tocsin.core.audit import AuditLog
    from tocsin.core.audit_trail import AuditTrail
    from tocsin.messaging.messenger import Messenger
    from tocsin.messaging.profiles import FILE_NAME, Profiles

    redact = Redactor(settings.secrets())
    path = settings.data_dir / "audit.log"
    audit = AuditTrail(AuditLog(path, redact=redact) if settings[AUDIT_REDACT] else AuditLog(path))
    registry = Registry(discovery.classes, settings, cache(tools))
    profiles = Profiles(settings.data_dir / FILE_NAME, registry.kind_of, registry.kinds())
    return App(
        settings,
        discovery,
        redact,
        SystemClock(),
        audit,
        registry,
        profiles,
        Messenger(registry, profiles, audit),
    )


@asynccontextmanager
async def open_app(settings: Settings, discovery: Discovery, transport: Callable[[], Transport]) -> AsyncIterator[App]:
    """Assemble the program and close its parts, in reverse order, at the end."""
    async with AsyncExitStack() as stack:

        def tools() -> Tools:
            http = transport()
            stack.push_async_callback(http.aclose)
            return Tools(http, SystemClock())

        app = assemble(settings, discovery, tools)
        stack.callback(app.audit.log.close)
        yield app


def direct_transport() -> Transport:
    """Return the transport of the program; made inside a running event loop."""
    # A command that only lists does not pay for asyncio.
    from tocsin.core.http_direct import DirectTransport

    return DirectTransport()


async def serve(app: App, parts: frozenset[str], ready: Callable[[Sequence[str]], None]) -> None:
    """Run the named services until a signal asks to stop; refuses an open gateway off loopback."""
    from logging import getLogger

    from tocsin.web.gateway import Parts, build_gateway
    from tocsin.web.serving import Service
    from tocsin.web.serving import serve as run_services

    services = []
    if "gateway" in parts:
        host = app.settings[GATEWAY_HOST]
        for warning in check_gateway_bind(app.settings, host):
            getLogger(__name__).warning(warning)
        services.append(
            Service(
                "the gateway",
                host,
                app.settings[GATEWAY_PORT],
                GATEWAY_PORT.name,
                lambda draining: build_gateway(
                    Parts(app.settings, app.clock, app.audit, app.registry, app.messenger, draining)
                ),
            )
        )
    await run_services(services, ready=ready)
