"""Memory for chats: the bot's commands, and the notes that its model recalls and stores."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tocsin.core.text.strings import truncate
from tocsin.features.ability_records import RecalledEntry
from tocsin.features.memory.model import (
    CHAT_SCOPE,
    GLOBAL,
    EntryDraft,
    EntrySource,
    EntryType,
    InvalidEntryError,
    MemoryEntry,
    UnknownEntryError,
)
from tocsin.features.memory.service import Memories, MemoryCaller
from tocsin.features.memory.tables.rows import EntryFilter

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundMessage

_MAY_BE_SECRET = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \bAGE-SECRET-KEY-
    | \beyJ[\w-]{8,}+\.[\w-]{8,}+\.                               # a JSON web token
    | \b(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[a-z]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{12,}
    | \b(?:pass(?:word|wort|phrase|code)?|kennwort|pwd|pin|secret|token|api[ _-]?key|credentials?)\b
      (?=.{0,40}?(?:\b(?:is|ist|are|was|equals)\b|[:=]))          # ... is hunter2
    | (?<![A-Za-z0-9+/_-])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])
      [A-Za-z0-9+/_-]{24,}
    | \b[0-9a-fA-F]{32,}\b
    | \b(?:\d[ -]?){12,18}\d\b                                    # the number of a payment card
    """,
    re.VERBOSE | re.IGNORECASE,
)


def may_be_secret(text: str) -> bool:
    """Return True if a text has a word for a secret next to a value, or something in the format of a secret."""
    return _MAY_BE_SECRET.search(text) is not None


Answer: TypeAlias = "Callable[[InboundMessage], Awaitable[str]]"

MAX_RECALLED = 5
MAX_SHOWN = 30  # entries in the answer to /memory
_SHOWN_CHARS = 100
EMPTY = "There are no notes for this chat. Send /remember and a text to store one."
WHAT = "What should I remember? Send /remember and the text, or reply to a message with /remember."
WHICH = "Which note? Send /forget and its key; /memory lists the notes."


class ChatEntries:
    """The entries of single chats: implements `ChatNotes`."""

    def __init__(self, memory: Memories) -> None:
        self._memory = memory

    async def recall(self, chat_id: str, question: str, /) -> Sequence[RecalledEntry]:
        """Return a few entries of the chat and of the global scope that may help to answer a question."""
        found = await self._memory.related(question, _scopes(chat_id), MAX_RECALLED)
        return [RecalledEntry(entry.key, entry.value) for entry in found]

    async def remember(self, chat_id: str, text: str, /) -> str:
        """Store a text at the request of a chat's model; raises InvalidEntryError if it looks like a secret."""
        if may_be_secret(text):
            raise InvalidEntryError("the text looks like a secret", hint="models may not store secrets")
        return (await _add(self._memory, chat_id, text, EntrySource.CHAT)).key

    async def follow(self, old_id: str, new_id: str, /) -> None:
        """Move the entries of a chat to its new ID."""
        await self._memory.follow(_scope(old_id), _scope(new_id))


def remember_command(memory: Memories) -> Answer:
    """Return the handler of `/remember TEXT`; without a text, it stores the quoted message."""

    async def answer(message: "InboundMessage") -> str:
        text = message.args.strip() or (message.quote.text.strip() if message.quote else "")
        if not text:
            return WHAT
        entry = await _add(memory, message.chat_id, text, EntrySource.BOT)
        return f"Stored as {entry.key}. /forget {entry.key} deletes it."

    return answer


def forget_command(memory: Memories) -> Answer:
    """Return the handler of `/forget KEY`; the number alone suffices."""

    async def answer(message: "InboundMessage") -> str:
        wanted, scope = message.args.strip(), _scope(message.chat_id)
        if not wanted:
            return WHICH
        key = f"{scope}:{wanted}" if wanted.isascii() and wanted.isdigit() else wanted
        try:
            await memory.delete(key, MemoryCaller(EntrySource.BOT, scope), scope)
        except UnknownEntryError:
            return f"This chat has no note {truncate(key, 128)}. /memory lists the notes."
        return f"Forgotten: {key}."

    return answer


def show_command(memory: Memories) -> Answer:
    """Return the handler of `/memory`: it lists the entries of the chat and of the global scope."""

    async def answer(message: "InboundMessage") -> str:
        wanted = EntryFilter(_scopes(message.chat_id))
        page = await memory.listing(wanted, limit=MAX_SHOWN)
        if not page.items:
            return EMPTY
        lines = [_line(entry) for entry in sorted(page.items, key=lambda entry: entry.scope == GLOBAL)]
        beyond = await memory.count(wanted) - len(lines)
        return "\n".join([*lines, *([f"… and {beyond:,} more"] if beyond > 0 else [])])

    return answer


async def _add(memory: Memories, chat_id: str, text: str, source: EntrySource) -> MemoryEntry:
    scope = _scope(chat_id)
    draft = EntryDraft(key=scope, value=text, type=EntryType.NOTE, scope=scope)
    return await memory.add(draft, MemoryCaller(source, scope))


def _line(entry: MemoryEntry) -> str:
    shared = " (for all chats)" if entry.scope == GLOBAL else ""
    return f"{entry.key}{shared}: {truncate(' '.join(entry.value.split()), _SHOWN_CHARS)}"


def _scope(chat_id: str) -> str:
    return f"{CHAT_SCOPE}{chat_id}"


def _scopes(chat_id: str) -> tuple[str, str]:
    return _scope(chat_id), GLOBAL
