"""GET /deliveries, and the changes of one delivery. Source: docs/delivery.md, docs/http.md."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from tests.facts import mentions
from tests.web.asgi_client import DOCUMENT
from tests.web.conftest import BEARER, GOOD, TOKEN, Gateway, MakeGateway
from tests.web.test_send import check_problem

from tocsin.core.http.transport import HttpResponse
from tocsin.core.storage.database import Database
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus
from tocsin.delivery.store import ChannelRules

ASYNC = ("Prefer", "respond-async")
REFUSED = HttpResponse(200, {}, b'{"ok": false, "error": "not_in_channel"}')
FIELDS = [
    "id", "channel", "target", "message", "source", "status", "policy", "attempts", "next_attempt_at", "not_before",
    "expires_at", "idempotency_key", "parts_sent", "parts_total", "provider_id", "error", "error_class", "created_at",
    "finished_at", "duration_ms", "dismissed",
    "key", "operation", "revision", "note", "thread", "content", "format",
]  # fmt: skip
UNKNOWN = "019a0f5c-4b1e-7c3a-9f10-2b8d7c6e5f40"


async def queue(gateway: Gateway, **change: str) -> str:
    answer = await gateway.client.send(GOOD | change, ASYNC)
    assert answer.status == 202
    return str(answer.json()["id"])


async def fail(gateway: Gateway, **change: str) -> str:
    """Send directly what the provider refuses; return the id of its record."""
    gateway.transport.script = [REFUSED]
    await gateway.client.send(GOOD | change)
    return str((await listed(gateway, "?limit=1"))[0]["id"])


async def listed(gateway: Gateway, query: str = "") -> list[dict[str, Any]]:
    answer = await gateway.client.get(f"/deliveries{query}")
    assert answer.status == 200, answer.body
    return list(answer.json()["items"])


# --- the list


async def test_an_empty_list_is_a_page_without_items(gateway: Gateway):
    answer = await gateway.client.get("/deliveries")
    assert (answer.status, answer.json()) == (200, {"items": [], "next_cursor": None, "total": None})
    assert answer.header("cache-control") == "no-store"


async def test_the_newest_delivery_comes_first_with_every_field(gateway: Gateway):
    first, second = await queue(gateway, message="one"), await queue(gateway, message="two")
    items = await listed(gateway)
    assert [item["id"] for item in items] == [second, first]
    assert [list(item) for item in items] == [FIELDS, FIELDS]
    assert items[0]["created_at"] == "2023-11-14T22:13:20.000Z"
    assert (items[0]["finished_at"], items[0]["idempotency_key"], items[0]["duration_ms"]) == (None, None, None)


async def test_every_filter_narrows_the_list(make_gateway: MakeGateway):
    gateway = make_gateway({"BOTCHAT_BOT_TOKEN": "123456:test-000000-aaaaaaaaaaaaaaaaaaaaaaaaaa"})
    alarm = await queue(gateway, message="disk alarm on web-1")
    gateway.clock.advance(100)
    robot = await queue(gateway, channel="botchat", target="1001", message="backup done")
    other = await queue(gateway, target="#other", message="disk fine")
    dead = await fail(gateway, message="disk lost")
    asked = {
        "?status=queued": [other, robot, alarm],
        "?status=dead": [dead],
        "?status=sent": [],
        "?channel=botchat": [robot],
        "?channel=Telegram": [robot],
        "?target=%23ops": [dead, alarm],
        "?target=ops": [],
        "?q=disk": [dead, other, alarm],
        "?q=disk+al": [alarm],
        "?q=1001": [robot],
        "?since=2023-11-14T22:14:00Z": [dead, other, robot],
        "?since=1700000050": [dead, other, robot],
        "?q=disk&status=queued&target=%23other": [other],
        "?status=&channel=&target=&q=&since=&cursor=": [dead, other, robot, alarm],
        "?limit=2": [dead, other],
    }
    found = {query: [item["id"] for item in await listed(gateway, query)] for query in asked}
    assert found == asked


@pytest.mark.parametrize("q", ['"', "'", "*", "a OR b", "NEAR(", "\0", "\ud83d", "%", "-x", "disk:", "(" * 500])
async def test_any_words_may_be_searched_for(gateway: Gateway, q: str):
    await queue(gateway)
    await listed(gateway, f"?q={quote(q, errors='surrogatepass')}")


async def test_the_cursor_leads_over_all_pages_once(gateway: Gateway):
    ids = [await queue(gateway, message=f"number {n}") for n in range(7)]
    seen, cursor = [], ""
    while True:
        page = (await gateway.client.get(f"/deliveries?limit=3&q=number&cursor={quote(cursor)}")).json()
        seen += [item["id"] for item in page["items"]]
        assert page["total"] is None
        await queue(gateway, message="number of one that came meanwhile")
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]


async def test_without_a_limit_a_page_has_50(gateway: Gateway):
    for n in range(51):
        await queue(gateway, message=str(n))
    page = (await gateway.client.get("/deliveries")).json()
    assert len(page["items"]) == 50
    assert page["next_cursor"]
    assert len(await listed(gateway, "?limit=200")) == 51


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?limit=0", "limit"),
        ("?limit=201", "limit"),
        ("?limit=-1", "limit"),
        ("?limit=", "limit"),
        ("?limit=1.0", "limit"),
        ("?limit=ten", "limit"),
        ("?limit=%C2%B2", "limit"),
        ("?limit=" + "9" * 5000, "limit"),
        ("?limit=0000001000000000", "limit"),  # the first nine digits alone would do
        ("?status=lost", "status"),
        ("?status=ded", "did you mean 'dead'?"),
        ("?channel=nothing", "channel: Unknown channel; choose from apprise, "),
        ("?channel=slakc", "did you mean 'slack'?"),
        ("?chanel=slack", "did you mean 'channel'?"),
        ("?status=QUEUED", "status"),
        ("?status=queued&status=lost", "status"),
        ("?limit=1&limit=2", "limit"),
        ("?limit=1&limit=1", "limit"),
        ("?since=yesterday", "since"),
        ("?since=nan", "since"),
        ("?since=inf", "since"),
        ("?since=1e300", "since"),
        ("?since=-1", "since"),
        ("?since=0000-01-01", "since"),
        ("?cursor=x", "cursor"),
        ("?cursor=-1", "cursor"),
        ("?cursor=%C2%B2", "cursor"),
        ("?cursor=1;DROP", "cursor"),
        ("?colour=red", "colour"),
        ("?Status=queued", "Status"),
        ("?" + "x" * 5000, "xxx"),
    ],
)
async def test_a_wrong_parameter_answers_422_and_is_named(gateway: Gateway, query: str, named: str):
    problem = check_problem(await gateway.client.get(f"/deliveries{query}"), 422, "validation-failed")
    assert named in problem["detail"]
    assert len(problem["detail"]) < 400


# --- one of them


async def test_one_delivery_is_shown_as_in_the_list(gateway: Gateway):
    id_ = await queue(gateway, not_before="1800000000", policy="at_most_once")
    answer = await gateway.client.get(f"/deliveries/{id_}")
    assert answer.status == 200
    assert answer.json() == (await listed(gateway))[0]
    assert answer.json()["not_before"] == "2027-01-15T08:00:00.000Z"
    assert answer.json()["policy"] == "at_most_once"


@pytest.mark.parametrize("id_", [UNKNOWN, "x", "1", "%2e%2e", "\0", "' OR 1=1 --", "é", "x" * 3000])
@pytest.mark.parametrize(("method", "end"), [("GET", ""), ("POST", "/replay"), ("POST", "/cancel")])
async def test_an_unknown_id_answers_404(gateway: Gateway, method: str, end: str, id_: str):
    check_problem(await gateway.client.request(method, f"/deliveries/{id_}{end}"), 404, "not-found")
    assert gateway.audit() == []


async def test_what_waits_is_cancelled_once(gateway: Gateway):
    id_ = await queue(gateway)
    answer = await gateway.client.request("POST", f"/deliveries/{id_}/cancel", ("X-Request-Id", "r1"))
    assert (answer.status, answer.json()["status"]) == (200, "cancelled")
    assert answer.json()["finished_at"]
    again = await gateway.client.request("POST", f"/deliveries/{id_}/cancel")
    problem = check_problem(again, 409, "invalid-transition")
    assert "cancelled" in problem["detail"]
    entry, queued = gateway.audit()
    assert queued.action == "msg.queue"
    assert (entry.action, entry.source) == ("msg.cancel", "gateway")
    assert (entry.metadata["delivery"], entry.metadata["request_id"], entry.metadata["ip"]) == (id_, "r1", "127.0.0.1")
    assert "hello" not in str(entry)


@pytest.mark.parametrize("first", ["dead", "cancelled"])
async def test_what_ended_unsent_is_replayed_once(gateway: Gateway, first: str):
    if first == "dead":
        id_ = await fail(gateway)
    else:
        id_ = await queue(gateway)
        await gateway.client.request("POST", f"/deliveries/{id_}/cancel")
    before = len(gateway.audit())
    answer = await gateway.client.request("POST", f"/deliveries/{id_}/replay")
    assert (answer.status, answer.json()["status"]) == (200, "queued")
    assert (answer.json()["error"], answer.json()["finished_at"]) == ("", None)
    check_problem(await gateway.client.request("POST", f"/deliveries/{id_}/replay"), 409, "invalid-transition")
    assert len(gateway.audit()) == before + 1
    entry = gateway.audit()[0]
    assert (entry.action, entry.metadata["delivery"]) == ("msg.replay", id_)
    assert "hello" not in str(entry)


async def test_what_was_sent_is_neither_replayed_nor_cancelled(gateway: Gateway):
    await gateway.client.send(GOOD)
    id_ = (await listed(gateway))[0]["id"]
    for change in ("replay", "cancel"):
        problem = check_problem(
            await gateway.client.request("POST", f"/deliveries/{id_}/{change}"), 409, "invalid-transition"
        )
        assert "sent" in problem["detail"]
    assert (await listed(gateway))[0]["status"] == "sent"


async def test_what_is_being_sent_cannot_be_cancelled(gateway: Gateway):
    id_ = await queue(gateway)
    claimed = await gateway.app.outbox.store.claim_due("worker", 1, {"teamchat": ChannelRules()})
    assert [delivery.id for delivery in claimed] == [id_]
    answer = await gateway.client.request("POST", f"/deliveries/{id_}/cancel")
    assert "sending" in check_problem(answer, 409, "invalid-transition")["detail"]


async def test_a_replay_wakes_whoever_sends(gateway: Gateway):
    id_ = await fail(gateway)
    woken: list[bool] = []
    gateway.app.outbox.on_queued(lambda: woken.append(True))
    await gateway.client.request("POST", f"/deliveries/{id_}/replay")
    assert woken == [True]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/deliveries"),
        ("DELETE", f"/deliveries/{UNKNOWN}"),
        ("GET", f"/deliveries/{UNKNOWN}/replay"),
        ("GET", f"/deliveries/{UNKNOWN}/cancel"),
    ],
)
async def test_other_methods_answer_405(gateway: Gateway, method: str, path: str):
    check_problem(await gateway.client.request(method, path), 405, "method-not-allowed")


PROTECTED = [
    ("GET", "/deliveries"),
    ("GET", f"/deliveries/{UNKNOWN}"),
    ("POST", f"/deliveries/{UNKNOWN}/replay"),
    ("POST", f"/deliveries/{UNKNOWN}/retry"),
    ("POST", f"/deliveries/{UNKNOWN}/cancel"),
]


async def test_what_waits_for_its_next_try_is_tried_now(gateway: Gateway):
    id_ = await queue(gateway)
    store = gateway.app.outbox.store
    (claimed,) = await store.claim_due("w1", 1, {"teamchat": ChannelRules()})
    waits = AttemptOutcome(DeliveryStatus.RETRY_WAIT, error="HTTP 502", error_class="transient", wait_s=3600)
    await store.finish("w1", claimed.id, waits)
    answer = await gateway.client.request("POST", f"/deliveries/{id_}/retry")
    assert (answer.status, answer.json()["status"]) == (200, "retry_wait")
    assert answer.json()["next_attempt_at"] == "2023-11-14T22:13:20.000Z"
    assert await store.seconds_to_next({"teamchat": ChannelRules()}) == 0
    entry = gateway.audit()[0]
    assert (entry.action, entry.source, entry.metadata["delivery"]) == ("msg.retry", "gateway", id_)


async def test_what_does_not_wait_for_a_next_try_is_not_tried_now(gateway: Gateway):
    id_ = await queue(gateway)
    problem = check_problem(await gateway.client.request("POST", f"/deliveries/{id_}/retry"), 409, "invalid-transition")
    assert mentions(problem["detail"], id_, "retry_wait")


async def test_a_beginning_of_an_id_that_no_other_has_stands_for_it(gateway: Gateway):
    id_ = await queue(gateway)
    for short in (id_[:-1], id_.rpartition("-")[2][:8], id_.rpartition("-")[2].upper()):
        answer = await gateway.client.get(f"/deliveries/{short}")
        assert (answer.status, answer.json()["id"]) == (200, id_)


async def test_a_beginning_of_several_ids_is_refused_with_their_names(gateway: Gateway):
    ids = [await queue(gateway) for _ in range(7)]
    problem = check_problem(await gateway.client.get("/deliveries/01"), 422, "validation-failed")
    assert "01" in problem["detail"]
    assert sum(id_ in problem["detail"] for id_ in ids) == 5
    assert "more characters" in problem["detail"]


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_with_a_token_set_every_route_needs_it(make_gateway: MakeGateway, method: str, path: str):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    answer = await gateway.client.request(method, path)
    check_problem(answer, 401, "unauthenticated")
    assert answer.header("www-authenticate").startswith("Bearer")
    assert (await gateway.client.request(method, path, BEARER)).status in (200, 404)


async def test_who_holds_the_token_is_the_actor_of_a_cancellation(make_gateway: MakeGateway):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    id_ = (await gateway.client.send(GOOD, ASYNC, BEARER)).json()["id"]
    await gateway.client.request("POST", f"/deliveries/{id_}/cancel", BEARER)
    assert gateway.audit()[0].metadata["actor"] == "token"


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_without_the_store_every_route_answers_503(gateway: Gateway, database: Database, method: str, path: str):
    await database.aclose()
    check_problem(await gateway.client.request(method, path), 503, "not-ready")


DOCUMENTED = {p["name"]: p["schema"] for p in DOCUMENT["paths"]["/deliveries"]["get"]["parameters"]}


def allows(schema: dict[str, Any], value: str) -> bool:
    """Whether the document allows the value of a parameter."""
    if "anyOf" in schema and not any(allows(one, value) for one in schema["anyOf"]):
        return False
    if schema.get("type") == "integer":
        return value.isascii() and value.isdecimal() and schema["minimum"] <= int(value) <= schema["maximum"]
    fits = {
        "enum": lambda listed: value in listed,
        "const": lambda only: value == only,
        "pattern": lambda pattern: re.search(pattern, value) is not None,
        "format": lambda _: re.fullmatch(r"[0-9-]{10}T[0-9:.]+(Z|[+-][0-9:]{5})", value) is not None,
    }
    return all(fits[key](limit) for key, limit in schema.items() if key in fits)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("status", ["", "queued", "dead", "QUEUED", "lost"]),
        ("channel", ["", "slack", "Telegram"]),  # which others there are depends on the plug-ins
        ("target", ["", "#ops"]),
        ("key", ["", "disk-web1"]),
        ("q", ["", "a b"]),
        ("since", ["", "1700000000", "1700000000.5", "2026-11-20T08:00:00Z", "yesterday", "-1", "nan", "1e300"]),
        ("limit", ["", "1", "200", "0", "201", "ten", "1.0", "²"]),
        ("cursor", ["", "1", "5:019a0f5c", "x", "-1", "1;DROP"]),
    ],
)
async def test_the_document_allows_exactly_the_parameters_that_the_service_takes(
    gateway: Gateway, name: str, values: list[str]
):
    taken = {v: (await gateway.client.get(f"/deliveries?{name}={quote(v)}")).status == 200 for v in values}
    assert taken == {value: allows(DOCUMENTED[name], value) for value in values}


def test_every_parameter_is_compared_with_the_service():
    (marker,) = test_the_document_allows_exactly_the_parameters_that_the_service_takes.pytestmark
    assert [name for name, _ in marker.args[1]] == list(DOCUMENTED)


def test_every_route_and_every_answer_is_documented():
    paths = DOCUMENT["paths"]
    assert {name for name in paths if name.startswith("/deliveries")} == {
        "/deliveries", "/deliveries/{id}",
        "/deliveries/{id}/replay", "/deliveries/{id}/dismiss", "/deliveries/{id}/retry", "/deliveries/{id}/cancel",
    }  # fmt: skip
    parameters = {p["name"] for p in paths["/deliveries"]["get"]["parameters"]}
    assert parameters == {"status", "channel", "target", "key", "q", "since", "limit", "cursor"}
    for name in ("replay", "retry", "cancel"):
        operation = paths[f"/deliveries/{{id}}/{name}"]["post"]
        assert operation["responses"].keys() >= {"200", "401", "404", "409", "503"}
        assert operation["security"]
    assert list(DOCUMENT["components"]["schemas"]["Delivery"]["properties"]) == FIELDS
