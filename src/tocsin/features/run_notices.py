"""What the operator is told of what runs: that it fails, and that it works again."""

from tocsin.features.context import Notice, NoticeLevel
from tocsin.runs.document import pointers
from tocsin.runs.model import Run

_HOUR_S = 3600


def failing(run: Run, since: float, *, category: str, link: str, said: str = "", output: str = "") -> Notice:
    """Return the notice of a failed run; those of one subject that fails since the same hour are one notification.

    `said` replaces the reason of the run; `output` is where its own message went.
    """
    body = f"{said.strip() or run.reason or run.status}\n\n{pointers(run.id)}"
    title, key = f"The {_NOUNS[run.kind]} {run.subject_name} fails", _key(run, "failing", since)
    return Notice(title, body, NoticeLevel.ERROR, category, run.subject_name, link, key, output=output)


def recovered(run: Run, since: float, *, category: str, link: str, output: str = "") -> Notice:
    """Return the notice of the first success of what failed since a time."""
    title, key = f"The {_NOUNS[run.kind]} {run.subject_name} works again", _key(run, "recovered", since)
    return Notice(title, "", NoticeLevel.SUCCESS, category, run.subject_name, link, key, output=output)


_NOUNS = {"cron": "job", "workflow": "workflow", "watcher": "watcher"}


def _key(run: Run, event: str, since: float) -> str:
    # What fails and works in turn is told of once an hour.
    return f"{run.kind}-{event}:{int(since // _HOUR_S)}:{run.subject_id}"
