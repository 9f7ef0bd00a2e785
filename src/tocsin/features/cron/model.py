"""A cron job: its definition, its states, and when it is due."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    IntegerType,
    ListType,
    MappingType,
    NumberType,
    PlainType,
    RecordType,
    TextType,
)
from tocsin.core.reading.json_value import JsonIssue
from tocsin.core.reading.value import WRONG_VALUE, V
from tocsin.core.text.shell import params_problem, placeholder_problem
from tocsin.core.time.timestamps import seconds_of, timestamp
from tocsin.runs.model import RunKind
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.overlap import Overlap, OverlapRules
from tocsin.scheduling.schedule import Schedule, read_schedule, stable_offset

KIND = RunKind.CRON
# One line that people can read, and that no command line takes for an option.
NAME_RULE = r"(?![\s-])[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{1,100}(?<!\s)"
_EXIT_CODES = ListType(IntegerType(0, 255))


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
    """Somebody changed the job since it was read."""

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
    """What a job's command is."""

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


class JobState(StrEnum):
    """How a job stands."""

    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    AUTO_DISABLED = "auto_disabled"
    COMPLETED = "completed"
    INVALID = "invalid"


class JobSource(StrEnum):
    """Where a job is defined."""

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
            raise InvalidJobError(f"the job {self.name} cannot run: {self.problem}", hint=f"correct {self.file}")
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

    def says(self, text: str) -> bool:
        """Whether its name, description or command has a text, in whatever case."""
        definition = self.definition
        texts = (self.name, *((definition.description, definition.command) if definition else ()))
        return any(text.casefold() in each.casefold() for each in texts)

    def state(self, now: float, *, is_running: bool) -> JobState:
        """Return how it stands."""
        if self.definition is None or not _is_readable(self):
            return JobState.INVALID
        if is_running:
            return JobState.RUNNING
        if self.auto_disabled:
            return JobState.AUTO_DISABLED
        if not self.enabled or (self.paused_until or 0.0) > now:
            return JobState.PAUSED
        return JobState.SCHEDULED if self.next_at is not None else JobState.COMPLETED


def _is_readable(job: CronJob) -> bool:
    try:
        job.schedule()
    except ScheduleError:
        return False
    return True


