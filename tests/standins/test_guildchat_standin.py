import pytest

from tocsin_standins import Fault
from tocsin_standins.guildchat.server import (
    ALICE,
    APPLICATION_ID,
    CLOSED_DMS,
    GENERAL,
    HIDDEN,
    MUTED,
    OPS,
    GuildChat,
)

USER_AGENT = "DiscordBot (https://tocsin.example, 1.0)"


@pytest.fixture
async def guildchat(clock):
    async with GuildChat(clock=clock.now) as guildchat:
        yield guildchat


@pytest.fixture
def call(guildchat, http):
    async def call(method, path, body=None, **headers):
        given = {"Authorization": f"Bot {guildchat.token}", "User-Agent": USER_AGENT, **headers}
        async with http.request(method, guildchat.api_url + path, json=body, headers=given) as answer:
            parsed = await answer.json() if answer.status != 204 else None
            return answer.status, parsed, answer.headers

    return call


@pytest.fixture
def post(call):
    async def post(channel=GENERAL, **body):
        return await call("POST", f"/channels/{channel}/messages", body)

    return post


@pytest.fixture
def refusal(post):
    async def refusal(channel=GENERAL, **body):
        status, answer, _ = await post(channel, **body)
        return status, answer["code"]

    return refusal


async def test_a_message_is_answered_and_recorded(guildchat, post):
    status, message, headers = await post(content="hello", flags=4, nonce="n-1")
    assert (status, message["content"], message["channel_id"]) == (200, "hello", GENERAL)
    assert (message["flags"], message["nonce"], message["author"]["bot"]) == (4, "n-1", True)
    assert headers["X-RateLimit-Limit"] == "5"
    assert headers["X-RateLimit-Bucket"]
    assert float(headers["X-RateLimit-Reset-After"]) > 0
    [received] = guildchat.recorder.of("guildchat")
    assert (received.target, received.text, received.id) == (GENERAL, "hello", message["id"])


async def test_a_wrong_token_is_code_0_with_401(call):
    status, body, _ = await call("GET", "/users/@me", Authorization="Bot wrong")
    assert (status, body) == (401, {"message": "401: Unauthorized", "code": 0})


@pytest.mark.parametrize("agent", ["python-httpx/0.28", "DiscordBot", "DiscordBot (tocsin)"])
async def test_a_foreign_user_agent_is_turned_away(call, agent):
    status, body, _ = await call("GET", "/users/@me", **{"User-Agent": agent})
    assert (status, body["code"]) == (403, 40333)


async def test_length_counts_code_points_and_names_the_field(post):
    assert (await post(content="😀" * 2000))[0] == 200
    status, body, _ = await post(content="x" * 2001)
    assert (status, body["code"]) == (400, 50035)
    assert body["errors"]["content"]["_errors"][0] == {
        "code": "BASE_TYPE_MAX_LENGTH",
        "message": "Must be 2000 or fewer in length.",
    }


async def test_an_empty_message_is_refused(refusal):
    assert await refusal(content=" \n") == (400, 50006)


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ("999999999999999999", (404, 10003)),
        (HIDDEN, (403, 50001)),
        (MUTED, (403, 50013)),
        ("general", (400, 50035)),
    ],
)
async def test_a_channel_out_of_reach_is_refused(refusal, channel, expected):
    assert await refusal(channel, content="x") == expected


async def test_an_enforced_nonce_gives_the_earlier_message(guildchat, post):
    _, first, _ = await post(content="once", nonce="n-1", enforce_nonce=True)
    _, again, _ = await post(content="once", nonce="n-1", enforce_nonce=True)
    _, elsewhere, _ = await post(OPS, content="once", nonce="n-1", enforce_nonce=True)
    assert again["id"] == first["id"] != elsewhere["id"]
    assert [m.kind for m in guildchat.recorder.items] == ["message", "duplicate", "message"]


async def test_a_nonce_is_forgotten_after_some_minutes_and_ignored_unless_enforced(post, clock):
    _, first, _ = await post(content="x", nonce="n-1", enforce_nonce=True)
    _, other, _ = await post(content="x", nonce="n-1")
    assert other["id"] != first["id"]
    clock.advance(301)
    _, late, _ = await post(content="x", nonce="n-1", enforce_nonce=True)
    assert late["id"] != first["id"]


async def test_a_nonce_has_at_most_25_characters(refusal):
    assert await refusal(content="x", nonce="n" * 26) == (400, 50035)


async def test_mentions_ring_only_where_allowed(post):
    assert (await post(content="@everyone"))[1]["mention_everyone"] is True
    quiet = {"parse": []}
    assert (await post(content="@everyone", allowed_mentions=quiet))[1]["mention_everyone"] is False
    assert (await post(content="x", allowed_mentions={"parse": ["all"]}))[0] == 400


async def test_a_body_that_is_no_json_is_refused(guildchat, http):
    headers = {"Authorization": f"Bot {guildchat.token}", "User-Agent": USER_AGENT}
    headers["Content-Type"] = "application/json"
    url = f"{guildchat.api_url}/channels/{GENERAL}/messages"
    async with http.post(url, data=b"{", headers=headers) as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, 50109)


async def test_the_bot_learns_its_name(call):
    status, me, _ = await call("GET", "/users/@me")
    assert (status, me["username"], me["bot"]) == (200, "tocsin", True)


async def test_a_direct_message_goes_through_its_channel(call, post):
    status, channel, _ = await call("POST", "/users/@me/channels", {"recipient_id": ALICE})
    assert (status, channel["type"], channel["recipients"][0]["username"]) == (200, 1, "alice")
    assert (await post(channel["id"], content="psst"))[0] == 200


