"""The record of one execution, its states, and what to execute."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class RunKind(StrEnum):
    """What was executed."""

    CRON = "cron"
    WORKFLOW = "workflow"
    SKILL = "skill"
    SSH = "ssh"
    TRIGGER = "trigger"
    WATCHER = "watcher"


class RunStatus(StrEnum):
    """The state of a run."""

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


class RunTrigger(StrEnum):
    """Why it was executed."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    CATCHUP = "catchup"
    RETRY = "retry"
    API = "api"
    BOT = "bot"
    WEBHOOK = "webhook"
    WORKFLOW = "workflow"
    WATCHER = "watcher"


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


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What to run, for whom and why."""

    kind: RunKind
    subject_id: str
    subject_name: str
    trigger: RunTrigger
    actor: str | None = None  # a user, `chat:<id>`, `scheduler`
    params: Mapping[str, Any] = field(default_factory=dict)
    env_keys: tuple[str, ...] = ()  # only the names of the injected variables
    parent_run_id: str | None = None
    retry_of: str | None = None
    attempt: int = 1
    max_attempts: int = 1
    scheduled_for: float | None = None
    log_max_bytes: int = 1024 * 1024  # the first quarter and the last three quarters are kept


@dataclass(frozen=True, slots=True)
class RunOutput:
    """A summary of the output; `tail` is the last 20 lines."""

    bytes: int = 0
    lines: int = 0
    truncated: bool = False
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output; `stream` is stdout, stderr, system, or a name chosen by the work."""

    n: int  # from 1
    ts: float
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run."""

    status: RunStatus
    reason: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    error: Mapping[str, str] | None = None  # code and message


@dataclass(frozen=True, slots=True)
class Run:
    """One execution. Times are Unix seconds."""

    id: str
    kind: RunKind
    subject_id: str
    subject_name: str
    trigger: RunTrigger
    status: RunStatus
    queued_at: float
    actor: str | None = None
    reason: str | None = None  # why it was skipped, missed or failed, in one sentence
    attempt: int = 1
    max_attempts: int = 1
    retry_of: str | None = None
    parent_run_id: str | None = None
    scheduled_for: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    exit_code: int | None = None
    signal: str | None = None
    dry_run: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    env_keys: tuple[str, ...] = ()
    output: RunOutput = field(default_factory=RunOutput)
    error: Mapping[str, str] | None = None  # code and message

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.status is RunStatus.SUCCEEDED

    @property
    def duration_ms(self) -> int | None:
        """The duration in milliseconds."""
        if self.started_at is None or self.finished_at is None:
            return None
        return round((self.finished_at - self.started_at) * 1000)

    @property
    def delay_ms(self) -> int | None:
        """The delay of its start after the scheduled time."""
        if self.started_at is None or self.scheduled_for is None:
            return None
        return round((self.started_at - self.scheduled_for) * 1000)
