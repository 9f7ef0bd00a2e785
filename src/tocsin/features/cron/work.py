"""The run type of cron jobs."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.core.time.timestamps import duration_words, timestamp
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.cron.execution import definition_of, job_work, order_again
from tocsin.features.cron.feature import CRON, CRON_DISABLE, CRON_EXECUTE
from tocsin.features.cron.model import KIND, CronJob, JobType, OutputOn
from tocsin.features.cron.records import count_failures
from tocsin.features.cron.service import CronJobs
from tocsin.features.cron.store import JobStore, note_failure, note_success, stored_definition
from tocsin.features.hooks import WorkHooks
from tocsin.features.run_notices import NotifyingRuns, failing, recovered, stored_notice
from tocsin.runs.control import Retry, as_retry
from tocsin.runs.document import audit_facts, pointers
from tocsin.runs.engine.admission import SUPERSEDED
from tocsin.runs.engine.note_once import note_once
from tocsin.runs.engine.overlap import Overlap, StartPolicy
from tocsin.runs.engine.run_type import DelayedRun, RunAuditEntry, RunMessage, RunType
from tocsin.runs.model import FAILING, Run, RunResult, RunStatus, RunTrigger, new_run
from tocsin.runs.queue import QueuedRow
from tocsin.runs.recorder import Work
from tocsin.runs.service import waiting_for
from tocsin.scheduling.missed import SUPERSEDED as A_LATER_ONE
from tocsin.scheduling.missed import CatchUp

MAX_CHARS = 3_500  # one message of every channel but one: more of the output is in the log
_COMPARED_CHARS = 1_000_000
_RETRIED = frozenset({RunStatus.FAILED, RunStatus.TIMED_OUT})
_COUNTED = 2_000  # of the newest runs: twice what `auto_disable_after` may say


class CronRuns(NotifyingRuns, RunType):
    """Runs of jobs: the scheduler starts them, also those that are queued and retried."""

    kind = KIND
    source = CRON.name

    def __init__(self, context: FeatureContext, store: JobStore) -> None:
        super().__init__(context.abilities.notices)
        self._context = context
        self._store = store

    def start_policy(self, queued: QueuedRow) -> StartPolicy:
        """Return the `overlap` of the job; a catch-up waits for its turn whatever that says."""
        definition, is_catchup = stored_definition(queued.snapshot or "{}"), queued.trigger == RunTrigger.CATCHUP
        superseded = None
        if is_catchup and definition.catchup == CatchUp.LATEST:
            superseded = RunResult(RunStatus.MISSED, f"its scheduled time was missed, {A_LATER_ONE}")
        elif not is_catchup and definition.overlap == Overlap.REPLACE:
            superseded = SUPERSEDED
        waits = is_catchup or definition.catchup == CatchUp.ALL
        return StartPolicy(definition.overlap_rules, waits, superseded, at_home=True)

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Whether it has not begun, or a workflow does the work, which is continued itself."""
        return run.status is RunStatus.QUEUED or bool(request.get("children"))

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work | None:
        """Return the work of the job, or the work that waits for its workflow."""
        if children := request.get("children"):
            return waiting_for(self._context.runs(), children["workflow"])
        return job_work(self._context)

    def log_max_bytes(self, run: Run) -> int:
        """Return the limit that the job sets for its log."""
        return definition_of(run).log_max_bytes

    def retry(self, run: Run, now: float) -> DelayedRun | None:
        """Return the run that follows a failed one, as `retry` of the job says."""
        rule = definition_of(run).retry
        wanted = not rule.on_exit_codes or run.exit_code in rule.on_exit_codes
        if run.status not in _RETRIED or run.attempt >= rule.max_attempts or not wanted:
            return None
        order = as_retry(order_again(run, run.actor), Retry(run))
        return DelayedRun(new_run(order, RunStatus.QUEUED, now), now + rule.delay_s(run.attempt))

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the output of a run, if `output_on` requires it."""
        definition = definition_of(run)
        if not definition.output or run.started_at is None:
            return None
        if definition.type == JobType.MESSAGE:
            return RunMessage(definition.output, definition.command, CRON.name) if run.ok else None
        before = await self._run_before(run)
        output = await self._context.runs().text(run.id, _COMPARED_CHARS)
        changed = before is not None and output != await self._context.runs().text(before.id, _COMPARED_CHARS)
        if not is_wanted(definition.output_on, run, before, changed=changed):
            return None
        text, address = text_of(run, output or run.output.tail), self._context.settings[PUBLIC_URL]
        return RunMessage.about(run, definition.output, text, CRON.name, address)

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Record whether the job works, and return a notice if that has changed."""
        if run.started_at is None:
            return {}
        return await note_once(self._context.database, run.id, lambda c: self._noted(c, run, output))

    def _noted(self, connection: sqlite3.Connection, run: Run, output: str) -> Mapping[str, Any]:
        facts = {"category": "cron", "link": f"#/cron/{run.subject_id}", "output": output, "noun": "job"}
        if run.ok:
            since = note_success(connection, run.subject_id, run.finished_at or self._context.clock.now())
            if since is None:
                return {}
            return stored_notice(recovered(run, since, **facts))
        if run.status not in FAILING:
            return {"ended": True}
        since = note_failure(connection, run.subject_id, self._context.clock.now())
        return {**stored_notice(failing(run, since, **facts)), "ended": True}

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the `cron.execute` entry; an instant that did not run has one only if a person requested it."""
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
        await super().tell(run, noted)
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
        failures = count_failures(past.history, job.failures_since, run.id)
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


def is_wanted(on: Sequence[str], run: Run, before: Run | None, *, changed: bool) -> bool:
    """Whether the output of a run is sent; `before` is the last run of the job that had ended by then."""
    met = {
        OutputOn.ALWAYS: True,
        OutputOn.SUCCESS: run.ok,
        OutputOn.FAILURE: not run.ok and run.status is not RunStatus.CANCELLED,
        OutputOn.RECOVERY: run.ok and before is not None and not before.ok,
        OutputOn.OUTPUT: run.output.bytes > 0,
        OutputOn.CHANGE: before is None or changed or run.status is not before.status,
    }
    return any(met[OutputOn(word)] for word in on)


def text_of(run: Run, output: str) -> str:
    """Return the message: how it ended, why, and the end of the output."""
    took = "" if run.duration_ms is None else f" after {_took(run.duration_ms)}"
    lines = [f"{run.subject_name}: {run.status.replace('_', ' ')}{took}"]
    if run.reason:
        lines.append(run.reason)
    if run.status in FAILING:
        lines.append(pointers(run.id))
    shown = output.strip()
    if len(shown) > MAX_CHARS:
        shown = f"…{shown[-MAX_CHARS:]}"
    return "\n".join([*lines, "", shown]) if shown else "\n".join(lines)


def _took(duration_ms: int) -> str:
    return f"{duration_ms} ms" if duration_ms < 1000 else duration_words(duration_ms / 1000)


WORK = WorkHooks[CronJobs](
    schedulers=(CronJobs.scheduler,),
    run_types={"cron": lambda jobs: CronRuns(jobs.context, jobs.store)},
)
