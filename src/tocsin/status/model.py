"""The status of the program, and its public representation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from tocsin.core.records.marks import Time, after
from tocsin.features.context import AttentionItem, NextRun, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.contract import Subsystem
from tocsin.runs.model import RunSummary

CORE_SUBSYSTEMS = (Subsystem("messaging", "Messaging", 200, "msg"), Subsystem("audit", "Audit", 700, "audit"))
OverallState = Literal[SubsystemState.OK, SubsystemState.DEGRADED, SubsystemState.ERROR]
_FAULTY: tuple[OverallState, ...] = (SubsystemState.ERROR, SubsystemState.DEGRADED)
NEXT_RUNS, RECENT_RUNS = 5, 10
NOT_INSTALLED = SubsystemStatus(SubsystemState.DISABLED, "not installed")
_BY_SEVERITY = (NoticeLevel.ERROR, NoticeLevel.WARNING, NoticeLevel.INFO, NoticeLevel.SUCCESS)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServiceStatus:
    """Whether a service is running, as measured by a check."""

    schema_name: ClassVar[str] = "ServiceRecord"

    name: str
    status: SubsystemState
    detail: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunCounts:
    """Number of runs by state, and results of the last 24 hours."""

    schema_name: ClassVar[str] = "RunCountsRecord"

    active: Annotated[int, "Number of runs, without those that wait for a person."]
    waiting: int
    queued: int
    succeeded_24h: int
    failed_24h: int
    missed_24h: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StatusReport:
    """Overall status."""

    schema_name: ClassVar[str] = "Status"

    version: str
    uptime_seconds: Annotated[int | None, "Of the queried process, if it is a service."] = None
    checked_at: Time
    timezone: str
    data_dir: Annotated[str, "Directory with the files that people edit, for example `profiles.yaml`."]
    subsystems: Mapping[str, SubsystemStatus]
    services: Sequence[ServiceStatus]
    runs: Annotated[RunCounts | None, "Null if the runs cannot be read."]
    unread_notifications: Annotated[int | None, "Null if the notifications cannot be read."]
    recent_runs: Sequence[RunSummary]
    attention: Sequence[AttentionItem]

    @property
    @after("version")
    def status(self) -> OverallState:
        """The worst state of all subsystems; disabled and unconfigured ones count as `ok`."""
        found = {each.status for each in self.subsystems.values()}
        return next((state for state in _FAULTY if state in found), SubsystemState.OK)

    @property
    @after("unread_notifications")
    def next_runs(self) -> Sequence[NextRun]:
        """The runs that are due next."""
        due = [run for status in self.subsystems.values() for run in status.next_runs]
        return sorted(due, key=lambda run: run.at)[:NEXT_RUNS]


def worst_state(states: Sequence[SubsystemState]) -> SubsystemState:
    """Return the worst state; disabled and unconfigured count as best."""
    order = list(SubsystemState)
    return max(states, key=order.index, default=SubsystemState.DISABLED)


def combine(found: Sequence[SubsystemStatus]) -> SubsystemStatus:
    """Combine the statuses that several features report for one subsystem; an empty list gives DISABLED."""
    if len(found) < 2:
        return found[0] if found else NOT_INSTALLED
    return SubsystemStatus(
        worst_state([each.status for each in found]),
        "; ".join(status.summary for status in found if status.summary),
        {name: count for status in found for name, count in status.counts.items()},
        max((status.last_event_at for status in found if status.last_event_at is not None), default=None),
        next((status.link for status in found if status.link), ""),
        [item for status in found for item in status.attention],
        [run for status in found for run in status.next_runs],
    )


def linked(status: SubsystemStatus, page: str) -> SubsystemStatus:
    """Return the status with a link to the subsystem's page, unless it has another link."""
    return replace(status, link=f"#/{page}") if page and not status.link else status


def sort_subsystems(subsystems: Iterable[Subsystem]) -> dict[str, Subsystem]:
    """Return the subsystems of the core and of features by name, in display order."""
    found = {each.name: each for each in (*subsystems, *CORE_SUBSYSTEMS)}
    return dict(sorted(found.items(), key=lambda item: (item[1].place, item[0])))


def by_severity(items: Sequence[AttentionItem]) -> list[AttentionItem]:
    """Sort the items by severity, the most urgent first."""
    return sorted(items, key=lambda item: _BY_SEVERITY.index(item.severity))
