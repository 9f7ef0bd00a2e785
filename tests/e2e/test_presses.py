"""Buttons as people meet them: a message has a `call` button, somebody presses it, a trigger runs once."""

import email
import json
import re
import subprocess
from collections.abc import Iterator
from email import policy
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.e2e.station import TOCSIN, WEBHOOK_SECRET, Station, open_station, until
from tests.http_calls import http_call

from tocsin_standins.guildchat.server import OPS

pytestmark = pytest.mark.timeout(120)

ADMIN, STRANGER = 1001, 2005
PUBLIC = "https://tocsin.example"
RULES = r"""
- on: action
  name: 'note\.(\w+)'
  command: >-
    echo "$1 $ACTION_NAME $ACTION_VALUE $ACTION_CHANNEL $ACTION_TARGET $ACTION_KEY by $ACTION_BY" >> "$HOME/pressed"
  reply: false
- on: action
  name: say
  command: 'echo "said $ACTION_VALUE"'
"""
WORKFLOWS = {
    "deploy": "- {name: deploy, type: shell, command: echo deployed}",
    "gate": "- {name: ask, type: wait, approval: true}\n- {name: go, type: shell, command: touch $HOME/passed}",
    "broken": '- {name: try, type: shell, command: test -e "$HOME/mended" && touch "$HOME/repeated"}',
}
PROFILES = """
ops:
- {channel: slack, target: "#ops"}
- {channel: email, target: ops@example.org}
"""


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    """A service with rules, workflows and a profile, for one test: workers may take the tests in any order."""
    with open_station(
        tmp_path,
        allowed=str(ADMIN),
        admin=str(ADMIN),
        triggers=RULES,  # there before the start: a changed file is read once it was not written for a moment
        PUBLIC_URL=PUBLIC,
        RATE_LIMIT_PER_IP="1000",
        ACTION_PEOPLE="slack:U00ALICE1",
        NOTIFY_PROFILE="ops",
        NOTIFY_LEVEL="info",
    ) as station:
        (station.data_dir / "workflows").mkdir()
        for name, steps in WORKFLOWS.items():
            (station.data_dir / "workflows" / f"{name}.yaml").write_text(f"name: {name}\nsteps:\n{steps}\n")
        (station.data_dir / "profiles.yaml").write_text(PROFILES)
        yield station


def send(station: Station, channel: str, target: str, *options: str) -> None:
    """Send a message from the command line."""
    command = [TOCSIN, "send", channel, target, "Disk is full", *options]
    subprocess.run(command, env=station.env, check=True, capture_output=True)


def pressed(station: Station, word: str) -> list[str]:
    """Return the lines that the trigger of `word` wrote."""
    file = station.home / "pressed"
    return [line for line in (file.read_text().splitlines() if file.exists() else []) if line.startswith(f"{word} ")]


def slack_message(station: Station, label: str) -> tuple[str, str, str]:
    """Return channel, timestamp and token of the last message with a button."""
    for item in reversed(station.town.recorder.of("teamchat")):
        assert isinstance(item.body, dict)
        attached = [block for each in item.body.get("attachments") or [] for block in each.get("blocks", ())]
        for block in [*(item.body.get("blocks") or []), *attached]:
            for each in block.get("elements", ()):
                if each["text"]["text"] == label and "value" in each:
                    return item.target, item.id, each["value"]
    raise AssertionError(label)


def test_a_press_on_slack_runs_its_trigger_once_with_what_was_pressed_and_removes_the_button(station: Station):
    send(station, "slack", "#ops", "--action", "call,Acknowledge,note.slack,web1", "--key", "disk-web1")
    channel, ts, token = slack_message(station, "Acknowledge")
    _, calls = station.teamchat(lambda caller: caller.press(token, ts, channel))
    assert [call.status for call in calls] == [200]
    station.wait_until_quiet()
    assert pressed(station, "slack") == ["slack note.slack web1 teamchat #ops disk-web1 by alice"]
    (edit,) = station.town.recorder.of("teamchat", kind="edit")
    assert "Acknowledge" not in json.dumps(edit.body)
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00000BOB"))
    station.wait_until_quiet()
    assert len(pressed(station, "slack")) == 1
    (told,) = [i for i in station.town.recorder.of("teamchat", kind="response") if "Already done" in i.text]
    assert told.text == "Already done: Acknowledge, by alice."


