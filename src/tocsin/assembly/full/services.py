"""Composes and runs the services, and stops them in order."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tocsin.assembly.full.access import open_tokens
from tocsin.assembly.full.front import FrontDoorWork, front_door_service
from tocsin.assembly.full.metrics import stored_metrics
from tocsin.assembly.full.notices import CoreNotices
from tocsin.assembly.full.receiving import open_buttons, open_receiving
from tocsin.assembly.full.sqlite_receiving import left_in_database
from tocsin.assembly.migration.movable_runs import move_under_lease
from tocsin.assembly.program import App, Monitoring
from tocsin.assembly.storage import LEFT_FIX, give_back, is_redis_there
from tocsin.core.config.core_variables import (
    AUDIT_ANCHOR,
    AUDIT_ANCHOR_EVERY,
    DASHBOARD_HOST,
    DASHBOARD_PORT,
    DELIVERY_KEEP_DAYS,
    DELIVERY_WORKERS,
    FILES_KEEP_DAYS,
    GATEWAY_HOST,
    GATEWAY_PORT,
    REDIS_URL,
    RUNS_KEEP_FAILED,
    STORE,
    TRUSTED_PROXIES,
)
from tocsin.core.config.security import check_dashboard_bind, check_gateway_bind, dashboard_tls, missing_dashboard_login
from tocsin.core.errors import ConfigError, MissingSettingError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.service import ServiceLoop
from tocsin.core.service_notifier import ServiceNotifier
from tocsin.core.tasks import FirstErrorGroup
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.bus.bus import Bus
from tocsin.delivery.bus.entry import named_files
from tocsin.delivery.bus.late_bus import LateBus
from tocsin.delivery.dispatcher import Dispatcher
from tocsin.messaging.outbound.audit_anchor import AuditAnchor
from tocsin.messaging.outbound.channel_watch import ChannelWatch, report_troubles
from tocsin.messaging.outbound.publisher import Publisher
from tocsin.runs.engine.active_run import RunsDrain
from tocsin.runs.engine.run_engine import RunEngine
from tocsin.runs.engine.settling import DeliveryFollower
from tocsin.runs.sqlite.records import SqliteRunRecords
from tocsin.scheduling.lease import MOVE_RUNS, Lease
from tocsin.web.gateway.app import GatewayDependencies, StateReports, build_gateway
from tocsin.web.http.metrics import Metrics
from tocsin.web.http.serving import Service
from tocsin.web.http.serving import serve as run_services

if TYPE_CHECKING:
    from tocsin.assembly.full.receiving import Receiving
    from tocsin.web.dashboard.live.hub import EventHub

log = logging.getLogger(__name__)

DASHBOARD_ALONE = frozenset({"dashboard", "scheduler"})
TIDY_EVERY_S = 2.0
ANCHOR_EVERY_S = 10.0
RECOVER_EVERY_S = 10.0
PRUNE_EVERY_S = 3600.0


def monitor(parts: frozenset[str]) -> Monitoring:
    """Return the observers of the sends of a process that runs these services."""
    watch = ChannelWatch(SystemClock())
    if not parts & {"gateway", "dashboard"}:
        return Monitoring(watch)
    return Monitoring(watch, Metrics())


async def serve(
    app: App,
    parts: frozenset[str],
    ready: Callable[[Mapping[str, str]], None],
    *,
    reload: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run the named services until a signal asks to stop; refuses an open gateway off loopback.

    SIGHUP calls `reload`; without it, SIGHUP asks to stop. Every process that serves works on the inbox, and on the
    queue unless `DELIVERY_WORKERS` is 0.
    """
    if not parts and not app.settings[DELIVERY_WORKERS]:
        raise ConfigError("a worker with DELIVERY_WORKERS=0 would be idle", hint="set it to 1 or more")
    await _tell_queue_problems(app)
    await _recover_runs(app)
    async with FirstErrorGroup() as group:
        receiving = await open_receiving(app, fetch="bot" in parts)
        bus = _bus(app, receiving)
        if "bot" in parts and receiving.source is None:
            _tell_that_the_bot_is_off(app, needed=parts == {"bot"})
        front_door = FrontDoorWork(app) if "gateway" in parts else None
        services = [_gateway(app, receiving, bus), front_door_service(app, front_door)] if front_door else []
        hub, dashboard = None, None
        if "dashboard" in parts:
            hub, dashboard = _dashboard(app, receiving, needed=parts == DASHBOARD_ALONE)
        services += [dashboard] if dashboard else []
        # In the order in which they stop: nothing new comes in, then what is here is worked off, then sent.
        of_features = app.features.services()
        of_features += [*(app.features.schedulers() if "scheduler" in parts else ()), run_engine(app)]
        runs = RunsDrain(lambda: app.runs().at_work(), app.clock, lambda: app.runs().release_waiting())
        working = (bus, receiving.source, hub, front_door, *of_features, runs, receiving.inbox, _dispatcher(app))
        running = [part for part in working if part]
        for part in running:
            group.create_task(part.run())

        def stop() -> None:
            for part in running:
                part.stop()

        beside = [
            group.create_task(_run_maintenance(app)),
            group.create_task(CoreNotices(app, keeps=bool(parts & DASHBOARD_ALONE)).loop.run()),
            group.create_task(_anchor_audit_log(app)),
            group.create_task(receiving.introduce()),
            group.create_task(app.features.start()),
            # Where there is no bot, few questions are asked, and the clients take 65 MiB: the first one loads them.
            *([group.create_task(app.models().load())] if receiving.bot else []),
        ]
        try:
            # At the signal, and not when the last request has ended: all have the same 5 s to finish.
            notifier = ServiceNotifier.of(app.settings)
            await run_services(services, ready=ready, stopping=stop, reload=reload, notifier=notifier)
        finally:
            for task in beside:
                task.cancel()
            stop()


