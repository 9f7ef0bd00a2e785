"""Send to Telegram chats, channels and topics through a bot. Source: docs/facts/botchat.md."""

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tocsin.channels.botchat.api import API_URL, BOT_TOKEN, BotApi, BotApiError
from tocsin.channels.botchat.draft import MAX_CAPTION, Draft, kind_of, load_extras
from tocsin.channels.botchat.known_files import KnownFiles
from tocsin.channels.botchat.settings import LARGEST_CHAT_ID, MODE, PARSE_MODE, PARSE_MODES, RECEIVING, WEBHOOK_SECRET
from tocsin.channels.contract import (
    COMMONMARK,
    PLAIN,
    ChannelSpec,
    MessageGoneError,
    OutboundAdapter,
    Part,
    RetryPolicy,
    Sent,
    Tools,
)
from tocsin.channels.model import FILES, FileLimits, degraded, native
from tocsin.core.config.settings import Values
from tocsin.core.errors import ChannelError, TocsinError
from tocsin.core.text.measures import utf16_units
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.model import Shown
    from tocsin.core.text.markup import Renderer

LARGEST_THREAD_ID = 2**31 - 1
GENERAL_TOPIC = 1  # its messages must be sent without a thread id
# The message to edit was deleted, is too old or belongs to another sender, or the server does not support editing. In
# all these cases the text can still be sent as a new message.
NOT_EDITABLE = frozenset({400, 404})
EDIT_GONE = ("message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID")
WITHDRAWN = "(withdrawn)"
# A picture of unusual dimensions, or one that the server cannot decode, can still be sent as a file.
NO_PHOTO = ("PHOTO_INVALID_DIMENSIONS", "PHOTO_SAVE_FILE_INVALID", "IMAGE_PROCESS_FAILED", "photo is too big")
NO_FILE = ("wrong file identifier", "wrong remote file")
REPLY_GONE = ("message to be replied not found", "replied message not found", "reply message not found")

_TARGET = r"(?:(-?[1-9][0-9]{0,15})|(@[A-Za-z0-9_]{4,32}))(?:/([1-9][0-9]{0,9}))?"


