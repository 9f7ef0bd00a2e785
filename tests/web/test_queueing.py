"""POST /send by the durable queue, and once with an Idempotency-Key."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.conftest import RedisServer
from tests.facts import mentions
from tests.waiting import PATIENCE_S
from tests.web.asgi_client import DOCUMENT, Answer, Client
from tests.web.conftest import BEARER, GOOD, SCHEMAS, TEAMCHAT, TOKEN, Gateway, MakeGateway, make_app, parts_of
from tests.web.test_send import check_problem

from tocsin.assembly.light import load_settings
from tocsin.assembly.program import assemble
from tocsin.assembly.storage import stores_in
from tocsin.channels.contract import Tools
from tocsin.core.errors import FailureKind, RemoteError, StoreUnavailableError
from tocsin.core.http.transport import HttpResponse
from tocsin.core.lazy import Lazy
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.model import Delivery, DeliveryStatus
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.outbound.idempotency import LEASE_S
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.gateway.app import build_gateway

ASYNC = ("Prefer", "respond-async")
KEY = ("Idempotency-Key", "order-1")
REFUSED = HttpResponse(200, {}, b'{"ok": false, "error": "not_in_channel"}')
LOST = RemoteError("outcome unknown: no response in time", kind=FailureKind.AMBIGUOUS)


@dataclass
class SlowTransport(ScriptedTransport):
    """Answers when `go` is set; `asked` is set once a request has come."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self, *words: Any, **options: Any) -> HttpResponse:
        self.asked.set()
        await self.go.wait()
        return await super().request(*words, **options)


MakeOver = Callable[..., Gateway]


@pytest.fixture
def make_over(tmp_path: Path) -> MakeOver:
    """Make a gateway over a database and a transport of the test."""

    def make(database: Any, transport: ScriptedTransport | None = None) -> Gateway:
        clock = FakeClock()
        transport = transport or ScriptedTransport([HttpResponse(200, {}, b'{"ok": true, "ts": "1.2"}')])
        app = make_app(tmp_path, TEAMCHAT, transport, clock, database)
        return Gateway(Client(build_gateway(parts_of(app, clock))), app, transport, clock)

    return make


async def recorded(gateway: Gateway) -> list[Delivery]:
    return list((await gateway.app.outbox.store.search(DeliveryFilter())).items)


async def only_record(gateway: Gateway) -> Delivery:
    (delivery,) = await recorded(gateway)
    return delivery


def check_replayed(answer: Answer, first: Answer) -> None:
    assert (answer.status, answer.body) == (first.status, first.body)
    assert answer.header("idempotent-replayed") == "true"
    assert first.header("idempotent-replayed") == ""
    assert answer.header("location") == first.header("location")
    assert answer.header("preference-applied") == first.header("preference-applied")
    assert answer.header("cache-control") == "no-store"


# --- Prefer: respond-async


async def test_a_queued_message_answers_202_with_where_to_find_it(gateway: Gateway):
    answer = await gateway.client.send(GOOD, ASYNC)
    assert answer.status == 202
    delivery = await only_record(gateway)
    assert answer.json() == {"id": delivery.id, "status": "queued"}
    assert answer.header("location") == f"/deliveries/{delivery.id}"
    assert answer.header("preference-applied") == "respond-async"
    assert (delivery.channel, delivery.target, delivery.message) == ("teamchat", "#ops", "hello")
    assert (delivery.source, delivery.status, delivery.idempotency_key) == ("gateway", DeliveryStatus.QUEUED, None)
    assert gateway.transport.sent == [], "the request itself sends nothing"
    shown = await gateway.client.get(answer.header("location"))
    assert (shown.status, shown.json()["id"]) == (200, delivery.id)


@pytest.mark.parametrize(
    "value", ["Respond-Async", " respond-async ", "wait=5, respond-async", "respond-async; x=1", "a,respond-async,b"]
)
async def test_the_preference_is_found_among_others(gateway: Gateway, value: str):
    assert (await gateway.client.send(GOOD, ("Prefer", value))).status == 202


async def test_the_preference_is_found_in_a_second_header(gateway: Gateway):
    assert (await gateway.client.send(GOOD, ("Prefer", "wait=1"), ASYNC)).status == 202


