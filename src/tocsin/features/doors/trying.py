"""Doors tried out: test messages, previews by the present rules, and rules made from requests."""

from collections.abc import Sequence
from dataclasses import replace

from tocsin.core.ids import new_id
from tocsin.core.reading.json_value import JsonIssue
from tocsin.core.reading.value import WRONG_VALUE
from tocsin.core.reading.yaml_node import YamlError
from tocsin.core.text.strings import truncate
from tocsin.features.doors.feature import DOOR_RULE, DOOR_TEST
from tocsin.features.doors.model import (
    Door,
    DoorPreview,
    DoorRequest,
    DoorSentTest,
    DoorSeverity,
    InvalidDoorError,
    UnknownDoorError,
    WrittenRule,
)
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.receiving.queueing import queue_message
from tocsin.features.doors.rules.file import PlacedRule, parse_rules
from tocsin.features.doors.rules.making import made_rule, write_rule
from tocsin.features.doors.rules.rendering import RenderedMessage, render
from tocsin.features.doors.service import Doors
from tocsin.messaging.outbound.caller import Caller

MAX_TEXT = 4_000


async def send_test(doors: Doors, name_or_id: str, caller: Caller) -> DoorSentTest:
    """Queue a test message to the profile of a door; the note says which target refused it."""
    door = await doors.get(name_or_id)
    profile = door.definition.profile
    if not profile:
        raise UnknownDoorError(f"the door {door.name} has no profile", hint="its rules choose one for each request")
    message = RenderedMessage(
        title=f"Test of the door {door.name}",
        text=f"What arrives at this door is sent to the profile {profile}.",
        severity=DoorSeverity.INFO,
        profile=profile,
    )
    queued = await queue_message(doors.context, door, message, f"door-test-{new_id()}")
    doors.record(DOOR_TEST, door, caller)
    return DoorSentTest(profile, queued.deliveries, "; ".join(queued.notes))


async def preview(
    doors: Doors, name_or_id: str, payload: str | None, number: int | None = None, rule: str | None = None
) -> list[DoorPreview]:
    """Return what a payload, or a kept request, would become by the rules as they are now.

    `rule` is the text of rules that are tried before them. Raises UnknownDoorError and InvalidDoorError.
    """
    door = await doors.get(name_or_id)
    kept = DoorRequest() if payload is not None else await _kept(doors, door, number)
    request = kept if payload is None else replace(kept, body=payload.encode(), at=doors.now())
    own = list(_parsed(rule)) if rule else []
    read = PROTOCOLS[door.definition.protocol].read(request)[:10]
    presets = [door.definition.preset or each.preset for each in read]
    shown = zip(read, presets, strict=True)
    return [_shown(render(door, request, each, [*own, *doors.rules.of(door.name, preset)])) for each, preset in shown]


async def make_rule(
    doors: Doors, name_or_id: str, number: int | None, caller: Caller, *, rule: str = "", write: bool = False
) -> WrittenRule:
    """Return `rule`, or one made from a kept request, by default the newest; with `write`, add it to `doors.yaml`.

    Raises UnknownDoorError, InvalidDoorError, ConfigError and WriteError.
    """
    door = await doors.get(name_or_id)
    if rule:
        _parsed(rule)
    else:
        request = await _kept(doors, door, number)
        read = PROTOCOLS[door.definition.protocol].read(request)
        rule = made_rule(read[0].payload if read else None, request)
    if write:
        write_rule(doors.rules, door.name, rule)
        doors.record(DOOR_RULE, door, caller)
    return WrittenRule(rule, write)


def _parsed(text: str) -> Sequence[PlacedRule]:
    try:
        return parse_rules(text)
    except YamlError as error:
        issues = [JsonIssue(("rule",), WRONG_VALUE, f"line {each.line}: {each.detail}") for each in error.problems]
        raise InvalidDoorError(str(error), issues=issues, count=len(issues)) from None


async def _kept(doors: Doors, door: Door, number: int | None) -> DoorRequest:
    found = await doors.store.request(door.id, number)
    if found is None:
        which = "request with a payload" if number is None else f"request {number}"
        raise UnknownDoorError(f"no {which} of {door.name} is kept", hint="`tocsin doors last` shows those that are")
    return found


def _shown(message: RenderedMessage) -> DoorPreview:
    return DoorPreview(
        message.title,
        truncate(message.text, MAX_TEXT),
        str(message.severity),
        message.key,
        message.link,
        message.profile,
        message.rule,
        message.drop,
        message.note,
    )
