"""The hooks of the notifications feature."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tocsin.channels.contract import PLAIN
from tocsin.core.audit.actions import NOTICES
from tocsin.core.config.settings import Values
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.core.service import ServiceLoop
from tocsin.core.text.strings import truncate
from tocsin.features.context import FeatureContext, NoticeLevel
from tocsin.features.hooks import FeatureHooks, ProvidedAbilities
from tocsin.features.notifications.forwarder import Deliver, NoticeForwarder, NoticeMessage, notice_title
from tocsin.features.notifications.service import Notifications
from tocsin.features.notifications.settings import NOTIFY_LEVEL, NOTIFY_PROFILE, PUBLIC_URL, QUIET_HOURS
from tocsin.features.notifications.store import NotificationStore
from tocsin.messaging.outbound.caller import Caller
from tocsin.scheduling.zones import default_zone

if TYPE_CHECKING:
    from tocsin.features.notifications.quiet_hours import QuietHours

log = logging.getLogger(__name__)

MAX_TITLE = 250
_TYPES = {
    NoticeLevel.INFO: "info",
    NoticeLevel.SUCCESS: "success",
    NoticeLevel.WARNING: "warning",
    NoticeLevel.ERROR: "failure",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenNotifications:
    """The notifications, their forwarding, and the address of the dashboard."""

    service: Notifications
    forwarder: NoticeForwarder
    context: FeatureContext


def open_notifications(context: FeatureContext) -> OpenNotifications:
    """Return the notifications of the data directory."""
    settings, store = context.settings, NotificationStore(context.database)
    service = Notifications(
        store,
        context.audit,
        context.clock,
        forward_from=NoticeLevel(settings[NOTIFY_LEVEL]),
        redact=context.redact,
        is_told=_is_told(context),
    )
    forwarder = NoticeForwarder(store, context.clock, _deliver(context), _quiet_hours(settings))
    service.on_stored(forwarder.loop.wake)
    return OpenNotifications(service, forwarder, context)


def _quiet_hours(settings: Values) -> "QuietHours | None":
    quiet = settings[QUIET_HOURS]
    if quiet is None or quiet.zone:
        return quiet
    return replace(quiet, zone=default_zone(settings))


def _is_told(context: FeatureContext) -> Callable[[str], bool]:
    """Return a predicate: whether a message to a destination reaches all receivers of notices."""
    profile, output = context.settings[NOTIFY_PROFILE], context.output

    def is_told(destination: str) -> bool:
        try:
            told = (
                output.targets(profile) if profile else {each[:2] for each in context.abilities.operator_chats.find()}
            )
        except TocsinError:  # forwarding reports it
            return False
        return bool(told) and told <= output.targets(destination)

    return is_told


def _deliver(context: FeatureContext) -> Deliver:
    profile = context.settings[NOTIFY_PROFILE]

    async def to_profile(message: NoticeMessage) -> bool:
        text = message.notice.body if message.notice else message.text
        result = await context.messenger.notify_by_queue(
            profile,
            text,
            Caller(NOTICES.name),
            key=message.dedupe_key,
            parse_mode=PLAIN,
            content=_content(message, context.settings[PUBLIC_URL]),
            resolution="message" if message.resolves else "",
        )
        label = context.messenger.channel_label
        failed = [f"{label(each.channel)} {each.target}: {each.error}" for each in result.results if not each.ok]
        if failed and not result.sent:
            raise ConfigError(
                f"no target of profile {profile} accepted the notification: {failed[0]}", hint="correct it"
            )
        for problem in failed:
            log.warning("a notification could not be sent to a target", extra={"profile": profile, "reason": problem})
        return True

    async def to_operator(message: NoticeMessage) -> bool:
        return await context.abilities.operator_chats.tell(message.text, key=message.dedupe_key)

    return to_profile if profile else to_operator


def _content(message: NoticeMessage, public_url: str) -> Mapping[str, object]:
    """Return title, type, link and key of the message for one notice."""
    notice = message.notice
    if notice is None:
        return {}
    found: dict[str, object] = {"title": truncate(notice_title(notice), MAX_TITLE), "type": _TYPES[notice.level]}
    link = f"{public_url}/{notice.link}" if notice.link.startswith("#") and public_url else notice.link
    if link.startswith(("http://", "https://")):
        found["click"] = link
    return {**found, "key": message.subject} if message.subject else found


def build_forwarder(opened: OpenNotifications) -> ServiceLoop:
    """Return the service that forwards notices."""
    return opened.forwarder.loop


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
    services=(build_forwarder,),
    hourly=prune,
    live={"notifications": live_records},
    provides=ProvidedAbilities(notices=lambda opened: opened.service),
)
