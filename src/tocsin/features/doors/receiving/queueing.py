"""Messages of doors into the durable queue; one that no target takes is shown to the operator."""

import logging
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.doors.feature import DOORS
from tocsin.features.doors.model import Door, DoorSeverity, RequestState
from tocsin.features.doors.rules.rendering import RenderedMessage
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.output_routing import MessageForProfile, ProfileQueue
from tocsin.messaging.outbound.results import NotifyResult

log = logging.getLogger(__name__)

_TYPES = {
    DoorSeverity.OK: ("success", 2),
    DoorSeverity.INFO: ("info", 3),
    DoorSeverity.WARNING: ("warning", 4),
    DoorSeverity.CRITICAL: ("failure", 5),
}


class QueueOutcome(NamedTuple):
    """The outcome of a message."""

    state: RequestState  # SENT or FAILED
    deliveries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def message_key(door_id: str, key: str, episode: int) -> str:
    """Return the key of the message of a problem: another one each time that the problem begins."""
    return f"door-{sha256(f'{door_id} {key} {episode}'.encode()).hexdigest()[:40]}"


async def queue_message(
    context: FeatureContext,
    door: Door,
    message: RenderedMessage,
    once: str,
    key: str = "",
    resolution: str = "",
    attach: Sequence[Mapping[str, Any]] = (),
) -> QueueOutcome:
    """Queue a message for its profile, once per `once`; raises StoreUnavailableError.

    `key` names the message that it edits, `resolution` as in `ProfileEntry.adapt`.
    """
    try:
        made = MessageForProfile(
            text=message.text or message.title,
            parse_mode=message.parse_mode,
            content=_content(message, key, attach),
            resolution=resolution,
            not_before=message.not_before,
            tags=message.tags,
            optional_files=True,
        )
        queued = await _queue_of(context, door).send(message.profile, made, once)
    except StoreUnavailableError:
        raise
    except TocsinError as error:
        await _complain(context, door, message, once, error.sentence())
        return QueueOutcome(RequestState.FAILED, (), (error.sentence(),))
    found = _outcome(queued, RequestState.FAILED)
    if found.state is RequestState.FAILED:
        await _complain(context, door, message, once, queued.results[0].error)
    return found


async def queue_withdrawal(context: FeatureContext, door: Door, profile: str, key: str, once: str) -> QueueOutcome:
    """Queue the withdrawal of the message of a key, once per `once`; raises StoreUnavailableError.

    Channels that cannot withdraw are named in the notes.
    """
    try:
        queued = await _queue_of(context, door).withdraw(profile, key, once)
    except StoreUnavailableError:
        raise
    except TocsinError as error:
        return QueueOutcome(RequestState.DROPPED, (), (error.sentence(),))
    return _outcome(queued, RequestState.DROPPED)


def _queue_of(context: FeatureContext, door: Door) -> ProfileQueue:
    return context.messenger.for_profiles(Caller.of(DOORS.name, door.name))


def _outcome(queued: NotifyResult, otherwise: RequestState) -> QueueOutcome:
    """Return the outcome of a message; its state is `otherwise` if no target took it."""
    begin = "delivery="
    good = [each for each in queued.results if each.ok and each.message.startswith(begin)]
    notes = [
        f"{each.channel} {each.target}: {each.message or each.error}" for each in queued.results if each not in good
    ]
    state = RequestState.SENT if queued.sent or not queued.results else otherwise
    return QueueOutcome(state, tuple(each.message.removeprefix(begin) for each in good), tuple(notes))


def _content(message: RenderedMessage, key: str, attach: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    type_, priority = _TYPES[message.severity]
    own = {"type": type_, "priority": priority, "title": message.title, "click": message.link, "key": key}
    own |= {"attach": list(attach)}
    return {**{name: value for name, value in own.items() if value}, **message.content}


async def _complain(context: FeatureContext, door: Door, message: RenderedMessage, once: str, reason: str) -> None:
    """Show a message that no target took to the operator, who would miss it otherwise."""
    log.warning("a message of a door was refused", extra={"door": door.name, "reason": reason})
    body = f"{message.title}\n\n{message.text}".strip() + f"\n\n{reason}"
    title = f"A message of the door {door.name} cannot be delivered"
    link = f"#/doors/{door.name}"
    notice = Notice(title, body, NoticeLevel.ERROR, "messaging", door.name, link, once, once=True)
    await context.abilities.notices.notify(notice)
