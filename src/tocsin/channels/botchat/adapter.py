"""Send texts to chats, channels and topics through a bot. Source: docs/facts/botchat.md."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tocsin.channels.botchat.api import API_URL, BOT_TOKEN, BotApi, BotApiError
from tocsin.channels.botchat.settings import LARGEST_CHAT_ID, RECEIVING, WEBHOOK_SECRET
from tocsin.channels.contract import COMMONMARK, PLAIN, ChannelSpec, OutboundAdapter, Part, RetryPolicy, Tools
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ChannelError, TocsinError
from tocsin.core.text.measures import utf16_units
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Mapping

    from tocsin.channels.botchat.extras import Keyboard
    from tocsin.channels.inbound import InboundAdapter
    from tocsin.core.text.markup import Renderer

PARSE_MODES = ("Markdown", "MarkdownV2", "HTML", PLAIN)
LARGEST_THREAD_ID = 2**31 - 1
GENERAL_TOPIC = 1  # its messages must be sent without a thread id
# A message that was deleted, is too old or is not ours any more, and a server that cannot edit at all: whatever is
# behind it, the text itself can still be sent.
NOT_EDITABLE = frozenset({400, 404})
REPLY_GONE = ("message to be replied not found", "replied message not found", "reply message not found")

_TARGET = r"(?:(-?[1-9][0-9]{0,15})|(@[A-Za-z0-9_]{4,32}))(?:/([1-9][0-9]{0,9}))?"
_LINE_TAG = r"(?i)<(?:br|/p|/div|/li|/h[1-6])\s*/?>(?!\n)"
# `*+` and `++` never give back what they took: without them a text of many `href=` takes hours.
_LINK = r"""(?is)<a\s[^<>]*?href\s*+=\s*+["']?+([^"'<>\s]++)[^<>]*+>(.*?)</a\s*>"""
_TAG = r"</?[A-Za-z][^<>]*>"


def parse_mode(value: str) -> str:
    """Read a parse mode in any letter case."""
    for mode in PARSE_MODES:
        if value.strip().lower() == mode.lower():
            return mode
    raise ValueError(f"one of: {', '.join(PARSE_MODES)}")


PARSE_MODE = Variable(
    "BOTCHAT_PARSE_MODE",
    parse_mode,
    "Markdown",
    "How texts are formatted unless the sender says otherwise: `Markdown`, `MarkdownV2`, `HTML`, `plain`.",
)


class BotchatAdapter(OutboundAdapter):
    """Writes to people, groups, channels and forum topics.

    Markup that the server refuses is sent once more as plain text, so that no message is lost to a stray `_`.
    """

    spec = ChannelSpec(
        kind="botchat",
        label="Telegram",
        product="Telegram Bot API",
        aliases=("telegram",),
        secrets=(BOT_TOKEN,),
        options=(API_URL, PARSE_MODE),
        receiving=RECEIVING,
        proof=WEBHOOK_SECRET,
        target_format="numeric chat ID (groups: negative) or @channelusername; a topic as <chat>/<thread ID>",
        max_length=4_096,  # sendMessage, after the markup is parsed
        chunk_at=4_000,
        measure=utf16_units,
        parse_modes=PARSE_MODES,
        retry=RetryPolicy(transient=3, rate_limited=3, longest_wait_s=60.0),
        inbound=("polling", "webhook"),
        target_rate=Rate(1, 1.0, burst=3),  # "short bursts pass"
        group_rate=Rate(15, 60.0, burst=5),  # together the 20 that are allowed in any minute
        group_prefix="-",
        account_rate=Rate(30, 1.0),
    )

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = BotApi(tools.http, config[API_URL], config[BOT_TOKEN])
        self._moved: dict[int | str, int] = {}
        self._on_moved: list[Callable[[str, str], Awaitable[None]]] = []

    def on_moved(self, observer: "Callable[[str, str], Awaitable[None]]") -> None:
        """Call `observer` with the old and the new ID of a group that is found to be a supergroup by now."""
        self._on_moved.append(observer)

    @classmethod
    def receiver(cls) -> "type[InboundAdapter]":
        """Return the inbound side, which is loaded only where something is received."""
        from tocsin.channels.botchat.inbound import BotchatInbound

        return BotchatInbound

    def check_target(self, target: str) -> str:
        """Accept a chat ID or `@channelusername`, either with `/` and the ID of a forum topic."""
        found = re.fullmatch(_TARGET, target)
        if not found or abs(int(found[1] or 0)) > LARGEST_CHAT_ID or int(found[3] or 0) > LARGEST_THREAD_ID:
            raise ChannelError(f"{target!r} is not a valid target", hint=f"write {self.spec.target_format}")
        return target

    def check_extra(self, extra: "Mapping[str, Any]") -> None:
        """Accept the extras of `read_extras`."""
        if extra:
            from tocsin.channels.botchat.extras import read_extras

            read_extras(extra)

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return text with entities."""
        from tocsin.channels.botchat.entities import Entities

        return Entities(self.chunk_at())

    async def deliver(self, part: Part) -> str:
        """Send one part; the note has the message's ID, and what the operator should change in the target."""
        draft = self._draft(part)
        while True:  # every amendment is made at most once
            try:
                sent = await self._api.call(draft.method, **draft.params())
            except BotApiError as refusal:
                if draft.edits and refusal.says("message is not modified"):
                    return draft.note({"message_id": draft.edits})
                old_id = draft.chat_id
                if not self._amend(draft, refusal):
                    raise
                if draft.chat_id != old_id:
                    await self._tell_moved(str(old_id), str(draft.chat_id))
            else:
                return draft.note(sent)

    async def probe(self) -> str:
        """Check the token; the answer is the bot's user name."""
        bot = await self._api.call("getMe")
        return str(bot.get("username") or "?") if isinstance(bot, dict) else "?"

    def _draft(self, part: Part) -> "_Draft":
        chat, _, thread = part.target.partition("/")
        chat_id: int | str = chat if chat.startswith("@") else int(chat)
        mode = part.parse_mode or self.config[PARSE_MODE]
        thread_id = int(thread or GENERAL_TOPIC)
        draft = _Draft(
            self._moved.get(chat_id, chat_id),
            part.text,
            None if mode in {PLAIN, COMMONMARK} else mode,
            None if thread_id == GENERAL_TOPIC else thread_id,
            list(part.markup),
        )
        if part.extra:
            draft.take_extras(part)
        return draft

    async def _tell_moved(self, old_id: str, new_id: str) -> None:
        for observer in self._on_moved:
            try:
                await observer(old_id, new_id)
            except TocsinError as error:  # the message itself is more important
                _log().warning("the new ID of a chat is not kept", extra={"reason": error.sentence()})

    def _amend(self, draft: "_Draft", refusal: BotApiError) -> bool:
        """Change what the server will not take, and say whether there is something new to try."""
        new_id = refusal.migrate_to
        if new_id is not None and not draft.moved:
            _log().warning("chat has a new ID", extra={"old_id": draft.chat_id, "new_id": new_id})
            self._moved[draft.chat_id] = new_id
            draft.move(new_id)
        elif (draft.parse_mode and refusal.says("can't parse entities")) or (draft.entities and refusal.says("entit")):
            _log().info("markup refused, sent as plain text", extra={"reason": refusal.description})
            draft.drop_markup()
        elif draft.thread_id and refusal.says("message thread not found", "TOPIC_DELETED"):
            draft.drop_thread()
        elif draft.reply_to and refusal.says(*REPLY_GONE):
            draft.reply_to = None
        elif draft.edits and refusal.error_code in NOT_EDITABLE:
            draft.edits = None
        else:
            return False
        return True


@dataclass(slots=True)
class _Draft:
    """What is about to be sent, and how it came to differ from what was asked for."""

    chat_id: int | str
    text: str
    parse_mode: str | None
    thread_id: int | None
    entities: list[dict[str, Any]] = field(default_factory=list)
    reply_to: int | None = None
    edits: int | None = None  # the message whose text this one takes the place of
    keyboard: "Keyboard | None" = None
    moved: bool = False
    remarks: list[str] = field(default_factory=list)

    @property
    def method(self) -> str:
        """The method to call."""
        return "editMessageText" if self.edits else "sendMessage"

    def params(self) -> dict[str, Any]:
        """Return the parameters of the method."""
        place: dict[str, Any] = {"message_id": self.edits}
        if not self.edits:
            reply = {"message_id": self.reply_to, "allow_sending_without_reply": True}
            place = {"message_thread_id": self.thread_id, "reply_parameters": reply if self.reply_to else None}
        return {
            "chat_id": self.chat_id,
            **place,
            "text": self.text,
            "parse_mode": self.parse_mode,
            "entities": self.entities or None,
            "link_preview_options": {"is_disabled": True},
            "reply_markup": {"inline_keyboard": self.keyboard} if self.keyboard else None,
        }

    def take_extras(self, part: Part) -> None:
        """Take what belongs to this part: the first one answers or replaces a message, the last one has buttons."""
        from tocsin.channels.botchat.extras import read_extras

        extras = read_extras(part.extra)
        if part.first:
            self.reply_to, self.edits = extras.reply_to, extras.edit_message_id
        if part.last:
            self.keyboard = extras.keyboard

    def move(self, new_id: int) -> None:
        """Address the supergroup that the chat has become."""
        self.remarks.append(f"the group has a new ID, use {new_id}")
        self.chat_id, self.moved = new_id, True

    def drop_markup(self) -> None:
        """Send the caller's own text as it is; only HTML is unreadable that way and loses its tags."""
        if self.parse_mode == "HTML":
            self.text = without_tags(self.text)
        self.parse_mode, self.entities = None, []

    def drop_thread(self) -> None:
        """Send to the chat itself."""
        self.remarks.append(f"topic {self.thread_id} is gone, sent to the chat itself")
        self.thread_id = None

    def note(self, sent: object) -> str:
        """Return the delivery note."""
        message_id = sent.get("message_id", "?") if isinstance(sent, dict) else "?"
        remarks = f" ({'; '.join(self.remarks)})" if self.remarks else ""
        return f"id={message_id}{remarks}"


def without_tags(source: str) -> str:
    """Return the readable text of HTML; links keep their address. Never longer than `source`, never blank."""
    from html import unescape

    lines = re.sub(_LINE_TAG, "\n", source)
    links_shown = re.sub(_LINK, lambda link: link[2] if link[1] == link[2] else f"{link[2]} ({link[1]})", lines)
    readable = unescape(re.sub(_TAG, "", links_shown))
    return readable if readable.strip() else source


def _log() -> "logging.Logger":
    # Costs 3 ms to import, which a command that only lists channels does not pay.
    import logging

    return logging.getLogger(__name__)
