"""The fields of a message besides its text: title, urgency, link, buttons and mentions.

Imported only for messages that have some of it; field names and limits: docs/messages.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Literal

from tocsin.channels.attached import MAX_FILES, MessageFile
from tocsin.core.errors import ChannelError
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    IntegerType,
    ListType,
    OneOrManyType,
    RecordType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.json_value import read_json, to_members
from tocsin.core.reading.records import Written, record_type
from tocsin.core.reading.value import V

PRIORITIES = {"min": 1, "low": 2, "default": 3, "high": 4, "urgent": 5}
TYPES = ("info", "success", "warning", "failure")
QUIET_FROM = 2  # messages of this priority and below make no sound
USUAL = 3
MAX_TITLE = 250

_WEB_ADDRESS = TextType(
    max_chars=2_000,
    blank=True,
    pattern=r"(?:https?://[^\s/?#]+[^\s]*)?",
    rule="not a web address: write one that begins with http:// or https://",
)
_LINE = r"[^\x00-\x1f\x7f\u2028\u2029]*\S[^\x00-\x1f\x7f\u2028\u2029]*"


MAX_VALUE_BYTES = 1_024
NAME = r"[a-z0-9_.:-]{1,64}"
STYLES = ("primary", "success", "danger")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAction:
    """A button below a message."""

    action: Annotated[
        Literal["view", "call"],
        Written(ChoiceType(("view", "call"))),
        "`view` opens an address; `call` comes back as a press.",
    ] = "view"
    label: Annotated[
        str, Written(TextType(max_chars=40, pattern=_LINE, rule="not a label: write one line")), "Text of the button."
    ]
    url: Annotated[
        str,
        Written(_WEB_ADDRESS),
        "The address to open; for `call`, the page to open instead where the product has no buttons.",
    ] = ""
    name: Annotated[
        str,
        Written(
            TextType(
                True,
                pattern=f"(?:{NAME})?",
                rule="not the name of an action: use 1 to 64 lower-case letters, digits, '_', '.', ':', '-'",
            )
        ),
        "For `call`: what the press starts: a trigger with `on: action`, or `job:NAME` or `workflow:NAME`.",
    ] = ""
    value: Annotated[
        str,
        Written(TextType(True, MAX_VALUE_BYTES, max_bytes=MAX_VALUE_BYTES)),
        "For `call`: a value for the handler, at most 1,024 bytes.",
    ] = ""
    style: Annotated[str, Written(ChoiceType(STYLES, blank=True)), "Colour of the button."] = ""
    confirm: Annotated[
        str, Written(TextType(True, 300)), "For `call`: the question before the press, where the product can ask one."
    ] = ""
    once: Annotated[bool, Written(BooleanType()), "For `call`: whether the first press removes the buttons."] = True
    token: str = ""  # of a `call` on its way: what a press sends back

    @property
    def calls(self) -> bool:
        """Whether a press is reported to Tocsin."""
        return self.action == "call"

    def as_stored(self) -> dict[str, Any]:
        """Return the fields that are used as a JSON object."""
        unused = {each.name for each in fields(self) if getattr(self, each.name) == each.default} | {"token"}
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in unused}
        return {"action": self.action, **values}


class _ActionType(RecordType):
    """The type of an action, whose kind decides what is required."""

    def read(self, value: V) -> RecordValues[V]:
        """Return the fields; report what the kind of action requires or does not have."""
        read = super().read(value)
        given, calls = read.given, read["action"] == "call"
        needed = "name" if calls else "url"
        if given[needed].absent:
            given[needed].refuse_missing()
        elif given[needed].as_text() == "":
            given[needed].refuse(f"an action `{read['action']}` needs a {needed}")
        for name in ("name", "value", "confirm"):
            if not calls and read[name]:
                given[name].refuse(f"only an action `call` has a {name}")
        return read


ACTION = _ActionType(record_type(MessageAction).fields, "MessageAction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The parts of a message besides its text."""

    title: Annotated[
        str,
        Written(TextType(True, MAX_TITLE, rf"(?:{_LINE})?", "not a title: write one line")),
        "Title, subject or first line.",
    ] = ""
    priority: Annotated[
        int,
        Written(IntegerType(1, 5, words=PRIORITIES)),
        "1 to 5, or `min`, `low`, `default`, `high`, `urgent`.",
    ] = USUAL
    type: Annotated[
        str, Written(ChoiceType(TYPES, blank=True)), "Sets colour and symbol: info, success, warning, failure."
    ] = ""
    click: Annotated[str, Written(_WEB_ADDRESS), "The address that the message is about."] = ""
    actions: Annotated[tuple[MessageAction, ...], Written(ListType(ACTION, max_items=5)), "Buttons, at most 5."] = ()
    attach: Annotated[
        tuple[MessageFile, ...],
        Written(ListType(record_type(MessageFile), max_items=MAX_FILES)),
        "Files, at most 10.",
    ] = ()
    mention: Annotated[
        tuple[str, ...],
        Written(
            OneOrManyType(
                TextType(
                    max_chars=100, pattern=r"[^\s<>]+", rule="not a mention: write @here, @channel, @name or an ID"
                )
            )
        ),
        "Whom to mention: `@here`, `@channel`, `@name`, or an ID of the product; a Discord role as `&ID`.",
    ] = ()
    silent: Annotated[bool, Written(BooleanType()), "Deliver without a sound; implied by priority 1 and 2."] = False
    key: Annotated[
        str,
        Written(TextType(True, 64, r"[A-Za-z0-9._:-]*", "not a key: use 1 to 64 letters, digits, '.', '_', ':', '-'")),
        "A later message with the same key to the same target edits this one.",
    ] = ""
    thread: Annotated[
        str,
        Written(TextType(True, 64, r"[A-Za-z0-9._:-]*", "not a thread: use letters, digits, '.', '_', ':' and '-'")),
        "Messages with the same thread to the same target are grouped below the first one.",
    ] = ""
    ttl: Annotated[
        int,
        Written(IntegerType(0, 30 * 86_400)),
        "Seconds after which a queued message is not sent any more; 0: never.",
    ] = 0
    if_gone: Annotated[
        Literal["post", "drop"],
        Written(ChoiceType(("post", "drop"))),
        "What happens to an edit of a message that was deleted there: sent anew, or dropped.",
    ] = "post"
    unable: Annotated[
        Literal["post", "skip"],
        Written(ChoiceType(("post", "skip"))),
        "What happens to an edit on a channel that cannot edit: sent as a new message, or skipped.",
    ] = "post"
    no_files: bool = False  # `attach` is an empty list: an edit removes the files that are there

    @property
    def is_plain(self) -> bool:
        """Whether nothing of it is shown in the message itself."""
        return not set(self.used()) - _NOT_SHOWN

    @property
    def calls(self) -> tuple[MessageAction, ...]:
        """The buttons whose presses are reported to Tocsin."""
        return tuple(each for each in self.actions if each.calls)

    @property
    def quiet(self) -> bool:
        """Whether the message makes no sound."""
        return self.silent or self.priority <= QUIET_FROM

    def used(self) -> tuple[str, ...]:
        """Return the names of the fields that differ from their defaults."""
        differ = (each.name for each in fields(self) if getattr(self, each.name) != each.default)
        return tuple(name for name in differ if name != "no_files")

    def as_stored(self) -> dict[str, Any]:
        """Return the fields that are used as a JSON object, for `read_content`."""
        found = {name: getattr(self, name) for name in self.used()}
        if self.no_files:
            found["attach"] = []
        if self.actions:
            found["actions"] = [each.as_stored() for each in self.actions]
        if self.attach:
            found["attach"] = [each.as_stored() for each in self.attach]
        if self.mention:
            found["mention"] = list(self.mention)
        return found


