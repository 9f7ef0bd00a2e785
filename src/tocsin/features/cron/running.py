"""Run a job that was taken, and do what follows from the end of a run: its output, a retry, disabling the job."""

import asyncio
import logging
import shlex
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tocsin.core.audit.trail import facts_of_caller
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.cron.audit_actions import CRON, CRON_DISABLE, CRON_EXECUTE
from tocsin.features.cron.execution import CronDependencies, JobExecution
from tocsin.features.cron.model import KIND, CronJob, JobDefinition, JobRunningError, JobType, restored
from tocsin.features.cron.output import is_wanted, text_of
from tocsin.features.cron.store import (
    JobStore,
    add_running,
    enqueue,
    failures_in_a_row,
    note_failure,
    note_success,
    settle,
)
from tocsin.features.run_notices import failing, recovered
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs import queue
from tocsin.runs.active_run import ActiveRun
from tocsin.runs.control import NotRetriedError, Retry, retried
from tocsin.runs.document import audit_facts
from tocsin.runs.model import FAILING, TERMINAL, Line, OutputDelivery, OutputResult, Run, RunSpec, RunStatus, new_run
from tocsin.runs.queue import RunGlimpse
from tocsin.runs.rows import UnknownRunError
from tocsin.scheduling.overlap import Running, admit

log = logging.getLogger(__name__)

_COMPARED_CHARS = 1_000_000
# How often, and for how long, a run that another process may start is looked at: nobody waits longer for an answer.
_LOOK_S, _LOOKS_S = 0.1, 31.0
_RETRIED = frozenset({RunStatus.FAILED, RunStatus.TIMED_OUT})


