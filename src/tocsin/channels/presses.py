"""Presses of `call` buttons: each is one event of the inbox, on every channel."""

from dataclasses import replace
from typing import Any

from tocsin.channels.inbound import InboundAdapter, InboundMessage, MessageKind, RejectedError, WebhookRequest
from tocsin.core.errors import ChannelError

_LINK = "link:"


def press_event(
    channel: str,
    token: str,
    *,
    event_id: str,
    chat_id: str,
    now: float,
    sender_id: str | None = None,
    sender_name: str = "",
    message_id: str | None = None,
    **more: Any,
) -> InboundMessage:
    """Return the event of a verified press, for `InboundAdapter.receive` or `Inbox.accept`.

    `event_id` is the product's ID of the press, by which a repetition is recognised; `message_id` that of the message
    with the button. Without `sender_id` it is not known who pressed. `more` are further fields.
    """
    return InboundMessage(
        channel=channel,
        kind=MessageKind.CALLBACK,
        id=event_id,
        dedupe_keys=(f"press:{event_id}",),
        chat_id=chat_id,
        sender_id=sender_id,
        sender_name=sender_name,
        callback_id=event_id,
        callback_data=token,
        reply_to_id=message_id,
        mentions_bot=True,
        sent_at=now,
        received_at=now,
        **more,
    )


def link_press_event(channel: str, target: str, token: str, *, event_id: str, now: float) -> InboundMessage:
    """Return the event of a press on the page behind a signed link, which does not prove who pressed."""
    event = press_event(channel, token, event_id=f"{_LINK}{event_id}", chat_id=target, now=now)
    return replace(event, callback_id=None)  # there is no progress indicator to end


def is_by_link(message: InboundMessage) -> bool:
    """Whether an event is a press on the page behind a signed link."""
    return message.id.startswith(_LINK)


class LinkPresses(InboundAdapter):
    """The inbound side of presses on channels that cannot receive: it only says where an answer goes."""

    name = "link"

    def __init__(self) -> None:
        """Need no settings: presses are verified where they arrive."""

    def verify(self, request: WebhookRequest, now: float) -> None:
        """Reject every call: there is no webhook."""
        raise RejectedError("presses by link do not arrive at the webhook")

    async def receive(self, request: WebhookRequest) -> None:
        """Raise ChannelError: there is no webhook."""
        raise ChannelError("presses by link do not arrive at the webhook")

    def reply_target(self, message: InboundMessage) -> str:
        """Return the target of the message with the button."""
        return message.chat_id