_NOT_SHOWN = frozenset({"attach", "key", "thread", "ttl", "if_gone", "unable"})
CONTENT = record_type(Content, "MessageContent")


def make_content(values: Mapping[str, Any]) -> Content | None:
    """Return the content among values that CONTENT has read; None if all are defaults."""
    given = {name: values[name] for name in _names() if values.get(name) is not None}
    if not given:
        return None
    given["actions"] = tuple(MessageAction(**each.values) for each in given.get("actions", ()))
    given["no_files"] = given.get("attach") == []  # its default is a tuple
    given["attach"] = tuple(MessageFile(**each.values) for each in given.get("attach", ()))
    given["mention"] = tuple(dict.fromkeys(given.get("mention", ())))
    content = Content(**given)
    return content if content.used() else None


def read_content(values: Mapping[str, Any]) -> Content | None:
    """Read content from plain values, as in a JSON object; None if all are defaults. Raises ChannelError."""
    read, issues = read_json(CONTENT, to_members({name: each for name, each in values.items() if each is not None}))
    if issues.count:
        raise ChannelError("; ".join(map(str, issues.shown[:3])), hint="see docs/messages.md for fields and limits")
    return make_content(read.values)


@cache
def _names() -> tuple[str, ...]:
    return tuple(each.name for each in CONTENT.fields)