def _gateway(app: App, receiving: "Receiving", bus: "LateBus | None") -> "Service":
    host = app.settings[GATEWAY_HOST]
    for warning in check_gateway_bind(app.settings, host):
        log.warning(warning)

    def bus_state() -> str:
        return "off" if bus is None else bus.state

    def parts(draining: Callable[[], bool]) -> GatewayDependencies:
        troubles = partial(report_troubles, app.monitoring.watch)
        reports = StateReports(bus=bus_state, draining=draining, troubles=troubles, bot=receiving.state)
        return GatewayDependencies(
            settings=app.settings,
            clock=app.clock,
            audit=app.audit,
            registry=app.registry,
            messenger=app.messenger,
            outbox=app.outbox,
            keys=app.stores.keys,
            files=app.files,
            limiter=app.stores.limiter,
            inbox=receiving.inbox,
            buttons=open_buttons(app),
            tokens=open_tokens(app),
            metrics=app.monitoring.metrics or Metrics(),
            stored_metrics=stored_metrics(app),
            reports=reports,
            features=app.features.gateway_routes(),
        )

    return Service(
        "gateway",
        host,
        app.settings[GATEWAY_PORT],
        GATEWAY_PORT.name,
        lambda draining: build_gateway(parts(draining)),
        app.settings[TRUSTED_PROXIES],
    )


def _dashboard(app: App, receiving: "Receiving", *, needed: bool) -> "tuple[EventHub | None, Service | None]":
    """Return the event hub of open pages and the dashboard; neither if no login is configured.

    With `needed`, the dashboard is served even so, and shows what is missing.
    """
    from tocsin.assembly.full.dashboard import open_dashboard

    missing, host = missing_dashboard_login(app.settings), app.settings[DASHBOARD_HOST]
    if missing and not needed:
        log.info("the dashboard is disabled", extra={"missing": missing})
        return None, None
    for warning in check_dashboard_bind(app.settings, host):
        log.warning(warning)
    hub, make_dashboard = open_dashboard(app, receiving.inbox)
    service = Service(
        "dashboard",
        host,
        app.settings[DASHBOARD_PORT],
        DASHBOARD_PORT.name,
        make_dashboard,
        app.settings[TRUSTED_PROXIES],
        tls=dashboard_tls(app.settings),
    )
    return hub, service


def _tell_that_the_bot_is_off(app: App, *, needed: bool) -> None:
    missing = ", ".join(app.registry.bot_channel().missing)
    if needed:
        raise MissingSettingError("the bot cannot run", hint=f"set {missing}")
    log.info("the bot is disabled", extra={"missing": missing})


def run_engine(app: App) -> RunEngine:
    """Return the engine that settles and continues the runs of dead processes."""
    follower = DeliveryFollower(app.stores.runs(), app.output)
    return RunEngine(app.runs(), app.run_settler(), follower, app.clock, are_kept=app.may_have_runs)


