"""A cron job: its definition, its states, and when it is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from tocsin.core.errors import ConflictError, NotFoundError
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    IntegerType,
    ListType,
    MappingType,
    NumberType,
    PlainType,
    TextType,
)
from tocsin.core.reading.invalid import InvalidRecordError
from tocsin.core.reading.json_value import JsonIssue
from tocsin.core.reading.records import Written, record_type
from tocsin.core.reading.value import WRONG_VALUE
from tocsin.core.records.marks import Converted, Flat, Private, TextOrNull, Time, after
from tocsin.core.text.shell import params_problem
from tocsin.core.time.timestamps import read_timestamp
from tocsin.runs.engine.overlap import Overlap, OverlapRules
from tocsin.runs.model import RunSpec
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.schedule import Schedule, StartSchedule, read_schedule, stable_offset

KIND = "cron"
# What a form, a file or a program gives for a parameter; who is started decides what it must be.
Param = str | bool | int | float | list[Any]


class UnknownJobError(NotFoundError):
    """No job has this name or ID."""


class JobConflictError(ConflictError):
    """The state of the job, or another one of its name, does not allow this."""


class JobNameTakenError(JobConflictError):
    """Another job has the name."""

    code: ClassVar[str] = "name-taken"


class JobRunningError(JobConflictError):
    """The job is running, which does not allow this."""

    code: ClassVar[str] = "run-already-active"


class JobChangedError(JobConflictError):
    """The job was changed since it was read."""

    code: ClassVar[str] = "precondition-failed"


class InvalidJobError(InvalidRecordError):
    """The definition of a job is wrong."""


def wrong_field(name: str, detail: str) -> InvalidJobError:
    return InvalidJobError(f"{name}: {detail}", issues=[JsonIssue((name,), WRONG_VALUE, detail)])


class JobType(StrEnum):
    """Type of a job's command."""

    SHELL = "shell"
    WORKFLOW = "workflow"
    SKILL = "skill"
    PROMPT = "prompt"
    MESSAGE = "message"


class OutputOn(StrEnum):
    """The runs whose output is sent."""

    ALWAYS = "always"
    FAILURE = "failure"
    SUCCESS = "success"
    CHANGE = "change"
    RECOVERY = "recovery"
    OUTPUT = "output"  # what printed something


class JobState(StrEnum):
    """State of a job."""

    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    AUTO_DISABLED = "auto_disabled"
    COMPLETED = "completed"
    INVALID = "invalid"


class JobSource(StrEnum):
    """Place where a job is defined."""

    DATABASE = "database"
    FILE = "file"


# One line that people can read, and that no command line takes for an option.
NAME_RULE = r"(?![\s-])[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{1,100}(?<!\s)"


