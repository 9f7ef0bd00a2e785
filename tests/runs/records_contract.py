"""The contract of every store of runs: subclass `RecordsContract` and override the fixture `open_store`.

It returns a factory of async context managers: each call opens the same runs once more, as another host does.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from tocsin.channels.contract import SendResult
from tocsin.core.ids import new_id
from tocsin.runs.approvals import (
    ButtonPress,
    Decision,
    NotWaitingError,
    StepQuestion,
    UnknownQuestionError,
    WaitingStep,
)
from tocsin.runs.engine.admission import QueueStep
from tocsin.runs.engine.metrics import ActiveCount, RunTotal
from tocsin.runs.engine.overlap import Overlap, OverlapRules, StartPolicy
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import (
    ACTIVE,
    TERMINAL,
    HostResult,
    HostStatus,
    OutputDelivery,
    OutputDeliveryStatus,
    OutputResult,
    Run,
    RunOutput,
    RunResult,
    RunStatus,
    RunTrigger,
    StepRun,
)
from tocsin.runs.queue import RunQueue
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import (
    InstantRecordedError,
    RunEndedError,
    RunTask,
    StoredRun,
    UnknownRunError,
)

OpenStore = Callable[[], AbstractAsyncContextManager[RunStore]]
OUTPUT = RunOutput(5, 1, False, "hello")
PENDING = OutputDelivery(OutputDeliveryStatus.PENDING, (), ("d1",))


async def begun(store: RunStore, owner: str = "me") -> QueueStep:
    """Let queued runs of the kind begin, each in its turn."""
    return await store.begin_queued("cron", owner, 2.0, lambda _: StartPolicy())


def made(status: RunStatus = RunStatus.RUNNING, subject: str = "backup", **changes: object) -> Run:
    run = Run(
        id=new_id(),
        kind="cron",
        subject_id=subject,
        subject_name=subject,
        trigger=RunTrigger.MANUAL,
        status=status,
        queued_at=1000.0,
        home="here",
    )
    times = {"started_at": 1000.0} if status not in {RunStatus.QUEUED, RunStatus.SKIPPED, RunStatus.MISSED} else {}
    times |= {"finished_at": 1001.0} if status in TERMINAL else {}
    return replace(run, **{**times, **changes})  # type: ignore[arg-type]


def plain(run: Run) -> Run:
    """Return a run without what only a store that hosts share knows."""
    return replace(run, home="here")


class RecordsContract:
    """What holds for the runs of every store."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError

    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[RunStore]:
        async with open_store() as store:
            yield store

    @pytest.fixture
    async def other(self, open_store: OpenStore) -> AsyncIterator[RunStore]:
        """Return the same runs as another process sees them."""
        async with open_store() as store:
            yield store

    async def test_totals_count_each_end_once_and_outlive_the_runs(self, open_store: OpenStore):
        async with open_store() as store:
            for seconds, status in ((0.3, RunStatus.SUCCEEDED), (20.0, RunStatus.SUCCEEDED), (20.0, RunStatus.FAILED)):
                run = made()
                await store.add(run, "me")
                await store.finish(run.id, RunResult(status), OUTPUT, 1000.0 + seconds)
                await store.records.change(run.id, lambda record: replace(record, task=RunTask()))
            await store.add(made(RunStatus.MISSED, finished_at=1500.0), "")
            before = (await store.records.figures(2000.0)).totals
            await store.records.remove([run.id for run in (await store.search(RunFilter())).items])
            after = (await store.records.figures(2000.0)).totals
        assert (
            sorted(before)
            == sorted(after)
            == [
                RunTotal("cron", "failed", 60.0, 1, 20.0, 1020.0),
                RunTotal("cron", "missed", 0.0, 1, 0.0, 1500.0),
                RunTotal("cron", "succeeded", 0.5, 1, pytest.approx(0.3), 1000.3),
                RunTotal("cron", "succeeded", 60.0, 1, 20.0, 1020.0),
            ]
        )

    async def test_a_run_that_moves_here_after_its_end_is_not_counted_again(self, open_store: OpenStore):
        async with open_store() as store:
            await store.add(made(RunStatus.SUCCEEDED), "")
            assert (await store.records.figures(2000.0)).totals == []

    async def test_active_runs_are_counted_with_the_one_due_for_longest(self, open_store: OpenStore):
        async with open_store() as store:
            await store.add(made(), "me")
            await store.add(made(RunStatus.QUEUED, "late", queued_at=900.0), "", RunTask(not_before=950.0))
            await store.add(made(RunStatus.QUEUED, "delayed", queued_at=800.0), "", RunTask(not_before=3000.0))
            figures = await store.records.figures(2000.0)
        assert sorted(figures.active) == [
            ActiveCount("cron", "queued", 2, 950.0),
            ActiveCount("cron", "running", 1, None),
        ]

    async def test_a_record_comes_back_as_it_was_added(self, store: RunStore, other: RunStore):
        run = made(
            actor="chat:7",
            reason="why",
            attempt=2,
            max_attempts=3,
            retry_of="a",
            parent_run_id="b",
            scheduled_for=999.0,
            started_at=1001.5,
            dry_run=True,
            params={"mode": "sandboxed", "args": ["ä"]},
            env_keys=("TOKEN",),
            error={"code": "x", "message": "y"},
            snapshot={"command": "true"},
            history_limit=3,
            history_days=1.5,
            source="dashboard",
            delivery=OutputDelivery(
                OutputDeliveryStatus.PARTIAL,
                (OutputResult(SendResult(True, "email", "a@example.org", "sent"), "d0"),),
                ("d1", "d2"),
            ),
            steps=(
                StepRun("dump", "shell", RunStatus.FAILED, 2, 1.0, 2.0, 3, "success()", {"code": "c", "message": "m"}),
                StepRun("copy", "ssh", outputs={"size": "5", "json": {"a": [1], "b": {}, "c": []}}),
            ),
            hosts=(HostResult("web1", HostStatus.UNREACHABLE, None, "SIGTERM", "out", "err", True, 7, "no route"),),
        )
        await store.add(run, "me", RunTask({"a": {"b": []}}, {"ip": "192.0.2.1"}, 5.0))
        assert plain(await other.get(run.id)) == run
        assert await other.request_of(run.id) == {"a": {"b": []}}

    async def test_a_run_that_was_never_added_is_unknown(self, store: RunStore):
        with pytest.raises(UnknownRunError, match="nope"):
            await store.get("nope")

    async def test_a_scheduled_instant_has_one_run_whoever_records_it(self, store: RunStore, other: RunStore):
        at = {"scheduled_for": 999.0, "trigger": RunTrigger.SCHEDULE}
        first, second = made(RunStatus.QUEUED, **at), made(RunStatus.QUEUED, **at)
        found = await asyncio.gather(store.enqueue([first]), other.enqueue([second]))
        assert len([run for runs in found for run in runs]) == 1
        with pytest.raises(InstantRecordedError):
            await store.add(made(**at), "me")
        assert await store.enqueue([made(RunStatus.QUEUED, **{**at, "scheduled_for": 1000.5})]) != []

    async def test_a_missed_instant_is_replaced_when_it_is_due_again(self, store: RunStore):
        at = {"scheduled_for": 999.0, "trigger": RunTrigger.SCHEDULE}
        missed, again = made(RunStatus.MISSED, **at), made(RunStatus.QUEUED, **at)
        await store.enqueue([missed])
        assert [run.id for run in await store.enqueue([again])] == [again.id]
        assert [run.id for run in (await store.search(RunFilter("cron"))).items] == [again.id]

    async def test_of_many_processes_that_claim_a_run_one_gets_it(self, store: RunStore, other: RunStore):
        run = made(RunStatus.WAITING)
        await store.add(run, "", RunTask({"file": "x"}))
        claims = await asyncio.gather(*(one.claim(run.id, f"p{n}") for n, one in enumerate([store, other] * 5)))
        (claimed,) = [claim for claim in claims if claim]
        assert (claimed.request, claimed.run.status) == ({"file": "x"}, RunStatus.WAITING)

    async def test_queued_runs_of_a_subject_begin_one_after_the_other(self, store: RunStore):
        first, second, third = made(RunStatus.QUEUED), made(RunStatus.QUEUED), made(RunStatus.QUEUED, "other")
        for run in (first, second, third):
            await store.add(run, "", RunTask({"a": 1}))
        assert (await begun(store)).begun == [first.id, third.id]
        assert (await store.get(first.id)).started_at == 2.0
        assert (await begun(store)).begun == []
        await store.finish(first.id, RunResult(RunStatus.SUCCEEDED), OUTPUT, 3.0)
        assert (await begun(store)).begun == [second.id]

    async def test_of_many_processes_that_begin_queued_runs_one_gets_each(self, store: RunStore, other: RunStore):
        for n in range(5):
            await store.add(made(RunStatus.QUEUED, f"s{n}"), "", RunTask())
        steps = await asyncio.gather(*(begun(one, f"p{n}") for n, one in enumerate([store, other] * 3)))
        ids = [run_id for step in steps for run_id in step.begun]
        assert len(ids) == len(set(ids)) == 5

    async def test_a_queued_run_that_a_process_owns_is_left_to_it_and_keeps_its_turn(self, store: RunStore):
        owned, behind = made(RunStatus.QUEUED), made(RunStatus.QUEUED)
        await store.add(owned, "p1", RunTask())
        await store.add(behind, "", RunTask())
        assert not (await begun(store)).begun
        mine = await store.begin_queued("cron", "p1", 2.0, lambda _: StartPolicy(), only_own=True)
        assert mine.begun == [owned.id]
        await store.finish(owned.id, RunResult(RunStatus.SUCCEEDED), OUTPUT, 3.0)
        mine = await store.begin_queued("cron", "p1", 4.0, lambda _: StartPolicy(), only_own=True)
        assert mine.begun == []
        assert (await begun(store)).begun == [behind.id]

    async def test_a_queued_run_that_a_process_released_begins_in_its_turn(self, store: RunStore):
        owned, behind = made(RunStatus.QUEUED), made(RunStatus.QUEUED)
        await store.add(owned, "p1", RunTask())
        await store.add(behind, "", RunTask())
        await store.release(owned.id, "p1")
        assert (await begun(store)).begun == [owned.id]

    @pytest.mark.parametrize("policy", Overlap)
    async def test_of_runs_admitted_at_once_one_begins_and_the_others_do_as_the_policy_says(
        self, store: RunStore, other: RunStore, policy: Overlap
    ):
        rules = OverlapRules(policy, max_queued=2, max_parallel=3)
        found = await asyncio.gather(
            *(one.admit(made(), "me", RunTask(), rules, may_wait=True) for one in [store, other] * 2)
        )
        counts = Counter(each.run.status for each in await store.records.active(ACTIVE))
        started = 3 if policy is Overlap.PARALLEL else 1
        queued = {Overlap.QUEUE: 2, Overlap.REPLACE: 1}.get(policy, 0)
        assert (counts[RunStatus.RUNNING], counts[RunStatus.QUEUED]) == (started, queued)
        assert sum(bool(each.reason) for each in found) == (0 if policy is Overlap.REPLACE else 4 - started - queued)

    async def test_a_released_run_is_listed_until_it_is_claimed(self, store: RunStore, other: RunStore):
        run, queued = made(), made(RunStatus.QUEUED, "q")
        await store.add(run, "me", RunTask({"a": 1}))
        await store.add(queued, "", RunTask())
        await store.release(run.id, "not the owner")
        assert await other.left() == ([], ["cron"])
        assert await other.at_work_of("me") == [run.id]
        await store.release(run.id, "me")
        assert await other.left() == ([run.id], ["cron"])
        assert await other.at_work_of("me") == []
        await other.claim(run.id, "you")
        assert (await store.records.get(run.id)).owner == "you"
        assert await store.left() == ([], ["cron"])

    async def test_an_admission_that_is_refused_adds_nothing(self, store: RunStore):
        def choose(queue: RunQueue) -> None:
            queue.add(StoredRun(made(), "me"))
            raise RunEndedError("it is not admitted")

        with pytest.raises(RunEndedError):
            await store.records.decide("cron", choose)
        assert await store.records.active(ACTIVE) == []

    @pytest.mark.parametrize("begun", sorted(ACTIVE - {RunStatus.CANCELLING}))
    @pytest.mark.parametrize("end", sorted(TERMINAL))
    async def test_an_end_is_recorded_once_with_the_steps_it_leaves(
        self, store: RunStore, end: RunStatus, begun: RunStatus
    ):
        run = made(begun, steps=(StepRun("a", "shell", RunStatus.RUNNING), StepRun("b", "shell")))
        await store.add(run, "me")
        ended = await store.finish(
            run.id, RunResult(end, "why", 3, None, {"code": "c", "message": "m"}), OUTPUT, 2000.0
        )
        assert (ended.status, ended.reason, ended.exit_code, ended.output) == (end, "why", 3, OUTPUT)
        assert (ended.finished_at, ended.error) == (2000.0, {"code": "c", "message": "m"})
        assert [step.status in TERMINAL for step in ended.steps] == [True, True]
        later = await store.finish(run.id, RunResult(RunStatus.CANCELLED), RunOutput(), 3000.0)
        assert later == ended == await store.get(run.id)

    async def test_steps_of_an_ended_run_do_not_change(self, store: RunStore):
        run = made()
        await store.add(run, "me")
        for n in range(3):
            await store.save_steps(run.id, [StepRun(f"s{n}", "shell"), StepRun("s0", "shell", attempt=n + 1)])
        await store.save_hosts(run.id, [HostResult("web1", HostStatus.SUCCEEDED)])
        await store.finish(run.id, RunResult(RunStatus.SUCCEEDED), OUTPUT, 2000.0)
        await store.save_steps(run.id, [StepRun("late", "shell")])
        found = await store.get(run.id)
        assert [(step.name, step.attempt) for step in found.steps] == [("s0", 3), ("s1", 1), ("s2", 1)]
        assert [host.host for host in found.hosts] == ["web1"]

    @pytest.mark.parametrize("end", sorted(TERMINAL - {RunStatus.CANCELLED}))
    async def test_a_cancelled_run_keeps_the_first_reason_however_its_work_ends(
        self, store: RunStore, other: RunStore, end: RunStatus
    ):
        run = made()
        await store.add(run, "me")
        for reason in ("first", "second"):
            await other.request_cancel(run.id, reason, 5.0, 1500.0)
        (wish,) = await store.cancelling([run.id])
        assert (wish.run.id, wish.cancel_reason, wish.cancel_grace_s) == (run.id, "first", 5.0)
        ended = await store.finish(run.id, RunResult(end, "other", error={"code": "c", "message": "m"}), OUTPUT, 2000.0)
        assert (ended.status, ended.reason, ended.error) == (RunStatus.CANCELLED, "first", None)

    async def test_a_queued_run_is_cancelled_at_once_and_one_that_has_ended_never(self, store: RunStore):
        queued = made(RunStatus.QUEUED)
        await store.add(queued, "me")
        cancelled = await store.request_cancel(queued.id, "", 5.0, 1500.0)
        assert (cancelled.status, cancelled.finished_at) == (RunStatus.CANCELLED, 1500.0)
        for status in sorted(TERMINAL):
            ended = made(status)
            await store.add(ended, "me")
            with pytest.raises(RunEndedError, match=f"has ended: {status}"):
                await store.request_cancel(ended.id, "", 5.0, 1500.0)
            assert (await store.get(ended.id)).status is status

    async def test_a_question_is_answered_by_any_process_and_found_by_its_button(
        self, store: RunStore, other: RunStore
    ):
        run, question = made(), StepQuestion("go", "Go?", asked_in=("bell:7",))
        await store.add(run, "me")
        await store.approvals.wait_for(WaitingStep(run.id, question, 1002.0))
        assert (await other.get(run.id)).status is RunStatus.WAITING
        assert (await other.approvals.asked(question.id)).question == question
        press = ButtonPress(question.id, "bell:7", "9")
        decided = await other.approvals.decide(Decision("", "", True, "chat:7", 1003.0, "yes"), press)
        assert (decided.run_id, decided.step) == (run.id, "go")
        assert await store.approvals.decisions([run.id]) == [decided]
        assert (await store.get(run.id)).status is RunStatus.RUNNING
        with pytest.raises(UnknownQuestionError):
            await other.approvals.decide(Decision("", "", False, "chat:7", 1003.0), press)
        with pytest.raises(NotWaitingError):
            await other.approvals.decide(Decision(run.id, "", False, None, 1003.0))
        present = await store.approvals.present(run.id, "go")
        assert present is not None
        assert present.decision == decided
        await store.approvals.withdraw(run.id, "go")
        assert await store.approvals.present(run.id, "go") is None

    async def test_an_end_is_settled_once_with_its_retry(self, store: RunStore, other: RunStore):
        run = made()
        await store.add(run, "me", RunTask(caller={"ip": "192.0.2.1"}))
        await store.finish(run.id, RunResult(RunStatus.FAILED), OUTPUT, 2000.0)
        assert await other.unsettled(2001.0, 10) == []  # its own process has some seconds
        assert [found.id for found in await other.unsettled(2010.0, 10)] == [run.id]

        def again() -> StoredRun:
            return StoredRun(made(RunStatus.QUEUED, retry_of=run.id), task=RunTask(not_before=2100.0))

        settled = await asyncio.gather(
            *(one.settle(run.id, {"a": 1}, PENDING, again(), 2010.0) for one in (store, other))
        )
        assert sorted(settled) == [False, True]
        (retry,) = (await store.search(RunFilter(retry_of=run.id))).items
        (row,) = await store.records.look("cron", lambda queue: list(queue.queued()))
        assert (row.id, row.not_before, row.is_here) == (retry.id, 2100.0, True)
        assert [found.id for found in await store.undelivered()] == [run.id]
        assert await other.unsettled(2011.0, 10) == []
        assert [found.id for found in await other.unsettled(2020.0, 10)] == [run.id]
        await store.remove_task(run.id)
        assert await other.unsettled(2020.0, 10) == []

    async def test_searches_page_in_order_and_count_what_they_find(self, store: RunStore):
        added = [made(RunStatus.FAILED if n % 2 else RunStatus.SUCCEEDED, f"s{n % 3}") for n in range(12)]
        for run in added:
            await store.add(run, "me")
        await store.add(
            replace(made(RunStatus.WAITING, "w", queued_at=2000.0), kind="workflow", parent_run_id="p"), "me"
        )
        ids = [run.id for run in added]
        page = await store.search(RunFilter("cron", limit=5))
        rest = await store.search(RunFilter("cron", limit=50, cursor=page.next_cursor or ""))
        assert [run.id for run in (*page.items, *rest.items)] == sorted(ids, reverse=True)
        assert rest.next_cursor is None
        oldest = await store.search(RunFilter("cron", limit=5, oldest_first=True))
        assert [run.id for run in oldest.items] == sorted(ids)[:5]
        assert (await store.search(RunFilter("cron", limit=len(ids)))).next_cursor is None
        found = await store.search(RunFilter("cron", "s1", [RunStatus.FAILED]))
        assert {run.id for run in found.items} == {run.id for run in added if run.subject_id == "s1" and not run.ok}
        assert [run.kind for run in (await store.search(RunFilter(parent="p"))).items] == ["workflow"]
        assert [run.kind for run in (await store.search(RunFilter(text="W"))).items] == ["workflow"]
        counts = await store.counts(
            RunFilter(),
            RunFilter("cron", "s2"),
            RunFilter(status=[RunStatus.FAILED, RunStatus.WAITING]),
            RunFilter(status=[RunStatus.FAILED], since=1000.5),
            RunFilter("cron", "s2", since=1000.0),
            RunFilter("workflow", since=1500.0, until=2000.0),
            RunFilter("cron", "s1", [RunStatus.FAILED]),
        )
        assert counts == [13, 4, 7, 0, 4, 0, 2]

    async def test_a_short_id_finds_the_runs_it_may_stand_for(self, store: RunStore):
        runs = [made() for _ in range(3)]
        for run in runs:
            await store.add(run, "me")
        tail = runs[0].id.rpartition("-")[2]
        by_tail, by_head, none = await store.matching([tail, runs[0].id[:8], "zz"], 5)
        assert by_tail == [runs[0].id]
        assert set(by_head) <= {run.id for run in runs} >= {runs[0].id}
        assert none == []

    async def test_the_past_of_a_subject_tells_what_failed_last(self, store: RunStore):
        bad, good, cancelled = made(RunStatus.FAILED), made(RunStatus.SUCCEEDED, "other"), made(RunStatus.CANCELLED)
        for run in (bad, good, cancelled, made(RunStatus.SKIPPED)):
            await store.add(run, "me")
        assert [run.id for run in await store.records.last_failed("cron")] == [bad.id]
        assert (await store.last_before(cancelled)) is not None
        assert [run.id for run in await store.newest("cron", "backup", 5)] == [cancelled.id, bad.id]
        past, none = await store.records.pasts("cron", ["backup", "nothing"], 2)
        assert past.last is not None
        assert (past.last.status, len(past.history), none.last) == (RunStatus.SKIPPED, 2, None)

    async def test_pruning_keeps_the_newest_of_each_subject_and_what_is_under_way(self, store: RunStore):
        runs = [made(RunStatus.SUCCEEDED) for _ in range(5)] + [made(RunStatus.FAILED) for _ in range(3)]
        for run in (*runs, made(RunStatus.SUCCEEDED, "sends", finished_at=5.0, delivery=PENDING), made()):
            await store.add(run, "me")
        gone = await store.prune(2000.0, 30, 2, 1)
        assert {run.id for run in gone} == {runs[0].id, runs[1].id, runs[2].id, runs[5].id}
        assert await store.count(RunFilter()) == 6
        old = await store.prune(1001.0 + 31 * 86_400, 30, 200)
        assert {run.id for run in old} == {runs[n].id for n in (3, 4, 6, 7)}
        assert {run.id for run in await store.forget("cron", "sends")} != set()
        assert [orphan.run.status for orphan in await store.records.active(ACTIVE)] == [RunStatus.RUNNING]
