"""The services and the run type of watchers."""

import sqlite3
from collections.abc import Mapping
from typing import Any

from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.features.context import FeatureContext, Notice
from tocsin.features.hooks import WorkHooks
from tocsin.features.run_notices import NotifyingRuns, failing, recovered, stored_notice
from tocsin.features.watchers.feature import WATCHER_RUN, WATCHERS
from tocsin.features.watchers.model import KIND
from tocsin.features.watchers.service import Watchers
from tocsin.features.watchers.store import LEASE, FileOutcome, note_outcome
from tocsin.features.watchers.watching.watcher_service import WatcherService
from tocsin.runs.document import audit_facts, pointers
from tocsin.runs.engine.note_once import note_once
from tocsin.runs.engine.run_type import RunAuditEntry, RunMessage, RunType
from tocsin.runs.model import FAILING, Run, RunStatus
from tocsin.runs.recorder import Work
from tocsin.runs.service import waiting_for
from tocsin.scheduling.lease import Lease

MAX_CHARS = 3_500  # one message of every channel but one: more of the output is in the log


class WatcherRuns(NotifyingRuns, RunType):
    """Runs of watchers."""

    kind = KIND
    source = WATCHERS.name

    def __init__(self, context: FeatureContext) -> None:
        super().__init__(context.abilities.notices)
        self._context = context

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Whether a workflow does the work, which is continued itself."""
        return bool(request.get("children"))

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work | None:
        """Return the work that waits for the workflow."""
        return waiting_for(self._context.runs(), request["children"]["workflow"])

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the output of a run, or its failure; `None` for a success without output."""
        destination = (run.snapshot or {}).get("output")
        if not destination or run.status is RunStatus.CANCELLED or run.started_at is None:
            return None
        output = (await self._context.runs().text(run.id, MAX_CHARS + 1) or run.output.tail).strip()
        if run.ok and not output:
            return None
        return RunMessage.about(
            run, destination, text_of(run, output), WATCHERS.name, self._context.settings[PUBLIC_URL]
        )

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Return the notice about the first file that failed, or the first success after the last of them."""

        def work(connection: sqlite3.Connection) -> Mapping[str, Any]:
            return stored_notice(self._notice(run, note_outcome(connection, run), output))

        return await note_once(self._context.database, run.id, work)

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry:
        facts = {
            "watcher": run.subject_name,
            "file_event": run.params.get("event"),
            "path": run.params.get("path"),
            **audit_facts(run),
        }
        return RunAuditEntry(WATCHER_RUN, f"{run.subject_name} for {run.params.get('path')}: {run.status}", facts)

    def _notice(self, run: Run, outcome: FileOutcome, output: str) -> Notice | None:
        link, now = f"#/watchers/{run.subject_name}", self._context.clock.now()
        if outcome.others_fail or run.status not in FAILING | {RunStatus.SUCCEEDED}:
            return None
        if run.ok:
            return recovered(run, now, category="system", link=link, output=output) if outcome.failed_before else None
        said = f"{run.params.get('path')} was {run.params.get('event')}: {run.reason or run.status}"
        return (
            None if outcome.failed_before else failing(run, now, category="system", link=link, said=said, output=output)
        )


def text_of(run: Run, output: str) -> str:
    """Return the message: which file, how the run ended, why, and the beginning of its output."""
    ended = str(run.status).replace("_", " ")
    lines = [f"{run.subject_name}: {run.params.get('path')} was {run.params.get('event')}: {ended}"]
    if run.reason:
        lines.append(run.reason)
    if run.status in FAILING:
        lines.append(pointers(run.id))
    if output:
        lines += ["", output if len(output) <= MAX_CHARS else f"{output[:MAX_CHARS]}…"]
    return "\n".join(lines)


def service_of(watchers: Watchers, holder: str = "", *, poll: bool | None = None) -> WatcherService:
    context = watchers.context
    lease = Lease(context.database, LEASE, context.clock, holder)
    return WatcherService(context, watchers.rules, watchers.store, lease, poll=poll)


WORK = WorkHooks[Watchers](
    schedulers=(service_of,),
    run_types={"watcher": lambda watchers: WatcherRuns(watchers.context)},
)
