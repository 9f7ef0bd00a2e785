"""The scheduler: one process of all that run it records what is due, and starts it.

Each step is a transaction that confirms the lease, records every due instant as a run and advances the cursor of its
job; what was recorded is then started, or ended as skipped. A crash at any point loses no instant and runs none twice.
"""

import asyncio
import logging
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.core.process.identity import boot_id
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.cron.definitions.job_files import JobFiles
from tocsin.features.cron.model import KIND, CronJob, JobDefinition, order_of
from tocsin.features.cron.notices import missed
from tocsin.features.cron.running import JobRunner, definition_of
from tocsin.features.cron.store import (
    JobStore,
    Trouble,
    advance,
    enqueue,
    stored_definition,
    take_after_start,
)
from tocsin.runs import queue, tasks
from tocsin.runs.model import Run, RunResult, RunStatus, RunTrigger, new_run
from tocsin.runs.store import RunEndedError
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.lease import BEAT_S, LOOK_S, Lease, LeaseLostError
from tocsin.scheduling.missed import (
    JUMPED,
    LATE_S,
    NOT_RUNNING,
    SUPERSEDED,
    CatchUp,
    CatchUpRules,
    PlannedInstant,
    plan_instants,
)
from tocsin.scheduling.overlap import Admission, Overlap, Running, admit
from tocsin.scheduling.schedule import duration_words
from tocsin.scheduling.zones import zone_of

log = logging.getLogger(__name__)

DRAIN_S = 30.0  # for what runs when the program is stopped
LONGEST_SLEEP_S = 30.0
CATCHUPS_AT_ONCE, CATCHUPS_EVERY_S = 2, 5.0
JUMP_S = 60.0
_BATCH = 500
_INSTANTS_AT_ONCE = 2_000  # others wait for the database meanwhile, and the records are in memory


class _PlannedJob(NamedTuple):
    """What is recorded for a job that is due; `cursor` is up to where that is all."""

    job: CronJob
    cursor: float
    runs: list[Run]