async def test_closed_direct_messages_are_refused_when_sending(call, refusal):
    _, channel, _ = await call("POST", "/users/@me/channels", {"recipient_id": CLOSED_DMS})
    assert await refusal(channel["id"], content="x") == (403, 50007)


async def test_an_unknown_recipient_is_refused(call):
    status, body, _ = await call("POST", "/users/@me/channels", {"recipient_id": "999999999999999999"})
    assert (status, body["code"]) == (404, 10013)


async def test_typing_and_reactions_are_recorded(guildchat, call, post):
    assert (await call("POST", f"/channels/{GENERAL}/typing"))[0] == 204
    _, message, _ = await post(content="x")
    path = f"/channels/{GENERAL}/messages/{message['id']}/reactions/%F0%9F%91%80/@me"
    assert (await call("PUT", path))[0] == 204
    missing = f"/channels/{GENERAL}/messages/1/reactions/%F0%9F%91%80/@me"
    assert (await call("PUT", missing))[1]["code"] == 10008
    assert [(i.kind, i.text) for i in guildchat.recorder.items if i.kind != "message"] == [
        ("action", "typing"),
        ("reaction", "👀"),
    ]


async def test_history_gives_what_came_after(call, post):
    ids = [(await post(content=text))[1]["id"] for text in ("one", "two", "three")]
    _, messages, _ = await call("GET", f"/channels/{GENERAL}/messages?after={ids[0]}")
    assert [m["content"] for m in messages] == ["three", "two"]


async def test_an_interaction_is_answered_without_the_bots_token(guildchat, http):
    token = guildchat.open_interaction()
    base = f"{guildchat.api_url}/webhooks/{APPLICATION_ID}/{token}"
    headers = {"User-Agent": USER_AGENT}
    async with http.patch(f"{base}/messages/@original", json={"content": "1"}, headers=headers) as answer:
        assert (answer.status, (await answer.json())["content"]) == (200, "1")
    async with http.patch(f"{base}/messages/@original", json={"content": "1b"}, headers=headers) as answer:
        assert answer.status == 200
    async with http.post(base, json={"content": "2"}, headers=headers) as answer:
        assert answer.status == 200
    assert [(m.kind, m.text) for m in guildchat.recorder.items] == [
        ("message", "1"),
        ("edit", "1b"),
        ("message", "2"),
    ]


async def test_an_interaction_ends_after_a_quarter_of_an_hour(guildchat, call, clock):
    token = guildchat.open_interaction()
    path = f"/webhooks/{APPLICATION_ID}/{token}"
    clock.advance(901)
    assert (await call("POST", path, {"content": "x"}))[:2] == (
        401,
        {"message": "Invalid Webhook Token", "code": 50027},
    )
    assert (await call("POST", path + "x", {"content": "x"}))[1]["code"] == 10015


async def test_commands_are_overwritten_in_bulk_and_checked(guildchat, call):
    path = f"/applications/{APPLICATION_ID}/commands"
    status, made, _ = await call("PUT", path, [{"name": "ask", "description": "Ask something"}])
    assert (status, made[0]["name"], guildchat.commands) == (200, "ask", made)
    assert (await call("PUT", path, [{"name": "Ask", "description": "x"}]))[1]["code"] == 50035


async def test_buckets_run_dry_when_paced(guildchat, post, clock):
    guildchat.paced = True
    left = [(await post(content="x"))[2]["X-RateLimit-Remaining"] for _ in range(5)]
    assert left == ["4", "3", "2", "1", "0"]
    clock.advance(1.25)
    status, body, headers = await post(content="x")
    assert (status, body["retry_after"], body["global"]) == (429, 3.75, False)
    assert (headers["Retry-After"], headers["X-RateLimit-Scope"]) == ("4", "user")
    assert (await post(OPS, content="x"))[0] == 200
    clock.advance(3.75)
    assert (await post(content="x"))[0] == 200


async def test_the_global_limit_says_that_it_is_global(guildchat, call):
    guildchat.paced = True
    statuses = [(await call("GET", "/users/@me"))[0] for _ in range(50)]
    status, body, headers = await call("GET", "/users/@me")
    assert (set(statuses), status, body["global"]) == ({200}, 429, True)
    assert headers["X-RateLimit-Global"] == "true"


async def test_faults_speak_the_products_language(guildchat, post):
    guildchat.faults.push(
        Fault.rate_limited(0.25), Fault.error(200000), Fault.error(20016, "Slow down"), Fault.error(0)
    )
    assert (await post(content="x"))[1]["retry_after"] == 0.25
    assert (await post(content="x"))[:2] == (
        400,
        {"message": "Message was blocked by automatic moderation", "code": 200000},
    )
    assert (await post(content="x"))[1] == {"message": "Slow down", "code": 20016}
    assert (await post(content="x"))[0] == 401


async def test_a_fault_can_wait_for_its_operation(guildchat, call, post):
    guildchat.faults.push(Fault.error(50013).only("POST messages"))
    assert (await call("GET", "/users/@me"))[0] == 200
    assert (await post(content="x"))[1]["code"] == 50013


async def test_a_retry_with_the_same_nonce_after_a_lost_answer_posts_once(guildchat, post):
    import aiohttp

    guildchat.faults.push(Fault.reset_after_accept())
    with pytest.raises(aiohttp.ClientOSError):
        await post(content="once", nonce="n-1", enforce_nonce=True)
    assert (await post(content="once", nonce="n-1", enforce_nonce=True))[0] == 200
    assert len(guildchat.recorder.of()) == 1
