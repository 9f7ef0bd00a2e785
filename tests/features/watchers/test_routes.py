"""The operations on watchers, as a program calls them."""

from tests.features.watchers.conftest import Site

from tocsin.testing.dashboard import DashboardClient


async def test_rules_are_listed_by_name_and_shown_with_what_they_saw(site: Site, client: DashboardClient):
    site.write({"name": "sort", "command": "true"}, {"name": "copy", "command": "true", "enabled": False})
    first = (await client.get("/api/watchers/rules?limit=1")).json()
    assert ([rule["name"] for rule in first["items"]], first["total"]) == (["copy"], 2)
    assert first["items"][0]["state"] == "paused"
    async with site.watching():
        (site.folder / "letter").write_text("hello")
        await site.acted()
        shown = (await client.get("/api/watchers/rules/sort")).json()
    assert (shown["state"], shown["last_run"]["status"]) == ("watching", "succeeded")
    [event] = shown["recent"]
    assert (event["type"], event["path"]) == ("created", str(site.folder / "letter"))
    assert event["run_id"] == shown["last_run"]["id"]


async def test_a_rule_that_there_is_not_is_404_with_the_likely_one(site: Site, client: DashboardClient):
    site.write({"name": "sort", "command": "true"})
    answer = await client.get("/api/watchers/rules/sotr")
    assert (answer.status, answer.json()["code"]) == (404, "not-found")
    assert "'sort'" in answer.json()["detail"]
