"""POST /webhook/{channel}: verified, stored, answered."""

import gzip
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.delivery.conftest import RedisServer
from tests.web.asgi_client import Answer, Client
from tests.web.conftest import BEARER, TOKEN, parts_of
from tests.web.test_send import check_problem

from tocsin.assembly.light import Installed
from tocsin.assembly.program import App, Monitoring, assemble
from tocsin.assembly.storage import stores_in
from tocsin.assembly.stores import lazy_redis
from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Tools
from tocsin.channels.inbound import (
    Handshake,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    RejectedError,
    WebhookRequest,
)
from tocsin.channels.inbound import WebhookResponse as ProductAnswer
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable, base_url
from tocsin.core.storage.database import Database
from tocsin.messaging.inbound.model import InboxEvent
from tocsin.messaging.inbound.store import KEYS_KEPT_S
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.gateway.app import build_gateway
from tocsin.web.gateway.webhooks import MAX_AGE_S, MAX_AHEAD_S, REPLAYED_S
from tocsin.web.http.metrics import Metrics

SIGNED = ("X-Bell-Signature", "good")
FORGED = ("X-Bell-Signature", "forged")
REFUSALS = {
    "wrong": [FORGED],
    "missing": [],
    "twice": [SIGNED, FORGED],
    "empty": [("X-Bell-Signature", "")],
    "a bug of the verifier": [("X-Bell-Signature", "crash")],
}


class Ear(InboundAdapter):
    """Believes one signature; what the body says is what happens."""

    name: ClassVar[str] = "bell"

    def verify(self, request: WebhookRequest, now: float) -> None:
        given = request.agreed_value("x-bell-signature")
        if given == "crash":
            raise ZeroDivisionError("very internal")
        if given != "good":
            raise RejectedError("the signature is wrong")

    def replay_key(self, request: WebhookRequest) -> str:
        return "".join(request.values("x-bell-once"))

    def signed_at(self, request: WebhookRequest) -> float | None:
        return next((float(value) for value in request.values("x-bell-time")), None)

    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        try:
            said = json.loads(request.body)
        except (ValueError, RecursionError):
            return None
        if said.get("bug"):
            raise ZeroDivisionError("very internal")
        if "challenge" in said:
            return Handshake(ProductAnswer(200, request.body, "application/json"))
        if "text" not in said:
            return None
        keys = (said.get("key", said["text"]),)
        return InboundMessage("bell", MessageKind.MESSAGE, "1", keys, "tower", said["text"], sender_id="7")

    def reply_target(self, message: InboundMessage) -> str:
        return message.chat_id

    def answer_to(self, message: InboundMessage | None) -> ProductAnswer:
        return ProductAnswer(200, b'{"heard": true}', "application/json") if message else ProductAnswer(204)

    async def answer_stored(self, message: InboundMessage) -> ProductAnswer:
        if message.text != "whisper":
            return self.answer_to(message)
        return ProductAnswer(200, b'"too late"', "application/json")


class Bell(OutboundAdapter):
    spec = ChannelSpec("bell", "Bell", "a bell", aliases=("dingdong",), inbound=("webhook",))

    @classmethod
    def receiver(cls) -> type[InboundAdapter]:
        return Ear

    async def deliver(self, part: Part) -> str:
        return "rang"

    async def probe(self) -> str:
        return "the belfry"


class Mute(Bell):
    """Only sends."""

    spec = ChannelSpec("mute", "Mute", "a mute bell")


class Careless(Bell):
    """Its address would let the token travel in clear."""

    spec = ChannelSpec(
        "careless",
        "Careless",
        "a bell",
        inbound=("webhook",),
        options=(Variable("CARELESS_URL", base_url, "http://example.org", "where"),),
    )


@dataclass(frozen=True, slots=True)
class Door:
    """A gateway with a channel that receives."""

    client: Client
    app: App
    clock: FakeClock
    database: Database

    async def call(
        self, said: object, *headers: tuple[str, str], channel: str = "bell", peer: str = "", **more: Any
    ) -> Answer:
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        return await self.client.request("POST", f"/webhook/{channel}", *headers, body=[body], peer=peer, **more)

    async def stored(self) -> list[InboxEvent]:
        return (await self.app.stores.inbox().search(1000))[::-1]

    async def texts(self) -> list[str]:
        return [entry.message.text for entry in await self.stored() if entry.message]

    def audit(self, action: str) -> list[Mapping[str, Any]]:
        return [entry.metadata for entry in self.app.audit.log.tail(1000) if entry.action == action]


MakeDoor = Callable[..., Door]


