"""A heartbeat: its definition, its states, and the records that people see."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, NamedTuple

from tocsin.core.errors import ConflictError, NotFoundError
from tocsin.core.reading.fields import ChoiceType, DurationType, IntegerType, ListType, TextType
from tocsin.core.reading.invalid import InvalidRecordError
from tocsin.core.reading.records import Written, record_type
from tocsin.core.records.marks import Flat, TextOrNull, Time
from tocsin.scheduling.schedule import Schedule, read_schedule
from tocsin.scheduling.time_words import every

NAME_PATTERN = r"[a-z0-9][a-z0-9_-]{0,99}"
NAME_RULE = "not a valid name: use lower-case letters, digits, _ and -, at most 100, since it is part of an address"
DAY_S = 86_400.0
SHORTEST_S, LONGEST_S = 5.0, 365 * DAY_S
GRACE_S = 600.0
SHOWN_INSTANTS = 30


class UnknownHeartbeatError(NotFoundError):
    """No heartbeat has this name or ID."""


class HeartbeatConflictError(ConflictError):
    """The heartbeat is defined in a file, or its state does not allow this."""


class HeartbeatNameTakenError(HeartbeatConflictError):
    """Another heartbeat has the name."""

    code: ClassVar[str] = "name-taken"


class HeartbeatChangedError(HeartbeatConflictError):
    """The heartbeat was changed since it was read."""

    code: ClassVar[str] = "precondition-failed"


class InvalidHeartbeatError(InvalidRecordError):
    """The definition of a heartbeat is wrong."""


class HeartbeatState(StrEnum):
    """State of a heartbeat."""

    NEW = "new"  # no ping yet
    UP = "up"
    LATE = "late"  # the ping is due, within its grace; shown, never sent
    DOWN = "down"
    PAUSED = "paused"
    UNKNOWN = "unknown"  # Tocsin was not there when the ping was due


class InstantState(StrEnum):
    """The outcome of an instant at which a ping was expected."""

    MET = "met"
    LATE = "late"
    FAILED = "failed"
    MISSED = "missed"
    UNKNOWN = "unknown"
    PAUSED = "paused"


class PingKind(StrEnum):
    """The kind of a ping."""

    SUCCESS = "success"
    START = "start"
    FAIL = "fail"
    LOG = "log"


class HeartbeatSource(StrEnum):
    """Place where a heartbeat is defined."""

    API = "api"
    FILE = "file"
    PING = "ping"  # an unknown name, with HEARTBEATS_CREATE


class HeartbeatSeverity(StrEnum):
    """The severity of a missed ping."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class AfterDowntime(StrEnum):
    """The state of an instant at which Tocsin was not running."""

    UNKNOWN = "unknown"
    DOWN = "down"


def is_name(text: str) -> bool:
    return re.fullmatch(NAME_PATTERN, text) is not None


def _tag(text: str) -> str:
    if "," in text or not text.isprintable():
        raise ValueError("a tag must not contain commas or control characters")
    return text


