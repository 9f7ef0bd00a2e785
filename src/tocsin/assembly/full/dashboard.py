"""Composes the dashboard from the operations of the core and of features, behind one authentication layer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from tocsin.assembly.full.access import make_guard, open_sign_ins, open_tokens
from tocsin.assembly.full.bot import open_access
from tocsin.assembly.full.live import event_hub
from tocsin.assembly.full.metrics import stored_metrics
from tocsin.assembly.full.receiving import MODELS_FOLDER, open_buttons, open_inbox
from tocsin.assembly.profiles import checked_profiles
from tocsin.assembly.program import App
from tocsin.assembly.runs import open_run_control
from tocsin.assembly.status import status_report
from tocsin.assembly.storage import is_redis_there, redis_trouble
from tocsin.assembly.subsystems import feature_subsystems
from tocsin.bot.door.access import Change, Listed
from tocsin.bot.door.operations import AccessRoutes
from tocsin.core.audit.chain import Verification
from tocsin.core.config.core_variables import AUDIT_ANCHOR, AUDIT_KEEP_DAYS, CHAT_PROVIDER, REDIS_URL
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.delivery.files.store import FileGoneError
from tocsin.features.context import SubsystemState
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.model import Backlog
from tocsin.messaging.inbound.presses.session import SessionPresses
from tocsin.messaging.outbound.audit_anchor import load_anchors, retention_start
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.channel_watch import report_troubles
from tocsin.providers.endpoint import product_name
from tocsin.providers.files.reading import read_in_child
from tocsin.providers.files.speech import Speech
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.event_stream import LiveUpdates
from tocsin.rest.operations import Operations
from tocsin.scheduling.zones import default_zone
from tocsin.status.model import StatusReport
from tocsin.web.access.first_steps import FirstStepMarks
from tocsin.web.access.layers import LocalCaller
from tocsin.web.dashboard.app import DashboardDependencies, build_dashboard, build_document
from tocsin.web.dashboard.live.hub import EventHub
from tocsin.web.dashboard.operations.audit import AuditRoutes
from tocsin.web.dashboard.operations.channel_settings import ChannelSettingsRoutes
from tocsin.web.dashboard.operations.deliveries import DeliveryOperations
from tocsin.web.dashboard.operations.first_steps import FirstStepsRoutes
from tocsin.web.dashboard.operations.health import HealthReports, HealthRoutes
from tocsin.web.dashboard.operations.login import LoginRoutes
from tocsin.web.dashboard.operations.messaging import MessagingDependencies, MessagingRoutes, last_tests
from tocsin.web.dashboard.operations.runs import RunRoutes
from tocsin.web.dashboard.operations.settings import (
    Integration,
    IntegrationCheck,
    SettingsDependencies,
    SettingsRoutes,
)
from tocsin.web.dashboard.operations.stream import StreamRoutes
from tocsin.web.dashboard.operations.tokens import TokenRoutes
from tocsin.web.http.metrics import Metrics, MetricsReport
from tocsin.web.ui.manifest import feature_pages
from tocsin.web.ui.static import ui_routes

_SET_UP = frozenset({SubsystemState.OK, SubsystemState.DEGRADED, SubsystemState.ERROR})


def create_dashboard(
    app: App,
    draining: Callable[[], bool],
    guard: Callable[[Any], Any] | None = None,
    live: LiveUpdates | None = None,
    inbox: Inbox | None = None,
) -> Any:
    """Return the dashboard as an ASGI application; tests may pass their own authentication as `guard`.

    `live` is the event hub (`full/live.py`), which runs as a service; without it, open pages receive no events.
    `inbox` is the one of this process; without it, another process handles a press.
    """
    return build_dashboard(_parts(app, draining, guard, live, inbox))


def local_dashboard(app: App, token: str, scopes: frozenset[str]) -> Any:
    """Return the dashboard for one local program; see `Program.run_with_dashboard`."""
    return create_dashboard(app, lambda: False, lambda inner: LocalCaller(inner, open_tokens(app), token, scopes))


def open_dashboard(app: App, inbox: Inbox) -> tuple[EventHub, Callable[[Callable[[], bool]], Any]]:
    """Return the event hub, which runs as a service, and the function that makes the dashboard for its pages."""
    hub = event_hub(app)
    return hub, lambda draining: create_dashboard(app, draining, live=hub, inbox=inbox)


def dashboard_document(app: App) -> dict[str, Any]:
    return build_document(_parts(app, lambda: False, None, None))


def _parts(
    app: App,
    draining: Callable[[], bool],
    guard: Callable[[Any], Any] | None,
    live: LiveUpdates | None,
    inbox: Inbox | None = None,
) -> DashboardDependencies:
    live, sign_ins, metrics = live or event_hub(app), open_sign_ins(app), _metrics(app)
    return DashboardDependencies(
        settings=app.settings,
        clock=app.clock,
        keys=app.stores.keys,
        files=app.files,
        limiter=app.stores.limiter,
        guard=guard or make_guard(app, sign_ins),
        live=live,
        run_of=lambda run_id: app.runs().get(run_id),
        count_request=metrics.metrics.count_request,
        operations=[
            _health(app, draining, metrics),
            *_core_operations(app, live, lambda: inbox or open_inbox(app, ())),
            Operations("login", LoginRoutes(sign_ins)),
            Operations("settings", FirstStepsRoutes(app.settings, sign_ins, FirstStepMarks(app.database), app.audit)),
            *app.features.dashboard_routes(),
        ],
        pages=ui_routes(app.installed.features),
    )


def _metrics(app: App) -> MetricsReport:
    async def backlog() -> Backlog | None:
        try:
            return await app.stores.inbox().backlog()
        except TocsinError:  # health tells it
            return None

    return MetricsReport(
        metrics=app.monitoring.metrics or Metrics(),
        registry=app.registry,
        queue=app.outbox.store,
        backlog=backlog,
        troubles=partial(report_troubles, app.monitoring.watch),
        clock=app.clock,
        stored=stored_metrics(app),
    )


def _core_operations(app: App, live: LiveUpdates, inbox: Callable[[], Inbox]) -> list[Operations]:
    presses = SessionPresses(app.registry, open_buttons(app), inbox, app.audit, app.clock)
    deliveries = DeliveryOperations(app.outbox, app.registry, app.messenger, app.files, presses)
    return [
        Operations("runs", RunRoutes(app.runs, lambda: open_run_control(app), app.features.run_kinds)),
        _messaging(app),
        Operations("deliveries", deliveries, {FileGoneError: "not-found"}),
        Operations("audit", AuditRoutes(app.audit, lambda: _verify(app))),
        _settings(app),
        Operations("settings", ChannelSettingsRoutes(app.registry, app.audit)),
        Operations("access", AccessRoutes(AccessAdmin(app))),
        Operations("tokens", TokenRoutes(open_tokens(app))),
        Operations("live", StreamRoutes(live)),
    ]


def _health(app: App, draining: Callable[[], bool], metrics: MetricsReport) -> Operations:
    started = app.clock.monotonic()

    async def status() -> StatusReport:
        return await status_report(app, uptime_s=app.clock.monotonic() - started)

    async def ready() -> dict[str, bool]:
        return {"audit": not await app.audit.check(), "queue": await _is_queue_fine(app)}

    reports = HealthReports(status=status, ready=ready, draining=draining, metrics=metrics, clock=app.clock)
    return Operations("health", HealthRoutes(reports))


async def _is_queue_fine(app: App) -> bool:
    try:
        return (await app.outbox.store.health()).ok
    except TocsinError:
        return False


def _messaging(app: App) -> Operations:
    parts = MessagingDependencies(
        settings=app.settings,
        clock=app.clock,
        audit=app.audit,
        registry=app.registry,
        messenger=app.messenger,
        outbox=app.outbox,
        files=app.files,
        profiles=lambda: checked_profiles(app),
        profile_uses=app.features.profile_uses,
    )
    return Operations("messaging", MessagingRoutes(parts))


def _settings(app: App) -> Operations:
    parts = SettingsDependencies(
        settings=lambda: app.registry.settings,
        clock=app.clock,
        timezone=default_zone(app.settings),
        integrations=lambda: _list_integrations(app),
    )
    return Operations("settings", SettingsRoutes(parts))


def _verify(app: App) -> Verification:
    """Verify the chain of the audit log against the anchors."""
    from dataclasses import replace

    noted, unread = load_anchors(app.settings.data_dir, app.settings[AUDIT_ANCHOR])
    found = app.audit.log.verify(
        keep_since=retention_start(app.settings[AUDIT_KEEP_DAYS], app.clock.now()), anchors=noted
    )
    return replace(found, problems=(*found.problems, *unread))


class AccessAdmin:
    """Lists and changes the access of chats to the bot."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def listing(self) -> Sequence[Listed]:
        access, _ = open_access(self._app, Caller(DASHBOARD.name), self._app.stores.bot().access)
        return await access.listing()

    async def change(self, what: str, chat_id: str, caller: Caller) -> Change:
        access, channel = open_access(self._app, caller, self._app.stores.bot().access)
        try:
            known = channel.variables.admin.parse(chat_id)
        except ValueError as error:
            raise ConfigError(f"invalid chat ID: it must be {error}") from None
        changes = {"approve": access.approve, "deny": access.deny, "remove": access.remove}
        return await changes[what](known, caller)