@pytest.fixture
def make_door(tmp_path: Path, database: Database) -> MakeDoor:
    def make(**env: str) -> Door:
        classes = [Bell, Mute, Careless]
        variables = [variable for channel in classes for variable in channel.spec.variables]
        environ = {"TOCSIN_DATA_DIR": str(tmp_path), **env}
        settings = Settings.load(variables, environ=environ, data_dir=tmp_path)
        clock = FakeClock()
        stores = stores_in(settings, database, lazy_redis(settings), clock)
        tools = Tools(ScriptedTransport(), clock)
        monitoring = Monitoring(metrics=Metrics())
        installed = Installed(classes)
        app = assemble(settings, installed, tools=lambda: tools, stores=stores, clock=clock, monitoring=monitoring)
        return Door(Client(build_gateway(parts_of(app, clock))), app, clock, database)

    return make


@pytest.fixture
def door(make_door: MakeDoor) -> Door:
    return make_door()


# --- what the product gets


async def test_a_verified_event_is_on_the_disk_before_the_product_gets_its_answer(door: Door):
    answer = await door.call({"text": "hello"}, SIGNED)
    assert (answer.status, answer.json()) == (200, {"heard": True})
    assert await door.texts() == ["hello"]


async def test_a_duplicate_gets_the_same_answer_and_is_stored_once(door: Door):
    first, second = [await door.call({"text": "hello"}, SIGNED) for _ in range(2)]
    assert (first.status, first.body) == (second.status, second.body)
    assert await door.texts() == ["hello"]


async def test_a_new_event_may_be_answered_with_what_came_of_it_and_a_duplicate_is_not(door: Door):
    answers = [(await door.call({"text": "whisper"}, SIGNED)).body for _ in range(2)]
    assert answers == [b'"too late"', b'{"heard": true}']


async def test_a_handshake_is_answered_and_nothing_is_stored(door: Door):
    answer = await door.call({"challenge": "abc"}, SIGNED)
    assert (answer.status, answer.json()) == (200, {"challenge": "abc"})
    assert answer.header("content-type") == "application/json"
    assert await door.stored() == []


@pytest.mark.parametrize("said", [{}, {"type": "unknown"}, b"", b"\xff no json", b"[" * 100_000])
async def test_what_concerns_nobody_is_acknowledged_and_not_stored(door: Door, said: object):
    assert (await door.call(said, SIGNED)).status == 204
    assert await door.stored() == []


async def test_an_alias_of_the_channel_works_too(door: Door):
    assert (await door.call({"text": "hello"}, SIGNED, channel="dingdong")).status == 200
    assert [entry.channel for entry in await door.stored()] == ["bell"]


@pytest.mark.parametrize("channel", ["nobody", "mute", "email"])
async def test_a_channel_that_does_not_receive_is_not_found(door: Door, channel: str):
    check_problem(await door.call({"text": "hello"}, SIGNED, channel=channel), 404, "not-found")


async def test_only_posts_are_taken(door: Door):
    check_problem(await door.client.get("/webhook/bell", SIGNED), 405, "method-not-allowed")


# --- verification


@pytest.mark.parametrize("headers", REFUSALS.values(), ids=REFUSALS)
async def test_whatever_is_wrong_with_a_signature_the_answer_is_the_same(
    door: Door, headers: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
):
    request_id = ("X-Request-Id", "the-same")
    usual = await door.call({"text": "hello"}, FORGED, request_id)
    answer = await door.call({"text": "hello"}, *headers, request_id, peer="192.0.2.1")
    check_problem(answer, 401, "invalid-signature")
    assert (answer.body, answer.headers) == (usual.body, usual.headers)
    assert await door.stored() == []


async def test_a_channel_that_cannot_be_set_up_lets_nobody_in(door: Door):
    check_problem(await door.call({"text": "hello"}, SIGNED, channel="careless"), 401, "invalid-signature")
    [entry] = door.audit("msg.reject")
    assert "CARELESS_URL" in entry["reason"]


async def test_the_reason_of_a_refusal_is_in_log_and_audit_only(door: Door, caplog: pytest.LogCaptureFixture):
    answer = await door.call({"text": "very private"}, FORGED, peer="192.0.2.1")
    assert b"wrong" not in answer.body
    [entry] = door.audit("msg.reject")
    assert {key: entry[key] for key in ("channel", "ip", "outcome", "reason")} == {
        "channel": "bell",
        "outcome": "denied",
        "ip": "192.0.2.1",
        "reason": "the signature is wrong",
    }
    assert entry["request_id"] == answer.json()["request_id"]
    [record] = [record for record in caplog.records if "rejected" in record.message]
    assert (record.levelno, "signature" in record.__dict__["reason"]) == (logging.WARNING, True)
    assert "very private" not in caplog.text + str(entry)