@dataclass(frozen=True, slots=True)
class BegunJob:
    """A run that goes on beside its caller; `task` returns it once its output is queued and its end is noted."""

    running: ActiveRun
    task: asyncio.Task[Run]

    @property
    def run(self) -> Run:
        """The run as it was when it was started."""
        return self.running.run


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

    def __init__(self, context: FeatureContext, store: JobStore) -> None:
        self._context = context
        self._store = store
        self._begun: dict[asyncio.Task[Run], ActiveRun] = {}  # each task settles its run
        self._awaited = set[asyncio.Task[Run]]()
        self._parts = CronDependencies(context.can, context.environment, context.data_dir)

    async def take(self, order: RunSpec, *, force: bool = False) -> Run:
        """Record a run of this process as running, unless the policy of its job forbids it now."""
        run, caller = new_run(order, RunStatus.RUNNING, self._context.clock.now()), facts_of_caller(order.source)

        def work(connection: sqlite3.Connection) -> None:
            if not force:
                may_start(connection, run)
            add_running(connection, run, self._context.runs().owner, caller)

        await self._context.database.write(work)
        return run

    async def take_or_queue(self, order: RunSpec) -> Run:
        """Do what `take` does, but queue a run that the policy of its job lets wait: the scheduler starts that."""
        now = self._context.clock.now()
        run, queued = new_run(order, RunStatus.RUNNING, now), new_run(order, RunStatus.QUEUED, now)
        caller = facts_of_caller(order.source)

        def work(connection: sqlite3.Connection) -> Run:
            if not may_start(connection, run, may_wait=True):
                enqueue(connection, queued, caller=caller)
                return queued
            add_running(connection, run, self._context.runs().owner, caller)
            return run

        return await self._context.database.write(work)

    async def carry_out(self, run: Run, *, watch: Callable[[Line], None] | None = None) -> None:
        """Do the work of a run that this process has taken, and what follows; cancelling the caller ends it."""
        running = await self._start(run, watch)
        ended = await running.wait_or_stop()
        await self._settle_now(ended)

    async def begin_or_queue(self, order: RunSpec) -> BegunJob | QueuedJob:
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

    async def begin(self, run: Run) -> BegunJob:
        """Start the work of a run that this process has taken; what follows from its end is done beside the caller."""
        running = await self._start(run)
        task = asyncio.create_task(self._settle_at_end(running))
        self._begun[task] = running
        running.follow_up = task
        task.add_done_callback(self._begun.pop)
        return BegunJob(running, task)

    async def aclose(self) -> None:
        """End the runs that were begun here, and do what follows from their ends."""
        for task in self._awaited:
            task.cancel()
        begun = dict(self._begun)
        await asyncio.gather(*(running.stop() for running in begun.values()))
        await asyncio.gather(*begun)

    async def _start(self, run: Run, watch: Callable[[Line], None] | None = None) -> ActiveRun:
        definition = definition_of(run)
        execution = JobExecution(run, definition, self._parts)
        return await self._context.runs().start_taken(
            run, execution.work, watch=watch, log_max_bytes=definition.log_max_bytes
        )

    async def _settle_at_end(self, running: ActiveRun) -> Run:
        ended = await running.wait()
        await self._settle_now(ended)
        return await self._latest(ended)

    async def _latest(self, ended: Run) -> Run:
        """Return a run with what became of its output; as it ended where it was removed meanwhile."""
        try:
            return await self._context.runs().get(ended.id)
        except (StoreUnavailableError, UnknownRunError):
            return ended

    async def _settle_now(self, ended: Run) -> None:
        try:
            await self.settle(ended)
        except StoreUnavailableError as error:  # the scheduler settles it later
            log.warning("the end of a run is not settled yet", extra={"run": ended.id, "reason": error.sentence()})

    async def settle(self, run: Run) -> None:
        """Queue the output of a run that has ended, then note all else that follows; by whichever process comes first.

        A crash between the two queues nothing twice: the queue knows the key. Raises StoreUnavailableError.
        """
        definition = definition_of(run)
        again = self._retry(run, definition)
        not_before = self._context.clock.now() + definition.retry.delay_s(run.attempt)
        delivery = OutputDelivery() if again else await self._send_output(run, definition)

        def work(connection: sqlite3.Connection) -> tuple[Mapping[str, object] | None, Notice | None]:
            if (caller := settle(connection, run.id)) is None:
                return None, None
            queue.note_delivery(connection, run.id, delivery)
            if again:
                enqueue(connection, again, not_before)
                return caller, None
            return caller, self._noted(connection, run, (definition.output or "") if delivery.is_complete else "")

        caller, notice = await self._context.database.write(work)
        if caller is None:
            return
        if run.started_at is not None or run.source:
            self._record(run, caller)
        if notice:
            await self._context.can.notify(notice)
        if run.started_at is not None and not again and not run.ok:
            await self._disable_after_failures(run)

    def _noted(self, connection: sqlite3.Connection, run: Run, output: str) -> Notice | None:
        """Note whether the job of a run works; return what the operator is told. `output` got its own message."""
        if run.started_at is None:
            return None
        link = f"#/cron/{run.subject_id}"
        if run.ok:
            since = note_success(connection, run.subject_id)
            return None if since is None else recovered(run, since, category="cron", link=link, output=output)
        if run.status not in FAILING:
            return None
        since = note_failure(connection, run.subject_id, self._context.clock.now())
        return failing(run, since, category="cron", link=link, output=output)

    async def follow(self, runs: Sequence[Run]) -> None:
        """Record what became of the messages of these runs."""
        for run in runs:
            delivery = await self._followed(run.delivery)
            if delivery != run.delivery:
                await self._context.runs().set_delivery(run.id, delivery)

    def _retry(self, run: Run, definition: JobDefinition) -> Run | None:
        """Return the run that follows a failed one, or None."""
        rule = definition.retry
        wanted = not rule.on_exit_codes or run.exit_code in rule.on_exit_codes
        if run.status not in _RETRIED or run.attempt >= rule.max_attempts or not wanted:
            return None
        order = retried(order_again(run, run.actor), Retry(run))
        return new_run(order, RunStatus.QUEUED, self._context.clock.now())

    async def _send_output(self, run: Run, definition: JobDefinition) -> OutputDelivery:
        if not definition.output or run.started_at is None:
            return OutputDelivery()
        if definition.type == JobType.MESSAGE:
            wanted, text = run.ok, definition.command
        else:
            before = next(iter(await self._newest(run, 1)), None)
            output = await self._context.runs().text(run.id, _COMPARED_CHARS)
            changed = before is not None and output != await self._context.runs().text(before.id, _COMPARED_CHARS)
            wanted = is_wanted(definition.output_on, run, before, changed=changed)
            text = text_of(run, output or run.output.tail)
        if not wanted:
            return OutputDelivery()
        caller = Caller(CRON.name, {"run": run.id})
        queued = await self._context.output.queue(definition.output, text, caller, f"cron:{run.id}")
        return OutputDelivery.begun(queued.refused, queued.deliveries)

    async def _followed(self, delivery: OutputDelivery) -> OutputDelivery:
        """Return how far the messages came; one that ended unsent may have been sent again since."""
        outcome_of, results, left = self._context.output.outcome, list[OutputResult](), list[str]()
        for before in delivery.results:
            sent = before.result.ok or not before.delivery_id
            now = before.result if sent else await outcome_of(before.delivery_id)
            if now is None:
                left.append(before.delivery_id)
            else:  # the first reason stays, also when the delivery was deleted since
                results.append(OutputResult(now, before.delivery_id) if now.ok else before)
        for id_ in delivery.queued:
            ended = await outcome_of(id_)
            if ended is None:
                left.append(id_)
            else:
                results.append(OutputResult(ended, id_))
        return OutputDelivery.of(results, left)

    async def _newest(self, run: Run, limit: int) -> list[Run]:
        """Return the runs before this one, the newest first."""
        return await self._context.database.read(lambda c: queue.newest(c, KIND, run.subject_id, limit, run.id))

    async def _disable_after_failures(self, run: Run) -> None:
        job = await self._store.find(run.subject_id)
        limit = job.definition.auto_disable_after if job and job.definition else 0
        if job is None or not limit or not job.enabled:
            return
        since = job.failures_since
        failures = await self._context.database.read(lambda connection: failures_in_a_row(connection, run, since))
        if failures < limit:
            return
        reason = "the last run failed" if failures == 1 else f"the last {failures} runs failed"

        def disabled(job: CronJob) -> CronJob:
            return replace(job, enabled=False, auto_disabled=True, paused_reason=reason)

        await self._store.change(job.id, disabled)
        facts = {"job": job.id, "name": job.name, "reason": reason}
        self._context.audit.record(CRON_DISABLE, f"{job.name}: {reason}", source=CRON.name, metadata=facts)
        await self._context.can.notify(
            Notice(
                f"The job {job.name} was disabled",
                f"{reason}, most recently: {run.reason or run.status}",
                NoticeLevel.ERROR,
                "cron",
                job.name,
                f"#/cron/{job.id}",
                f"cron-disabled-{job.id}",
            )
        )

    def _record(self, run: Run, caller: Mapping[str, object]) -> None:
        facts = {
            **caller,
            "job": run.subject_id,
            "name": run.subject_name,
            **audit_facts(run),
            "exit_code": run.exit_code,
            "scheduled_for": timestamp(run.scheduled_for),
        }
        source = run.source or CRON.name
        self._context.audit.record(CRON_EXECUTE, f"{run.subject_name} {run.status}", source=source, metadata=facts)


