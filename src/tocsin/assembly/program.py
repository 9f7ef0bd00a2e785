"""From settings to parts: everything that one running program is made of, and who closes it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.assembly.storage import Stores, open_stores
from tocsin.channels.contract import OutboundAdapter, Receipt, Tools
from tocsin.channels.registry import ChannelState, Registry, discover
from tocsin.core.config.settings import LateLayer, Settings
from tocsin.core.config.variables import AUDIT_REDACT, MAX_PARTS, REDIS_URL
from tocsin.core.text.redaction import Redactor
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.features.registry import find_features

if TYPE_CHECKING:
    from tocsin.assembly.abilities import ProgramBotView
    from tocsin.assembly.chat_models import ChatModels
    from tocsin.assembly.features import OpenFeatures
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.http.transport import Transport
    from tocsin.core.lazy import Lazy
    from tocsin.core.process.presence import Presence
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.features.context import FeatureContext
    from tocsin.features.contract import Feature
    from tocsin.messaging.outbound.channel_watch import ChannelTroubles, ChannelWatch
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.outbox import Outbox
    from tocsin.messaging.outbound.output_routing import OutputRouter
    from tocsin.messaging.outbound.profiles import Profiles
    from tocsin.messaging.outbound.publisher import Publisher
    from tocsin.runs.engine.settling import RunSettler
    from tocsin.runs.service import Runs
    from tocsin.web.http.metrics import Metrics


RUNS_FOLDER = "runs"


class Installed(NamedTuple):
    """The channels and features there are, and a sentence for every plug-in that cannot be used."""

    channels: Sequence[type[OutboundAdapter]]
    features: "Sequence[Feature]" = ()
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class App:
    """All parts of one running program; what only some commands need is made when it is first asked for."""

    settings: Settings
    installed: Installed
    redact: Redactor
    clock: Clock
    audit: "AuditTrail"
    registry: Registry
    profiles: Callable[[], "Profiles"]
    outbox: "Outbox"
    messenger: "Messenger"
    stores: Stores
    database: "Database"
    redis: "Lazy[RedisClient]"
    presence: "Lazy[Presence]"  # of those that share the inbox
    runs: "Lazy[Runs]"
    run_settler: "Callable[[], RunSettler]"
    output: "Callable[[], OutputRouter]"
    models: "Lazy[ChatModels]"
    features: "OpenFeatures"
    monitoring: "Monitoring"
    bot_view: "Callable[[], ProgramBotView]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Monitoring:
    """Who sees what is sent and received, in a process that runs services."""

    watch: "ChannelWatch | None" = None
    metrics: "Metrics | None" = None

    def troubles(self) -> "ChannelTroubles":
        """Return what providers refuse, as this process sees them."""
        from tocsin.messaging.outbound.channel_watch import ChannelTroubles

        return self.watch.troubles() if self.watch else ChannelTroubles()

    def of_sends(self) -> "list[Callable[[Receipt], None]]":
        """Return what gets the receipt of every try."""
        seen: list[Callable[[Receipt], None]] = [self.watch.note] if self.watch else []
        return [*seen, self.metrics.count_send] if self.metrics else seen


def find_installed() -> Installed:
    """Find every channel and feature."""
    channels, features = discover(), find_features()
    return Installed(channels.classes, features.features, [*channels.problems, *features.problems])


def load_settings(
    *,
    data_dir: Path | None = None,
    env_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    late: bool = True,
) -> tuple[Settings, Installed]:
    """Read the settings of the core and of every channel and feature; `environ` replaces the environment.

    Without `late`, no feature is asked for the secrets that are not set.
    """
    installed = find_installed()
    variables = [variable for channel in installed.channels for variable in channel.spec.variables]
    variables += [variable for feature in installed.features for variable in feature.variables]
    layers = late_layers(installed.features)
    settings = Settings.load(
        variables, environ=environ, data_dir=data_dir, env_file=env_file, late=layers, ask_late=late
    )
    return settings, installed


def late_layers(features: "Sequence[Feature]") -> list[LateLayer]:
    """Return where settings are looked up last: the stores of secrets that features have."""

    return [LateLayer(each.name, each.settings_layer) for each in features if each.settings_layer]


def list_channels(settings: Settings, installed: Installed) -> list[ChannelState]:
    """Return the state of every channel; nothing is opened."""
    return Registry(installed.channels, settings, _no_tools).states()


def _no_tools() -> Tools:
    raise AssertionError("a command that only lists needs no tools")


def read_profiles(settings: Settings, installed: Installed) -> "Profiles":
    """Return the notification profiles; nothing is opened for sending."""
    from tocsin.messaging.outbound.profiles import FILE_NAME, Profiles

    registry = Registry(installed.channels, settings, _no_tools)
    return Profiles(settings.data_dir / FILE_NAME, registry.known_kind)


def checked_profiles(app: "App") -> "Profiles":
    """Return the notification profiles, each target checked as a send would; nothing is sent."""
    from tocsin.messaging.outbound.profiles import FILE_NAME, Profiles

    def check(channel: str, target: str) -> None:
        app.outbox.prepare(channel, target, "a text", "cli")

    return Profiles(app.settings.data_dir / FILE_NAME, app.registry.known_kind, check)


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
    """Put the parts together; nothing is opened, started or sent. `make_context` replaces that of the features."""
    # Listing channels needs none of these, and they take as long to import as everything else.
    from tocsin.assembly.features import OpenFeatures
    from tocsin.core.lazy import Lazy
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.outbox import Outbox

    redact, audit = settings.redact, audit_trail(settings)
    clock = clock or SystemClock()
    registry = Registry(installed.channels, settings, cache(tools))
    profiles = cache(lambda: read_profiles(settings, installed))  # reading YAML takes as long as sending
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
        stores=stores,
        database=stores.database,
        redis=stores.redis,
        presence=Lazy(lambda: _presence(app), lambda presence: presence.leave()),
        runs=Lazy(lambda: _runs(app), lambda runs: runs.aclose()),
        run_settler=cache(lambda: _run_settler(app)),
        output=cache(lambda: _output(app)),
        models=Lazy(lambda: _models(app), lambda models: models.aclose()),
        features=OpenFeatures(installed.features, settings, lambda: (make_context or _context_of)(app)),
        monitoring=monitoring,
        bot_view=cache(lambda: _bot_view(app)),
    )
    return app


def audit_trail(settings: Settings) -> "AuditTrail":
    """Return the audit trail of the data directory; nothing is opened."""
    from tocsin.core.audit.log import AuditLog
    from tocsin.core.audit.trail import AuditTrail

    path = settings.data_dir / "audit.log"
    if not settings[AUDIT_REDACT]:
        return AuditTrail(AuditLog(path))
    return AuditTrail(AuditLog(path, redact=settings.redact, masks_all=settings.masks_all))


def _presence(app: App) -> "Presence":
    from tocsin.core.process.presence import Presence

    return Presence(app.stores.beats(), app.clock)


def _runs(app: App) -> "Runs":
    from tocsin.runs.service import Runs

    folder = app.settings.data_dir / RUNS_FOLDER
    return Runs(app.stores.runs(), folder, app.clock, app.presence(), redact=app.redact, settler=app.run_settler())


def _output(app: App) -> "OutputRouter":
    """Return what queues texts for a channel and target, or for a profile."""
    from tocsin.messaging.outbound.output_routing import OutputRouter

    return OutputRouter(app.outbox, app.profiles)


def _run_settler(app: App) -> "RunSettler":
    from tocsin.runs.engine.settling import RunSettler, SettlerDependencies

    parts = SettlerDependencies(app.stores.runs(), app.output, app.audit, app.clock, app.features.run_type)
    return RunSettler(parts)


def _models(app: App) -> "ChatModels":
    from tocsin.assembly.chat_models import ChatModels
    from tocsin.assembly.operator import tell_operator

    return ChatModels(app.settings, app.clock, app.redact, tell_operator(app))


def _bot_view(app: App) -> "ProgramBotView":
    from tocsin.assembly.abilities import ProgramBotView

    return ProgramBotView(app)


def _context_of(app: App) -> "FeatureContext":
    from tocsin.assembly.abilities import context_of

    return context_of(app)


@asynccontextmanager
async def open_app(
    settings: Settings,
    installed: Installed,
    transport: "Callable[[], Transport]",
    monitoring: Monitoring = Monitoring(),  # it is frozen
) -> AsyncIterator[App]:
    """Assemble the program and close its parts, in reverse order, at the end."""
    async with AsyncExitStack() as stack:

        def tools() -> Tools:
            http = transport()
            stack.push_async_callback(http.aclose)
            return Tools(http, SystemClock(), settings.redact, settings[MAX_PARTS])

        stores = open_stores(settings, installed.features, stack)
        app = assemble(settings, installed, tools=tools, stores=stores, monitoring=monitoring)
        stack.callback(app.audit.log.close)
        for part in (app.messenger, app.models, app.presence, app.features, app.runs):
            stack.push_async_callback(part.aclose)
        yield app


def direct_transport() -> "Transport":
    """Return the transport of the program; made inside a running event loop."""
    # A command that only lists does not pay for asyncio.
    from tocsin.core.http.direct import DirectTransport

    return DirectTransport()


def publisher_of(app: App) -> "Publisher":
    """Return what publishes to the bus and queues what comes off it."""
    from tocsin.messaging.outbound.publisher import Publisher

    return Publisher(app.outbox, app.redis if app.settings[REDIS_URL] else None)
