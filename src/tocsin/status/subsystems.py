"""The subsystems of the core: messaging, the audit log, and the machine."""

import shutil
from pathlib import Path

from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import number_of
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.delivery.model import NEEDING_PERSON, WAITING, DeliveryStatus
from tocsin.delivery.store import DeliveryFilter, DeliveryStore
from tocsin.features.context import AttentionItem, NoticeLevel, SubsystemState, SubsystemStatus

DAY_S = 86_400.0
MAX_DEAD = 200  # the count stops here
LEAST_FREE = 0.05
MIB = 1024 * 1024
LEAST_FREE_BYTES = 100 * MIB


async def messaging_status(
    registry: Registry, store: DeliveryStore, now: float, mistake: TocsinError | None
) -> SubsystemStatus:
    """Return the status of channels, queue and unsent messages; `mistake` is an error in the profiles."""
    configured = registry.configured()
    try:
        waiting = sum(count for status, count in (await store.counts()).items() if status in WAITING)
        lost = [
            delivery
            for status in sorted(NEEDING_PERSON)
            for delivery in (await store.search(DeliveryFilter(status, limit=MAX_DEAD, undismissed=True))).items
        ]
        newest = (await store.search(DeliveryFilter(limit=1))).items
        problems = (await store.health()).problems
    except TocsinError as error:
        return _failed("the queue", error)
    dead = sum(one.status is DeliveryStatus.DEAD and one.created_at >= now - DAY_S for one in lost)
    counts = {"channels": len(configured), "waiting": waiting, "dead_24h": dead}
    summary = f"{number_of(len(configured), 'channel')}, {waiting} waiting"
    attention = [
        AttentionItem(NoticeLevel.ERROR, f"the queue is unreliable: {problem}", "#/msg") for problem in problems
    ]
    if lost:
        summary += f", {len(lost)} not delivered"
        first = lost[0].status
        told = f"{number_of(len(lost), 'message')} could not be delivered: `tocsin deliveries list --status {first}`"
        told += ", then replay or dismiss them"
        attention.append(AttentionItem(NoticeLevel.WARNING, told, f"#/deliveries?status={first}"))
    if mistake:
        attention.append(AttentionItem(NoticeLevel.ERROR, f"the profiles file has errors: {mistake}", "#/msg"))
    state = SubsystemState.ERROR if problems else SubsystemState.DEGRADED if lost or mistake else SubsystemState.OK
    if not configured and not attention:
        state, summary = SubsystemState.UNCONFIGURED, "no channel is configured"
    return SubsystemStatus(state, summary, counts, newest[0].created_at if newest else None, "#/msg", attention)


def bus_status(trouble: str) -> SubsystemStatus:
    """Return the status of an unavailable Redis; a queue stored there reports its own status."""
    told = f"Redis does not respond, so the bus does not work and sessions are kept in memory: {trouble}"
    item = AttentionItem(NoticeLevel.WARNING, told, "#/settings")
    return SubsystemStatus(SubsystemState.DEGRADED, "Redis does not respond", attention=[item])


async def audit_status(trail: AuditTrail) -> SubsystemStatus:
    """Report whether the audit log can be read and written, and its last entry."""
    try:
        newest, (entries, _) = trail.log.tail(1), trail.log.tip()
    except TocsinError as error:
        return _failed("the audit log", error)
    if problem := await trail.check():
        item = AttentionItem(NoticeLevel.ERROR, f"the audit log cannot be written: {problem}", "#/audit")
        return SubsystemStatus(SubsystemState.ERROR, "cannot be written", attention=[item])
    last_event_at = parse_timestamp(newest[0].ts) if newest else None
    summary = f"{entries:,} {'entry' if entries == 1 else 'entries'}"
    return SubsystemStatus(SubsystemState.OK, summary, {"entries": entries}, last_event_at)


def _failed(what: str, error: TocsinError) -> SubsystemStatus:
    item = AttentionItem(NoticeLevel.ERROR, f"{what} cannot be read: {error.sentence()}")
    return SubsystemStatus(SubsystemState.ERROR, error.sentence(), attention=[item])


def disk_attention(folder: Path) -> list[AttentionItem]:
    """Return a warning if the disk of the data directory is nearly full."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:  # it is created on first use
        return []
    if usage.free >= LEAST_FREE_BYTES and usage.free >= LEAST_FREE * usage.total:
        return []
    level = NoticeLevel.ERROR if usage.free < LEAST_FREE_BYTES else NoticeLevel.WARNING
    free = f"{usage.free // MIB:,} MiB, {100 * usage.free / usage.total:.0f} %"
    return [AttentionItem(level, f"the disk of the data directory is almost full: {free} free")]
