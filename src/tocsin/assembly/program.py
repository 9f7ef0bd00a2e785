"""The parts of one program, created from its settings and closed in reverse order.

A send needs the imports at the top. The functions at the end import all other parts at their first use.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tocsin.assembly.audit import audit_trail
from tocsin.assembly.features import OpenFeatures
from tocsin.assembly.light import Installed
from tocsin.assembly.profiles import open_output, read_profiles
from tocsin.assembly.storage import open_stores
from tocsin.assembly.stores import Stores
from tocsin.channels.contract import Receipt, Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.core_variables import MAX_PARTS, PUBLIC_URL, STORE
from tocsin.core.config.settings import Settings
from tocsin.core.lazy import Lazy
from tocsin.core.storage.database import Database
from tocsin.core.text.redaction import Redactor
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.core.tracing.export import SdkTracer
from tocsin.core.tracing.spans import start_tracing
from tocsin.messaging.outbound.messenger import Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.terminal.packages import how_to_install

if TYPE_CHECKING:
    from tocsin.assembly.full.bot_view import ProgramBotView
    from tocsin.assembly.full.chat_models import ChatModels
    from tocsin.assembly.runs import RunOpener
    from tocsin.core.http.transport import Transport
    from tocsin.core.process.presence import Presence
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.delivery.files.intake import FileIntake
    from tocsin.features.context import FeatureContext
    from tocsin.messaging.outbound.channel_watch import ChannelWatch
    from tocsin.messaging.outbound.output_routing import OutputRouter
    from tocsin.messaging.outbound.profiles import Profiles
    from tocsin.runs.engine.settling import RunSettler
    from tocsin.runs.service import Runs
    from tocsin.web.http.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class App:
    """All parts of one program; those that only some commands need are created at their first use."""

    settings: Settings
    installed: Installed
    redact: Redactor
    clock: Clock
    audit: AuditTrail
    registry: Registry
    profiles: Callable[[], "Profiles"]
    outbox: Outbox
    messenger: Messenger
    files: "Callable[[], FileIntake]"
    stores: Stores
    database: Database
    redis: "Lazy[RedisClient]"
    presence: "Lazy[Presence]"  # of those that share the inbox
    runs: "Lazy[Runs]"
    run_settler: "Callable[[], RunSettler]"
    output: "Callable[[], OutputRouter]"
    models: "Lazy[ChatModels]"
    features: OpenFeatures
    monitoring: "Monitoring"
    bot_view: "Callable[[], ProgramBotView]"

    def may_have_runs(self) -> bool:
        """Whether runs may be recorded; looking for them in SQLite would create the database."""
        return self.settings[STORE] == "redis" or self.database.path.exists()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Monitoring:
    """The observers of sends and received messages in a process that runs services."""

    watch: "ChannelWatch | None" = None
    metrics: "Metrics | None" = None

    def of_sends(self) -> "list[Callable[[Receipt], None]]":
        """Return the observers of the receipt of each attempt."""
        seen: list[Callable[[Receipt], None]] = [self.watch.note] if self.watch else []
        return [*seen, self.metrics.count_send] if self.metrics else seen


def assemble(
    settings: Settings,
    installed: Installed,
    *,
    tools: Callable[[], Tools],
    stores: Stores,
    clock: Clock | None = None,
    monitoring: Monitoring = Monitoring(),  # it is frozen
    make_context: "Callable[[App], FeatureContext] | None" = None,
) -> App:
    """Create the parts without opening or sending anything; `make_context` replaces the context of features."""
    redact, audit = settings.redact, audit_trail(settings)
    clock = clock or SystemClock()
    registry = Registry(installed.channels, settings, cache(tools))
    profiles = cache(lambda: _profiles(settings, installed))  # reading YAML takes as long as sending
    observers = monitoring.of_sends()
    outbox = Outbox(stores.queue, registry, audit, clock, observers=observers)
    app = App(
        settings=settings,
        installed=installed,
        redact=redact,
        clock=clock,
        audit=audit,
        registry=registry,
        profiles=profiles,
        outbox=outbox,
        messenger=Messenger(registry, profiles, audit, outbox, observers=observers),
        files=cache(lambda: _files(settings, stores, clock)),
        stores=stores,
        database=stores.database,
        redis=stores.redis,
        presence=Lazy(lambda: _run_opener(app).presence(), lambda presence: presence.leave()),
        runs=Lazy(lambda: _run_opener(app).runs(), lambda runs: runs.aclose()),
        run_settler=cache(lambda: _run_opener(app).settler()),
        output=cache(lambda: _output(app)),
        models=Lazy(lambda: _models(app), lambda models: models.aclose()),
        features=OpenFeatures(installed.features, settings, lambda: (make_context or _make_context)(app)),
        monitoring=monitoring,
        bot_view=cache(lambda: _bot_view(app)),
    )
    return app


@asynccontextmanager
async def open_app(
    settings: Settings,
    installed: Installed,
    transport: "Callable[[], Transport]",
    monitoring: Monitoring = Monitoring(),  # it is frozen
    traceparent: str = "",
) -> AsyncIterator[App]:
    """Assemble the program and close its parts, in reverse order, at the end.

    Spans that are not part of another one continue the trace of `traceparent`.
    """
    async with AsyncExitStack() as stack:
        if settings.exports_traces:
            _start_traces(settings, traceparent, stack)

        def tools() -> Tools:
            http = transport()
            stack.push_async_callback(http.aclose)
            parts, address = settings[MAX_PARTS], settings[PUBLIC_URL]
            clock, redact = SystemClock(), settings.redact
            return Tools(
                http,
                clock,
                redact,
                parts,
                address,
                read_file=lambda hash_: app.files().read(hash_),
                document=stores.document,
            )

        stores = open_stores(settings, installed.features, stack)
        app = assemble(settings, installed, tools=tools, stores=stores, monitoring=monitoring)
        stack.callback(app.audit.log.close)
        for part in (app.messenger, app.models, app.presence, app.features, app.runs):
            stack.push_async_callback(part.aclose)
        yield app


def _start_traces(settings: Settings, traceparent: str, stack: AsyncExitStack) -> None:
    """Record spans until `stack` is closed."""
    try:
        tracer = SdkTracer(settings)
    except ModuleNotFoundError as error:
        import logging

        missing = {"missing": error.name, "fix": how_to_install("opentelemetry.sdk")}
        logging.getLogger(__name__).warning("traces are not exported: packages are missing", extra=missing)
        return
    stack.push_async_callback(tracer.aclose)
    start_tracing(tracer, traceparent)
    stack.callback(start_tracing, None)


def direct_transport() -> "Transport":
    """Return the transport of the program; made inside a running event loop."""
    from tocsin.core.http.direct import DirectTransport

    return DirectTransport()


def _profiles(settings: Settings, installed: Installed) -> "Profiles":
    return read_profiles(settings, installed)


def _files(settings: Settings, stores: Stores, clock: Clock) -> "FileIntake":
    from tocsin.assembly.files import open_files

    return open_files(settings, stores.redis, clock)


def _output(app: App) -> "OutputRouter":
    return open_output(app)


def _run_opener(app: App) -> "RunOpener":
    from tocsin.assembly.runs import RunOpener

    return RunOpener(app)


def _models(app: App) -> "ChatModels":
    from tocsin.assembly.full.chat_models import open_models

    return open_models(app)


def _bot_view(app: App) -> "ProgramBotView":
    from tocsin.assembly.full.bot_view import ProgramBotView

    return ProgramBotView(app)


def _make_context(app: App) -> "FeatureContext":
    from tocsin.assembly.abilities import make_context

    return make_context(app)