class Scheduler:
    """Plans and starts the runs of all jobs while this process holds the lease."""

    def __init__(
        self,
        context: FeatureContext,
        store: JobStore,
        runner: JobRunner,
        files: JobFiles,
        lease: Lease,
        *,
        boot: Callable[[], str] = boot_id,
    ) -> None:
        """`boot` names the present boot of the machine."""
        self._context = context
        self._clock = context.clock
        self._store = store
        self._runner = runner
        self._files = files
        self.lease = lease
        self._boot = boot
        self._stop = StopEvent()
        self._loop = ServiceLoop("the scheduler", self.step, self._clock, drain_s=DRAIN_S, stop=self._stop)
        self._term = 0  # the token of the lease under which the takeover was done
        self._watches_since = self._clock.monotonic()
        self._seen: tuple[float, float] | None = None  # wall time and monotonic time at the last step
        self._late_because = NOT_RUNNING  # for what is planned next
        self._catchups: list[float] = []  # monotonic times of the last starts of catch-ups
        self._has_queued = False

    def stop(self) -> None:
        """Start nothing new; `run` returns when what runs has ended, or after half a minute."""
        self._loop.stop()

    async def run(self) -> None:
        """Schedule until `stop`; another process may take over at once, while runs of this one still end."""
        self._watches_since = self._clock.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._loop.run())
            await self._stop.wait()
            try:
                await self.lease.release()
            except TocsinError as error:  # its silence tells the others
                log.warning("the lease of the scheduler is not given back", extra={"reason": error.sentence()})

    async def step(self) -> float:
        """Do what is due, and return for how many seconds there is no more."""
        try:
            return await self._step()
        except LeaseLostError as error:
            log.info("another process schedules now", extra={"reason": str(error)})
            return LOOK_S

    async def _step(self) -> float:
        if not await self.lease.keep():
            self._seen = None
            return LOOK_S
        takes_over = self._term != self.lease.token
        if takes_over:
            await self._take_over()
        await self._files.sync()
        if takes_over:
            await self._take_after_start()
            self._term = self.lease.token
        await self._watch_clock()
        await self._plan()
        self._late_because = NOT_RUNNING
        await self._start()
        return await self._seconds_to_next()

    async def _take_over(self) -> None:
        """End runs of processes that are gone, and see to what is queued since long ago."""
        await self._context.runs().recover()
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> list[Run]:
            self.lease.confirm(connection)
            return [run for run in queue.queued(connection, KIND) if _was_missed(connection, run, now)]

        ended = await self._context.database.write(work)
        await self._tell_missed(Counter(run.subject_name for run in ended))

    async def _take_after_start(self) -> None:
        """Queue the jobs that run once after each start of the machine; one that is off now waits for the next."""
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            self.lease.confirm(connection)
            for job in take_after_start(connection, self._boot()):
                if job.may_start(now):
                    enqueue(connection, self._run_of(job, PlannedInstant(now)), now + job.offset)

        await self._context.database.write(work)

    async def _watch_clock(self) -> None:
        now, passed = self._clock.now(), self._clock.monotonic()
        before, self._seen = self._seen, (now, passed)
        if before is not None and abs(jump := (now - before[0]) - (passed - before[1])) > JUMP_S:
            way = "forward" if jump > 0 else "back"
            self._late_because = JUMPED if jump > 0 else NOT_RUNNING
            said = f"the clock jumped {way} by {duration_words(abs(jump))}, or the machine slept"
            await self._tell("clock-jump", said)
        if ahead := await self._store.ahead_of(now + JUMP_S):
            await self._set_back(ahead, now)
        earliest = await self._store.earliest()
        if earliest is not None and now - earliest > LATE_S:
            said = f"jobs were due for {duration_words(now - earliest)} while no scheduler looked at them"
            await self._tell("late", said)

    async def _set_back(self, ahead: list[CronJob], now: float) -> None:
        """Go on from the present time after the clock was ahead; what ran in that future is not run again."""
        furthest = max(job.cursor for job in ahead) - now
        said = f"the clock is {duration_words(furthest)} behind the last instant that was planned"
        await self._tell("clock-behind", f"{said}; schedules go on from now")

        def work(connection: sqlite3.Connection) -> None:
            self.lease.confirm(connection)
            for job in ahead:
                advance(connection, job, now)

        await self._context.database.write(work)

    async def _tell(self, name: str, detail: str) -> None:
        await self._store.note(Trouble(name, detail, self._clock.now()))
        notice = Notice("Cron schedules were disturbed", detail, NoticeLevel.WARNING, "cron", "cron", "#/cron", name)
        await self._context.abilities.notices.notify(notice)

    async def _tell_missed(self, counts: Mapping[str, int]) -> None:
        if counts:
            await self._context.abilities.notices.notify(missed(counts, self._clock.now()))

    async def _plan(self) -> None:
        """Record each instant that is due, and advance the cursors; tell of those that were missed."""
        while True:
            now = self._clock.now()
            jobs = await self._store.due(now, _BATCH)
            counts: Counter[str] = Counter()
            try:
                for piece in self._planned(jobs, now):
                    recorded = await self._context.database.write(partial(self._record, piece))
                    counts.update(run.subject_name for run in recorded if run.status is RunStatus.MISSED)
            finally:
                await self._tell_missed(counts)
            if len(jobs) < _BATCH:
                return

    def _planned(self, jobs: Sequence[CronJob], now: float) -> Iterator[list[_PlannedJob]]:
        """Yield what is due, in pieces that are small enough for one transaction."""
        piece, size = [], 0
        for job in jobs:
            until = now - job.offset
            piece.append(_PlannedJob(job, until, self._runs_of(job, until)))
            size += len(piece[-1].runs)
            if size >= _INSTANTS_AT_ONCE:
                yield piece
                piece, size = [], 0
        if piece:
            yield piece

    def _record(self, planned: Sequence[_PlannedJob], connection: sqlite3.Connection) -> list[Run]:
        self.lease.confirm(connection)
        advanced = [each.runs for each in planned if advance(connection, each.job, each.cursor)]
        return [run for runs in advanced for run in runs if enqueue(connection, run)]

    def _runs_of(self, job: CronJob, until: float) -> list[Run]:
        definition = job.valid()
        last = until if definition.end_at is None else min(until, definition.end_at)
        try:
            catchup, window_s = CatchUp(definition.catchup), definition.catchup_window_seconds
            rules = CatchUpRules(catchup, window_s, zone_of(definition.timezone))
            instants = plan_instants(job.schedule(), job.begins_after, last, rules, self._late_s(), self._late_because)
        except ScheduleError:  # its time zone is gone; the job is shown as invalid
            return []
        # In the order of their instants, also those that are made within a millisecond.
        ids = sorted(new_id() for _ in instants)
        return [replace(self._run_of(job, each), id=id_) for id_, each in zip(ids, instants, strict=True)]

    def _late_s(self) -> float:
        """Return how late an instant may be seen: those before this process began to watch were missed."""
        return min(LATE_S, self._clock.monotonic() - self._watches_since)

    def _run_of(self, job: CronJob, planned: PlannedInstant) -> Run:
        order = order_of(job, RunTrigger.CATCHUP if planned.caught_up else RunTrigger.SCHEDULE, "scheduler")
        order = replace(order, scheduled_for=planned.instant + job.offset)
        run = new_run(order, RunStatus.MISSED if planned.missed else RunStatus.QUEUED, self._clock.now())
        return replace(run, reason=planned.missed or None)

    async def _start(self) -> None:
        """Start, skip or leave what is queued."""
        now = self._clock.now()
        self._has_queued = await self._context.database.read(lambda connection: queue.has_queued(connection, KIND))
        if not self._has_queued or self._loop.stopping:
            return
        taken, replaced = await self._context.database.write(lambda c: self._dispatch(c, now))
        for run in taken:
            self._loop.start(self._carry_out(run), name=f"cron {run.subject_name}")
            await asyncio.sleep(0)  # the first of many is under way before the last is looked at
        for run_id in replaced:
            try:
                await self._context.runs().cancel(run_id, "a newer run replaces it")
            except RunEndedError:
                continue

    def _dispatch(self, connection: sqlite3.Connection, now: float) -> tuple[list[Run], list[str]]:
        """Take what may start, in one transaction; return it, and the runs that it replaces."""
        self.lease.confirm(connection)
        running: dict[str, list[Running]] = defaultdict(list)
        ending = set()
        for row in queue.active(connection, KIND):
            running[row.subject_id].append(Running(row.id, row.started_at))
            if row.is_cancelling:
                ending.add(row.id)
        ahead: Counter[str] = Counter()
        not_before = tasks.delays(connection, KIND)
        ready = [row for row in queue.waiting(connection, KIND) if not_before.get(row.id, now) <= now]
        newest = {row.subject_id: row.id for row in ready}
        taken, replaced = [], []
        for due in ready:
            definition = stored_definition(due.snapshot or "{}")
            if due.id != newest[due.subject_id] and (ended := _superseded(due, definition)):
                _end_unstarted(connection, due, ended, now)
                continue
            admission = self._admit(due, definition, running[due.subject_id], ahead[due.subject_id], now)
            if admission.reason:
                _end_unstarted(connection, due, RunResult(RunStatus.SKIPPED, admission.reason), now)
            elif not admission.start:
                ahead[due.subject_id] += 1
                replaced += [run_id for run_id in admission.replaces if run_id not in ending]
            elif run := queue.take(connection, due.id, self._context.runs().owner, now):
                running[due.subject_id].append(Running(due.id, now))
                taken.append(run)
        return taken, replaced

    def _admit(
        self, row: queue.QueuedRow, definition: JobDefinition, running: list[Running], ahead: int, now: float
    ) -> Admission:
        is_catchup = row.trigger == RunTrigger.CATCHUP
        patient = is_catchup or definition.catchup == CatchUp.ALL
        admission = admit(definition.overlap_rules, running, ahead, now, patient=patient)
        if not (admission.start and is_catchup):
            return admission
        passed = self._clock.monotonic()
        self._catchups = [at for at in self._catchups if passed - at < CATCHUPS_EVERY_S]
        if len(self._catchups) >= CATCHUPS_AT_ONCE:
            return Admission(start=False)
        self._catchups.append(passed)
        return admission

    async def _carry_out(self, run: Run) -> None:
        try:
            running = await self._runner.begin(run)
            await running.wait()  # at a stop, it is released or interrupted with all runs of this process
        except TocsinError as error:  # its record is corrected when its process has ended
            log.warning("a run of a job is not recorded to its end", extra={"run": run.id, "reason": error.sentence()})
        except Exception:  # let out, it would end the scheduler, and the program with it
            log.exception("a run of a job failed unexpectedly", extra={"run": run.id})

    async def _seconds_to_next(self) -> float:
        earliest = await self._store.earliest()
        usual = LOOK_S if self._has_queued else min(BEAT_S, LONGEST_SLEEP_S)
        return usual if earliest is None else max(0.0, min(usual, earliest - self._clock.now()))


