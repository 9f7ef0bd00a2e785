"""Definitions of heartbeats: read from `heartbeats.yaml` and from requests, and checked alike."""

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.fields import Field, MappingType, RecordType, RecordValues, TextType
from tocsin.core.reading.json_value import JsonIssue, JsonIssues, JsonValue, to_members
from tocsin.core.reading.value import WRONG_VALUE, V
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.context import FeatureContext
from tocsin.features.heartbeats.model import (
    DEFINITION,
    NAME_PATTERN,
    NAME_RULE,
    AfterDowntime,
    HeartbeatDefinition,
    HeartbeatSeverity,
    InvalidHeartbeatError,
)
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import CronSchedule, read_schedule

FILE_NAME = "heartbeats.yaml"
MAX_HEARTBEATS = 20_000
HEARTBEATS = MappingType(DEFINITION, key_pattern=NAME_PATTERN, key_rule=NAME_RULE, max_keys=MAX_HEARTBEATS)
_NAME = Field("name", TextType(pattern=NAME_PATTERN, rule=NAME_RULE), required=True, doc="Name, part of an address")
NAMED = RecordType((_NAME, *DEFINITION.fields))
FIELDS = tuple(each.name for each in fields(HeartbeatDefinition))


class HeartbeatFile(WatchedFile[Mapping[str, HeartbeatDefinition] | None]):
    """`heartbeats.yaml`, read again when it changes; after an invalid edit, the last valid one remains active."""

    def __init__(self, path: Path, zone: str) -> None:
        self._zone = zone
        super().__init__(path, lambda content: parse_yaml(content, path, self._read), None)

    def read(self) -> tuple[Mapping[str, HeartbeatDefinition] | None, ConfigError | None]:
        """Return the active definitions, `None` if they are unknown, and why the present file is not used."""
        found, problem = super().read()
        return ({} if found is None and problem is None else found), problem

    def _read(self, root: Node) -> Mapping[str, HeartbeatDefinition]:
        if root.absent or root.is_null:
            return {}
        return {name: _definition(read, self._zone) for name, read in HEARTBEATS.read(root).items()}


class DefinitionReader:
    """Reads definitions from requests and the command line, and checks that what they name exists."""

    def __init__(self, context: FeatureContext, zone: str) -> None:
        """`zone` is that of schedules that name none."""
        self._context = context
        self._zone = zone

    def read(self, name: object, given: Mapping[str, Any]) -> HeartbeatDefinition:
        """Return the definition that fields make; raises InvalidHeartbeatError with all mistakes, also of the name.

        A `name` of `None` is a missing one.
        """
        issues = JsonIssues()
        named = dict(given) if name is None else {"name": name, **given}
        definition = _definition(NAMED.read(JsonValue(to_members(named), issues)), self._zone)
        if definition.notify:
            try:
                self._context.output.check(definition.notify)
            except TocsinError as error:
                issues.add(JsonIssue(("notify",), WRONG_VALUE, error.sentence()))
        if issues.count:
            said = "; ".join(str(each) if each.key in str(each) else f"{each.key}: {each}" for each in issues.shown)
            hint = "see `tocsin heartbeats add --help`"
            raise InvalidHeartbeatError(said, hint=hint, issues=issues.shown, count=issues.count)
        return definition


def _definition(read: RecordValues[V], zone: str) -> HeartbeatDefinition:
    given, values = read.given, {name: value for name, value in read.values.items() if name != "name"}
    period, schedule = values.get("period"), values.get("schedule")
    if period is not None and schedule:
        given["period"].refuse("give either a period or a schedule, not both", WRONG_VALUE)
    elif not period and not schedule and given["period"].absent and given["schedule"].absent:
        given["period"].refuse_missing("schedule")
    if schedule:
        values["timezone"] = values.get("timezone") or zone
        _check_schedule(schedule, values["timezone"], given)
    elif values.get("timezone"):
        given["timezone"].refuse("a time zone needs a schedule", WRONG_VALUE)
    own = {
        "severity": HeartbeatSeverity(values.get("severity") or HeartbeatSeverity.CRITICAL),
        "after_downtime": AfterDowntime(values.get("after_downtime") or AfterDowntime.UNKNOWN),
        "tags": tuple(each for each in values.get("tags") or () if each),
    }
    usable = {name: each for name, each in {**values, **own}.items() if each is not None}
    return HeartbeatDefinition(**usable)


def _check_schedule(schedule: str, zone: str, given: Mapping[str, V]) -> None:
    try:
        if not isinstance(read_schedule(schedule, "UTC", 0.0), CronSchedule):
            given["schedule"].refuse("expected a cron expression; for an interval, use `period`", "bad-cron")
            return
    except ScheduleError as error:
        given["schedule"].refuse(error.sentence(), "bad-cron")
        return
    try:
        read_schedule(schedule, zone, 0.0)
    except ScheduleError as error:
        given["timezone"].refuse(error.sentence(), "bad-zone")


def stored(definition: HeartbeatDefinition) -> str:
    return json.dumps({name: getattr(definition, name) for name in FIELDS})


@lru_cache(maxsize=20_000)  # each ping reads one
def restored(text: str) -> HeartbeatDefinition:
    found = json.loads(text)
    own = {
        "severity": HeartbeatSeverity(found["severity"]),
        "after_downtime": AfterDowntime(found["after_downtime"]),
        "tags": tuple(found["tags"]),
    }
    return HeartbeatDefinition(**{**found, **own})


def as_given(definition: HeartbeatDefinition) -> dict[str, Any]:
    """Return a definition as the fields of a request, for a change of some of them."""
    found = {name: getattr(definition, name) for name in FIELDS}
    found["tags"] = list(definition.tags)
    return {name: value for name, value in found.items() if value not in (None, "")}


def changed_fields(before: HeartbeatDefinition, after: HeartbeatDefinition) -> list[str]:
    return [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
