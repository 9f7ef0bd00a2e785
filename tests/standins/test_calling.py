"""The stand-ins call a webhook as the products do: signed, with a deadline, with retries, with their own checks."""

import asyncio
import hmac
import json
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl

import pytest
from aiohttp import web
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from tests.waiting import LIMITS_S
from tests.web_server import web_server

from tocsin_standins.calling import WebhookAttempt
from tocsin_standins.guildchat import calls as guildchat_calls
from tocsin_standins.guildchat.server import ALICE, APPLICATION_ID, GENERAL, GuildChat
from tocsin_standins.teamchat import calls as teamchat_calls
from tocsin_standins.teamchat.server import BOT_USER_ID, SIGNING_SECRET, TeamChat


class Hook:
    """A webhook that keeps what came and answers as it is told, 200 without a word by default."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, bytes]] = []
        self.hangs = 0
        self.echoes = False
        self.closing = asyncio.Event()

    async def handle(self, request: web.Request) -> web.Response:
        self.calls.append((dict(request.headers), await request.read()))
        if self.hangs:
            self.hangs -= 1
            await self.closing.wait()
        if self.echoes:
            return web.json_response({"challenge": (await request.json())["challenge"]})
        status, body = self.answers.pop(0) if self.answers else (200, b"")
        return web.Response(status=status, body=body)


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    async with web_server(web.post("/", hook.handle)) as url:
        hook.url = f"{url}/"
        yield hook
        hook.closing.set()


class Naps:
    """Sleeps at once, and knows how long it would have been."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
async def slack(clock) -> AsyncIterator[TeamChat]:
    async with TeamChat(clock=clock.now) as slack:
        yield slack


@pytest.fixture
async def discord(clock) -> AsyncIterator[GuildChat]:
    async with GuildChat(clock=clock.now) as discord:
        yield discord


def outcomes(calls: list[WebhookAttempt]) -> list[tuple[int, str]]:
    return [(call.status, call.failure) for call in calls]


# --- Slack


async def test_slack_signs_the_raw_body_with_the_time(slack, hook):
    await teamchat_calls.TeamchatCaller(slack, hook.url).slash("/status", "a & b")
    headers, body = hook.calls[0]
    assert headers["X-Slack-Request-Timestamp"] == "1800000000"
    digest = hmac.new(SIGNING_SECRET.encode(), b"v0:1800000000:" + body, "sha256").hexdigest()
    assert headers["X-Slack-Signature"] == f"v0={digest}"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    form = dict(parse_qsl(body.decode()))
    assert (form["command"], form["text"], form["user_name"]) == ("/status", "a &amp; b", "alice")


async def test_slack_sends_an_event_again_at_once_after_one_and_after_five_minutes(slack, hook, naps):
    hook.answers += [(500, b""), (302, b""), (404, b""), (500, b"")]
    caller = teamchat_calls.TeamchatCaller(slack, hook.url, sleep=naps)
    calls = await caller.event({"type": "message"})
    assert outcomes(calls) == [(500, "http_error"), (302, "http_error"), (404, "http_error"), (500, "http_error")]
    assert (naps.slept, caller.calls) == ([0.0, 60.0, 300.0], calls)
    retries = [(h.get("X-Slack-Retry-Num"), h.get("X-Slack-Retry-Reason")) for h, _ in hook.calls]
    assert retries == [(None, None), ("1", "http_error"), ("2", "http_error"), ("3", "http_error")]
    assert len({json.loads(body)["event_id"] for _, body in hook.calls}) == 1


async def test_slack_waits_so_long_for_an_answer_and_tells_the_reason_with_the_retry(slack, hook, naps):
    for deadline_s in LIMITS_S:
        hook.hangs, hook.calls = 1, []
        caller = teamchat_calls.TeamchatCaller(slack, hook.url, deadline_s=deadline_s, sleep=naps)
        calls = await caller.event({"type": "message"})
        if len(calls) == len(hook.calls) == 2:  # on a busy machine, the first one may not get there in so little time
            break
    assert outcomes(calls) == [(0, "http_timeout"), (200, "")]
    assert calls[0].elapsed_s >= deadline_s
    assert hook.calls[1][0]["X-Slack-Retry-Reason"] == "http_timeout"


async def test_slack_calls_a_command_once(slack, hook):
    hook.answers += [(500, b"")]
    url, calls = await teamchat_calls.TeamchatCaller(slack, hook.url).slash("/status")
    assert outcomes(calls) == [(500, "http_error")]
    assert url.startswith(slack.url)


async def test_nobody_listens(slack, naps):
    calls = await teamchat_calls.TeamchatCaller(slack, "http://127.0.0.1:1/", sleep=naps).event({"type": "message"})
    assert outcomes(calls) == [(0, "connection_failed")] * 4


async def test_slack_sends_a_mention_in_a_channel_twice_and_in_private_once(slack, hook):
    caller = teamchat_calls.TeamchatCaller(slack, hook.url)
    ts, _ = await caller.message("@tocsin <hi>")
    events = [json.loads(body)["event"] for _, body in hook.calls]
    assert [(e["type"], e["ts"], e["text"]) for e in events] == [
        ("message", ts, f"<@{BOT_USER_ID}> &lt;hi&gt;"),
        ("app_mention", ts, f"<@{BOT_USER_ID}> &lt;hi&gt;"),
    ]
    await caller.message("@tocsin hi", channel="D00ALICE1")
    assert len(hook.calls) == 3


