"""mattermost receives: presses, whose proof is the context of their button. Source: docs/facts/mattermost.md."""

import asyncio
from typing import ClassVar

from tocsin.channels.inbound import (
    InboundAdapter,
    InboundMessage,
    RejectedError,
    WebhookRequest,
    WebhookResponse,
)
from tocsin.channels.mattermost.context import is_signed
from tocsin.channels.mattermost.markup import escape
from tocsin.channels.presses import press_event
from tocsin.core.reading.untrusted import clean_text, identifier, json_object, named, within

_HINT = "hint"  # of `reply_context`: a future with what only the person who pressed is shown
_HINT_WITHIN_S = 2.0  # the server waits for 30 s, and the person for the server


class MattermostInbound(InboundAdapter):
    """Reads presses; the server signs none, so each must have the context that only we can make."""

    name: ClassVar[str] = "mattermost"
    answers_presses_once: ClassVar[bool] = True

    def verify(self, request: WebhookRequest, now: float) -> None:
        """Check the signature of the context."""
        context = (json_object(request.body) or {}).get("context")
        if not isinstance(context, dict) or not is_signed(self.config, context):
            raise RejectedError(
                "the context of the button is not ours", hint="a button of an earlier MATTERMOST_TOKEN has no effect"
            )

    async def receive(self, request: WebhookRequest) -> InboundMessage | None:
        """Return a press; `trigger_id` is new for each one."""
        call = json_object(request.body) or {}
        token, press = clean_text(within(call, "context").get("token")), identifier(call.get("trigger_id"))
        channel, person = identifier(call.get("channel_id")), identifier(call.get("user_id"))
        if not (token and press and channel and person):
            return None
        return press_event(
            self.name,
            token,
            event_id=press,
            chat_id=channel,
            now=self.clock.now(),
            sender_id=person,
            sender_name=named(call.get("user_name")),
            message_id=identifier(call.get("post_id")),
            chat_type="channel",
            reply_context={_HINT: asyncio.get_running_loop().create_future()},
        )

    def reply_target(self, message: InboundMessage) -> str:
        """Return the channel."""
        return message.chat_id

    def answer_to(self, message: InboundMessage | None) -> WebhookResponse:
        """Return an empty object: the post is edited by the queue."""
        return WebhookResponse.json({})

    async def answer_stored(self, message: InboundMessage) -> WebhookResponse:
        """Return why the press has no effect, which the server shows only to the person; else an empty object."""
        hint: asyncio.Future[str] = message.reply_context[_HINT]
        done, _ = await asyncio.wait({hint}, timeout=_HINT_WITHIN_S)
        if not done or not (said := hint.result()):
            return WebhookResponse.json({})
        return WebhookResponse.json({"ephemeral_text": escape(said), "skip_slack_parsing": True})

    async def acknowledge(self, message: InboundMessage) -> None:
        """Answer the call, for which the button shows progress."""
        await self.answer_privately(message, "")

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Show `response` to the person who pressed, in the answer to the call."""
        hint: asyncio.Future[str] | None = message.reply_context.get(_HINT)
        if hint is None or hint.done():
            await super().answer_privately(message, response)
            return
        hint.set_result(response)
