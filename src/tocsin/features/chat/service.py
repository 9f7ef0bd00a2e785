"""The service of conversations: list, send, stop and delete."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, NamedTuple

from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.core_variables import CHAT_MODEL, CHAT_MODEL_CAPABLE, CHAT_MODEL_FAST, CHAT_PROVIDER
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.pages import ListPage
from tocsin.core.process.identity import is_alive, is_dead, own_identity
from tocsin.features.ability_records import RecalledEntry
from tocsin.features.chat.answer import AnswerWriter, OnRestart, OnText
from tocsin.features.chat.answer_store import SILENCE_S, AnswerStore
from tocsin.features.chat.bot_conversations import (
    PREFIX,
    BotConversationEvents,
    BotConversations,
    bot_conversations,
    refuse_bot,
)
from tocsin.features.chat.feature import CHAT_ATTACH, CHAT_CREATE, CHAT_DELETE, CHAT_SEND, CHAT_STOP
from tocsin.features.chat.model import (
    MAX_ATTACHMENTS,
    AttachmentContent,
    AttachmentInfo,
    ChatConversation,
    ChatMessage,
    InvalidMessageError,
    ModelMissingError,
    TooManyAnswersError,
    UnknownConversationError,
)
from tocsin.features.chat.question import build_question, list_file_ids
from tocsin.features.chat.store import BegunAnswer, ChatStore, MessageDraft, Transcript
from tocsin.features.context import FeatureContext
from tocsin.providers.chat import HOW_TO_CONFIGURE, NOT_CONFIGURED
from tocsin.providers.contract import Completion, ProviderError
from tocsin.providers.files.documents import PICTURE, detect_kind, read_document
from tocsin.providers.files.pictures import fit

log = logging.getLogger(__name__)

MAX_ANSWERS = 8  # that one process writes concurrently
ALL_MESSAGES = 1_000
SETTLE_EVERY_S = 2.0
MEMORY_OF = "dashboard"  # the owner of the memory that conversations recall


@dataclass(frozen=True, slots=True)
class ChatModelInfo:
    """A model that can be asked."""

    schema_name: ClassVar[str] = "ModelRecord"

    model: str
    provider: str
    setting: Annotated[str, "Setting that configures the model."]
    default: bool


class ConversationListing(NamedTuple):
    """A page of conversations, the cursor of the next page, the total, and why some may be missing."""

    items: Sequence[ChatConversation]
    next_cursor: str | None
    total: int
    notice: str


class Chats:
    """The conversations of a data directory."""

    def __init__(self, context: FeatureContext, owner: str = "") -> None:
        self.store = ChatStore(context.database)
        self.bot_events = BotConversationEvents(context.abilities.bot, context.clock)
        self._answers_store = AnswerStore(context.database)
        self._context = context
        self._clock = context.clock
        self._owner = owner or own_identity()
        self._answers: dict[str, AnswerWriter] = {}  # by message
        self._tasks: set[asyncio.Task[None]] = set()
        self._beginning = 0  # answers that are recorded but not yet in `_answers`
        self._settled_at = float("-inf")
        self._wakers: list[Callable[[], None]] = []

    def on_events(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever this process has added events."""
        if wake not in self._wakers:
            self._wakers.append(wake)

    def models(self) -> list[ChatModelInfo]:
        """Return the configured models, the default first."""
        settings = self._context.settings
        provider = settings[CHAT_PROVIDER]
        named = [(settings[each], each.name) for each in (CHAT_MODEL, CHAT_MODEL_CAPABLE, CHAT_MODEL_FAST)]
        found = {model: setting for model, setting in reversed(named) if provider and model}
        usual = settings[CHAT_MODEL]
        return [ChatModelInfo(model, provider, found[model], model == usual) for model in reversed(found)]

    async def search(self, text: str = "", *, limit: int = 50, cursor: str = "") -> ListPage[ChatConversation]:
        """Return conversations, the last changed first."""
        await self.settle()
        return await self.store.search(text, limit, cursor)

    async def listing(self, text: str = "", *, limit: int = 50, cursor: str = "") -> ConversationListing:
        """Return a page of all conversations: those of the dashboard, then those of the bot by ID."""
        bot_page = await self.list_bot_conversations(text)
        in_bot = cursor.startswith(PREFIX)
        own = await self.search(text, limit=1 if in_bot else limit, cursor="" if in_bot else cursor)
        items: list[ChatConversation] = [] if in_bot else [*own.items]
        following, total = own.next_cursor, own.total + len(bot_page.items)
        if in_bot or following is None:
            begin = cursor if in_bot else PREFIX
            rest = sorted((each for each in bot_page.items if each.id > begin), key=lambda each: each.id)
            shown = rest[: limit - len(items)]
            following = (shown[-1].id if shown else begin) if len(rest) > len(shown) else None
            items += shown
        return ConversationListing(items, following, total, bot_page.notice)

    async def list_bot_conversations(self, text: str = "") -> BotConversations:
        """Return the conversations of the bot that this process can see."""
        return await bot_conversations(self._context.abilities.bot, text)

    async def transcript(self, conversation_id: str, *, limit: int = 100, before: str = "") -> Transcript:
        """Return a conversation with its last messages; raises UnknownConversationError."""
        if conversation_id.startswith(PREFIX):
            return await self.bot_events.transcript(conversation_id, limit, before)
        await self.settle()
        return await self.store.transcript(conversation_id, limit, before)

    async def create(
        self, source: str, *, title: str = "", system_prompt: str = "", model: str = ""
    ) -> ChatConversation:
        made = await self.store.create(title.strip(), system_prompt.strip(), model.strip(), self._clock.now())
        self._record(CHAT_CREATE, source, conversation=made.id)
        return made

    async def delete(self, conversation_id: str, source: str) -> None:
        """Delete a conversation and stop its answer in progress. Raises UnknownConversationError."""
        refuse_bot(conversation_id)
        written = await self._answers_store.ask_to_stop(conversation_id)
        await self.store.delete(conversation_id)
        self._stop(written)
        self._tell()
        self._record(CHAT_DELETE, source, conversation=conversation_id)

    async def send(self, draft: MessageDraft, source: str) -> BegunAnswer:
        """Record a question, and start the answer in the background.

        Raises UnknownConversationError, ConversationBusyError, MessageReusedError, ModelMissingError,
        TooManyAnswersError, InvalidMessageError.
        """
        if not draft.content.strip() and not draft.attachments:
            raise InvalidMessageError("the message is empty", hint="write something", body_key="content")
        if len(draft.attachments) > MAX_ATTACHMENTS:
            raise InvalidMessageError(f"a message can have at most {MAX_ATTACHMENTS} files", hint="send fewer files")
        refuse_bot(draft.conversation_id)
        await self.settle()
        await self._check_model(draft.model)
        if len(self._answers) + self._beginning >= MAX_ANSWERS:
            raise TooManyAnswersError(f"{MAX_ANSWERS} answers are already in progress", hint="wait until one has ended")
        self._beginning += 1
        try:
            begun = await self.store.begin(draft, self._owner, self._clock.now())
            if begun.is_new:
                self._start(begun)
        finally:
            self._beginning -= 1
        if begun.is_new:
            self._tell()
            self._record(
                CHAT_SEND,
                source,
                conversation=begun.question.conversation_id,
                message=begun.question.id,
                chars=len(draft.content),
                attachments=len(draft.attachments),
                replaced=begun.replaced,
            )
        return begun

    async def stop(self, conversation_id: str, source: str) -> ChatMessage | None:
        """Stop the answer in progress in any process; return it, or `None` if there is none.

        The text so far is kept. Raises UnknownConversationError.
        """
        refuse_bot(conversation_id)
        await self.settle()
        written = await self._answers_store.ask_to_stop(conversation_id)
        if written is None:
            return None
        self._stop(written)
        self._record(CHAT_STOP, source, conversation=conversation_id, message=written.id)
        return written

    async def attach(self, name: str, media_type: str, data: bytes, source: str) -> AttachmentInfo:
        """Read a file and store it for a later message; raises InvalidMessageError, UnreadableFileError."""
        if not data:
            raise InvalidMessageError("the file is empty", hint="send the content of the file as the body")
        content = await _read(name, media_type, data)
        await self.store.add_attachment(content, self._clock.now())
        self._record(CHAT_ATTACH, source, bytes=len(data), media_type=content.info.media_type)
        return content.info

    async def attachment(self, attachment_id: str) -> AttachmentInfo:
        """Return the record of a stored file; raises UnknownConversationError."""
        found = await self.store.attachments([attachment_id])
        if attachment_id not in found:
            raise UnknownConversationError(
                f"unknown file: {attachment_id[:60]!r}",
                hint="files are kept for a day, or as long as their conversation",
            )
        return found[attachment_id].info

    async def settle(self) -> None:
        """End the answers of ended processes; runs at most every few seconds."""
        now = self._clock.monotonic()
        if now - self._settled_at < SETTLE_EVERY_S:
            return
        self._settled_at = now
        if await self._answers_store.interrupt(self._is_left, self._clock.now()):
            self._tell()

    async def prune(self) -> None:
        """End answers of dead processes, and delete old events and files."""
        await self.settle()
        await self.store.prune(self._clock.now())

    async def aclose(self) -> None:
        """End all answers of this process, and wait until that is recorded."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _check_model(self, model: str) -> None:
        """Raise ModelMissingError if no model is available."""
        if not self._context.settings[CHAT_PROVIDER]:
            raise ModelMissingError(NOT_CONFIGURED, hint=HOW_TO_CONFIGURE)
        try:
            async with self._context.abilities.models.open(model):
                pass
        except (ConfigError, ProviderError) as error:
            raise ModelMissingError(str(error), hint=error.hint) from None

    def _start(self, begun: BegunAnswer) -> None:
        ask = partial(self._ask, begun)
        writer = AnswerWriter(begun.answer.id, self._owner, ask, self._answers_store, self._clock, self._tell)
        self._answers[begun.answer.id] = writer
        task = asyncio.create_task(writer.write(), name=f"answer {begun.answer.id}")
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, begun.answer.id))

    def _ended(self, message_id: str, task: asyncio.Task[None]) -> None:
        self._answers.pop(message_id, None)
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            raise error  # a bug, for the log of the event loop

    async def _ask(self, begun: BegunAnswer, on_text: OnText, on_restart: OnRestart) -> Completion:
        found = await self.store.transcript(begun.answer.conversation_id, ALL_MESSAGES)
        messages = [message for message in found.messages if message.id != begun.answer.id]
        recalled = await self._recall(begun.question.content)
        files = await self.store.attachments(list_file_ids(messages))
        question = build_question(found.conversation, messages, files, recalled)
        async with self._context.abilities.models.open(found.conversation.chosen_model) as model:
            return await model.ask(question, on_text, on_restart)

    async def _recall(self, question: str) -> Sequence[RecalledEntry]:
        """Return the memory entries for a question; a failure does not prevent the answer."""
        try:
            return await self._context.abilities.chat_notes.recall(MEMORY_OF, question) if question.strip() else ()
        except TocsinError as error:
            log.warning("memory is not used for this answer", extra={"reason": error.sentence()})
            return ()

    def _stop(self, message: ChatMessage | None) -> None:
        if message is not None and (writer := self._answers.get(message.id)):
            writer.stop()

    def _is_left(self, message_id: str, owner: str, silent_s: float) -> bool:
        """Return True if the answer has no writer any more."""
        if owner == self._owner:
            return message_id not in self._answers and not self._beginning
        return is_dead(owner) or (silent_s > SILENCE_S and not is_alive(owner))

    def _tell(self) -> None:
        for wake in self._wakers:
            wake()

    def _record(self, action: AuditAction, source: str, **facts: object) -> None:
        self._context.audit.record(action, action.doc.rstrip("."), source=source, metadata=facts)


async def _read(name: str, media_type: str, data: bytes) -> AttachmentContent:
    """Return the content of a file for a model."""
    mime = media_type.partition(";")[0].strip().lower()
    kind = detect_kind(name, mime)
    if not kind:
        raise InvalidMessageError(
            f"files of type {mime[:60] or 'unknown'} are not supported",
            hint="send a picture (JPEG, PNG, GIF, WebP), a text, a PDF or an Office document",
        )
    shown = name.strip()[:200] or "file"
    if kind == PICTURE:
        picture = await fit(data)
        info = AttachmentInfo(new_id(), shown, "picture", picture.media_type, len(data))
        return AttachmentContent(info, data=picture.data)
    document = await read_document(kind, data)
    info = AttachmentInfo(new_id(), shown, "document", mime, len(data), document.cut)
    return AttachmentContent(info, document.text)