def _superseded(row: queue.QueuedRow, definition: JobDefinition) -> RunResult | None:
    """Return how a queued run ends, unstarted, that has a later one of its job behind it; None where it waits."""
    if row.trigger == RunTrigger.CATCHUP and definition.catchup == CatchUp.LATEST:
        return RunResult(RunStatus.MISSED, f"its time was missed, {SUPERSEDED}")
    if row.trigger != RunTrigger.CATCHUP and definition.overlap == Overlap.REPLACE:
        return RunResult(RunStatus.SKIPPED, "a newer run replaces it")
    return None


def _end_unstarted(connection: sqlite3.Connection, due: queue.QueuedRow, ended: RunResult, now: float) -> None:
    """End a queued run that is not to begin; the end of a requested one is settled, as it is audited."""
    queue.end_unstarted(connection, due.id, ended, now)
    if not due.source:
        tasks.remove(connection, due.id)


def _was_missed(connection: sqlite3.Connection, run: Run, now: float) -> bool:
    """End a run that an earlier scheduler has queued and not started, or have it caught up; return whether it ended."""
    if run.retry_of is not None or run.scheduled_for is None or now - run.scheduled_for <= LATE_S:
        return False
    definition, away = definition_of(run), "the scheduler ended before it could start the run"
    if definition.catchup == CatchUp.NONE:
        reason = f"{away}, and the job catches up none"
    elif now - run.scheduled_for > definition.catchup_window_seconds:
        reason = f"{away}, and it is more than {duration_words(definition.catchup_window_seconds)} ago"
    else:
        queue.catch_up(connection, run.id)
        return False
    queue.end_unstarted(connection, run.id, RunResult(RunStatus.MISSED, reason), now)
    return tasks.remove(connection, run.id)