async def test_slack_takes_an_address_that_gives_the_challenge_back(slack, hook):
    caller = teamchat_calls.TeamchatCaller(slack, hook.url)
    hook.answers += [(200, b'{"challenge":"x"}')]
    assert not await caller.check_address()
    hook.echoes = True
    assert await caller.check_address()


async def test_slack_sends_a_button_with_an_address_that_answers_it(slack, hook, http):
    url, _ = await teamchat_calls.TeamchatCaller(slack, hook.url).press("go", "1800000000.000001")
    payload = json.loads(dict(parse_qsl(hook.calls[0][1].decode()))["payload"])
    assert (payload["type"], payload["actions"][0]["value"], payload["response_url"]) == ("block_actions", "go", url)
    async with http.post(url, json={"text": "done"}) as answer:
        assert answer.status == 200
    assert [item.text for item in slack.recorder.of("teamchat", kind="response")] == ["done"]


# --- Discord


async def test_discord_signs_time_and_body(discord, hook):
    await guildchat_calls.GuildchatCaller(discord, hook.url).slash("ask", question="why", loud=True, times=2, rate=0.5)
    headers, body = hook.calls[0]
    proof = bytes.fromhex(headers["X-Signature-Ed25519"])
    key = VerifyKey(bytes.fromhex(guildchat_calls.PUBLIC_KEY))
    key.verify(headers["X-Signature-Timestamp"].encode() + body, proof)
    document = json.loads(body)
    assert [(o["type"], o["value"]) for o in document["data"]["options"]] == [(3, "why"), (5, True), (4, 2), (10, 0.5)]
    assert document["member"]["user"]["id"] == ALICE


async def test_discord_probes_an_address_with_a_wrong_signature(discord, hook):
    caller = guildchat_calls.GuildchatCaller(discord, hook.url)
    hook.answers += [(200, b'{"type":1}'), (200, b'{"type":1}')]
    assert not await caller.check_address()
    hook.answers += [(200, b'{"type":1}'), (401, b"")]
    assert await caller.check_address()
    hook.answers += [(204, b""), (401, b"")]
    assert await caller.check_event_address()
    headers, body = hook.calls[-1]
    key = VerifyKey(bytes.fromhex(guildchat_calls.PUBLIC_KEY))
    with pytest.raises(BadSignatureError):
        key.verify(headers["X-Signature-Timestamp"].encode() + body, bytes.fromhex(headers["X-Signature-Ed25519"]))


async def test_discord_sends_an_event_again_for_ten_minutes(discord, hook, naps):
    hook.answers += [(500, b"")] * 9
    calls = await guildchat_calls.GuildchatCaller(discord, hook.url, sleep=naps).event("ENTITLEMENT_CREATE", {})
    assert (len(calls), sum(naps.slept)) == (6, 600.0)
    assert len({body for _, body in hook.calls}) == 1


async def follow_up(discord, http, token: str, *, original: bool = True, method: str = "PATCH") -> tuple[int, int]:
    url = f"{discord.api_url}/webhooks/{APPLICATION_ID}/{token}" + ("/messages/@original" if original else "")
    headers = {"User-Agent": "DiscordBot (https://tocsin.example, 1.0)"}
    async with http.request(method, url, json={"content": "x"}, headers=headers) as answer:
        code = (await answer.json()).get("code", 0) if answer.status != 204 else 0
        return answer.status, code


async def test_a_token_works_from_the_first_answer_on(discord, hook, http):
    caller = guildchat_calls.GuildchatCaller(discord, hook.url)
    hook.answers += [(500, b""), (200, b'{"type":5}')]
    unanswered, _ = await caller.slash("ask")
    assert await follow_up(discord, http, unanswered) == (404, 10015)
    deferred, _ = await caller.slash("ask")
    assert await follow_up(discord, http, deferred) == (200, 0)
    assert [item.kind for item in discord.recorder.items] == ["message"]


async def test_the_original_of_a_button_is_the_message_it_is_on(discord, hook, http):
    choice = discord.put(GENERAL, "Deploy?")
    hook.answers += [(200, b'{"type":6}')]
    token, _ = await guildchat_calls.GuildchatCaller(discord, hook.url).press("yes", choice)
    await follow_up(discord, http, token)
    assert [(item.kind, item.id) for item in discord.recorder.items] == [("edit", choice["id"])]


async def test_an_answer_at_once_is_a_message_and_can_be_deleted(discord, hook, http):
    hook.answers += [(200, b'{"type":4,"data":{"content":"at once"}}')]
    token, _ = await guildchat_calls.GuildchatCaller(discord, hook.url).slash("ask")
    assert await follow_up(discord, http, token, method="DELETE") == (204, 0)
    assert await follow_up(discord, http, token, method="GET") == (404, 10008)


async def test_a_user_installed_app_has_five_follow_ups(discord, hook, http):
    hook.answers += [(200, b'{"type":5}')]
    token, _ = await guildchat_calls.GuildchatCaller(discord, hook.url, follow_ups=5).slash("ask")
    made = [await follow_up(discord, http, token, original=False, method="POST") for _ in range(6)]
    assert made == [(200, 0)] * 5 + [(403, 40094)]
