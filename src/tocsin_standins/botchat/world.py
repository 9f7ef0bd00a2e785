"""The state of the Telegram stand-in (chats, messages, files), and its refusals."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tocsin_standins.botchat.entities import cleaned, mistake
from tocsin_standins.botchat.markup import MODES, Entity, MarkupError, parse, units
from tocsin_standins.serving import RefusalError, whole_seconds

BOT_ID, BOT_USERNAME = 7000000001, "tocsin_standin_bot"
ME = {"id": BOT_ID, "is_bot": True, "first_name": "Tocsin", "username": BOT_USERNAME}
MAX_TEXT = 4096  # sendMessage, after entities are parsed
MAX_CALLBACK_DATA_BYTES = 64

BLOCKED = "Forbidden: bot was blocked by the user"
DEACTIVATED = "Forbidden: user is deactivated"
KICKED = "Forbidden: bot was kicked from the group chat"
NOT_STARTED = "Forbidden: bot can't initiate conversation with a user"
NOT_FOUND = "Bad Request: chat not found"

BLOCKED_CHAT, DEACTIVATED_CHAT, NOT_STARTED_CHAT, MISSING_CHAT, KICKED_CHAT = 4030, 4031, 4032, 4040, -4033
MIGRATED_CHAT, NEW_CHAT, FORUM_CHAT, GROUP_CHAT = -2001, -1002000000001, -1001000000001, -3001


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat; `refusal` is the error that every call gets, `topics` the threads of a forum."""

    id: int
    type: str = "private"
    title: str = ""
    username: str = ""
    topics: frozenset[int] = frozenset()
    migrated_to: int = 0
    refusal: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the Bot API's Chat."""
        name = "first_name" if self.type == "private" else "title"
        chat: dict[str, Any] = {"id": self.id, "type": self.type, name: self.title or f"Chat {self.id}"}
        if self.username:
            chat["username"] = self.username
        return chat | ({"is_forum": True} if self.topics else {})


CHATS = (
    Chat(1001, title="Alice", username="alice"),
    Chat(1002, title="Bob", username="bob"),
    Chat(GROUP_CHAT, "group", "Kitchen"),
    Chat(FORUM_CHAT, "supergroup", "Operations", "operations", topics=frozenset({5, 7})),
    Chat(MIGRATED_CHAT, "group", "Old team", migrated_to=NEW_CHAT),
    Chat(NEW_CHAT, "supergroup", "Team"),
    Chat(BLOCKED_CHAT, refusal=BLOCKED),
    Chat(DEACTIVATED_CHAT, refusal=DEACTIVATED),
    Chat(NOT_STARTED_CHAT, refusal=NOT_STARTED),
    Chat(MISSING_CHAT, refusal=NOT_FOUND),
    Chat(KICKED_CHAT, "group", refusal=KICKED),
)


def refuse(description: str, **parameters: Any) -> RefusalError:
    """Return the Bot API's refusal; the start of the description determines the code."""
    return RefusalError(refusal(description, **parameters))


def refusal(description: str, code: int = 0, **parameters: Any) -> web.Response:
    codes = {"Bad Request": 400, "Unauthorized": 401, "Forbidden": 403, "Not Found": 404, "Conflict": 409}
    codes |= {"Request Entity Too Large": 413, "Too Many Requests": 429, "Internal Server Error": 500}
    code = code or codes.get(description.partition(":")[0], 400)
    body: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
    if parameters:
        body["parameters"] = parameters
    headers = {"Retry-After": whole_seconds(parameters["retry_after"])} if "retry_after" in parameters else {}
    return web.json_response(body, status=code, headers=headers)


def too_many_requests(seconds: float) -> web.Response:
    """Return the 429, with the seconds in body and header."""
    wait_s = max(1, math.ceil(seconds))
    return refusal(f"Too Many Requests: retry after {wait_s}", retry_after=wait_s)


@dataclass(slots=True)
class World:
    """State shared by the methods. With `open_world`, every numeric ID is a chat."""

    chats: dict[int, Chat]
    open_world: bool = True
    messages: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    reactions: dict[tuple[int, int], str] = field(default_factory=dict)
    callbacks: set[str] = field(default_factory=set)
    files: dict[str, tuple[str, bytes, int]] = field(default_factory=dict)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def chat(self, given: Any) -> Chat:
        """Return the chat that a call names, or refuse as the product does."""
        chat = self._look_up(given)
        if chat is None:
            raise refuse(NOT_FOUND)
        if chat.migrated_to:
            raise refuse(
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=chat.migrated_to,
            )
        if chat.refusal:
            raise refuse(chat.refusal)
        return chat

    def _look_up(self, given: Any) -> Chat | None:
        if given is None or given == "":
            raise refuse("Bad Request: chat_id is empty")
        if isinstance(given, str) and given.startswith("@"):
            return next((c for c in self.chats.values() if c.username == given[1:].lower()), None)
        number = integer(given)
        if number is None:
            return None
        return self.chats.get(number) or (self.visitor(number) if self.open_world else None)

    def visitor(self, chat_id: int) -> Chat:
        """Create the chat for an unknown numeric ID."""
        if chat_id > 0:
            return Chat(chat_id)
        return Chat(chat_id, "supergroup" if str(chat_id).startswith("-100") else "group")

    def add_message(self, chat: Chat, sender: Mapping[str, Any], at: float, **parts: Any) -> dict[str, Any]:
        """Store a new message and return it in the Bot API's form."""
        message_id = next(self.ids)
        message = {"message_id": message_id, "from": dict(sender), "chat": chat.as_json(), "date": int(at)}
        message |= {name: value for name, value in parts.items() if value not in (None, [], "")}
        self.messages[chat.id, message_id] = message
        return message


