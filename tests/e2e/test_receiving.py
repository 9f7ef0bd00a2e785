"""Receiving as people meet it: they write on a product, a real `tocsin up` works, they see the answer there."""

import base64
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from tests.e2e.station import TOCSIN, WEBHOOK_SECRET, Station, open_station, until
from tests.http_calls import http_call
from tests.waiting import PATIENCE_S

from tocsin_standins.botchat.world import FORUM_CHAT
from tocsin_standins.guildchat.server import APPLICATION_ID, GENERAL
from tocsin_standins.teamchat import calls as teamchat_calls

AT_ONCE = 32  # messages of one chat that are worked off side by side

pytestmark = pytest.mark.timeout(120)

ADMIN, BOB = 1001, 1002
READER, PAINTER, RUNNER, PLANNER, STRANGER = 2001, 2002, 2003, 2004, 2005
ALLOWED = ",".join(map(str, (ADMIN, BOB, READER, PAINTER, RUNNER, PLANNER, FORUM_CHAT)))
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    """A service for one test: workers may take the tests in any order."""
    with open_station(tmp_path, allowed=ALLOWED, admin=str(ADMIN)) as station:
        yield station


# --- triggers


def test_a_teamchat_message_that_comes_twice_is_answered_once_in_its_thread(station: Station):
    thread = station.town.teamchat.next_ts()
    event = {"type": "message", "user": "U00ALICE1", "text": "uptime web", "channel": "C00000OPS", "thread_ts": thread}
    event |= {"ts": station.town.teamchat.next_ts(), "channel_type": "channel"}
    calls = station.teamchat(lambda caller: caller.event(event, event_id="Ev0TWICE"))
    # Signed anew, as a call is that comes again after a minute.
    calls += station.teamchat(lambda caller: caller.event(event | {"again": True}, event_id="Ev0TWICE"))
    assert [call.status for call in calls] == [200, 200]
    station.wait_until_quiet()
    assert answers(station, "teamchat", "C00000OPS") == [("up web", thread)]
    assert station.last_cause() == "webhook"


def test_a_botchat_message_that_comes_by_poll_and_by_webhook_is_answered_once_in_its_topic(station: Station):
    update = station.say(FORUM_CHAT, "uptime db", thread_id=7)
    again = json.dumps(update).encode()
    assert station.call("botchat", again, X_Botchat_Bot_Api_Secret_Token=WEBHOOK_SECRET) == 200
    station.wait_until_quiet()
    assert answers(station, "botchat", str(FORUM_CHAT)) == [("up db", "7")]
    assert station.last_cause() == "bot"


def test_a_guildchat_command_is_deferred_and_answered_once_in_place(station: Station):
    token, call = station.guildchat(lambda caller: caller.slash("uptime", host="cache"))
    assert (call.status, json.loads(call.body)["type"]) == (200, 5)
    station.wait_until_quiet()
    place = f"{station.town.guildchat.api_url}/webhooks/{APPLICATION_ID}/{token}/messages/@original"
    assert http_call(place, User_Agent="DiscordBot (https://example.org, 1)").json()["content"] == "up cache"
    assert answers(station, "guildchat", GENERAL) == [("up cache", "")]


def test_a_command_that_no_rule_matches_is_told_so_in_private(station: Station):
    station.guildchat(lambda caller: caller.slash("dance"))
    station.teamchat(lambda caller: caller.slash("/dance"))
    station.wait_until_quiet()
    (whispered,) = [item for item in station.town.recorder.of("guildchat") if "/dance" in item.text]
    assert isinstance(whispered.body, dict)
    assert whispered.body["flags"] & 64
    (whispered,) = [item for item in station.town.recorder.of("teamchat", kind="response") if "/dance" in item.text]
    assert isinstance(whispered.body, dict)
    assert whispered.body["response_type"] == "ephemeral"


def test_what_nothing_will_answer_gets_no_eyes_and_what_a_rule_answers_gets_them_once(station: Station):
    silent, _ = station.teamchat(lambda caller: caller.message("@tocsin what a day"))
    heard, _ = station.teamchat(lambda caller: caller.message("@tocsin uptime mail"))
    station.wait_until_quiet()
    eyes = [item.id for item in station.town.recorder.of("teamchat", kind="reaction")]
    assert (silent in eyes, eyes.count(heard)) == (False, 1)


