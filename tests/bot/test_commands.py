"""The commands and modes."""

import asyncio

import pytest
from tests.bot.bench import ADMIN, Bench, buttons_of, silent, text_of
from tests.bot.conftest import MakeBench
from tests.facts import mentions

from tocsin.bot.commands import IDLE, NO_HISTORY, NO_SKILLS
from tocsin.bot.contract import ChatMode, Prepared
from tocsin.bot.executor import TOO_MANY, TaskContext
from tocsin.bot.registration import register_commands
from tocsin.bot.settings import BotSettings
from tocsin.channels.botchat.api import BotApiError
from tocsin.channels.contract import PLAIN
from tocsin.core.errors import TocsinError
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.runs.model import RunStatus

SPECIFIED = ["start", "help", "status", "skills", "run", "runs", "mode", "history", "reset", "cancel"]


async def test_help_lists_every_command(bench: Bench):
    lines = text_of(await bench.send("/help")).splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"/{name}" for name in SPECIFIED]


@pytest.mark.parametrize("name", SPECIFIED)
async def test_every_command_answers_without_arguments(bench: Bench, name: str):
    verdict = await bench.send(f"/{name}")
    assert verdict.ending is HandlingStatus.ANSWERED
    assert text_of(verdict)
    assert f"/{name}." not in text_of(verdict)  # the answer to an unknown command


async def test_an_unknown_command_gets_a_hint(bench: Bench):
    assert mentions(text_of(await bench.send("/dance")), "/dance", "/help")


async def test_in_a_group_a_command_for_others_is_not_acknowledged(bench: Bench):
    for text, fields, expected in (
        ("/deploy", {"chat_type": "group"}, False),
        ("/deploy", {"chat_type": "group", "mentions_bot": True}, True),
        ("/deploy", {}, True),
        ("/help", {"chat_type": "group"}, True),
    ):
        assert await bench.bot.may_acknowledge(bench.received(text, **fields).message) is expected


async def test_in_a_group_an_unknown_command_is_left_to_others_unless_it_names_the_bot(bench: Bench):
    assert silent(await bench.send("/dance", chat_type="group"))
    assert "/help" in text_of(await bench.send("/dance", chat_type="group", mentions_bot=True))
    assert "/skills" in text_of(await bench.send("/help", chat_type="group"))


async def test_status_tells_mode_history_gate_queue_cron_and_provider(bench: Bench):
    await bench.send("hello")
    assert text_of(await bench.send("/status")).splitlines() == [
        "Mode: chat",
        "History: 2 of 20 messages",
        "In progress: 0 of 2 here, 0 of 5 in total",
        "Waiting: 0 here (at most 10), 0 in total",
        "Queue: 0 waiting",
        "Cron: 3 jobs, all well",
        "Chat model: scripted model-1",
    ]


async def test_status_tells_which_chat_model_needs_the_operator_and_only_the_admin_why(bench: Bench):
    bench.model_problems = {"model-1 (scripted)": "Scripted rejects the key (401): set SCRIPTED_KEY"}
    assert text_of(await bench.send("/status")).endswith(
        "Chat model: scripted model-1\nmodel-1 (scripted) cannot be used; the operator must fix it"
    )
    assert text_of(await bench.send("/status", chat=ADMIN)).endswith(
        "model-1 (scripted) cannot be used: Scripted rejects the key (401): set SCRIPTED_KEY"
    )


async def test_skills_are_listed_with_a_button_for_each(bench: Bench):
    bench.skills.names = ["backup", "x" * 70]
    verdict = await bench.send("/skills")
    assert text_of(verdict).splitlines()[:2] == ["Installed skills:", "backup: does backup"]
    (backup, long) = buttons_of(verdict)
    assert backup == ["backup", "skill:backup"]
    assert len(long[1].encode()) <= 64


async def test_a_skill_that_cannot_run_now_is_listed_with_the_reason_and_not_started(bench: Bench):
    bench.skills.names, bench.skills.reasons = ["backup", "reviewer"], {"reviewer": "it needs a chat model"}
    verdict = await bench.send("/skills")
    assert mentions(text_of(verdict).splitlines()[2], "reviewer: does reviewer", "it needs a chat model")
    for answer in (await bench.press(buttons_of(verdict)[1][1]), await bench.send("/run reviewer src")):
        assert mentions(text_of(answer), "reviewer", "it needs a chat model")
    assert bench.skills.ran == []


