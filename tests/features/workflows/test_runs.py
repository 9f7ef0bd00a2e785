"""What becomes of the steps of a workflow: order, conditions, failures, values, outputs, attempts, limits."""

import asyncio
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.facts import mentions
from tests.features.workflows.conftest import Opening, WorkflowBench, request
from tests.waiting import eventually

from tocsin.channels.conversation import replacing
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.features.ability_records import AskedChat
from tocsin.features.context import NoticeLevel
from tocsin.features.workflows.engine.waiting import instant_of
from tocsin.features.workflows.requests import AlreadyRunningError, InvalidRunError
from tocsin.features.workflows.work import approval_buttons_of
from tocsin.messaging.inbound.handling import MessageContext, Reply
from tocsin.runs.approvals import Decision
from tocsin.runs.control import Retry
from tocsin.runs.model import Run, RunStatus

EVIL = "a'b\"c; touch hacked; $(touch hacked) `touch hacked` \\ * \n#"


def statuses(run) -> dict[str, str]:
    return {step.name: str(step.status) for step in run.steps}


async def queued(flows: WorkflowBench):
    return (await flows.runs.search("workflow", "flow", (RunStatus.QUEUED,))).items


async def test_steps_without_dependencies_run_from_top_to_bottom_and_the_run_has_a_record_of_each(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - {name: one, command: echo 1}
          - {name: two, command: [printf, '%s', 2]}
    """)
    assert (run.kind, run.status, statuses(run)) == (
        "workflow",
        RunStatus.SUCCEEDED,
        {"one": "succeeded", "two": "succeeded"},
    )
    assert [(line.stream, line.text) for line in flows.lines] == [("one", "1"), ("two", "2")]
    assert await flows.runs.get(run.id) == run


async def test_in_a_graph_steps_start_as_soon_as_those_that_they_need_have_ended(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - {name: a, command: 'until [ -e made-by-b ]; do sleep 0.01; done'}
          - {name: b, command: touch made-by-b}
          - {name: c, command: echo done, depends_on: [a, b]}
    """)
    assert run.status is RunStatus.SUCCEEDED
    assert flows.printed("c") == ["done"]


async def test_at_most_max_parallel_steps_run_at_once(flows: WorkflowBench):
    step = "{{name: {0}, command: 'mkdir busy; sleep 0.02; rmdir busy'}}"
    steps = "".join(f"          - {step.format(name)}\n" for name in "abc")
    assert (await flows.run(f"\n        parallel: true\n        max_parallel: 1\n        steps:\n{steps}")).ok


async def test_a_failed_step_blocks_those_that_need_it_and_cancels_no_other(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - {name: copy, command: exit 3}
          - {name: report, command: echo report, depends_on: copy}
          - {name: last, command: echo last, depends_on: report}
          - {name: other, command: echo other}
    """)
    found = {step.name: step for step in run.steps}
    assert statuses(run) == {"copy": "failed", "report": "skipped", "last": "skipped", "other": "succeeded"}
    assert found["report"].error == {"code": "skipped", "message": "it needs copy, which failed"}
    assert found["last"].error == {"code": "skipped", "message": "it needs copy, which failed"}
    assert (run.status, "code 3" in run.reason) == (RunStatus.FAILED, True)


async def test_a_run_whose_failures_may_all_happen_succeeds_in_part(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - {name: clean, command: exit 1, continue_on_error: true}
          - {name: next, command: echo next}
    """)
    assert (run.status, "failed" in run.reason) == (RunStatus.PARTIALLY_SUCCEEDED, True)
    assert statuses(run) == {"clean": "failed", "next": "succeeded"}