def answers(station: Station, channel: str, target: str = "") -> list[tuple[str, str]]:
    """Return text and thread of all that was sent."""
    return [(item.text, item.thread) for item in station.town.recorder.of(channel, target=target)]


# --- strangers


def test_a_call_that_proves_nothing_has_no_effect(station: Station):
    update = {"update_id": 900_000_000, "message": {"message_id": 1, "date": 1, "text": "uptime forged"}}
    update["message"] |= {"chat": {"id": BOB, "type": "private"}, "from": {"id": BOB, "is_bot": False}}
    before = len(station.stored()), len(station.audited("msg.receive")), len(station.audited("msg.reject"))
    forged = {
        "botchat": {"X_Telegram_Bot_Api_Secret_Token": "a-guess"},
        "teamchat": {"X_Slack_Signature": f"v0={'0' * 64}", "X_Slack_Request_Timestamp": "1700000000"},
        "guildchat": {"X_Signature_Ed25519": "0" * 128, "X_Signature_Timestamp": "1700000000"},
    }
    for channel, proof in forged.items():
        for _ in range(2):
            assert station.call(channel, json.dumps(update).encode(), **proof) == 401
            assert station.call(channel, b"{}") == 401
    after = len(station.stored()), len(station.audited("msg.receive")), len(station.audited("msg.reject"))
    assert after == (before[0], before[1], before[2] + 6), "each reason is told once a minute"
    assert not any("forged" in item.text for item in station.town.recorder.items)


def test_a_stranger_asks_and_is_answered_once_the_admin_has_pressed_approve(station: Station):
    station.say(STRANGER, "uptime early", sender_name="Zoe")
    station.say(STRANGER, "/start", sender_name="Zoe")
    station.wait_for(STRANGER, "access request pending")
    request = station.wait_for(ADMIN, f"/approve {STRANGER}")
    assert "name: Zoe" in request["text"]
    station.press(request, "Approve")
    station.wait_for(STRANGER, "Access granted")
    outcome = station.wait_for(ADMIN, f"Chat {STRANGER} is allowed")
    assert outcome["message_id"] == request["message_id"], "the outcome takes the place of the buttons"
    assert "reply_markup" not in outcome
    station.say(STRANGER, "uptime late", sender_name="Zoe")
    station.wait_for(STRANGER, "up late")
    assert not any("early" in message["text"] for message in station.shown(STRANGER))


# --- questions of workflows


def test_a_question_is_answered_in_the_chat_that_was_asked_and_a_forged_press_is_recorded(station: Station):
    (station.data_dir / "workflows").mkdir(mode=0o700)
    text = "name: ask\nsteps: [{name: ask, type: wait, approval: true, message: Deploy it?}]\n"
    (station.data_dir / "workflows" / "ask.yaml").write_text(text)
    command = [TOCSIN, "workflows", "run", "ask"]
    with subprocess.Popen(command, env=station.env, cwd=station.home, stdout=subprocess.DEVNULL) as child:
        question = deepcopy(station.wait_for(ADMIN, "Deploy it?"))
        station.press({**question, "chat": {"id": BOB}}, "Approve")  # allowed, and not asked
        station.wait_for(BOB, "this chat was not asked")
        station.press(question, "Approve")
        outcome = station.wait_for(ADMIN, "ask: approved")
        assert child.wait(PATIENCE_S) == 0
    assert (outcome["message_id"], "reply_markup" in outcome) == (question["message_id"], False)
    station.press(question, "Reject")
    station.wait_for(ADMIN, "is no longer waiting")
    denied = [entry["metadata"]["actor"] for entry in station.audited("run.decision_denied")]
    assert denied == [f"chat:{BOB}", f"chat:{ADMIN}"]
    assert [entry["metadata"]["actor"] for entry in station.audited("run.approve")] == [f"chat:{ADMIN}"]


# --- conversation


def test_the_chat_model_sees_the_photo_and_its_caption(station: Station):
    file_id = station.town.botchat.add_file(PIXEL, path="photos/file_1.png")
    sizes = [{"file_id": file_id, "file_unique_id": "u", "width": 1, "height": 1, "file_size": len(PIXEL)}]
    station.say(PAINTER, photo=sizes, caption="What is on it?")
    answer = station.wait_for(PAINTER, "Images: 1")
    assert "What is on it?" in answer["text"]
    question = next(q for q in station.town.recorder.of("chatmodel", kind="question") if "on it" in q.text)
    assert isinstance(question.body, dict)
    assert question.body["images"] == 1