def with_lines(text: str, content: Content, degraded_fields: Iterable[str], *, markdown: bool) -> str:
    """Return `text` with the fields that the product lacks as lines; `markdown` writes these as CommonMark."""
    shown = frozenset(degraded_fields)
    mark = symbol(content, shown)
    lead = f"{mark} " if mark else ""
    if "title" in shown and content.title:
        title = f"**{escape_commonmark(content.title)}**" if markdown else content.title
        gap = "\n\n" if markdown else "\n"
        text = f"{lead}{title}{gap}{text}" if text.strip() and text != content.title else f"{lead}{title}"
    elif lead:
        text = f"{lead}{text}"
    links = [("", content.click)] if content.click and "click" in shown else []
    links += [(each.label, each.url) for each in content.actions] if "actions" in shown else []
    return link_lines(text, links, markdown=markdown)


def link_lines(text: str, links: Sequence[tuple[str, str]], *, markdown: bool) -> str:
    """Return `text` with a line for each label and address below it."""
    if not links:
        return text
    if markdown:
        lines = [f"[{escape_commonmark(label)}](<{url}>)  " if label else f"<{url}>  " for label, url in links]
    else:
        lines = [f"{label}: {url}" if label else url for label, url in links]
    return f"{text}\n\n" + "\n".join(lines)


# Symbols of products that show neither, by type and by priority.
_SYMBOLS = {"info": "\u2139\ufe0f", "success": "\u2705", "warning": "\u26a0\ufe0f", "failure": "\u274c"}
_SYMBOLS_BY_PRIORITY = {4: "\u2757", 5: "\U0001f6a8"}


def symbol(content: Content, shown: Iterable[str] = ("type", "priority")) -> str:
    """Return the symbol of the type, else of a high priority; empty if `shown` lacks both or neither is given."""
    names = frozenset(shown)
    of_type = _SYMBOLS.get(content.type, "") if "type" in names else ""
    return of_type or (_SYMBOLS_BY_PRIORITY.get(content.priority, "") if "priority" in names else "")


def escape_commonmark(text: str) -> str:
    """Escape the punctuation that CommonMark could read as markup."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]()#+-.!<>&~|" else each for each in text)


# Colours of products that show one, by type, else by priority.
_COLOURS = {"info": 0x3B82F6, "success": 0x2EB67D, "warning": 0xECB22E, "failure": 0xE01E5A}
_COLOURS_BY_PRIORITY = {4: 0xECB22E, 5: 0xE01E5A}


def colour(content: Content) -> int | None:
    """Return the colour of the type, else of a high priority, as 0xRRGGBB."""
    return _COLOURS.get(content.type) or _COLOURS_BY_PRIORITY.get(content.priority)
