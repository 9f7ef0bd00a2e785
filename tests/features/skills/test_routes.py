"""The operations on skills, as a program calls them."""

from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent

import pytest
from tests.features.assistant_skills.broken_front_matter import file_of
from tests.waiting import eventually

from tocsin.features.assistant_skills.feature import FEATURE as ASSISTANTS
from tocsin.features.skills.feature import FEATURE
from tocsin.testing.dashboard import DashboardClient, open_dashboard
from tocsin.testing.features import FeatureBench, open_feature

AWS = "AK" + "IAQ7XJ3LPWZ5NMBV2R"


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
async def bench(tmp_path: Path, watched: Path) -> AsyncIterator[FeatureBench]:
    env = {"SKILLS_WATCH": str(watched)}
    async with open_feature(FEATURE, tmp_path / "data", env, others=(ASSISTANTS,)) as bench:
        yield bench


def put(bench: FeatureBench, name: str, manifest: str = "", instructions: str = "") -> None:
    folder = bench.app.settings.data_dir / "skills" / name
    folder.mkdir(parents=True, mode=0o700)
    if manifest:
        (folder / "skill.yaml").write_text(f"name: {name}\ndescription: It does {name}.\n{dedent(manifest)}")
    if instructions:
        (folder / "SKILL.md").write_text(instructions)


async def test_programs_and_instructions_are_one_list(client: DashboardClient, bench: FeatureBench):
    put(bench, "hello", "command: echo hello\n")
    put(bench, "lacking", "command: none\ndependencies: [no-such-program]\n")
    put(bench, "broken", "comand: x\n")
    put(bench, "reviewer", instructions=file_of().replace("enabled: true", "enabled: false"))
    found = {item["name"]: item for item in (await client.get("/api/skills")).json()["items"]}
    assert len(found) == 12
    assert [(found[name]["kind"], found[name]["enabled"], found[name]["valid"]) for name in ("hello", "broken")] == [
        ("runnable", True, True),
        ("runnable", True, False),
    ]
    assert found["lacking"]["dependencies"] == [{"name": "no-such-program", "found": False, "path": None}]
    reasons = {name: found[name]["active_reason"] for name in found}
    assert reasons["hello"]
    assert "no-such-program" in reasons["lacking"]
    assert "SKILLS_WATCH" in reasons["secret-scanner"]
    assert "chat model" in reasons["code-reviewer"]
    assert "error" in found["broken"]["active_reason"]
    assert "disabled" in found["reviewer"]["active_reason"]
    assert (found["secret-scanner"]["built_in"], found["secret-scanner"]["kind"]) == (True, "assistant")

    async def names(query: str) -> list[str]:
        return [item["name"] for item in (await client.get(f"/api/skills?{query}")).json()["items"]]

    assert await names("kind=runnable") == ["broken", "hello", "lacking"]
    assert await names("enabled=false") == ["reviewer"]
    assert await names("q=DOES+hello") == ["hello"]
    first = (await client.get("/api/skills?limit=10")).json()
    assert (first["total"], len(await names(f"limit=10&cursor={first['next_cursor']}"))) == (12, 2)


async def test_one_skill_has_its_instructions_and_four_answers(
    client: DashboardClient, bench: FeatureBench, watched: Path
):
    put(bench, "reviewer", instructions=file_of())
    put(bench, "hello", "command: echo hello\n")
    found = (await client.get("/api/skills/reviewer")).json()
    assert found["body"] == "# How"
    assert [check["ok"] for check in found["checks"]] == [True, True, None, None]
    for file, answers in (
        ("src/a.py", [True, True, True, True]),
        (f"{watched}/src/test_a.py", [True, True, True, False]),
        ("src/a.md", [True, True, False, True]),
    ):
        checks = (await client.get(f"/api/skills/reviewer?file={file}")).json()["checks"]
        assert [check["ok"] for check in checks] == answers
    for file in ("../a.py", "/etc/passwd"):
        assert (await client.get(f"/api/skills/reviewer?file={file}")).json()["code"] == "validation-failed"
    program = (await client.get("/api/skills/hello")).json()
    assert (program["body"], program["command"]) == (None, "echo hello")
    assert [check["ok"] for check in program["checks"]] == [True, True, False, True]
    assert (await client.get("/api/skills/absent")).json()["code"] == "not-found"


