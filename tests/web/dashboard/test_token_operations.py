"""The operations on tokens, as an administrator calls them."""

import pytest

from tocsin.features.notifications.feature import FEATURE
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.features import open_feature


@pytest.fixture
async def bench(tmp_path):
    async with open_feature(FEATURE, tmp_path) as bench:
        yield bench


@pytest.fixture
async def client(bench):
    async with open_dashboard(bench.app) as client:
        yield client


async def test_a_token_is_shown_once_listed_without_it_and_revoked(client, bench):
    made = await client.post("/api/tokens", {"name": "backup", "scopes": ["send", "read"]})
    assert (made.status, made.headers["location"]) == (201, "/api/tokens/backup")
    assert made.json()["token"].startswith("tcs_")
    assert made.json()["scopes"] == ["read", "send"]
    listed = await client.get("/api/tokens")
    assert [each["name"] for each in listed.json()["items"]] == ["backup"]
    assert made.json()["token"].encode() not in listed.body
    gone = await client.call("DELETE", "/api/tokens/backup")
    assert (gone.status, (await client.get("/api/tokens")).json()["total"]) == (204, 0)
    assert (await client.call("DELETE", "/api/tokens/backup")).json()["code"] == "not-found"
    entries = bench.audit()
    assert [(entry.action, entry.source) for entry in entries] == [
        ("token.create", "dashboard"),
        ("token.revoke", "dashboard"),
    ]
    assert made.json()["token"] not in str(entries)


async def test_a_repeated_request_gets_all_but_the_token_which_is_never_kept(client, bench):
    first = await client.post("/api/tokens", {"name": "backup", "scopes": ["read"]}, Idempotency_Key="k")
    again = await client.post("/api/tokens", {"name": "backup", "scopes": ["read"]}, Idempotency_Key="k")
    assert (first.status, again.status, again.headers["idempotent-replayed"]) == (201, 201, "true")
    assert again.json() == {**first.json(), "token": None}
    kept = await bench.app.database.read(lambda c: [tuple(row) for row in c.execute("SELECT * FROM idempotency")])
    assert "backup" in str(kept)
    assert first.json()["token"] not in str(kept)


@pytest.mark.parametrize("body", [{"name": "a b", "scopes": ["read"]}, {"name": "a", "scopes": []}, {"name": "a"}])
async def test_a_token_needs_a_name_and_a_scope(client, body):
    assert (await client.post("/api/tokens", body)).status == 422


async def test_only_an_administrator_sees_and_makes_tokens(client):
    client.scopes = frozenset({"read", "send", "run"})
    assert (await client.get("/api/tokens")).status == 403
    assert (await client.post("/api/tokens", {"name": "a", "scopes": ["admin"]})).status == 403


async def test_a_token_limited_to_profiles_creates_none_that_sends_elsewhere(client):
    inner = client.app

    async def limited(scope, receive, send):
        scope["tocsin.profiles"] = ("nightly",)
        await inner(scope, receive, send)

    client.app = limited
    for profiles, status in ((["nightly"], 201), (["ops"], 403), ([], 403)):
        body = {"name": f"t{len(profiles)}{status}", "scopes": ["send"], "profiles": profiles}
        assert (await client.post("/api/tokens", body)).status == status
