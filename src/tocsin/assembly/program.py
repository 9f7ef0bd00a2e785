"""The composition root: the only place where parts are put together."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.channels.contract import Tools
from tocsin.channels.registry import ChannelState, Discovery, Registry, discover
from tocsin.core.config.settings import Settings
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

if TYPE_CHECKING:
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.process.presence import Presence
    from tocsin.core.storage.database import Database
    from tocsin.delivery.store import DeliveryStore
    from tocsin.features.skills.service import Skills
    from tocsin.features.triggers.rules import Triggers
    from tocsin.messaging.inbound.store import InboxStore
    from tocsin.messaging.outbound.idempotency import IdempotencyKeys
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.outbox import Outbox
    from tocsin.messaging.outbound.profiles import Profiles
    from tocsin.messaging.outbound.publisher import Publisher
    from tocsin.runs.service import Runs


DATABASE_FILE = "tocsin.db"
RUNS_FOLDER = "runs"
SKILLS_FOLDER = "skills"
SNAPSHOTS_FOLDER, SCRATCH_FOLDER = "skill-snapshots", "skill-scratch"


@dataclass(frozen=True, slots=True)
class App:
    """All parts of one running program; what only some commands need is made when it is first asked for."""

    settings: Settings
    discovery: Discovery
    redact: Redactor
    clock: Clock
    audit: "AuditTrail"
    registry: Registry
    profiles: Callable[[], "Profiles"]
    outbox: "Outbox"
    messenger: "Messenger"
    keys: "IdempotencyKeys"
    database: "Database"
    presence: Callable[[], "Presence"]
    runs: Callable[[], "Runs"]
    inbox_store: Callable[[], "InboxStore"]
    triggers: Callable[[], "Triggers"]


class Storage(NamedTuple):
    """Where the queue and what belongs to it are kept, and the database of everything else."""

    store: "DeliveryStore"
    keys: "IdempotencyKeys"
    database: "Database"


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
    from tocsin.messaging.outbound.profiles import FILE_NAME, Profiles

    registry = Registry(discovery.classes, settings, _no_tools)
    return Profiles(settings.data_dir / FILE_NAME, registry.known_kind)


def checked_profiles(app: "App") -> "Profiles":
    """Return the notification profiles, each target checked as a send would; nothing is sent."""
    from tocsin.messaging.outbound.profiles import FILE_NAME, Profiles

    def check(channel: str, target: str) -> None:
        app.outbox.prepare(channel, target, "a text", "cli")

    return Profiles(app.settings.data_dir / FILE_NAME, app.registry.known_kind, check)


def assemble(
    settings: Settings, discovery: Discovery, tools: Callable[[], Tools], storage: Storage, clock: Clock | None = None
) -> App:
    """Put the parts together; nothing is opened, started or sent."""
    # Listing channels needs none of these, and they take as long to import as everything else.
    from tocsin.core.audit.log import AuditLog
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.outbox import Outbox

    redact = Redactor(settings.secrets())
    path = settings.data_dir / "audit.log"
    audit = AuditTrail(AuditLog(path, redact=redact) if settings[AUDIT_REDACT] else AuditLog(path))
    clock = clock or SystemClock()
    registry = Registry(discovery.classes, settings, cache(tools))
    profiles = cache(lambda: read_profiles(settings, discovery))  # reading YAML takes as long as sending
    outbox = Outbox(storage.store, registry, audit, clock)
    messenger = Messenger(registry, profiles, audit, outbox)
    parts = (settings, discovery, redact, clock, audit, registry, profiles, outbox, messenger, storage.keys)
    presence = cache(lambda: _presence(storage.database, clock))
    runs = cache(lambda: _runs(settings, clock, redact, storage.database, presence()))
    inbox_store = cache(lambda: _inbox_store(storage.database, clock))
    return App(*parts, storage.database, presence, runs, inbox_store, cache(lambda: _triggers(settings)))


def _presence(database: "Database", clock: Clock) -> "Presence":
    from tocsin.core.process.presence import Presence

    return Presence(database, clock)


def _runs(settings: Settings, clock: Clock, redact: Redactor, database: "Database", presence: "Presence") -> "Runs":
    from tocsin.runs.service import Runs
    from tocsin.runs.store import RunStore

    return Runs(RunStore(database), settings.data_dir / RUNS_FOLDER, clock, presence, redact=redact)


def _triggers(settings: Settings) -> "Triggers":
    from tocsin.features.triggers.rules import FILE_NAME, Triggers

    return Triggers(settings.data_dir / FILE_NAME)


def _inbox_store(database: "Database", clock: Clock) -> "InboxStore":
    from tocsin.messaging.inbound.store import InboxStore

    return InboxStore(database, clock)


@asynccontextmanager
async def open_app(settings: Settings, discovery: Discovery, transport: Callable[[], Transport]) -> AsyncIterator[App]:
    """Assemble the program and close its parts, in reverse order, at the end."""
    async with AsyncExitStack() as stack:

        def tools() -> Tools:
            http = transport()
            stack.push_async_callback(http.aclose)
            return Tools(http, SystemClock(), Redactor(settings.secrets()), settings[MAX_PARTS])

        app = assemble(settings, discovery, tools, await open_storage(settings, stack))
        stack.callback(app.audit.log.close)
        stack.push_async_callback(app.messenger.aclose)

        @cache
        def runs() -> "Runs":
            made = app.runs()
            stack.push_async_callback(app.presence().leave)
            stack.push_async_callback(made.aclose)
            return made

        yield replace(app, runs=runs)


async def open_storage(settings: Settings, stack: AsyncExitStack) -> Storage:
    """Open the queue where the settings keep it, and the database; have them closed with the program."""
    from tocsin.core.storage.database import Database

    clock = SystemClock()
    database = Database(settings.data_dir / DATABASE_FILE, schemas)
    stack.push_async_callback(database.aclose)
    if settings[DELIVERY_BACKEND] == "redis":
        if not settings[REDIS_URL]:
            raise ConfigError("DELIVERY_BACKEND=redis needs a Redis, but REDIS_URL is off", hint="set REDIS_URL")
        from tocsin.core.storage.redis_client import open_redis
        from tocsin.delivery.redis.store import RedisStore
        from tocsin.messaging.outbound.redis_idempotency import RedisKeys

        client = open_redis(settings[REDIS_URL])
        stack.push_async_callback(client.aclose)
        return Storage(RedisStore(client, clock), RedisKeys(client), database)
    from tocsin.delivery.sqlite.store import SqliteStore
    from tocsin.messaging.outbound.idempotency import SqliteKeys

    return Storage(SqliteStore(database, clock), SqliteKeys(database, clock), database)


def schemas() -> dict[str, Sequence[str]]:
    """Return the tables of every component; these modules hold nothing but text, because every send reads them."""
    from tocsin.bot import schema as bot_schema
    from tocsin.core.process import presence
    from tocsin.delivery.sqlite import schema as sqlite_schema
    from tocsin.messaging.inbound import schema as inbox_schema
    from tocsin.messaging.outbound import idempotency
    from tocsin.runs import schema as runs_schema

    return {
        "delivery": sqlite_schema.MIGRATIONS,
        "idempotency": idempotency.MIGRATIONS,
        "inbox": inbox_schema.MIGRATIONS,
        "presence": presence.MIGRATIONS,
        "runs": runs_schema.MIGRATIONS,
        **bot_schema.SCHEMAS,
    }


def direct_transport() -> Transport:
    """Return the transport of the program; made inside a running event loop."""
    # A command that only lists does not pay for asyncio.
    from tocsin.core.http.direct import DirectTransport

    return DirectTransport()


def skills_of(app: App) -> "Skills":
    """Return the skills of the data directory."""
    from tocsin.core.process.identity import own_identity
    from tocsin.core.process.sandbox import Sandbox
    from tocsin.features.skills.service import Skills
    from tocsin.features.skills.snapshot import Workplace
    from tocsin.features.skills.store import SkillFolder

    data_dir = app.settings.data_dir
    return Skills(
        SkillFolder(data_dir / SKILLS_FOLDER),
        app.runs(),
        Sandbox(),
        app.audit,
        environment=app.settings.inheritable(),
        secrets=app.settings.secrets(),
        workplace=Workplace(data_dir / SNAPSHOTS_FOLDER, data_dir / SCRATCH_FOLDER, own_identity()),
    )


def publisher_of(app: App) -> "Publisher":
    """Return what publishes to the bus and queues what comes off it."""
    from tocsin.core.storage.redis_client import open_redis
    from tocsin.messaging.outbound.publisher import Publisher

    url = app.settings[REDIS_URL]
    return Publisher(app.outbox, (lambda: open_redis(url)) if url else None)
