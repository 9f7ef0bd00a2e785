"""From settings to parts: everything that one running program is made of, and who closes it."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.channels.contract import OutboundAdapter, Receipt, Tools
from tocsin.channels.registry import ChannelState, Registry, discover
from tocsin.core.config.settings import LateLayer, Settings, Values
from tocsin.core.config.variables import (
    AUDIT_REDACT,
    DELIVERY_BACKEND,
    MAX_PARTS,
    REDIS_URL,
)
from tocsin.core.errors import ConfigError
from tocsin.core.http.transport import Transport
from tocsin.core.text.redaction import Redactor
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.features.registry import find_features

if TYPE_CHECKING:
    from tocsin.assembly.abilities import BotHistories
    from tocsin.assembly.chat_models import ChatModels
    from tocsin.assembly.features import OpenFeatures
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.lazy import Lazy
    from tocsin.core.process.presence import Presence
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.delivery.store import DeliveryStore
    from tocsin.features.context import FeatureContext
    from tocsin.features.contract import Feature
    from tocsin.messaging.inbound.store import InboxStore
    from tocsin.messaging.outbound.channel_watch import ChannelWatch
    from tocsin.messaging.outbound.idempotency import IdempotencyKeys
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.outbox import Outbox
    from tocsin.messaging.outbound.profiles import Profiles
    from tocsin.messaging.outbound.publisher import Publisher
    from tocsin.runs.service import Runs
    from tocsin.web.gateway.metrics import Metrics


DATABASE_FILE = "tocsin.db"
RUNS_FOLDER = "runs"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Installed:
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
    keys: "IdempotencyKeys"
    database: "Database"
    redis: "Lazy[RedisClient]"
    presence: "Lazy[Presence]"
    runs: "Lazy[Runs]"
    inbox_store: Callable[[], "InboxStore"]
    models: "Lazy[ChatModels]"
    features: "OpenFeatures"
    monitoring: "Monitoring"
    histories: "Callable[[], BotHistories]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Monitoring:
    """Who sees what is sent and received, in a process that runs services."""

    watch: "ChannelWatch | None" = None
    metrics: "Metrics | None" = None

    def of_sends(self) -> "list[Callable[[Receipt], None]]":
        """Return what gets the receipt of every try."""
        seen: list[Callable[[Receipt], None]] = [self.watch.note] if self.watch else []
        return [*seen, self.metrics.count_send] if self.metrics else seen


class Storage(NamedTuple):
    """Where the queue and what belongs to it are kept, the database of everything else, and Redis."""

    store: "DeliveryStore"
    keys: "IdempotencyKeys"
    database: "Database"
    redis: "Lazy[RedisClient]"


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

    Without `late`, no layer of a feature is asked for the secrets that are not set.
    """
    installed = find_installed()
    variables = [variable for channel in installed.channels for variable in channel.spec.variables]
    variables += [variable for feature in installed.features for variable in feature.variables]
    layers = [_late_layer(feature) for feature in installed.features if feature.settings_layer and late]
    return Settings.load(variables, environ=environ, data_dir=data_dir, env_file=env_file, late=layers), installed


def _late_layer(feature: "Feature") -> LateLayer:
    def read(data_dir: Path, settings: Values) -> Mapping[str, str]:
        from tocsin.features.contract import load

        values: Mapping[str, str] = load(feature.settings_layer)(data_dir, settings)
        return values

    return LateLayer(feature.name, read)


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
    storage: Storage,
    clock: Clock | None = None,
    monitoring: Monitoring = Monitoring(),  # it is frozen
) -> App:
    """Put the parts together; nothing is opened, started or sent."""
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
    outbox = Outbox(storage.store, registry, audit, clock, observers=observers)
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
        keys=storage.keys,
        database=storage.database,
        redis=storage.redis,
        presence=Lazy(lambda: _presence(app), lambda presence: presence.leave()),
        runs=Lazy(lambda: _runs(app), lambda runs: runs.aclose()),
        inbox_store=cache(lambda: _inbox_store(app)),
        models=Lazy(lambda: _models(app), lambda models: models.aclose()),
        features=OpenFeatures(installed.features, settings, lambda: _context_of(app)),
        monitoring=monitoring,
        histories=cache(_histories),
    )
    return app


def audit_trail(settings: Settings) -> "AuditTrail":
    """Return the audit trail of the data directory; nothing is opened."""
    from tocsin.core.audit.log import AuditLog
    from tocsin.core.audit.trail import AuditTrail

    path = settings.data_dir / "audit.log"
    return AuditTrail(AuditLog(path, redact=settings.redact) if settings[AUDIT_REDACT] else AuditLog(path))


def _presence(app: App) -> "Presence":
    from tocsin.core.process.presence import Presence

    return Presence(app.database, app.clock)


def _runs(app: App) -> "Runs":
    from tocsin.runs.service import Runs
    from tocsin.runs.store import RunStore

    folder = app.settings.data_dir / RUNS_FOLDER
    return Runs(RunStore(app.database), folder, app.clock, app.presence(), redact=app.redact)


