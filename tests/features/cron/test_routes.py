"""The operations on cron jobs, as a program calls them."""

import asyncio
import json
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any

import pytest
from tests.facts import mentions
from tests.features.cron.conftest import Crontab, running
from tests.waiting import eventually

from tocsin.features.cron.model import KIND
from tocsin.testing.dashboard import DashboardClient

JOB = {
    "name": "disk-check",
    "schedule": "*/15 * * * *",
    "timezone": "Europe/Berlin",
    "command": "echo used",
    "output_on": "failure",
    "timeout_seconds": 60,
}


async def made(client: DashboardClient, **fields: object) -> dict:
    answer = await client.post("/api/cron/jobs", {**JOB, **fields})
    assert answer.status == 201, answer.body
    return answer.json()


def actions(crontab: Crontab) -> list[str]:
    return [entry.action for entry in crontab.bench.audit()]


async def test_a_job_is_stored_with_where_it_is_and_all_its_fields(client: DashboardClient, crontab: Crontab):
    answer = await client.post("/api/cron/jobs", JOB)
    job = answer.json()
    assert (answer.status, answer.headers["location"]) == (201, f"/api/cron/jobs/{job['id']}")
    got = await client.get(answer.headers["location"])
    assert (got.json(), got.headers["etag"]) == (job, answer.headers["etag"])
    assert {name: job[name] for name in JOB} == JOB
    assert job["retry"] == {
        "max_attempts": 1, "delay_seconds": 60, "backoff": 2.0, "max_delay_seconds": 3600, "on_exit_codes": [],
    }  # fmt: skip
    assert (job["state"], job["created_by"], job["last_run"]) == ("scheduled", "admin", None)
    assert job["schedule_text"].endswith("Europe/Berlin")
    assert job["next_runs"][0]["at"] == job["next_run_at"] == "2026-11-20T12:15:00.000Z"
    assert len(job["next_runs"]) == 5
    [entry] = crontab.bench.audit()
    assert (entry.action, entry.source, entry.metadata["actor"]) == ("cron.add", "dashboard", "admin")
    [listed] = (await client.get("/api/cron/jobs")).json()["items"]
    assert listed == {name: value for name, value in job.items() if name != "next_runs"}


async def test_all_mistakes_are_told_at_once_in_the_order_of_the_body(client: DashboardClient, crontab: Crontab):
    answer = await client.post("/api/cron/jobs", {"name": "x", "schedule": "61 * * * *", "comand": "df"})
    found = answer.json()
    assert (answer.status, found["code"], found["detail"]) == (422, "validation-failed", "3 fields need attention")
    assert (found["type"], "Request" in found["title"]) == ("/problems/validation-failed", True)
    assert found["errors"] == [
        {"pointer": "#/schedule", "code": "bad-cron", "detail": "minute 61 is outside 0-59", "field": "minute"},
        {"pointer": "#/comand", "code": "unknown-key", "detail": "Unknown field", "suggestion": "command"},
        {"pointer": "#/command", "code": "missing-key", "detail": "Required"},
    ]
    assert actions(crontab) == []


@pytest.mark.parametrize("written", ["shel", "SHELL"])
async def test_a_misspelt_type_is_answered_with_the_word_that_was_meant(client: DashboardClient, written: str):
    body = {"name": "x", "schedule": "@daily", "command": "df", "type": written}
    [error] = (await client.post("/api/cron/jobs", body)).json()["errors"]
    assert error["suggestion"] == "shell"
    assert mentions(error["detail"], "'shell'")


