"""Composes the status from features, the core, the services and the runs."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tocsin import __version__
from tocsin.assembly.program import App
from tocsin.assembly.storage import redis_trouble
from tocsin.assembly.subsystems import feature_subsystems
from tocsin.core.config.core_variables import GATEWAY_HOST, GATEWAY_PORT
from tocsin.core.config.data_dir import directory_id
from tocsin.core.config.security import validate_security
from tocsin.core.errors import TocsinError
from tocsin.core.time.timestamps import duration_words
from tocsin.features.context import AttentionItem, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.contract import Subsystem
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import AT_WORK, FAILING, RunStatus, RunSummary
from tocsin.scheduling.zones import default_zone
from tocsin.status.model import (
    RECENT_RUNS,
    RunCounts,
    ServiceStatus,
    StatusReport,
    by_severity,
    combine,
    linked,
    sort_subsystems,
)
from tocsin.status.services import bot_service, gateway_health, gateway_service, scheduler_service
from tocsin.status.subsystems import DAY_S, audit_status, bus_status, disk_attention, messaging_status

T = TypeVar("T")


async def status_report(app: App, *, uptime_s: float | None = None) -> StatusReport:
    """Check every subsystem and service; a part that cannot be read is an attention item, and the others are shown.

    `uptime_s` is the uptime of the service that calls this.
    """
    redis, unreadable = await redis_trouble(app.settings, app.redis), list[AttentionItem]()
    subsystems, services, runs, unread = await asyncio.gather(
        check_subsystems(app, redis),
        _services(app, redis),
        _unless_unreadable("the runs", _runs(app), unreadable),
        _unless_unreadable("the notifications", app.features.abilities.notices.unread_count(), unreadable),
    )
    counts, recent = runs or (None, ())
    return StatusReport(
        version=__version__,
        checked_at=app.clock.now(),
        timezone=default_zone(app.settings),
        data_dir=str(app.settings.data_dir),
        subsystems=subsystems,
        services=services,
        runs=counts,
        unread_notifications=unread,
        recent_runs=recent,
        attention=by_severity([*unreadable, *list_attention(app, subsystems)]),
        uptime_seconds=None if uptime_s is None else int(uptime_s),
    )


async def _unless_unreadable(what: str, read: Awaitable[T], unreadable: list[AttentionItem]) -> T | None:
    """Return what `read` returns; an error is added to `unreadable` instead."""
    try:
        return await read
    except TocsinError as error:
        unreadable.append(AttentionItem(NoticeLevel.ERROR, f"{what} cannot be read: {error.sentence()}"))
        return None


async def check_subsystems(app: App, redis: str | None) -> dict[str, SubsystemStatus]:
    """Return the subsystems in their order.

    `redis` is the reason why Redis does not respond; empty if it does, None if it is not used.
    """
    found = await feature_subsystems(app.features)
    mistake = await asyncio.to_thread(lambda: app.profiles().problem)
    messaging = await messaging_status(app.registry, app.outbox.store, app.clock.now(), mistake)
    bus = [bus_status(redis)] if redis else []
    found["messaging"] = [messaging, *bus, *found.get("messaging", ())]
    found["audit"] = [await audit_status(app.audit), *found.get("audit", ())]
    known = _known(app)
    checked = {name: linked(combine(found.get(name, ())), each.page) for name, each in known.items()}
    return {name: status for name, status in checked.items() if not known[name].optional or _is_used(status)}


def _is_used(status: SubsystemStatus) -> bool:
    return status.status not in {SubsystemState.UNCONFIGURED, SubsystemState.DISABLED}


def _known(app: App) -> dict[str, Subsystem]:
    return sort_subsystems(each for feature in app.installed.features for each in feature.subsystems)


def list_attention(app: App, subsystems: Mapping[str, SubsystemStatus]) -> list[AttentionItem]:
    """Return the items that need attention, the most urgent first."""
    items = [item for status in subsystems.values() for item in status.attention]
    items += disk_attention(app.settings.data_dir)
    for warning in validate_security(app.settings):
        level = NoticeLevel.ERROR if warning.startswith("DANGER") else NoticeLevel.WARNING
        items.append(AttentionItem(level, warning, "#/settings"))
    return by_severity(items)


async def status_lines(app: App) -> list[str]:
    """Return the lines of the bot's `/status`, without details, because any allowed chat may request them."""
    subsystems = await check_subsystems(app, await redis_trouble(app.settings, app.redis))
    known = _known(app)
    needs = len(list_attention(app, subsystems))
    lines = [f"Needs attention: {needs}; see `tocsin status`"] if needs else []
    for name, status in subsystems.items():
        if status.status is not SubsystemState.DISABLED:
            state = "" if status.status is SubsystemState.OK else f" ({status.status})"
            lines.append(f"{known[name].title}: {status.summary}{state}")
    return [*lines, *await app.features.status_lines()]


async def recent_run_lines(app: App) -> list[str]:
    """Return the lines of the bot's `/runs`, without output, because any allowed chat may request them."""
    runs, now = app.runs(), app.clock.now()
    found = (await runs.search(limit=RECENT_RUNS)).items
    short = await runs.shortened([run.id for run in found])
    return [
        f"{short[run.id]} {run.subject_name} ({run.kind}): {str(run.status).replace('_', ' ')}, "
        f"{duration_words(max(0.0, now - run.queued_at))} ago"
        for run in found
    ]


async def _services(app: App, redis: str | None) -> list[ServiceStatus]:
    settings, chosen = app.settings, app.registry.bot_channel()
    instance = directory_id(settings.data_dir)
    health, scheduler = await asyncio.gather(
        gateway_health(settings[GATEWAY_HOST], settings[GATEWAY_PORT]), scheduler_service(app.database)
    )
    kept = ServiceStatus("session_store", SubsystemState.OK, "in memory" if redis is None else "Redis")
    if redis:
        kept = replace(kept, status=SubsystemState.DEGRADED, detail=f"in memory; {redis}")
    missing = "" if chosen.configured else ", ".join(chosen.missing)
    return [gateway_service(health, instance), bot_service(health, instance, missing), kept, scheduler]


async def _runs(app: App) -> tuple[RunCounts, Sequence[RunSummary]]:
    store, since = app.stores.runs(), app.clock.now() - DAY_S
    counts = await store.counts(
        RunFilter(status=AT_WORK - {RunStatus.WAITING}),
        RunFilter(status=(RunStatus.WAITING,)),
        RunFilter(status=(RunStatus.QUEUED,)),
        RunFilter(status=(RunStatus.SUCCEEDED,), since=since),
        RunFilter(status=FAILING, since=since),
        RunFilter(status=(RunStatus.MISSED,), since=since),
    )
    return RunCounts(*counts), (await store.search(RunFilter(limit=RECENT_RUNS))).items