def _time(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise ValueError(f"expected {error}") from None


def _output_on(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        if word not in set(OutputOn):
            raise ValueError(f"expected one or several of: {', '.join(OutputOn)}")
    return words


_OUTPUT_ON = TextType(parse=_output_on, schema={"default": str(OutputOn.ALWAYS)})
RETRY = RecordType(
    (
        Field("max_attempts", IntegerType(1, 100), default=1, doc="How often a run is tried in all"),
        Field("delay_seconds", IntegerType(0, 86_400), default=60, doc="The wait before the second try"),
        Field("backoff", NumberType(1, 10), default=2.0, doc="By what each further wait is longer"),
        Field("max_delay_seconds", IntegerType(0, 86_400), default=3600, doc="The longest wait"),
        Field("on_exit_codes", _EXIT_CODES, default=(), doc="Only after these; empty is after any"),
    ),
    name="Retry",
)
JOB = RecordType(
    (
        Field(
            "name",
            TextType(pattern=NAME_RULE, rule="not a name: write 1 to 100 characters on one line, the first no dash"),
            doc="Unique",
        ),
        Field("description", TextType(blank=True, max_chars=500), default="", doc="What it is for"),
        Field("schedule", TextType(max_chars=200), required=True, doc="When it runs"),
        Field("timezone", TextType(), nullable=True, doc="An IANA name; the server's zone without it"),
        Field("type", ChoiceType(tuple(JobType)), default="shell", doc="What the command is"),
        Field("command", TextType(max_chars=100_000), required=True, doc="Command, workflow, skill, prompt or text"),
        Field("params", MappingType(PlainType()), default={}, doc="Parameters of what is run"),
        Field(
            "env",
            MappingType(TextType(blank=True), r"[A-Za-z_][A-Za-z0-9_]*", "not a name of a variable"),
            default={},
            doc="Variables; `${vault:NAME}` is a value of the vault",
        ),
        Field("working_dir", TextType(blank=True), default="", doc="Where a command runs; empty: the data directory"),
        Field("enabled", BooleanType(), default=True, doc="Whether it runs at its times"),
        Field("output", TextType(), nullable=True, doc="`<channel>:<target>` or a profile"),
        Field("output_on", _OUTPUT_ON, default=("always",), doc="After which runs"),
        Field("timeout_seconds", IntegerType(0, 86_400), default=3600, doc="0 is no limit"),
        Field("overlap", ChoiceType(tuple(Overlap)), default="skip", doc="When the previous run still runs"),
        Field("max_queued", IntegerType(1, 1000), default=1, doc="Runs that wait with `overlap: queue`"),
        Field("max_parallel", IntegerType(1, 1000), default=1, doc="Runs at a time with `overlap: parallel`"),
        Field("catchup", ChoiceType(tuple(CatchUp)), nullable=True, doc="What becomes of missed runs"),
        Field("catchup_window_seconds", IntegerType(0, 366 * 86_400), default=3600, doc="Older ones stay missed"),
        Field("jitter_seconds", IntegerType(0, 3600), default=0, doc="A delay up to this, always the same for a job"),
        Field("retry", RETRY, doc="After a failure"),
        Field("success_exit_codes", ListType(IntegerType(0, 255), allow_empty=False), default=(0,), doc="Success"),
        Field("history_limit", IntegerType(1, 100_000), default=200, doc="Runs that are kept"),
        Field("history_days", IntegerType(1, 3650), default=30, doc="For how long they are kept"),
        Field("log_max_bytes", IntegerType(1024, 2**30), default=1_048_576, doc="Of the output of one run"),
        Field("start_at", TextType(parse=_time), nullable=True, doc="No run before"),
        Field("end_at", TextType(parse=_time), nullable=True, doc="No run after"),
        Field("paused_until", TextType(parse=_time), nullable=True, doc="No run before, for now"),
        Field("auto_disable_after", IntegerType(0, 1000), default=0, doc="Failures in a row; 0 is never"),
        Field("tags", ListType(TextType(max_chars=50)), default=(), doc="At most 20"),
    ),
    name="CronJob",
)


def read_definition(value: V, zone: str, usual_name: str = "") -> JobDefinition:
    """Return the definition that a record holds; mistakes are reported to its reader.

    `zone` is that of a job that names none.
    """
    read = JOB.read(value)
    given, values = read.given, dict(read.values)
    if not values.get("name"):
        values["name"] = usual_name
        if not usual_name and given["name"].absent:
            given["name"].refuse_missing()
    values["timezone"] = values.get("timezone") or zone
    usual_catchup = CatchUp.NONE if values.get("type") == JobType.PROMPT else CatchUp.LATEST
    values["catchup"] = values.get("catchup") or usual_catchup
    retry = values.pop("retry", None)
    values["retry"] = JobRetry(**retry.values) if retry else JobRetry()
    if len(values.get("tags", ())) > 20:
        given["tags"].refuse("expected at most 20 tags")
    if values.get("type") == JobType.MESSAGE and not values.get("output"):
        given["type"].refuse("a message needs an output: <channel>:<target> or a profile")
    if values.get("type", JobType.SHELL) == JobType.SHELL:
        if problem := placeholder_problem(values.get("command") or "", has_env=True):
            given["command"].refuse(problem)
        if problem := params_problem(values.get("params") or {}, values.get("env") or {}):
            given["params"].refuse(problem)
    _check_schedule(values, given)
    return JobDefinition(**{name: each for name, each in values.items() if each is not None})


def _check_schedule(values: Mapping[str, Any], given: Mapping[str, V]) -> None:
    if not values.get("schedule"):
        return
    try:
        read_schedule(values["schedule"], "UTC", 0.0)
    except ScheduleError as error:
        given["schedule"].refuse(error.sentence(), "bad-cron")
        return
    try:
        read_schedule(values["schedule"], values["timezone"], 0.0)
    except ScheduleError as error:
        given["timezone"].refuse(error.sentence(), "bad-zone")