@pytest.mark.parametrize("value", ["", "wait=5", "respond-asyncx", "respond_async", "handling=respond-async"])
async def test_any_other_preference_is_a_direct_send(gateway: Gateway, value: str):
    answer = await gateway.client.send(GOOD, ("Prefer", value))
    assert (answer.status, answer.header("preference-applied")) == (200, "")
    assert len(gateway.transport.sent) == 1


async def test_a_queued_message_is_in_the_database_for_other_processes_when_it_is_answered(
    gateway: Gateway, tmp_path: Path
):
    answer = await gateway.client.send(GOOD, ASYNC)
    program = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT id, status FROM deliveries'))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, tmp_path / "tocsin.db"],
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert done.stdout.decode().strip() == f"('{answer.json()['id']}', 'queued')"


async def test_an_alias_is_queued_as_its_kind(gateway: Gateway):
    await gateway.client.send(GOOD | {"channel": " SLACK "}, ASYNC)
    assert (await only_record(gateway)).channel == "teamchat"


@pytest.mark.parametrize(
    "change",
    [
        {"channel": "smoke"},
        {"channel": "botchat"},
        {"channel": "devicemsg"},
        {"channel": ""},
        {"channel": "team\0chat\ud800"},
        {"target": ""},
        {"target": "#ops\0"},
        {"target": "\ud800"},
        {"target": "#" + "x" * 2000},
        {"target": "not a target"},
        {"message": ""},
        {"message": " \n\t "},
        {"message": "\0"},
    ],
    ids=repr,
)
async def test_what_a_direct_send_refuses_is_refused_with_the_same_answer(gateway: Gateway, change: dict[str, str]):
    direct = await gateway.client.send(GOOD | change)
    before = len(await recorded(gateway))
    queued = await gateway.client.send(GOOD | change, ASYNC)
    assert queued.status == direct.status >= 400
    assert queued.json() == direct.json()
    assert len(await recorded(gateway)) == before
    assert gateway.transport.sent == []


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "👍🏽 ünï", "line\r\nend"])
async def test_any_unicode_text_is_queued_as_it_would_be_sent(gateway: Gateway, text: str):
    assert (await gateway.client.send(GOOD | {"message": text}, ASYNC)).status == 202
    await gateway.client.send(GOOD | {"message": text})
    direct, queued = await recorded(gateway)
    assert queued.message == direct.message
    assert gateway.transport.sent[0].json()["text"] == queued.message


# --- policy, not_before, expires_at


async def test_the_terms_are_kept_with_the_delivery(gateway: Gateway):
    terms = {"policy": "at_most_once", "not_before": "2026-11-20T08:00:00Z", "expires_at": "1800000000.5"}
    assert (await gateway.client.send(GOOD | terms, ASYNC)).status == 202
    delivery = await only_record(gateway)
    assert delivery.policy == "at_most_once"
    assert (delivery.not_before, delivery.expires_at) == (1_795_161_600.0, 1_800_000_000.5)


async def test_without_a_policy_the_channels_own_is_taken(gateway: Gateway):
    await gateway.client.send(GOOD, ASYNC)
    assert (await only_record(gateway)).policy == "at_least_once"


@pytest.mark.parametrize(
    ("key", "value"), [("policy", "at_most_once"), ("not_before", "1800000000"), ("expires_at", "1800000000")]
)
async def test_terms_without_the_preference_answer_422_and_name_it(gateway: Gateway, key: str, value: str):
    problem = check_problem(await gateway.client.send(GOOD | {key: value}), 422, "validation-failed")
    (error,) = problem["errors"]
    assert (error["pointer"], error["code"]) == (f"#/{key}", "only-queued")
    assert "Prefer: respond-async" in error["detail"]
    assert gateway.transport.sent == []
    assert await recorded(gateway) == []


TIMES = ["inf", "-inf", "nan", "1e300", "-1", "", " ", "0000-01-01T00:00:00Z", "10000-01-01", "soon", "253402300800",
         "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1\0"]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key in ("not_before", "expires_at") for value in TIMES]
    + [("policy", value) for value in ("", "at-most-once", "AT_MOST_ONCE", "Policy.AT_MOST_ONCE", " at_most_once")],
)
async def test_a_wrong_term_answers_422_with_its_place(gateway: Gateway, key: str, value: str):
    problem = check_problem(await gateway.client.send(GOOD | {key: value}, ASYNC), 422, "validation-failed")
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(f"#/{key}", "wrong-value")]
    assert await recorded(gateway) == []