async def test_without_a_watched_folder_there_are_four_answers_and_the_reason(tmp_path: Path):
    async with (
        open_feature(FEATURE, tmp_path / "data", others=(ASSISTANTS,)) as bench,
        open_dashboard(bench.app) as client,
    ):
        found = (await client.get("/api/skills/secret-scanner?file=/srv/a.py")).json()
        assert [check["ok"] for check in found["checks"]] == [True, True, True, True]
        assert "SKILLS_WATCH is empty" in found["active_reason"]
        assert found["at_hand"] is False


async def test_a_program_runs_and_is_recorded_once(client: DashboardClient, bench: FeatureBench):
    put(bench, "hello", 'command: read line; echo "$1 $line"\ntimeout_seconds: 20\n')
    body = {"args": ["hi"], "input": "there\n", "mode": "standard", "timeout_seconds": 10}
    answer = await client.post("/api/skills/hello/run", body, Prefer="wait=20")
    run = answer.json()
    assert (answer.status, run["kind"], run["trigger"], run["actor"]) == (200, "skill", "api", "admin")
    assert (run["status"], run["output"]["tail"]) == ("succeeded", "hi there")
    [entry] = bench.audit("skill.run")
    assert (entry.source, entry.metadata["actor"], entry.metadata["run"]) == ("dashboard", "admin", run["id"])
    item = (await client.get("/api/skills/hello")).json()
    assert (item["last_run"]["id"], item["runs_30d"]) == (run["id"], 1)


async def test_what_cannot_run_is_refused(client: DashboardClient, bench: FeatureBench):
    put(bench, "hello", "command: echo hello\n")
    put(bench, "broken", "comand: x\n")
    put(bench, "lacking", "command: none\ndependencies: [no-such-program]\n")
    put(bench, "reviewer", instructions=file_of().replace("enabled: true", "enabled: false"))
    for name, body, status, code in (
        ("absent", {}, 404, "not-found"),
        ("broken", {}, 422, "validation-failed"),
        ("lacking", {}, 409, "dependency-missing"),
        ("reviewer", {}, 409, "disabled"),
        ("code-reviewer", {}, 503, "not-ready"),
        ("hello", {"timeout_seconds": 301}, 422, "validation-failed"),
        ("hello", {"mode": "free"}, 422, "validation-failed"),
    ):
        for dry in (False, True):
            answer = await client.post(f"/api/skills/{name}/run", {**body, "dry_run": dry})
            assert (answer.status, answer.json()["code"]) == (status, code)
    assert (await client.post("/api/skills/lacking/run")).json()["missing"] == ["no-such-program"]
    assert bench.audit() == []


async def test_a_dry_run_is_not_recorded(client: DashboardClient, bench: FeatureBench):
    put(bench, "hello", "command: echo hello\npermissions: [vault]\n")
    answer = await client.post("/api/skills/hello/run", {"dry_run": True})
    run = answer.json()
    assert (answer.status, run["dry_run"], run["output"]["tail"]) == (200, True, "echo hello")
    assert run["params"]["mode"] == "sandboxed"
    assistant = await client.post("/api/skills/secret-scanner/run", {"dry_run": True})
    assert (assistant.status, assistant.json()["dry_run"]) == (200, True)
    assert (await client.get("/api/runs")).json()["items"] == []
    assert bench.audit() == []


async def test_an_assistant_skill_runs_beside_the_caller(client: DashboardClient, bench: FeatureBench, watched: Path):
    (watched / "a.py").write_text(f"KEY = '{AWS}'\n")
    answer = await client.post("/api/skills/secret-scanner/run", {"args": ["a.py"]})
    assert (answer.status, answer.json()["subject_name"]) == (202, "secret-scanner")

    async def ended() -> bool:
        return (await client.get(answer.headers["location"])).json()["status"] == "succeeded"

    await eventually(ended)
    await eventually(lambda: bench.audit("skill.assist"))
    [entry] = bench.audit("skill.assist")
    assert (entry.source, entry.metadata["findings"], entry.metadata["actor"]) == ("dashboard", 1, "admin")
    applied = await client.post(f"{answer.headers['location']}/apply")
    assert (applied.status, applied.json()["code"]) == (409, "conflict")
    assert "proposed" in applied.json()["detail"]