@pytest.mark.parametrize(
    ("fields", "pointer", "code"),
    [
        ({"timezone": "Mars/Olympus"}, "#/timezone", "bad-zone"),
        ({"output": "nobody"}, "#/output", "bad-value"),
        ({"retry": {"max_attempts": 0}}, "#/retry/max_attempts", "bad-value"),
        ({"schedule": "at 2020-01-01T00:00"}, "#/schedule", "bad-value"),
        ({"timeout_seconds": "60"}, "#/timeout_seconds", "wrong-type"),
        ({"type": "message"}, "#/type", "bad-value"),
        ({"state": "paused"}, "#/state", "unknown-key"),
    ],
    ids=str,
)
async def test_a_mistake_points_at_its_field(client: DashboardClient, fields: dict, pointer: str, code: str):
    for query in ("", "?dry_run=true"):
        answer = await client.post(f"/api/cron/jobs{query}", {**JOB, **fields})
        assert (answer.status, answer.json()["code"]) == (422, "validation-failed")
        [error] = answer.json()["errors"]
        assert (error["pointer"], error["code"]) == (pointer, code)


async def test_a_name_is_taken_once(client: DashboardClient):
    await made(client)
    answer = await client.post("/api/cron/jobs", JOB)
    assert (answer.status, answer.json()["code"]) == (409, "name-taken")


async def test_a_dry_run_tells_the_next_runs_and_warnings_and_stores_nothing(client: DashboardClient, crontab: Crontab):
    body = {**JOB, "schedule": "30 2 29 3 1", "jitter_seconds": 60, "type": "workflow", "command": "absent"}
    answer = await client.post("/api/cron/jobs?dry_run=true", body)
    found = answer.json()
    assert (answer.status, len(found["next_runs"])) == (200, 5)
    assert mentions(found["schedule_text"], "02:30", "29th", "Europe/Berlin")
    days, jitter, output, workflow = found["warnings"]
    assert mentions(days, "day of month", "day of week")
    assert "1 min" in jitter
    assert mentions(output, "`output_on`", "`output`")
    assert "'absent'" in workflow
    assert (await client.get("/api/cron/jobs")).json()["total"] == 0
    assert actions(crontab) == []
    await made(client)
    again = (await client.post("/api/cron/jobs?dry_run=true", JOB)).json()
    assert any("disk-check" in warning for warning in again["warnings"])


async def test_a_merge_patch_changes_what_it_names_and_null_is_the_default(client: DashboardClient, crontab: Crontab):
    job = await made(client, env={"A": "1", "B": "2"}, retry={"max_attempts": 3, "delay_seconds": 5})
    path = f"/api/cron/jobs/{job['id']}"
    patch = {"timeout_seconds": None, "env": {"A": None}, "retry": {"delay_seconds": 9}, "tags": ["disk"]}
    answer = await client.call("PATCH", path, patch, headers={"Content-Type": "application/merge-patch+json"})
    found = answer.json()
    assert (answer.status, found["timeout_seconds"], found["env"]) == (200, 3600, {"B": "2"})
    assert (found["retry"]["max_attempts"], found["retry"]["delay_seconds"], found["tags"]) == (3, 9, ["disk"])
    assert actions(crontab) == ["cron.add", "cron.edit"]
    wrong = await client.call("PATCH", path, {"schedule": "* * *", "comand": "df"})
    assert [error["pointer"] for error in wrong.json()["errors"]] == ["#/schedule", "#/comand"]
    missing = await client.call("PATCH", path, {"command": None})
    assert [(error["pointer"], error["code"]) for error in missing.json()["errors"]] == [("#/command", "missing-key")]
    other = await made(client, name="other")
    taken = await client.call("PATCH", path, {"name": other["name"]})
    assert (taken.status, taken.json()["code"]) == (409, "name-taken")


async def test_the_document_says_which_fields_null_restores(client: DashboardClient):
    path = f"/api/cron/jobs/{(await made(client))['id']}"
    schemas = (await client.get("/api/openapi.json")).json()["components"]["schemas"]
    fields = schemas["ChangeCronJobBody"]["properties"]
    assert "null" in fields["env"]["additionalProperties"]["type"]
    for name, schema in fields.items():
        restores = "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())
        assert (await client.call("PATCH", path, {name: None})).status == (200 if restores else 422), name


