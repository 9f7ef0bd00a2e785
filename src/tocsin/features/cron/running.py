"""Take runs of jobs, and carry them out in this process."""

import asyncio
import shlex
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tocsin.core.audit.trail import facts_of_caller
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.cron.audit_actions import CRON, CRON_DISABLE, CRON_EXECUTE
from tocsin.features.cron.execution import CronDependencies, JobExecution
from tocsin.features.cron.model import KIND, CronJob, JobDefinition, JobRunningError, JobType, restored
from tocsin.features.cron.output import is_wanted, text_of
from tocsin.features.cron.store import JobStore, note_failure, note_success
from tocsin.features.run_notices import failing, notify_stored, recovered, stored_notice
from tocsin.runs.control import NotRetriedError, Retry, as_retry
from tocsin.runs.document import audit_facts
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.engine.note_once import note_once
from tocsin.runs.engine.run_type import DelayedRun, RunAuditEntry, RunMessage, RunType
from tocsin.runs.model import FAILING, TERMINAL, Line, Run, RunSpec, RunStatus, new_run
from tocsin.runs.queue import RecentRun, RunQueue
from tocsin.runs.recorder import Work
from tocsin.runs.service import waiting_for
from tocsin.runs.stored_run import RunTask, StoredRun, UnknownRunError
from tocsin.scheduling.overlap import Running, admit

_COMPARED_CHARS = 1_000_000
_RETRIED = frozenset({RunStatus.FAILED, RunStatus.TIMED_OUT})
# How often, and for how long, a run that another process may start is looked at: no request waits longer for an answer.
_LOOK_S, _LOOKS_S = 0.1, 31.0
_COUNTED = 2_000  # of the newest runs: twice what `auto_disable_after` may say


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A run that the scheduler of some process will start; `task` returns it once it has ended."""

    run: Run
    begin_waiting: Callable[[], asyncio.Task[Run]]

    @property
    def task(self) -> asyncio.Task[Run]:
        """Returns the run once it has ended."""
        return self.begin_waiting()


class JobRunner:
    """Carries out runs in this process."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._awaited = set[asyncio.Task[Run]]()
        self._parts = CronDependencies(context.abilities, context.environment, context.data_dir)

    async def take(self, order: RunSpec, *, force: bool = False) -> Run:
        """Record a run of this process as running, unless the policy of its job forbids it now."""
        run, runs = new_run(order, RunStatus.RUNNING, self._context.clock.now()), self._context.runs()
        record = StoredRun(run, runs.owner, task=RunTask(caller=facts_of_caller(order.source)))

        def choose(queue: RunQueue) -> None:
            if not force:
                may_start(queue, run)
            queue.add(record)

        await runs.store.records.decide(KIND, choose)
        return run

    async def take_or_queue(self, order: RunSpec) -> Run:
        """Do what `take` does, but queue a run that the policy of its job lets wait: the scheduler starts that."""
        now, runs = self._context.clock.now(), self._context.runs()
        task = RunTask(caller=facts_of_caller(order.source))
        begins = StoredRun(new_run(order, RunStatus.RUNNING, now), runs.owner, task=task)
        waits = StoredRun(new_run(order, RunStatus.QUEUED, now), task=task)

        def choose(queue: RunQueue) -> Run:
            record = begins if may_start(queue, begins.run, may_wait=True) else waits
            queue.add(record)
            return record.run

        return await runs.store.records.decide(KIND, choose)

    async def carry_out(self, run: Run, *, watch: Callable[[Line], None] | None = None) -> None:
        """Do the work of a run that this process has taken; cancelling the caller ends it."""
        running = await self.begin(run, watch=watch)
        await running.wait_or_stop()

    async def begin_or_queue(self, order: RunSpec) -> ActiveRun | QueuedJob:
        """Start the work of a run in this process now, or leave it to the scheduler where it has to wait."""
        run = await self.take_or_queue(order)
        if run.status is RunStatus.RUNNING:
            return await self.begin(run)

        def wait() -> asyncio.Task[Run]:
            task = asyncio.create_task(self._ended(run))
            self._awaited.add(task)
            task.add_done_callback(self._awaited.discard)
            return task

        return QueuedJob(run, wait)

    async def _ended(self, run: Run) -> Run:
        for _ in range(round(_LOOKS_S / _LOOK_S)):
            if run.status in TERMINAL:
                return run
            await self._context.clock.sleep(_LOOK_S)
            try:
                run = await self._context.runs().get(run.id)
            except UnknownRunError:  # removed with its job
                return run
        return run

    async def begin(self, run: Run, *, watch: Callable[[Line], None] | None = None) -> ActiveRun:
        """Start the work of a run that this process has taken."""
        definition = definition_of(run)
        execution = JobExecution(run, definition, self._parts)
        return await self._context.runs().start_taken(
            run, execution.work, watch=watch, log_max_bytes=definition.log_max_bytes
        )

    async def aclose(self) -> None:
        """Wait for no run any more."""
        for task in self._awaited:
            task.cancel()


