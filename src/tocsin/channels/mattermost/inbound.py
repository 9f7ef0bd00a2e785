"""mattermost receives: presses, whose proof is the context of their button. Source: docs/facts/mattermost.md."""

from typing import TYPE_CHECKING, ClassVar

from tocsin.channels.inbound import (
    InboundAdapter,
    InboundMessage,
    RejectedError,
    WebhookRequest,
    WebhookResponse,
    as_channel_error,
)
from tocsin.channels.mattermost.api import MattermostApi
from tocsin.channels.mattermost.context import is_signed
from tocsin.channels.presses import press_event
from tocsin.core.errors import RemoteError
from tocsin.core.reading.untrusted import clean_text, identifier, json_object, named, within

if TYPE_CHECKING:
    from tocsin.channels.contract import Tools
    from tocsin.core.config.settings import Values


class MattermostInbound(InboundAdapter):
    """Reads presses; the server signs none, so each must have the context that only we can make."""

    name: ClassVar[str] = "mattermost"

    def __init__(self, config: "Values", tools: "Tools") -> None:
        super().__init__(config, tools)
        self._api = MattermostApi(config, tools.http)

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
        )

    def reply_target(self, message: InboundMessage) -> str:
        """Return the channel."""
        return message.chat_id

    def answer_to(self, message: InboundMessage | None) -> WebhookResponse:
        """Return an empty object: the post is edited by the queue."""
        return WebhookResponse(200, b"{}", "application/json")

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Show `response` to the person alone; the bot needs the permission create_post_ephemeral."""
        post = {"channel_id": message.chat_id, "message": response}
        try:
            await self._api.call("POST", "/posts/ephemeral", {"user_id": message.sender_id, "post": post})
        except RemoteError as failure:
            raise as_channel_error(failure) from None
