"""What the operator is told of jobs: that one fails, that it works again, that runs were missed."""

from collections.abc import Mapping

from tocsin.features.context import Notice, NoticeLevel
from tocsin.runs.model import Run

_HOUR_S = 3600
_SHOWN = 10


def failing(run: Run, since: float) -> Notice:
    """Return what is told of a job that fails since a time; all failures until it works again are one notice."""
    said = f"{run.reason or run.status}\n\n`tocsin cron logs {run.subject_name}` shows what it printed."
    return _of_job(run, f"The job {run.subject_name} fails", said, NoticeLevel.ERROR, f"cron-failing:{_period(since)}")


def recovered(run: Run, since: float) -> Notice:
    """Return what is told of the first success of a job that failed since a time."""
    title = f"The job {run.subject_name} works again"
    return _of_job(run, title, "", NoticeLevel.SUCCESS, f"cron-recovered:{_period(since)}")


def missed(counts: Mapping[str, int], now: float) -> Notice:
    """Return what is told of runs that were missed, by the name of their job."""
    total = sum(counts.values())
    lines = [f"{name}: {count:,}" for name, count in sorted(counts.items())]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more jobs"]
    key = f"cron-missed:{_period(now)}"
    title = f"{total:,} cron {'run was' if total == 1 else 'runs were'} missed"
    return Notice(title, "\n".join(lines), NoticeLevel.WARNING, "cron", "cron", "#/cron", key)


def _period(since: float) -> int:
    # A job that fails and works in turn is told of once an hour.
    return int(since // _HOUR_S)


def _of_job(run: Run, title: str, body: str, level: NoticeLevel, key: str) -> Notice:
    link = f"#/cron/{run.subject_id}"
    return Notice(title, body, level, "cron", run.subject_name, link, f"{key}:{run.subject_id}")