async def test_what_was_changed_since_is_neither_changed_nor_deleted(client: DashboardClient):
    path = f"/api/cron/jobs/{(await made(client))['id']}"
    read = (await client.get(path)).headers["etag"]
    assert (await client.call("PATCH", path, {"tags": ["a"]}, headers={"If-Match": read})).status == 200
    for method, body in (("PATCH", {"tags": ["b"]}), ("DELETE", None)):
        answer = await client.call(method, path, body, headers={"If-Match": read})
        assert (answer.status, answer.json()["code"]) == (412, "precondition-failed")
    assert (await client.get(path)).json()["tags"] == ["a"]


async def test_a_job_is_disabled_with_a_reason_and_enabled_again(client: DashboardClient, crontab: Crontab):
    path = f"/api/cron/jobs/{(await made(client))['id']}"
    paused = (await client.post(f"{path}/disable", {"reason": "move", "until": "2026-12-01T09:00:00Z"})).json()
    assert (paused["state"], paused["paused_reason"]) == ("paused", "move")
    assert paused["paused_until"] == "2026-12-01T09:00:00.000Z"
    assert (await client.post(f"{path}/enable")).json()["state"] == "scheduled"
    late = await client.post(f"{path}/disable", {"until": "2020-01-01T00:00:00Z"})
    assert [error["pointer"] for error in late.json()["errors"]] == ["#/until"]
    assert actions(crontab) == ["cron.add", "cron.disable", "cron.enable"]
    assert (await client.post(f"{path}/disable")).json()["enabled"] is False
    patched = await client.call("PATCH", path, {"enabled": True})
    assert patched.json()["state"] == "scheduled"


async def test_a_run_is_awaited_recorded_and_in_the_logs(client: DashboardClient, crontab: Crontab):
    job = await made(client, params={"a": "1"})
    path = f"/api/cron/jobs/{job['id']}"
    await client.post(f"{path}/disable")
    answer = await client.post(f"{path}/run", {"params": {"b": "2"}}, Prefer="wait=20")
    run = answer.json()
    assert (answer.status, answer.headers["location"]) == (200, f"/api/runs/{run['id']}")
    assert (run["kind"], run["subject_id"], run["trigger"], run["actor"]) == ("cron", job["id"], "manual", "admin")
    assert (run["status"], run["exit_code"], run["params"]) == ("succeeded", 0, {"a": "1", "b": "2"})
    [entry] = crontab.bench.audit("cron.execute")  # written before the answer
    assert (entry.source, entry.metadata["actor"], entry.metadata["run"]) == ("dashboard", "admin", run["id"])
    after = (await client.get(path)).json()
    assert (after["last_run"]["id"], after["next_run_at"], after["success_rate_30d"]) == (run["id"], None, 1.0)
    logs = (await client.get(f"{path}/logs")).json()
    assert [item["id"] for item in logs["items"]] == [run["id"]]
    assert [(line["stream"], line["text"]) for line in logs["log"]["lines"]] == [("stdout", "used")]
    assert (logs["log"]["run_id"], logs["log"]["complete"]) == (run["id"], True)
    assert (await client.get(f"{path}/logs?stream=stderr&tail=5")).json()["log"]["lines"] == []
    assert (await client.get(f"{path}/logs?status=failed")).json()["items"] == []
    other = await made(client, name="other")
    assert (await client.get(f"/api/cron/jobs/{other['id']}/logs")).json()["log"] is None
    assert (await client.get(f"/api/cron/jobs/{other['id']}/logs?run_id={run['id']}")).status == 404


async def test_a_dry_run_of_a_run_says_what_would_be_run(client: DashboardClient, crontab: Crontab):
    path = f"/api/cron/jobs/{(await made(client))['id']}"
    answer = await client.post(f"{path}/run", {"dry_run": True, "params": {"b": "2"}})
    run = answer.json()
    assert (answer.status, run["dry_run"], run["output"]["tail"]) == (200, True, "echo used")
    assert (await client.get(f"/api/runs/{run['id']}")).status == 404
    assert (await crontab.runs("disk-check"), actions(crontab)) == ([], ["cron.add"])


