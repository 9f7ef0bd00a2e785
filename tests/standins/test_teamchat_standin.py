import pytest

from tocsin_standins import Fault
from tocsin_standins.pacing import BURST
from tocsin_standins.teamchat.server import TeamChat


@pytest.fixture
async def teamchat(clock):
    async with TeamChat(clock=clock.now) as teamchat:
        yield teamchat


@pytest.fixture
def call(teamchat, http):
    async def call(method="chat.postMessage", *, token=teamchat.token, **args):
        headers = {"Content-Type": "application/json; charset=utf-8"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        async with http.post(f"{teamchat.api_url}/{method}", json=args, headers=headers) as answer:
            return answer.status, await answer.json(), answer.headers

    return call


@pytest.fixture
def error(call):
    async def error(method="chat.postMessage", **args):
        status, body, _ = await call(method, **args)
        assert (status, body["ok"]) == (200, False)
        return body["error"]

    return error


async def test_a_message_is_answered_with_channel_and_timestamp(teamchat, call):
    status, body, _ = await call(channel="C0GENERAL", text="a &lt;b&gt; &amp; c")
    assert (status, body["ok"], body["channel"]) == (200, True, "C0GENERAL")
    assert body["message"]["text"] == "a &lt;b&gt; &amp; c"
    [received] = teamchat.recorder.of("teamchat")
    assert (received.text, received.id, received.target) == ("a <b> & c", body["ts"], "C0GENERAL")
    assert "warning" not in body


async def test_timestamps_are_unique_and_rise_even_when_the_clock_stands(call):
    stamps = [(await call(channel="C0GENERAL", text="x"))[1]["ts"] for _ in range(3)]
    assert stamps == sorted(set(stamps))


async def test_a_name_is_answered_with_the_id(call):
    assert (await call(channel="#ops", text="x"))[1]["channel"] == "C00000OPS"


async def test_a_users_id_opens_the_direct_message(call):
    assert (await call(channel="U00ALICE1", text="x"))[1]["channel"] == "D00ALICE1"
    assert (await call(channel="D00ALICE1", text="x"))[1]["channel"] == "D00ALICE1"


async def test_a_thread_is_kept(teamchat, call):
    _, parent, _ = await call(channel="C0GENERAL", text="parent")
    _, reply, _ = await call(channel="C0GENERAL", text="reply", thread_ts=parent["ts"])
    assert reply["message"]["thread_ts"] == parent["ts"]
    assert teamchat.recorder.of("teamchat")[1].thread == parent["ts"]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("C0NOWHERE", "channel_not_found"),
        ("#nowhere", "channel_not_found"),
        ("@alice", "channel_not_found"),
        ("C0PRIVATE", "channel_not_found"),
        ("C0ARCHIVE", "is_archived"),
    ],
)
async def test_a_channel_out_of_reach_is_an_error_with_status_200(error, target, expected):
    assert await error(channel=target, text="x") == expected


async def test_a_public_channel_needs_an_invitation_without_the_public_scope(teamchat, call, error):
    assert (await call(channel="C0PUBLIC1", text="x"))[1]["ok"] is True
    teamchat.scopes.discard("chat:write.public")
    assert await error(channel="C0PUBLIC1", text="x") == "not_in_channel"


async def test_the_token_is_checked(error):
    assert await error(token="", channel="C0GENERAL", text="x") == "not_authed"
    assert await error(token="xoxb-wrong", channel="C0GENERAL", text="x") == "invalid_auth"


async def test_a_token_inside_a_json_body_is_not_looked_at(teamchat, http):
    body = {"token": teamchat.token, "channel": "C0GENERAL", "text": "x"}
    async with http.post(f"{teamchat.api_url}/chat.postMessage", json=body) as answer:
        assert (await answer.json())["error"] == "not_authed"
    async with http.post(f"{teamchat.api_url}/chat.postMessage", data=body) as answer:
        assert (await answer.json())["ok"] is True


async def test_a_missing_scope_is_named(teamchat, call):
    teamchat.scopes = {"im:history"}
    _, body, _ = await call(channel="C0GENERAL", text="x")
    assert (body["error"], body["needed"], body["provided"]) == ("missing_scope", "chat:write", "im:history")


async def test_text_is_neither_empty_nor_longer_than_forty_thousand(call, error):
    assert await error(channel="C0GENERAL", text=" \n") == "no_text"
    assert await error(channel="C0GENERAL", text="&amp;" * 8001) == "msg_too_long"
    assert (await call(channel="C0GENERAL", text="&amp;" * 8000))[1]["ok"] is True


async def test_a_missing_channel_is_named(call):
    _, body, _ = await call(text="x")
    assert body["error"] == "invalid_arguments"
    assert body["response_metadata"]["messages"] == ["[ERROR] missing required field: channel"]