def test_the_chat_model_reads_the_text_of_a_document(station: Station):
    content = b"The bell rings at noon.\n"
    file_id = station.town.botchat.add_file(content, path="documents/bell.txt")
    document = {"file_id": file_id, "file_unique_id": "u", "file_name": "bell.txt", "mime_type": "text/plain"}
    station.say(READER, document=document | {"file_size": len(content)}, caption="When?")
    answer = station.wait_for(READER, "The bell rings at noon.")
    assert "When?" in answer["text"]
    assert "bell.txt" in answer["text"]


# --- skills


def test_the_button_of_a_skill_runs_it_and_shows_its_result(station: Station):
    station.say(RUNNER, "/skills")
    keyboard = station.wait_for(RUNNER, "Installed skills:")
    station.press(keyboard, "hello")
    result = station.wait_for(RUNNER, "hello everybody")
    assert result["message_id"] == keyboard["message_id"], "the result takes the place of the buttons"
    (entry,) = [e for e in station.audited("skill.run") if e["metadata"]["actor"] == f"chat:{RUNNER}"]
    assert (entry["metadata"]["mode"], entry["metadata"]["ok"]) == ("sandboxed", True)


def test_a_trigger_that_runs_a_skill_writes_one_entry_with_the_id_of_the_run(station: Station):
    station.say(RUNNER, "cheer Ada")
    station.wait_for(RUNNER, "hello Ada")
    entries = [e for e in station.audited("trigger.run") if e["metadata"]["action"] == "skill"]
    assert [entry["metadata"]["status"] for entry in entries] == ["succeeded"]
    assert entries[0]["metadata"]["run"]
    assert [e for e in station.audited("skill.run") if e["source"] == "triggers"] == []


def test_skill_mode_proposes_a_plan_carries_it_out_once_confirmed_and_reports(station: Station):
    station.say(PLANNER, "/mode skill")
    station.wait_for(PLANNER, "Skill mode")
    wanted = [{"requirement": "greet the team", "skill": "hello"}, {"requirement": "make tea", "skill": ""}]
    station.town.chatmodel.will_answer({"requirements": wanted})
    station.say(PLANNER, "Greet the team and make tea")
    plan = station.wait_for(PLANNER, "Shall I run this?")
    assert "1. greet the team → hello\n2. make tea → no matching skill" in plan["text"]
    assert not [e for e in station.audited("skill.run") if e["metadata"]["actor"] == f"chat:{PLANNER}"]
    station.press(plan, "Run")
    report = station.wait_for(PLANNER, "✓ 1. greet the team\nhello everybody\ngreet the team")
    assert "– 2. make tea" in report["text"]
    assert report["message_id"] == plan["message_id"], "the report takes the place of the plan"
    actions = ("intake.confirmed", "intake.task_completed")
    assert [len(station.audited(action)) for action in actions] == [1, 1]
    [completed] = station.audited("intake.task_completed")
    assert completed["metadata"]["run"]
    assert not [e for e in station.audited("skill.run") if e["metadata"]["actor"] == f"chat:{PLANNER}"], "one entry"


# --- the end of a process


def test_what_a_stopped_process_had_not_answered_the_next_one_answers_and_nothing_twice(tmp_path: Path):
    with open_station(tmp_path, allowed=str(BOB), admin=str(ADMIN)) as station:
        words = [f"w{number}" for number in range(AT_ONCE + 8)]

        async def send(caller: teamchat_calls.TeamchatCaller) -> None:
            for word in words:
                _, calls = await caller.message(f"hold {word}")
                assert [call.status for call in calls] == [200]

        station.say(BOB, "hold bob")
        station.teamchat(send)
        until(lambda: station.stored().count("working") == AT_ONCE + 1, "everybody works")
        station.ask_to_end()
        until(lambda: "Finished server process" in station.log.read_text(), "nothing new comes in")
        station.open_gate()
        station.wait_for_end()
        # One that was claimed just before the stop, but not begun, is given back.
        assert station.stored().count("new") >= 8, "it stopped before the answer"
        station.say(BOB, "hold meanwhile")
        station.start()
        station.wait_until_quiet()
        assert set(station.stored()) == {"answered"}
        sent = Counter(text for channel in ("teamchat", "botchat") for text, _ in answers(station, channel))
    assert sent == Counter(f"done {word}" for word in (*words, "bob", "meanwhile"))
