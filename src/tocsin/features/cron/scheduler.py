"""The scheduler: one of all processes queues due runs, and the run engine begins them.

Each step records every due instant as a run, then confirms the lease and advances the cursors of the jobs in one
transaction. An instant has one record, however often it is planned, so that a crash at any point loses no instant and
runs none twice.
"""

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tocsin.core.ids import new_id
from tocsin.core.process.identity import boot_id
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.time.timestamps import duration_words
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.cron.definitions.job_files import JobFiles
from tocsin.features.cron.model import KIND, CronJob, order_of
from tocsin.features.cron.store import (
    JobStore,
    Trouble,
    advance,
    reserve_after_start,
    stored_definition,
    take_after_start,
)
from tocsin.runs.model import Run, RunResult, RunStatus, RunTrigger, new_run
from tocsin.runs.queue import QueuedRow, RunQueue, catch_up, end_unstarted
from tocsin.runs.records import RunRecords
from tocsin.scheduling.clock_watch import JUMP_S, ClockWatch
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.lease import BEAT_S, LOOK_S, Lease, LeaseLostError
from tocsin.scheduling.missed import (
    JUMPED,
    LATE_S,
    NOT_RUNNING,
    CatchUp,
    CatchUpRules,
    PlannedInstant,
    plan_instants,
)
from tocsin.scheduling.zones import load_zone

log = logging.getLogger(__name__)

LONGEST_SLEEP_S = 30.0
CATCHUPS_AT_ONCE, CATCHUPS_EVERY_S = 2, 5.0
_BATCH = 500
_INSTANTS_AT_ONCE = 2_000  # others wait for the database meanwhile, and the records are in memory
_HOUR_S = 3600
_SHOWN = 10  # names of jobs in the notice about missed runs


class _PlannedJob(NamedTuple):
    """The records of a due job; `cursor` is the time up to which they are complete."""

    job: CronJob
    cursor: float
    runs: list[Run]


