"""Parse a text addressed to the bot: remove the bot's own name, find the command. Source: docs/facts/botchat.md."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tocsin.channels.botchat.messages.fields import count, decode_utf16, number, record, records, words

# In groups, a command may name the bot that it is for.
COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?=\s|\Z)")
CODE = frozenset({"code", "pre"})
# Characters to strip after removing the name from "@bot, hello".
REST_OF_ADDRESS = " ,:;\t\n\u00a0"


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The identity of the bot: the ID from its token, and its user name without `@`, empty while unknown."""

    id: int
    username: str = ""

    def is_called(self, name: str) -> bool:
        """Whether `name`, without `@`, is the bot's user name."""
        return bool(self.username) and name.casefold() == self.username.casefold()


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """The content of a text, as parsed for the bot."""

    text: str = ""
    to_bot: bool = False  # the text names the bot
    to_other_bot: bool = False  # the command names another bot
    command: str | None = None
    args: str = ""


def needs_bot_name(message: Mapping[str, Any]) -> bool:
    """Whether the bot needs its own user name: the message contains a mention, or replies to a bot."""
    answered = record(record(message.get("reply_to_message")).get("from"))
    return answered.get("is_bot") is True or any("@" in words(message.get(field)) for field in ("text", "caption"))


def parse_text(message: Mapping[str, Any], bot: BotIdentity) -> ParsedMessage:
    """Parse the text, or the caption, of `message`."""
    field, marks = ("text", "entities") if words(message.get("text")) else ("caption", "caption_entities")
    raw, entities = message.get(field), records(message.get(marks))
    if not isinstance(raw, str):
        return ParsedMessage()
    units = raw.encode("utf-16-le", "surrogatepass")
    mentions = [span for entity in entities if (span := _span(entity, units)) and _is_bot(entity, span, units, bot)]
    if marks not in message and bot.username:  # compatible servers may not mark mentions
        mentions = list(_find_usernames(raw, bot.username))
    text = _without(units, mentions) if mentions else words(raw)
    shown_as_code = any(words(e.get("type")) in CODE and e.get("offset") == 0 for e in entities)
    found = None if shown_as_code else COMMAND.match(text)
    if found is None:
        return ParsedMessage(text, bool(mentions))
    name, addressee, args = found[1], found[2], text[found.end() :].strip()
    # While the bot's own name is unknown, accept the command: groups mostly deliver only commands that name the bot.
    if addressee and bot.username and not bot.is_called(addressee):
        return ParsedMessage(text, bool(mentions), to_other_bot=True)
    spoken = f"/{name}{text[found.end() :]}"
    return ParsedMessage(spoken, bool(mentions or addressee), command=name.lower(), args=args)


def _span(entity: Mapping[str, Any], units: bytes) -> tuple[int, int] | None:
    """Return the first and last byte of the range of an entity; its offsets count UTF-16 units."""
    offset, length = count(entity.get("offset")), count(entity.get("length"))
    if offset is None or not length or (offset + length) * 2 > len(units):
        return None
    return offset * 2, (offset + length) * 2


def _is_bot(entity: Mapping[str, Any], span: tuple[int, int], units: bytes, bot: BotIdentity) -> bool:
    match words(entity.get("type")):
        case "mention":
            return bot.is_called(decode_utf16(units[slice(*span)]).removeprefix("@"))
        case "text_mention":
            return number(record(entity.get("user")).get("id")) == bot.id
        case _:
            return False


def _find_usernames(text: str, username: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last byte of every `@username`."""
    for found in re.finditer(rf"(?<![\w@/])@{re.escape(username)}(?!\w)", text, re.IGNORECASE):
        begin, end = (len(text[:at].encode("utf-16-le", "surrogatepass")) for at in found.span())
        yield begin, end


def _without(units: bytes, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text without `spans` and without the gaps they leave."""
    text, start = "", 0
    for begin, end in [*sorted(spans), (len(units), len(units))]:
        piece = decode_utf16(units[start : max(start, begin)])
        if start and not text.strip():
            text, piece = "", piece.lstrip(REST_OF_ADDRESS)
        elif start and text[-1].isspace():
            piece = piece.lstrip(" ")
        text, start = text + piece, max(start, end)
    return text.strip()