async def test_runs_shows_the_newest_runs(bench: Bench):
    assert text_of(await bench.send("/runs")) == "2b8d7c6e backup (cron): failed, 5 min ago"


async def test_leafing_through_skills_changes_the_message_that_has_the_buttons(bench: Bench):
    bench.skills.names = [f"skill-{number:02}" for number in range(25)]
    first = await bench.send("/skills")
    assert "page 1 of 2" in text_of(first)
    (_, more) = buttons_of(first)[-1]
    second = await bench.press(more, reply_to_id="501")
    assert "page 2 of 2" in text_of(second)
    assert second.replies[0].extra["edit_message_id"] == "501"
    assert [data for _, data in buttons_of(second)] == [f"skill:skill-{n}" for n in range(20, 25)] + ["skill:>0"]


async def test_without_skills_there_are_no_buttons(bench: Bench):
    assert text_of(await bench.send("/skills")) == NO_SKILLS


async def test_run_runs_a_skill_with_what_stands_behind_its_name(bench: Bench):
    bench.skills.names = ["backup"]
    verdict = await bench.send("/run backup now  please")
    assert bench.skills.ran == [("backup", ("now", "please"), "now  please", "chat:7")]
    assert verdict.replies == (Reply("done", PLAIN),)


async def test_the_button_of_a_skill_runs_it(bench: Bench):
    bench.skills.names = ["backup", "x" * 70]
    for _, data in buttons_of(await bench.send("/skills")):
        assert text_of(await bench.press(data)) == "done"
    assert [name for name, *_ in bench.skills.ran] == bench.skills.names


async def test_a_skill_that_is_not_there_is_named_and_nothing_runs(bench: Bench):
    assert "gone" in text_of(await bench.send("/run gone"))
    assert bench.skills.ran == []


async def test_a_run_that_failed_says_so_above_its_output(bench: Bench):
    bench.skills.names, bench.skills.status, bench.skills.output = ["backup"], RunStatus.TIMED_OUT, "half"
    verdict = await bench.send("/run backup")
    assert verdict.ending is HandlingStatus.FAILED
    assert text_of(verdict) == "Skill backup ended as timed out\n\nhalf"


async def test_a_skill_that_cannot_start_says_why(bench: Bench):
    bench.skills.names = ["backup"]
    bench.skills.error = TocsinError("rsync is not installed", hint="install it")
    verdict = await bench.send("/run backup")
    assert verdict.ending is HandlingStatus.FAILED
    assert mentions(text_of(verdict), "backup", "rsync is not installed: install it")


async def test_output_is_cut_at_4000_characters(bench: Bench):
    bench.skills.names, bench.skills.output = ["backup"], "x" * 5_000
    assert len(text_of(await bench.send("/run backup"))) == 4_000


async def test_a_skill_without_output_is_answered_too(bench: Bench):
    bench.skills.names, bench.skills.output = ["backup"], " \n"
    assert "backup" in text_of(await bench.send("/run backup"))


async def test_runs_pass_the_gate_and_can_be_cancelled(bench: Bench):
    bench.skills.names, bench.skills.hold = ["backup"], asyncio.Event()
    runs = [asyncio.create_task(bench.send("/run backup")) for _ in range(12)]
    await bench.settle()
    assert len(bench.skills.ran) == 2
    assert text_of(await bench.send("/run backup")) == TOO_MANY
    assert text_of(await bench.send("/cancel")) == "Cancelled 12 jobs."
    assert {(verdict.ending, verdict.replies) for verdict in await asyncio.gather(*runs)} == {
        (HandlingStatus.ANSWERED, ())
    }


async def test_mode_without_argument_shows_a_keyboard(bench: Bench):
    verdict = await bench.send("/mode")
    assert "chat mode" in text_of(verdict)
    assert buttons_of(verdict) == [["• chat", "mode:chat"], ["skill", "mode:skill"]]
    assert mentions(text_of(await bench.send("/mode dance")), "dance", "chat mode")


