"""The operations on memory, as a program calls them."""

import pytest
from tests.features.memory.conftest import MemoryBench

from tocsin.testing.dashboard import DashboardClient


def actions(kept: MemoryBench) -> list[tuple[str, str]]:
    return [(action, source) for action, source, _ in kept.audited()]


async def test_an_entry_is_stored_read_replaced_removed_and_restored(client: DashboardClient, kept: MemoryBench):
    body = {"key": "wifi.guest", "value": "guest network: blue", "type": "note", "tags": ["home"], "importance": 1}
    made = await client.post("/api/memory", body)
    assert (made.status, made.headers["location"]) == (201, "/api/memory/wifi.guest")
    entry = made.json()
    assert {name: entry[name] for name in body} == body
    assert (entry["scope"], entry["source"], entry["strength"], entry["half_life_days"]) == (
        "global", "dashboard", 1.0, 30.0,
    )  # fmt: skip
    got = await client.get("/api/memory/wifi.guest")
    assert (got.json(), got.headers["etag"]) == (entry, made.headers["etag"])
    kept.passes(1)
    replaced = await client.post("/api/memory", {"key": "wifi.guest", "value": "red", "half_life_days": None})
    assert (replaced.status, replaced.json()["value"], replaced.json()["half_life_days"]) == (200, "red", None)
    refused = await client.post("/api/memory", {"key": "wifi.guest", "value": "x", "if_absent": True})
    assert (refused.status, refused.json()["code"]) == (409, "conflict")
    stale = await client.call("DELETE", "/api/memory/wifi.guest", headers={"If-Match": got.headers["etag"]})
    assert (stale.status, stale.json()["code"]) == (412, "precondition-failed")
    fresh = {"If-Match": replaced.headers["etag"]}
    assert (await client.call("DELETE", "/api/memory/wifi.guest", headers=fresh)).status == 204
    assert (await client.get("/api/memory/wifi.guest")).json()["code"] == "not-found"
    assert (await client.post("/api/memory/wifi.guest/restore")).json()["value"] == "red"
    assert (await client.post("/api/memory/wifi.guest/restore")).json()["value"] == "guest network: blue"
    assert (await client.call("DELETE", "/api/memory/absent")).status == 404
    assert (await client.post("/api/memory/absent/restore")).status == 404
    assert actions(kept) == [
        (action, "dashboard")
        for action in ("memory.set", "memory.set", "memory.delete", "memory.restore", "memory.restore")
    ]
    assert all(facts["actor"] == "admin" for _, _, facts in kept.audited())


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"key": "stats"}, "#/key"),
        ({"key": "search"}, "#/key"),
        ({"key": "decay"}, "#/key"),
        ({"key": "-a"}, "#/key"),
        ({"value": " "}, "#/value"),
        ({"value": "a" * 65_537}, "#/value"),
        ({"tags": ["a b"]}, "#/tags/0"),
        ({"importance": 1.5}, "#/importance"),
        ({"half_life_days": 0}, "#/half_life_days"),
        ({"expires_at": "tomorrow"}, "#/expires_at"),
        ({"scope": "chat:7"}, "#/scope"),
        ({"type": "rumour"}, "#/type"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_memory_does_not_take_is_pointed_at(client: DashboardClient, fields: dict, pointer: str):
    answer = await client.post("/api/memory", {"key": "a", "value": "b", **fields})
    assert (answer.status, answer.json()["code"]) == (422, "validation-failed")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_a_query_without_a_word_is_pointed_at(client: DashboardClient):
    answer = await client.get("/api/memory/search?query=%22")
    assert (answer.status, answer.json()["errors"][0]["parameter"]) == (422, "query")


async def test_a_secret_is_not_stored(client: DashboardClient, kept: MemoryBench):
    answer = await client.post("/api/memory", {"key": "a", "value": "it is correct-horse-battery-staple"})
    assert (answer.status, answer.json()["code"]) == (422, "validation-failed")
    assert "correct-horse" not in str(answer.body)
    assert kept.audited() == []


async def test_entries_are_filtered_sorted_and_paged(client: DashboardClient, kept: MemoryBench):
    await kept.store("b", "Ana likes tea", tags=("people",), type="preference", half_life_days=2)
    kept.passes(1)
    await kept.store("a", "Bo likes tea")
    await kept.store("chat:7:1", "only here")

    async def keys(query: str) -> list[str]:
        return [item["key"] for item in (await client.get(f"/api/memory?{query}")).json()["items"]]

    assert await keys("") == ["a", "chat:7:1", "b"]
    assert await keys("sort=key") == ["a", "b", "chat:7:1"]
    assert (await keys("sort=strength"))[-1] == "b"
    assert await keys("q=TEA&sort=key") == ["a", "b"]
    assert await keys("tag=people") == await keys("type=preference") == ["b"]
    assert await keys("scope=chat:7") == ["chat:7:1"]
    assert await keys("scope=global&sort=key") == ["a", "b"]
    first = (await client.get("/api/memory?sort=key&limit=2")).json()
    assert first["total"] == 3
    assert await keys(f"sort=key&limit=2&cursor={first['next_cursor']}") == ["chat:7:1"]
    for query in ("sort=age", "scope=elsewhere", "type=rumour", "limit=201"):
        assert (await client.get(f"/api/memory?{query}")).json()["errors"][0]["parameter"] == query.partition("=")[0]


async def test_a_search_tells_what_matches_and_where(client: DashboardClient, kept: MemoryBench):
    await kept.store("a", "the tea is in the kitchen", tags=("home",))
    await kept.store("b", "coffee", type="note")
    found = (await client.get("/api/memory/search?query=tea")).json()
    [match] = found["items"]
    assert (match["entry"]["key"], match["score"]) == ("a", 1.0)
    assert match["snippet"] == {"text": "the tea is in the kitchen", "matches": [[4, 7]]}
    assert isinstance(found["took_ms"], int)
    assert (await client.get("/api/memory/search?query=tea&tag=work")).json()["items"] == []
    assert (await client.get("/api/memory/search?query=tea&type=note")).json()["items"] == []
    for query in ("", "?query=", "?query=...", "?query=tea&limit=0"):
        assert (await client.get(f"/api/memory/search{query}")).json()["code"] == "validation-failed"


async def test_reading_does_not_refresh_unless_asked(client: DashboardClient, kept: MemoryBench):
    await kept.store("a", "b", half_life_days=1)
    kept.passes(1)
    read = (await client.get("/api/memory/a")).json()
    assert (read["strength"], read["access_count"]) == (0.5, 0)
    touched = await client.get("/api/memory/a?touch=true")
    assert (touched.json()["strength"], touched.json()["access_count"]) == (1.0, 1)
    assert touched.headers["etag"] == (await client.get("/api/memory/a")).headers["etag"]


async def test_what_has_faded_is_counted_and_removed(client: DashboardClient, kept: MemoryBench):
    await kept.store("old", "b", half_life_days=1)
    kept.passes(10)
    await kept.store("new", "b", pinned=True, tags=("x",))
    stats = (await client.get("/api/memory/stats")).json()
    assert (stats["count"], stats["pinned"], stats["fading"], stats["by_tag"]) == (2, 1, 1, {"x": 1})
    assert (sum(stats["strength_histogram"]), len(stats["strength_histogram"]), stats["last_decay"]) == (2, 10, None)
    before = kept.audited()
    dry = await client.post("/api/memory/decay", {"dry_run": True})
    assert dry.json() == {"dry_run": True, "evaluated": 2, "fading": 0, "removed": 1, "removed_keys": ["old"]}
    assert kept.audited() == before
    assert (await client.post("/api/memory/decay", {"threshold": 2})).json()["errors"][0]["pointer"] == "#/threshold"
    assert (await client.post("/api/memory/decay")).json()["removed"] == 1
    assert actions(kept)[-1] == ("memory.decay", "dashboard")
    assert (await client.get("/api/memory/stats")).json()["last_decay"]["removed"] == 1
    assert (await client.post("/api/memory/decay", {"half_life_days": 0.001, "threshold": 1})).json()["removed"] == 0


async def test_reading_takes_another_scope_than_writing(client: DashboardClient):
    client.scopes = frozenset({"read"})
    assert (await client.get("/api/memory")).status == 200
    assert (await client.post("/api/memory", {"key": "a", "value": "b"})).status == 403