async def _list_integrations(app: App) -> Sequence[Integration]:
    """Return all integrations; their checks neither cost money nor send anything."""
    redis = await is_redis_there(app.settings)
    tests = await asyncio.to_thread(lambda: last_tests(app.audit.log.newest()))
    known = {channel: IntegrationCheck(parse_timestamp(test["at"]), test["error"]) for channel, test in tests.items()}
    channels = [
        Integration(
            id=state.spec.kind,
            name=state.spec.label,
            kind="channel",
            missing=state.missing,
            enabled=state.available,
            docs=f"docs/channels/{state.spec.kind}.md",
            probe=partial(_channel_trouble, app, state.spec.kind),
            known=known.get(state.spec.kind),
        )
        for state in app.registry.states()
    ]
    provider = app.settings[CHAT_PROVIDER]
    chat = Integration(
        id=provider or "chat",
        name=product_name(provider) if provider else "Chat model",
        kind="chat_provider",
        missing=() if provider else (CHAT_PROVIDER.name,),
        docs="docs/bot.md",
    )
    sessions = Integration(
        id="redis",
        name="Redis",
        kind="session_store",
        enabled=bool(app.settings[REDIS_URL]),
        is_set_up=redis,
        note="" if redis or not app.settings[REDIS_URL] else "no Redis at the default address",
        docs="docs/delivery.md",
        check=_asks_redis(app),
    )
    return [*channels, chat, sessions, *await _of_features(app), _speech(app)]