def integer(value: Any) -> int | None:
    """Return an integer given as a number or digits, else `None`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value) else None


def decoded(value: Any, name: str) -> Any:
    """Decode the JSON text of an object or list in a form."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value else None
    except ValueError:
        raise refuse(f"Bad Request: can't parse {name} JSON object") from None


def formatted(
    args: Mapping[str, Any], *, max_chars: int, utf16: bool, strict: bool = False
) -> tuple[str, list[Entity]]:
    """Read `text` with `parse_mode` or `entities`: trim, measure, check entities.

    With `strict`, refuse entities that the product would repair.
    """
    source = args.get("text")
    if not isinstance(source, str) or not source:
        raise refuse("Bad Request: message text is empty")
    mode = str(args.get("parse_mode") or "")
    if mode.casefold() not in MODES:
        raise refuse("Bad Request: unsupported parse_mode")
    try:
        text, entities = parse(source, mode)
    except MarkupError as error:
        raise refuse(f"Bad Request: can't parse entities: {error}") from None
    if not mode:
        entities = checked_entities(text, decoded(args.get("entities"), "entities") or [])
        if strict and entities and (wrong := mistake(text, entities)):
            raise refuse(f"Bad Request: can't parse entities: {wrong}")
    text = text.replace("\r", "")
    text, entities = trimmed(text, cleaned(text, entities))
    if not text.strip():
        raise refuse("Bad Request: message text is empty")
    if (units(text) if utf16 else len(text)) > max_chars:
        raise refuse("Bad Request: message is too long")
    return text, entities


def trimmed(text: str, entities: Iterable[Entity]) -> tuple[str, list[Entity]]:
    """Strip white space at both ends, as the server does, and shift the entities."""
    cut = units(text[: len(text) - len(text.lstrip(" \n"))])
    text = text.strip(" \n")
    total, moved = units(text), []
    for entity in entities:
        start = max(0, entity["offset"] - cut)
        stop = min(total, entity["offset"] + entity["length"] - cut)
        if stop > start:
            moved.append({**entity, "offset": start, "length": stop - start})
    return text, moved


def checked_entities(text: str, entities: Any) -> list[Entity]:
    """Check given entities against UTF-16 positions; drop empty ones, as the server does."""
    if not isinstance(entities, list) or not all(isinstance(entity, dict) for entity in entities):
        raise refuse("Bad Request: can't parse entities: expected an Array of MessageEntity")
    borders = set(itertools.accumulate((units(char) for char in text), initial=0))
    for entity in entities:
        start, length = integer(entity.get("offset")), integer(entity.get("length"))
        if start is None or length is None or not isinstance(entity.get("type"), str):
            raise refuse("Bad Request: can't parse MessageEntity: Can't find field \"offset\"")
        if length <= 0 or start < 0:
            continue
        _check_span(text, borders, start, start + length)
    return [e for e in entities if e["length"] > 0 and e["offset"] >= 0]


def _check_span(text: str, borders: set[int], start: int, stop: int) -> None:
    if stop > units(text):
        raise refuse(
            f"Bad Request: entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16"
            f" offset {stop}"
        )
    if start not in borders:
        raise refuse(
            f"Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset {_byte_at(text, start)}"
        )
    if stop not in borders:
        raise refuse(
            f"Bad Request: entity beginning at UTF-16 offset {start} ends in a middle of a UTF-16 symbol at"
            f" byte offset {_byte_at(text, stop)}"
        )


def _byte_at(text: str, unit: int) -> int:
    """Return the UTF-8 position after the symbol at a UTF-16 position."""
    before = text.encode("utf-16-le")[: (unit + 1) * 2]
    return len(before.decode("utf-16-le", "ignore").encode())


def check_keyboard(markup: Any) -> dict[str, Any] | None:
    """Check an inline keyboard's buttons; accept other keyboards unchecked."""
    markup = decoded(markup, "reply keyboard markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise refuse("Bad Request: object expected as reply markup")
    for row in markup.get("inline_keyboard", []):
        for button in row:
            data = button.get("callback_data")
            if not button.get("text"):
                raise refuse("Bad Request: can't parse inline keyboard button: Text must be non-empty")
            if data is not None and not 1 <= len(str(data).encode()) <= MAX_CALLBACK_DATA_BYTES:
                raise refuse("Bad Request: BUTTON_DATA_INVALID")
    return markup