@pytest.mark.parametrize("expires_at", ["2026-11-20T08:00:00Z", "2026-11-20T07:59:59Z"])
async def test_a_message_that_expires_before_it_may_be_sent_is_refused(gateway: Gateway, expires_at: str):
    terms = {"not_before": "2026-11-20T08:00:00Z", "expires_at": expires_at}
    problem = check_problem(await gateway.client.send(GOOD | terms, ASYNC), 422, "validation-failed")
    assert [each["pointer"] for each in problem["errors"]] == ["#/expires_at"]


@pytest.mark.parametrize("key", ["policy", "not_before", "expires_at"])
@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}])
async def test_a_term_that_is_no_string_answers_422(gateway: Gateway, key: str, value: object):
    problem = check_problem(await gateway.client.send(GOOD | {key: value}, ASYNC), 422, "validation-failed")
    assert [(error["pointer"], error["code"]) for error in problem["errors"]] == [(f"#/{key}", "wrong-type")]


# --- Idempotency-Key: the stored answer


async def test_a_direct_send_that_is_repeated_gets_the_stored_answer_and_sends_once(gateway: Gateway):
    first = await gateway.client.send(GOOD, KEY)
    gateway.transport.script = [REFUSED]
    check_replayed(await gateway.client.send(GOOD, KEY), first)
    assert first.status == 200
    assert len(gateway.transport.sent) == 1
    assert [entry.action for entry in gateway.audit()] == ["msg.send"]


async def test_an_uncertain_send_that_is_repeated_is_not_sent_again(gateway: Gateway):
    gateway.transport.script = [LOST]
    first = await gateway.client.send(GOOD, KEY)
    gateway.transport.script = [HttpResponse(200, {}, b'{"ok": true}')]
    check_replayed(await gateway.client.send(GOOD, KEY), first)
    assert first.status == 504
    assert "outcome unknown" in first.json()["error"]
    assert len(gateway.transport.sent) == 1


@pytest.mark.parametrize("failure", [REFUSED, RemoteError("could not connect", kind=FailureKind.TRANSIENT)])
async def test_a_text_of_which_a_part_was_sent_is_not_sent_again_when_it_is_repeated(
    gateway: Gateway, failure: HttpResponse | RemoteError
):
    gateway.transport.script = [HttpResponse(200, {}, b'{"ok": true, "ts": "1.2"}'), failure]
    long = GOOD | {"message": "long " * 10_000}
    first = await gateway.client.send(long, KEY)
    assert first.status == 504
    check_replayed(await gateway.client.send(long, KEY), first)
    assert len(gateway.transport.sent) == 2


async def test_a_queued_message_that_is_repeated_is_one_delivery(gateway: Gateway):
    first = await gateway.client.send(GOOD, KEY, ASYNC)
    check_replayed(await gateway.client.send(GOOD, KEY, ASYNC), first)
    assert first.status == 202
    assert first.header("location").startswith("/deliveries/")
    assert (await only_record(gateway)).idempotency_key == "http:order-1"
    assert [entry.action for entry in gateway.audit()] == ["msg.queue"]


async def test_the_order_and_the_spelling_of_the_body_do_not_matter(gateway: Gateway):
    first = await gateway.client.send(GOOD, KEY)
    turned = json.dumps(dict(reversed(GOOD.items())), indent=3).replace("hello", "\\u0068ello").encode()
    check_replayed(await gateway.client.send(turned, KEY), first)


@pytest.mark.parametrize(
    ("change", "headers"),
    [
        ({"message": "other"}, []),
        ({"target": "#other"}, []),
        ({"channel": "slack"}, []),
        ({}, [ASYNC]),
        ({"not_before": "1800000000"}, [ASYNC]),
    ],
)
async def test_a_key_with_another_request_answers_422(
    gateway: Gateway, change: dict[str, str], headers: list[tuple[str, str]]
):
    await gateway.client.send(GOOD, KEY)
    answer = await gateway.client.send(GOOD | change, KEY, *headers)
    check_problem(answer, 422, "idempotency-key-reused")
    assert len(gateway.transport.sent) == 1


async def test_different_keys_are_different_requests(gateway: Gateway):
    for key in ("a", "b", "a:lease", "A"):
        assert (await gateway.client.send(GOOD, ("Idempotency-Key", key))).header("idempotent-replayed") == ""
    assert len(gateway.transport.sent) == 4


