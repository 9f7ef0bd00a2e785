"""Cron jobs as people see and change them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.core.ids import new_id
from tocsin.core.pages import ListPage
from tocsin.core.process.identity import boot_id
from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import timestamp
from tocsin.features.context import FeatureContext
from tocsin.features.cron.definitions.job_files import FOLDER, JobFiles, changed_fields, edited, switched
from tocsin.features.cron.definitions.reading import JobReader, merged, without_defaults
from tocsin.features.cron.definitions.upcoming import JobPreview, Upcoming, UpcomingRun, due, instants
from tocsin.features.cron.execution import check_admission, order_again, start_job, start_or_queue_job
from tocsin.features.cron.feature import CRON_ADD, CRON_DISABLE, CRON_EDIT, CRON_ENABLE, CRON_REMOVE
from tocsin.features.cron.model import (
    JOB,
    KIND,
    CronJob,
    JobConflictError,
    JobDefinition,
    JobRunningError,
    JobSource,
    JobState,
    order_of,
    restored,
    wrong_field,
)
from tocsin.features.cron.store import JobStore, Trouble
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import as_retry
from tocsin.runs.engine.executor import GRACE_S
from tocsin.runs.model import Line, Run, RunOutput, RunSpec, RunStatus, RunTrigger, new_run
from tocsin.runs.queue import RunQueue
from tocsin.runs.stored_run import RunEndedError, UnknownRunError
from tocsin.scheduling.lease import Lease
from tocsin.scheduling.schedule import Schedule, read_schedule
from tocsin.scheduling.zones import default_zone

# Lazy: listing jobs does not need their execution.
if TYPE_CHECKING:
    from tocsin.features.cron.scheduler import Scheduler
    from tocsin.runs.control import Retry
    from tocsin.runs.engine.active_run import ActiveRun, PendingRun

T = TypeVar("T")

TROUBLES_S = 3600.0  # for how long a disturbed clock counts
LEASE = "scheduler"
_KILLED_S, _LOOK_S = 5.0, 0.05  # for how long after SIGKILL, and how often, the end of a run is waited for


class CronJobs:
    """The jobs of the data directory."""

    def __init__(self, context: FeatureContext) -> None:
        self.zone = default_zone(context.settings)
        self.runs = context.runs
        self.context = context
        self._clock = context.clock
        self._audit = context.audit
        self.store = JobStore(context.database)
        self._reader = JobReader(context, self.zone)
        self.files = JobFiles(context.data_dir / FOLDER, self.store, context.audit, context.clock, self.zone)

    def scheduler(self, holder: str = "", boot: Callable[[], str] = boot_id) -> "Scheduler":
        """Return the service that starts due jobs."""
        from tocsin.features.cron.scheduler import Scheduler

        lease = Lease(self.context.database, LEASE, self._clock, holder)
        return Scheduler(self.context, self.store, self.files, lease, boot=boot)

    @property
    def are_kept(self) -> bool:
        """Whether there may be jobs; asking for them would make the database."""
        return self.context.database.path.exists() or self.files.folder.exists()

    def now(self) -> float:
        return self._clock.now()

    async def all(self) -> list[CronJob]:
        """Return all jobs by name, those of files as they are now."""
        await self.files.sync(waits=True)
        return await self.store.all()

    async def search(self, text: str = "", state: JobState | None = None, tag: str = "") -> list[CronJob]:
        """Return the jobs with a text in their names, descriptions or commands, in a state, with a tag."""
        now, running = self.now(), await self.running_ids() if state else set()
        return [
            job
            for job in await self.all()
            if job.says(text)
            and (not tag or (job.definition is not None and tag in job.definition.tags))
            and (state is None or job.state(now, is_running=job.id in running) is state)
        ]

    async def get(self, name_or_id: str) -> CronJob:
        """Return one job; raises UnknownJobError."""
        await self.files.sync(waits=True)
        return await self.store.get(name_or_id)

    def read(self, fields: Mapping[str, Any]) -> JobDefinition:
        """Return the definition that fields make; raises InvalidJobError with all mistakes."""
        return self._reader.read(fields)

    async def check(self, fields: Mapping[str, Any], count: int = 5) -> JobPreview:
        """Return the preview of a job: its next runs and warnings; nothing is stored. Raises InvalidJobError."""
        found, taken = await self._reader.check(fields, count), {job.name for job in await self.all()}
        if found.definition.name not in taken:
            return found
        return replace(found, warnings=(*found.warnings, f"job {found.definition.name} already exists"))

    async def add(self, fields: Mapping[str, Any], caller: Caller, *, boot: str = "") -> CronJob:
        """Add a job, which counts as started in `boot`; raises InvalidJobError and JobNameTakenError."""
        definition, now = self._reader.read(fields), self._clock.now()
        self._reader.refuse_past(definition)
        job = CronJob(
            id=new_id(),
            name=definition.name,
            source=JobSource.DATABASE,
            definition=definition,
            enabled=definition.enabled,
            paused_until=definition.paused_until,
            failures_since=now,
            anchor=now,
            cursor=now,
            boot=boot,
            created_at=now,
            updated_at=now,
            created_by=caller.actor or caller.source,
        )
        job = replace(job, next_at=job.next_due())
        await self.files.sync(waits=True)
        await self.store.add(job)
        facts = {"job": job.id, "name": job.name, "type": definition.type}
        self._audit.record(CRON_ADD, f"{job.name}: {definition.schedule}", source=caller.source, metadata=facts)
        return job

    async def edit(self, name_or_id: str, changes: Mapping[str, Any], caller: Caller) -> CronJob:
        """Change fields of a job, from its next instant on; None means its default. Raises like `add`."""
        job = await self.get(name_or_id)
        self._refuse_file(job)
        return await self._redefine(job, {**to_json(job.valid()), **changes}, caller)

    async def patch(self, job: CronJob, patch: Mapping[str, Any], caller: Caller) -> CronJob:
        """Apply a JSON Merge Patch (RFC 7396) to a job as it was read; null means the default.

        Raises like `add`, and JobChangedError if it was changed since.
        """
        self._refuse_file(job)
        fields = {**to_json(job.valid()), "enabled": job.enabled, "paused_until": timestamp(job.paused_until)}
        return await self._redefine(job, merged(fields, patch, JOB), caller, version=job.version)

    async def _redefine(
        self, job: CronJob, fields: Mapping[str, Any], caller: Caller, *, version: int | None = None
    ) -> CronJob:
        definition = self._reader.read(without_defaults(fields))
        changed = changed_fields(job.definition, definition)
        if definition.enabled != job.enabled and "enabled" not in changed:
            changed.append("enabled")  # failures disabled it, which its definition does not say
        if not changed:
            return job
        if "schedule" in changed or "timezone" in changed:
            self._reader.refuse_past(definition)
        now = self._clock.now()
        job = await self.store.change(job.id, lambda before: edited(before, definition, now), version=version)
        facts = {"job": job.id, "name": job.name, "fields": changed}
        self._audit.record(CRON_EDIT, f"{job.name}: {', '.join(changed)}", source=caller.source, metadata=facts)
        return job

    async def enable(self, name_or_id: str, caller: Caller) -> CronJob:
        """Enable a job, and reset its count of failures."""
        job, now = await self.get(name_or_id), self._clock.now()
        if job.state(now, is_running=False) is JobState.INVALID:
            raise JobConflictError(f"job {job.name} is invalid", hint=job.problem or "correct its time zone")

        def enabled(before: CronJob) -> CronJob:
            changed = replace(before, auto_disabled=False, failures_since=now, cursor=max(before.cursor, now))
            return switched(changed, enabled=True)

        job = await self.store.change(job.id, enabled)
        self._record(CRON_ENABLE, job, caller)
        return job

    async def disable(
        self,
        name_or_id: str,
        caller: Caller,
        reason: str = "",
        until: float | None = None,
        *,
        cancel_running: bool = False,
    ) -> CronJob:
        """Disable the schedule of a job, permanently or until a time; skipped instants do not count as missed.

        What runs goes on, unless `cancel_running` ends it.
        """
        job = await self.get(name_or_id)
        if until is not None and until <= self._clock.now():
            raise wrong_field("until", "this time is in the past: give a future time")

        def disabled(before: CronJob) -> CronJob:
            changed = replace(before, auto_disabled=False, paused_until=until, paused_reason=reason)
            return switched(changed, enabled=until is not None, paused_until=until, paused_reason=reason)

        job = await self.store.change(job.id, disabled)
        facts = {"job": job.id, "name": job.name, "reason": reason or None}
        self._audit.record(CRON_DISABLE, job.name, source=caller.source, metadata=facts)
        if cancel_running:
            await self._cancel_all(job, "its job was disabled")
        return job

    async def remove(
        self,
        name_or_id: str,
        caller: Caller,
        *,
        force: bool = False,
        keep_history: bool = True,
        version: int | None = None,
    ) -> CronJob:
        """Delete a job, but not its runs; with `force` also while it runs, which is cancelled.

        Without `keep_history`, its runs go, too. Raises UnknownJobError, JobRunningError, and JobChangedError where it
        has another `version` than that one.
        """
        job = await self.get(name_or_id)
        self._refuse_file(job)
        if force:
            await self._end_all(job)
        elif await self._at_work(job):
            raise JobRunningError(f"job {job.name} is running", hint="wait until it has ended, or force the removal")
        await self.store.remove(job.id, version=version)
        await self._cancel_all(job, "its job was removed")
        if not keep_history:
            await self.runs().forget(KIND, job.id)
        self._record(CRON_REMOVE, job, caller, {"history": "kept" if keep_history else "deleted"})
        return job

    async def start(
        self,
        name_or_id: str,
        caller: Caller,
        params: Mapping[str, Any] | None = None,
        *,
        trigger: str = RunTrigger.MANUAL,
        force: bool = False,
        watch: Callable[[Line], None] | None = None,
    ) -> Run:
        """Run a job now to its end in this process, also while it is disabled; its schedule does not change.

        Raises JobConflictError while it runs already, unless `force` or its policy allows another one.
        """
        order = await self.order(name_or_id, trigger, caller, params)
        running = await start_job(self.context, order, force=force, watch=watch)
        return await running.wait_or_stop()

    async def begin(
        self,
        name_or_id: str,
        caller: Caller,
        params: Mapping[str, Any] | None = None,
        *,
        trigger: str = RunTrigger.MANUAL,
        parent_run_id: str | None = None,
        run_id: str = "",
        force: bool = False,
    ) -> "ActiveRun":
        """Run a job now, as `start` does, and return the run as soon as it is recorded."""
        order = await self.order(name_or_id, trigger, caller, params)
        order = replace(order, parent_run_id=parent_run_id, id=run_id)
        return await start_job(self.context, order, force=force)

    async def begin_or_queue(
        self, name_or_id: str, caller: Caller, params: Mapping[str, Any] | None = None
    ) -> "ActiveRun | PendingRun":
        """Run a job now, or after earlier runs of it if its policy says so. Raises like `start`."""
        order = await self.order(name_or_id, RunTrigger.MANUAL, caller, params)
        return await start_or_queue_job(self.context, order)

    async def plan(
        self, name_or_id: str, caller: Caller, params: Mapping[str, Any] | None = None, *, force: bool = False
    ) -> Run:
        """Return the run that `begin` would start, without recording it; raises like `begin`."""
        order = replace(await self.order(name_or_id, RunTrigger.MANUAL, caller, params), dry_run=True)
        run = new_run(order, RunStatus.SKIPPED, self._clock.now())
        if not force:
            await check_admission(self.context, order)
        command = self.context.redact(restored(run.snapshot or {}).command)
        output = RunOutput(len(command.encode()), len(command.splitlines()), tail=command)
        return replace(run, reason="dry run: the job would have been run", output=output)

    async def order(self, name_or_id: str, trigger: str, caller: Caller, params: Mapping[str, Any] | None) -> RunSpec:
        """Return the order of a run of a job; raises InvalidJobError."""
        order = order_of(await self.get(name_or_id), trigger, caller.actor, params or {})
        return replace(order, source=caller.source)

    async def begin_again(self, retry: "Retry", caller: Caller) -> "ActiveRun":
        """Execute an earlier run again as it was, even if its job was edited or removed; its schedule does not change.

        Raises JobConflictError like `start`, and NotRetriedError.
        """
        order = order_again(retry.run, caller.actor, caller.source)
        return await start_job(self.context, as_retry(order, retry))

    def preview(self, schedule: Schedule, zone: str, count: int, *, job: CronJob | None = None) -> list[Upcoming]:
        """Return the next instants of a schedule, or of a job with its limits and jitter."""
        return list(islice(instants(schedule, zone, self._clock.now(), job), count))

    async def upcoming(self, hours: int, limit: int, after: str = "") -> list[UpcomingRun]:
        """Return the instants due within `hours`, in order; with `after`, those that follow the one of that `order`."""
        now = self._clock.now()
        return list(islice(due(await self.all(), now, now + 3600 * hours, after), limit))

    def next_of(self, text: str, zone: str, count: int) -> tuple[str, list[Upcoming]]:
        """Return a schedule in words and its next instants; raises ScheduleError."""
        schedule = read_schedule(text, zone, self._clock.now())
        return schedule.words(), self.preview(schedule, zone, count)

    async def troubles(self) -> list[Trouble]:
        """Return the disturbances of the schedules within the last hour."""
        return await self.store.troubles(self._clock.now() - TROUBLES_S)

    def check_output(self, destination: str) -> None:
        """Raise TocsinError if output could not be sent."""
        self.context.output.check(destination)

    async def failing(self) -> dict[str, str]:
        """Return the runs in which jobs failed the last time, by the IDs of these jobs."""
        runs = await self.runs().store.records.last_failed(KIND)
        return {run.subject_id: run.id for run in runs}

    async def running_ids(self) -> set[str]:
        return {row.subject_id for row in await self._look(lambda queue: queue.at_work())}

    async def runs_of(self, job: CronJob, status: Sequence[RunStatus], limit: int, cursor: str = "") -> ListPage[Run]:
        """Return the newest runs of a job in these states, or in all of them."""
        return await self.runs().search(KIND, job.id, status, limit, cursor)

    async def run_of(self, job: CronJob, run_id: str) -> Run:
        """Return one run of a job; raises UnknownRunError, AmbiguousIdError."""
        run = await self.runs().get(await self.runs().whole_id(run_id))
        if (run.kind, run.subject_id) != (KIND, job.id):
            raise UnknownRunError(f"run {run.id} does not belong to job {job.name}", hint="see the logs of the job")
        return run

    async def _look(self, see: Callable[[RunQueue], T]) -> T:
        return await self.runs().store.records.look(KIND, see)

    async def _at_work(self, job: CronJob) -> list[str]:
        return [row.id for row in await self._look(lambda queue: queue.at_work()) if row.subject_id == job.id]

    async def _cancel_all(self, job: CronJob, reason: str) -> None:
        queued = [row.id for row in await self._look(lambda queue: queue.queued()) if row.subject_id == job.id]
        for run_id in [*await self._at_work(job), *queued]:
            with suppress(RunEndedError):
                await self.runs().cancel(run_id, reason)

    async def _end_all(self, job: CronJob) -> None:
        """Cancel the active runs, and wait as long as it takes to kill them."""
        await self._cancel_all(job, "its job was removed")
        for _ in range(round((GRACE_S + _KILLED_S) / _LOOK_S)):
            if not await self._at_work(job):
                return
            await asyncio.sleep(_LOOK_S)
        raise JobRunningError(f"job {job.name} was cancelled, but has not ended yet", hint="try again")

    def _refuse_file(self, job: CronJob) -> None:
        if job.source is JobSource.FILE:
            told = f"job {job.name} is defined in {FOLDER}/{job.file}"
            raise JobConflictError(told, hint=f"edit or remove {self.files.folder / job.file}")

    def _record(self, action: Any, job: CronJob, caller: Caller, facts: Mapping[str, object] | None = None) -> None:
        facts = {"job": job.id, "name": job.name, **(facts or {})}
        self._audit.record(action, job.name, source=caller.source, metadata=facts)