@pytest.mark.parametrize(
    ("content_type", "data", "expected"),
    [
        ("application/json; charset=utf-8", b"{", "invalid_json"),
        ("application/json; charset=utf-8", b"[]", "json_not_object"),
        ("application/json; charset=koi8-r", b"{}", "invalid_charset"),
        ("application/xml", b"<a/>", "invalid_post_type"),
    ],
)
async def test_a_body_that_is_not_understood_is_refused(teamchat, http, content_type, data, expected):
    headers = {"Authorization": f"Bearer {teamchat.token}", "Content-Type": content_type}
    url = f"{teamchat.api_url}/chat.postMessage"
    async with http.post(url, data=data, headers=headers) as answer:
        assert (answer.status, (await answer.json())["error"]) == (200, expected)


async def test_json_without_charset_is_taken_with_a_warning(teamchat, http):
    headers = {"Authorization": f"Bearer {teamchat.token}"}
    body = {"channel": "C0GENERAL", "text": "x"}
    async with http.post(f"{teamchat.api_url}/chat.postMessage", json=body, headers=headers) as answer:
        assert (await answer.json())["warning"] == "missing_charset"


async def test_auth_test_says_who_the_bot_is_and_what_it_may(call):
    _, body, headers = await call("auth.test")
    assert (body["user"], body["user_id"], body["bot_id"]) == ("tocsin", "U0STANDIN", "B0STANDIN")
    assert "chat:write" in headers["x-oauth-scopes"].split(",")


async def test_an_unknown_method_is_an_error(error):
    assert await error("chat.shout") == "unknown_method"


async def test_a_reaction_is_added_once(teamchat, call, error):
    _, posted, _ = await call(channel="C0GENERAL", text="x")
    reaction = {"channel": "C0GENERAL", "timestamp": posted["ts"], "name": "eyes"}
    assert (await call("reactions.add", **reaction))[1] == {"ok": True}
    assert await error("reactions.add", **reaction) == "already_reacted"
    assert await error("reactions.add", **{**reaction, "channel": "#general"}) == "channel_not_found"
    assert [r.text for r in teamchat.recorder.of(kind="reaction")] == ["eyes"]


async def test_a_thread_shows_a_status(teamchat, call):
    args = {"channel_id": "D00ALICE1", "thread_ts": "1.000001", "status": "is thinking…"}
    assert (await call("assistant.threads.setStatus", **args))[1]["ok"] is True
    assert [a.text for a in teamchat.recorder.of(kind="action")] == ["is thinking…"]


async def test_one_message_a_second_per_channel_after_a_short_burst_when_paced(teamchat, call, clock):
    teamchat.paced = True
    for _ in range(BURST):
        assert (await call(channel="C0GENERAL", text="1"))[1]["ok"] is True
    status, body, headers = await call(channel="C0GENERAL", text="2")
    assert (status, body, headers["Retry-After"]) == (429, {"ok": False, "error": "ratelimited"}, "1")
    assert (await call(channel="C00000OPS", text="3"))[1]["ok"] is True
    clock.advance(1)
    assert (await call(channel="C0GENERAL", text="4"))[1]["ok"] is True
    assert [m.text for m in teamchat.recorder.of()] == [*["1"] * BURST, "3", "4"]


async def test_faults_speak_the_products_language(teamchat, call, error):
    teamchat.faults.push(Fault.error("fatal_error"), Fault.rate_limited(2.5))
    assert await error(channel="C0GENERAL", text="x") == "fatal_error"
    status, body, headers = await call(channel="C0GENERAL", text="x")
    assert (status, body["error"], headers["Retry-After"]) == (429, "ratelimited", "3")
    assert teamchat.recorder.items == ()


async def test_a_response_url_works_five_times_without_a_token(teamchat, http):
    url = teamchat.open_response_url()
    statuses = []
    for number in range(6):
        async with http.post(url, json={"text": f"answer {number}"}) as answer:
            statuses.append(answer.status)
    assert statuses == [200] * 5 + [404]
    assert len(teamchat.recorder.of(kind="response")) == 5


async def test_a_response_url_ends_after_half_an_hour(teamchat, http, clock):
    url = teamchat.open_response_url()
    clock.advance(1801)
    async with http.post(url, json={"text": "late"}) as answer:
        assert answer.status == 404


async def test_the_token_is_not_recorded(teamchat, http):
    body = {"token": teamchat.token, "channel": "C0GENERAL", "text": "x"}
    async with http.post(f"{teamchat.api_url}/chat.postMessage", data=body):
        pass
    assert teamchat.token not in str(teamchat.recorder.items)