async def test_what_runs_is_neither_run_again_nor_deleted_unless_forced(client: DashboardClient, crontab: Crontab):
    gate = crontab.gate("here")
    job = await made(client, command=gate.command)
    path = f"/api/cron/jobs/{job['id']}"
    begun = await client.post(f"{path}/run")
    assert (begun.status, begun.json()["status"]) == (202, "running")
    assert (await client.get("/api/cron/jobs?state=running")).json()["total"] == 1
    for method, at, body in (
        ("POST", f"{path}/run", None),
        ("POST", f"{path}/run", {"dry_run": True}),
        ("DELETE", path, None),
    ):
        answer = await client.call(method, at, body)
        assert (answer.status, answer.json()["code"]) == (409, "run-already-active")
    deleted = await client.call("DELETE", f"{path}?force=true&keep_history=false")
    assert (deleted.status, deleted.body) == (204, b"")
    assert (await client.get(path)).status == 404
    assert (await crontab.jobs.runs().search(KIND, job["id"])).items == ()
    assert [entry.metadata["history"] for entry in crontab.bench.audit("cron.remove")] == ["deleted"]


async def test_disabling_ends_what_runs_where_asked(client: DashboardClient, crontab: Crontab):
    job = await made(client, command=crontab.gate("here").command)
    await client.post(f"/api/cron/jobs/{job['id']}/run")
    await client.post(f"/api/cron/jobs/{job['id']}/disable", {"cancel_running": True})

    async def cancelled() -> bool:
        return await crontab.statuses("disk-check") == ["cancelled"]

    await eventually(cancelled)


async def test_history_stays_unless_told_otherwise(client: DashboardClient, crontab: Crontab):
    job = await made(client)
    await client.post(f"/api/cron/jobs/{job['id']}/run", Prefer="wait=20")
    await client.call("DELETE", f"/api/cron/jobs/{job['id']}")
    assert len((await crontab.jobs.runs().search(KIND, job["id"])).items) == 1


async def test_jobs_are_filtered_sorted_and_paged(client: DashboardClient):
    await made(client, name="a", schedule="0 18 * * *", tags=["x"])
    await made(client, name="b", description="Backup")
    await made(client, name="c", command="backup.sh", schedule="0 17 * * *", tags=["x", "y"])

    async def names(query: str) -> list[str]:
        return [item["name"] for item in (await client.get(f"/api/cron/jobs?{query}")).json()["items"]]

    assert await names("q=BACKUP") == ["b", "c"]
    assert await names("tag=x") == ["a", "c"]
    assert await names("state=paused") == []
    assert await names("sort=next_run_at") == ["b", "c", "a"]
    assert await names("sort=created_at&limit=1") == await names("sort=updated_at&limit=1")
    first = (await client.get("/api/cron/jobs?limit=2")).json()
    assert (len(first["items"]), first["total"]) == (2, 3)
    assert await names(f"limit=2&cursor={first['next_cursor']}") == ["c"]
    assert (await client.get("/api/cron/jobs?state=gone")).json()["errors"][0]["parameter"] == "state"


async def test_what_is_due_comes_in_order_and_in_pages(client: DashboardClient):
    a, b = await made(client, name="a", schedule="0 * * * *"), await made(client, name="b", schedule="30,0 * * * *")
    first = (await client.get("/api/cron/upcoming?hours=2&limit=3")).json()
    second = (await client.get(f"/api/cron/upcoming?hours=2&limit=3&cursor={first['next_cursor']}")).json()
    found = [(item["at"][11:16], item["name"]) for item in [*first["items"], *second["items"]]]
    assert found == [("12:30", "b"), ("13:00", "a"), ("13:00", "b"), ("13:30", "b"), ("14:00", "a"), ("14:00", "b")]
    assert second["next_cursor"] is None
    assert first["items"][1]["job_id"] == a["id"] != b["id"]