async def _channel_trouble(app: App, kind: str) -> str:
    """Return what is wrong with the credentials of a channel."""
    try:
        return (await app.registry.adapter(kind).test_connection()).error
    except TocsinError as error:
        return error.sentence()


def _asks_redis(app: App) -> Callable[[], Awaitable[str]]:
    async def check() -> str:
        return await redis_trouble(app.settings, app.redis) or ""

    return check


async def _of_features(app: App) -> list[Integration]:
    found = await feature_subsystems(app.features)
    shown = []
    for feature, page, *_ in feature_pages(app.installed.features):
        if not page.integration:
            continue
        told = found.get(page.subsystem, [])
        set_up = any(status.status in _SET_UP for status in told)
        wrong = "; ".join(status.summary for status in told if status.status is SubsystemState.ERROR)
        shown.append(
            Integration(
                id=page.subsystem,
                name=page.integration,
                kind=page.subsystem,
                enabled=bool(told),
                is_set_up=set_up,
                docs=f"docs/{feature.page}",
                check=_tells(wrong),
            )
        )
    return shown


def _tells(problem: str) -> Callable[[], Awaitable[str]]:
    async def check() -> str:
        return problem

    return check


def _speech(app: App) -> Integration:
    try:
        problem = Speech(app.settings.data_dir / MODELS_FOLDER, read_in_child).problem()
    except TocsinError as error:
        problem = error.sentence()
    ready, docs = not problem, "docs/bot.md"
    return Integration(id="speech", name="Speech to text", kind="speech", is_set_up=ready, note=problem, docs=docs)
