"""A cron job: its definition, its states, and when it is due."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.json_value import JsonIssue
from tocsin.core.reading.value import WRONG_VALUE
from tocsin.core.text.shell import params_problem
from tocsin.core.time.timestamps import timestamp
from tocsin.runs.model import RunSpec
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.overlap import Overlap, OverlapRules
from tocsin.scheduling.schedule import Schedule, StartSchedule, read_schedule, stable_offset

KIND = "cron"


class UnknownJobError(TocsinError):
    """No job has this name or ID."""

    code: ClassVar[str] = "not-found"


class JobConflictError(TocsinError):
    """The state of the job, or another one of its name, does not allow this."""

    code: ClassVar[str] = "conflict"


class JobNameTakenError(JobConflictError):
    """Another job has the name."""

    code: ClassVar[str] = "name-taken"


class JobRunningError(JobConflictError):
    """The job is running, which does not allow this."""

    code: ClassVar[str] = "run-already-active"


class JobChangedError(JobConflictError):
    """The job was changed since it was read."""

    code: ClassVar[str] = "precondition-failed"


class InvalidJobError(ConfigError):
    """The definition of a job is wrong; `issues` are the first of `count` mistakes, where they are in fields."""

    code: ClassVar[str] = "validation-failed"

    def __init__(self, message: str, *, hint: str = "", issues: Sequence[JsonIssue] = (), count: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.issues = issues
        self.count = max(count, len(issues))


def wrong_field(name: str, detail: str) -> InvalidJobError:
    """Return the error of one field."""
    return InvalidJobError(f"{name}: {detail}", issues=[JsonIssue((name,), WRONG_VALUE, detail)])


class JobType(StrEnum):
    """Type of a job's command."""

    SHELL = "shell"
    WORKFLOW = "workflow"
    SKILL = "skill"
    PROMPT = "prompt"
    MESSAGE = "message"


class OutputOn(StrEnum):
    """After which runs the output is sent."""

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


@dataclass(frozen=True, slots=True)
class JobRetry:
    """How often a failed run is repeated, and after how long."""

    max_attempts: int = 1
    delay_seconds: int = 60
    backoff: float = 2.0
    max_delay_seconds: int = 3600
    on_exit_codes: Sequence[int] = ()

    def delay_s(self, attempt: int) -> float:
        """Return the wait after that attempt, from 1."""
        return float(min(self.max_delay_seconds, self.delay_seconds * self.backoff ** (attempt - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """What people write; times are Unix seconds."""

    name: str
    schedule: str
    timezone: str
    command: str
    description: str = ""
    type: str = JobType.SHELL
    params: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    enabled: bool = True
    output: str | None = None
    output_on: Sequence[str] = (OutputOn.ALWAYS,)
    timeout_seconds: int = 3600
    overlap: str = Overlap.SKIP
    max_queued: int = 1
    max_parallel: int = 1
    catchup: str = CatchUp.LATEST
    catchup_window_seconds: int = 3600
    jitter_seconds: int = 0
    retry: JobRetry = field(default_factory=JobRetry)
    success_exit_codes: Sequence[int] = (0,)
    history_limit: int = 200
    history_days: int = 30
    log_max_bytes: int = 1_048_576
    start_at: float | None = None
    end_at: float | None = None
    paused_until: float | None = None
    auto_disable_after: int = 0
    tags: Sequence[str] = ()

    @property
    def overlap_rules(self) -> OverlapRules:
        """What happens to a run that is due while another one runs."""
        return OverlapRules(Overlap(self.overlap), self.max_queued, self.max_parallel)

    def stored(self) -> dict[str, Any]:
        """Return the fields as `restored` reads them; `asdict` takes ten times as long."""
        plain = {name: getattr(self, name) for name in _NAMES}
        return {**plain, "retry": {name: getattr(self.retry, name) for name in _RETRY_NAMES}}

    def document(self) -> dict[str, Any]:
        """Return the public form, which `read_definition` reads."""
        found: dict[str, Any] = asdict(self)
        found |= {name: timestamp(found[name]) for name in ("start_at", "end_at", "paused_until")}
        found["output_on"] = ",".join(self.output_on)
        lists = {name: list(found[name]) for name in ("success_exit_codes", "tags")}
        found["retry"]["on_exit_codes"] = list(self.retry.on_exit_codes)
        return {**found, **lists}


_NAMES = tuple(each.name for each in fields(JobDefinition) if each.name != "retry")
_RETRY_NAMES = tuple(each.name for each in fields(JobRetry))


def restored(stored: Mapping[str, Any]) -> JobDefinition:
    """Return the definition that has these fields."""
    return JobDefinition(**{**stored, "retry": JobRetry(**stored["retry"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJob:
    """One job. `definition` is None for a file that never was valid."""

    id: str
    name: str
    source: JobSource
    definition: JobDefinition | None
    file: str = ""
    problem: str = ""  # why the present file is not in force
    enabled: bool = True
    auto_disabled: bool = False
    paused_until: float | None = None
    paused_reason: str = ""
    failures_since: float = 0.0  # failures before do not count
    anchor: float = 0.0  # from when `every` counts
    cursor: float = 0.0
    next_at: float | None = None  # jitter included
    boot: str = ""  # the boot after whose start the scheduler last looked at a job with the schedule `at start`
    version: int = 1
    created_at: float = 0.0
    updated_at: float = 0.0
    created_by: str = ""

    @property
    def offset(self) -> int:
        """The jitter of this job."""
        return stable_offset(self.id, self.definition.jitter_seconds) if self.definition else 0

    def valid(self) -> JobDefinition:
        """Return the definition; raises InvalidJobError where there is none."""
        if self.definition is None:
            raise InvalidJobError(f"job {self.name} cannot run: {self.problem}", hint=f"correct {self.file}")
        return self.definition

    def schedule(self) -> Schedule:
        """Return when it is due, without jitter; raises ScheduleError and InvalidJobError."""
        definition = self.valid()
        return read_schedule(definition.schedule, definition.timezone, self.anchor)

    @property
    def begins_after(self) -> float:
        """The moment after which instants are still undecided."""
        start_at = self.definition.start_at if self.definition else None
        return max(self.cursor, self.paused_until or 0.0, (start_at or 0.0) - 0.001)

    def next_instant(self) -> float | None:
        """Return the next instant without jitter, None if none follows; raises ScheduleError."""
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
        """Return how it stands."""
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
    """Return what is run for a job, with the definition as it is now; raises InvalidJobError."""
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
