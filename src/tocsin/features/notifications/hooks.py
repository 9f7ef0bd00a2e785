"""The hooks of the notifications feature."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tocsin.core.config.settings import Values
from tocsin.core.records.as_json import to_json
from tocsin.features.context import FeatureContext, NoticeLevel
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.features.notifications.forwarding.forwarder import NoticeForwarder
from tocsin.features.notifications.forwarding.quiet_hours import QuietHours
from tocsin.features.notifications.forwarding.receivers import NoticeReceivers
from tocsin.features.notifications.service import Notifications
from tocsin.features.notifications.settings import NOTIFY_LEVEL, QUIET_HOURS
from tocsin.features.notifications.store import NotificationStore
from tocsin.scheduling.zones import default_zone


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenNotifications:
    """The notifications, their forwarding, and the address of the dashboard."""

    service: Notifications
    forwarder: NoticeForwarder
    receivers: NoticeReceivers
    context: FeatureContext


def open_notifications(context: FeatureContext) -> OpenNotifications:
    """Return the notifications of the data directory."""
    settings, store = context.settings, NotificationStore(context.database)
    receivers = NoticeReceivers(context)
    service = Notifications(
        store,
        context.audit,
        context.clock,
        forward_from=NoticeLevel(settings[NOTIFY_LEVEL]),
        redact=context.redact,
        receivers=receivers,
    )
    forwarder = NoticeForwarder(store, context.clock, receivers.deliver, _quiet_hours(settings))
    service.on_stored(forwarder.loop.wake)
    return OpenNotifications(service, forwarder, receivers, context)


def _quiet_hours(settings: Values) -> QuietHours | None:
    quiet = settings[QUIET_HOURS]
    if quiet is None or quiet.zone:
        return quiet
    return replace(quiet, zone=default_zone(settings))


async def status_lines(opened: OpenNotifications) -> list[str]:
    """Return the line for `/status`."""
    return [f"Notifications: {await opened.service.unread_count()} unread"]


async def live_records(opened: OpenNotifications, ids: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return the existing notifications by ID."""
    return {found.id: to_json(found) for found in await opened.service.store.several(ids)}


async def prune(opened: OpenNotifications) -> None:
    """Delete expired notifications."""
    await opened.service.prune()


HOOKS = FeatureHooks[OpenNotifications](
    open=open_notifications,
    status=status_lines,
    services=(lambda opened: opened.forwarder.loop,),
    hourly=prune,
    live={"notifications": live_records},
    provides=ProvidedAbilities(notices=lambda opened: opened.service),
)
