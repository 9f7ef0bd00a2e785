"""Who may approve a waiting step over HTTP, with the real guard of the dashboard."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.waiting import eventually
from tests.web.access.test_login import LOGIN, PASSWORD, Dashboard, basic, check_problem, signed_in

from tocsin.assembly.full.dashboard import create_dashboard
from tocsin.features.workflows.feature import FEATURE
from tocsin.testing.dashboard import DashboardClient
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import open_feature


@pytest.fixture
async def dashboard(tmp_path: Path) -> AsyncIterator[Dashboard]:
    clock = FakeClock()
    async with open_feature(FEATURE, tmp_path, LOGIN, clock=clock) as bench:
        yield Dashboard(DashboardClient(create_dashboard(bench.app, lambda: False), ""), bench, clock)


async def waiting_run(dashboard: Dashboard, step: str, headers: dict[str, str]) -> str:
    """Have a caller start a workflow that waits; return its run."""
    path = dashboard.bench.app.settings.data_dir / "workflows" / "ask.yaml"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(f"name: ask\nsteps:\n  - {{name: ask, type: wait, approval: true{step}}}\n")
    started = await dashboard.stranger.post("/api/workflows/ask/run", {}, **headers)
    run_id = str(started.json()["id"])
    await eventually(lambda: dashboard.bench.app.runs().waiting(run_id))
    return run_id


async def caller(dashboard: Dashboard, scopes: str) -> dict[str, str]:
    if scopes == "basic":
        return basic("anna", PASSWORD)
    if scopes == "session":
        return await signed_in(dashboard.stranger)
    return {"authorization": f"Bearer {await dashboard.token(*scopes.split())}"}


@pytest.mark.parametrize("verb", ["approve", "reject"])
@pytest.mark.parametrize(
    ("starter", "answerer", "step", "status"),
    [
        ("run", "run", "", 403),
        ("run", "admin", "", 403),
        ("run", "read send run admin", "", 403),
        ("run", "answer", "", 200),
        ("run", "session", "", 200),
        ("run", "basic", "", 200),
        ("run answer", "run answer", "", 403),
        ("basic", "session", "", 200),
        ("basic", "session", ", not_by_starter: true", 403),
        ("run", "session", ", not_by_starter: true", 200),
        ("run", "answer", ", approvers: anna", 403),
        ("run", "session", ", approvers: anna", 200),
        ("run", "session", ", approvers: 'token:answer'", 403),
        ("run", "answer", ", approvers: 'token:answer'", 200),
        ("run", "answer admin", ", approvers: 'token:answer'", 403),
        ("run", "session", ", approvers: 'chat:7'", 403),
    ],
)
async def test_approving_needs_the_scope_answer_and_no_token_approves_what_it_started(
    dashboard: Dashboard, verb: str, starter: str, answerer: str, step: str, status: int
):
    starts = await caller(dashboard, starter)
    answers = starts if starter == answerer else await caller(dashboard, answerer)
    run_id = await waiting_run(dashboard, step, starts)
    answer = await dashboard.stranger.post(f"/api/runs/{run_id}/{verb}", {}, **answers)
    assert answer.status == status
    denied = dashboard.bench.audit("run.decision_denied")
    if status == 403:
        check_problem(answer, 403, "forbidden")
        assert await dashboard.bench.app.runs().waiting(run_id)
        known = "answer" in answerer or answerer in {
            "session",
            "basic",
        }  # else its scope ends it before the run is read
        assert [(each.metadata["run"], each.metadata["outcome"]) for each in denied] == [(run_id, "denied")] * known
    else:
        assert denied == []


async def test_only_who_may_answer_makes_tokens_that_may(dashboard: Dashboard):
    admin, person = await caller(dashboard, "admin"), await caller(dashboard, "basic")
    for giver, name, scope, status in (
        (admin, "a", "answer", 403),
        (admin, "b", "run", 201),
        (person, "c", "answer", 201),
    ):
        made = await dashboard.stranger.post("/api/tokens", {"name": name, "scopes": [scope]}, **giver)
        assert made.status == status