async def take_runs_out_of_database(app: App) -> None:
    """Move runs that an earlier version kept in the database to Redis, before any of them is continued."""
    if app.settings[STORE] == "redis" and app.database.path.exists():
        lease = Lease(app.database, MOVE_RUNS, app.clock)
        await move_under_lease(SqliteRunRecords(app.database), app.stores.runs().records, lease, app.clock)


async def _recover_runs(app: App) -> None:
    if not app.may_have_runs():
        return
    try:
        await take_runs_out_of_database(app)
        await app.runs().recover()
    except TocsinError as error:
        log.warning("runs of dead processes are not recovered", extra={"reason": error.sentence()})


async def _tell_queue_problems(app: App) -> None:
    for problem in (await app.outbox.store.health()).problems:
        log.warning("the queue is unreliable", extra={"reason": problem})
    if app.settings[STORE] == "redis" and app.database.path.exists() and (left := await left_in_database(app.database)):
        log.warning("messages were left unprocessed", extra={"reason": left, "fix": LEFT_FIX})


def _dispatcher(app: App) -> "Dispatcher | None":
    slots = app.settings[DELIVERY_WORKERS]
    if not slots:
        return None

    outbox = app.outbox
    dispatcher = Dispatcher(outbox.store, app.registry, app.clock, slots=slots, on_attempt=outbox.record_attempt)
    app.outbox.on_queued(dispatcher.wake)
    return dispatcher


def _bus(app: App, receiving: "Receiving") -> "LateBus | None":
    """Return the bus, which starts as soon as the configured or the default Redis is reachable."""
    from socket import gethostname

    if not app.settings[REDIS_URL]:
        return None

    def make() -> Bus:
        client = app.redis()
        receiving.use_redis()
        publisher = Publisher(app.outbox, app.redis)
        worker = f"{gethostname()}:{new_id()}"
        names, take_files = app.registry.configured_names, app.files().take
        return Bus(client, worker, names, publisher.prepare, publisher.enqueue, take_files=take_files)

    return LateBus(lambda: is_redis_there(app.settings), make, app.clock)


async def _anchor_audit_log(app: App) -> None:
    """Send the end of the audit chain to AUDIT_ANCHOR at intervals, if it is set."""
    destination, every = app.settings[AUDIT_ANCHOR], app.settings[AUDIT_ANCHOR_EVERY]
    if not destination:
        return
    anchor = AuditAnchor(destination, every, app.audit.log, app.outbox)

    async def step() -> float:
        await anchor.note_if_due()
        return ANCHOR_EVERY_S

    await ServiceLoop("the audit anchor", step, app.clock).run()


async def _run_maintenance(app: App) -> None:
    """Tidy the queue, end the runs of dead processes, and prune old records once an hour."""
    store, prune_at, recover_at = app.outbox.store, 0.0, 0.0

    async def step() -> float:
        nonlocal prune_at, recover_at
        try:
            await store.tidy()
        except TocsinError:  # every part that needs the queue reports that it is away
            return TIDY_EVERY_S
        if app.clock.monotonic() >= recover_at:
            if app.may_have_runs():
                await take_runs_out_of_database(app)  # Redis may have been down at the start
                await app.runs().recover()
            recover_at = app.clock.monotonic() + RECOVER_EVERY_S
        if app.clock.monotonic() >= prune_at:
            await app.stores.inbox().prune()
            await app.presence().prune()
            if app.may_have_runs():
                await app.runs().prune(keep_failed=app.settings[RUNS_KEEP_FAILED])
            if app.database.path.exists():
                await app.features.each_hour()
            await store.prune(app.clock.now() - app.settings[DELIVERY_KEEP_DAYS] * 86400)
            await _prune_files(app)
            if app.database.path.exists():
                await give_back(app.database)
            prune_at = app.clock.monotonic() + PRUNE_EVERY_S
        return TIDY_EVERY_S

    await ServiceLoop("the maintenance", step, app.clock, back_off_s=(TIDY_EVERY_S,)).run()


async def _prune_files(app: App) -> None:
    """Remove the files that no delivery needs any more, and no message on the bus."""
    since = app.clock.now() - app.settings[FILES_KEEP_DAYS] * 86400
    waiting = await app.features.needed_files()  # first: they may become files of deliveries meanwhile
    if app.settings[REDIS_URL] and await app.files().store().hashes():
        try:
            waiting |= await named_files(app.redis())
        except TocsinError:  # what waits there is unknown; the bus reports that it is away
            return
    await app.files().store().prune(waiting | await app.outbox.store.needed_files(since))
