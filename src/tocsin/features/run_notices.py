"""Notices about runs: failing, recovered, interrupted."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from tocsin.core.audit.actions import CLI
from tocsin.features.context import Notice, NoticeLevel
from tocsin.runs.document import pointers
from tocsin.runs.model import WAS_STOPPED, Run, RunStatus

if TYPE_CHECKING:
    from tocsin.features.abilities import Notices

_HOUR_S = 3600


def failing(
    run: Run, since: float, *, category: str, link: str, said: str = "", output: str = "", noun: str = ""
) -> Notice:
    """Return the notice of a failed run. Notices of a subject that has failed since the same hour are merged.

    `said` replaces the reason of the run; `output` is where its own message was sent; `noun` is the word for the
    subject of the run, by default its kind.
    """
    body = f"{said.strip() or run.reason or run.status}\n\n{pointers(run.id)}"
    title, key = f"{_named(run, noun)} is failing", _key(run, "failing", since)
    return Notice(title, body, NoticeLevel.ERROR, category, run.subject_name, link, key, run.id, output=output)


def recovered(run: Run, since: float, *, category: str, link: str, output: str = "", noun: str = "") -> Notice:
    """Return the notice of a subject's first success after failures since `since`."""
    title, key = f"{_named(run, noun)} succeeds again", _key(run, "recovered", since)
    return Notice(title, "", NoticeLevel.SUCCESS, category, run.subject_name, link, key, output=output)


def interrupted(run: Run, *, category: str) -> Notice | None:
    """Return the notice of an interrupted run; `None` if a parent run or a person at a terminal waits for it."""
    at_terminal = run.source == CLI.name and run.reason == WAS_STOPPED
    if run.status is not RunStatus.INTERRUPTED or run.parent_run_id or at_terminal:
        return None
    title, body = f"{run.subject_name} was interrupted", f"{run.reason}\n\n{pointers(run.id)}"
    source, link = f"{run.kind}:{run.subject_id}", f"#/runs/{run.id}"
    return Notice(title, body, NoticeLevel.ERROR, category, source, link, run.id, run.id, once=True)


def stored_notice(notice: Notice | None) -> dict[str, Any]:
    """Return a notice as JSON, for `RunType.note`."""
    return {} if notice is None else {"notice": asdict(notice)}


class NotifyingRuns:
    """The base of run types that notify the operator; by default, of interruptions."""

    category: ClassVar[str] = "system"  # of the notices

    def __init__(self, notices: "Notices") -> None:
        self._notices = notices

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        return stored_notice(interrupted(run, category=self.category))

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        if found := noted.get("notice"):
            await self._notices.notify(Notice(**{**found, "level": NoticeLevel(found["level"])}))


def _named(run: Run, noun: str) -> str:
    return f"{(noun or run.kind).capitalize()} {run.subject_name}"


def _key(run: Run, event: str, since: float) -> str:
    # A subject that alternates between failure and success is reported at most once an hour.
    # A number before the ID would make it look like a token of Telegram, which is masked.
    return f"{run.kind}-{event}:{run.subject_id}:{int(since // _HOUR_S)}"
