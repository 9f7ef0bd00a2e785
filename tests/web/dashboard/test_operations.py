"""What all operations have in common, shown on notifications and runs."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest

from tocsin.features.notifications.feature import FEATURE
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.features import open_feature

LIMITS = {"RATE_LIMIT_PER_IP": "60", "RATE_LIMIT_PER_USER": "120"}


@pytest.fixture
async def bench(tmp_path):
    async with open_feature(FEATURE, tmp_path, LIMITS) as bench:
        yield bench


@pytest.fixture
async def client(bench):
    async with open_dashboard(bench.app) as client:
        yield client


async def test_a_record_is_made_listed_read_and_deleted(client):
    made = await client.post("/api/notifications", {"title": "Backup finished", "level": "success"})
    assert made.status == 201
    listed = (await client.get("/api/notifications")).json()
    assert [item["title"] for item in listed["items"]] == ["Backup finished"]
    nid = made.json()["id"]
    assert (await client.post(f"/api/notifications/{nid}/read")).json()["read"] is True
    assert (await client.post(f"/api/notifications/{nid}/unread")).json()["read"] is False
    deleted = await client.call("DELETE", f"/api/notifications/{nid}")
    assert (deleted.status, deleted.body) == (204, b"")
    assert (await client.get("/api/notifications")).json()["total"] == 0


async def test_pages_follow_each_other_and_a_cursor_belongs_to_its_list(client):
    for number in range(3):
        await client.post("/api/notifications", {"title": f"Notice {number}"})
    first = (await client.get("/api/notifications?limit=2")).json()
    assert [item["title"] for item in first["items"]] == ["Notice 2", "Notice 1"]
    cursor = first["next_cursor"]
    second = (await client.get(f"/api/notifications?limit=2&cursor={cursor}")).json()
    assert ([item["title"] for item in second["items"]], second["next_cursor"]) == (["Notice 0"], None)
    whole = urlsafe_b64decode(f"{cursor}==")
    moved = urlsafe_b64encode(whole[:12] + b"1e").decode().rstrip("=")
    for foreign in (
        f"/api/runs?cursor={cursor}",
        f"/api/notifications?unread=true&cursor={cursor}",
        f"/api/notifications?limit=2&cursor={moved}",
    ):
        refused = await client.get(foreign)
        assert (refused.status, refused.json()["errors"][0]["code"]) == (422, "bad-cursor")


@pytest.mark.parametrize(
    ("body", "status", "code", "error"),
    [
        (b'{"title": "\xff"}', 400, "invalid-request", None),
        (b"[" * 100_000, 400, "invalid-request", None),
        (b'{"a":' * 70 + b"1" + b"}" * 70, 400, "invalid-request", None),
        (b"[]", 422, "validation-failed", ("#", "wrong-type")),
        (b'{"title": "a", "title": "b"}', 422, "validation-failed", ("#/title", "duplicate-key")),
        (b'{"title": "\\u0000"}', 422, "validation-failed", ("#/title", "bad-value")),
        (b'{"title": "\\ud800"}', 422, "validation-failed", ("#/title", "bad-value")),
        (b'{"title": 5}', 422, "validation-failed", ("#/title", "wrong-type")),
        (b'{"titel": "a"}', 422, "validation-failed", ("#/title", "missing-key")),
        (b'{"title": "a", "level": "loud"}', 422, "validation-failed", ("#/level", "bad-value")),
        (json.dumps({"title": "a" * 201}).encode(), 422, "validation-failed", ("#/title", "too-long")),
    ],
    ids=str,
)
async def test_a_wrong_body_is_a_problem_that_says_where(client, body, status, code, error):
    answer = await client.call("POST", "/api/notifications", body, headers={"content-type": "application/json"})
    assert (answer.status, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    if error:
        first = answer.json()["errors"][0]
        assert (first["pointer"], first["code"]) == error


async def test_a_misspelt_key_is_told_with_the_likely_one(client):
    answer = await client.post("/api/notifications", {"title": "a", "categry": "user"})
    assert answer.json()["errors"] == [
        {
            "pointer": "#/categry",
            "code": "unknown-key",
            "detail": "Unknown key",
            "field": "categry",
            "suggestion": "category",
        }
    ]


async def test_unknown_and_repeated_query_parameters_are_refused(client):
    assert (await client.get("/api/notifications?unred=1")).json()["errors"][0]["code"] == "unknown-parameter"
    assert (await client.get("/api/notifications?limit=1&limit=2")).json()["errors"][0]["code"] == "duplicate-parameter"
    assert (await client.get("/api/notifications?limit=0")).json()["errors"][0]["parameter"] == "limit"
    assert (await client.get("/api/runs?status=failed&status=missed")).status == 200


async def test_an_operation_without_a_body_takes_none_or_an_empty_object(client):
    nid = (await client.post("/api/notifications", {"title": "a"})).json()["id"]
    assert (await client.post(f"/api/notifications/{nid}/read", {})).status == 200
    assert (await client.post(f"/api/notifications/{nid}/read", {"a": 1})).status == 422


async def test_a_path_that_there_is_not_is_404_and_a_wrong_method_405_with_those_allowed(client):
    assert (await client.get("/api/nothing")).json()["code"] == "not-found"
    answer = await client.call("PUT", "/api/notifications", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
    options = await client.call("OPTIONS", "/api/notifications")
    assert (options.status, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")


async def test_head_is_get_without_the_body(client):
    got, head = await client.get("/api/notifications"), await client.call("HEAD", "/api/notifications")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


async def test_a_repeated_key_gets_the_first_answer_and_makes_nothing_again(client):
    first = await client.post("/api/notifications", {"title": "once"}, Idempotency_Key="k1")
    again = await client.post("/api/notifications", {"title": "once"}, Idempotency_Key="k1")
    assert (again.status, again.json(), again.headers["idempotent-replayed"]) == (201, first.json(), "true")
    assert (await client.get("/api/notifications")).json()["total"] == 1
    other = await client.post("/api/notifications", {"title": "other"}, Idempotency_Key="k1")
    assert (other.status, other.json()["code"]) == (422, "idempotency-key-reused")


@pytest.mark.parametrize("key", ["", '""', "k" * 256, f'"{"k" * 254}"', "a\tb"])
async def test_a_key_that_is_none_is_refused(client, key):
    answer = await client.post("/api/notifications", {"title": "a"}, Idempotency_Key=key)
    assert (answer.status, answer.json()["code"]) == (400, "invalid-request")


async def test_a_key_may_stand_in_quotes(client):
    first = await client.post("/api/notifications", {"title": "a"}, Idempotency_Key=f'"{"k" * 253}"')
    again = await client.post("/api/notifications", {"title": "a"}, Idempotency_Key="k" * 253)
    assert (first.status, again.json()["id"]) == (201, first.json()["id"])


async def test_a_refused_request_leaves_its_key_free(client):
    assert (await client.post("/api/notifications", {"titel": "a"}, Idempotency_Key="k2")).status == 422
    assert (await client.post("/api/notifications", {"title": "a"}, Idempotency_Key="k2")).status == 201


async def test_a_change_is_one_audit_entry_with_who_asked(client, bench):
    answer = await client.post("/api/notifications", {"title": "a"}, X_Request_Id="my-request")
    [entry] = bench.audit("notification.create")
    assert answer.headers["x-request-id"] == "my-request"
    assert entry.source == "dashboard"
    facts = {name: entry.metadata[name] for name in ("actor", "ip", "request_id")}
    assert facts == {"actor": "admin", "ip": "127.0.0.1", "request_id": "my-request"}


async def test_answers_say_how_much_of_the_limit_is_left_and_are_not_stored(client):
    answer = await client.get("/api/notifications")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["ratelimit-policy"] == '"default";q=120;w=60'
    assert answer.headers["ratelimit"].startswith('"default";r=119;t=')
    client.user = ""
    for _ in range(60):
        assert (await client.get("/api/notifications")).status == 401
    refused = await client.get("/api/notifications")
    assert (refused.status, refused.headers["cache-control"]) == (429, "no-store")
    assert (refused.headers["retry-after"], refused.headers["ratelimit"][:14]) == ("60", '"default";r=0;')
    # What explains this can be read, and the page that shows it can be loaded.
    assert [(await client.get(path)).status for path in (refused.json()["type"], "/")] == [200, 200]


async def test_every_problem_has_a_page_that_loads_nothing(client):
    page = await client.get("/problems/rate-limited")
    assert page.status == 200
    assert b"Too many requests" in page.body
    assert (await client.get("/problems/nothing")).json()["code"] == "not-found"


async def test_the_document_names_scope_problems_and_extensions(client):
    document = (await client.get("/api/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    create = document["paths"]["/api/notifications"]["post"]
    assert (create["x-scope"], create["operationId"]) == ("run", "create_notification")
    assert set(create["responses"]) >= {"200", "201", "401", "403", "413", "415", "422", "429"}
    assert document["paths"]["/api/runs"]["get"]["x-extension"] is True
    assert "HTTPValidationError" not in json.dumps(document)


async def test_health_is_public_and_status_is_not(client):
    client.user = ""
    assert (await client.get("/health")).json()["status"] == "ok"
    assert (await client.get("/api/health")).json()["status"] == "ok"
    assert (await client.get("/api/status")).status == 401


async def test_the_feed_comes_as_json_or_atom(client):
    await client.post("/api/notifications", {"title": "a"})
    assert (await client.get("/api/notifications/feed")).headers["content-type"] == "application/feed+json"
    atom = await client.get("/api/notifications/feed", Accept="application/atom+xml")
    assert atom.body.startswith(b"<?xml")
    assert (await client.get("/api/notifications/feed", Accept="image/png")).status == 406


async def test_a_bug_is_answered_with_a_problem_that_tells_nothing_of_it(bench, client, caplog):
    await client.post("/api/notifications", {"title": "a"})
    await bench.app.database.write(lambda c: c.execute("UPDATE notifications SET level = 'wrong'").rowcount)
    answer = await client.get("/api/notifications", X_Request_Id="my-request")
    problem = answer.json()
    assert (answer.status, answer.headers["content-type"]) == (500, "application/problem+json")
    assert (problem["code"], problem["request_id"], "wrong" in problem["detail"]) == (
        "internal-error",
        "my-request",
        False,
    )
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert [record.request_id for record in caplog.records if record.exc_info] == ["my-request"]
