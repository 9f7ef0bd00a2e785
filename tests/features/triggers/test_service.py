"""A matching message runs its rule's action and is answered with what that says."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.process.test_starting import gone
from tests.facts import mentions
from tests.features.triggers.conftest import Triggered, dependencies, received
from tests.waiting import LIMITS_S
from tests.waiting import eventually as until

from tocsin.channels.contract import COMMONMARK, PLAIN
from tocsin.channels.inbound import InboundMessage, MessageKind, Quote
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.features.triggers.rules import Match, Triggers
from tocsin.features.triggers.service import INTERRUPTED, TriggerHandler, no_rule
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.providers.contract import ProviderError
from tocsin.runs.model import ACTIVE, Run, RunResult, RunSpec, RunStatus, RunTrigger
from tocsin.runs.recorder import RunHandle
from tocsin.runs.sqlite.records import sqlite_runs

ECHO = "- pattern: '^say (.*)$'\n  command: printf '%s\\n' \"$1\"\n"


async def test_a_message_that_no_rule_matches_is_left_to_the_next_handler(triggered: Triggered):
    assert await triggered.write(ECHO).handle("hello") is None
    assert (await triggered.all_runs(), triggered.entries()) == ((), [])


async def test_whether_a_rule_is_for_a_message_is_known_without_running_it(triggered: Triggered):
    handler = triggered.write(ECHO).handler()
    button = replace(received("say hi").message, kind=MessageKind.CALLBACK)
    said = [received("say hi").message, received("hello").message, button]
    assert [await handler.matches(message) for message in said] == [True, False, False]
    assert await triggered.all_runs() == ()


async def test_a_command_that_nothing_answers_gets_a_hint_and_nothing_else_does():
    typed = received("/deploy now")
    command = replace(typed, message=replace(typed.message, kind=MessageKind.COMMAND, command="deploy"))
    verdict = await no_rule(command)
    assert verdict is not None
    assert (verdict.ending, verdict.replies) == (HandlingStatus.IGNORED, ())
    assert "/deploy" in verdict.hint
    assert "tocsin triggers list" in verdict.hint
    assert await no_rule(received("hello")) is None


async def test_a_matching_message_is_answered_with_the_output_as_plain_text(triggered: Triggered):
    verdict = await triggered.write(ECHO).handle("say *hi* _there_")
    assert verdict is not None
    assert (verdict.ending, verdict.replies) == (HandlingStatus.ANSWERED, (Reply("*hi* _there_", PLAIN),))


# Two pipes have no order between them: the next line waits until this one was taken.
TAKEN = """
import fcntl, os, termios, time
for number in range(1, 4):
    for stream, name in ((1, "out"), (2, "err")):
        os.write(stream, f"{name} {number}\\n".encode())
        while fcntl.ioctl(stream, termios.FIONREAD, bytes(4)) != bytes(4):
            time.sleep(0.001)
