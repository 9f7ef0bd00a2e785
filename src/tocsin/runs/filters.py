"""Searches for runs, as SQL conditions and as a Python predicate."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tocsin.runs.model import Run, RunStatus

_SAYS = """
    INSTR(LOWER(subject_name || char(10) || COALESCE(actor, '') || char(10) || COALESCE(reason, '')), LOWER(?)) > 0
"""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A search for runs, newest first by default; empty fields do not restrict it."""

    kind: str | None = None
    subject: str = ""
    status: Collection[RunStatus] = ()
    limit: int = 50
    cursor: str = ""
    since: float | None = None  # queued at or after this time
    until: float | None = None  # queued before this time
    retry_of: str = ""
    parent: str = ""
    parts: bool = False  # include steps and hosts
    text: str = ""  # in the subject's name, the actor or the reason
    oldest_first: bool = False
    has_begun: bool = False


def matches(query: RunFilter, run: Run) -> bool:
    text = "\n".join((run.subject_name, run.actor or "", run.reason or "")).lower()
    return (
        (not query.kind or run.kind == query.kind)
        and (not query.subject or run.subject_id == query.subject)
        and (not query.status or run.status in query.status)
        and (query.since is None or run.queued_at >= query.since)
        and (query.until is None or run.queued_at < query.until)
        and (not query.retry_of or run.retry_of == query.retry_of)
        and (not query.parent or run.parent_run_id == query.parent)
        and (not query.has_begun or run.started_at is not None)
        and query.text.lower() in text
    )


def conditions(query: RunFilter) -> tuple[list[str], list[Any]]:
    """Return the SQL conditions of a search, and their parameters."""
    marks = ", ".join("?" * len(query.status))
    wanted: list[tuple[str, list[Any]]] = [
        ("kind = ?", [query.kind] if query.kind else []),
        ("subject_id = ?", [query.subject] if query.subject else []),
        (f"status IN ({marks})", list(query.status)),
        ("id > ?" if query.oldest_first else "id < ?", [query.cursor] if query.cursor else []),
        ("queued_at >= ?", [] if query.since is None else [query.since]),
        ("queued_at < ?", [] if query.until is None else [query.until]),
        ("retry_of = ?", [query.retry_of] if query.retry_of else []),
        ("parent_run_id = ?", [query.parent] if query.parent else []),
        (_SAYS, [query.text] if query.text else []),
    ]
    used = [(condition, values) for condition, values in wanted if values]
    begun = ["started_at IS NOT NULL"] if query.has_begun else []
    return ["TRUE", *begun, *(c for c, _ in used)], [value for _, values in used for value in values]