def _output_on(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        if word not in set(OutputOn):
            raise ValueError(f"expected one or more of: {', '.join(OutputOn)}")
    return words


_NAME = TextType(
    pattern=NAME_RULE, rule="not a valid name: use 1 to 100 characters on one line, not starting with a dash"
)
_ENV = MappingType(TextType(blank=True, max_chars=100_000), r"[A-Za-z_][A-Za-z0-9_]*", "not a valid variable name", 500)
_WORDS = "|".join(OutputOn)
_OUTPUT_ON = TextType(
    parse=_output_on, schema={"default": str(OutputOn.ALWAYS), "pattern": rf"^\s*({_WORDS})\s*(,\s*({_WORDS})\s*)*$"}
)
_EXIT_CODE = IntegerType(0, 255)
_TIME = TextType(parse=read_timestamp)


@dataclass(frozen=True, slots=True)
class JobRetry:
    """Retry policy after a failure."""

    schema_name: ClassVar[str] = "RetryRecord"
    max_attempts: Annotated[int, Written(IntegerType(1, 100)), "Maximum number of attempts"] = 1
    delay_seconds: Annotated[int, Written(IntegerType(0, 86_400)), "Delay before the second attempt"] = 60
    backoff: Annotated[float, Written(NumberType(1, 10)), "Factor for each further delay"] = 2.0
    max_delay_seconds: Annotated[int, Written(IntegerType(0, 86_400)), "Maximum delay"] = 3600
    on_exit_codes: Annotated[
        Sequence[int], Written(ListType(_EXIT_CODE)), "Exit codes to retry after; empty means any"
    ] = ()

    def delay_s(self, attempt: int) -> float:
        """Return the wait after that attempt, from 1."""
        return float(min(self.max_delay_seconds, self.delay_seconds * self.backoff ** (attempt - 1)))


RETRY = record_type(JobRetry, "Retry")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """The definition of a job, in a file, over the API and as options."""

    name: Annotated[str, Written(_NAME, inferred=True), "Unique"]
    description: Annotated[str, Written(TextType(blank=True, max_chars=500)), "Description"] = ""
    schedule: Annotated[str, Written(TextType(max_chars=200)), "Schedule"]
    timezone: Annotated[
        str, Written(TextType(), nullable=True, inferred=True), "IANA time zone (default: that of the server)"
    ]
    type: Annotated[str, Converted(str, JobType), Written(ChoiceType(tuple(JobType))), "Type of the command"] = (
        JobType.SHELL
    )
    command: Annotated[str, Written(TextType(max_chars=100_000)), "Command, workflow, skill, prompt or text"]
    params: Annotated[
        Mapping[str, Param], Written(MappingType(PlainType())), "Parameters of the workflow, skill or prompt"
    ] = field(default_factory=dict)
    env: Annotated[
        Mapping[str, str], Written(_ENV), "Environment variables; `${vault:NAME}` is a secret of the vault"
    ] = field(default_factory=dict)
    working_dir: Annotated[
        str,
        Written(TextType(blank=True, max_chars=4096)),
        "Working directory (default: the data directory)",
    ] = ""
    enabled: Annotated[bool, Written(BooleanType()), "Whether the schedule is enabled"] = True
    output: Annotated[
        str | None, Written(TextType(), nullable=True), "Destination of the output: `<channel>:<target>` or a profile"
    ] = None
    output_on: Annotated[
        Sequence[str], Converted(",".join, str), Written(_OUTPUT_ON), "Results after which the output is sent"
    ] = (OutputOn.ALWAYS,)
    timeout_seconds: Annotated[int, Written(IntegerType(0, 86_400)), "Time limit; 0 is unlimited"] = 3600
    overlap: Annotated[
        str, Converted(str, Overlap), Written(ChoiceType(tuple(Overlap))), "Policy if the previous run is still running"
    ] = Overlap.SKIP
    max_queued: Annotated[
        int, Written(IntegerType(1, 1000)), "Maximum number of waiting runs with `overlap: queue`"
    ] = 1
    max_parallel: Annotated[
        int, Written(IntegerType(1, 1000)), "Maximum number of parallel runs with `overlap: parallel`"
    ] = 1
    catchup: Annotated[
        str,
        Converted(str, CatchUp),
        Written(ChoiceType(tuple(CatchUp)), nullable=True, inferred=True),
        "Policy for missed runs",
    ] = CatchUp.LATEST
    catchup_window_seconds: Annotated[
        int, Written(IntegerType(0, 366 * 86_400)), "Maximum age of a missed run to catch up on"
    ] = 3600
    jitter_seconds: Annotated[
        int, Written(IntegerType(0, 3600)), "Maximum delay of the start; constant for each job"
    ] = 0
    retry: Annotated[JobRetry, Written(RETRY, inferred=True), "Retry policy"] = field(default_factory=JobRetry)
    success_exit_codes: Annotated[Sequence[int], Written(ListType(_EXIT_CODE, allow_empty=False)), "Success"] = (0,)
    history_limit: Annotated[int, Written(IntegerType(1, 100_000)), "Number of runs to keep"] = 200
    history_days: Annotated[int, Written(IntegerType(1, 3650)), "Days to keep runs"] = 30
    log_max_bytes: Annotated[int, Written(IntegerType(1024, 2**30)), "Maximum size of the output of one run"] = (
        1_048_576
    )
    start_at: Annotated[Time | None, Written(_TIME, nullable=True), "Earliest time of a run"] = None
    end_at: Annotated[Time | None, Written(_TIME, nullable=True), "Latest time of a run"] = None
    paused_until: Annotated[Time | None, Written(_TIME, nullable=True), "Time until which the schedule is paused"] = (
        None
    )
    auto_disable_after: Annotated[
        int, Written(IntegerType(0, 1000)), "Failures in a row after which the job is disabled; 0 means never"
    ] = 0
    tags: Annotated[Sequence[str], Written(ListType(TextType(max_chars=50))), "Tags, at most 20"] = ()

    @property
    def overlap_rules(self) -> OverlapRules:
        """The policy for a run that is due while another one runs."""
        return OverlapRules(Overlap(self.overlap), self.max_queued, self.max_parallel)

    def stored(self) -> dict[str, Any]:
        """Return the fields as `restored` reads them; `asdict` takes ten times as long."""
        plain = {name: getattr(self, name) for name in _NAMES}
        return {**plain, "retry": {name: getattr(self.retry, name) for name in _RETRY_NAMES}}


JOB = record_type(JobDefinition, "CronJob")
_NAMES = tuple(each.name for each in fields(JobDefinition) if each.name != "retry")
_RETRY_NAMES = tuple(each.name for each in fields(JobRetry))


def restored(stored: Mapping[str, Any]) -> JobDefinition:
    return JobDefinition(**{**stored, "retry": JobRetry(**stored["retry"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJob:
    """One job. All but the name is null where a file never was valid."""

    id: str
    definition: Flat[JobDefinition | None]  # what stands here as well replaces what it says
    name: str
    enabled: bool = True
    paused_until: Time | None = None
    source: JobSource
    file: Annotated[TextOrNull, "File in `cron.d` that defines the job."] = ""
    problem: Annotated[TextOrNull, "Reason why the current file was rejected."] = ""
    auto_disabled: Private[bool] = False
    paused_reason: TextOrNull = ""
    failures_since: Private[float] = 0.0  # failures before do not count
    anchor: Private[float] = 0.0  # from when `every` counts
    cursor: Private[float] = 0.0
    next_at: Private[float | None] = None  # jitter included
    boot: Private[str] = ""  # the boot after which the scheduler last looked at a job with the schedule `at start`
    version: Private[int] = 1
    created_at: Time = 0.0
    updated_at: Time = 0.0
    created_by: str = ""

    @property
    @after("problem")
    def tags(self) -> Sequence[str]:
        """Words to find it by."""
        return self.definition.tags if self.definition else ()

    @property
    def offset(self) -> int:
        """The jitter of this job."""
        return stable_offset(self.id, self.definition.jitter_seconds) if self.definition else 0

    def valid(self) -> JobDefinition:
        """Return the definition; raises InvalidJobError if there is none."""
        if self.definition is None:
            raise InvalidJobError(f"job {self.name} cannot run: {self.problem}", hint=f"correct {self.file}")
        return self.definition

    def schedule(self) -> Schedule:
        """Return when it is due, without jitter; raises ScheduleError and InvalidJobError."""
        definition = self.valid()
        return read_schedule(definition.schedule, definition.timezone, self.anchor)

    @property
    def begins_after(self) -> float:
        """The moment after which instants are still undecided; one that is exactly at the end of a pause is due."""
        start_at = self.definition.start_at if self.definition else None
        return max(self.cursor, (self.paused_until or 0.0) - 0.001, (start_at or 0.0) - 0.001)

    def next_instant(self) -> float | None:
        """Return the next instant without jitter, `None` after the last one; raises ScheduleError."""
        if not self.enabled or self.definition is None:
            return None
        instant = self.schedule().after(self.begins_after)
        end_at = self.definition.end_at
        return None if instant is None or (end_at is not None and instant > end_at) else instant

    def next_due(self) -> float | None:
        """Return when the scheduler has to look at it again."""
        try:
            instant = self.next_instant()
        except ScheduleError:
            return None
        return None if instant is None else instant + self.offset

    @property
    def is_at_start(self) -> bool:
        """Whether it is due after each start of the machine."""
        return isinstance(self._readable_schedule(), StartSchedule)

    def may_start(self, now: float) -> bool:
        """Whether a job that is due after a start of the machine runs if that is now."""
        definition = self.definition
        if not self.enabled or definition is None or (self.paused_until or 0.0) > now:
            return False
        return (definition.start_at or 0.0) <= now and (definition.end_at is None or now <= definition.end_at)

    def says(self, text: str) -> bool:
        """Whether its name, description or command has a text, in whatever case."""
        definition = self.definition
        texts = (self.name, *((definition.description, definition.command) if definition else ()))
        return any(text.casefold() in each.casefold() for each in texts)

    def state(self, now: float, *, is_running: bool) -> JobState:
        if self._readable_schedule() is None:
            return JobState.INVALID
        if is_running:
            return JobState.RUNNING
        if self.auto_disabled:
            return JobState.AUTO_DISABLED
        if not self.enabled or (self.paused_until or 0.0) > now:
            return JobState.PAUSED
        end_at = self.definition.end_at if self.definition else None
        waits = self.is_at_start and (end_at is None or now <= end_at)
        return JobState.SCHEDULED if self.next_at is not None or waits else JobState.COMPLETED

    def _readable_schedule(self) -> Schedule | None:
        try:
            return self.schedule() if self.definition else None
        except ScheduleError:
            return None


def order_of(job: CronJob, trigger: str, actor: str | None, params: Mapping[str, Any] | None = None) -> RunSpec:
    """Return the order of a run with the present definition of the job; raises InvalidJobError."""
    definition = job.valid()
    given = {**definition.params, **(params or {})}
    if params and definition.type == JobType.SHELL and (problem := params_problem(given, definition.env)):
        raise wrong_field("params", problem)
    return RunSpec(
        KIND,
        job.id,
        job.name,
        trigger,
        actor,
        params=given,
        env_keys=tuple(sorted(definition.env)),
        max_attempts=definition.retry.max_attempts,
        snapshot=definition.stored(),
        history_limit=definition.history_limit,
        history_days=definition.history_days,
        log_max_bytes=definition.log_max_bytes,
    )
