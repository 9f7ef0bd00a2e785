"""The operations on conversations."""

from typing import Annotated, Any, Literal

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from tocsin.features.chat.feed import feed_of
from tocsin.features.chat.model import MAX_ATTACHMENTS, MAX_MESSAGE, MAX_PROMPT, MAX_TITLE, InvalidMessageError
from tocsin.features.chat.service import Chats
from tocsin.features.chat.store import MessageDraft
from tocsin.features.hooks import OperationsOf
from tocsin.providers.files.documents import KINDS, UNKNOWN_TYPES
from tocsin.providers.files.reading import UnreadableFileError
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.event_stream import EVENT_STREAM, last_event_id
from tocsin.rest.models import RequestModel, ResponseModel, Time
from tocsin.rest.operations import Operations, operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.reading import JSON

# A body of JSON is a request; a file of JSON comes as text/plain.
FILE_TYPES = tuple(sorted({*KINDS, *UNKNOWN_TYPES} - {JSON, ""}))


class UsageRecord(ResponseModel):
    """How much of the model was used."""

    input_tokens: int
    output_tokens: int


class LastMessage(ResponseModel):
    """The last message of a conversation."""

    role: Literal["user", "assistant", "system"]
    preview: str
    at: Time | None


class ConversationRecord(ResponseModel):
    """A conversation."""

    id: str
    title: str
    created_at: Time | None
    updated_at: Time | None
    message_count: int
    model: str | None
    provider: str | None
    system_prompt: str
    source: str = Field(description="`dashboard`, or the kind of the channel of the bot: then it can only be read.")
    status: Literal["idle", "generating"]
    last_message: LastMessage | None
    usage: UsageRecord


class MessageError(ResponseModel):
    """Why there is no answer, or only a part of one."""

    code: str
    message: str


class AttachmentRecord(ResponseModel):
    """A file that belongs to a message."""

    id: str
    name: str
    kind: Literal["picture", "document"]
    media_type: str
    bytes: int
    truncated: bool = Field(description="Whether the model is shown only the beginning.")


class MessageRecord(ResponseModel):
    """A message."""

    id: str
    conversation_id: str
    role: Literal["user", "assistant", "system"]
    content: str
    status: Literal["pending", "streaming", "complete", "stopped", "failed"]
    seq: int = Field(description="The number of the last event that changed it.")
    created_at: Time | None
    finished_at: Time | None
    model: str | None
    provider: str | None
    usage: UsageRecord
    truncated: bool = Field(description="Whether the model's limit for one answer cut it off.")
    error: MessageError | None
    attachments: list[AttachmentRecord]
    client_message_id: str | None


class ConversationPageRecord(Page[ConversationRecord]):
    """A page of conversations; those of the bot come last."""

    notice: str | None = Field(description="Why conversations of the bot may be missing.")


class TranscriptRecord(ConversationRecord):
    """A conversation and its messages."""

    messages: list[MessageRecord]
    has_earlier: bool = Field(description="Whether there are messages before these: ask with `before`.")
    last_event_id: str = Field(description="Events after this one are not in the messages.")


class NewConversation(RequestModel):
    """A conversation to begin."""

    title: str = Field(default="", max_length=MAX_TITLE, description="Without one, the first message gives it.")
    model: str = Field(default="", max_length=200, description="Another model of the provider than CHAT_MODEL.")
    system_prompt: str = Field(default="", max_length=MAX_PROMPT, description="Replaces the usual instructions.")


class NewMessage(RequestModel):
    """A message to answer, or `stop`."""

    conversation_id: str = Field(default="", max_length=200, description="Without one, a conversation is begun.")
    content: str = Field(default="", max_length=MAX_MESSAGE, examples=["How do I restart the backup?"])
    client_message_id: str = Field(
        default="", max_length=100, description="The same one sends a message once, however often it is sent."
    )
    model: str = Field(default="", max_length=200, description="Another model of the provider, from here on.")
    replace_message_id: str = Field(
        default="", max_length=100, description="A message of yours that it replaces; all after that are deleted."
    )
    attachments: list[str] = Field(default=[], max_length=MAX_ATTACHMENTS, description="IDs of files.")
    stop: bool = Field(default=False, description="Stop the answer that is being written, and send nothing.")


