"""The record of a run, its states, and the specification of what to execute."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, TypedDict

from tocsin.channels.contract import SendResult
from tocsin.core.ids import new_id
from tocsin.core.records.marks import Converted, Flat, Private, TextOrNull, Time, after
from tocsin.core.text.visible import without_sequences

LOG_MAX_BYTES = 1024 * 1024
# The reasons of runs that ended with their process, or with the runs that waited for them.
WAS_STOPPED, WAITER_ENDED = "the program of the run was stopped", "runs that waited for it were cancelled"


class RunStatus(StrEnum):
    """State of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"  # its process died
    SKIPPED = "skipped"
    MISSED = "missed"


ACTIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING, RunStatus.CANCELLING})
TERMINAL = frozenset(RunStatus) - ACTIVE
AT_WORK = ACTIVE - {RunStatus.QUEUED}
SUCCESSFUL = frozenset({RunStatus.SUCCEEDED, RunStatus.PARTIALLY_SUCCEEDED})
ENDED_BADLY = frozenset({RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED, RunStatus.INTERRUPTED})
CUT_OFF = frozenset({RunStatus.CANCELLED, RunStatus.INTERRUPTED})
FAILING = ENDED_BADLY - {RunStatus.CANCELLED} | {RunStatus.PARTIALLY_SUCCEEDED}  # needs the attention of a person


class HostStatus(StrEnum):
    """State of a command on one host."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    AUTH_FAILED = "auth_failed"
    HOST_KEY_UNKNOWN = "host_key_unknown"
    HOST_KEY_CHANGED = "host_key_changed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class OutputDeliveryStatus(StrEnum):
    """State of the messages with the output of a run; it does not affect the state of the run."""

    NONE = "none"
    PENDING = "pending"  # at least one message has not ended
    DELIVERED = "delivered"
    PARTIAL = "partial"
    FAILED = "failed"


class RunTrigger(StrEnum):
    """The cause of a run; features may define other causes."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    CATCHUP = "catchup"
    RETRY = "retry"
    API = "api"
    BOT = "bot"
    WEBHOOK = "webhook"


class WritableSpace(Protocol):
    """The folders that a sandboxed child process may write to, with limited size."""

    async def attach(self, pid: int) -> None:
        """Prepare the folders for the child process `pid`, which waits for a line on its standard input."""

    def excess(self) -> str:
        """Return the limit that the child has reached, or `""`. Blocks."""


@dataclass(frozen=True, slots=True)
class Command:
    """A child process. `env` is its whole environment; a time-out of 0 is none."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None = None
    timeout_s: float = 3600.0
    stdin: str = ""
    wrapped: bool = False  # argv[0] is a wrapper, such as bubblewrap, that must not receive SIGTERM
    max_processes: int = 0  # total over all processes, like max_memory_bytes; 0 is no limit
    max_memory_bytes: int = 0
    writable: "WritableSpace | None" = None
    success_exit_codes: Collection[int] = (0,)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The work to execute, and its context."""

    kind: str
    subject_id: str
    subject_name: str
    trigger: str
    actor: str | None = None  # a user, `chat:<id>`, `scheduler`
    params: Mapping[str, Any] = field(default_factory=dict)
    env_keys: tuple[str, ...] = ()  # only the names of the injected variables, not their values
    parent_run_id: str | None = None
    retry_of: str | None = None
    attempt: int = 1
    max_attempts: int = 1
    scheduled_for: float | None = None
    dry_run: bool = False
    snapshot: Mapping[str, Any] | None = None  # the executed definition, for a retry, without secrets
    history_limit: int | None = None  # number of runs of the subject to keep; None: as in `Runs.prune`
    history_days: float | None = None
    log_max_bytes: int = LOG_MAX_BYTES  # the first quarter and the last three quarters are kept
    source: str = ""  # the component that requested the run, as in the audit log, for recording its end later
    request: Mapping[str, Any] = field(default_factory=dict)  # JSON from which its run type recreates the work
    id: str = ""  # of the run, if the caller has chosen it; empty: a new one


@dataclass(frozen=True, slots=True)
class RunOutput:
    """The output of a run."""

    schema_name: ClassVar[str] = "OutputRecord"

    bytes: int = 0
    lines: int = 0
    truncated: Annotated[bool, "Whether the middle of the log was discarded."] = False
    tail: Annotated[str, "Last 20 lines of the output."] = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line that a run printed."""

    schema_name: ClassVar[str] = "LogLine"

    n: Annotated[int, "Line number, starting at 1."]
    ts: Time
    stream: Annotated[str, "`stdout`, `stderr`, `system`, or a name chosen by the work."]
    text: str

    @property
    def plain(self) -> str:
        """The text without what colours it on a terminal."""
        return without_sequences(self.text)


@dataclass(frozen=True, slots=True)
class OutputResult:
    """The outcome of one message with a run's output."""

    schema_name: ClassVar[str] = "OutputResultRecord"

    result: Flat[SendResult]
    delivery_id: Annotated[TextOrNull, "The delivery, or null if the message was rejected before it was queued."] = ""