@pytest.mark.parametrize(
    ("start", "status"),
    [
        ("9e0 z", 422), ("inf z", 422), ("x", 422), ("0000000000009.000 z", 200), ("9999999999999.999 z", 200),
        ("0001798761600.000 z", 200),
    ],
)  # fmt: skip
async def test_no_cursor_that_a_caller_makes_up_has_all_instants_looked_at(
    client: DashboardClient, start: str, status: int
):
    await made(client, name="often", schedule="* * * * *")
    path, hours = "/api/cron/upcoming", "9999"
    list_id = sha256(json.dumps([path, [["hours", hours]]]).encode()).hexdigest()
    mark = sha256(f"{list_id} {start}".encode()).hexdigest()[:12]
    cursor = urlsafe_b64encode(f"{mark}{start}".encode()).decode().rstrip("=")
    answer = await client.get(f"{path}?hours={hours}&cursor={cursor}")
    assert answer.status == status


async def test_a_job_of_a_file_is_shown_and_is_changed_in_its_file(client: DashboardClient, crontab: Crontab):
    folder = crontab.jobs.files.folder
    folder.mkdir()
    (folder / "good.yaml").write_text("schedule: '@daily'\ncommand: 'true'\n")
    (folder / "bad.yaml").write_text("schedule: '61 * * * *'\ncommand: 'true'\n")
    items = (await client.get("/api/cron/jobs")).json()["items"]
    assert [(item["name"], item["state"], item["file"]) for item in items] == [
        ("bad", "invalid", "bad.yaml"),
        ("good", "scheduled", "good.yaml"),
    ]
    assert "minute 61" in items[0]["problem"]
    for method in ("PATCH", "DELETE"):
        answer = await client.call(method, "/api/cron/jobs/good", {"tags": []} if method == "PATCH" else None)
        assert (answer.status, answer.json()["code"]) == (409, "conflict")
        assert "good.yaml" in answer.json()["detail"]
    assert (await client.post("/api/cron/jobs/bad/enable")).status == 409
    assert (await client.post("/api/cron/jobs/bad/run")).status == 409
    assert (await client.post("/api/cron/jobs/good/disable")).json()["enabled"] is False


async def test_a_job_that_there_is_not_is_404(client: DashboardClient):
    for method, path in (
        ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/logs"),
        ("POST", "/enable"), ("POST", "/disable"), ("POST", "/run"),
    ):  # fmt: skip
        answer = await client.call(method, f"/api/cron/jobs/absent{path}", {} if method in {"PATCH", "POST"} else None)
        assert (answer.status, answer.json()["code"]) == (404, "not-found")


async def test_definitions_take_the_scope_admin_and_runs_the_scope_run(client: DashboardClient):
    job = await made(client)
    client.scopes = frozenset({"read", "run"})
    assert (await client.post("/api/cron/jobs", JOB)).status == 403
    assert (await client.call("PATCH", f"/api/cron/jobs/{job['id']}", {})).status == 403
    assert (await client.post(f"/api/cron/jobs/{job['id']}/enable")).status == 200


async def test_a_name_is_any_line_of_up_to_100_characters(client: DashboardClient, crontab: Crontab):
    job = await made(client, name="Nightly backup (web/db), größte")
    assert job["name"] == "Nightly backup (web/db), größte"
    assert (await made(client, name="x" * 100))["state"] == "scheduled"
    for name in ("x" * 101, "", "  ", " x", "x ", "-x", "a\nb", "a\u202eb"):
        refused = await client.post("/api/cron/jobs", {"name": name, "schedule": "@daily", "command": "true"})
        assert [error["pointer"] for error in refused.json()["errors"]] == ["#/name"], name


@pytest.mark.parametrize(
    ("change", "pointer", "said"),
    [
        ({"working_dir": "/" + "x" * 4096}, "#/working_dir", "at most 4,096 characters, found 4,097"),
        ({"env": {f"V{n}": "" for n in range(501)}}, "#/env", "at most 500 entries, found 501"),
        ({"env": {"V": "x" * 100_001}}, "#/env/V", "at most 100,000 characters"),
    ],
)
async def test_what_a_job_would_keep_for_each_run_has_a_limit(
    client: DashboardClient, change: dict[str, Any], pointer: str, said: str
):
    job = await made(client)
    for answer in (
        await client.post("/api/cron/jobs", {**JOB, "name": "b", **change}),
        await client.call("PATCH", f"/api/cron/jobs/{job['id']}", change),
    ):
        [error] = answer.json()["errors"]
        assert (answer.status, error["pointer"], said in error["detail"]) == (422, pointer, True)