async def test_each_reason_of_an_address_is_told_so_that_trying_out_what_is_wrong_shows(door: Door):
    for headers in (REFUSALS["wrong"], REFUSALS["wrong"], REFUSALS["missing"], REFUSALS["empty"]):
        await door.call({}, *headers, peer="192.0.2.1")
    assert [entry["reason"] for entry in door.audit("msg.reject")][::-1] == [
        "the signature is wrong",
        "x-bell-signature is missing",
        "x-bell-signature is empty or not printable ASCII",
    ]


async def test_a_bug_of_a_verifier_is_logged_with_its_trace(door: Door, caplog: pytest.LogCaptureFixture):
    await door.call({"text": "hello"}, ("X-Bell-Signature", "crash"))
    assert "ZeroDivisionError: very internal" in caplog.text
    assert "very internal" not in str(door.audit("msg.reject"))


async def test_a_flood_of_forged_calls_fills_neither_log_nor_audit(make_door: MakeDoor):
    door = make_door(RATE_LIMIT_PER_IP="100000")
    for _ in range(20):
        await door.call({}, FORGED, peer="192.0.2.1")
    assert len(door.audit("msg.reject")) == 1
    for number in range(100):
        await door.call({}, FORGED, peer=f"198.51.100.{number}")
    assert len(door.audit("msg.reject")) == 60
    door.clock.advance(60)
    await door.call({}, FORGED, peer="192.0.2.1")
    assert len(door.audit("msg.reject")) == 61


async def test_without_required_signatures_every_call_is_taken(make_door: MakeDoor):
    door = make_door(WEBHOOK_REQUIRE_SIGNATURE="false")
    for headers in REFUSALS.values():
        assert (await door.call({"text": "hello"}, *headers)).status == 200
    assert await door.texts() == ["hello"]


async def test_the_bytes_are_verified_and_read_as_they_came(door: Door):
    packed = gzip.compress(json.dumps({"text": "hello"}).encode())
    assert (await door.call(packed, SIGNED, ("Content-Encoding", "gzip"))).status == 204
    assert await door.stored() == []
    plain = json.dumps({"text": "hello"}).encode()
    assert (await door.call(plain, SIGNED, ("Content-Encoding", "gzip"))).status == 200


# --- sizes


@pytest.mark.parametrize("headers", [[SIGNED], [FORGED]])
async def test_a_body_over_1_mib_is_refused_whoever_sends_it(door: Door, headers: list[tuple[str, str]]):
    check_problem(await door.call(b"x" * (1024 * 1024 + 1), *headers), 413, "payload-too-large")
    assert (await door.call(b"x" * (1024 * 1024), SIGNED)).status == 204


async def test_a_body_that_does_not_end_is_refused(door: Door):
    sent = 0

    def endless():
        nonlocal sent
        while sent < 32 * 1024 * 1024:
            sent += 64 * 1024
            yield b"x" * 64 * 1024

    answer = await door.client.request("POST", "/webhook/bell", SIGNED, body=endless())
    check_problem(answer, 413, "payload-too-large")


async def test_half_a_body_is_no_event(door: Door):
    answer = await door.call({"text": "hello"}, SIGNED, cut_off=True)
    check_problem(answer, 400, "invalid-request")
    assert await door.stored() == []


# --- when it cannot be be stored


async def test_an_event_that_cannot_be_stored_is_not_acknowledged_and_is_taken_when_it_comes_again(
    door: Door, caplog: pytest.LogCaptureFixture
):
    once = ("X-Bell-Once", "1")
    await door.database.write(lambda c: c.execute("ALTER TABLE inbox RENAME TO gone").fetchall())
    answer = await door.call({"text": "hello"}, SIGNED, once)
    check_problem(answer, 503, "not-ready")
    assert "inbox" not in answer.json()["detail"]
    assert "webhook" in caplog.text
    await door.database.write(lambda c: c.execute("ALTER TABLE gone RENAME TO inbox").fetchall())
    assert (await door.call({"text": "hello"}, SIGNED, once)).status == 200
    assert await door.texts() == ["hello"]