async def test_a_key_in_quotes_is_the_same_key(gateway: Gateway):
    first = await gateway.client.send(GOOD, ("Idempotency-Key", '"order-1"'))
    check_replayed(await gateway.client.send(GOOD, KEY), first)


@pytest.mark.parametrize(
    ("failure", "status"),
    [(REFUSED, 422), (RemoteError("could not connect", kind=FailureKind.TRANSIENT), 502)],
)
async def test_after_a_certain_failure_the_key_may_try_again(
    gateway: Gateway, failure: HttpResponse | RemoteError, status: int
):
    good = gateway.transport.script[0]
    gateway.transport.script = [failure]
    assert (await gateway.client.send(GOOD, KEY)).status == status
    gateway.transport.script = [good]
    again = await gateway.client.send(GOOD, KEY)
    assert (again.status, again.header("idempotent-replayed")) == (200, "")


@pytest.mark.parametrize(
    ("change", "headers", "status"),
    [
        ({"channel": "smoke"}, [], 404),
        ({"target": "?"}, [], 422),
        ({"channel": "smoke"}, [ASYNC], 404),
        ({"message": ""}, [ASYNC], 422),
        ({"policy": "x"}, [ASYNC], 422),
        ({"not_before": "nan"}, [ASYNC], 422),
        ({"policy": "at_most_once"}, [], 422),
        ({"targt": "x"}, [], 422),
    ],
)
async def test_a_request_that_was_refused_frees_its_key(
    gateway: Gateway, change: dict[str, str], headers: list[tuple[str, str]], status: int
):
    assert (await gateway.client.send(GOOD | change, KEY, *headers)).status == status
    assert (await gateway.client.send(GOOD, KEY)).status == 200


@pytest.mark.parametrize("headers", [[], [ASYNC]])
async def test_a_key_is_kept_over_a_restart(make_over: MakeOver, tmp_path: Path, headers: list[tuple[str, str]]):
    answers = []
    for _ in range(2):
        database = Database(tmp_path / "tocsin.db", SCHEMAS)
        gateway = make_over(database)
        answers.append(await gateway.client.send(GOOD, KEY, *headers))
        sent = len(gateway.transport.sent)
        await database.aclose()
    check_replayed(answers[1], answers[0])
    assert sent == 0


async def test_a_key_ends_after_24_hours(gateway: Gateway):
    await gateway.client.send(GOOD, KEY)
    gateway.clock.advance(24 * 3600 - 1)
    assert (await gateway.client.send(GOOD, KEY)).header("idempotent-replayed") == "true"
    gateway.clock.advance(2)
    again = await gateway.client.send(GOOD | {"message": "other"}, KEY)
    assert (again.status, again.header("idempotent-replayed")) == (200, "")
    assert len(gateway.transport.sent) == 2


async def test_a_queued_key_ends_after_24_hours_too(make_gateway: MakeGateway):
    gateway = make_gateway()
    first = await gateway.client.send(GOOD, KEY, ASYNC)
    gateway.clock.advance(24 * 3600 + 1)
    again = await gateway.client.send(GOOD, KEY, ASYNC)
    assert again.json()["id"] != first.json()["id"]
    assert len(await recorded(gateway)) == 2


@pytest.mark.parametrize("value", ["", '""', '"', " ", "x" * 256, "a\tb", "a\x7fb", "a\x01", "\xa0"])
async def test_a_malformed_key_answers_400_and_nothing_is_sent(gateway: Gateway, value: str):
    check_problem(await gateway.client.send(GOOD, ("Idempotency-Key", value)), 400, "invalid-request")
    assert gateway.transport.sent == []


async def test_two_keys_answer_400(gateway: Gateway):
    check_problem(await gateway.client.send(GOOD, KEY, KEY), 400, "invalid-request")


@pytest.mark.parametrize("value", ["x" * 255, "é", "a b", "../../x", "'; DROP TABLE idempotency; --", "a:b*c?[d]"])
async def test_any_printable_text_of_up_to_255_characters_is_a_key(gateway: Gateway, value: str):
    first = await gateway.client.send(GOOD, ("Idempotency-Key", value))
    check_replayed(await gateway.client.send(GOOD, ("Idempotency-Key", value)), first)


async def test_without_the_token_a_key_learns_nothing(make_gateway: MakeGateway):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    assert (await gateway.client.send(GOOD, KEY, BEARER)).status == 200
    check_problem(await gateway.client.send(GOOD, KEY), 401, "unauthenticated")


