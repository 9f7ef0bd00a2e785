"""The composition root: the only place where parts are put together."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.channels.contract import Tools
from tocsin.channels.registry import ChannelState, Discovery, Registry, discover
from tocsin.core.clock import Clock, SystemClock
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.http import Transport
from tocsin.core.redaction import Redactor
from tocsin.core.security import check_gateway_bind
from tocsin.core.settings import Settings
from tocsin.core.variables import (
    AUDIT_REDACT,
    DELIVERY_BACKEND,
    DELIVERY_KEEP_DAYS,
    DELIVERY_WORKERS,
    GATEWAY_HOST,
    GATEWAY_PORT,
    REDIS_URL,
)

if TYPE_CHECKING:
    from tocsin.core.audit_trail import AuditTrail
    from tocsin.delivery.bus import Bus
    from tocsin.delivery.dispatcher import Dispatcher
    from tocsin.delivery.store import DeliveryStore
    from tocsin.messaging.idempotency import Keys
    from tocsin.messaging.messenger import Messenger
    from tocsin.messaging.outbox import Outbox
    from tocsin.messaging.profiles import Profiles
    from tocsin.messaging.publisher import Publisher
    from tocsin.web.serving import Service


DATABASE_FILE = "tocsin.db"
TIDY_EVERY_S = 2.0
PRUNE_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True)
class App:
    """All parts of one running program."""

    settings: Settings
    discovery: Discovery
    redact: Redactor
    clock: Clock
    audit: "AuditTrail"
    registry: Registry
    profiles: Callable[[], "Profiles"]
    outbox: "Outbox"
    messenger: "Messenger"
    keys: "Keys"


class Storage(NamedTuple):
    """Where the queue and what belongs to it are kept."""

    store: "DeliveryStore"
    keys: "Keys"


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
    from tocsin.messaging.profiles import FILE_NAME, Profiles

    registry = Registry(discovery.classes, settings, _no_tools)
    return Profiles(settings.data_dir / FILE_NAME, registry.kind_of, registry.kinds())


def assemble(settings: Settings, discovery: Discovery, tools: Callable[[], Tools], storage: Storage) -> App:
    """Put the parts together; nothing is opened, started or sent."""
    # Listing channels needs none of these, and they take as long to import as everything else.
    from tocsin.core.audit import AuditLog
    from tocsin.core.audit_trail import AuditTrail
    from tocsin.messaging.messenger import Messenger
    from tocsin.messaging.outbox import Outbox

    redact = Redactor(settings.secrets())
    path = settings.data_dir / "audit.log"
    audit = AuditTrail(AuditLog(path, redact=redact) if settings[AUDIT_REDACT] else AuditLog(path))
    clock = SystemClock()
    registry = Registry(discovery.classes, settings, cache(tools))
    profiles = cache(lambda: read_profiles(settings, discovery))  # reading YAML takes as long as sending
    outbox = Outbox(storage.store, registry, audit, clock)
    messenger = Messenger(registry, profiles, audit, outbox)
    return App(settings, discovery, redact, clock, audit, registry, profiles, outbox, messenger, storage.keys)


@asynccontextmanager
async def open_app(settings: Settings, discovery: Discovery, transport: Callable[[], Transport]) -> AsyncIterator[App]:
    """Assemble the program and close its parts, in reverse order, at the end."""
    async with AsyncExitStack() as stack:

        def tools() -> Tools:
            http = transport()
            stack.push_async_callback(http.aclose)
            return Tools(http, SystemClock(), Redactor(settings.secrets()))

        app = assemble(settings, discovery, tools, await open_storage(settings, stack))
        stack.callback(app.audit.log.close)
        yield app


async def open_storage(settings: Settings, stack: AsyncExitStack) -> Storage:
    """Open the queue where the settings keep it, and have it closed with the program."""
    if settings[DELIVERY_BACKEND] == "redis":
        if not settings[REDIS_URL]:
            raise ConfigError("DELIVERY_BACKEND=redis needs a Redis, but REDIS_URL is off", hint="set REDIS_URL")
        from tocsin.core.redis_client import open_redis
        from tocsin.delivery.redis_store import RedisStore
        from tocsin.messaging.redis_idempotency import RedisKeys

        client = open_redis(settings[REDIS_URL])
        stack.push_async_callback(client.aclose)
        return Storage(RedisStore(client, SystemClock()), RedisKeys(client))
    from tocsin.core.database import Database
    from tocsin.core.database_lazy import LazyDatabase
    from tocsin.delivery import sqlite_schema
    from tocsin.delivery.sqlite_store import SqliteStore
    from tocsin.messaging import idempotency

    schemas = {"delivery": sqlite_schema.MIGRATIONS, "idempotency": idempotency.MIGRATIONS}
    database = LazyDatabase(lambda: Database(settings.data_dir / DATABASE_FILE, schemas))
    stack.push_async_callback(database.aclose)
    return Storage(SqliteStore(database, SystemClock()), idempotency.SqliteKeys(database, SystemClock()))


def direct_transport() -> Transport:
    """Return the transport of the program; made inside a running event loop."""
    # A command that only lists does not pay for asyncio.
    from tocsin.core.http_direct import DirectTransport

    return DirectTransport()


async def serve(app: App, parts: frozenset[str], ready: Callable[[Sequence[str]], None]) -> None:
    """Run the named services until a signal asks to stop; refuses an open gateway off loopback.

    Every process that serves works on the queue, unless `DELIVERY_WORKERS` is 0.
    """
    import asyncio

    from tocsin.web.serving import serve as run_services

    if not parts and not app.settings[DELIVERY_WORKERS]:
        raise ConfigError("a worker with DELIVERY_WORKERS=0 has nothing to do", hint="set it to 1 or more")
    await _tell_queue_problems(app)
    dispatcher = _dispatcher(app)
    try:
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            bus = await _bus(app, stack)
            services = [_gateway(app, bus)] if "gateway" in parts else []
            if dispatcher:
                group.create_task(dispatcher.run())
            if bus:
                group.create_task(bus.run())
            keeper = group.create_task(_keep_house(app))
            try:
                await run_services(services, ready=ready)
            finally:
                keeper.cancel()
                if bus:
                    bus.stop()
                if dispatcher:
                    dispatcher.stop()
    except* TocsinError as problems:
        # One sentence for whoever started the program, not a tree of them.
        failure = problems.exceptions[0]
    else:
        return
    raise failure


def _gateway(app: App, bus: "Bus | None") -> "Service":
    from logging import getLogger

    from tocsin.web.gateway import Parts, build_gateway
    from tocsin.web.serving import Service

    host = app.settings[GATEWAY_HOST]
    for warning in check_gateway_bind(app.settings, host):
        getLogger(__name__).warning(warning)

    def bus_state() -> str:
        return "off" if bus is None else "failing" if bus.problem else "ok"

    def parts(draining: Callable[[], bool]) -> Parts:
        handed = (app.settings, app.clock, app.audit, app.registry, app.messenger, app.outbox, app.keys)
        return Parts(*handed, bus_state, draining)

    return Service(
        "the gateway",
        host,
        app.settings[GATEWAY_PORT],
        GATEWAY_PORT.name,
        lambda draining: build_gateway(parts(draining)),
    )


async def _tell_queue_problems(app: App) -> None:
    from logging import getLogger

    for problem in (await app.outbox.store.health()).problems:
        getLogger(__name__).warning("the queue is not safe", extra={"reason": problem})


def _dispatcher(app: App) -> "Dispatcher | None":
    slots = app.settings[DELIVERY_WORKERS]
    if not slots:
        return None
    from tocsin.delivery.dispatcher import Dispatcher

    dispatcher = Dispatcher(app.outbox.store, app.registry, app.clock, slots=slots)
    dispatcher.observe(app.outbox.record_attempt)
    app.outbox.on_queued(dispatcher.wake)
    return dispatcher


def publisher_of(app: App) -> "Publisher":
    """Return what publishes to the bus and queues what comes off it."""
    from tocsin.core.redis_client import open_redis
    from tocsin.messaging.publisher import Publisher

    url = app.settings[REDIS_URL]
    return Publisher(app.outbox, (lambda: open_redis(url)) if url else None)


async def _bus(app: App, stack: AsyncExitStack) -> "Bus | None":
    """Return the bus where Redis was named in the settings, or answers at its usual address."""
    from socket import gethostname

    from tocsin.core.ids import new_id
    from tocsin.core.redis_client import open_redis
    from tocsin.delivery.bus import Bus

    if not app.settings[REDIS_URL]:
        return None
    if REDIS_URL.name not in app.settings.sources and not await _listens(app.settings[REDIS_URL]):
        return None  # nobody said that there is one
    client = open_redis(app.settings[REDIS_URL])
    stack.push_async_callback(client.aclose)
    publisher = publisher_of(app)
    worker = f"{gethostname()}:{new_id()}"
    return Bus(client, worker, app.registry.configured_names, publisher.prepare, publisher.enqueue)


async def _listens(url: str) -> bool:
    """Whether anything accepts connections at the address; loading a client to ask costs 10 MB."""
    import asyncio
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        async with asyncio.timeout(0.5):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def _keep_house(app: App) -> None:
    """Do what the queue puts off, and once an hour forget deliveries that finished long ago."""
    from logging import getLogger

    store, prune_at = app.outbox.store, 0.0
    while True:
        try:
            await store.tidy()
        except TocsinError:  # whatever needs the queue tells that it is away
            await app.clock.sleep(TIDY_EVERY_S)
            continue
        try:
            if app.clock.monotonic() >= prune_at:
                await store.prune(app.clock.now() - app.settings[DELIVERY_KEEP_DAYS] * 86400)
                prune_at = app.clock.monotonic() + PRUNE_EVERY_S
        except TocsinError as error:
            getLogger(__name__).warning("old deliveries are not forgotten", extra={"reason": error.sentence()})
        await app.clock.sleep(TIDY_EVERY_S)
