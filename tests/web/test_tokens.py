"""Tokens of `tocsin tokens` at the gateway: what each scope opens, with and without GATEWAY_TOKEN."""

import pytest
from tests.web.asgi_client import Answer
from tests.web.conftest import BEARER, GOOD, TOKEN, Gateway, MakeGateway
from tests.web.test_send import check_problem

from tocsin.assembly.full.access import open_tokens
from tocsin.messaging.outbound.caller import Caller

CALLER = Caller("cli")
ROUTES = [
    ("POST", "/send"),
    ("GET", "/deliveries"),
    ("GET", "/deliveries/nosuch"),
    ("POST", "/deliveries/nosuch/replay"),
    ("POST", "/deliveries/nosuch/retry"),
    ("POST", "/deliveries/nosuch/cancel"),
    ("GET", "/metrics"),
]


async def bearer(gateway: Gateway, *scopes: str) -> tuple[str, str]:
    _, text = await open_tokens(gateway.app).create("-".join(scopes), scopes, CALLER)
    return ("Authorization", f"Bearer {text}")


async def statuses(gateway: Gateway, *headers: tuple[str, str]) -> list[int]:
    return [(await gateway.client.request(method, path, *headers)).status for method, path in ROUTES]


@pytest.mark.parametrize("env", [{}, {"GATEWAY_TOKEN": TOKEN}])
@pytest.mark.parametrize(
    ("scope", "sends", "reads"),
    [("read", False, True), ("send", True, False), ("run", False, False), ("admin", True, True)],
)
async def test_a_token_opens_what_its_scope_says_whether_others_need_one_or_not(
    make_gateway: MakeGateway, env: dict[str, str], scope: str, *, sends: bool, reads: bool
):
    gateway = make_gateway(env)
    header = await bearer(gateway, scope)
    lets_in = [status not in {401, 403} for status in await statuses(gateway, header)]
    assert lets_in == [sends, reads, reads, sends, sends, sends, reads]
    for path in ("/health", "/channels", "/openapi.json"):
        assert (await gateway.client.get(path, header)).status == 200


async def test_a_scope_that_is_missing_is_named(gateway: Gateway):
    answer = await gateway.client.send(GOOD, await bearer(gateway, "read"))
    assert (answer.status, answer.json()["code"]) == (403, "forbidden")
    assert "scope send" in answer.json()["detail"]
    assert 'error="insufficient_scope", scope="send"' in answer.header("www-authenticate")
    assert gateway.transport.sent == []


async def test_a_token_that_may_only_send_needs_complete_ids_and_sees_no_more_than_their_state(gateway: Gateway):
    queued = (await gateway.client.send(GOOD, ("Prefer", "respond-async"))).json()["id"]
    sends, both = await bearer(gateway, "send"), await bearer(gateway, "send", "read")

    async def change(id_: str, verb: str, header: tuple[str, str]) -> Answer:
        return await gateway.client.request("POST", f"/deliveries/{id_}/{verb}", header)

    for verb in ("cancel", "replay", "retry"):
        for guess in ("0", queued[:13], queued[-12:], queued[:-1]):
            refused = await change(guess, verb, sends)
            check_problem(refused, 422, "validation-failed")
            assert queued not in refused.body.decode()
        check_problem(await change("0" * 36, verb, sends), 404, "not-found")
    assert (await change(queued, "cancel", sends)).json() == {"id": queued, "status": "cancelled"}
    assert (await change(queued, "replay", sends)).json() == {"id": queued, "status": "queued"}
    assert (await change(queued[-12:], "cancel", both)).json()["message"] == GOOD["message"]


async def test_a_token_sends_and_is_named_in_the_audit_as_the_actor(gateway: Gateway):
    assert (await gateway.client.send(GOOD, await bearer(gateway, "send"))).status == 200
    sent = gateway.audit()[0]
    assert (sent.action, sent.metadata["actor"]) == ("msg.send", "token:send")


@pytest.mark.parametrize("env", [{}, {"GATEWAY_TOKEN": TOKEN}])
async def test_a_revoked_token_is_refused_even_where_none_is_needed(make_gateway: MakeGateway, env: dict[str, str]):
    gateway = make_gateway(env)
    header = await bearer(gateway, "admin")
    await open_tokens(gateway.app).revoke("admin", CALLER)
    assert set(await statuses(gateway, header)) == {401}
    assert (await gateway.client.get("/channels", header)).status == 200, "it is open to everybody"
    answer = await gateway.client.send(GOOD, header)
    assert "was revoked" in answer.json()["detail"]
    assert 'error="invalid_token"' in answer.header("www-authenticate")