"""


async def test_both_outputs_are_sent_back_in_the_order_in_which_they_came(triggered: Triggered, tmp_path: Path):
    (program := tmp_path / "both.py").write_text(TAKEN)
    triggered.write(f"- {{pattern: go, command: '{sys.executable} {program}'}}")
    assert await triggered.answer("go") == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3"


async def test_the_command_gets_the_full_message_and_where_it_came_from(triggered: Triggered):
    names = ("MESSAGE", "CHANNEL", "CHAT", "SENDER", "ID", "ATTEMPT")
    triggered.write("- pattern: needle\n  command: printenv " + " ".join(f"TRIGGER_{name}" for name in names))
    answer = await triggered.answer("a\nneedle $HOME", id="i9", attempt=2)
    assert answer.splitlines() == ["a", "needle $HOME", "bell", "C1", "U7", "i9", "2"]


async def test_what_may_not_repeat_is_told_as_interrupted_instead_of_run_again(triggered: Triggered):
    once = "- {pattern: go, command: sleep 600, repeat: false}\n"
    task = asyncio.create_task(triggered.write(once).handle("go"))
    await until(lambda: child_is_recorded(triggered))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    verdict = await triggered.handle("go", attempt=2)
    assert verdict is not None
    assert (verdict.ending, verdict.replies) == (HandlingStatus.FAILED, (Reply(INTERRUPTED),))
    assert [entry.metadata["status"] for entry in triggered.entries()] == ["interrupted"]
    assert [notice.title for notice in triggered.notices] == ["go was interrupted"]
    silent = await triggered.write(once.replace("}", ", reply: false}")).handle("go", attempt=2)
    assert silent is not None
    assert (silent.replies, "not repeated" in silent.reason) == ((), True)


async def test_a_run_that_ended_before_its_answer_was_stored_is_answered_and_not_repeated(triggered: Triggered):
    triggered.write("- {pattern: go, command: 'echo once; echo >> ran'}")
    assert await triggered.answer("go") == "once"
    assert await triggered.answer("go", attempt=2) == "once"
    assert (triggered.data_dir / "ran").read_text() == "\n"
    assert [entry.metadata["status"] for entry in triggered.entries()] == ["succeeded"]


async def test_an_interrupted_run_is_repeated_without_a_notice_and_each_attempt_has_its_entry(triggered: Triggered):
    task = asyncio.create_task(triggered.write("- {pattern: go, command: sleep 600}").handle("go"))
    await until(lambda: child_is_recorded(triggered))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    triggered.write("- {pattern: go, command: echo again}")
    assert await triggered.answer("go", attempt=2) == "again"
    assert [entry.metadata["status"] for entry in triggered.entries()] == ["interrupted", "succeeded"]
    assert triggered.notices == []


async def test_an_attempt_counts_when_a_rule_is_run_and_only_then(triggered: Triggered):
    begun: list[str] = []

    async def begin() -> None:
        begun.append("")

    handler = triggered.write(ECHO).handler()
    assert await handler(replace(received("hello"), begin=begin)) is None
    assert begun == []
    await handler(replace(received("say hi"), begin=begin))
    assert begun == [""]


async def test_the_command_has_the_environment_it_was_given_and_no_other(triggered: Triggered, monkeypatch):
    monkeypatch.setenv("BOTCHAT_BOT_TOKEN", "1234567:secret")
    triggered.env["GREETING"] = "hello"
    triggered.write("- {pattern: go, command: env}")
    names = {line.partition("=")[0] for line in (await triggered.answer("go")).splitlines()}
    # PWD, and with some shells more, is the shell's own.
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {
        "GREETING", "HOME", "PATH", "TRIGGER_ATTEMPT", "TRIGGER_CHANNEL", "TRIGGER_CHAT", "TRIGGER_ID",
        "TRIGGER_MESSAGE", "TRIGGER_SENDER",
    }  # fmt: skip


async def test_the_command_runs_in_the_data_directory_with_nothing_on_its_standard_input(triggered: Triggered):
    triggered.write("- {pattern: go, command: 'pwd; cat'}")
    assert await triggered.answer("go") == str(triggered.data_dir)


async def test_captures_are_positional_parameters_of_a_shell_named_trigger(triggered: Triggered):
    triggered.write('- {pattern: \'(a)(x)?(b)\', command: \'printf "[%s]" "$0" "$#" "$@"\'}')
    assert await triggered.answer("ab") == "[trigger][3][a][][b]"


async def test_a_failing_command_is_answered_with_its_output_and_its_exit_code(triggered: Triggered):
    verdict = await triggered.write("- {pattern: go, command: 'echo bad >&2; exit 3'}").handle("go")
    assert verdict is not None
    assert (verdict.ending, verdict.replies[0].text) == (HandlingStatus.FAILED, "bad\n(exit code 3)")


async def test_a_silent_command_is_answered_too(triggered: Triggered):
    triggered.write("- {pattern: go, command: 'true'}\n- {pattern: no, command: 'false'}")
    assert await triggered.answer("go") == "done (exit code 0)"
    assert await triggered.answer("no") == "exit code 1"


async def test_a_command_that_is_out_of_time_is_stopped_with_all_it_started(triggered: Triggered):
    triggered.write("- {pattern: go, command: 'sleep 600 & echo $! > new; mv new pid; echo begun; wait'}")
    pid, answer = triggered.data_dir / "pid", ""
    for timeout_s in LIMITS_S:
        triggered.means["timeout_s"] = timeout_s
        answer = await triggered.answer("go")
        if answer.startswith("begun"):  # a busy machine may take longer to get that far
            break
    assert mentions(answer, f"{timeout_s:g}")
    assert await gone(int(pid.read_text()))
    assert {run.status for run in await triggered.all_runs()} == {RunStatus.TIMED_OUT}


async def test_4000_characters_of_any_kind_come_back_whole_and_more_is_cut(triggered: Triggered):
    triggered.write("- {pattern: '^(.+)$', command: 'printf %s \"$1\"'}\n")
    assert await triggered.answer("😀" * 4000) == "😀" * 4000
    cut = await triggered.answer("😀" * 4001)
    assert len(cut) <= 4000
    assert cut.endswith("😀\n… (output cut)")


async def test_without_reply_the_command_runs_and_nothing_is_sent(triggered: Triggered):
    triggered.write("- {pattern: go, command: echo done, reply: false}\n- {pattern: no, command: exit 1, reply: false}")
    went, failed = await triggered.handle("go"), await triggered.handle("no")
    assert went is not None
    assert failed is not None
    assert (went.ending, went.replies, failed.ending, failed.replies) == (
        HandlingStatus.ANSWERED,
        (),
        HandlingStatus.FAILED,
        (),
    )
    assert [run.output.tail for run in await triggered.all_runs()] == ["", "done"]


async def test_a_firing_is_recorded_as_a_run_of_its_rule(triggered: Triggered):
    await triggered.write(ECHO).handle("say hi", chat_id="C42")
    (run,) = await triggered.all_runs()
    assert (run.kind, run.status, run.trigger) == ("trigger", RunStatus.SUCCEEDED, RunTrigger.WEBHOOK)
    assert (run.subject_id[:2], run.subject_name, run.actor) == ("1-", "^say (.*)$", "chat:C42")
    assert run.params == {"rule": 1, "action": "shell", "channel": "bell", "event": "i1", "repeat": True}
    assert "TRIGGER_MESSAGE" in run.env_keys


async def test_the_cause_of_a_run_is_what_the_program_says_of_the_message(triggered: Triggered):
    triggered.means["cause"] = lambda message: RunTrigger.BOT if message.channel == "bell" else RunTrigger.WEBHOOK
    await triggered.write(ECHO).handle("say hi")
    assert [run.trigger for run in await triggered.all_runs()] == [RunTrigger.BOT]


async def test_each_firing_leaves_one_audit_entry_without_the_message(triggered: Triggered):
    await triggered.write(ECHO).handle("say the safe opens with otter")
    (run,) = await triggered.all_runs()
    (entry,) = triggered.entries()
    assert (entry.action, entry.source) == ("trigger.run", "triggers")
    assert entry.detail == "rule 1 for chat C1 on bell: succeeded"
    assert {name: value for name, value in entry.metadata.items() if name != "chain"} == {
        "channel": "bell",
        "chat": "C1",
        "rule": 1,
        "pattern": "^say (.*)$",
        "action": "shell",
        "run": run.id,
        "status": "succeeded",
    }
    assert "otter" not in (triggered.data_dir / "audit.log").read_text()


@pytest.mark.parametrize(
    "message",
    [
        received("say hi", kind=MessageKind.EDIT),
        received("say hi", kind=MessageKind.CALLBACK),
    ],
)
async def test_edits_and_buttons_fire_nothing(triggered: Triggered, message):
    assert await triggered.write(ECHO).handler()(message) is None


async def test_a_message_without_text_fires_nothing(triggered: Triggered):
    assert await triggered.write("- {pattern: '.*', command: echo}").handle("") is None


async def test_a_slash_command_is_matched_as_it_was_typed(triggered: Triggered):
    triggered.write("- {pattern: '^/disk (.*)', command: 'echo \"$1\"'}")
    assert await triggered.answer("/disk home", kind=MessageKind.COMMAND, command="disk", args="home") == "home"


async def test_the_indicator_is_shown_while_the_action_runs_and_only_then(triggered: Triggered):
    shown: list[str] = []

    @asynccontextmanager
    async def indicating(message: InboundMessage) -> AsyncIterator[None]:
        shown.append(f"on in {message.chat_id}")
        yield
        shown.append(f"off with {len(triggered.entries())} entry")

    triggered.means["indicate"] = indicating
    await triggered.write(ECHO).handle("hello")
    assert shown == []
    await triggered.handle("say hi")
    assert shown == ["on in C1", "off with 1 entry"]


async def test_sixteen_rules_run_side_by_side_and_the_next_one_waits(triggered: Triggered):
    triggered.write("- pattern: go (.*)\n  command: echo > begun.$1; while [ ! -e free ]; do sleep 0.02; done\n")
    handler = triggered.handler()
    async with asyncio.TaskGroup() as group:
        for number in range(18):
            group.create_task(handler(received(f"go {number}", id=str(number))))
        await until(lambda: len(list(triggered.data_dir.glob("begun.*"))) >= 16)
        assert len([run for run in await triggered.all_runs() if run.status is RunStatus.RUNNING]) == 16
        (triggered.data_dir / "free").touch()
    assert len(list(triggered.data_dir.glob("begun.*"))) == 18


async def test_a_firing_that_is_cut_off_leaves_no_process_and_one_entry(triggered: Triggered):
    handler = triggered.write("- {pattern: go, command: 'sleep 600 & echo $! > new; mv new pid; wait'}").handler()
    task = asyncio.create_task(handler(received("go")))
    await until((triggered.data_dir / "pid").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(int((triggered.data_dir / "pid").read_text()))
    assert [entry.metadata["status"] for entry in triggered.entries()] == ["interrupted"]


async def test_a_run_that_cannot_be_recorded_starts_nothing_and_may_be_asked_for_again(triggered: Triggered):
    triggered.write("- {pattern: go, command: touch begun}")
    await triggered.database.aclose()
    with pytest.raises(StoreUnavailableError):
        await triggered.handle("go")
    assert not (triggered.data_dir / "begun").exists()
    assert not (triggered.data_dir / "audit.log").exists()


async def child_is_recorded(triggered: Triggered) -> bool:
    return any(run.child for run in await sqlite_runs(triggered.database).records.active(ACTIVE))


async def test_what_has_run_is_answered_also_where_its_record_cannot_be_read_any_more(triggered: Triggered):
    triggered.write("- pattern: go\n  command: echo > begun; while [ ! -e free ]; do sleep 0.02; done; echo done\n")
    task = asyncio.create_task(triggered.handle("go"))
    await until((triggered.data_dir / "begun").exists)
    await until(lambda: child_is_recorded(triggered))
    await triggered.database.aclose()
    (triggered.data_dir / "free").touch()
    verdict = await task
    assert verdict is not None
    assert [reply.text for reply in verdict.replies] == ["done"]
    assert triggered.entries() == []  # the next process settles the run


async def test_an_edited_file_is_in_force_with_the_next_message(triggered: Triggered):
    handler = triggered.write(ECHO).handler()
    assert await handler(received("ping")) is None
    triggered.write("- {pattern: ping, command: echo pong}")
    verdict = await handler(received("ping"))
    assert verdict is not None
    assert verdict.replies[0].text == "pong"


async def test_claude_asks_the_chat_provider_with_the_captures_in_its_prompt(triggered: Triggered):
    asked: list[tuple[str, str]] = []

    async def ask(prompt: str, message: str) -> str:
        asked.append((prompt, message))
        return "It is **round**."

    triggered.means["ask"] = ask
    triggered.write("- {pattern: 'explain (\\w+)', action: claude, command: 'What is $1? ($0)'}")
    verdict = await triggered.handle("please explain wheels\0 to me")
    assert asked == [("What is wheels? (explain wheels)", "please explain wheels to me")]
    assert verdict is not None
    assert (verdict.ending, verdict.replies) == (HandlingStatus.ANSWERED, (Reply("It is **round**.", COMMONMARK),))
    (run,) = await triggered.all_runs()
    assert (run.status, run.output.tail, run.params["action"]) == (RunStatus.SUCCEEDED, "It is **round**.", "claude")


async def test_claude_is_shown_the_message_that_is_answered(triggered: Triggered):
    asked: list[tuple[str, str]] = []

    async def ask(prompt: str, message: str) -> str:
        asked.append((prompt, message))
        return "ok"

    triggered.means["ask"] = ask
    await triggered.write("- {pattern: '^sum up', action: claude, command: Sum up.}").handle(
        "sum up", quote=Quote("Bob", text="a long story")
    )
    assert asked == [("Sum up.\n\nThe message is in reply to Bob:\n> a long story", "sum up")]


async def refuse(prompt: str, message: str) -> str:
    raise ProviderError("the model is overloaded", hint="try again later")


async def say_nothing(prompt: str, message: str) -> str:
    return " \n"


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (refuse, "failed: the model is overloaded: try again later"),
        (say_nothing, "failed: the chat provider sent an empty answer"),
    ],
)
async def test_a_provider_that_gives_no_answer_is_told_in_a_sentence(triggered: Triggered, ask, answer: str):
    triggered.means["ask"] = ask
    verdict = await triggered.write("- {pattern: go, action: claude, command: x}").handle("go")
    assert verdict is not None
    assert (verdict.ending, verdict.replies) == (HandlingStatus.FAILED, (Reply(answer, PLAIN),))
    assert [entry.metadata["status"] for entry in triggered.entries()] == ["failed"]


class Skills:
    """Skills as another part of the program would run them."""

    def __init__(self, triggered: Triggered, ended: RunResult) -> None:
        self.called: list[tuple[str, list[str], str, str, str]] = []
        self._triggered, self._ended = triggered, ended

    async def __call__(
        self,
        name: str,
        *,
        args: Sequence[str],
        input: str,
        actor: str,
        cause: str,
        part_of: str,
        **_: object,
    ) -> Run:
        self.called.append((name, list(args), input, actor, cause))

        async def work(recorder: RunHandle) -> RunResult:
            recorder.write("stdout", "sunny *and* warm\n")
            return self._ended

        order = RunSpec("skill", name, name, RunTrigger.BOT, parent_run_id=part_of)
        return await self._triggered.runs.execute(order, work)


SUNNY = RunResult(RunStatus.SUCCEEDED, exit_code=0)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("weather", ["Rome; rm -rf ~", ""]),
        ("weather --place $1", ["--place", "Rome; rm -rf ~"]),
        ("weather 'in $1' now", ["in Rome; rm -rf ~", "now"]),
    ],
)
async def test_a_skill_gets_the_captures_as_whole_arguments_and_the_message_as_input(
    triggered: Triggered, command: str, arguments: list[str]
):
    triggered.means["run_skill"] = skills = Skills(triggered, SUNNY)
    triggered.write(f'- {{pattern: "weather (.*[^!])(!)?$", action: skill, command: "{command}"}}')
    verdict = await triggered.handle("weather Rome; rm -rf ~")
    assert skills.called == [("weather", arguments, "weather Rome; rm -rf ~", "chat:C1", RunTrigger.WEBHOOK)]
    assert verdict is not None
    assert (verdict.ending, verdict.replies) == (HandlingStatus.ANSWERED, (Reply("sunny *and* warm", PLAIN),))
    (entry,) = triggered.entries()
    child, run = await triggered.all_runs()
    assert (entry.metadata["run"], child.parent_run_id, run.kind) == (run.id, run.id, "trigger")


async def test_a_capture_that_is_too_long_for_a_skill_is_cut(triggered: Triggered):
    triggered.means["run_skill"] = skills = Skills(triggered, SUNNY)
    await triggered.write("- {pattern: '(.*)', action: skill, command: weather in $1}").handle("x" * 300_000)
    ((_, arguments, text, *_),) = skills.called
    assert ([len(argument) for argument in arguments], len(text)) == ([2, 100_000], 300_000)


async def test_a_skill_that_fails_says_so(triggered: Triggered):
    triggered.means["run_skill"] = Skills(triggered, replace(SUNNY, status=RunStatus.FAILED, exit_code=4))
    verdict = await triggered.write("- {pattern: go, action: skill, command: weather}").handle("go")
    assert verdict is not None
    assert (verdict.ending, verdict.replies[0].text) == (HandlingStatus.FAILED, "sunny *and* warm\n(exit code 4)")


async def test_a_skill_that_cannot_be_started_is_told_in_a_sentence_and_recorded(triggered: Triggered):
    async def unknown(name: str, **_: object) -> Run:
        raise TocsinError(f"unknown skill: {name}", hint="see tocsin skills list")

    triggered.write("- {pattern: go, action: skill, command: weather}")
    triggered.means["run_skill"] = unknown
    assert "weather" in await triggered.answer("go")
    assert [(run.kind, run.status) for run in await triggered.all_runs()] == [("trigger", RunStatus.FAILED)]
    assert [entry.metadata["status"] for entry in triggered.entries()] == ["failed"]


async def test_a_bot_that_the_operator_asked_to_hear_fires_like_anybody(triggered: Triggered):
    verdict = await triggered.write(ECHO).handler()(received("say hi", sender_is_bot=True))
    assert verdict is not None
    assert verdict.ending is HandlingStatus.ANSWERED


class CountedTriggers(Triggers):
    """Rules that count how often a text was tried."""

    tried = 0

    def match(self, text: str) -> Match | None:
        self.tried += 1
        return super().match(text)


async def test_a_text_is_tried_once_for_its_receipt_and_its_answer(triggered: Triggered):
    triggered.write("- {pattern: ping, command: echo pong}")
    rules = CountedTriggers(triggered.data_dir / "triggers.yaml")
    means = dependencies(triggered.runs, triggered.env, triggered.data_dir)
    handler = TriggerHandler(rules, means)
    asked = received("ping")
    assert await handler.matches(asked.message)
    assert await handler(asked) is not None
    assert rules.tried == 1
    assert await handler.matches(asked.message)
    triggered.write("- {pattern: other, command: echo pong}")
    assert await handler(asked) is None