async def test_a_condition_decides_and_failure_and_always_see_what_came_before(flows: WorkflowBench):
    run = await flows.run(
        """
        params: {mode: {default: full}}
        steps:
          - {name: full, command: echo full, when: params.mode == 'full'}
          - {name: quick, command: echo quick, when: params.mode == 'quick'}
          - {name: bad, command: exit 1}
          - {name: told, command: echo told, when: failure() and steps.bad.exit_code == 1}
          - {name: end, command: echo end, always_run: true}
          - {name: never, command: echo never}
          - {name: met, command: echo met, when: params.mode == 'full'}
    """
    )
    assert statuses(run) == {
        "full": "succeeded",
        "quick": "skipped",
        "bad": "failed",
        "told": "succeeded",
        "end": "succeeded",
        "never": "skipped",
        "met": "skipped",  # without a state function, a condition also requires that no step before has failed
    }


async def test_a_skipped_step_counts_as_done_unless_success_is_required(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - {name: a, command: echo a, when: 'false'}
          - {name: b, command: echo b, depends_on: a}
          - {name: c, command: echo c, depends_on: a, require_success: true}
    """)
    assert statuses(run) == {"a": "skipped", "b": "succeeded", "c": "skipped"}
    assert run.status is RunStatus.SUCCEEDED


async def test_a_value_reaches_a_script_as_a_variable_and_a_doubled_dollar_is_left_to_the_shell(flows: WorkflowBench):
    text = """
        params: {x: {required: true}}
        steps:
          - {name: show, command: 'printf %s "$PARAM_X" "$${HOME:+home}"', env: {HOME: /}, outputs: {all: stdout}}
    """
    run = await flows.run(text, params={"x": EVIL})
    assert run.steps[0].outputs["all"] == f"{EVIL}home"
    assert not (flows.folder / "hacked").exists()


async def test_outputs_pass_filters_and_reach_later_steps(flows: WorkflowBench):
    steps = await flows.steps("""
        steps:
          - name: dump
            command: |
              echo '{"size": {"bytes": 12}}' > info.json
              echo first; echo 'took 7 s' >&2; echo last
            outputs:
              first: stdout | first_line
              last: stdout | last_line
              bytes: file:info.json | json:/size/bytes
              took: "stderr | regex:'took (\\\\d+)'"
              code: exit_code
          - {name: show, command: 'echo $STEP_DUMP_LAST $STEP_DUMP_BYTES'}
    """)
    assert steps["dump"].outputs == {"first": "first", "last": "last", "bytes": 12, "took": "7", "code": "0"}
    assert flows.printed("show") == ["last 12"]


@pytest.mark.parametrize("printed", ["no", '{"a": NaN}', "[1e999]", r'"\ud800"', "[" * 9_000])
async def test_a_step_whose_output_is_not_there_fails_with_the_name_of_the_output(flows: WorkflowBench, printed: str):
    (flows.folder / "printed").write_text(printed)
    run = await flows.run("steps: [{name: a, command: cat printed, outputs: {n: stdout | json}}]")
    assert run.steps[0].error == {"code": "bad-value", "message": "output n: it is not JSON"}


async def test_a_step_is_tried_again_with_growing_pauses(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - name: flaky
            command: echo x >> tries; [ "$(wc -l < tries)" -eq 4 ]
            retry: {max_attempts: 5, delay: 10s, backoff: 2, max_delay: 30s}
    """)
    assert (run.steps[0].status, run.steps[0].attempt) == (RunStatus.SUCCEEDED, 4)
    assert [pause for pause in flows.clock.slept if pause >= 10] == [10, 20, 30]


async def test_only_the_exit_codes_that_are_named_are_tried_again(flows: WorkflowBench):
    run = await flows.run("""
        steps:
          - {name: a, command: exit 2, retry: {max_attempts: 3, on_exit_codes: [255]}}
    """)
    assert (run.steps[0].status, run.steps[0].attempt) == (RunStatus.FAILED, 1)