@dataclass(frozen=True, slots=True)
class OutputDelivery:
    """How far the messages with a run's output came; it never changes the state of the run."""

    schema_name: ClassVar[str] = "DeliveryRecord"

    status: OutputDeliveryStatus = OutputDeliveryStatus.NONE
    results: tuple[OutputResult, ...] = ()
    queued: Private[tuple[str, ...]] = ()  # the IDs of deliveries that have not ended

    @property
    def is_complete(self) -> bool:
        """Whether there are messages, and each is queued or sent."""
        return bool(self.queued or self.results) and all(each.result.ok for each in self.results)

    @classmethod
    def begun(cls, refused: Sequence[SendResult], queued: Sequence[str]) -> "OutputDelivery":
        """Return the state of messages that were just queued or refused."""
        return cls.of([OutputResult(result) for result in refused], queued)

    @classmethod
    def of(cls, results: Sequence[OutputResult], queued: Sequence[str]) -> "OutputDelivery":
        """Return the state of messages from the `results` of those that ended and the IDs of those in the queue."""
        sent = sum(each.result.ok for each in results)
        if queued:
            status = OutputDeliveryStatus.PENDING
        elif sent == len(results):
            status = OutputDeliveryStatus.DELIVERED if results else OutputDeliveryStatus.NONE
        else:
            status = OutputDeliveryStatus.PARTIAL if sent else OutputDeliveryStatus.FAILED
        return cls(status, tuple(results), tuple(queued))


class RunError(TypedDict):
    """Why a run failed."""

    code: str
    message: str


ErrorFacts = Annotated[Mapping[str, str], Converted(dict, RunError)]


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step of a run."""

    schema_name: ClassVar[str] = "StepRecord"

    name: str
    type: str
    status: RunStatus = RunStatus.QUEUED
    attempt: int = 1
    started_at: Time | None = None
    finished_at: Time | None = None
    exit_code: int | None = None
    when: Annotated[str | None, "Its condition."] = None
    error: ErrorFacts | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    message: Annotated[str | None, "The pending decision, while the step waits for one."] = None

    @property
    @after("finished_at")
    def duration_ms(self) -> int | None:
        """The duration in milliseconds."""
        return milliseconds(self.started_at, self.finished_at)


@dataclass(frozen=True, slots=True)
class HostResult:
    """Result of a command on one host."""

    schema_name: ClassVar[str] = "HostRecord"

    host: str
    status: HostStatus = HostStatus.QUEUED
    exit_code: int | None = None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    duration_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run."""

    status: RunStatus
    reason: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    error: ErrorFacts | None = None


# Only its subclass has instances: creating no methods for it saves a millisecond of every command.
@dataclass(frozen=True, slots=True, kw_only=True, init=False, eq=False, repr=False)
class RunSummary:
    """One execution, as lists show it."""

    id: str
    kind: str
    subject_id: str
    subject_name: str
    trigger: str
    actor: str | None = None
    status: RunStatus
    reason: Annotated[str | None, "Reason why the run was skipped, missed or failed, in one sentence."] = None
    attempt: int = 1
    max_attempts: int = 1
    retry_of: str | None = None
    parent_run_id: str | None = None
    scheduled_for: Time | None = None
    queued_at: Time
    started_at: Time | None = None
    finished_at: Time | None = None
    exit_code: int | None = None
    signal: str | None = None
    dry_run: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    env_keys: tuple[str, ...] = ()
    output: RunOutput = field(default_factory=RunOutput)
    delivery: OutputDelivery = field(default_factory=OutputDelivery)
    error: ErrorFacts | None = None

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.status is RunStatus.SUCCEEDED

    @property
    @after("finished_at")
    def duration_ms(self) -> int | None:
        """The duration in milliseconds."""
        return milliseconds(self.started_at, self.finished_at)

    @property
    @after("finished_at")
    def delay_ms(self) -> int | None:
        """How long after the scheduled time it started, in milliseconds."""
        return milliseconds(self.scheduled_for, self.started_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(RunSummary):
    """One execution, with its steps and hosts."""

    schema_name: ClassVar[str] = "RunRecord"

    steps: tuple[StepRun, ...] = ()  # a search omits steps and hosts unless requested
    hosts: tuple[HostResult, ...] = ()
    snapshot: Private[Mapping[str, Any] | None] = None
    history_limit: Private[int | None] = None
    history_days: Private[float | None] = None
    source: Private[str] = ""
    home: Private[str] = ""  # the data directory of the run, in a store that several hosts share

    def with_parts(self, parts: Iterable[StepRun | HostResult]) -> "Run":
        found = tuple(parts)
        steps = tuple(part for part in found if isinstance(part, StepRun))
        return replace(self, steps=steps, hosts=tuple(part for part in found if isinstance(part, HostResult)))


def new_run(spec: RunSpec, status: RunStatus, now: float) -> Run:
    """Return the record of a run that is queued, starts now, or ended without starting."""
    return Run(
        id=spec.id or new_id(),
        kind=spec.kind,
        subject_id=spec.subject_id,
        subject_name=spec.subject_name,
        trigger=spec.trigger,
        status=status,
        queued_at=now,
        actor=spec.actor,
        attempt=spec.attempt,
        max_attempts=spec.max_attempts,
        retry_of=spec.retry_of,
        parent_run_id=spec.parent_run_id,
        scheduled_for=spec.scheduled_for,
        started_at=now if status is RunStatus.RUNNING else None,
        finished_at=now if status in TERMINAL else None,
        dry_run=spec.dry_run,
        params=spec.params,
        env_keys=spec.env_keys,
        snapshot=spec.snapshot,
        history_limit=spec.history_limit,
        history_days=spec.history_days,
        source=spec.source,
    )


def milliseconds(since: float | None, until: float | None) -> int | None:
    """Return the time between two moments in milliseconds; `None` if either is unknown."""
    return None if since is None or until is None else round((until - since) * 1000)