def may_start(queue: RunQueue, run: Run, *, may_wait: bool = False) -> bool:
    """Whether the policy of a job allows another run now; raise JobRunningError where it does not.

    A run that `may_wait` need not start now where the policy is to queue it, or to replace the earlier one.
    """
    rules = restored(run.snapshot or {}).overlap_rules
    rows = [row for row in queue.at_work() if row.subject_id == run.subject_id]
    ahead = sum(row.subject_id == run.subject_id for row in queue.queued()) if may_wait else 0
    admission = admit(rules, [Running(row.id, row.started_at) for row in rows], ahead, run.queued_at)
    if not admission.start and (admission.reason or not may_wait):
        said = admission.reason or f"run {rows[0].id} is still running"
        told = f"job {run.subject_name} was not started: {said}"
        raise JobRunningError(told, hint="wait until it has ended, or force the start")
    return admission.start


def order_again(run: Run, actor: str | None, source: str = "") -> RunSpec:
    """Return the order of another run that is as an earlier one was; raises NotRetriedError where that is not kept."""
    if run.snapshot is None:
        raise NotRetriedError(
            "the definition of this run was not stored",
            hint=f"run the job: tocsin cron run {shlex.quote(run.subject_name)}",
        )
    return RunSpec(
        KIND,
        run.subject_id,
        run.subject_name,
        run.trigger,
        actor,
        params=run.params,
        env_keys=run.env_keys,
        max_attempts=run.max_attempts,
        snapshot=run.snapshot,
        history_limit=run.history_limit,
        history_days=run.history_days,
        log_max_bytes=definition_of(run).log_max_bytes,
        source=source,
    )


def definition_of(run: Run) -> JobDefinition:
    """Return the definition that a run has, whatever became of its job meanwhile."""
    return restored(run.snapshot or {})


def count_failures(runs: Sequence[RecentRun], since: float) -> int:
    """Return how many of the newest runs failed in a row; cancelled and repeated ones do not count."""
    repeated, failures = {run.retry_of for run in runs}, 0
    for run in runs:
        if run.ok or run.queued_at < since:
            break
        failures += run.status != RunStatus.CANCELLED and run.id not in repeated
    return failures


