"""Settings of channels: listed without secrets, verified, stored, and used for the next send."""

import pytest
from tests.facts import mentions

from tocsin.core.http.transport import HttpResponse

URL = "/api/settings/channels/botchat"
TOKEN = "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"  # the shape of one
GIVEN = {"settings": {"BOTCHAT_BOT_TOKEN": TOKEN}}
BOT = HttpResponse(200, {}, b'{"ok": true, "result": {"id": 1, "username": "ops_bot"}}')
WRONG = HttpResponse(401, {}, b'{"ok": false, "error_code": 401, "description": "Unauthorized"}')
SENT = HttpResponse(200, {}, b'{"ok": true, "result": {"message_id": 7}}')


def env_file(program):
    return program.settings.own_file


async def test_the_settings_of_a_channel_are_listed_without_the_values_of_secrets(whole):
    found = (await whole.get("/api/settings/channels/slack")).json()
    token = found["items"][0]
    assert (token["key"], token["required"], token["secret"], token["value"]) == ("TEAMCHAT_BOT_TOKEN", True, True, "")
    assert (token["given"], token["fixed_by"]) == (True, "environment")
    assert found["docs"] == "/docs/channels/teamchat.html"


async def test_a_connected_channel_is_stored_and_sends_at_once(whole, transport, program):
    transport.script = [BOT, SENT]
    answer = await whole.post(URL, GIVEN)
    assert (answer.status, answer.json()["message"]) == (200, "connected as ops_bot")
    assert answer.json()["restart_required"]
    assert f"BOTCHAT_BOT_TOKEN={TOKEN}" in env_file(program).read_text()
    assert env_file(program).stat().st_mode & 0o777 == 0o600
    sent = await whole.post("/api/msg/send", {"channel": "telegram", "target": "42", "message": "hello"})
    assert (sent.status, sent.json()["ok"]) == (200, True)
    listed = {item["channel"]: item for item in (await whole.get("/api/msg/channels")).json()["items"]}
    assert listed["botchat"]["configured"]


async def test_neither_the_answers_nor_the_audit_log_contain_the_secret(whole, transport, program):
    transport.script = [BOT]
    answers = [await whole.post(URL, GIVEN), await whole.get(URL), await whole.get("/api/settings/overview")]
    assert not [answer for answer in answers if TOKEN in answer.body.decode()]
    entry = program.audit.log.tail(1)[0]
    assert (entry.action, entry.metadata["settings"], entry.metadata["ok"]) == (
        "channel.connect",
        ["BOTCHAT_BOT_TOKEN"],
        True,
    )
    assert TOKEN not in repr(entry)
    assert TOKEN not in program.settings.redact(f"token {TOKEN}")


async def test_refused_credentials_are_not_stored_and_the_problem_points_at_the_field(whole, transport, program):
    transport.script = [WRONG]
    answer = await whole.post(URL, GIVEN)
    assert (answer.status, answer.json()["code"]) == (422, "validation-failed")
    assert answer.json()["errors"][0]["pointer"] == "#/settings/BOTCHAT_BOT_TOKEN"
    assert "@BotFather" in answer.json()["errors"][0]["detail"]
    assert not env_file(program).read_text()
    assert not program.audit.log.tail(1)[0].metadata["ok"]
    assert "botchat" not in program.registry.configured()


async def test_a_provider_that_does_not_answer_is_a_502_and_nothing_is_stored(whole, transport, program):
    transport.script = [HttpResponse(503, {}, b"")]
    answer = await whole.post(URL, GIVEN)
    assert (answer.status, answer.json()["code"]) == (502, "delivery-failed")
    assert not env_file(program).read_text()


@pytest.mark.parametrize(
    ("values", "name", "code"),
    [
        ({}, "", "missing"),
        ({"BOTCHAT_BOT_TOKEN": "nonsense"}, "BOTCHAT_BOT_TOKEN", "bad-value"),
        ({"BOTCHAT_BOT_TOKEN": f"{TOKEN}\nDASHBOARD_PASS=x"}, "BOTCHAT_BOT_TOKEN", "bad-value"),
        ({"DASHBOARD_PASS": "x"}, "DASHBOARD_PASS", "unknown-key"),
        ({"BOTCHAT_PARSE_MODE": "HTML"}, "BOTCHAT_BOT_TOKEN", "missing"),
    ],
)
async def test_invalid_settings_are_refused_by_name_before_any_call(whole, transport, program, values, name, code):
    answer = await whole.post(URL, {"settings": values})
    assert (answer.status, answer.json()["code"]) == (422, "validation-failed")
    assert (name, code) in {(each["key"], each["code"]) for each in answer.json()["errors"]}
    assert not transport.sent
    assert not env_file(program).read_text()


async def test_a_setting_of_the_environment_is_not_overwritten_silently(whole, program):
    answer = await whole.post(
        "/api/settings/channels/teamchat", {"settings": {"TEAMCHAT_BOT_TOKEN": "xoxb-" + "1" * 30}}
    )
    [error] = answer.json()["errors"]
    assert (answer.status, error["code"]) == (422, "conflict")
    assert mentions(error["detail"], "environment")


async def test_an_unwritable_settings_file_is_reported_and_the_channel_is_not_changed(whole, transport, program):
    env_file(program).unlink()
    env_file(program).mkdir()
    transport.script = [BOT]
    answer = await whole.post(URL, GIVEN)
    assert (answer.status, answer.json()["code"]) == (503, "not-ready")
    assert str(env_file(program)) in answer.json()["detail"]
    assert "botchat" not in program.registry.configured()


async def test_an_unknown_channel_is_not_found(whole):
    assert (await whole.get("/api/settings/channels/pager")).status == 404