class Scheduler:
    """Plans and starts the runs of all jobs while this process holds the lease."""

    def __init__(
        self,
        context: FeatureContext,
        store: JobStore,
        files: JobFiles,
        lease: Lease,
        *,
        boot: Callable[[], str] = boot_id,
    ) -> None:
        """`boot` names the present boot of the machine."""
        self._context = context
        self._clock = context.clock
        self._store = store
        self._files = files
        self.lease = lease
        self._boot = boot
        self._stop = StopEvent()
        self._loop = ServiceLoop("the scheduler", self.step, self._clock, stop=self._stop)
        self._term = 0  # the token of the lease under which the takeover was done
        self._watches_since = self._clock.monotonic()
        self._clock_watch = ClockWatch(context.clock)
        self._late_because = NOT_RUNNING  # for what is planned next
        self._slots: list[float] = []  # when the last catch-ups that were planned may begin
        self._has_queued = False

    @property
    def _records(self) -> RunRecords:
        return self._context.runs().store.records

    def stop(self) -> None:
        """Plan nothing more."""
        self._loop.stop()

    async def run(self) -> None:
        """Schedule until `stop`; another process may take over at once."""
        self._watches_since = self._clock.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._loop.run())
            await self._stop.wait()
            await self.lease.release()

    async def step(self) -> float:
        """Queue due runs, and return the seconds until the next one."""
        try:
            return await self._step()
        except LeaseLostError as error:
            log.info("another process schedules now", extra={"reason": str(error)})
            return LOOK_S

    async def _step(self) -> float:
        if not await self.lease.keep():
            self._clock_watch.reset()
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
        """End runs of dead processes, and expire runs that have been queued for long."""
        await self._context.runs().recover()
        now = self._clock.now()

        def choose(queue: RunQueue) -> list[QueuedRow]:
            rows = [row for row in queue.queued() if row.is_here]
            self._slots = sorted(row.not_before for row in rows if row.not_before is not None)[-CATCHUPS_AT_ONCE:]
            return [row for row in rows if self._was_missed(queue, row, now)]

        await self._context.database.read(self.lease.confirm)
        ended = await self._records.decide(KIND, choose)
        await self._tell_missed(Counter(row.subject_name for row in ended))

    async def _take_after_start(self) -> None:
        """Queue the jobs that run once after each start of the machine; one that is off now waits for the next."""
        now, boot = self._clock.now(), self._boot()

        def reserve(connection: sqlite3.Connection) -> dict[str, CronJob]:
            self.lease.confirm(connection)
            return reserve_after_start(connection, boot)

        reserved = await self._context.database.write(reserve)
        store = self._context.runs().store
        known = {run.id for run in await store.several(list(reserved))}
        for run_id, job in reserved.items():
            if run_id not in known and job.may_start(now):
                await store.enqueue([replace(self._run_of(job, PlannedInstant(now)), id=run_id)], now + job.offset)
        if reserved:
            await self._context.database.write(lambda c: take_after_start(c, boot, reserved.values()))

    async def _watch_clock(self) -> None:
        now = self._clock.now()
        if jump := self._clock_watch.jump():
            way = "forward" if jump > 0 else "back"
            self._late_because = JUMPED if jump > 0 else NOT_RUNNING
            said = f"the clock jumped {way} by {duration_words(abs(jump))}, or the machine slept"
            await self._tell("clock-jump", said)
        if ahead := await self._store.ahead_of(now + JUMP_S):
            await self._set_back(ahead, now)
        earliest = await self._store.earliest()
        if earliest is not None and now - earliest > LATE_S:
            said = f"jobs were due for {duration_words(now - earliest)} while no scheduler was running"
            await self._tell("late", said)

    async def _set_back(self, ahead: list[CronJob], now: float) -> None:
        """Continue from the present time after the clock was ahead; instants that already ran do not run again."""
        furthest = max(job.cursor for job in ahead) - now
        said = f"the clock is {duration_words(furthest)} behind the last scheduled run"
        await self._tell("clock-behind", f"{said}; schedules continue from now")

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
        """Record each instant that is due, and advance the cursors; report missed instants."""
        while True:
            now = self._clock.now()
            jobs = await self._store.due(now, _BATCH)
            counts: Counter[str] = Counter()
            try:
                for piece in self._planned(jobs, now):
                    recorded = await self._record(piece)
                    counts.update(run.subject_name for run in recorded if run.status is RunStatus.MISSED)
            finally:
                await self._tell_missed(counts)
            if len(jobs) < _BATCH:
                return

    def _planned(self, jobs: Sequence[CronJob], now: float) -> Iterator[list[_PlannedJob]]:
        """Yield due records in batches that fit into one transaction."""
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

    async def _record(self, planned: Sequence[_PlannedJob]) -> list[Run]:
        """Record the runs of jobs, and return those that are new, but for those of jobs that were changed meanwhile."""

        def move_on(connection: sqlite3.Connection) -> set[str]:
            self.lease.confirm(connection)
            return {each.job.id for each in planned if advance(connection, each.job, each.cursor)}

        store, every = self._context.runs().store, [run for each in planned for run in each.runs]
        recorded = await store.enqueue([run for run in every if not _is_catchup(run)])
        for run in filter(_is_catchup, every):
            recorded += await store.enqueue([run], self._next_slot(self._clock.now()))
        advanced = await self._context.database.write(move_on)
        if changed := [run.id for run in recorded if run.subject_id not in advanced]:
            await withdraw(self._records, changed, self._clock.now())
        return [run for run in recorded if run.subject_id in advanced]

    def _runs_of(self, job: CronJob, until: float) -> list[Run]:
        definition = job.valid()
        last = until if definition.end_at is None else min(until, definition.end_at)
        try:
            catchup, window_s = CatchUp(definition.catchup), definition.catchup_window_seconds
            rules = CatchUpRules(catchup, window_s, load_zone(definition.timezone))
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
        """Let the engine begin queued runs."""
        if not self._loop.stopping:
            self._has_queued = await self._context.runs().resume()

    def _next_slot(self, now: float) -> float:
        """Return when another catch-up may begin: two within five seconds do not overload a machine that comes up."""
        slot = now
        if len(self._slots) == CATCHUPS_AT_ONCE:
            slot = max(now, self._slots[0] + CATCHUPS_EVERY_S)
        self._slots = [*self._slots, slot][-CATCHUPS_AT_ONCE:]
        return slot

    def _was_missed(self, queue: RunQueue, run: QueuedRow, now: float) -> bool:
        """End a run that an earlier scheduler has queued, or have it caught up; return whether it ended."""
        if run.retry_of is not None or run.scheduled_for is None or now - run.scheduled_for <= LATE_S:
            return False
        definition = stored_definition(run.snapshot or "{}")
        away = "the scheduler stopped before it started the run"
        if definition.catchup == CatchUp.NONE:
            reason = f"{away}, and the job does not catch up on missed runs"
        elif now - run.scheduled_for > definition.catchup_window_seconds:
            reason = f"{away}, and it is more than {duration_words(definition.catchup_window_seconds)} ago"
        else:
            catch_up(queue, run.id, self._next_slot(now))
            return False
        end_unstarted(queue, run.id, RunResult(RunStatus.MISSED, reason), now, settled=True)
        return True

    async def _seconds_to_next(self) -> float:
        earliest = await self._store.earliest()
        usual = LOOK_S if self._has_queued else min(BEAT_S, LONGEST_SLEEP_S)
        return usual if earliest is None else max(0.0, min(usual, earliest - self._clock.now()))


async def withdraw(records: RunRecords, run_ids: Collection[str], now: float) -> None:
    """Delete queued runs; one that has begun meanwhile stays, so that its instant is not executed again."""

    def end_queued(queue: RunQueue) -> list[str]:
        found = [row.id for row in queue.queued() if row.id in run_ids]
        for run_id in found:
            end_unstarted(queue, run_id, RunResult(RunStatus.SKIPPED, "the job was changed"), now, settled=True)
        return found

    ended = await records.decide(KIND, end_queued)
    never_ran = [run.id for run in await records.several(list(run_ids)) if run.status is RunStatus.MISSED]
    await records.remove([*ended, *never_ran])


def _is_catchup(run: Run) -> bool:
    return run.status is RunStatus.QUEUED and run.trigger == RunTrigger.CATCHUP


def missed(counts: Mapping[str, int], now: float) -> Notice:
    """Return the notice about missed runs; `counts` are by the name of the job."""
    total = sum(counts.values())
    lines = [f"{name}: {count:,}" for name, count in sorted(counts.items())]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more jobs"]
    key = f"cron-missed:{int(now // _HOUR_S)}"
    title = f"{total:,} cron {'run was' if total == 1 else 'runs were'} missed"
    return Notice(title, "\n".join(lines), NoticeLevel.WARNING, "cron", "cron", "#/cron", key)