def test_a_press_on_discord_is_deferred_and_runs_its_trigger_once(station: Station):
    send(station, "discord", OPS, "--action", "call,Acknowledge,note.discord,web1")
    (item,) = station.town.recorder.of("guildchat", target=OPS)
    assert isinstance(item.body, dict)
    (button,) = item.body["components"][0]["components"]
    message = {"id": item.id, "channel_id": OPS}
    _, call = station.guildchat(lambda caller: caller.press(button["custom_id"], message))
    assert (call.status, json.loads(call.body)) == (200, {"type": 6})
    station.wait_until_quiet()
    assert len(pressed(station, "discord")) == 1
    (edit,) = station.town.recorder.of("guildchat", kind="edit")
    assert isinstance(edit.body, dict)
    assert edit.body["components"] == []


def test_a_press_on_telegram_by_poll_and_by_webhook_runs_its_trigger_once(station: Station):
    send(station, "telegram", str(ADMIN), "--action", "call,Acknowledge,note.telegram,web1")
    message = station.wait_for(ADMIN, "Disk is full")
    update = station.press(message, "Acknowledge")
    again = json.dumps(update).encode()
    assert station.call("botchat", again, X_Telegram_Bot_Api_Secret_Token=WEBHOOK_SECRET) == 200
    station.wait_until_quiet()
    assert len(pressed(station, "telegram")) == 1
    until(lambda: "reply_markup" not in station.wait_for(ADMIN, "Disk is full"), "the button is gone")


def callbacks(station: Station) -> list[Any]:
    """Return the answers to pressed buttons on Telegram."""
    return list(station.town.recorder.of("botchat", kind="callback"))


def test_a_press_in_a_chat_that_is_not_allowed_is_told_so_and_has_no_effect(station: Station):
    send(station, "telegram", str(STRANGER), "--action", "call,Acknowledge,note.stranger")
    message = station.wait_for(STRANGER, "Disk is full")
    station.press(message, "Acknowledge")
    until(lambda: any("may not use" in item.text for item in callbacks(station)), "an answer")
    station.wait_until_quiet()
    assert pressed(station, "stranger") == []


def test_the_output_of_a_trigger_answers_the_press(station: Station):
    send(station, "telegram", str(ADMIN), "--action", "call,Say,say,hello")
    message = station.shown(ADMIN)[-1]
    station.press(message, "Say")
    station.wait_for(ADMIN, "said hello")


# --- jobs and workflows


def run_statuses(station: Station, kind: str) -> list[str]:
    """Return who started each run of a kind."""
    command = [TOCSIN, "runs", "list", "--kind", kind, "--json"]
    made = subprocess.run(command, env=station.env, check=True, capture_output=True)
    return [run["actor"] for run in json.loads(made.stdout)]


def test_a_button_starts_a_workflow_on_telegram_and_says_where_its_run_is(station: Station):
    send(station, "telegram", str(ADMIN), "--action", "call,Deploy,workflow:deploy")
    station.press(station.shown(ADMIN)[-1], "Deploy")
    told = station.wait_for(ADMIN, "started workflow deploy")
    assert f"{PUBLIC}/#/runs/" in told["text"]
    station.wait_until_quiet()
    assert run_statuses(station, "workflow") == [f"chat:{ADMIN}"]


def test_on_slack_only_who_is_listed_may_start_a_job_and_a_refusal_uses_up_nothing(station: Station):
    subprocess.run([TOCSIN, "cron", "add", "backup", "0 0 1 1 *", "true"], env=station.env, check=True)
    send(station, "slack", "#ops", "--action", "call,Back up,job:backup")
    channel, ts, token = slack_message(station, "Back up")
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00000BOB"))
    station.wait_until_quiet()
    told = [item.text for item in station.town.recorder.of("teamchat", kind="response")]
    assert "You may not start job backup" in told[-1]
    assert "teamchat:U00000BOB" in told[-1]
    assert run_statuses(station, "cron") == []
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00ALICE1"))
    station.wait_until_quiet()
    assert run_statuses(station, "cron") == ["chat:U00ALICE1"]


def test_a_button_for_something_that_does_not_exist_says_so(station: Station):
    send(station, "telegram", str(ADMIN), "--action", "call,Nothing,workflow:nothing", "--action", "call,Nobody,nobody")
    message = station.shown(ADMIN)[-1]
    station.press(message, "Nothing")
    until(lambda: any("There is no workflow nothing" in item.text for item in callbacks(station)), "an answer")
    station.press(message, "Nobody")
    until(lambda: any("Nothing is set up" in item.text for item in callbacks(station)), "an answer")


