"""The status of the program, and its public representation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import AttentionItem, NextRun, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.contract import Subsystem
from tocsin.runs.model import Run, RunSummary

CORE_SUBSYSTEMS = (Subsystem("messaging", "Messaging", 200, "msg"), Subsystem("audit", "Audit", 700, "audit"))
NEXT_RUNS, RECENT_RUNS = 5, 10
NOT_INSTALLED = SubsystemStatus(SubsystemState.DISABLED, "not installed")
_BY_SEVERITY = (NoticeLevel.ERROR, NoticeLevel.WARNING, NoticeLevel.INFO, NoticeLevel.SUCCESS)


class ServiceStatus(NamedTuple):
    """Whether a service is running, as measured by a check."""

    name: str
    state: SubsystemState
    detail: str

    def as_document(self) -> dict[str, object]:
        """Return the record as a dictionary."""
        return {"name": self.name, "status": str(self.state), "detail": self.detail}


class RunCounts(NamedTuple):
    """The number of runs now, and the results of those of the last 24 hours."""

    active: int  # without runs that wait for a person
    waiting: int
    queued: int
    succeeded_24h: int
    failed_24h: int
    missed_24h: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """The status of the program at one time; `at` is Unix seconds."""

    version: str
    checked_at: float
    timezone: str
    data_dir: str
    subsystems: Mapping[str, SubsystemStatus]
    services: Sequence[ServiceStatus]
    runs: RunCounts
    unread_notifications: int
    recent_runs: Sequence[Run]
    attention: Sequence[AttentionItem]
    uptime_s: float | None = None  # of the queried process, if it is a service

    @property
    def state(self) -> SubsystemState:
        """The worst state of all subsystems; disabled and unconfigured ones count as best."""
        worst = worst_state([status.state for status in self.subsystems.values()])
        return worst if worst in {SubsystemState.DEGRADED, SubsystemState.ERROR} else SubsystemState.OK

    @property
    def next_runs(self) -> list[NextRun]:
        """The runs that are due next."""
        due = [run for status in self.subsystems.values() for run in status.next_runs]
        return sorted(due, key=lambda run: run.at)[:NEXT_RUNS]

    def as_document(self) -> dict[str, object]:
        """Return the record as the interfaces show it."""
        return {
            "status": str(self.state),
            "version": self.version,
            "uptime_seconds": None if self.uptime_s is None else int(self.uptime_s),
            "checked_at": timestamp(self.checked_at),
            "timezone": self.timezone,
            "data_dir": self.data_dir,
            "subsystems": {name: _subsystem(status) for name, status in self.subsystems.items()},
            "services": [service.as_document() for service in self.services],
            "runs": self.runs._asdict(),
            "unread_notifications": self.unread_notifications,
            "next_runs": [{"job_id": run.job_id, "name": run.name, "at": timestamp(run.at)} for run in self.next_runs],
            "recent_runs": [to_json(run, RunSummary) for run in self.recent_runs],
            "attention": [
                {"severity": str(item.severity), "message": item.message, "link": item.link} for item in self.attention
            ],
        }


def worst_state(states: Sequence[SubsystemState]) -> SubsystemState:
    """Return the worst state; disabled and unconfigured count as best."""
    order = list(SubsystemState)
    return max(states, key=order.index, default=SubsystemState.DISABLED)


def combine(found: Sequence[SubsystemStatus]) -> SubsystemStatus:
    """Combine the statuses that several features report for one subsystem; an empty list gives DISABLED."""
    if len(found) < 2:
        return found[0] if found else NOT_INSTALLED
    return SubsystemStatus(
        worst_state([status.state for status in found]),
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


def _subsystem(status: SubsystemStatus) -> dict[str, object]:
    return {
        "status": str(status.state),
        "summary": status.summary,
        "counts": dict(status.counts),
        "last_event_at": timestamp(status.last_event_at),
        "link": status.link,
    }
