"""The message of a request: by the first rule that matches, within the limits of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.core.expressions.expression import Expression, ExpressionError
from tocsin.core.expressions.text import Budget, TextScope, TextTemplate, render_text
from tocsin.core.text.strings import storable, truncate
from tocsin.features.doors.model import Door, DoorFile, DoorMessage, DoorRequest, DoorSeverity
from tocsin.features.doors.rules.file import PlacedRule
from tocsin.features.doors.rules.functions import call
from tocsin.features.doors.rules.generic import generic_message, is_link
from tocsin.features.doors.rules.rule import MESSAGE_FIELDS, DoorRule
from tocsin.features.doors.severity import severity_of

MAX_TITLE, MAX_TEXT, MAX_KEY, MAX_LINK = 250, 64 * 1024, 1_000, 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedMessage:
    """A message that can be sent."""

    title: str = ""
    text: str = ""
    severity: DoorSeverity = DoorSeverity.INFO
    key: str = ""
    link: str = ""
    profile: str = ""
    parse_mode: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    not_before: float | None = None
    files: Sequence[DoorFile] = ()
    tags: Sequence[frozenset[str]] = ()
    note: str = ""
    rule: str = ""  # where the rule is that made it; empty: the protocol, or the generic form
    takes_over: str = ""
    withdraw: bool = False
    only_if_open: bool = False
    only_changes: bool = False
    expires_at: float | None = None
    drop: bool = False


class _RuleFailedError(Exception):
    """A field of a rule cannot be rendered."""


def render(door: Door, request: DoorRequest, message: DoorMessage, rules: Sequence[PlacedRule] = ()) -> RenderedMessage:
    """Return the message that a door sends."""
    usual = message
    if not message.is_finished:
        found = generic_message(message.payload)
        usual = replace(
            message,
            title=found.title,
            text=found.text,
            severity=message.severity or found.severity,
            key=message.key or found.key,
            link=message.link or found.link,
        )
    roots = {
        "payload": message.payload,
        "header": dict(request.headers),
        "query": dict(request.query),
        "door": door.name,
        "message": {name: str(getattr(usual, name) or "") for name in MESSAGE_FIELDS},
    }
    notes = [message.note] if message.note else []
    for rule, place in rules:
        try:
            if rule.match is not None and not _holds(rule.match, roots):
                continue
        except ExpressionError as error:
            notes.append(f"{place}: match: {error}")
            continue
        try:
            return _by_rule(door, message, usual, rule, place, roots, notes)
        except _RuleFailedError as error:
            said = f"{place}: {error}"
            failed = replace(usual, note="; ".join([*notes, said]), text=f"{usual.text}\n\n[{said}]".strip())
            return _finished(door, failed)
    return _finished(door, replace(usual, note="; ".join(notes)))


def _by_rule(
    door: Door,
    message: DoorMessage,
    usual: DoorMessage,
    rule: DoorRule,
    place: str,
    roots: dict[str, Any],
    notes: Sequence[str],
) -> RenderedMessage:
    """Return the message of a rule; raises _RuleFailedError."""
    if rule.drop:
        dropped = replace(usual, note="; ".join([*notes, f"{place} drops it"]))
        return replace(_finished(door, dropped), drop=True, rule=place)
    given = {name: _field(name, getattr(rule, name), roots) for name in (*MESSAGE_FIELDS, "profile")}
    # Without title and text, a rule refines what the protocol or the generic form found; else it says everything.
    says = given["title"] is not None or given["text"] is not None
    before = message if says else usual
    made = replace(
        before,
        title=before.title if given["title"] is None else given["title"],
        text=before.text if given["text"] is None else given["text"],
        severity=before.severity if given["severity"] is None else severity_of(given["severity"]),
        key=before.key if given["key"] is None else given["key"],
        link=before.link if given["link"] is None else given["link"],
        note="; ".join(notes),
        only_if_open=before.only_if_open or rule.only_if_open,
    )
    return replace(_finished(door, made, (given["profile"] or "").strip()), rule=place)


def _holds(condition: Expression, roots: dict[str, Any]) -> bool:
    return condition.holds(TextScope(roots, call, Budget()))


def _field(name: str, template: TextTemplate | None, roots: dict[str, Any]) -> str | None:
    if template is None:
        return None
    try:
        return render_text(template, TextScope(roots, call, Budget()))
    except ExpressionError as error:
        raise _RuleFailedError(f"{name}: {error}") from None


def _finished(door: Door, message: DoorMessage, profile: str = "") -> RenderedMessage:
    """Return a message within all limits, with the defaults of its door."""
    title = truncate(_line(message.title), MAX_TITLE)
    text = truncate(storable(message.text).strip(), MAX_TEXT)
    return RenderedMessage(
        title=title,
        text=text if text or title else "(empty)",
        severity=message.severity or door.definition.severity,
        key=truncate(storable(message.key).strip(), MAX_KEY),
        link=message.link if is_link(message.link) and len(message.link) <= MAX_LINK else "",
        profile=profile or message.profile or door.definition.profile,
        parse_mode=message.parse_mode,
        content=message.content,
        not_before=message.not_before,
        files=message.files,
        tags=message.tags,
        note=message.note,
        drop=message.drop,
        takes_over=message.takes_over,
        withdraw=message.withdraw,
        only_if_open=message.only_if_open,
        only_changes=message.only_changes,
        expires_at=message.expires_at,
    )


def _line(text: str) -> str:
    """Return a text on one line, without control characters."""
    joined = " ".join(storable(text).split())
    return "".join(each for each in joined if each.isprintable() or each == "\u200d")
