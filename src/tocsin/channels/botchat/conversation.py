"""The botchat adapter for the bot: previews, buttons, command menus, files and update sources."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tocsin.channels.botchat import settings
from tocsin.channels.botchat.files import BotFiles
from tocsin.channels.botchat.inbound import BotchatInbound
from tocsin.channels.botchat.preview import render_preview
from tocsin.channels.botchat.receiving.checks import check_mode, check_poller, check_webhook
from tocsin.channels.botchat.receiving.poller import Poller
from tocsin.channels.botchat.receiving.webhook import WebhookRegistration, read_hook
from tocsin.channels.contract import Tools
from tocsin.channels.conversation import (
    CheckMessage,
    ConversationAdapter,
    ConversationVariables,
    Keyboard,
    TellAdmin,
    UpdateSink,
    UpdateSource,
)
from tocsin.channels.inbound import Attachment, InboundMessage
from tocsin.core.config.settings import Values
from tocsin.core.errors import RemoteError
from tocsin.core.text.markup import Shown


class BotchatConversation(BotchatInbound, ConversationAdapter):
    """The inbound side of one bot, including the conversation features."""

    variables: ClassVar[ConversationVariables] = ConversationVariables(
        allowed=settings.ALLOWED_CHAT_IDS,
        admin=settings.ADMIN_CHAT_ID,
        default_chat=settings.DEFAULT_CHAT_ID,
        session_ttl_s=settings.SESSION_TTL_S,
        max_history=settings.MAX_HISTORY,
        per_chat=settings.MAX_PER_CHAT,
        overall=settings.MAX_GLOBAL,
        overflow=settings.QUEUE_OVERFLOW,
        streaming=settings.STREAMING,
        memory=settings.MEMORY,
    )
    edit_every_s: ClassVar[float] = 1.0  # the limit of one message per second and chat: docs/facts/botchat.md, "Pace"

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._files = BotFiles(self.api, self.clock, config[settings.LOCAL_FILES_DIR])

    def render_preview(self, markdown: str) -> Shown:
        """Return the preview as text with entities that fits one message."""
        return render_preview(markdown)

    async def draft(self, message: InboundMessage, shown: Shown, buttons: Keyboard = ()) -> str:
        """Send the draft to the topic of `message`; in groups, as a reply to it."""
        sent = await self.api.call("sendMessage", **_content(message, shown, buttons), **_place(message))
        found = sent.get("message_id") if isinstance(sent, dict) else None
        if not isinstance(found, int):
            raise RemoteError("the preview has no message ID")
        return str(found)

    async def edit(self, message: InboundMessage, message_id: str, shown: Shown, buttons: Keyboard = ()) -> None:
        """Replace the text and the buttons."""
        await self.api.call("editMessageText", message_id=int(message_id), **_content(message, shown, buttons))

    async def remove_buttons(self, message: InboundMessage, message_id: str) -> None:
        """Remove the inline keyboard."""
        await self.api.call("editMessageReplyMarkup", chat_id=int(message.chat_id), message_id=int(message_id))

    def sent_message_id(self, note: str) -> str:
        """Return the digits of a delivery note such as `id=17`."""
        found = re.match(r"id=(\d+)", note)
        return found[1] if found else ""

    async def register_commands(self, descriptions: Mapping[str, str], chat_id: str = "") -> None:
        """Set the command menu of all chats, or the one that overrides it in `chat_id`."""
        commands = [{"command": name, "description": text} for name, text in descriptions.items()]
        scope = {"type": "chat", "chat_id": int(chat_id)} if chat_id else None
        await self.api.call("setMyCommands", commands=commands, scope=scope)

    async def download(self, attachment: Attachment) -> bytes:
        """Return the content of a file of at most 20 MiB."""
        return await self._files.read(attachment)

    def open_source(self, inbox: UpdateSink, directory: Path, tell_admin: TellAdmin) -> UpdateSource:
        """Return the poller or the webhook registration, depending on BOTCHAT_MODE."""
        if self.config[settings.MODE] == "webhook":
            return WebhookRegistration(self.api, read_hook(self.config), self.clock, tell_admin)
        return Poller(self, inbox, self.clock, directory, tell_admin)

    def check_setup(self, directory: Path) -> Iterator[CheckMessage]:
        """Check the mode, and whether a process on this machine is polling."""
        yield check_mode(self.config)
        yield from check_poller(self.config, self.bot_id, directory)

    async def check_provider(self) -> CheckMessage:
        """Compare the mode with the webhook registered at the provider."""
        return await check_webhook(self.config, self.api, self.clock.now())


def _content(message: InboundMessage, shown: Shown, buttons: Keyboard) -> dict[str, Any]:
    keyboard = [[{"text": label, "callback_data": data} for label, data in row] for row in buttons]
    return {
        "chat_id": int(message.chat_id),
        "text": shown.text,
        "entities": list(shown.markup) or None,
        "link_preview_options": {"is_disabled": True},
        "reply_markup": {"inline_keyboard": keyboard} if keyboard else None,
    }


def _place(message: InboundMessage) -> dict[str, Any]:
    """Return the topic and, in groups, the message to reply to."""
    place: dict[str, Any] = {}
    if message.thread_id:
        place["message_thread_id"] = int(message.thread_id)
    if message.chat_type != "private" and message.id.isdigit():
        place["reply_parameters"] = {"message_id": int(message.id), "allow_sending_without_reply": True}
    return place
