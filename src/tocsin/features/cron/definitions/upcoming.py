"""The next instants of a schedule, of a job, and of all jobs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import islice, takewhile
from typing import Annotated, ClassVar, NamedTuple

from tocsin.core.records.marks import Converted, Flat, TextOrNull, Time
from tocsin.core.time.timestamps import duration_words
from tocsin.features.cron.model import CronJob, JobDefinition, JobSource
from tocsin.scheduling.schedule import OnceSchedule, Schedule, StartSchedule
from tocsin.scheduling.zones import load_zone

ORDER = r"\d{13}\.\d{3} .{1,200}"  # of UpcomingRun.order, as a pattern


def _to_seconds(local: datetime) -> str:
    return local.isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Upcoming:
    """Scheduled run of a job."""

    schema_name: ClassVar[str] = "UpcomingInstant"

    at: Annotated[Time, "Jitter included."]
    local: Annotated[datetime, Converted(_to_seconds, str), "The same time in the time zone of the job."]
    note: Annotated[TextOrNull, "Effect of a clock change."]


class UpcomingRun(NamedTuple):
    """An instant to come of a job."""

    job: CronJob
    upcoming: Upcoming

    @property
    def order(self) -> str:
        """Sorts by time; the job breaks ties."""
        return f"{self.upcoming.at:017.3f} {self.job.id}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JobPreview:
    """Effect of a definition; the job is not stored."""

    schema_name: ClassVar[str] = "JobPreviewRecord"

    definition: Flat[JobDefinition]
    schedule_text: Annotated[str, "The schedule in words."]
    next_runs: Sequence[Upcoming]
    warnings: Annotated[Sequence[str], "Probable mistakes."]


def instants(schedule: Schedule, zone: str, after: float, job: CronJob | None = None) -> Iterator[Upcoming]:
    """Yield the instants of a schedule after a time, or those of a job with its limits and jitter."""
    offset = job.offset if job else 0
    end_at = job.definition.end_at if job and job.definition else None
    moment = max(after, job.begins_after) if job else after
    while (instant := schedule.after(moment)) is not None and (end_at is None or instant <= end_at):
        local = datetime.fromtimestamp(instant + offset, load_zone(zone))
        yield Upcoming(instant + offset, local, schedule.note(instant))
        moment = instant


def due(jobs: Sequence[CronJob], now: float, until: float, after: str = "") -> Iterator[UpcomingRun]:
    """Yield the instants due until a time, in order; with `after`, those that follow the one of that `order`."""
    if after > f"{until:017.3f} ~":  # there is nothing, and perhaps no such date
        return iter(())
    begin = max(now, float(after.partition(" ")[0]) - 0.001) if after else now

    def of(job: CronJob) -> Iterator[UpcomingRun]:
        if job.next_at is None or job.definition is None:
            return iter(())
        found = instants(job.schedule(), job.definition.timezone, begin - job.offset, job)
        return (UpcomingRun(job, each) for each in takewhile(lambda each: each.at <= until, found))

    found = merge(*map(of, jobs), key=lambda each: each.order)
    return (each for each in found if each.upcoming.at > now and each.order > after)


def preview_of(definition: JobDefinition, now: float, count: int) -> JobPreview:
    # Which delay the jitter is depends on the ID, which a job has once it is stored.
    job = CronJob(
        id="",
        name=definition.name,
        source=JobSource.DATABASE,
        definition=replace(definition, jitter_seconds=0),
        paused_until=definition.paused_until,
        anchor=now,
        cursor=now,
    )
    schedule = job.schedule()
    upcoming = tuple(islice(instants(schedule, definition.timezone, now, job), count))
    return JobPreview(definition, schedule.words(), upcoming, tuple(_warnings(definition, schedule, upcoming)))


def _warnings(definition: JobDefinition, schedule: Schedule, upcoming: Sequence[Upcoming]) -> Iterator[str]:
    if not upcoming and not isinstance(schedule, StartSchedule):
        yield "it has no run between `start_at` and `end_at`"
    if not definition.enabled:
        yield "its schedule is disabled: it runs only when started manually"
    fields = definition.schedule.split()
    if len(fields) == 5 and not fields[2].startswith("*") and not fields[4].startswith("*"):
        yield "it runs on days that match the day of month or the day of week: one of them is enough"
    for each in upcoming:
        if each.note:
            yield f"{each.local:%Y-%m-%d}: {each.note}"
    if definition.jitter_seconds and not isinstance(schedule, OnceSchedule):
        yield f"each run starts up to {duration_words(definition.jitter_seconds)} later, always with the same delay"
    if definition.output is None and (definition.output_on != ("always",)):
        yield "`output_on` has no effect without `output`"