async def test_a_step_and_a_run_end_at_their_time_limits_and_steps_for_the_failure_still_run(flows: WorkflowBench):
    run = await flows.run("steps: [{name: slow, command: sleep 60, timeout: 0.1}]")
    assert (run.status, statuses(run)) == (RunStatus.FAILED, {"slow": "timed_out"})
    run = await flows.run("""
        timeout: 0.2
        steps:
          - {name: slow, command: sleep 60}
          - {name: later, command: echo later}
        on_failure: [{name: tell, command: echo told}]
    """)
    assert (run.status, "time" in run.reason) == (RunStatus.TIMED_OUT, True)
    assert statuses(run) == {"slow": "cancelled", "later": "cancelled", "tell": "succeeded"}


@pytest.mark.parametrize(
    ("command", "ran", "left_out"),
    [("exit 0", ["good", "end"], "bad"), ("exit 1", ["bad", "end"], "good")],
)
async def test_steps_for_success_failure_and_the_end_run_after_the_others(
    flows: WorkflowBench, command: str, ran: list[str], left_out: str
):
    run = await flows.run(f"""
        steps: [{{name: a, command: {command}}}]
        on_success: [{{name: good, command: echo good}}]
        on_failure: [{{name: bad, env: {{CODE: '${{steps.a.exit_code}}'}}, command: echo $CODE}}]
        on_finish: [{{name: end, command: echo end}}]
    """)
    assert [name for name, status in statuses(run).items() if status == "succeeded" and name != "a"] == ran
    assert statuses(run)[left_out] == "skipped"


async def test_for_each_runs_a_step_for_every_value_and_its_outputs_are_lists(flows: WorkflowBench):
    steps = await flows.steps("""
        steps:
          - name: list
            command: printf '["x", "y z"]'
            outputs: {all: stdout | json}
          - name: each
            for_each: ${steps.list.outputs.all}
            max_parallel: 2
            env: {ITEM: '${item}'}
            command: echo got $ITEM
            outputs: {said: stdout | trim}
    """)
    assert steps["each"].outputs == {"said": ["got x", "got y z"]}
    assert flows.printed("each[1]") == ["got y z"]


async def test_for_each_over_an_empty_list_hands_on_empty_lists(flows: WorkflowBench):
    run = await flows.run("""
        params: {hosts: {type: list, default: []}}
        steps:
          - {name: ask, for_each: '${params.hosts}', command: echo, outputs: {said: stdout}}
          - {name: each, for_each: '${steps.ask.outputs.said}', command: echo}
          - {name: all, command: 'echo $STEP_ASK_SAID'}
    """)
    assert (run.status, run.steps[0].outputs, flows.printed("all")) == (RunStatus.SUCCEEDED, {"said": []}, ["[]"])


async def test_no_value_is_worked_on_any_more_when_a_step_with_for_each_has_ended(opening: Opening):
    asked, given_up = asyncio.Event(), []

    async def ask(prompt: str, *_: str, **__: Any) -> str:
        if prompt == "bad":
            await asked.wait()
            raise RuntimeError("a bug")
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.append(prompt)
        return ""

    async with opening(models=SimpleNamespace(ask=ask)) as flows:
        run = await flows.run("""
            steps:
              - {name: ask, type: prompt, for_each: [bad, good], max_parallel: 2, command: '${item}'}
        """)
        assert (run.error or {})["code"] == "internal-error"
        assert given_up == ["good"]


@pytest.mark.parametrize(
    ("printed", "values"),
    [
        ("42\n", ["42"]),
        ('{"a": 1}\n', ['{"a": 1}']),
        (" a \n\nb\n", ["a", "b"]),
        ("", []),
        ("[" * 9_000, ["[" * 9_000]),
    ],
    ids=["a number", "an object", "lines", "empty", "nested"],
)
async def test_for_each_takes_the_lines_of_a_text_that_is_no_json_list(
    flows: WorkflowBench, printed: str, values: list[str]
):
    (flows.folder / "printed").write_text(printed)
    steps = await flows.steps("""
        steps:
          - {name: list, command: cat printed, outputs: {all: stdout}}
          - name: each
            for_each: ${steps.list.outputs.all}
            command: [echo, '${item}']
            outputs: {said: stdout | trim}
    """)
    assert steps["each"].outputs == {"said": values}


