"""Definitions of jobs as people give them: read, checked, and changed in part."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.reading.fields import RecordType
from tocsin.core.reading.json_value import JsonIssue, JsonIssues, JsonValue, to_members
from tocsin.core.reading.value import WRONG_VALUE, shorten
from tocsin.features.context import AbilityMissingError, FeatureContext
from tocsin.features.cron.definitions.job_fields import read_definition
from tocsin.features.cron.definitions.upcoming import JobPreview, preview_of
from tocsin.features.cron.model import JOB, InvalidJobError, JobDefinition, JobType, wrong_field
from tocsin.scheduling.schedule import OnceSchedule, StartSchedule, read_schedule


class JobReader:
    """Reads definitions, and checks that the names in them exist."""

    def __init__(self, context: FeatureContext, zone: str) -> None:
        """`zone` is the default time zone."""
        self._context = context
        self._zone = zone

    def read(self, fields: Mapping[str, Any]) -> JobDefinition:
        """Return the definition that fields make; raises InvalidJobError with all mistakes."""
        issues = JsonIssues()
        definition = read_definition(JsonValue(to_members(fields), issues), self._zone)
        if definition.output:
            try:
                self._context.output.check(definition.output)
            except TocsinError as error:
                issues.add(JsonIssue(("output",), WRONG_VALUE, error.sentence()))
        if issues.count:
            said = "; ".join(map(str, issues.shown))
            raise InvalidJobError(said, hint="see `tocsin cron add --help`", issues=issues.shown, count=issues.count)
        return definition

    def refuse_past(self, definition: JobDefinition) -> None:
        """Raise InvalidJobError for a schedule that is never due again."""
        now = self._context.clock.now()
        schedule = read_schedule(definition.schedule, definition.timezone, now)
        if schedule.after(now) is None and not isinstance(schedule, StartSchedule):
            what = (
                "this time is in the past" if isinstance(schedule, OnceSchedule) else "the schedule has no future runs"
            )
            raise wrong_field("schedule", f"{what}: {definition.schedule}; give a time in the future")

    async def check(self, fields: Mapping[str, Any], count: int) -> JobPreview:
        """Return the preview of a job: its next runs and warnings; raises InvalidJobError."""
        definition = self.read(fields)
        self.refuse_past(definition)
        found = preview_of(definition, self._context.clock.now(), count)
        return replace(found, warnings=(*found.warnings, *await self._missing(definition)))

    async def _missing(self, definition: JobDefinition) -> list[str]:
        abilities, there = self._context.abilities, list[str]()
        with suppress(AbilityMissingError):  # without the feature there are none
            match JobType(definition.type):
                case JobType.SKILL:
                    there = [skill.name for skill in await abilities.skills.list()]
                case JobType.WORKFLOW:
                    there = list(await abilities.run_starter.subjects("workflow") or ())
                case _:
                    return []
        if definition.command in there:
            return []
        return [f"unknown {definition.type}: {shorten(definition.command)!r}"]


def merged(before: Any, patch: Any, kind: object = None) -> Any:
    """Apply a JSON Merge Patch to a value; RFC 7396, section 2.

    Keep null for unknown keys, so that validation rejects them.
    """
    if not isinstance(patch, Mapping):
        return patch
    found = dict(before) if isinstance(before, Mapping) else {}
    known = {field.name: field.type for field in kind.fields} if isinstance(kind, RecordType) else None
    for name, value in patch.items():
        if value is None and (known is None or name in known):
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value, (known or {}).get(name))
    return found


def without_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Drop null fields, which mean their defaults; keep null for unknown keys, so that validation rejects them."""
    known = {field.name for field in JOB.fields}
    return {name: value for name, value in fields.items() if value is not None or name not in known}