BREAKS = {
    "away": lambda redis: redis.kill(),
    "full": lambda redis: redis.ask("CONFIG", "SET", "maxmemory", "1"),
    "read-only": lambda redis: redis.ask("REPLICAOF", "127.0.0.1", "1"),
}
MENDS = {
    "away": lambda redis: redis.start(),
    "full": lambda redis: redis.ask("CONFIG", "SET", "maxmemory", "0"),
    "read-only": lambda redis: redis.ask("REPLICAOF", "NO", "ONE"),
}


async def test_what_redis_does_not_take_is_not_acknowledged_and_taken_when_it_comes_again(
    make_door: MakeDoor,
    private_redis: RedisServer,
    caplog: pytest.LogCaptureFixture,
):
    door = make_door(STORE="redis", REDIS_URL=private_redis.url)
    for trouble, do_harm in BREAKS.items():
        do_harm(private_redis)
        once = ("X-Bell-Once", trouble)
        check_problem(await door.call({"text": trouble}, SIGNED, once), 503, "not-ready")
        MENDS[trouble](private_redis)
        assert [(await door.call({"text": trouble}, SIGNED, once)).status for _ in range(2)] == [200, 200], trouble
    assert await door.texts() == list(BREAKS)
    key = ("Idempotency-Key", "k")
    for prefer in ((), (("Prefer", "respond-async"),)):
        assert (await door.client.send({"channel": "bell", "target": "x", "message": "hi"}, *prefer)).status in {
            200,
            202,
        }
    assert (await door.client.send({"channel": "bell", "target": "x", "message": "ho"}, key)).status == 200
    assert (await door.client.request("GET", "/health")).json()["inbox"] == {"status": "ok", "open": 3}
    assert not door.database.path.exists(), "it only carried messages"
    reasons = [record.reason for record in caplog.records if "be stored" in record.message]
    for reason, said in zip(reasons, ("cannot connect", "reached its maxmemory", "read-only replica"), strict=True):
        assert said in reason
    await door.app.redis.aclose()


async def test_a_bug_of_a_channel_is_no_acknowledgement(door: Door, caplog: pytest.LogCaptureFixture):
    answer = await door.call({"bug": True}, SIGNED)
    check_problem(answer, 503, "not-ready")
    assert "very internal" not in answer.body.decode()
    assert "ZeroDivisionError: very internal" in caplog.text


# --- signed calls that come again


async def test_a_signed_call_that_comes_again_within_10_minutes_is_a_duplicate(door: Door):
    once = ("X-Bell-Once", "signature and time")
    first = await door.call({"text": "one", "key": "a"}, SIGNED, once)
    again = await door.call({"text": "one", "key": "b"}, SIGNED, once)
    assert (again.status, again.body) == (first.status, first.body)
    assert await door.texts() == ["one"]
    door.clock.advance(REPLAYED_S)
    await door.call({"text": "two", "key": "c"}, SIGNED, once)
    assert await door.texts() == ["one", "two"]


async def test_a_handshake_that_comes_again_is_answered(door: Door):
    once = ("X-Bell-Once", "1")
    answers = [(await door.call({"challenge": "abc"}, SIGNED, once)).json() for _ in range(2)]
    assert answers == [{"challenge": "abc"}] * 2


@pytest.mark.parametrize("age_s", [MAX_AGE_S + 1, KEYS_KEPT_S + 1, 1e9, -MAX_AHEAD_S - 1])
async def test_a_call_signed_before_keys_are_kept_or_in_the_future_is_acknowledged_and_not_worked_on(
    door: Door, caplog: pytest.LogCaptureFixture, age_s: float
):
    stamp = ("X-Bell-Time", str(door.clock.now() - age_s))
    for number in range(3):
        answer = await door.call({"text": f"again {number}"}, SIGNED, stamp)
        assert (answer.status, answer.json()) == (200, {"heard": True})
    assert await door.texts() == []
    (told,) = [record for record in caplog.records if "outdated" in record.message]
    assert (told.channel, told.age_s) == ("bell", pytest.approx(age_s))


@pytest.mark.parametrize("age_s", [MAX_AGE_S - 1, 0, -MAX_AHEAD_S + 1])
async def test_a_call_whose_keys_are_kept_is_worked_on_once(door: Door, age_s: float):
    stamp = ("X-Bell-Time", str(door.clock.now() - age_s))
    for _ in range(2):
        await door.call({"text": "once"}, SIGNED, stamp)
    door.clock.advance(KEYS_KEPT_S)
    await door.call({"text": "once"}, SIGNED, stamp)
    assert await door.texts() == ["once"]


async def test_an_old_handshake_is_answered(door: Door):
    answer = await door.call({"challenge": "abc"}, SIGNED, ("X-Bell-Time", "0"))
    assert answer.json() == {"challenge": "abc"}