def _inbox_store(app: App) -> "InboxStore":
    from tocsin.messaging.inbound.store import InboxStore

    return InboxStore(app.database, app.clock)


def _models(app: App) -> "ChatModels":
    from tocsin.assembly.chat_models import ChatModels
    from tocsin.assembly.operator import tell_operator

    return ChatModels(app.settings, app.clock, app.redact, tell_operator(app))


def _histories() -> "BotHistories":
    from tocsin.assembly.abilities import BotHistories

    return BotHistories(is_redis_there)


def _context_of(app: App) -> "FeatureContext":
    from tocsin.assembly.abilities import context_of

    return context_of(app)


@asynccontextmanager
async def open_app(
    settings: Settings,
    installed: Installed,
    transport: Callable[[], Transport],
    monitoring: Monitoring = Monitoring(),  # it is frozen
) -> AsyncIterator[App]:
    """Assemble the program and close its parts, in reverse order, at the end."""
    async with AsyncExitStack() as stack:

        def tools() -> Tools:
            http = transport()
            stack.push_async_callback(http.aclose)
            return Tools(http, SystemClock(), settings.redact, settings[MAX_PARTS])

        storage = await open_storage(settings, installed, stack)
        app = assemble(settings, installed, tools=tools, storage=storage, monitoring=monitoring)
        stack.callback(app.audit.log.close)
        for part in (app.messenger, app.models, app.presence, app.runs, app.features):
            stack.push_async_callback(part.aclose)
        yield app


async def open_storage(settings: Settings, installed: Installed, stack: AsyncExitStack) -> Storage:
    """Open the queue where the settings keep it, and the database; have them closed with the program."""
    from tocsin.core.storage.database import Database

    clock = SystemClock()
    database = Database(settings.data_dir / DATABASE_FILE, lambda: schemas(installed.features))
    stack.push_async_callback(database.aclose)
    redis = lazy_redis(settings)
    stack.push_async_callback(redis.aclose)
    if settings[DELIVERY_BACKEND] == "redis":
        if not settings[REDIS_URL]:
            raise ConfigError("DELIVERY_BACKEND=redis needs a Redis, but REDIS_URL is off", hint="set REDIS_URL")
        from tocsin.delivery.redis.store import RedisStore
        from tocsin.messaging.outbound.redis_idempotency import RedisKeys

        return Storage(RedisStore(redis(), clock), RedisKeys(redis()), database, redis)
    from tocsin.delivery.sqlite.store import SqliteStore
    from tocsin.messaging.outbound.idempotency import SqliteKeys

    return Storage(SqliteStore(database, clock), SqliteKeys(database, clock), database, redis)


def lazy_redis(settings: Settings) -> "Lazy[RedisClient]":
    """Return the one client of the Redis that the settings name."""

    from tocsin.core.lazy import Lazy

    def make() -> "RedisClient":
        from tocsin.core.storage.redis_client import open_redis

        return open_redis(settings[REDIS_URL])

    return Lazy(make, lambda client: client.aclose())


async def is_redis_there(app: "App") -> bool:
    """Whether a Redis was named in the settings, or listens at the usual address."""
    from tocsin.core.storage.redis_client import listens

    url = app.settings[REDIS_URL]
    return bool(url) and (REDIS_URL.name in app.settings.sources or await listens(url))


def schemas(features: "Iterable[Feature]") -> dict[str, Sequence[str]]:
    """Return the tables of every component; these modules hold nothing but text, because every send reads them."""
    from tocsin.bot import schema as bot_schema
    from tocsin.core.process import presence
    from tocsin.core.storage import changes
    from tocsin.delivery.sqlite import schema as sqlite_schema
    from tocsin.messaging.inbound import schema as inbox_schema
    from tocsin.messaging.outbound import idempotency
    from tocsin.runs import schema as runs_schema
    from tocsin.scheduling import schema as scheduling_schema
    from tocsin.web.access import schema as access_schema

    return {
        "changes": changes.MIGRATIONS,  # the first: triggers of the others write to its table
        "delivery": sqlite_schema.MIGRATIONS,
        "idempotency": idempotency.MIGRATIONS,
        "inbox": inbox_schema.MIGRATIONS,
        "presence": presence.MIGRATIONS,
        "runs": runs_schema.MIGRATIONS,
        "scheduling": scheduling_schema.MIGRATIONS,
        "web_access": access_schema.MIGRATIONS,
        **bot_schema.SCHEMAS,
        **{component: scripts for feature in features for component, scripts in feature.tables.items()},
    }


def direct_transport() -> Transport:
    """Return the transport of the program; made inside a running event loop."""
    # A command that only lists does not pay for asyncio.
    from tocsin.core.http.direct import DirectTransport

    return DirectTransport()


def publisher_of(app: App) -> "Publisher":
    """Return what publishes to the bus and queues what comes off it."""
    from tocsin.messaging.outbound.publisher import Publisher

    return Publisher(app.outbox, app.redis if app.settings[REDIS_URL] else None)