_DURATION = DurationType(SHORTEST_S, LONGEST_S)
_TAGS = ListType(TextType(max_chars=50, parse=_tag), max_items=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatDefinition:
    """The definition of a heartbeat: when pings are expected."""

    period: Annotated[
        float | None, Written(_DURATION, inferred=True, nullable=True), "Longest time between two pings, such as `5m`"
    ] = None
    schedule: Annotated[
        TextOrNull, Written(TextType(max_chars=200), inferred=True, nullable=True), "When the job runs, as in cron"
    ] = ""
    timezone: Annotated[
        TextOrNull, Written(TextType(max_chars=100), inferred=True, nullable=True), "Time zone of `schedule`"
    ] = ""
    grace: Annotated[float, Written(DurationType(1, LONGEST_S)), "How late a ping may be"] = GRACE_S
    max_run: Annotated[
        float | None,
        Written(DurationType(1, LONGEST_S), inferred=True, nullable=True),
        "How long a started run may take (default: `grace`)",
    ] = None
    misses: Annotated[int, Written(IntegerType(1, 10)), "Missed pings in a row until it is down"] = 1
    severity: Annotated[
        HeartbeatSeverity, Written(ChoiceType(tuple(map(str, HeartbeatSeverity)))), "Severity of a missed ping"
    ] = HeartbeatSeverity.CRITICAL
    notify: Annotated[
        TextOrNull,
        Written(TextType(), inferred=True, nullable=True),
        "Where down and up are sent: `<channel>:<target>` or a profile",
    ] = ""
    after_downtime: Annotated[
        AfterDowntime,
        Written(ChoiceType(tuple(map(str, AfterDowntime)))),
        "How a ping counts that was due while Tocsin was not running",
    ] = AfterDowntime.UNKNOWN
    tags: Annotated[tuple[str, ...], Written(_TAGS), "Words for badges and filters"] = ()
    description: Annotated[TextOrNull, Written(TextType(blank=True, max_chars=500)), "What it is for"] = ""

    @property
    def max_run_s(self) -> float:
        """How long a started run may take."""
        return self.grace if self.max_run is None else self.max_run

    def instants(self) -> Schedule | None:
        """Return the schedule of the cron kind; `None` for a period."""
        return read_schedule(self.schedule, self.timezone, 0.0) if self.schedule else None

    def words(self) -> str:
        """Return the schedule or the period in words, such as `Every 2 hours`."""
        schedule = self.instants()
        return schedule.words() if schedule else every(self.period or DAY_S)


DEFINITION = record_type(HeartbeatDefinition, "HeartbeatDefinition")


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has started and not ended."""

    rid: str  # empty: anonymous
    started_at: float
    ends_by: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The state of a heartbeat on which the next decision depends. Times are Unix seconds."""

    state: HeartbeatState = HeartbeatState.NEW
    since: float = 0.0
    reason: str = ""
    due_at: float | None = None
    misses: int = 0
    runs: tuple[OpenRun, ...] = ()
    last_ping_at: float | None = None
    last_kind: str = ""
    last_duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatInstant:
    """An instant at which a ping was expected, and its outcome."""

    due_at: Time
    state: InstantState
    ping: Annotated[int | None, "Number of the ping that decided it."] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPing:
    """A received ping."""

    kind: PingKind
    exit_status: int | None = None
    rid: str = ""
    duration_s: float | None = None  # as the sender measured it
    method: str = "POST"
    client: str = ""
    agent: str = ""
    size: int = 0
    body: bytes = b""  # masked, and compressed


class RelayedPing(NamedTuple):
    """A ping that another host received, for the heartbeat with this `code` or `name`."""

    column: str
    value: str
    ping: ReceivedPing
    at: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeartbeatPing:
    """A ping of a heartbeat."""

    n: Annotated[int, "Number of the ping; the first one has 1."]
    at: Time
    kind: PingKind
    exit_status: int | None
    rid: TextOrNull
    duration_s: Annotated[float | None, "Duration of the run that it ended."]
    method: str
    client: str
    agent: str
    size: Annotated[int, "Size of the body in bytes."]
    has_body: Annotated[bool, "Whether the body is kept."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A heartbeat as it is stored."""

    id: str
    name: str
    code: str
    source: HeartbeatSource
    definition: HeartbeatDefinition
    created_at: float
    updated_at: float
    removed_at: float | None = None
    watched: Watched = Watched()  # it is frozen
    pings: int = 0
    told: str = ""  # the state that the last message reported
    told_at: float = 0.0
    quiet_until: float | None = None  # while it flaps

    def state(self, now: float) -> HeartbeatState:
        due = self.watched.due_at
        is_waiting = self.watched.state in {HeartbeatState.UP, HeartbeatState.UNKNOWN}
        return HeartbeatState.LATE if is_waiting and due is not None and due < now else self.watched.state


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeartbeatRun:
    """A run that has started and not ended."""

    rid: TextOrNull
    started_at: Time
    ends_by: Annotated[Time, "When it counts as overdue."]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeartbeatRecord:
    """Heartbeat with its state."""

    id: str
    name: str
    source: HeartbeatSource
    state: HeartbeatState
    since: Annotated[Time | None, "When the state began."]
    reason: Annotated[TextOrNull, "Why it is down."]
    definition: Flat[HeartbeatDefinition]
    schedule_text: Annotated[str, "Schedule or period in words."]
    next_due_at: Annotated[Time | None, "When the next ping is expected."]
    last_ping_at: Time | None
    last_kind: TextOrNull
    last_duration_s: float | None
    running: Annotated[Sequence[HeartbeatRun], "Runs that have started and not ended."]
    pings: Annotated[int, "Number of pings so far."]
    recent: Annotated[Sequence[HeartbeatInstant], "Newest 30 instants, the oldest first."]
    uptime_30d: Annotated[float | None, "Share of the instants of 30 days that were met or late."]
    created_at: Time
    updated_at: Time


@dataclass(frozen=True, slots=True)
class HeartbeatAddress:
    """Addresses of a heartbeat. Each is a secret: its holder can report for the job."""

    ping_url: Annotated[str, "By UUID: stays the same if the heartbeat is renamed."]
    slug_url: Annotated[str, "By ping key and name."]
    push_url: Annotated[str, "In the form of Uptime Kuma's push monitors."]
    cronitor_url: Annotated[str, "In the form of Cronitor."]