# --- notices


def start_workflow(station: Station, name: str) -> None:
    """Start a workflow by a button on Telegram."""
    send(station, "telegram", str(ADMIN), "--action", f"call,Start {name},workflow:{name}")
    station.press(station.shown(ADMIN)[-1], f"Start {name}")


def notice_button(station: Station, label: str) -> tuple[str, str, str]:
    """Return the place and the token of a button on Slack, once a notice has it."""

    def look() -> tuple[str, str, str] | None:
        try:
            return slack_message(station, label)
        except AssertionError:
            return None

    return until(look, f"a notice with {label}")


def test_a_notice_of_an_approval_has_buttons_that_only_who_may_decide_can_use(station: Station):
    start_workflow(station, "gate")
    channel, ts, token = notice_button(station, "Approve")
    mails = until(lambda: [m for m in station.town.recorder.of("email") if "gate waits" in m.subject], "a mail")
    assert f"Approve: {PUBLIC}/#/runs/" in str(mails[0].body).replace("=\n", "")
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00000BOB"))
    until(
        lambda: any("You may not do this" in i.text for i in station.town.recorder.of("teamchat", kind="response")),
        "no",
    )
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00ALICE1"))
    until((station.home / "passed").exists, "the step after the approval runs")
    assert [entry["metadata"]["actor"] for entry in station.audited("run.approve")] == ["chat:U00ALICE1"]


def test_a_notice_of_a_failure_has_a_button_that_repeats_the_run(station: Station):
    start_workflow(station, "broken")
    channel, ts, token = notice_button(station, "Retry")
    (station.home / "mended").touch()
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00ALICE1"))
    until((station.home / "repeated").exists, "the run is repeated")


def test_a_message_of_another_sender_cannot_offer_the_buttons_of_notices(station: Station):
    send(station, "slack", "#ops", "--action", "call,Yes,approve,some-run some-step")
    channel, ts, token = slack_message(station, "Yes")
    station.teamchat(lambda caller: caller.press(token, ts, channel, user="U00ALICE1"))
    station.wait_until_quiet()
    told = [item.text for item in station.town.recorder.of("teamchat", kind="response")]
    assert "Nothing is set up for this button" in told[-1]


# --- pages behind signed links


def page(station: Station, address: str, form: dict[str, str] | None = None) -> tuple[int, str]:
    """Open the page of a button as a browser does, or send its form."""
    body = None if form is None else urlencode(form).encode()
    answer = http_call(address.replace(PUBLIC, station.url), body=body)
    return answer.status, answer.body.decode()


def test_a_mail_links_to_a_page_where_reading_changes_nothing_and_the_form_presses_once(station: Station):
    send(station, "email", "ops@example.org", "--action", "call,Acknowledge,note.mail,web1", "--title", "Disk <b>")
    (item,) = [mail for mail in station.town.recorder.of("email") if mail.subject == "Disk <b>"]
    mail = email.message_from_string(str(item.body), policy=policy.default)
    part = mail.get_body(("plain",))
    assert part is not None
    found = re.search(rf"Acknowledge: ({PUBLIC}/a/\S+)", part.get_content())
    assert found, part.get_content()
    for _ in range(100):
        status, text = page(station, found[1])
        assert status == 200
    assert "Disk &lt;b&gt;" in text
    assert station.audited("msg.press") == [
        e for e in station.audited("msg.press") if e["metadata"]["channel"] != "email"
    ]
    nonce = re.search(r'name="press" value="([^"]+)"', text)
    assert nonce
    answers = [page(station, found[1], {"press": nonce[1]}) for _ in range(2)]
    station.wait_until_quiet()
    assert answers[0][0] == 200
    assert "Already done" in answers[1][1]
    assert "Already done: Acknowledge" in page(station, found[1])[1]
    assert len(pressed(station, "mail")) == 1
    assert "by a person with the link" in pressed(station, "mail")[0]


def test_a_link_that_was_guessed_or_belongs_to_a_chat_is_refused(station: Station):
    assert page(station, f"{PUBLIC}/a/{'x' * 22}0.{'y' * 22}", {})[0] == 410
    assert page(station, f"{PUBLIC}/a/nonsense")[0] == 404
    send(station, "slack", "#ops", "--action", "call,By chat,note.chat")
    token = slack_message(station, "By chat")[2]
    assert page(station, f"{PUBLIC}/a/{token.removeprefix('a:')}", {})[0] == 410
    assert pressed(station, "chat") == []
