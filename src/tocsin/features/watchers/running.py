"""Run a rule for a change, and do what follows: the audit entry, and its output."""

import logging
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tocsin.core.errors import StoreUnavailableError
from tocsin.features.context import FeatureContext, Notice
from tocsin.features.run_notices import failing, recovered
from tocsin.features.watchers.audit_actions import WATCHER_RUN, WATCHERS
from tocsin.features.watchers.execution import WatcherDependencies, WatcherExecution, variables
from tocsin.features.watchers.model import KIND, WatchedChange, WatcherRule
from tocsin.features.watchers.store import WatcherStore, failed_runs, settle, status_before
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs import queue, rows
from tocsin.runs.active_run import ActiveRun
from tocsin.runs.control import Retry, retried
from tocsin.runs.document import audit_facts, pointers
from tocsin.runs.model import FAILING, Line, OutputDelivery, Run, RunSpec, RunStatus, RunTrigger, new_run

log = logging.getLogger(__name__)

MAX_CHARS = 3_500  # one message of every channel but one: more of the output is in the log


class WatcherRunner:
    """Carries out runs in this process."""

    def __init__(self, context: FeatureContext, store: WatcherStore) -> None:
        self._context = context
        self._store = store
        self._parts = WatcherDependencies(context.can, context.environment, context.data_dir)

    def new_run(
        self,
        rule: WatcherRule,
        change: WatchedChange,
        trigger: RunTrigger = RunTrigger.WATCHER,
        *,
        actor: str | None = None,
        parent_run_id: str | None = None,
        retry: Retry | None = None,
    ) -> Run:
        """Return the record of a run that begins now."""
        order = RunSpec(
            KIND,
            rule.name,
            rule.name,
            trigger,
            actor,
            params=change.params(),
            env_keys=tuple(sorted([*variables(rule, change), "RUN_ID"])),
            parent_run_id=parent_run_id,
            snapshot=rule.document(),
        )
        return new_run(retried(order, retry), RunStatus.RUNNING, self._context.clock.now())

    async def start(
        self,
        run: Run,
        rule: WatcherRule,
        change: WatchedChange,
        *,
        source: str = WATCHERS.name,
        watch: Callable[[Line], None] | None = None,
    ) -> ActiveRun:
        """Start the work of a run that is recorded already; `settle` does what follows its end."""
        work = WatcherExecution(run, rule, change, self._parts).work
        return await self._context.runs().start_taken(
            run, work, watch=watch, on_end=partial(self._record, source=source)
        )

    async def carry_out(
        self,
        run: Run,
        rule: WatcherRule,
        change: WatchedChange,
        *,
        source: str = WATCHERS.name,
        watch: Callable[[Line], None] | None = None,
    ) -> Run:
        """Do the work of a run and what follows, and return how it ended; cancelling the caller ends it."""
        running = await self.start(run, rule, change, source=source, watch=watch)
        ended = await running.wait_or_stop()
        try:
            await self.settle(ended)
        except StoreUnavailableError as error:  # the process that watches settles it later
            log.warning("the end of a run is not settled yet", extra={"run": run.id, "reason": error.sentence()})
        return ended

    async def skip(self, run: Run, reason: str, *, source: str) -> Run:
        """Record a run that does not take place, and return it."""
        skipped = replace(run, status=RunStatus.SKIPPED, started_at=None, finished_at=run.queued_at, reason=reason)
        owner = self._context.runs().owner
        await self._context.database.write(lambda connection: rows.insert(connection, skipped, owner))
        self._record(skipped, source=source)
        return skipped

    async def settle(self, run: Run) -> None:
        """Queue the output of a run that has ended, and note that; by whichever process comes first.

        A crash between the two queues nothing twice: the queue knows the key. Raises StoreUnavailableError.
        """
        delivery = await self._send_output(run)

        def work(connection: sqlite3.Connection) -> Notice | None:
            if not settle(connection, run.id):
                return None
            queue.note_delivery(connection, run.id, delivery)
            return self._notice(connection, run, delivery)

        if notice := await self._context.database.write(work):
            await self._context.can.notify(notice)

    def _notice(self, connection: sqlite3.Connection, run: Run, delivery: OutputDelivery) -> Notice | None:
        """Return what the operator is told of the first file that failed, and once the last of them succeeded."""
        output = str((run.snapshot or {}).get("output") or "") if delivery.is_complete else ""
        link, now = f"#/watchers/{run.subject_name}", self._context.clock.now()
        others = [each for each in failed_runs(connection, run.subject_id, run.id) if each.params != run.params]
        if others or run.status not in FAILING | {RunStatus.SUCCEEDED}:
            return None
        failed_before = status_before(connection, run) in FAILING
        if run.ok:
            return recovered(run, now, category="system", link=link, output=output) if failed_before else None
        said = f"{run.params.get('path')} was {run.params.get('event')}: {run.reason or run.status}"
        return None if failed_before else failing(run, now, category="system", link=link, said=said, output=output)

    async def _send_output(self, run: Run) -> OutputDelivery:
        """Queue what a run printed, and that it failed; a success without a word is not told."""
        destination = (run.snapshot or {}).get("output")
        if not destination or run.status is RunStatus.CANCELLED:
            return OutputDelivery()
        output = (await self._context.runs().text(run.id, MAX_CHARS + 1) or run.output.tail).strip()
        if run.ok and not output:
            return OutputDelivery()
        caller = Caller(WATCHERS.name, {"run": run.id})
        queued = await self._context.output.queue(destination, text_of(run, output), caller, f"watcher:{run.id}")
        return OutputDelivery.begun(queued.refused, queued.deliveries)

    def _record(self, run: Run, *, source: str) -> None:
        facts = {
            "watcher": run.subject_name,
            "file_event": run.params.get("event"),
            "path": run.params.get("path"),
            **audit_facts(run),
        }
        detail = f"{run.subject_name} for {run.params.get('path')}: {run.status}"
        self._context.audit.record(WATCHER_RUN, detail, source=source, metadata=facts)


def text_of(run: Run, output: str) -> str:
    """Return the message: which file, how the run ended, why, and the beginning of its output."""
    mark = "✅" if run.ok else "❌"
    ended = str(run.status).replace("_", " ")
    lines = [f"{mark} {run.subject_name}: {run.params.get('path')} was {run.params.get('event')}: {ended}"]
    if run.reason:
        lines.append(run.reason)
    if run.status in FAILING:
        lines.append(pointers(run.id))
    if output:
        lines += ["", output if len(output) <= MAX_CHARS else f"{output[:MAX_CHARS]}…"]
    return "\n".join(lines)