# --- Idempotency-Key: still running, and interrupted


async def test_a_request_that_still_runs_answers_409_with_when_to_ask_again(make_over: MakeOver, database: Database):
    transport = SlowTransport([HttpResponse(200, {}, b'{"ok": true, "ts": "1.2"}')])
    gateway = make_over(database, transport)
    running = asyncio.create_task(gateway.client.send(GOOD, KEY))
    await asyncio.wait_for(transport.asked.wait(), PATIENCE_S)
    refused = await gateway.client.send(GOOD, KEY)
    check_problem(refused, 409, "conflict")
    assert refused.header("retry-after") == "1"
    other = await gateway.client.send(GOOD | {"message": "other"}, KEY)
    check_problem(other, 422, "idempotency-key-reused")
    transport.go.set()
    first = await running
    check_replayed(await gateway.client.send(GOOD, KEY), first)
    assert len(transport.sent) == 1


@pytest.mark.parametrize("headers", [[], [ASYNC]])
async def test_many_at_the_same_time_are_one_message(gateway: Gateway, headers: list[tuple[str, str]]):
    answers = await asyncio.gather(*(gateway.client.send(GOOD, KEY, *headers) for _ in range(20)))
    done = [answer for answer in answers if answer.status in (200, 202)]
    assert done
    assert len({answer.body for answer in done}) == 1
    assert {answer.status for answer in answers} <= {200, 202, 409}
    assert len(await recorded(gateway)) == 1
    assert len(gateway.audit()) == 1


async def die_while_sending(make_over: MakeOver, database: Database) -> None:
    transport = SlowTransport([REFUSED])
    gateway = make_over(database, transport)
    # Who is killed keeps no answer.
    parts = replace(parts_of(gateway.app, gateway.clock), keys=ForgetfulKeys(gateway.app.stores.keys))
    running = asyncio.create_task(Client(build_gateway(parts)).send(GOOD, KEY))
    await asyncio.wait_for(transport.asked.wait(), PATIENCE_S)
    running.cancel()
    await asyncio.wait([running])


async def test_a_stopped_service_answers_504_and_so_does_the_key_from_then_on(make_over: MakeOver, database: Database):
    transport = SlowTransport([REFUSED])
    gateway = make_over(database, transport)
    running = asyncio.create_task(gateway.client.send(GOOD, KEY))
    await asyncio.wait_for(transport.asked.wait(), PATIENCE_S)
    running.cancel()
    first = await running
    assert (first.status, first.json()["ok"]) == (504, False)
    assert "interrupted" in first.json()["error"]
    check_replayed(await make_over(database).client.send(GOOD, KEY), first)
    assert [delivery.status for delivery in await recorded(gateway)] == [DeliveryStatus.UNCERTAIN]
    assert [entry.metadata["channel"] for entry in gateway.audit()] == ["teamchat"]


async def test_a_direct_send_whose_service_died_is_uncertain_and_never_sent_again(
    make_over: MakeOver, database: Database
):
    await die_while_sending(make_over, database)
    gateway = make_over(database)
    check_problem(await gateway.client.send(GOOD, KEY), 409, "conflict")  # it may be alive until its lease ends
    gateway.clock.advance(LEASE_S)
    first = await gateway.client.send(GOOD, KEY)
    assert first.status == 504
    assert first.json()["ok"] is False
    assert (first.json()["channel"], first.json()["target"]) == ("teamchat", "#ops")
    assert "outcome unknown" in first.json()["error"]
    check_replayed(await gateway.client.send(GOOD, KEY), first)
    check_problem(await gateway.client.send(GOOD | {"message": "x"}, KEY), 422, "idempotency-key-reused")
    assert gateway.transport.sent == []


async def test_a_queued_message_whose_service_died_before_it_answered_is_the_same_delivery(
    gateway: Gateway, database: Database
):
    first = await gateway.client.send(GOOD, KEY, ASYNC)
    # What a kill between the queue's commit and the keeping of the answer leaves behind.
    await database.write(lambda c: c.execute("UPDATE idempotency SET status = NULL, body = NULL").rowcount)
    gateway.clock.advance(LEASE_S)
    again = await gateway.client.send(GOOD, KEY, ASYNC)
    assert (again.status, again.json()) == (202, first.json())
    assert again.header("location") == first.header("location")
    assert len(await recorded(gateway)) == 1
    assert [entry.action for entry in gateway.audit()] == ["msg.queue"], "none for a known key"


