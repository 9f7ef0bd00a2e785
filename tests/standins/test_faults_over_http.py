"""The faults every HTTP stand-in shows, seen by a plain client."""

import asyncio
import json

import aiohttp
import pytest
from tests.waiting import PATIENCE_S

from tocsin_standins import Fault
from tocsin_standins.teamchat.server import TeamChat


@pytest.fixture
def post(town, http):
    def send(text="x"):
        url = f"{town.teamchat.api_url}/chat.postMessage"
        headers = {"Authorization": f"Bearer {town.teamchat.token}"}
        body = {"channel": "#general", "text": text}
        return http.post(url, json=body, headers=headers, allow_redirects=False)

    return send


async def test_a_reset_leaves_nothing_behind(town, post):
    town.teamchat.faults.push(Fault.reset())
    with pytest.raises(aiohttp.ClientOSError, match="reset"):
        await post()
    assert town.recorder.of("teamchat") == []


async def test_a_reset_after_accept_leaves_the_message_behind(town, post):
    town.teamchat.faults.push(Fault.reset_after_accept())
    with pytest.raises(aiohttp.ClientOSError, match="reset"):
        await post("once")
    assert [(m.text, m.fault) for m in town.recorder.of("teamchat")] == [("once", "reset_after_accept")]


async def test_a_gateway_error_shows_a_page_and_takes_nothing_in(town, post):
    town.teamchat.faults.push(Fault.status(503, "<h1>busy</h1>"))
    async with post() as answer:
        assert (answer.status, await answer.text()) == (503, "<h1>busy</h1>")
    assert town.recorder.of("teamchat") == []


async def test_a_gateway_error_may_hide_an_accepted_message(town, post):
    town.teamchat.faults.push(Fault.status(504, accept=True))
    async with post() as answer:
        assert answer.status == 504
    assert len(town.recorder.of("teamchat")) == 1


async def test_a_captive_portal_answers_200_with_a_page(town, post):
    town.teamchat.faults.push(Fault.html_200())
    async with post() as answer:
        assert (answer.status, answer.content_type) == (200, "text/html")


async def test_a_redirect_points_elsewhere(town, post):
    town.teamchat.faults.push(Fault.redirect("http://127.0.0.1:9/steal", 307))
    async with post() as answer:
        assert (answer.status, answer.headers["Location"]) == (307, "http://127.0.0.1:9/steal")


async def test_broken_json_is_the_right_answer_cut_in_the_middle(town, post):
    town.teamchat.faults.push(Fault.broken_json())
    async with post() as answer:
        cut = await answer.text()
    assert cut.startswith('{"ok": true')
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(cut)
    assert len(town.recorder.of("teamchat")) == 1


async def test_a_stall_answers_late_but_has_taken_the_message_in(town, post):
    town.teamchat.faults.push(Fault.stall(0.01), Fault.stall(86_400))
    async with post("slow") as answer:
        assert answer.status == 200
    asking = asyncio.ensure_future(post("slower").__aenter__())
    await town.recorder.wait_for(2, timeout_s=PATIENCE_S)
    async with post("later") as answer:
        assert answer.status == 200
    assert not asking.done()
    assert [m.text for m in town.recorder.of("teamchat")] == ["slow", "slower", "later"]
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_a_stall_without_accept_forgets_a_caller_who_left(http, until):
    async with TeamChat() as teamchat:
        url, headers = f"{teamchat.api_url}/chat.postMessage", {"Authorization": f"Bearer {teamchat.token}"}
        teamchat.faults.push(Fault.stall(86_400, accept=False))
        asking = asyncio.ensure_future(http.post(url, json={"channel": "#general", "text": "gone"}, headers=headers))
        await until(lambda: teamchat.requests)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        # Answered on a new connection: the end of the first one has been read before.
        async with http.post(url, json={"channel": "#general", "text": "stays"}, headers=headers) as answer:
            assert answer.status == 200
    # The end of the stand-in has ended the stall.
    assert [m.text for m in teamchat.recorder.of("teamchat")] == ["stays"]


async def test_a_dripping_answer_arrives_byte_by_byte_and_is_right(town, post):
    town.teamchat.faults.push(Fault.drip(0.0001))
    async with post() as answer:
        first = await answer.content.readany()
        rest = await answer.content.read()
    assert len(first) < 50
    assert json.loads(first + rest)["ok"] is True


async def test_an_endless_body_outgrows_any_limit(town, post):
    town.teamchat.faults.push(Fault.endless_body())
    async with post() as answer:
        received = 0
        while received < 300_000:
            received += len(await answer.content.readany())
        answer.close()


async def test_stopping_does_not_wait_for_a_stalled_answer(http, until):
    async with TeamChat() as teamchat:
        teamchat.faults.push(Fault.stall(86_400))
        asking = asyncio.ensure_future(http.get(f"{teamchat.api_url}/auth.test"))
        await until(lambda: teamchat.requests)
    await asyncio.gather(asking, return_exceptions=True)


async def test_another_process_can_script_faults_and_read_what_came(town, http, post):
    control = f"{town.teamchat.url}/_standin"
    script = {"faults": [{"kind": "status", "http_status": 502}], "times": 2}
    async with http.post(f"{control}/faults", json=script) as answer:
        assert answer.status == 201
        assert len((await answer.json())["faults"]) == 2
    for expected in (502, 502, 200):
        async with post("through") as answer:
            assert answer.status == expected
    async with http.get(f"{control}/received") as answer:
        assert [m["text"] for m in (await answer.json())["received"]] == ["through"]
    async with http.delete(f"{control}/received") as answer:
        assert answer.status == 204
    assert town.recorder.items == ()


async def test_a_malformed_fault_script_is_refused_with_the_reason(town, http):
    url = f"{town.teamchat.url}/_standin/faults"
    async with http.post(url, json=[{"kind": "flood"}]) as answer:
        assert answer.status == 400
        assert "unknown fault kind 'flood'" in (await answer.json())["error"]


async def test_a_web_page_cannot_script_faults_behind_the_users_back(town, http):
    url = f"{town.teamchat.url}/_standin/faults"
    async with http.post(url, data="[]", headers={"Content-Type": "text/plain"}) as answer:
        assert answer.status == 415


async def test_faults_can_be_taken_back(town, http, post):
    town.teamchat.faults.push(Fault.reset())
    town.teamchat.faults.hold(Fault.reset())
    async with http.delete(f"{town.teamchat.url}/_standin/faults"):
        pass
    async with post() as answer:
        assert answer.status == 200