async def test_null_for_a_field_that_there_is_not_is_refused_as_an_unknown_key(client: DashboardClient):
    job = await made(client)
    place = f"/api/cron/jobs/{job['id']}"
    for patch, pointer in (
        ({"bogus": None}, "#/bogus"),
        ({"last_run": None}, "#/last_run"),
        ({"retry": {"bogus": None}}, "#/retry/bogus"),
        ({"description": "new", "comand": None}, "#/comand"),
    ):
        answer = await client.call("PATCH", place, patch)
        assert answer.status == 422, patch
        [error] = answer.json()["errors"]
        assert (error["pointer"], error["code"]) == (pointer, "unknown-key")
    patch = {"retry": {"max_attempts": None}, "env": {"A": None}, "params": None, "timeout_seconds": None}
    answer = await client.call("PATCH", place, patch)
    assert (answer.status, answer.json()["timeout_seconds"], answer.json()["description"]) == (200, 3600, "")


async def test_a_run_that_overlap_lets_wait_is_queued_and_can_be_cancelled(client: DashboardClient, crontab: Crontab):
    gate = crontab.gate("first")
    place = f"/api/cron/jobs/{(await made(client, command=gate.command, overlap='queue'))['id']}"
    await client.post(f"{place}/run")
    second = await client.post(f"{place}/run")
    assert (second.status, second.json()["status"], second.json()["started_at"]) == (202, "queued", None)
    assert (await client.post(f"{place}/run")).json()["code"] == "run-already-active"
    assert (await client.post(f"{place}/run", {"dry_run": True})).status == 409
    cancelled = await client.post(f"{second.headers['location']}/cancel")
    assert (cancelled.status, cancelled.json()["status"]) == (200, "cancelled")
    assert (await client.post(f"{place}/run", {"dry_run": True})).status == 200
    waiting = asyncio.create_task(client.post(f"{place}/run", prefer="wait=30"))
    await eventually(lambda: is_queued(crontab))
    gate.open()
    await eventually(lambda: went(crontab, "succeeded", "cancelled", "queued"))
    async with running(crontab) as service:  # the answer waits by the same clock, which stands while commands run

        async def begun() -> bool:
            await service.pass_time(1)
            return not await is_queued(crontab)

        await eventually(begun)
        await eventually(lambda: went(crontab, "succeeded", "cancelled", "succeeded"))
        await eventually(lambda: crontab.clock.advance(0.1) or waiting.done())
        third = waiting.result()
    assert (third.status, third.json()["status"]) == (200, "succeeded")


async def went(crontab: Crontab, *statuses: str) -> bool:
    return await crontab.statuses(JOB["name"]) == [*statuses]


async def is_queued(crontab: Crontab) -> bool:
    return "queued" in await crontab.statuses(JOB["name"])


async def test_a_run_replaces_the_earlier_one_where_overlap_says_so(client: DashboardClient, crontab: Crontab):
    job = await made(client, command="exec sleep 600", overlap="replace")
    await client.post(f"/api/cron/jobs/{job['id']}/run")
    second = await client.post(f"/api/cron/jobs/{job['id']}/run")
    assert (second.status, second.json()["status"]) == (202, "queued")
    async with running(crontab) as service:

        async def replaced() -> bool:
            await service.pass_time(1)
            return await crontab.statuses(job["name"]) == ["cancelled", "running"]

        await eventually(replaced)
        await client.post(f"{second.headers['location']}/cancel", {"grace_seconds": 0})
        assert await service.quiet(job["name"]) == ["cancelled", "cancelled"]