class BotchatAdapter(OutboundAdapter):
    """Sends to people, groups, channels and forum topics.

    A message whose markup the server refuses is sent again as plain text, so that a stray `_` does not lose it.
    """

    spec = ChannelSpec(
        kind="botchat",
        label="Telegram",
        product="Telegram Bot API",
        aliases=("telegram",),
        schemes=("tgram",),
        secrets=(BOT_TOKEN,),
        options=(API_URL, PARSE_MODE),
        receiving=RECEIVING,
        proof=WEBHOOK_SECRET,
        target_format="numeric chat ID (groups: negative) or @channelusername; a topic as <chat>/<thread ID>",
        arrival=(
            "You opened the bot in Telegram and pressed Start: a bot cannot begin a chat.",
            "The target is your own chat ID; the ID of a group is negative, and the bot must be its member.",
            "The chat is neither muted nor archived.",
        ),
        max_length=4_096,  # sendMessage, after the markup is parsed
        chunk_at=4_000,
        measure=utf16_units,
        parse_modes=PARSE_MODES,
        retry=RetryPolicy(transient=3, rate_limited=3, longest_wait_s=60.0),
        inbound=("polling", "webhook"),
        inbound_mode=MODE,
        conversation=True,
        target_rate=Rate(1, 1.0, burst=3),  # "short bursts pass"
        group_rate=Rate(15, 60.0, burst=5),  # together the 20 that are allowed in any minute
        group_prefix="-",
        account_rate=Rate(30, 1.0),
        abilities={
            "title": native("a bold first line"),
            "priority": degraded("a symbol before the title, from 4 on"),
            "type": degraded("a symbol before the title"),
            "click": native("a button"),
            "actions": native(),
            "call": native("a button; `confirm` is not asked"),
            "attach": native("a picture or a file; several as albums"),
            "mention": native(),
            "silent": native(),
            "key": native("edits; up to 4,000 UTF-16 units"),
            "thread": native("replies to the first message"),
            "withdraw": native("within 48 hours; later its text is removed"),
        },
        edit_length=4_000,
        files=FileLimits(each=50 * 2**20),  # sendDocument by multipart
    )

    dressing = "tocsin.channels.botchat.dressing:BotchatDressing"
    layouts = "tocsin.channels.botchat.layout:layout_of"
    inbound = "tocsin.channels.botchat.conversation:BotchatConversation"

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = BotApi(tools.http, config[API_URL], config[BOT_TOKEN])
        self._known_files = KnownFiles()
        self._moved: dict[int | str, int] = {}
        self._on_moved: list[Callable[[str, str], Awaitable[None]]] = []

    def on_moved(self, observer: "Callable[[str, str], Awaitable[None]]") -> None:
        """Call `observer` with the old and the new ID of a group that turns out to have become a supergroup."""
        self._on_moved.append(observer)

    def check_target(self, target: str) -> str:
        """Accept a chat ID or `@channelusername`, either with `/` and the ID of a forum topic."""
        found = re.fullmatch(_TARGET, target)
        if not found or abs(int(found[1] or 0)) > LARGEST_CHAT_ID or int(found[3] or 0) > LARGEST_THREAD_ID:
            raise ChannelError(f"{target!r} is not a valid target", hint=f"write {self.spec.target_format}")
        return target

    def check_extra(self, extra: "Mapping[str, Any]") -> None:
        """Validate the extras that `read_extras` reads."""
        if extra:
            load_extras(extra)

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return the renderer for text with entities."""
        from tocsin.channels.botchat.entities import Entities

        return Entities(self.chunk_at())

    def share_files(
        self, texts: "Sequence[Shown]", files: "tuple[AttachedFile, ...]", *, keyed: bool
    ) -> "Sequence[tuple[Shown, tuple[AttachedFile, ...]]]":
        """Make a short text the caption of one file; else files follow the text, neighbours of a kind as an album."""
        if keyed and not texts:  # a text is what is edited
            texts = [(", ".join(file.name for file in files), ())]
        text = texts[0] if texts else ("", ())
        if len(texts) <= 1 and len(files) == 1 and not keyed and utf16_units(text[0]) <= MAX_CAPTION:
            return [(text, files)]
        albums = [tuple(album) for _, album in groupby(files, kind_of)]
        return [*((each, ()) for each in texts), *((("", ()), album) for album in albums)]

    async def deliver(self, part: Part) -> Sent:
        """Send one part; the note contains the message ID and changes that the target needs."""
        sent = await self._send(self._draft(part))
        if not part.message:
            return sent
        files = ",".join(filter(None, [part.message.get(FILES, ""), sent.ref.get(FILES, "")]))
        return replace(sent, ref={FILES: files})

    async def edit(self, part: Part, ref: "Mapping[str, str]") -> Sent:
        """Replace text and buttons of a message of the bot."""
        draft = self._draft(part)
        draft.edits, draft.chat_id, draft.keyed = int(ref["id"]), _chat_id(ref["chat"]), True
        try:
            sent = await self._send(draft)
        except BotApiError as refusal:
            if not refusal.mentions(*EDIT_GONE):
                raise
            raise MessageGoneError("the message was deleted there, or cannot be edited any more") from None
        return sent if part.keeps_files else replace(sent, note=sent.note + await self._remove_files(ref))

    async def withdraw(self, ref: "Mapping[str, str]") -> str:
        """Delete a message of the bot; one that is too old for that loses its text and its buttons."""
        stay = await self._remove_files(ref)
        removed = await self._delete(ref["chat"], ref["id"])
        if removed is None:
            return f"it was deleted there already{stay}"
        if removed:
            return f"withdrew id={ref['id']}{stay}"
        place: dict[str, Any] = {"chat_id": _chat_id(ref["chat"]), "message_id": int(ref["id"])}
        await self._api.call("editMessageText", **place, text=WITHDRAWN)
        return f"id={ref['id']} is too old to delete; its text was removed{stay}"

    async def _remove_files(self, ref: "Mapping[str, str]") -> str:
        """Delete the files of a message; return what the note says about those that are too old for that."""
        found = [await self._delete(ref["chat"], each) for each in ref.get(FILES, "").split(",") if each]
        return " (its files are too old to delete)" if False in found else ""

    async def _delete(self, chat: str, message_id: str) -> bool | None:
        """Delete a message; return False if it is too old, `None` if it was deleted already."""
        try:
            await self._api.call("deleteMessage", chat_id=_chat_id(chat), message_id=int(message_id))
        except BotApiError as refusal:
            if refusal.mentions("message to delete not found", "MESSAGE_ID_INVALID"):
                return None
            if not refusal.mentions("message can't be deleted"):
                raise
            return False
        return True

    def body(self, part: Part) -> dict[str, Any]:
        """Return the parameters of `sendMessage`."""
        return self._draft(part).params()

    async def _send(self, draft: "Draft") -> Sent:
        while True:  # each amendment is made at most once
            try:
                if draft.files:
                    self._known_files.fill(draft)
                if draft.uploads:
                    sent = await self._api.upload(draft.method, draft.uploads, draft.params())
                else:
                    sent = await self._api.call(draft.method, **draft.params())
            except BotApiError as refusal:
                if draft.edits and refusal.mentions("message is not modified"):
                    same = {"message_id": draft.edits}
                    return Sent(draft.note(same), draft.ref(same))
                old_id = draft.chat_id
                if not self._amend(draft, refusal):
                    raise
                if draft.chat_id != old_id:
                    await self._report_move(str(old_id), str(draft.chat_id))
            else:
                self._known_files.keep(draft, sent)
                return Sent(draft.note(sent), draft.ref(sent))

    async def probe(self) -> str:
        """Check the token, and return the bot's user name."""
        bot = await self._api.call("getMe")
        return str(bot.get("username") or "?") if isinstance(bot, dict) else "?"

    def _draft(self, part: Part) -> "Draft":
        chat, _, thread = part.target.partition("/")
        chat_id = _chat_id(chat)
        mode = part.parse_mode or self.config[PARSE_MODE]
        thread_id = int(thread or GENERAL_TOPIC)
        draft = Draft(
            self._moved.get(chat_id, chat_id),
            part.text,
            None if mode in {PLAIN, COMMONMARK} else mode,
            None if thread_id == GENERAL_TOPIC else thread_id,
            list(part.markup),
            files=part.files,
        )
        if part.extra:
            draft.take_extras(part)
        if part.thread and (root := part.thread.ref.get("id")):
            draft.reply_to = draft.reply_to or int(root)
        if part.files and (text := part.message.get("id")):
            draft.reply_to = int(text)
        if part.content:
            self.dresser.dress(draft, part, part.content)
        return draft

    async def _report_move(self, old_id: str, new_id: str) -> None:
        for observer in self._on_moved:
            try:
                await observer(old_id, new_id)
            except TocsinError as error:  # a failing observer must not fail the send
                _log().warning("the new ID of a chat could not be stored", extra={"reason": error.sentence()})

    def _amend(self, draft: "Draft", refusal: BotApiError) -> bool:
        """Amend the draft after a refusal; return False if no amendment applies."""
        new_id = refusal.migrate_to
        if new_id is not None and not draft.moved:
            _log().warning("a chat has a new ID", extra={"old_id": draft.chat_id, "new_id": new_id})
            self._moved[draft.chat_id] = new_id
            draft.move(new_id)
        elif (draft.parse_mode and refusal.mentions("can't parse entities")) or (
            draft.entities and refusal.mentions("entit")
        ):
            _log().info(
                "the markup was rejected; the text was sent as plain text", extra={"reason": refusal.description}
            )
            draft.drop_markup()
        elif draft.thread_id and refusal.mentions("message thread not found", "TOPIC_DELETED"):
            draft.drop_thread()
        elif draft.file_ids and refusal.mentions(*NO_FILE):
            self._known_files.forget(draft)
        elif draft.files and not draft.as_documents and refusal.mentions(*NO_PHOTO):
            draft.as_documents = True
        elif draft.reply_to and refusal.mentions(*REPLY_GONE):
            draft.reply_to = None
        elif draft.edits and not draft.keyed and refusal.error_code in NOT_EDITABLE:
            draft.edits = None
        else:
            return False
        return True


def _chat_id(text: str) -> int | str:
    return text if text.startswith("@") else int(text)


def _log() -> "logging.Logger":
    # The import takes 3 ms, which commands that only list channels avoid.
    import logging

    return logging.getLogger(__name__)