@pytest.mark.parametrize("how", ["command", "button"])
async def test_the_mode_of_a_chat_is_switched_and_survives_a_restart(bench: Bench, how: str):
    async def switch(mode: str) -> HandlerResult:
        return await (bench.send(f"/mode {mode}") if how == "command" else bench.press(f"mode:{mode}"))

    assert text_of(await switch("skill")).startswith("Skill mode")
    await bench.restart()
    assert "Mode: skill" in text_of(await bench.send("/status"))
    assert "Mode: chat" in text_of(await bench.send("/status", chat="8"))
    assert text_of(await switch("chat")).startswith("Chat mode")
    assert text_of(await bench.send("hello")) == "You said: hello"


async def test_in_skill_mode_free_text_goes_to_whoever_handles_it(make_bench: MakeBench):
    async def intake(work: TaskContext, prepared: Prepared) -> HandlerResult:
        await work.say(Reply("looking for skills"))
        await work.say(Reply("running one"))
        return HandlerResult(HandlingStatus.ANSWERED, (Reply(f"did {prepared.text}"),))

    bench = make_bench(free_form={ChatMode.SKILL: intake})
    bench.prepared = lambda message: Prepared(message.text, notes=("I have read the file",))
    await bench.send("/mode skill")
    verdict = await bench.send("back up", thread_id="3")
    assert [reply.text for reply in verdict.replies] == ["did back up"]
    assert [(target, reply.text) for target, reply in bench.told] == [
        ("7/3", "I have read the file"),
        ("7/3", "looking for skills"),
        ("7/3", "running one"),
    ]


async def test_a_repeated_attempt_does_not_repeat_its_progress(make_bench: MakeBench):
    async def intake(work: TaskContext, prepared: Prepared) -> HandlerResult:
        await work.say(Reply("looking for skills"))
        return HandlerResult(HandlingStatus.ANSWERED, (Reply("done"),))

    bench = make_bench(free_form={ChatMode.SKILL: intake})
    await bench.send("/mode skill")
    for attempt in (1, 2):
        await bench.send("back up", id="same", attempt=attempt)
    assert len(bench.told) == 1


async def test_a_mode_that_nobody_handles_says_so(bench: Bench):
    await bench.send("/mode skill")
    verdict = await bench.send("hello")
    assert verdict.ending is HandlingStatus.FAILED
    assert "/mode chat" in text_of(verdict)


async def test_history_shows_the_conversation_and_reset_forgets_it(bench: Bench):
    await bench.send("hello")
    assert text_of(await bench.send("/history")) == "Human: hello\nAssistant: You said: hello"
    await bench.send("/reset")
    assert text_of(await bench.send("/history")) == NO_HISTORY


async def test_history_shows_the_beginning_of_long_messages_and_how_long_they_are(bench: Bench):
    assert bench.provider is not None
    bench.provider.reply = lambda text: f"A headline\n\n{'long ' * 1_000}"
    await bench.send(f"{'x' * 3_999}.")
    question, answer = text_of(await bench.send("/history")).splitlines()
    assert answer == "Assistant: A headline … (5,011 characters)"
    assert question.startswith("Human: xxx")
    assert question.endswith("x … (4,000 characters)")
    assert len(question) < 200


