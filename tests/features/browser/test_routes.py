"""The operations on browser profiles, as a program calls them."""

from tests.features.browser.conftest import Site

from tocsin.testing.dashboard import DashboardClient


async def test_profiles_are_listed_by_name_without_credentials(client: DashboardClient, site: Site):
    site.write(
        {"name": "office", "executable": str(site.program), "sandbox": False},
        {"name": "farm", "driver": "remote", "cdp_endpoint": "wss://ana:hunter2@farm.invalid/?token=hunter2"},
    )
    found = (await client.get("/api/browser/profiles?limit=1")).json()
    assert [(each["name"], each["driver"]) for each in found["items"]] == [("farm", "remote")]
    assert "hunter2" not in str(found)
    rest = (await client.get(f"/api/browser/profiles?limit=1&cursor={found['next_cursor']}")).json()
    assert [(each["name"], each["status"]) for each in rest["items"]] == [("office", "stopped")]
    assert (rest["total"], rest["next_cursor"]) == (2, None)


async def test_a_browser_is_started_once_and_stopped(client: DashboardClient, site: Site):
    site.write_managed()
    for _ in range(2):
        answer = await client.post("/api/browser/profiles/office/start")
        record = answer.json()
        assert (answer.status, record["status"]) == (200, "running")
        assert record["cdp_endpoint"].startswith("http://127.0.0.1:")
    stopped = await client.post("/api/browser/profiles/office/stop")
    assert (stopped.status, stopped.json()["status"], stopped.json()["pid"]) == (200, "stopped", None)
    entries = site.bench.audit()
    assert [(entry.action, entry.source) for entry in entries] == [
        ("browser.start", "dashboard"),
        ("browser.stop", "dashboard"),
    ]
    assert entries[0].metadata["actor"] == "admin"


async def test_what_cannot_be_started_or_stopped_is_told(client: DashboardClient, site: Site):
    site.write(
        {"name": "office", "executable": str(site.program), "sandbox": False},
        {"name": "farm", "driver": "remote", "cdp_endpoint": "ws://127.0.0.1:1/"},
    )
    for name, status in {"farm": 409, "wrok": 404}.items():
        for verb in ("start", "stop"):
            assert (await client.post(f"/api/browser/profiles/{name}/{verb}")).status == status
    site.behave("dies")
    answer = await client.post("/api/browser/profiles/office/start")
    assert (answer.status, answer.json()["code"]) == (409, "conflict")
    assert "exited" in answer.json()["detail"]
    assert (await client.post("/api/browser/profiles/office/stop", {"forget": "yes"})).status == 422
