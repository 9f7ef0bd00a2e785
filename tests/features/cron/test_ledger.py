"""The rules of the scheduler, one by one, with a clock that only the test moves."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.clocks import START, SteppedClock
from tests.facts import mentions
from tests.features.cron.conftest import HUMAN, Crontab, Service, opened, running
from tests.waiting import eventually

from tocsin.core.errors import TocsinError
from tocsin.features.context import SubsystemState
from tocsin.features.cron.model import KIND, JobConflictError
from tocsin.runs.model import RunStatus

HOUR, DAY = 3600, 86_400


@pytest.fixture
async def service(crontab: Crontab) -> AsyncIterator[Service]:
    async with running(crontab) as service:
        yield service


async def test_an_instant_is_recorded_once_and_run(crontab: Crontab, service: Service):
    job = await crontab.add("every 10s", "echo hello")
    await service.pass_time(10)
    assert await service.quiet() == ["succeeded"]
    [run] = await crontab.runs()
    assert (run.scheduled_for, run.trigger, run.actor) == (job.created_at + 10, "schedule", "scheduler")
    assert run.output.tail == "hello"
    assert [entry.metadata["run"] for entry in crontab.bench.audit("cron.execute")] == [run.id]


async def test_an_instant_that_was_recorded_and_not_begun_runs_after_a_crash(tmp_path: Path):
    clock = SteppedClock()
    async with opened(tmp_path, clock=clock) as crontab:
        await crontab.add("every 10m")  # and the next one is far, however much time passes until all has stopped
        async with running(crontab) as service:
            await crontab.hold_back()
            await service.pass_time(600)
            assert await crontab.statuses() == ["queued"]
    async with opened(tmp_path, clock=clock) as crontab:
        await crontab.let_go()
        async with running(crontab) as service:
            assert await service.quiet() == ["succeeded"]


async def test_the_scheduler_sleeps_at_most_30_s_and_compares_wall_time_then(crontab: Crontab, service: Service):
    await crontab.add("0 18 * * *")
    assert await crontab.clock.asleep() <= 30
    crontab.clock.jump(6.5 * HOUR)  # the machine was suspended
    await service.pass_time(30)
    assert await service.quiet() == ["succeeded"]
    assert [str(run.trigger) for run in await crontab.runs()] == ["catchup"]


async def outage(crontab: Crontab, seconds: float) -> None:
    """Let time pass while no scheduler runs."""
    crontab.clock.advance(seconds)


async def test_catchup_none_records_what_was_missed(crontab: Crontab):
    await crontab.add(catchup="none")
    await outage(crontab, 3 * HOUR + 600)
    async with running(crontab) as service:
        assert await service.quiet() == ["missed"] * 3
    assert "scheduler" in str((await crontab.runs())[0].reason)


async def test_what_a_jump_of_the_clock_skips_says_so_and_not_that_no_scheduler_ran(crontab: Crontab, service: Service):
    await crontab.add(catchup="none")
    await crontab.clock.asleep()
    crontab.clock.jump(3 * HOUR + 600)
    await service.pass_time(30)
    assert await service.quiet() == ["missed"] * 3
    reasons = {str(run.reason) for run in await crontab.runs()}
    assert ["clock" in reason for reason in reasons] == [True]


async def test_catchup_latest_runs_the_newest_within_the_window(crontab: Crontab):
    await crontab.add(catchup="latest", catchup_window_seconds=HOUR)
    await outage(crontab, 3 * HOUR + 600)
    async with running(crontab) as service:
        assert await service.quiet() == ["missed", "missed", "succeeded"]
    runs = await crontab.runs()
    assert [str(run.trigger) for run in runs] == ["schedule", "schedule", "catchup"]
    assert "instead" in str(runs[1].reason) or "more than 1 h ago" in str(runs[1].reason)


async def test_catchup_latest_leaves_what_is_older_than_the_window(crontab: Crontab):
    await crontab.add(catchup="latest", catchup_window_seconds=300)
    await outage(crontab, HOUR + 600)
    async with running(crontab) as service:
        assert await service.quiet() == ["missed"]
    assert "5 min" in str((await crontab.runs())[0].reason)


async def test_catchup_all_runs_the_oldest_first_one_at_a_time(crontab: Crontab):
    trace = crontab.bench.app.settings.data_dir / "trace"
    await crontab.add(
        catchup="all", catchup_window_seconds=DAY, command=f'echo "$SCHEDULED_FOR $TRIGGER" >> {trace}; sleep 0.02'
    )
    await outage(crontab, 4 * HOUR + 600)
    async with running(crontab) as service:
        await until_quiet(service)
    lines = trace.read_text().splitlines()
    assert lines == sorted(lines)
    assert [line.split()[1] for line in lines] == ["catchup"] * 4
    runs = await crontab.runs()
    ends = [(a.finished_at or 0.0, b.started_at or 0.0) for a, b in pairwise(runs)]
    assert all(ended <= started for ended, started in ends)


async def until_quiet(service: Service) -> None:
    async def ended() -> bool:
        await service.pass_time(2.5)
        return not await service.crontab.open_runs()

    await eventually(ended)


async def test_catchups_of_many_jobs_are_spread_two_every_five_seconds(crontab: Crontab):
    for number in range(7):
        await crontab.add(name=f"job{number}")
    await outage(crontab, HOUR + 600)
    async with running(crontab) as service:
        began = crontab.clock.monotonic()
        started = []
        for _ in range(8):
            started.append(sum([len(await crontab.begun(f"job{n}")) for n in range(7)]))
            await service.pass_time(2.5)
        assert crontab.clock.monotonic() - began == pytest.approx(20)
        assert started[:2] == [2, 2]
        assert max(b - a for a, b in pairwise(started)) <= 2
        assert started[-1] == 7


async def test_a_prompt_catches_up_none_unless_it_says_so(crontab: Crontab):
    prompt = await crontab.add(type="prompt", command="Say something")
    assert prompt.valid().catchup == "none"
    assert (await crontab.add(name="other", type="prompt", catchup="all")).valid().catchup == "all"
    assert (await crontab.add(name="third")).valid().catchup == "latest"


async def test_no_catchup_of_an_earlier_day_while_todays_run_is_ahead(crontab: Crontab):
    crontab.clock.advance(8 * HOUR)  # 20:00
    await crontab.add("0 23 * * *", catchup_window_seconds=DAY)
    await outage(crontab, 12 * HOUR)
    async with running(crontab) as service:
        assert await service.quiet() == ["missed"]
    assert "23:00" in str((await crontab.runs())[0].reason)


async def test_a_catchup_of_all_runs_that_of_an_earlier_day_too(crontab: Crontab):
    crontab.clock.advance(8 * HOUR)
    await crontab.add("0 23 * * *", catchup="all", catchup_window_seconds=DAY)
    await outage(crontab, 12 * HOUR)
    async with running(crontab) as service:
        assert await service.quiet() == ["succeeded"]


async def test_an_instant_that_a_scheduler_at_work_sees_less_than_a_minute_late_is_run_as_usual(
    crontab: Crontab, service: Service
):
    await crontab.add("every 1h", catchup="none")
    crontab.clock.advance(HOUR + 45)
    await crontab.clock.asleep()
    assert await service.quiet() == ["succeeded"]
    assert [str(run.trigger) for run in await crontab.runs()] == ["schedule"]


async def test_more_missed_instants_than_a_thousand_are_told_in_the_oldest_record(crontab: Crontab):
    await crontab.add("* * * * *", catchup="none", history_limit=5000)
    await outage(crontab, 30 * HOUR)
    async with running(crontab):
        job = await crontab.jobs.get("job")
        found = await crontab.jobs.runs().search(KIND, job.id, limit=200)
        count = 0
        while True:
            count += len(found.items)
            oldest = found.items[-1]
            if not found.next_cursor:
                break
            found = await crontab.jobs.runs().search(KIND, job.id, limit=200, cursor=found.next_cursor)
    assert count == 1000
    assert mentions(str(oldest.reason), "1,000", "missed")


async def test_what_many_jobs_missed_is_recorded_in_several_transactions_and_told_once(crontab: Crontab):
    for name in ("a", "b", "c"):
        await crontab.add("* * * * *", name=name, catchup="none", history_limit=5000)
    await outage(crontab, 16 * HOUR + 30)
    async with running(crontab):
        recorded = await crontab.bench.app.database.read(lambda c: c.execute("SELECT COUNT(*) FROM runs").fetchone()[0])
    assert recorded == 3 * 960
    [notice] = [each for each in crontab.bench.notices if "missed" in each.title]
    assert (notice.title, notice.body) == ("2,880 cron runs were missed", "a: 960\nb: 960\nc: 960")


async def test_overlap_skip_says_which_run_is_still_running(crontab: Crontab, service: Service):
    await crontab.add("every 10s", "sleep 60")
    await service.pass_time(21)
    runs = await crontab.runs()
    assert [str(run.status) for run in runs] == ["running", "skipped"]
    assert mentions(runs[1].reason, runs[0].id, "10 s")


async def test_overlap_queue_holds_as_many_as_it_may(crontab: Crontab, service: Service):
    gate = crontab.gate("queue")
    await crontab.add("every 10s", gate.command, overlap="queue", max_queued=2)
    await service.pass_time(41)
    assert await crontab.statuses() == ["running", "queued", "queued", "skipped"]
    assert "2 runs wait already" in str((await crontab.runs())[3].reason)
    await crontab.jobs.disable("job", HUMAN)
    gate.open()
    await until_quiet(service)
    assert (await crontab.statuses())[:3] == ["succeeded"] * 3


async def test_overlap_replace_ends_the_earlier_run_first(crontab: Crontab, service: Service):
    await crontab.add("every 10m", "sleep 600", overlap="replace")
    await service.pass_time(1200)

    async def has_ended() -> bool:  # meanwhile the clock stands: a third run would replace the second
        return (await crontab.statuses())[0] == "cancelled"

    async def replaced() -> bool:
        if await crontab.statuses() == ["cancelled", "running"]:
            return True
        await service.pass_time(1)
        return False

    await eventually(has_ended)
    await eventually(replaced)
    assert "replaces" in (await crontab.runs())[0].reason


async def test_overlap_parallel_runs_as_many_as_it_may(crontab: Crontab, service: Service):
    await crontab.add("every 10s", "sleep 60", overlap="parallel", max_parallel=2)
    await service.pass_time(31)
    assert await crontab.statuses() == ["running", "running", "skipped"]


async def test_a_run_of_a_dead_process_is_interrupted_and_blocks_no_longer(tmp_path: Path):
    clock = SteppedClock()
    async with opened(tmp_path, clock=clock) as crontab:
        await crontab.add("every 10s", "true", output=None)
        await crontab.leave_run_of_dead_process("dashboard")
        async with running(crontab) as service:
            await service.pass_time(10)
            statuses = await service.quiet()
        # Through which door it was asked for is known to whoever settles it.
        assert [entry.source for entry in crontab.bench.audit("cron.execute")] == ["dashboard", "cron"]
    assert statuses == ["interrupted", "succeeded"]


async def test_what_follows_from_the_end_of_a_run_is_left_to_the_process_that_ran_it_for_a_while(
    crontab: Crontab, service: Service
):
    await crontab.add("0 0 1 1 *")
    await crontab.leave_run_of_dead_process("dashboard")
    ended = "UPDATE runs SET status = 'succeeded', finished_at = ?"
    await crontab.bench.app.database.write(lambda c: c.execute(ended, [crontab.clock.now()]).rowcount)
    await service.pass_time(4)
    assert crontab.bench.audit("cron.execute") == []  # who answers the dashboard writes it first
    await service.pass_time(5)
    assert [entry.source for entry in crontab.bench.audit("cron.execute")] == ["dashboard"]


async def test_a_time_limit_ends_the_run(crontab: Crontab, service: Service):
    await crontab.add("every 1h", "sleep 60", timeout_seconds=1)
    run = await crontab.jobs.start("job", HUMAN)
    assert (run.status, "1 s" in run.reason) == (RunStatus.TIMED_OUT, True)


async def test_jitter_is_part_of_the_next_run_and_of_the_instant(crontab: Crontab, service: Service):
    job = await crontab.add("every 1m", jitter_seconds=30)
    assert job.next_at == START + 60 + job.offset
    await service.pass_time(60 + job.offset)
    await service.quiet()
    assert (await crontab.runs())[0].scheduled_for == job.next_at


async def test_exit_codes_of_success_and_the_reasons_of_others(crontab: Crontab, service: Service):
    await crontab.add(command="exit 3", success_exit_codes=[0, 3])
    assert (await crontab.jobs.start("job", HUMAN)).ok
    for code, said in ((124, "time limit inside the command"), (137, "SIGKILL"), (5, "ended with exit code 5")):
        await crontab.jobs.edit("job", {"command": f"exit {code}"}, HUMAN)
        run = await crontab.jobs.start("job", HUMAN)
        assert (run.status, run.exit_code) == (RunStatus.FAILED, code)
        assert said in str(run.reason)


async def test_a_command_is_told_what_it_runs_for(crontab: Crontab, service: Service):
    job = await crontab.add(
        "every 10s",
        'echo "$JOB_ID|$JOB_NAME|$RUN_ID|$SCHEDULED_FOR|$ATTEMPT|$TRIGGER|$COLOUR|$PARAM_HOST"',
        env={"COLOUR": "red"},
        params={"host": "web1"},
    )
    await service.pass_time(10)
    await service.quiet()
    [run] = await crontab.runs()
    assert run.output.tail == f"{job.id}|job|{run.id}|2026-11-20T12:00:10.000Z|1|schedule|red|web1"
    assert run.env_keys == ("COLOUR",)


async def test_a_value_of_the_vault_reaches_the_command_and_no_record(tmp_path: Path):
    async def reveal(name: str, /, *, reader: str) -> str:
        return f"hunter2-{name}-{reader.rsplit(maxsplit=1)[-1]}"

    async with opened(tmp_path, abilities={"secrets": SimpleNamespace(reveal=reveal)}) as crontab:
        crontab.bench.app.redact.learn(["hunter2-DB-job"])  # as the vault does
        await crontab.add(command='echo "${#KEY} $KEY"', env={"KEY": "${vault:DB}"})
        run = await crontab.jobs.start("job", HUMAN)
        assert run.output.tail == "14 [secret]"
        assert "hunter2" not in str((await crontab.runs())[0])


async def test_a_run_by_hand_never_moves_the_schedule_and_works_while_disabled(crontab: Crontab):
    before = await crontab.add()
    run = await crontab.jobs.start("job", HUMAN, {"host": "web2"})
    assert (run.trigger, run.scheduled_for, run.params) == ("manual", None, {"host": "web2"})
    assert (await crontab.jobs.get("job")).next_at == before.next_at
    await crontab.jobs.disable("job", HUMAN)
    assert (await crontab.jobs.start("job", HUMAN)).ok


async def test_a_run_by_hand_waits_for_nobody(crontab: Crontab):
    await crontab.add(command="sleep 60")
    first = asyncio.create_task(crontab.jobs.start("job", HUMAN))
    await eventually(lambda: crontab.begun("job"))
    with pytest.raises(JobConflictError, match="still running"):
        await crontab.jobs.start("job", HUMAN)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_an_edit_counts_from_the_next_run_and_a_running_one_keeps_its_definition(
    crontab: Crontab, service: Service
):
    gate = crontab.gate("edit")
    await crontab.add("every 10s", f"{gate.command}; echo old")
    await service.pass_time(10)
    await crontab.jobs.edit("job", {"command": "echo new"}, HUMAN)
    gate.open()
    await service.quiet()
    [run] = await crontab.runs()
    assert run.output.tail == "old"
    assert run.snapshot
    assert run.snapshot["command"].endswith("echo old")
    await service.pass_time(10)
    await service.quiet()
    assert (await crontab.runs())[1].output.tail == "new"


@pytest.mark.parametrize("seconds", [-DAY, 366 * DAY])
async def test_a_clock_that_jumps_is_told_and_shown(crontab: Crontab, service: Service, seconds: float):
    await crontab.add("every 10s")
    await service.pass_time(10)
    crontab.clock.jump(seconds)
    await service.pass_time(5)
    assert "cron" in {notice.category for notice in crontab.bench.notices}
    assert any("jumped" in notice.body for notice in crontab.bench.notices)
    [status] = (await crontab.bench.subsystems())["cron"]
    assert status.status is SubsystemState.DEGRADED
    assert any("the clock" in item.message for item in status.attention)


async def test_after_a_clock_was_a_year_ahead_schedules_go_on_and_none_runs_twice(crontab: Crontab, service: Service):
    await crontab.add("every 10s", catchup="none", overlap="parallel", max_parallel=100)
    await service.pass_time(20)
    await service.quiet()
    crontab.clock.jump(366 * DAY)
    await service.pass_time(5)
    crontab.clock.jump(-366 * DAY)
    await service.pass_time(30)
    await service.quiet()
    ran = [run.scheduled_for for run in await crontab.runs(status=[RunStatus.SUCCEEDED])]
    assert len(ran) == len(set(ran))
    assert len([at for at in ran if at and at < START + DAY]) >= 5
    assert any("behind" in notice.body for notice in crontab.bench.notices)


async def test_a_late_scheduler_is_told(crontab: Crontab):
    await crontab.add("every 10s")
    await outage(crontab, 12 * HOUR)
    async with running(crontab):
        pass
    assert any("scheduler" in notice.body for notice in crontab.bench.notices)


async def test_every_change_writes_one_entry(crontab: Crontab):
    await crontab.add()
    await crontab.jobs.edit("job", {"description": "x"}, HUMAN)
    await crontab.jobs.disable("job", HUMAN, "moving")
    await crontab.jobs.enable("job", HUMAN)
    await crontab.jobs.start("job", HUMAN)
    await crontab.jobs.remove("job", HUMAN)
    written = [(entry.action, entry.source) for entry in crontab.bench.audit()]
    names = ("add", "edit", "disable", "enable", "execute", "remove")
    assert written == [(f"cron.{name}", "cli") for name in names]


async def test_a_retry_is_a_new_run_after_its_wait(crontab: Crontab, service: Service):
    retry = {"max_attempts": 3, "delay_seconds": 10, "backoff": 2}
    await crontab.add("every 1h", "exit 1", retry=retry)
    await crontab.jobs.start("job", HUMAN)
    assert await crontab.statuses() == ["failed", "queued"]
    await service.pass_time(9)
    assert await crontab.statuses() == ["failed", "queued"]
    await service.pass_time(2.5)
    await eventually(lambda: has(crontab, 3))
    await service.pass_time(22.5)
    await eventually(lambda: all_ended(crontab, 3))
    runs = await crontab.runs()
    assert [(run.attempt, run.retry_of) for run in runs] == [(1, None), (2, runs[0].id), (3, runs[1].id)]


async def has(crontab: Crontab, count: int) -> bool:
    return len(await crontab.runs()) == count


async def all_ended(crontab: Crontab, count: int) -> bool:
    return await crontab.statuses() == ["failed"] * count


async def test_only_certain_exit_codes_are_retried_where_they_are_named(crontab: Crontab):
    await crontab.add(command="exit 4", retry={"max_attempts": 2, "on_exit_codes": [5]})
    await crontab.jobs.start("job", HUMAN)
    assert await crontab.statuses() == ["failed"]


async def test_a_job_that_keeps_failing_is_disabled_told_and_enabled_anew(crontab: Crontab):
    await crontab.add(command="exit 1", auto_disable_after=3)
    for _ in range(3):
        assert (await crontab.jobs.get("job")).enabled
        await crontab.jobs.start("job", HUMAN)
    job = await crontab.jobs.get("job")
    assert (job.enabled, job.auto_disabled, job.next_at) == (False, True, None)
    assert [notice.title.rpartition(" ")[2] for notice in crontab.bench.notices] == [
        "failing",
        "failing",
        "failing",
        "disabled",
    ]
    crontab.clock.advance(1)
    job = await crontab.jobs.enable("job", HUMAN)
    assert (job.enabled, job.auto_disabled) == (True, False)
    await crontab.jobs.start("job", HUMAN)
    assert (await crontab.jobs.get("job")).enabled


async def test_failures_count_once_however_often_each_run_is_tried_before_a_job_is_disabled(tmp_path: Path):
    async def fail(_: str, /, **__: object) -> str:
        raise TocsinError("no answer")

    async with (
        opened(tmp_path, abilities={"models": SimpleNamespace(ask=fail)}) as crontab,
        running(crontab) as service,
    ):
        retry = {"max_attempts": 12, "delay_seconds": 0}
        await crontab.add(type="prompt", command="hello", retry=retry, auto_disable_after=2)
        await crontab.jobs.start("job", HUMAN)
        assert await service.quiet() == ["failed"] * 12
        assert (await crontab.jobs.get("job")).enabled
        await crontab.jobs.start("job", HUMAN)
        assert await service.quiet() == ["failed"] * 24

        async def is_disabled() -> bool:
            return (await crontab.jobs.get("job")).auto_disabled

        await eventually(is_disabled)


async def test_instants_while_a_job_is_disabled_are_not_missed(crontab: Crontab, service: Service):
    await crontab.add("every 10s")
    await crontab.jobs.disable("job", HUMAN)
    await service.pass_time(60)
    await crontab.jobs.enable("job", HUMAN)
    await service.pass_time(5)
    assert await crontab.runs() == []


@pytest.mark.parametrize("until", [START + 25, START + 30])
async def test_a_job_paused_until_a_time_runs_again_then(crontab: Crontab, service: Service, until: float):
    await crontab.add("every 10s")
    await crontab.jobs.disable("job", HUMAN, until=until)
    await service.pass_time(30)
    await service.quiet()
    assert [run.scheduled_for for run in await crontab.runs()] == [START + 30]


async def test_at_runs_once_and_the_job_is_completed(crontab: Crontab, service: Service):
    await crontab.add("at 2026-11-20T12:00:10")
    await service.pass_time(10)
    assert await service.quiet() == ["succeeded"]
    job = await crontab.jobs.get("job")
    assert job.state(crontab.clock.now(), is_running=False) == "completed"


async def test_start_and_end_bound_the_runs(crontab: Crontab, service: Service):
    await crontab.add("every 10s", start_at="2026-11-20T12:00:20Z", end_at="2026-11-20T12:00:30Z")
    await service.pass_time(60)
    await service.quiet()
    assert [run.scheduled_for for run in await crontab.runs()] == [START + 20, START + 30]


async def test_two_schedulers_run_every_instant_once_and_one_takes_over_within_ten_seconds(crontab: Crontab):
    clock = crontab.clock
    await crontab.add("every 5s", overlap="parallel", max_parallel=100)
    one, two = crontab.jobs.scheduler("one"), crontab.jobs.scheduler("two")
    tasks = [asyncio.create_task(one.run())]
    await clock.asleep()
    tasks.append(asyncio.create_task(two.run()))
    for _ in range(40):
        await clock.asleep(2)
        clock.advance(0.5)
        assert not two.lease.held
    one.stop()
    await eventually(tasks[0].done)
    waited = 0.0
    while not two.lease.held:
        await clock.asleep()
        clock.advance(0.5)
        waited += 0.5
    assert waited <= 10

    async def ran() -> list[float | None]:
        return [run.scheduled_for for run in await crontab.runs()]

    async def planned() -> bool:
        return len(await ran()) >= 4

    await eventually(planned, "the instant that was due when the first one stopped")
    two.stop()
    while not all(task.done() for task in tasks):
        clock.advance(0.5)
        await asyncio.sleep(0.005)
    assert len(await ran()) == len(set(await ran()))


async def test_a_run_outlives_the_scheduler_and_is_interrupted_with_the_program(tmp_path: Path):
    async with opened(tmp_path) as crontab:
        await crontab.add("every 10s", "sleep 600")
        async with running(crontab) as service:
            await service.pass_time(11)
        assert await crontab.statuses() == ["running"]
        await crontab.bench.app.runs.aclose()
        assert await crontab.statuses() == ["interrupted"]
        assert "program" in (await crontab.runs())[0].reason
        assert replace(await crontab.jobs.get("job")).enabled