async def test_parameters_are_checked_before_anything_runs(flows: WorkflowBench):
    flows.write("""
        params:
          host: {required: true, enum: [web1, db1]}
          keep: {type: integer, default: 7, minimum: 1}
        steps: [{name: a, command: 'echo $PARAM_HOST ${params.keep}'}]
    """)
    for params, problem in (
        ({}, "parameter 'host' is required"),
        ({"host": "web2"}, "host is not one of: web1, db1"),
        ({"host": "db1", "keep": "x"}, "keep is not of type integer"),
        ({"host": "db1", "keep": "0"}, "keep must be at least 1, found 0"),
        ({"hots": "db1"}, "unknown parameter 'hots' (did you mean 'host'?)"),
    ):
        with pytest.raises(InvalidRunError) as caught:
            await flows.run(params=params)
        assert problem in str(caught.value)
    await flows.run(params={"host": "db1", "keep": "3"})
    assert flows.printed("a") == ["db1 3"]


async def test_a_second_run_is_skipped_with_the_reason_on_its_record(flows: WorkflowBench):
    flows.write("steps: [{name: a, command: sleep 60}]")
    running = await flows.workflows.start("flow", request())
    with pytest.raises(AlreadyRunningError) as caught:
        await flows.run()
    assert caught.value.run.status is RunStatus.SKIPPED
    assert mentions((caught.value.run.reason or ""), running.run.id)
    await running.stop()


async def test_a_second_run_waits_replaces_or_runs_beside_the_first_as_overlap_says(flows: WorkflowBench):
    steps = "steps: [{name: a, command: 'until [ -e go ]; do sleep 0.01; done'}]"
    flows.write(f"overlap: queue\n{steps}")
    first = await flows.workflows.start("flow", request())
    second = asyncio.create_task(flows.run())
    await eventually(lambda: queued(flows))
    (flows.folder / "go").touch()
    assert (await first.wait()).ok
    assert (await second).ok
    (flows.folder / "go").unlink()
    flows.write(f"overlap: replace\n{steps}")
    third = await flows.workflows.start("flow", request())
    fourth = await flows.workflows.start("flow", request())
    assert ((await third.wait()).status, "replaces" in (await third.wait()).reason) == (RunStatus.CANCELLED, True)
    flows.write(f"overlap: parallel\n{steps}")
    fifth = await flows.workflows.start("flow", request())
    (flows.folder / "go").touch()
    assert [(await each.wait()).status for each in (fourth, fifth)] == [RunStatus.SUCCEEDED] * 2


async def test_cancelling_asks_the_steps_at_work_to_end_and_starts_no_other(flows: WorkflowBench):
    flows.write("""
        steps:
          - {name: a, command: 'trap "echo bye; exit 9" TERM; echo up; while :; do sleep 0.01; done'}
          - {name: b, command: echo b}
        on_finish: [{name: end, command: echo end}]
    """)
    running = await flows.workflows.start("flow", request(), watch=flows.lines.append)
    await eventually(lambda: flows.printed("a"))
    await flows.runs.cancel(running.run.id, "not now")
    run = await running.wait()
    assert (run.status, run.reason) == (RunStatus.CANCELLED, "not now")
    assert flows.printed("a") == ["up", "bye"]
    assert statuses(run) == {"a": "cancelled", "b": "cancelled", "end": "cancelled"}