def may_start(connection: sqlite3.Connection, run: Run, *, may_wait: bool = False) -> bool:
    """Whether the policy of a job allows another run now; raise JobRunningError where it does not.

    A run that `may_wait` need not start now where the policy is to queue it, or to replace the earlier one.
    """
    rules = restored(run.snapshot or {}).overlap_rules
    rows = [row for row in queue.active(connection, KIND) if row.subject_id == run.subject_id]
    ahead = sum(row.subject_id == run.subject_id for row in queue.waiting(connection, KIND)) if may_wait else 0
    admission = admit(rules, [Running(row.id, row.started_at) for row in rows], ahead, run.queued_at)
    if not admission.start and (admission.reason or not may_wait):
        said = admission.reason or f"run {rows[0].id} is still running"
        told = f"the job {run.subject_name} is not started: {said}"
        raise JobRunningError(told, hint="wait for its end, or force it")
    return admission.start


def order_again(run: Run, actor: str | None, source: str = "") -> RunSpec:
    """Return the order of another run that is as an earlier one was; raises NotRetriedError where that is not kept."""
    if run.snapshot is None:
        raise NotRetriedError(
            "the definition of this run is not kept",
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


def count_failures(runs: Sequence[RunGlimpse], since: float) -> int:
    """Return how many of the newest runs failed in a row; cancelled and repeated ones do not count."""
    repeated, failures = {run.retry_of for run in runs}, 0
    for run in runs:
        if run.ok or run.queued_at < since:
            break
        failures += run.status != RunStatus.CANCELLED and run.id not in repeated
    return failures