async def test_a_key_that_only_the_queue_knows_does_not_pass_for_another_message(gateway: Gateway, database: Database):
    await gateway.client.send(GOOD, KEY, ASYNC)
    await database.write(lambda c: c.execute("DELETE FROM idempotency").rowcount)
    answer = await gateway.client.send(GOOD | {"message": "other"}, KEY, ASYNC)
    check_problem(answer, 422, "idempotency-key-reused")
    assert (await gateway.client.send(GOOD, KEY, ASYNC)).status == 202
    assert len(await recorded(gateway)) == 1


# --- the store is away


@pytest.mark.parametrize("headers", [[ASYNC], [KEY], [ASYNC, KEY]])
async def test_without_the_store_nothing_is_accepted_and_nothing_half_done(
    gateway: Gateway, database: Database, headers: list[tuple[str, str]]
):
    await database.aclose()
    check_problem(await gateway.client.send(GOOD, *headers), 503, "not-ready")
    assert gateway.transport.sent == []
    assert gateway.audit() == []


async def fill_disk(database: Database) -> None:
    """Let the database not grow any more, as on a full disk."""
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 1").fetchall())


LONG = GOOD | {"message": "x" * 30_000}


async def test_a_full_disk_answers_503_and_the_same_key_works_once_there_is_space(gateway: Gateway, database: Database):
    await fill_disk(database)
    check_problem(await gateway.client.send(LONG, KEY, ASYNC), 503, "not-ready")
    assert gateway.audit() == []
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchall())
    assert (await gateway.client.send(LONG, KEY, ASYNC)).status == 202
    assert len(await recorded(gateway)) == 1


async def test_a_store_that_opens_later_is_used_from_then_on(make_over: MakeOver, tmp_path: Path):
    place = tmp_path / "place"
    place.write_text("a file where a directory belongs")
    database = Database(place / "tocsin.db", SCHEMAS)
    gateway = make_over(database)
    check_problem(await gateway.client.send(GOOD, ASYNC), 503, "not-ready")
    place.unlink()
    assert (await gateway.client.send(GOOD, ASYNC)).status == 202
    await database.aclose()


@dataclass
class ForgetfulKeys:
    """Keys whose place goes away after a request has begun."""

    keys: Any
    away: bool = False

    async def begin(self, key: str, digest: str, **further: str) -> Any:
        known = await self.keys.begin(key, digest, **further)
        self.away = True
        return known

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def fail(*_: object) -> None:
            raise StoreUnavailableError("away")

        return fail


@pytest.mark.parametrize(
    ("change", "headers", "status"),
    [
        ({}, [], 200),
        ({}, [ASYNC], 202),
        ({"target": "?"}, [], 422),
        ({"policy": "x"}, [ASYNC], 422),
    ],
)
async def test_an_answer_that_cannot_be_kept_is_given_all_the_same(
    gateway: Gateway, change: dict[str, str], headers: list[tuple[str, str]], status: int
):
    parts = parts_of(gateway.app, gateway.clock)
    client = Client(build_gateway(replace(parts, keys=ForgetfulKeys(gateway.app.stores.keys))))
    assert (await client.send(GOOD | change, KEY, *headers)).status == status


# --- the queue and its keys in Redis


@pytest.fixture
async def on_redis(private_redis: RedisServer, tmp_path: Path) -> AsyncIterator[Gateway]:
    (tmp_path / "empty.env").touch()
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "STORE": "redis", **TEAMCHAT}
    settings, installed = load_settings(environ=environ, env_file=tmp_path / "empty.env")
    redis, clock = open_redis(private_redis.url, answer_timeout_s=PATIENCE_S), FakeClock()
    transport = ScriptedTransport([HttpResponse(200, {}, b'{"ok": true, "ts": "1.2"}')])
    database = Database(tmp_path / "tocsin.db", SCHEMAS)
    stores = stores_in(settings, database, Lazy(lambda: redis, RedisClient.aclose), SystemClock())
    app = assemble(settings, installed, tools=lambda: Tools(transport, clock), stores=stores)
    yield Gateway(Client(build_gateway(parts_of(app, clock))), app, transport, clock)
    await redis.aclose()
    await database.aclose()