async def test_a_token_does_not_take_the_place_of_the_gateway_token(make_gateway: MakeGateway):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    await bearer(gateway, "admin")
    assert (await gateway.client.send(GOOD)).status == 401
    assert (await gateway.client.send(GOOD, BEARER)).status == 200


async def test_a_gateway_token_may_begin_like_the_others(make_gateway: MakeGateway):
    own = "tcs_" + "a" * 43
    gateway = make_gateway({"GATEWAY_TOKEN": own})
    assert (await gateway.client.send(GOOD, ("Authorization", f"Bearer {own}"))).status == 200


async def test_each_token_has_a_limit_of_its_own_wherever_it_is_used(make_gateway: MakeGateway):
    gateway = make_gateway({"RATE_LIMIT_PER_IP": "1", "RATE_LIMIT_PER_USER": "2"})
    one, other = await bearer(gateway, "read"), await bearer(gateway, "send")
    for header in (one, other):
        answers = [(await gateway.client.get("/channels", header, peer=f"192.0.2.{n}")).status for n in range(3)]
        assert answers == [200, 200, 429]


async def test_a_token_that_cannot_be_checked_is_not_trusted(make_gateway: MakeGateway):
    gateway = make_gateway()
    header = await bearer(gateway, "admin")
    await gateway.app.database.aclose()
    answer = await gateway.client.get("/channels", header)
    assert (answer.status, answer.json()["code"]) == (503, "not-ready")


async def test_each_token_has_idempotency_keys_of_its_own(make_gateway: MakeGateway):
    gateway, key = make_gateway({"GATEWAY_TOKEN": TOKEN}), ("Idempotency-Key", "order-1")
    callers = [BEARER, await bearer(gateway, "send"), await bearer(gateway, "admin")]
    for caller in callers:
        assert (await gateway.client.send(GOOD, caller, key)).header("idempotent-replayed") == ""
    other = {**GOOD, "message": "of this one alone"}
    assert (await gateway.client.send(other, await bearer(gateway, "send", "read"), key)).status == 200
    for caller in callers:
        assert (await gateway.client.send(GOOD, caller, key)).header("idempotent-replayed") == "true"
    assert len(gateway.transport.sent) == 4


async def test_queued_messages_of_two_tokens_with_the_same_key_are_two_deliveries(gateway: Gateway):
    key, queued = ("Idempotency-Key", "order-1"), ("Prefer", "respond-async")
    callers = [await bearer(gateway, "send"), await bearer(gateway, "admin")]
    ids = [(await gateway.client.send(GOOD, caller, key, queued)).json()["id"] for caller in (*callers, *callers)]
    assert (len(set(ids)), ids[:2]) == (2, ids[2:])
    shown = [(await gateway.client.get(f"/deliveries/{id_}", callers[1])).json() for id_ in ids[:2]]
    assert [record["idempotency_key"] for record in shown] == ["http+token:send/order-1", "http+token:admin/order-1"]


async def test_a_key_of_before_answers_the_first_token_that_repeats_the_request_and_no_other(gateway: Gateway):
    key = ("Idempotency-Key", "order-1")
    first = await gateway.client.send(GOOD, key)
    database = gateway.app.database
    await database.write(lambda c: c.execute("UPDATE idempotency SET key = 'order-1'").rowcount)  # as it was kept
    owner, other = await bearer(gateway, "send"), await bearer(gateway, "admin")
    replayed = await gateway.client.send(GOOD, owner, key)
    assert (replayed.header("idempotent-replayed"), replayed.body) == ("true", first.body)
    assert (await gateway.client.send(GOOD, other, key)).header("idempotent-replayed") == ""
    assert len(gateway.transport.sent) == 2


async def test_a_key_that_looks_like_the_name_of_another_token_s_key_is_another_one(gateway: Gateway):
    owner, other = await bearer(gateway, "send"), await bearer(gateway, "admin")
    await gateway.client.send(GOOD, owner, ("Idempotency-Key", "order-1"))
    for guess in ("http+token:send/order-1", "token:send/order-1"):
        assert (await gateway.client.send(GOOD, other, ("Idempotency-Key", guess))).header("idempotent-replayed") == ""
        assert (await gateway.client.send(GOOD, ("Idempotency-Key", guess))).header("idempotent-replayed") == ""
