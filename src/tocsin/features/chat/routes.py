"""The operations on conversations."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse

from tocsin.core.reading.fields import ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.core.records.marks import TextOrNull
from tocsin.features.chat.feed import feed_for
from tocsin.features.chat.model import (
    MAX_ATTACHMENTS,
    MAX_MESSAGE,
    MAX_PROMPT,
    MAX_TITLE,
    AttachmentInfo,
    ChatConversation,
    ChatMessage,
    InvalidMessageError,
)
from tocsin.features.chat.service import ChatModelInfo, Chats
from tocsin.features.chat.store import MessageDraft, Transcript
from tocsin.providers.files.documents import KINDS, UNKNOWN_TYPES
from tocsin.providers.files.reading import UnreadableFileError
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.event_stream import EVENT_STREAM, last_event_id
from tocsin.rest.headers import JSON
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf

# A JSON body is a request; a JSON file is sent as text/plain.
FILE_TYPES = tuple(sorted({*KINDS, *UNKNOWN_TYPES} - {JSON, ""}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPageRecord(Page[ChatConversation]):
    """Page of conversations; those of the bot are last."""

    notice: Annotated[TextOrNull, "Reason why conversations of the bot may be missing."]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation(RequestBody):
    """Conversation to start."""

    title: Annotated[str, text(MAX_TITLE), "Title; by default, the beginning of the first message."] = ""
    model: Annotated[str, text(200), "Model of the provider to use instead of CHAT_MODEL."] = ""
    system_prompt: Annotated[str, text(MAX_PROMPT), "System prompt to use instead of the default one."] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(RequestBody):
    """Message to answer, or `stop`."""

    conversation_id: Annotated[str, text(200), "Conversation of the message; by default, a new one is started."] = ""
    content: Annotated[str, text(MAX_MESSAGE, examples=("How do I restart the backup?",))] = ""
    client_message_id: Annotated[
        str, text(100), "Idempotency key: requests with the same key send the message only once."
    ] = ""
    model: Annotated[str, text(200), "Model of the provider to use from this message."] = ""
    replace_message_id: Annotated[str, text(100), "Message of yours to replace; all later messages are deleted."] = ""
    attachments: Annotated[
        list[str], Written(ListType(TextType(), max_items=MAX_ATTACHMENTS)), "IDs of uploaded files."
    ] = field(default_factory=list)
    stop: Annotated[bool, FLAG, "Stop the answer in progress, and send no message."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRecord:
    """Message that is being answered."""

    conversation_id: str
    user_message: ChatMessage
    assistant_message: ChatMessage
    stream: Annotated[str, "URL of the event stream of the answer."]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedRecord:
    """Answer that is being stopped."""

    conversation_id: str
    assistant_message: Annotated[ChatMessage | None, "Null if no answer was in progress."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """Models named in the settings."""

    items: list[ChatModelInfo]


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events, until the client disconnects or the conversation is deleted.",
        "content": {EVENT_STREAM: {}},
    }
}
_STOPPED: dict[int | str, dict[str, Any]] = {
    200: {"model": StoppedRecord, "description": "The answer is being stopped; its text so far is kept."}
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
        q: Annotated[str, Query(max_length=200, description="Text in the title or messages.")] = "",
    ) -> Any:
        """List conversations, most recently changed first, followed by the read-only conversations of the bot."""
        found = await self._chats.listing(q, limit=paging.limit, cursor=paging.start)
        page = paging.page(found.items, found.next_cursor, found.total)
        return ConversationPageRecord(
            items=page.items, next_cursor=page.next_cursor, total=page.total, notice=found.notice
        )

    @operation(
        "POST",
        "/api/chat/conversations",
        scope="run",
        once=True,
        problems=("validation-failed",),
        status=201,
        answer=ChatConversation,
    )
    async def create_conversation(self, response: Response, body: NewConversation | None = None) -> Any:
        """Start a conversation."""
        wish = body or NewConversation()
        made = await self._chats.create(
            DASHBOARD.name, title=wish.title, system_prompt=wish.system_prompt, model=wish.model
        )
        response.headers["Location"] = f"/api/chat/conversations/{made.id}"
        return tag(response, made, _version(made))

    @operation(
        "GET",
        "/api/chat/conversations/{cid}",
        problems=("not-found", "validation-failed"),
        answer=Transcript,
    )
    async def get_conversation(
        self,
        response: Response,
        cid: str,
        limit: Annotated[int, Query(ge=1, le=200, description="Maximum number of messages.")] = 100,
        before: Annotated[str, Query(max_length=200, description="Only messages before this one.")] = "",
    ) -> Any:
        """Get a conversation with its last messages, oldest first."""
        found = await self._chats.transcript(cid, limit=limit, before=before)
        return tag(response, found, _version(found.conversation))

    @operation(
        "DELETE",
        "/api/chat/conversations/{cid}",
        scope="run",
        problems=("not-found", "conflict", "precondition-failed"),
    )
    async def delete_conversation(self, request: Request, cid: str) -> None:
        """Delete a conversation, and stop an answer in progress; `If-Match` is supported."""
        if "if-match" in request.headers:
            check_unchanged(request, _version((await self._chats.transcript(cid, limit=1)).conversation))
        await self._chats.delete(cid, DASHBOARD.name)

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
        """Send a message to the chat model, or stop its answer.

        The answer is written in the background: follow the event stream at `stream`, or get the conversation again.
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
        return SentRecord(
            conversation_id=conversation_id,
            user_message=begun.question,
            assistant_message=begun.answer,
            stream=f"/api/chat/stream?conversation_id={conversation_id}",
        )

    async def _stop(self, body: NewMessage) -> Any:
        if not body.conversation_id or body.given - {"conversation_id", "stop"}:
            raise InvalidMessageError(
                "stop can be combined only with conversation_id", hint="send only these two fields", body_key="stop"
            )
        stopped = await self._chats.stop(body.conversation_id, DASHBOARD.name)
        return JSONResponse(to_json(StoppedRecord(conversation_id=body.conversation_id, assistant_message=stopped)))

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
            Query(
                max_length=250, description="`last_event_id` of the conversation, for clients that cannot send headers."
            ),
        ] = "",
        _: Annotated[
            str, Header(alias="Last-Event-ID", description="ID of the last received event; later events follow.")
        ] = "",
    ) -> Any:
        """Stream the events of a conversation as server-sent events.

        `message.created` contains a message that is new or starts again, `message.delta` text to append to a message,
        `message.completed` the whole message, `message.failed` the reason for a failure, `conversation.updated` the
        conversation. After `resync`, events have been lost: get the conversation again. Events are numbered; those up
        to `last_event_id` of the conversation are already included in it. Without `Last-Event-ID`, the events since
        the last question are replayed. A conversation of the bot has an event when an answer starts, and the question
        and answer as whole messages.
        """
        self._chats.on_events(request.app.state.live.wake)
        feed = feed_for(self._chats, conversation_id)
        seen = last_event_id(request) or after or await feed.beginning()
        return await request.app.state.live.follow(feed, seen)

    @operation("GET", "/api/chat/models", extension=True, answer=ModelList)
    async def list_chat_models(self) -> Any:
        """List the chat models named in the settings, the default first; the list is empty without a provider."""
        return ModelList(items=self._chats.models())

    @operation(
        "POST",
        "/api/chat/attachments",
        scope="run",
        once=True,
        extension=True,
        problems=("validation-failed",),
        status=201,
        answer=AttachmentInfo,
        media=FILE_TYPES,
        openapi_extra=_FILE,
    )
    async def create_chat_attachment(
        self,
        request: Request,
        response: Response,
        name: Annotated[str, Query(max_length=200, description="Name of the file.", examples=["report.pdf"])] = "",
    ) -> Any:
        """Upload a file for a message: a picture, text, PDF or Office document, as the body, up to 1 MiB.

        Add its `id` to `attachments` of a message within a day.
        """
        media_type = request.headers.get("content-type", "")
        info = await self._chats.attach(name, media_type, await request.body(), DASHBOARD.name)
        response.headers["Location"] = f"/api/chat/attachments/{info.id}"
        return info

    @operation("GET", "/api/chat/attachments/{aid}", extension=True, problems=("not-found",), answer=AttachmentInfo)
    async def get_chat_attachment(self, aid: str) -> Any:
        """Get the metadata of an uploaded file, while it is kept."""
        return await self._chats.attachment(aid)


def _version(conversation: Any) -> object:
    """Return the version of a conversation: the number of its last event."""
    return [conversation.id, conversation.seq]


OPERATIONS = operations_of("chat", ChatRoutes, {UnreadableFileError: "validation-failed"})