class SentRecord(ResponseModel):
    """A message that is being answered."""

    conversation_id: str
    user_message: MessageRecord
    assistant_message: MessageRecord
    stream: str = Field(description="Where the answer can be followed.")


class StoppedRecord(ResponseModel):
    """An answer that is being stopped."""

    conversation_id: str
    assistant_message: MessageRecord | None = Field(description="None where no answer was being written.")


class ModelRecord(ResponseModel):
    """A model that can be asked."""

    model: str
    provider: str
    setting: str = Field(description="The setting that names it.")
    default: bool


class ModelList(ResponseModel):
    """The models that the settings name."""

    items: list[ModelRecord]


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events, until the client goes or the conversation is deleted.",
        "content": {EVENT_STREAM: {}},
    }
}
_STOPPED: dict[int | str, dict[str, Any]] = {
    200: {"model": StoppedRecord, "description": "The answer is being stopped; what was written stays."}
}
_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {media: {"schema": {"type": "string", "format": "binary"}} for media in FILE_TYPES},
    }
}


class ChatRoutes:
    """The operations on conversations."""

    def __init__(self, chats: Chats) -> None:
        self._chats = chats

    @operation("GET", "/api/chat/conversations", problems=("validation-failed",), answer=ConversationPageRecord)
    async def list_conversations(
        self,
        paging: PagingOf,
        q: Annotated[
            str, Query(max_length=200, description="Only those that have this text in their title or messages.")
        ] = "",
    ) -> Any:
        """List the conversations, the last changed first; behind them those of the bot, which can only be read."""
        found = await self._chats.listing(q, limit=paging.limit, cursor=paging.start)
        page = paging.page((each.as_document() for each in found.items), found.next_cursor, found.total)
        return {**page, "notice": found.notice or None}

    @operation(
        "POST",
        "/api/chat/conversations",
        scope="run",
        once=True,
        problems=("validation-failed",),
        status=201,
        answer=ConversationRecord,
    )
    async def create_conversation(self, response: Response, body: NewConversation | None = None) -> Any:
        """Begin a conversation."""
        wish = body or NewConversation()
        made = await self._chats.create(
            DASHBOARD.name, title=wish.title, system_prompt=wish.system_prompt, model=wish.model
        )
        response.headers["Location"] = f"/api/chat/conversations/{made.id}"
        return tag(response, made.as_document(), _version(made))

    @operation(
        "GET",
        "/api/chat/conversations/{cid}",
        problems=("not-found", "validation-failed"),
        answer=TranscriptRecord,
    )
    async def get_conversation(
        self,
        response: Response,
        cid: str,
        limit: Annotated[int, Query(ge=1, le=200, description="How many messages.")] = 100,
        before: Annotated[str, Query(max_length=200, description="Only messages before this one.")] = "",
    ) -> Any:
        """Return a conversation with its last messages, the oldest first."""
        found = await self._chats.transcript(cid, limit=limit, before=before)
        record = {
            **found.conversation.as_document(),
            "messages": [message.as_document() for message in found.messages],
            "has_earlier": found.has_earlier,
            "last_event_id": f"{cid}:{found.conversation.seq}",
        }
        return tag(response, record, _version(found.conversation))

    @operation(
        "DELETE",
        "/api/chat/conversations/{cid}",
        scope="run",
        problems=("not-found", "conflict", "precondition-failed"),
        status=204,
        answer=None,
    )
    async def delete_conversation(self, request: Request, cid: str) -> Response:
        """Delete a conversation; an answer that is being written is stopped. `If-Match` is honoured."""
        if "if-match" in request.headers:
            check_unchanged(request, _version((await self._chats.transcript(cid, limit=1)).conversation))
        await self._chats.delete(cid, DASHBOARD.name)
        return Response(status_code=204)

    @operation(
        "POST",
        "/api/chat/send",
        scope="run",
        once=True,
        problems=("not-found", "conflict", "validation-failed", "idempotency-key-reused"),
        status=202,
        answer=SentRecord,
        responses=_STOPPED,
    )
    async def send_chat_message(self, body: NewMessage, response: Response) -> Any:
        """Put a message to the chat model, or stop its answer.

        The answer is written in the background: follow it where `stream` says, or read the conversation again.
        """
        if body.stop:
            return await self._stop(body)
        begun = await self._chats.send(
            MessageDraft(
                body.content,
                body.conversation_id,
                body.client_message_id,
                body.model,
                body.replace_message_id,
                tuple(body.attachments),
            ),
            DASHBOARD.name,
        )
        conversation_id = begun.question.conversation_id
        response.headers["Location"] = f"/api/chat/conversations/{conversation_id}"
        return {
            "conversation_id": conversation_id,
            "user_message": begun.question.as_document(),
            "assistant_message": begun.answer.as_document(),
            "stream": f"/api/chat/stream?conversation_id={conversation_id}",
        }

    async def _stop(self, body: NewMessage) -> Any:
        if not body.conversation_id or body.given().keys() - {"conversation_id", "stop"}:
            raise InvalidMessageError(
                "stop goes with nothing but conversation_id", hint="send both, and nothing else", body_key="stop"
            )
        stopped = await self._chats.stop(body.conversation_id, DASHBOARD.name)
        message = stopped.as_document() if stopped else None
        return JSONResponse({"conversation_id": body.conversation_id, "assistant_message": message})

    @operation(
        "GET",
        "/api/chat/stream",
        problems=("not-found", "validation-failed"),
        responses=_STREAM,
        response_class=Response,
    )
    async def stream_conversation(
        self,
        request: Request,
        conversation_id: Annotated[str, Query(max_length=200)],
        after: Annotated[
            str,
            Query(max_length=250, description="`last_event_id` of the conversation, where no header can be sent."),
        ] = "",
        _: Annotated[
            str, Header(alias="Last-Event-ID", description="The last event that the client saw; events follow it.")
        ] = "",
    ) -> Any:
        """Stream the events of a conversation, as server-sent events.

        `message.created` carries a message that is new or begins anew, `message.delta` text to add to one,
        `message.completed` the whole message, `message.failed` why it ends, `conversation.updated` the conversation.
        After `resync` events are missing: read the conversation again. Events have numbers: one that is not above
        `last_event_id` of what was read is in it already. Who names no event gets those of the last question first.
        A conversation of the bot is told when an answer is on its way: question and answer, each as a whole.
        """
        self._chats.on_events(request.app.state.live.wake)
        feed = feed_of(self._chats, conversation_id)
        seen = last_event_id(request) or after or await feed.beginning()
        return await request.app.state.live.follow(feed, seen)

    @operation("GET", "/api/chat/models", extension=True, answer=ModelList)
    async def list_chat_models(self) -> Any:
        """List the chat models that the settings name, the usual one first; none where no provider is set up."""
        items = [
            {"model": each.model, "provider": each.provider, "setting": each.setting, "default": each.is_default}
            for each in self._chats.models()
        ]
        return {"items": items}

    @operation(
        "POST",
        "/api/chat/attachments",
        scope="run",
        once=True,
        extension=True,
        problems=("validation-failed",),
        status=201,
        answer=AttachmentRecord,
        media=FILE_TYPES,
        openapi_extra=_FILE,
    )
    async def create_chat_attachment(
        self,
        request: Request,
        response: Response,
        name: Annotated[str, Query(max_length=200, description="The name of the file.", examples=["report.pdf"])] = "",
    ) -> Any:
        """Give a file for a message: a picture, a text, a PDF or an Office document, as the body, at most 1 MiB.

        Put its `id` into `attachments` of a message within a day.
        """
        media_type = request.headers.get("content-type", "")
        info = await self._chats.attach(name, media_type, await request.body(), DASHBOARD.name)
        response.headers["Location"] = f"/api/chat/attachments/{info.id}"
        return info.as_document()

    @operation("GET", "/api/chat/attachments/{aid}", extension=True, problems=("not-found",), answer=AttachmentRecord)
    async def get_chat_attachment(self, aid: str) -> Any:
        """Return what is known of a file that was given for a message, while it is kept."""
        return (await self._chats.attachment(aid)).as_document()


def _version(conversation: Any) -> object:
    """Return what changes with a conversation: the number of its last event."""
    return [conversation.id, conversation.seq]


def chat_operations(chats: Chats) -> Operations:
    """Return the operations."""
    return Operations("chat", ChatRoutes(chats), {UnreadableFileError: "validation-failed"})


OPERATIONS: OperationsOf[Chats] = chat_operations