@pytest.mark.parametrize("approved", [True, False])
async def test_a_step_waits_for_a_person_and_goes_on_or_fails(flows: WorkflowBench, approved: bool):
    flows.write("""
        defaults: {retry: {max_attempts: 3}}
        steps:
          - {name: ask, type: wait, approval: true, message: deploy now?, approvers: anna}
          - {name: deploy, command: 'echo $STEP_ASK_DECISION by $STEP_ASK_BY'}
    """)
    running = await flows.workflows.start("flow", request(), watch=flows.lines.append)
    [waiting] = await eventually(lambda: flows.runs.waiting(running.run.id))
    assert (waiting.question.step, waiting.question.message) == ("ask", "deploy now?")
    [notice] = await eventually(lambda: flows.bench.notices)
    assert ("approval" in notice.title, notice.run_id, notice.step) == (True, running.run.id, "ask")
    assert f"tocsin runs approve {running.run.id} --step ask" in notice.body
    record = await flows.runs.get(running.run.id)
    assert (record.status, record.steps[0].status) == (RunStatus.WAITING, RunStatus.WAITING)
    assert record.steps[0].message == "deploy now?"
    (status,) = (await flows.bench.subsystems())["workflows"]
    assert [item.link for item in status.attention] == [f"#/runs/{running.run.id}"]
    await flows.runs.decide(Decision(running.run.id, "", approved, "anna", flows.clock.now(), "as agreed"))
    run = await running.wait()
    closed = flows.bench.notices[-1]
    assert (closed.closed, closed.dedupe_key) == (True, notice.dedupe_key)
    assert closed.title == f"flow was {'approved' if approved else 'rejected'} by anna"
    if approved:
        assert flows.printed("deploy") == ["approved by anna"]
    else:
        assert run.reason == "step ask failed: anna rejected it: as agreed"


async def test_a_wait_that_nobody_decides_about_fails_or_goes_on(flows: WorkflowBench):
    run = await flows.run("steps: [{name: ask, type: wait, approval: true, timeout: 0.1}]")
    assert statuses(run) == {"ask": "timed_out"}
    run = await flows.run("steps: [{name: ask, type: wait, approval: true, timeout: 0.1, on_timeout: continue}]")
    assert statuses(run) == {"ask": "succeeded"}


async def test_a_wait_lasts_as_long_as_it_says_or_until_a_time_in_the_zone_of_the_workflow(flows: WorkflowBench):
    before = flows.clock.now()
    await flows.run("steps: [{name: a, type: wait, duration: 2h}]")
    assert flows.clock.now() - before == pytest.approx(7200)
    now = datetime.fromtimestamp(flows.clock.now(), ZoneInfo("Asia/Tokyo"))
    then = (now + timedelta(hours=3)).replace(second=0, microsecond=0)
    await flows.run(f"timezone: Asia/Tokyo\nsteps: [{{name: a, type: wait, until: '{then:%H:%M}'}}]")
    assert flows.clock.now() == pytest.approx(then.timestamp())
    later = then.astimezone(UTC) + timedelta(days=1)
    await flows.run(f"timezone: Asia/Tokyo\nsteps: [{{name: a, type: wait, until: '{later:%Y-%m-%dT%H:%M:%SZ}'}}]")
    assert flows.clock.now() == pytest.approx(later.timestamp())


