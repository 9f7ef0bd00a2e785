"""The operations on task jobs, as a program calls them."""

from pathlib import Path
from typing import Any

import pytest
from tests.features.jobs.conftest import Workshop, commit, git
from tests.waiting import eventually

from tocsin.testing.dashboard import DashboardClient


async def made(client: DashboardClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/api/jobs", {"title": "Fix the login", **fields})
    assert answer.status == 201, answer.body
    job: dict[str, Any] = answer.json()
    return job


def actions(workshop: Workshop) -> list[tuple[str, str]]:
    return [(entry.action, entry.source) for entry in workshop.bench.audit()]


async def test_a_job_is_created_with_its_branch_and_where_it_can_be_read(client: DashboardClient, workshop: Workshop):
    answer = await client.post("/api/jobs", {"title": "Fix the login", "repo": "site", "labels": ["web"]})
    job = answer.json()
    assert (answer.status, answer.headers["location"]) == (201, f"/api/jobs/{job['id']}")
    assert (job["status"], job["created_by"], job["repo"]) == ("queued", "admin", str(workshop.site))
    assert job["branch"].endswith("-fix-the-login")
    got = await client.get(answer.headers["location"])
    assert (got.json(), got.headers["etag"]) == (job, answer.headers["etag"])
    [entry] = workshop.bench.audit()
    assert (entry.action, entry.source, entry.metadata["actor"]) == ("job.create", "dashboard", "admin")


async def test_a_job_that_makes_no_branch_needs_one_to_exist_or_no_repository(client: DashboardClient):
    refused = await client.post("/api/jobs", {"title": "Fix the login", "repo": "site", "create_branch": False})
    assert (refused.status, refused.json()["errors"][0]["pointer"]) == (422, "#/branch")
    job = await made(client, create_branch=False, command="true")
    assert (job["repo"], job["branch"]) == (None, None)
    assert (await client.post(f"/api/jobs/{job['id']}/start", {})).status == 200

    async def status() -> bool:
        return (await client.get(f"/api/jobs/{job['id']}")).json()["status"] == "completed"

    await eventually(status)


async def test_a_name_that_is_too_long_for_a_path_is_no_repository(client: DashboardClient):
    long = "a" * 300
    assert (await client.get(f"/api/jobs/branches?repo={long}")).status == 404
    assert (await client.post("/api/jobs", {"title": "Fix the login", "repo": long})).status == 404


async def test_jobs_are_listed_by_state_label_and_words_in_pages(client: DashboardClient):
    for number in range(3):
        await made(client, title=f"Task {number}", labels=["odd" if number % 2 else "even"])
    first = (await client.get("/api/jobs?limit=2")).json()
    assert ([job["title"] for job in first["items"]], first["total"]) == (["Task 2", "Task 1"], 3)
    second = (await client.get(f"/api/jobs?limit=2&cursor={first['next_cursor']}")).json()
    assert ([job["title"] for job in second["items"]], second["next_cursor"]) == (["Task 0"], None)
    for query, count in {"label=odd": 1, "q=task": 3, "status=running": 0, "status=running&status=queued": 3}.items():
        assert (await client.get(f"/api/jobs?{query}")).json()["total"] == count


async def test_a_job_is_run_to_its_end(client: DashboardClient, workshop: Workshop):
    job = await made(client, repo="site", command="echo ::progress 0.5::")
    started = await client.post(f"/api/jobs/{job['id']}/start")
    assert (started.status, started.json()["status"]) == (200, "running")

    async def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = (await client.get(f"/api/jobs/{job['id']}")).json()
        return found if found["status"] == "completed" else None

    found = await eventually(ended)
    assert found["result"] == {"outcome": "completed", "summary": "::progress 0.5::", "exit_code": 0}
    run = (await client.get(f"/api/runs/{found['run_id']}")).json()
    assert (run["kind"], run["trigger"], run["actor"]) == ("job", "api", "admin")
    await eventually(lambda: len(actions(workshop)) == 3)
    assert actions(workshop) == [("job.create", "dashboard"), ("job.start", "dashboard"), ("job.complete", "jobs")]
    assert "request_id" not in workshop.bench.audit()[-1].metadata


async def test_a_state_that_does_not_allow_it_is_told_with_those_that_it_can_become(client: DashboardClient):
    job = await made(client)
    early = await client.post(f"/api/jobs/{job['id']}/complete")
    assert (early.status, early.json()["code"]) == (409, "invalid-transition")
    assert early.json()["allowed"] == ["running", "cancelled"]
    assert (await client.post(f"/api/jobs/{job['id']}/start", {})).json()["status"] == "running"
    body = {"outcome": "failed", "summary": "It is gone", "exit_code": 3}
    ended = await client.post(f"/api/jobs/{job['id']}/complete", body)
    assert (ended.status, ended.json()["result"]) == (200, body)
    again = await client.post(f"/api/jobs/{job['id']}/start")
    assert (again.status, again.json()["allowed"]) == (409, [])


async def test_branches_are_listed_and_shown_with_commits_files_and_patch(client: DashboardClient, workshop: Workshop):
    job = await made(client, repo="site")
    started = (await client.post(f"/api/jobs/{job['id']}/start")).json()
    commit(Path(started["worktree_path"]), "one", "1\n", "Add one")
    [branch] = (await client.get("/api/jobs/branches")).json()["items"]
    assert (branch["job_id"], branch["ahead"], branch["base"]) == (job["id"], 1, "main")
    names = [each["name"] for each in (await client.get("/api/jobs/branches?repo=site")).json()["items"]]
    assert sorted(names) == sorted(["main", job["branch"]])
    shown = (await client.get(f"/api/jobs/branches/{job['id']}")).json()
    assert ([each["subject"] for each in shown["commits"]], shown["patch"]) == (["Add one"], None)
    assert shown["files"] == [{"path": "one", "insertions": 1, "deletions": 0}]
    assert "+1\n" in (await client.get(f"/api/jobs/branches/{job['id']}?patch=true")).json()["patch"]


async def test_what_there_is_not_is_404(client: DashboardClient, workshop: Workshop):
    without = (await made(client))["id"]
    unknown = "0199c2a4-7a31-7a51-9c5e-0d6c6a1f1b7e"
    gone = await made(client, repo="site")
    git(workshop.site, "branch", "-D", gone["branch"])
    for path in (
        f"/api/jobs/{unknown}", f"/api/jobs/branches/{unknown}", f"/api/jobs/branches/{without}",
        f"/api/jobs/branches/{gone['id']}", "/api/jobs/branches?repo=../elsewhere", "/api/jobs/nothing",
    ):  # fmt: skip
        answer = await client.get(path)
        assert (answer.status, answer.json()["code"]) == (404, "not-found"), path
    assert (await client.post("/api/jobs", {"title": "a", "repo": "/etc"})).status == 404
    assert (await client.post(f"/api/jobs/{unknown}/start")).status == 404
    assert (await client.call("DELETE", f"/api/jobs/{unknown}")).status == 404


async def test_a_branch_that_is_taken_and_work_that_would_be_lost_are_conflicts(
    client: DashboardClient, workshop: Workshop
):
    job = await made(client, repo="site", branch="login")
    taken = await client.post("/api/jobs", {"title": "Again", "repo": "site", "branch": "login"})
    assert (taken.status, taken.json()["code"]) == (409, "conflict")
    place = Path((await client.post(f"/api/jobs/{job['id']}/start")).json()["worktree_path"])
    path = f"/api/jobs/{job['id']}"
    assert (await client.call("DELETE", path)).status == 409  # it is running
    await client.post(f"{path}/complete")
    commit(place, "one", "1\n", "Add one")
    unmerged = await client.call("DELETE", f"{path}?delete_branch=true")
    assert (unmerged.status, unmerged.json()["code"]) == (409, "conflict")
    stale = await client.call("DELETE", path, headers={"If-Match": '"old"'})
    assert (stale.status, stale.json()["code"]) == (412, "precondition-failed")
    etag = (await client.get(path)).headers["etag"]
    gone = await client.call("DELETE", f"{path}?delete_branch=true&force=true", headers={"If-Match": etag})
    assert (gone.status, gone.body) == (204, b"")
    assert (await client.get(path)).status == 404
    assert git(workshop.site, "branch", "--list", "login") == ""
    assert actions(workshop)[-1] == ("job.delete", "dashboard")


async def test_a_repository_that_git_cannot_use_is_a_conflict(client: DashboardClient, workshop: Workshop):
    (workshop.site / ".git" / "config").write_text("[core\n")
    answer = await client.post("/api/jobs", {"title": "a", "repo": "site"})
    assert (answer.status, answer.json()["code"]) == (409, "conflict"), answer.body


async def test_what_only_the_service_can_refuse_is_pointed_at_as_well(client: DashboardClient):
    for fields, pointer in (
        ({"command": "true", "skill": "reviewer"}, "#/skill"),
        ({"branch": "x"}, "#/repo"),
        ({"repo": "site", "branch": "a..b"}, "#/branch"),
        ({"labels": ["!"]}, "#/labels"),
    ):
        answer = await client.post("/api/jobs", {"title": "a", **fields})
        [error] = answer.json()["errors"]
        assert (answer.status, error["pointer"], error["detail"]) == (422, pointer, answer.json()["detail"])


@pytest.mark.parametrize(
    "fields",
    [
        {"title": ""},
        {"title": "two\nlines"},
        {"command": "true", "skill": "reviewer", "repo": "site"},
        {"branch": "x"},
        {"labels": ["!"]},
        {"priority": "urgent"},
        {"repo": "site", "branch": "a..b"},
        {"repo": "site", "base_branch": "nowhere"},
        {"repo": "site", "skill": "nobody"},
        {"repository": "site"},
        {"create_branch": "no"},
    ],
    ids=str,
)
async def test_a_job_that_makes_no_sense_is_refused_and_not_stored(client: DashboardClient, workshop: Workshop, fields):
    answer = await client.post("/api/jobs", {"title": "a", **fields})
    assert (answer.status, answer.json()["code"]) == (422, "validation-failed"), answer.body
    assert (await client.get("/api/jobs")).json()["total"] == 0
    assert actions(workshop) == []


async def test_a_repeated_key_creates_and_starts_once(client: DashboardClient, workshop: Workshop):
    first = await client.post("/api/jobs", {"title": "once"}, Idempotency_Key="k")
    again = await client.post("/api/jobs", {"title": "once"}, Idempotency_Key="k")
    assert (again.json(), again.headers["idempotent-replayed"]) == (first.json(), "true")
    start = f"{first.headers['location']}/start"
    assert [(await client.post(start, Idempotency_Key="s")).status for _ in range(2)] == [200, 200]
    assert actions(workshop) == [("job.create", "dashboard"), ("job.start", "dashboard")]