async def test_the_entry_of_a_run_that_waited_says_who_asked_for_it_also_where_it_never_began(
    client: DashboardClient, crontab: Crontab
):
    place = f"/api/cron/jobs/{(await made(client, command='exec sleep 600', overlap='replace'))['id']}"
    for request in ("first", "second", "third"):
        last = await client.post(f"{place}/run", x_request_id=request)
    async with running(crontab) as service:

        async def replaced() -> bool:
            await service.pass_time(1)
            return await crontab.statuses(JOB["name"]) == ["cancelled", "skipped", "running"]

        await eventually(replaced)
        await client.post(f"{last.headers['location']}/cancel", {"grace_seconds": 0})
        await service.quiet(JOB["name"])
    entries = [entry.metadata for entry in crontab.bench.audit("cron.execute")]
    assert {entry["request_id"]: entry["status"] for entry in entries} == {
        "first": "cancelled",
        "second": "skipped",
        "third": "cancelled",
    }
    assert {(entry["actor"], entry["ip"]) for entry in entries} == {("admin", "127.0.0.1")}
    assert len(entries) == 3


async def test_patches_without_an_etag_are_all_applied_and_of_those_with_one_the_first(client: DashboardClient):
    place = f"/api/cron/jobs/{(await made(client))['id']}"
    patches = [{"timeout_seconds": 7}, {"description": "new"}, {"tags": ["a"]}, {"history_days": 3}]
    answers = await asyncio.gather(*(client.call("PATCH", place, patch) for patch in patches))
    assert [answer.status for answer in answers] == [200] * 4
    job = await client.get(place)
    assert [{name: job.json()[name]} for patch in patches for name in patch] == patches
    given = {"if-match": job.headers["etag"]}
    calls = (client.call("PATCH", place, {"timeout_seconds": 10 + n}, headers=given) for n in range(3))
    assert sorted(answer.status for answer in await asyncio.gather(*calls)) == [200, 412, 412]


async def test_parameters_keep_their_kinds_and_reach_a_command_as_text(client: DashboardClient):
    params = {"keep": 7, "deep": True, "share": 0.5, "hosts": ["a", "b"], "name": "x y"}
    command = 'echo "$PARAM_KEEP $PARAM_DEEP $PARAM_SHARE $PARAM_HOSTS $PARAM_NAME"'
    job = await made(client, command=command, params=params)
    assert job["params"] == params
    run = await client.post("/api/cron/jobs/disk-check/run", {"params": {"keep": 8}}, prefer="wait=30")
    assert run.json()["params"] == {**params, "keep": 8}
    assert run.json()["output"]["tail"] == '8 true 0.5 ["a", "b"] x y'
    answer = await client.post("/api/cron/jobs", {**JOB, "name": "b", "params": {"a": {"b": 1}}})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["#/params/a"]


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"command": "psql ${vault:DB}"}, "command", 'write "$DB" there, with env: {DB: "${vault:DB}"}'),
        ({"command": "ls ${params.dir}"}, "command", 'write "$PARAM_DIR" there'),
        ({"params": {"a-b": 1, "A_B": 2}}, "params", "become the same variable PARAM_A_B"),
        ({"params": {"a b": 1}}, "params", "is not a valid parameter name"),
        ({"params": {"a": 1}, "env": {"PARAM_A": "x"}}, "params", "becomes the variable PARAM_A"),
    ],
)
async def test_a_command_takes_no_placeholder_and_each_parameter_has_a_variable(
    client: DashboardClient, changes: dict[str, Any], field: str, said: str
):
    answer = await client.post("/api/cron/jobs", {**JOB, "name": "b", **changes})
    [error] = answer.json()["errors"]
    assert (answer.status, error["pointer"], said in error["detail"]) == (422, f"#/{field}", True)
    assert (await client.post("/api/cron/jobs", {**JOB, "type": "prompt", "name": "c", **changes})).status == 201


async def test_a_run_is_not_given_two_parameters_of_one_variable(client: DashboardClient):
    await made(client, params={"keep": 1})
    answer = await client.post("/api/cron/jobs/disk-check/run", {"params": {"Keep": 2}})
    assert (answer.status, answer.json()["errors"][0]["pointer"]) == (422, "#/params")