async def test_the_longest_history_is_one_message(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"})))
    assert bench.provider is not None
    bench.provider.reply = lambda text: "y" * 30_000
    for _ in range(12):
        await bench.send("x" * 4_000)
    assert len(text_of(await bench.send("/history"))) <= 4_000


async def test_topics_of_one_chat_have_histories_of_their_own(bench: Bench):
    await bench.send("hello", thread_id="3")
    assert "hello" in text_of(await bench.send("/history", thread_id="3"))
    assert text_of(await bench.send("/history")) == NO_HISTORY


async def test_buttons_that_nobody_knows_are_ignored_and_removed(bench: Bench):
    for data in ("", "else:where", "mode:dance", "confirm:what", "cancel:gone"):
        assert silent(await bench.press(data, reply_to_id="501"))
    assert bench.api.calls == [("editMessageReplyMarkup", {"chat_id": 7, "message_id": 501})] * 5


async def test_the_outcome_of_a_mode_button_takes_its_place(bench: Bench):
    (reply,) = (await bench.press("mode:skill", reply_to_id="501")).replies
    assert reply.extra == {"edit_message_id": "501"}


async def test_a_skill_that_was_started_by_its_button_reports_in_its_place(bench: Bench):
    bench.skills.names = ["backup"]
    (reply,) = (await bench.press("skill:backup", reply_to_id="501")).replies
    assert (reply.text, reply.extra) == ("done", {"edit_message_id": "501"})
    ((method, params),) = bench.api.calls
    assert (method, params["chat_id"], params["message_id"]) == ("editMessageText", 7, 501)
    assert params["text"] == "Running backup …"
    assert "reply_markup" not in params


async def test_a_skill_that_was_started_by_its_button_and_is_cancelled_says_so_in_its_place(bench: Bench):
    bench.skills.names, bench.skills.hold = ["backup"], asyncio.Event()
    running = asyncio.create_task(bench.press("skill:backup", reply_to_id="501"))
    await bench.settle()
    await bench.send("/cancel")
    (reply,) = (await running).replies
    assert (reply.text, reply.extra) == ("(cancelled)", {"edit_message_id": "501"})


async def test_the_list_of_skills_keeps_its_buttons_when_a_press_is_turned_away(bench: Bench):
    bench.skills.names, bench.skills.hold = ["backup"], asyncio.Event()
    runs = [asyncio.create_task(bench.send("/run backup")) for _ in range(12)]
    await bench.settle()
    (reply,) = (await bench.press("skill:backup", reply_to_id="501")).replies
    assert (reply.text, reply.extra) == (TOO_MANY, {})
    await bench.send("/cancel")
    await asyncio.gather(*runs)


async def test_a_cancel_button_without_a_job_answers_as_the_command_does(bench: Bench):
    assert text_of(await bench.press("cancel:")) == IDLE


async def test_confirm_and_cancel_buttons_of_others_are_handed_on(make_bench: MakeBench):
    async def on_button(received: MessageContext, data: str) -> HandlerResult | None:
        return HandlerResult(HandlingStatus.ANSWERED, (Reply(data),)) if data.endswith("plan-1") else None

    bench = make_bench(on_button=on_button)
    assert text_of(await bench.press("confirm:plan-1")) == "confirm:plan-1"
    assert text_of(await bench.press("cancel:plan-1")) == "cancel:plan-1"
    assert silent(await bench.press("confirm:plan-2"))


async def test_all_commands_are_registered_and_the_admins_for_the_admin_alone(bench: Bench):
    assert await bench.bot.start() == ""
    assert [method for method, _ in bench.api.calls] == ["setMyCommands", "setMyCommands"]
    (for_admin, for_all) = [params for _, params in bench.api.calls]
    assert for_admin["scope"] == {"type": "chat", "chat_id": int(ADMIN)}
    assert [c["command"] for c in for_admin["commands"]] == [*SPECIFIED, "approve", "deny"]
    assert [c["command"] for c in for_all["commands"]] == SPECIFIED
    assert "scope" not in for_all
    assert all(1 <= len(c["description"]) <= 256 for c in for_admin["commands"])


async def test_an_admin_chat_that_is_not_there_yet_keeps_no_menu_from_the_others(bench: Bench):
    bench.api.failures = [BotApiError(400, "Bad Request: chat not found")]
    assert await register_commands(bench.channel, bench.clock, ADMIN) == ""
    assert len(bench.api.calls) == 2


async def test_a_menu_that_cannot_be_registered_is_a_problem_to_show_and_no_error(bench: Bench):
    bench.api.failures = [BotApiError(404, "Not Found")]
    assert "404 Not Found" in await register_commands(bench.channel, bench.clock)
    assert len(bench.api.calls) == 1


async def test_commands_are_registered_as_soon_as_the_service_is_there(bench: Bench):
    bench.api.failures = [BotApiError(502), BotApiError(429, "Too Many Requests", {"retry_after": 40})]
    registering = asyncio.create_task(register_commands(bench.channel, bench.clock))
    for seconds, calls in ((5, 2), (39, 2), (1, 3)):
        await bench.settle()
        await bench.pass_time(seconds)
        assert len(bench.api.calls) == calls
    assert await registering == ""