def test_a_date_beyond_a_clock_change_is_meant_as_clocks_will_show_it():
    winter = datetime(2026, 11, 23, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    assert instant_of("2027-07-01T09:00", winter).isoformat() == "2027-07-01T09:00:00+02:00"


async def test_a_retry_runs_what_failed_and_what_follows_and_keeps_the_outputs_of_the_others(flows: WorkflowBench):
    text = """
        steps:
          - {name: dump, command: 'echo x >> dumps; echo 42', outputs: {size: stdout | trim}}
          - {name: copy, command: '[ -e ready ] && echo copied $STEP_DUMP_SIZE', depends_on: dump}
          - {name: tell, command: echo told, depends_on: copy}
    """
    failed = await flows.run(text)
    (flows.folder / "ready").touch()
    run = await flows.run(retry=Retry(failed))
    assert (run.status, run.retry_of, run.attempt) == (RunStatus.SUCCEEDED, failed.id, 2)
    assert flows.printed("copy") == ["copied 42"]
    assert (flows.folder / "dumps").read_text() == "x\n"
    again = await flows.run(retry=Retry(run, "tell"), from_step="tell")
    assert [step.finished_at for step in again.steps[:2]] == [step.finished_at for step in run.steps[:2]]
    assert flows.printed("tell") == ["told", "told"]


@pytest.mark.parametrize("approved", [True, False])
async def test_a_retry_from_a_step_asks_again_what_was_rejected_and_keeps_the_other_outputs(
    flows: WorkflowBench, approved: bool
):
    flows.write("""
        steps:
          - {name: build, command: 'echo x >> builds; echo 42', outputs: {id: stdout | trim}}
          - {name: ask, type: wait, approval: true}
          - {name: tidy, command: 'echo x >> tidied; echo 7', always_run: true, outputs: {left: stdout | trim}}
          - {name: deploy, command: echo "$STEP_BUILD_ID $STEP_TIDY_LEFT"}
    """)

    async def decided(approved: bool, **changes: Any) -> Run:
        running = await flows.workflows.start("flow", request(**changes), watch=flows.lines.append)
        await eventually(lambda: flows.runs.waiting(running.run.id))
        assert "deploy" not in {line.stream for line in flows.lines}
        await flows.runs.decide(Decision(running.run.id, "", approved, None, flows.clock.now()))
        return await running.wait()

    rejected = await decided(False)
    assert statuses(rejected) == {"build": "succeeded", "ask": "failed", "tidy": "succeeded", "deploy": "skipped"}
    again = await decided(approved, retry=Retry(rejected, "deploy"), from_step="deploy")
    ended = {"ask": "succeeded", "deploy": "succeeded"} if approved else {"ask": "failed", "deploy": "skipped"}
    assert statuses(again) == {"build": "succeeded", "tidy": "succeeded", **ended}
    assert [(flows.folder / name).read_text() for name in ("builds", "tidied")] == ["x\n", "x\n"]
    assert flows.printed("deploy") == (["42 7"] if approved else [])


async def test_what_succeeded_as_a_whole_is_retried_from_the_beginning(flows: WorkflowBench):
    text = "steps: [{name: a, command: echo a}, {name: b, command: echo b, depends_on: []}]"
    run = await flows.run(retry=Retry(await flows.run(text)))
    assert (run.status, flows.printed("a"), flows.printed("b")) == (RunStatus.SUCCEEDED, ["a", "a"], ["b", "b"])


async def test_a_run_may_be_of_some_steps_alone(flows: WorkflowBench):
    text = "steps: [{name: a, command: echo a}, {name: b, command: echo b}, {name: c, command: echo c}]"
    assert statuses(await flows.run(text, only=("b",))) == {"a": "skipped", "b": "succeeded", "c": "skipped"}
    assert statuses(await flows.run(from_step="b")) == {"a": "skipped", "b": "succeeded", "c": "succeeded"}
    with pytest.raises(InvalidRunError, match="'d'"):
        await flows.run(only=("d",))


async def test_a_command_is_told_its_run_and_gets_variables_of_the_file_and_of_the_request(flows: WorkflowBench):
    run = await flows.run(
        """
        env: {TARGET: backup1}
        steps:
          - name: show
            env: {PLACE: '${env.TARGET}/db'}
            command: echo $WORKFLOW $STEP $ATTEMPT $RUN_ID $PLACE $EXTRA
    """,
        env={"EXTRA": "more"},
    )
    assert flows.printed("show") == [f"flow show 1 {run.id} backup1/db more"]


async def test_each_run_writes_one_audit_entry_and_a_plan_writes_none(flows: WorkflowBench):
    run = await flows.run("steps: [{name: a, command: echo secret words}]")
    await flows.workflows.plan("flow", request())
    [entry] = flows.bench.audit()
    assert (entry.action, entry.source) == ("workflow.run", "cli")
    assert entry.metadata["run"] == run.id
    assert entry.metadata["status"] == "succeeded"


async def test_a_step_whose_directory_is_not_there_fails_and_says_so(flows: WorkflowBench):
    run = await flows.run("steps: [{name: a, command: pwd, working_dir: nowhere}]")
    assert "directory" in (run.reason or "")
    (flows.folder / "sub").mkdir()
    await flows.run("steps: [{name: a, command: pwd, working_dir: sub}]")
    assert flows.printed("a") == [os.path.realpath(flows.folder / "sub")]


@dataclass
class AskedChats:
    """Chats of a bot, of which 9 is the operator's, and what they were asked."""

    asked: list[tuple[str, str, Any]] = field(default_factory=list)

    def find(self, ids: Collection[str] = (), /) -> Sequence[AskedChat]:
        return [AskedChat("botchat", id_) for id_ in ids or ["9"]]

    async def ask(self, chat: AskedChat, text: str, /, *, key: str, buttons: Any) -> None:
        self.asked.append((chat.chat_id, text, buttons))
        question = buttons[0][0][1].rpartition(":")[2]
        assert question not in key, "lists of deliveries show it to all who may read"


@pytest.mark.parametrize("approved", [True, False])
async def test_the_buttons_in_the_operators_chat_decide_once(opening: Opening, approved: bool):
    chats = AskedChats()
    async with opening(operator_chats=chats) as flows:
        flows.write("steps: [{name: ask, type: wait, approval: true, message: deploy?}]")
        running = await flows.workflows.start("flow", request())
        [(chat, text, [[yes, no]])] = await eventually(lambda: chats.asked)
        assert (chat, "approval" in text, yes[0], no[0]) == ("9", True, "Approve", "Reject")
        assert max(len(data) for _, data in (yes, no)) <= 64
        press = approval_buttons_of(flows.workflows)
        assert await press(pressed("confirm:plan:1", "9")) is None
        data = (yes if approved else no)[1]
        for forged in (pressed(yes[1], "8"), pressed(yes[1], "9", "teamchat"), pressed(f"{yes[1]}0", "9")):
            refused = await press(forged)
            assert refused is not None
            assert (await flows.runs.get(running.run.id)).status is RunStatus.WAITING
        answer = await press(pressed(data, "9"))
        assert answer is not None
        assert answer.replies == (Reply(f"ask: {'approved' if approved else 'rejected'}", extra=replacing("question")),)
        assert (await running.wait()).ok is approved
        again = await press(pressed(data, "9"))
        assert again is not None
        assert "step" in again.replies[0].text
        decided = "run.approve" if approved else "run.reject"
        assert [(e.source, e.metadata["actor"], e.metadata["sender"]) for e in flows.bench.audit(decided)] == [
            ("bot", "chat:9", "55")
        ]
        assert [entry.metadata["actor"] for entry in flows.bench.audit("run.decision_denied")] == [
            "chat:8", "chat:9", "chat:9", "chat:9",
        ]  # fmt: skip
        assert [(notice.level, notice.closed) for notice in flows.bench.notices] == [
            (NoticeLevel.INFO, False),
            (NoticeLevel.INFO, True),
        ]


async def test_a_question_goes_to_the_chats_among_its_approvers_and_to_no_other(opening: Opening):
    chats = AskedChats()
    async with opening(operator_chats=chats) as flows:
        flows.write("""
            parallel: true
            steps:
              - {name: chats, type: wait, approval: true, approvers: ['chat:7', anna, 'chat:-8']}
              - {name: person, type: wait, approval: true, approvers: [anna, 'token:ci']}
        """)
        running = await flows.workflows.start("flow", request())
        await eventually(lambda: len(flows.bench.notices) == 2)
        assert [chat for chat, _, _ in chats.asked] == ["7", "-8"]
        assert sorted(notice.level for notice in flows.bench.notices) == [NoticeLevel.INFO, NoticeLevel.WARNING]
        press = approval_buttons_of(flows.workflows)
        await press(pressed(chats.asked[0][2][0][0][1], "-8"))  # both have the same buttons
        await flows.runs.decide(Decision(running.run.id, "person", True, "token:ci", flows.clock.now()))
        assert (await running.wait()).ok


@pytest.mark.parametrize(
    ("actor", "who", "asked"),
    [
        (None, "", False),  # the command line
        ("anna", "", False),
        ("anna", ", approvers: anna", False),
        ("anna", ", approvers: ben", True),
        ("anna", ", not_by_starter: true", True),
        ("token:agent", "", True),
        ("token:agent", ", approvers: 'token:agent'", True),
        ("chat:7", "", True),
    ],
)
async def test_a_question_is_left_out_only_by_those_who_may_answer_it(
    flows: WorkflowBench, actor: str | None, who: str, *, asked: bool
):
    flows.write(f"""
        overlap: parallel
        steps:
          - {{name: ask, type: wait, approval: true{who}}}
          - {{name: deploy, command: "[ -e ready ]"}}
          - {{name: tell, command: echo told}}
    """)
    first = await flows.workflows.start("flow", request())
    await eventually(lambda: flows.runs.waiting(first.run.id))
    await flows.runs.decide(Decision(first.run.id, "ask", True, None, flows.clock.now()))
    failed = await first.wait()
    assert statuses(failed)["deploy"] == "failed"
    (flows.folder / "ready").touch()
    again = Retry(await flows.runs.get(failed.id), "tell")
    for changes in (
        {"from_step": "deploy"},
        {"only": ("tell",)},
        {"retry": Retry(failed)},
        {"from_step": "tell", "retry": again},
    ):
        running = await flows.workflows.start("flow", request(actor=actor, **changes))
        if asked:
            await eventually(partial(flows.runs.waiting, running.run.id))
            await flows.runs.decide(Decision(running.run.id, "ask", False, None, flows.clock.now()))
        run = await running.wait()
        assert (statuses(run)["tell"] == "succeeded", run.ok) == (not asked, not asked), changes


@pytest.mark.parametrize(
    ("step", "detail"),
    [
        ("approval: true, approvers: []", "must not be empty"),
        ("approval: true, approvers: [7]", "not an approver"),
        ("approval: true, approvers: ['chat:']", "not an approver"),
        ("approval: true, approvers: ['user:ana']", "not an approver"),
        ("approval: true, approvers: ['token:a b']", "not an approver"),
        ("approval: true, approvers: ['chat:-100', 'token:ci', 'Anna B.'], not_by_starter: true", ""),
        ("duration: 1s, not_by_starter: true", "not_by_starter requires approval: true"),
    ],
)
async def test_who_may_answer_is_checked_in_the_file(flows: WorkflowBench, step: str, detail: str):
    text = f"name: flow\nsteps:\n  - {{name: a, type: wait, {step}}}\n"
    problems = (await flows.workflows.read_text("flow", text.encode())).read.problems
    assert bool(problems) == bool(detail)
    assert all(detail in problem.detail for problem in problems)


def pressed(data: str, chat_id: str, channel: str = "botchat") -> MessageContext:
    message = InboundMessage(
        channel,
        MessageKind.CALLBACK,
        "1",
        ("1",),
        chat_id,
        sender_id="55",
        callback_data=data,
        callback_id="c",
        reply_to_id="question",
    )
    return MessageContext("i1", message)


async def test_what_is_offered_to_a_workflow_it_gets_where_it_declares_it(flows: WorkflowBench):
    run = await flows.run(
        """
        params: {path: {required: true}}
        steps:
          - {name: a, command: "echo $PARAM_PATH"}
        """,
        offers={"path": "/srv/a.txt", "event": "created"},
    )
    assert (run.status, run.params, flows.printed("a")) == ("succeeded", {"path": "/srv/a.txt"}, ["/srv/a.txt"])