class CronRuns(RunType):
    """Runs of jobs: the scheduler starts them, also those that are queued and retried."""

    kind = KIND
    source = CRON.name

    def __init__(self, context: FeatureContext, store: JobStore) -> None:
        self._context = context
        self._store = store

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Whether a workflow does the work, which is continued itself."""
        return bool(request.get("children"))

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work | None:
        """Return the work that waits for the workflow."""
        return waiting_for(self._context.runs(), request["children"]["workflow"])

    def retry(self, run: Run, now: float) -> DelayedRun | None:
        """Return the run that follows a failed one, as `retry` of the job says."""
        rule = definition_of(run).retry
        wanted = not rule.on_exit_codes or run.exit_code in rule.on_exit_codes
        if run.status not in _RETRIED or run.attempt >= rule.max_attempts or not wanted:
            return None
        order = as_retry(order_again(run, run.actor), Retry(run))
        return DelayedRun(new_run(order, RunStatus.QUEUED, now), now + rule.delay_s(run.attempt))

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the output of a run, where `output_on` asks for it."""
        definition = definition_of(run)
        if not definition.output or run.started_at is None:
            return None
        if definition.type == JobType.MESSAGE:
            wanted, text = run.ok, definition.command
        else:
            before = await self._run_before(run)
            output = await self._context.runs().text(run.id, _COMPARED_CHARS)
            changed = before is not None and output != await self._context.runs().text(before.id, _COMPARED_CHARS)
            wanted = is_wanted(definition.output_on, run, before, changed=changed)
            text = text_of(run, output or run.output.tail)
        return RunMessage(definition.output, text, CRON.name) if wanted else None

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Note whether the job works, and return the notice where that has changed."""
        if run.started_at is None:
            return {}
        return await note_once(self._context.database, run.id, lambda c: self._noted(c, run, output))

    def _noted(self, connection: sqlite3.Connection, run: Run, output: str) -> Mapping[str, Any]:
        link = f"#/cron/{run.subject_id}"
        if run.ok:
            since = note_success(connection, run.subject_id)
            if since is None:
                return {}
            return stored_notice(recovered(run, since, category="cron", link=link, output=output))
        if run.status not in FAILING:
            return {"ended": True}
        since = note_failure(connection, run.subject_id, self._context.clock.now())
        return {**stored_notice(failing(run, since, category="cron", link=link, output=output)), "ended": True}

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the `cron.execute` entry; an instant that did not run has none unless a person asked for it."""
        if run.started_at is None and not run.source:
            return None
        facts = {
            "job": run.subject_id,
            "name": run.subject_name,
            **audit_facts(run),
            "exit_code": run.exit_code,
            "scheduled_for": timestamp(run.scheduled_for),
        }
        return RunAuditEntry(CRON_EXECUTE, f"{run.subject_name} {run.status}", facts)

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        """Notify the operator, and disable a job that failed too often."""
        await notify_stored(self._context.abilities.notices, noted)
        if noted.get("ended"):
            await self._disable_after_failures(run)

    async def _run_before(self, run: Run) -> Run | None:
        found = await self._context.runs().store.newest(KIND, run.subject_id, 1, run.id)
        return next(iter(found), None)

    async def _disable_after_failures(self, run: Run) -> None:
        job = await self._store.find(run.subject_id)
        limit = job.definition.auto_disable_after if job and job.definition else 0
        if job is None or not limit or not job.enabled:
            return
        (past,) = await self._context.runs().store.records.pasts(KIND, [run.subject_id], _COUNTED)
        ended = [each for each in past.history if each.started_at and each.finished_at and each.id <= run.id]
        failures = count_failures(ended, job.failures_since)
        if failures < limit:
            return
        reason = "the last run failed" if failures == 1 else f"the last {failures} runs failed"

        def disabled(job: CronJob) -> CronJob:
            return replace(job, enabled=False, auto_disabled=True, paused_reason=reason)

        await self._store.change(job.id, disabled)
        facts = {"job": job.id, "name": job.name, "reason": reason}
        self._context.audit.record(CRON_DISABLE, f"{job.name}: {reason}", source=CRON.name, metadata=facts)
        await self._context.abilities.notices.notify(
            Notice(
                f"Job {job.name} was disabled",
                f"{reason}, most recently: {run.reason or run.status}",
                NoticeLevel.ERROR,
                "cron",
                job.name,
                f"#/cron/{job.id}",
                f"cron-disabled-{job.id}",
            )
        )