async def test_with_redis_everything_answers_as_with_sqlite(on_redis: Gateway):
    client = on_redis.client
    direct, queued = await client.send(GOOD, KEY), await client.send(GOOD, ASYNC, ("Idempotency-Key", "order-2"))
    assert (direct.status, queued.status) == (200, 202)
    check_replayed(await client.send(GOOD, KEY), direct)
    check_replayed(await client.send(GOOD, ASYNC, ("Idempotency-Key", "order-2")), queued)
    check_problem(await client.send(GOOD | {"message": "x"}, KEY), 422, "idempotency-key-reused")
    first = (await client.get("/deliveries?limit=1")).json()
    rest = (await client.get(f"/deliveries?limit=1&cursor={first['next_cursor']}")).json()
    assert [item["status"] for item in first["items"] + rest["items"]] == ["queued", "sent"]
    place = queued.header("location")
    assert (await client.request("POST", f"{place}/cancel")).json()["status"] == "cancelled"
    check_problem(await client.request("POST", f"{place}/cancel"), 409, "invalid-transition")
    assert (await client.request("POST", f"{place}/replay")).json()["status"] == "queued"
    check_problem(await client.get("/deliveries/unknown"), 404, "not-found")
    assert 'tocsin_deliveries{status="queued"} 1.0' in (await client.get("/metrics")).body.decode()
    assert [entry.action for entry in on_redis.audit()] == ["msg.replay", "msg.cancel", "msg.queue", "msg.send"]


async def test_with_redis_gone_direct_sends_go_out_and_nothing_else_is_half_done(
    on_redis: Gateway,
    private_redis: RedisServer,
):
    client = on_redis.client
    private_redis.kill()
    for headers in ([ASYNC], [KEY], [ASYNC, KEY]):
        check_problem(await client.send(GOOD, *headers), 503, "not-ready")
    assert on_redis.transport.sent == []
    assert (await client.send(GOOD)).status == 200
    check_problem(await client.get("/deliveries"), 503, "not-ready")
    assert (await client.get("/metrics")).status == 200
    private_redis.start()
    assert (await client.send(GOOD, KEY, ASYNC)).status == 202


# --- the record of direct sends


async def test_a_direct_send_is_recorded_as_sent_with_its_facts(gateway: Gateway):
    answer = await gateway.client.send(GOOD)
    delivery = await only_record(gateway)
    assert (delivery.status, delivery.source, delivery.attempts) == (DeliveryStatus.SENT, "gateway", 1)
    assert (delivery.parts_sent, delivery.parts_total) == (1, 1)
    assert delivery.provider_id == answer.json()["message"]
    assert (delivery.error, delivery.error_class) == ("", "")
    assert delivery.finished_at is not None
    assert delivery.duration_ms is not None
    assert delivery.finished_at - delivery.created_at == pytest.approx(delivery.duration_ms / 1000, abs=1e-4)


async def test_a_direct_send_of_several_parts_that_fails_on_the_way_is_recorded_with_how_far_it_came(gateway: Gateway):
    gateway.transport.script = [gateway.transport.script[0], REFUSED]
    answer = await gateway.client.send(GOOD | {"message": "word " * 15_000})
    assert answer.status == 504
    delivery = await only_record(gateway)
    assert (delivery.status, delivery.parts_sent, delivery.parts_total) == (DeliveryStatus.DEAD, 1, 2)
    assert delivery.error_class == "permanent"
    assert mentions(answer.json()["error"], delivery.error, "POST", "/deliveries/", delivery.id, "/replay")


@pytest.mark.parametrize(
    ("failure", "status", "error_class"),
    [
        (REFUSED, DeliveryStatus.DEAD, "permanent"),
        (RemoteError("could not connect", kind=FailureKind.TRANSIENT), DeliveryStatus.DEAD, "transient"),
        (LOST, DeliveryStatus.UNCERTAIN, "ambiguous"),
    ],
)
async def test_a_direct_send_that_fails_is_recorded_by_what_is_certain(
    gateway: Gateway, failure: HttpResponse | RemoteError, status: DeliveryStatus, error_class: str
):
    gateway.transport.script = [failure]
    await gateway.client.send(GOOD)
    delivery = await only_record(gateway)
    assert (delivery.status, delivery.error_class) == (status, error_class)


