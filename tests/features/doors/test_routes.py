"""The operations on doors."""

import pytest
from tests.features.doors.conftest import TEST, FrontBench

from tocsin.testing.dashboard import open_dashboard


async def test_doors_are_added_listed_rotated_and_removed(front: FrontBench):
    async with open_dashboard(front.bench.app) as client:
        added = await client.post("/api/doors", {"name": "alerts", "profile": "oncall", "secret": "s3cret-s3cret"})
        again = await client.post("/api/doors", {"name": "alerts", "profile": "oncall"})
        wrong = await client.post("/api/doors", {"name": "x", "profile": "nobody", "protocol": "smoke"})
        rotated = await client.post("/api/doors/alerts/rotate")
        listed = await client.get("/api/doors")
        shown = await client.get("/api/doors/alerts")

        assert (added.status, again.status, wrong.status) == (201, 409, 422)
        address = {"name", "protocol", "profile", "token", "url", "base_url", "services_url", "apprise_url"}
        assert set(added.json()) == {*address, "instructions", "local_only"}
        assert {each["product"] for each in added.json()["instructions"]} == {"any product", "curl"}
        assert added.json()["local_only"] is True
        assert added.json()["token"] != rotated.json()["token"]
        for answer in (listed, shown):
            assert rotated.json()["token"] not in str(answer.json())
            assert "s3cret" not in str(answer.json())
        assert shown.json()["has_secret"] is True
        assert (await client.call("DELETE", "/api/doors/alerts")).status == 204
        assert (await client.get("/api/doors/alerts")).status == 404


async def test_the_newest_requests_are_shown_and_a_rule_is_made_of_one(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", {"name": "Backup", "state": "failed", "n": 7})
    await front.work()

    async with open_dashboard(front.bench.app) as client:
        [request] = (await client.get("/api/doors/alerts/requests")).json()
        made = await client.post("/api/doors/alerts/rule", {"write": True})
        [shown] = (await client.post("/api/doors/alerts/preview", {"request": request["id"]})).json()
        [other] = (await client.post("/api/doors/alerts/preview", {"payload": '{"name": "Other"}'})).json()

    assert (request["state"], request["title"]) == ("sent", "Backup")
    assert (made.json()["written"], shown["rule"]) == (True, "rule 1 of doors.yaml")
    assert (shown["title"], other["title"]) == ("Backup", "Other")
    assert len(await front.deliveries()) == 1


async def test_a_rule_is_tried_before_it_is_written(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", {"name": "Backup", "state": "failed"})
    await front.work()
    rule = "- title: ${payload.name} ${payload.state}\n"

    async with open_dashboard(front.bench.app) as client:
        [tried] = (await client.post("/api/doors/alerts/preview", {"rule": rule})).json()
        [unchanged] = (await client.post("/api/doors/alerts/preview", {})).json()
        written = await client.post("/api/doors/alerts/rule", {"rule": rule, "write": True})
        wrong = await client.post("/api/doors/alerts/rule", {"rule": "- titel: x\n", "write": True})
        [after] = (await client.post("/api/doors/alerts/preview", {})).json()

    assert (tried["title"], tried["rule"], unchanged["rule"]) == ("Backup failed", "rule 1 of the text", None)
    assert written.json() == {"rule": rule, "written": True}
    assert (after["title"], after["rule"]) == ("Backup failed", "rule 1 of doors.yaml")
    assert (wrong.status, wrong.json()["errors"][0]["pointer"]) == (422, "#/rule")
    assert wrong.json()["errors"][0]["detail"].startswith("line 1: ")
    assert front.doors.rules.path.read_text() == f"alerts:\n{rule}"


async def test_what_became_of_a_request_is_an_event_of_its_door(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", {"name": "Backup"})
    before = await changes(front)
    await front.work()
    assert await changes(front) == before + 1


async def changes(front: FrontBench) -> int:
    """Return how many changes of doors pages were told."""
    sql = "SELECT COUNT(*) FROM changes WHERE topic = 'doors'"
    return await front.bench.app.database.read(lambda connection: int(connection.execute(sql).fetchone()[0]))


async def test_a_test_message_is_sent(front: FrontBench):
    await front.add()

    async with open_dashboard(front.bench.app) as client:
        sent = await client.post("/api/doors/alerts/test")

    assert [each.id for each in await front.deliveries()] == sent.json()["deliveries"]


async def test_a_door_is_changed_and_keeps_its_address(front: FrontBench):
    address = await front.add(secret="s3cret-s3cret")
    async with open_dashboard(front.bench.app) as client:
        before = await client.get("/api/doors/alerts")
        front.clock.advance(1)
        tag = {"if-match": before.headers["etag"]}
        body = {"severity": "warning", "sources": ["10.0.0.0/8"], "rate": 5, "secret": None}
        changed = await client.call("PATCH", "/api/doors/alerts", body, headers=tag)
        front.clock.advance(1)
        stale = await client.call("PATCH", "/api/doors/alerts", {"rate": 6}, headers=tag)
        usual = await client.call("PATCH", "/api/doors/alerts", {"sources": None, "rate": None})
        same = await client.call("PATCH", "/api/doors/alerts", {})

    assert (changed.status, stale.status, usual.status, same.status) == (200, 412, 200, 200)
    told = changed.json()
    assert [told[name] for name in ("severity", "sources", "rate", "has_secret")] == [
        "warning",
        ["10.0.0.0/8"],
        5,
        False,
    ]
    assert (usual.json()["sources"], usual.json()["rate"], usual.json()["severity"]) == ([], 600, "warning")
    assert (await front.post(f"/in/{address.token}", b"It works")).status == 200
    assert [sent.content["type"] for sent in await front.work()] == ["warning"]
    [first, second] = front.bench.audit("door.edit")
    assert first.metadata["fields"] == ["sources", "severity", "rate", "secret"]
    assert second.metadata["fields"] == ["sources", "rate"]
    assert "s3cret" not in str(first)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "other"},
        {"protocol": "ntfy"},
        {"profile": "nobody"},
        {"profile": None},
        {"preset": "smoke"},
        {"rate": 0},
        {"sources": ["nowhere"]},
        {"secret": "s", "secret_name": "S"},
        {"colour": "red"},
    ],
)
async def test_a_change_that_a_door_cannot_have_is_refused(front: FrontBench, body: dict):
    await front.add()
    async with open_dashboard(front.bench.app) as client:
        assert (await client.call("PATCH", "/api/doors/alerts", body)).status in {409, 422}

    assert front.bench.audit("door.edit") == []


async def test_a_secret_of_a_door_and_one_of_the_vault_replace_each_other(front: FrontBench):
    await front.add(secret="s3cret-s3cret")

    named = await front.doors.edit("alerts", {"secret_name": "HOOK"}, TEST)
    stored = await front.doors.edit("alerts", {}, TEST, "another")
    kept = await front.doors.edit("alerts", {"rate": 5}, TEST)
    none = await front.doors.edit("alerts", {}, TEST, "")

    assert (named.definition.secret_name, named.secret) == ("HOOK", "")
    assert (stored.definition.secret_name, stored.secret, kept.secret) == ("", "another", "another")
    assert not none.has_secret