# --- limits


async def test_verified_calls_do_not_count_against_their_address(make_door: MakeDoor):
    door = make_door(RATE_LIMIT_PER_IP="3")
    for number in range(20):
        assert (await door.call({"text": str(number)}, SIGNED)).status == 200
    assert (await door.client.get("/channels")).status == 200


async def test_refused_calls_count_against_their_address_and_let_verified_ones_pass(make_door: MakeDoor):
    door = make_door(RATE_LIMIT_PER_IP="3")
    statuses = [(await door.call({}, FORGED)).status for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    refused = await door.call({}, FORGED)
    assert refused.header("retry-after") == "60"
    assert (await door.client.get("/channels")).status == 429
    assert (await door.call({"text": "hello"}, SIGNED)).status == 200
    assert (await door.call({}, FORGED, peer="192.0.2.1")).status == 401


@pytest.mark.parametrize(
    ("path", "method"), [("/webhook/nobody", "POST"), ("/webhook/bell", "GET"), ("/webhook/a/b", "POST")]
)
async def test_looking_around_below_webhook_counts_too(make_door: MakeDoor, path: str, method: str):
    door = make_door(RATE_LIMIT_PER_IP="3")
    statuses = [(await door.client.request(method, path, SIGNED)).status for _ in range(4)]
    assert statuses[:3] == [statuses[0]] * 3
    assert statuses[3] == 429


async def test_verified_calls_have_a_limit_of_their_own(make_door: MakeDoor):
    door = make_door(WEBHOOK_RATE_LIMIT="3", RATE_LIMIT_PER_IP="1")
    statuses = [(await door.call({"text": str(n)}, SIGNED)).status for n in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    check_problem(await door.call({}, SIGNED), 429, "rate-limited")
    assert (await door.client.get("/channels")).status == 200
    door.clock.advance(20)
    assert (await door.call({"text": "later"}, SIGNED)).status == 200


# --- beside the other layers


async def test_a_webhook_needs_no_token_because_its_signature_is_one(make_door: MakeDoor):
    door = make_door(GATEWAY_TOKEN=TOKEN)
    assert (await door.call({"text": "hello"}, SIGNED)).status == 200
    assert (await door.call({"text": "hello"}, BEARER)).status == 401


async def test_a_webhook_may_come_by_a_public_name(door: Door):
    host = ("Host", "tocsin.example.org")
    assert (await door.call({"text": "hello"}, SIGNED, host)).status == 200
    assert (await door.client.get("/channels", host)).status == 403


async def test_where_https_is_enforced_a_webhook_in_clear_is_refused(make_door: MakeDoor):
    door = make_door(FORCE_HTTPS="true")
    assert (await door.call({"text": "hello"}, SIGNED)).status == 403
    assert (await door.call({"text": "hello"}, SIGNED, scheme="https")).status == 200


# --- what the operator sees


async def test_calls_are_counted_by_channel_kind_and_result(door: Door):
    for said in ({"text": "hello"}, {"text": "hello"}, {}):
        await door.call(said, SIGNED)
    await door.call({}, FORGED)
    lines = (await door.client.get("/metrics")).body.decode().splitlines()
    assert 'tocsin_received_total{channel="bell",kind="message",result="new"} 1.0' in lines
    assert 'tocsin_received_total{channel="bell",kind="message",result="duplicate"} 1.0' in lines
    assert 'tocsin_received_total{channel="bell",kind="none",result="ignored"} 1.0' in lines
    assert 'tocsin_rejected_total{channel="bell"} 1.0' in lines
    assert 'tocsin_inbox_open{status="new"} 1.0' in lines
    assert 'tocsin_http_requests_total{route="/webhook/{channel}",status="401"} 1.0' in lines


async def test_the_age_of_the_oldest_open_event_is_shown(door: Door):
    await door.call({"text": "hello"}, SIGNED)
    door.clock.advance(90)
    assert b"\ntocsin_inbox_oldest_seconds 90.0\n" in (await door.client.get("/metrics")).body


async def test_health_shows_what_is_open_and_that_nothing_can_be_received(door: Door):
    await door.call({"text": "hello"}, SIGNED)
    assert (await door.client.get("/health")).json()["inbox"] == {"status": "ok", "open": 1}
    await door.database.write(lambda c: c.execute("ALTER TABLE inbox RENAME TO gone").fetchall())
    health = await door.client.get("/health")
    assert (health.status, health.json()["inbox"]["status"]) == (503, "failing")
    assert any("received" in problem for problem in health.json()["problems"])