@pytest.mark.parametrize("how", ["closed", "full", "no place"])
async def test_a_record_that_cannot_be_written_fails_no_send(
    make_over: MakeOver, database: Database, tmp_path: Path, how: str
):
    gateway = make_over(database)
    if how == "closed":
        await database.aclose()
    elif how == "full":
        await fill_disk(database)
    else:
        (tmp_path / "file").touch()
        gateway = make_over(Database(tmp_path / "file" / "tocsin.db", SCHEMAS))
    answer = await gateway.client.send(LONG)
    assert (answer.status, answer.json()["ok"]) == (200, True)
    assert [entry.action for entry in gateway.audit()] == ["msg.send"]


@pytest.mark.parametrize("change", [{"message": "a\0b\ud800"}, {"target": "\ud800"}, {"target": "#ops\0"}])
async def test_what_no_database_can_hold_is_recorded_in_a_readable_form(gateway: Gateway, change: dict[str, str]):
    await gateway.client.send(GOOD | change)
    delivery = await only_record(gateway)
    assert "\0" not in delivery.message + delivery.target
    (delivery.message + delivery.target).encode()


async def test_an_unknown_channel_is_no_delivery(gateway: Gateway):
    await gateway.client.send(GOOD | {"channel": "smoke"})
    assert await recorded(gateway) == []


# --- the audit log


async def test_a_queued_message_writes_exactly_one_entry_without_its_text(gateway: Gateway):
    answer = await gateway.client.send(GOOD | {"message": "nobody's business"}, ASYNC, ("X-Request-Id", "r1"))
    (entry,) = gateway.audit()
    assert (entry.action, entry.source) == ("msg.queue", "gateway")
    assert entry.metadata["delivery"] == answer.json()["id"]
    assert (entry.metadata["channel"], entry.metadata["target"]) == ("teamchat", "#ops")
    assert (entry.metadata["ip"], entry.metadata["request_id"]) == ("127.0.0.1", "r1")
    assert "nobody's business" not in str(entry)


async def test_who_holds_the_token_is_the_actor(make_gateway: MakeGateway):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    check_problem(await gateway.client.send(GOOD, ASYNC), 401, "unauthenticated")
    assert (await gateway.client.send(GOOD, ASYNC, BEARER)).status == 202
    (entry,) = gateway.audit()
    assert entry.metadata["actor"] == "token"


# --- what the numbers and the description say


async def test_metrics_count_deliveries_by_state(gateway: Gateway):
    await gateway.client.send(GOOD)
    for _ in range(2):
        await gateway.client.send(GOOD, ASYNC)
    text = (await gateway.client.get("/metrics")).body.decode()
    assert 'tocsin_deliveries{status="sent"} 1.0' in text
    assert 'tocsin_deliveries{status="queued"} 2.0' in text
    assert 'tocsin_deliveries{status="dead"} 0.0' in text


async def test_metrics_without_the_store_are_answered_without_stale_numbers(gateway: Gateway, database: Database):
    await gateway.client.send(GOOD, ASYNC)
    await gateway.client.get("/metrics")
    await database.aclose()
    answer = await gateway.client.get("/metrics")
    assert answer.status == 200
    assert "tocsin_deliveries{" not in answer.body.decode()
    assert "tocsin_build_info" in answer.body.decode()


TERMS = ("policy", "not_before", "expires_at")


def test_the_headers_of_the_queue_are_documented():
    operation = DOCUMENT["paths"]["/send"]["post"]
    assert {p["name"] for p in operation["parameters"]} == {"Prefer", "Idempotency-Key"}
    assert operation["responses"]["202"]["headers"].keys() == {"Location", "Preference-Applied", "Idempotent-Replayed"}
    assert "Retry-After" in operation["responses"]["409"]["headers"]


def test_the_terms_of_the_queue_are_documented_as_fields_of_queued_requests_alone():
    schemas = DOCUMENT["components"]["schemas"]
    plain, queued = schemas["SendRequest"], schemas["QueueRequest"]
    assert set(plain["required"]) == set(queued["required"]) == {"channel", "target", "message"}
    assert queued["properties"].keys() - plain["properties"].keys() == {"policy", "not_before", "expires_at"}
    assert all("respond-async" in queued["properties"][name]["description"] for name in TERMS)
    assert not plain["additionalProperties"]
    body = DOCUMENT["paths"]["/send"]["post"]["requestBody"]
    assert mentions(body["description"], "`QueueRequest`", "`Prefer: respond-async`")
    prefer, _ = DOCUMENT["paths"]["/send"]["post"]["parameters"]
    assert all(name in prefer["description"] for name in TERMS)
