"""The operations on workflows, as a program calls them."""

from textwrap import dedent

from tests.facts import mentions
from tests.features.workflows.conftest import WorkflowBench
from tests.waiting import eventually

from tocsin.testing.dashboard import DashboardClient

TWO = """
    description: Two steps
    params: {who: {type: string, default: you}}
    steps:
      - {name: first, command: "echo hello $PARAM_WHO"}
      - {name: second, type: shell, command: echo done, depends_on: first}
"""
BROKEN = "steps: [{name: a, comand: df}]\n"


async def test_workflows_are_listed_with_those_that_have_mistakes(client: DashboardClient, flows: WorkflowBench):
    flows.write(TWO, "good")
    flows.write(BROKEN, "broken")
    flows.write(TWO, "open")
    (flows.folder / "workflows" / "open.yaml").chmod(0o666)
    items = (await client.get("/api/workflows")).json()["items"]
    assert [(item["name"], item["valid"], item["error_count"]) for item in items] == [
        ("broken", False, 2),
        ("good", True, 0),
        ("open", False, 1),
    ]
    assert (items[1]["steps_count"], items[1]["description"], items[1]["schedules"]) == (2, "Two steps", [])
    first = (await client.get("/api/workflows?limit=1")).json()
    second = (await client.get(f"/api/workflows?limit=1&cursor={first['next_cursor']}")).json()
    assert (first["total"], second["items"][0]["name"]) == (3, "good")
    assert [item["name"] for item in (await client.get("/api/workflows?valid=true&q=TWO")).json()["items"]] == ["good"]
    assert (await client.get("/api/workflows?valid=false")).json()["total"] == 2
    unreadable = (await client.get("/api/workflows/open")).json()
    assert "chmod go-w" in unreadable["errors"][0]["detail"]


async def test_one_workflow_has_its_text_its_values_and_its_graph(client: DashboardClient, flows: WorkflowBench):
    flows.write(TWO)
    answer = await client.get("/api/workflows/flow")
    found = answer.json()
    assert found["yaml"].startswith("name: flow\n")
    assert found["definition"]["steps"][1] == {
        "name": "second", "type": "shell", "command": "echo done", "depends_on": "first",
    }  # fmt: skip
    assert found["params"]["who"]["default"] == "you"
    assert found["graph"] == {
        "nodes": [{"id": "first", "type": "shell", "wave": 1}, {"id": "second", "type": "shell", "wave": 2}],
        "edges": [["first", "second"]],
    }
    assert (found["errors"], found["warnings"], bool(answer.headers["etag"])) == ([], [], True)
    assert (await client.get("/api/workflows/absent")).json()["code"] == "not-found"


async def test_a_text_is_checked_and_mistakes_are_no_error(client: DashboardClient, flows: WorkflowBench):
    flows.write(BROKEN)
    stored = await client.post("/api/workflows/flow/validate", {})
    assert (stored.status, stored.json()["valid"]) == (200, False)
    [_, wrong] = stored.json()["errors"]
    assert (wrong["pointer"], wrong["code"], wrong["suggestion"]) == ("#/steps/0/comand", "unknown-key", "command")
    assert wrong["line"] == 2
    assert (await client.post("/api/workflows/flow/validate")).json() == stored.json()
    text = "name: new\nsteps: [{name: a, command: df}]\n"
    for answer in (
        await client.post("/api/workflows/new/validate", {"yaml": text}),
        await client.call(
            "POST", "/api/workflows/new/validate", text.encode(), headers={"Content-Type": "application/yaml"}
        ),
    ):
        assert (answer.status, answer.json()["valid"]) == (200, True)
        assert answer.json()["graph"]["nodes"] == [{"id": "a", "type": "shell", "wave": 1}]
    broken = await client.post("/api/workflows/new/validate", {"yaml": "name: [\n"})
    assert (broken.status, broken.json()["errors"][0]["code"]) == (200, "syntax")
    assert (await client.post("/api/workflows/absent/validate")).status == 404
    assert (await client.post("/api/workflows/absent/validate", {"yml": ""})).json()["errors"][0][
        "suggestion"
    ] == "yaml"
    large = await client.post("/api/workflows/new/validate", {"yaml": "a" * (1 << 20)})
    assert (large.status, large.json()["code"]) == (413, "payload-too-large")
    assert flows.bench.audit() == []


async def test_a_workflow_is_saved_unless_it_has_mistakes_or_was_changed(client: DashboardClient, flows: WorkflowBench):
    path, text = "/api/workflows/nightly", "name: nightly\nsteps: [{name: a, command: df}]\n"
    made = await client.call("PUT", path, {"yaml": text})
    assert (made.status, made.headers["location"], made.json()["valid"]) == (201, path, True)
    file = flows.folder / "workflows" / "nightly.yaml"
    assert (file.read_text(), file.stat().st_mode & 0o777) == (text, 0o600)
    wrong = await client.call("PUT", path, {"yaml": text.replace("command", "comand")})
    assert (wrong.status, wrong.json()["code"]) == (422, "workflow-invalid")
    assert "definition" in wrong.json()["title"]
    assert wrong.json()["detail"] == "2 problems in nightly.yaml"
    [_, error] = wrong.json()["errors"]
    assert (error["pointer"], error["line"], error["suggestion"]) == ("#/steps/0/comand", 2, "command")
    etag = made.headers["etag"]
    changed = await client.call(
        "PUT", path, text.replace("df", "du").encode(), headers={"If-Match": etag, "Content-Type": "application/yaml"}
    )
    assert (changed.status, changed.headers["etag"] != etag) == (200, True)
    for stale in (path, "/api/workflows/other"):
        answer = await client.call("PUT", stale, {"yaml": text}, headers={"If-Match": etag})
        assert (answer.status, answer.json()["code"]) == (412, "precondition-failed")
    there = await client.call("PUT", path, {"yaml": text}, headers={"If-None-Match": "*"})
    assert (there.status, mentions(there.json()["detail"], "nightly", "already exists")) == (412, True)
    assert "du" in file.read_text()
    assert (await client.call("PUT", "/api/workflows/-x", {"yaml": text})).json()["errors"][0]["parameter"] == "name"
    assert [(entry.action, entry.source, entry.metadata["created"]) for entry in flows.bench.audit()] == [
        ("workflow.save", "dashboard", True),
        ("workflow.save", "dashboard", False),
    ]


async def test_a_run_is_awaited_and_recorded(client: DashboardClient, flows: WorkflowBench):
    flows.write(TWO)
    answer = await client.post(
        "/api/workflows/flow/run", {"params": {"who": "Ana"}, "env": {"A": "1"}}, Prefer="wait=20"
    )
    run = answer.json()
    assert (answer.status, answer.headers["location"]) == (200, f"/api/runs/{run['id']}")
    assert (run["kind"], run["trigger"], run["actor"], run["status"]) == ("workflow", "api", "admin", "succeeded")
    assert [(step["name"], step["status"]) for step in run["steps"]] == [
        ("first", "succeeded"),
        ("second", "succeeded"),
    ]
    assert (run["params"], run["env_keys"]) == ({"who": "Ana"}, ["A"])
    [entry] = flows.bench.audit("workflow.run")
    assert (entry.source, entry.metadata["actor"], entry.metadata["run"]) == ("dashboard", "admin", run["id"])
    [listed] = (await client.get("/api/workflows")).json()["items"]
    assert (listed["last_run"]["id"], listed["recent"][0]["status"]) == (run["id"], "succeeded")
    part = await client.post("/api/workflows/flow/run", {"only": ["second"]}, Prefer="wait=20")
    assert [step["status"] for step in part.json()["steps"]] == ["skipped", "succeeded"]
    flows.write("steps: [{name: other, command: df}]")
    kept = (await client.get(f"/api/runs/{run['id']}")).json()["definition"]
    assert (kept["yaml"], len(kept["sha256"])) == (f"name: flow\n{dedent(TWO)}", 64)


async def test_a_dry_run_is_a_plan(client: DashboardClient, flows: WorkflowBench):
    flows.write(TWO)
    answer = await client.post("/api/workflows/flow/run", {"dry_run": True, "from_step": "second"})
    plan = answer.json()
    assert (answer.status, plan["dry_run"], plan["warnings"]) == (200, True, [])
    assert [(step["step"], step["type"], step["wave"], step["would_run"]) for step in plan["plan"]] == [
        ("first", "shell", 1, False),
        ("second", "shell", 2, True),
    ]
    assert set(plan["plan"][0]) >= {
        "step",
        "type",
        "wave",
        "would_run",
        "when",
        "command",
        "depends_on",
        "host",
        "problems",
    }
    assert (plan["plan"][0]["command"], plan["plan"][0]["variables"]) == ("echo hello $PARAM_WHO", {"PARAM_WHO": "you"})
    assert flows.bench.audit() == []
    assert (await client.get("/api/runs")).json()["items"] == []


async def test_what_cannot_run_is_refused(client: DashboardClient, flows: WorkflowBench):
    flows.write(TWO)
    flows.write(BROKEN, "broken")
    for name, body, status, code in (
        ("absent", {}, 404, "not-found"),
        ("broken", {}, 422, "workflow-invalid"),
        ("broken", {"dry_run": True}, 422, "workflow-invalid"),
        ("flow", {"params": {"whom": "a"}}, 422, "validation-failed"),
        ("flow", {"from_step": "third"}, 422, "validation-failed"),
        ("flow", {"parms": {}}, 422, "validation-failed"),
    ):
        answer = await client.post(f"/api/workflows/{name}/run", body)
        assert (answer.status, answer.json()["code"]) == (status, code)


async def test_what_a_run_does_not_take_is_pointed_at(client: DashboardClient, flows: WorkflowBench):
    flows.write(TWO)
    for body, pointer in (
        ({"params": {"whom": "a"}}, "#/params/whom"),
        ({"from_step": "third"}, "#/from_step"),
        ({"only": ["third"]}, "#/only"),
        ({"env": {"PARAM_WHO": "a"}}, "#/env/PARAM_WHO"),
    ):
        answer = await client.post("/api/workflows/flow/run", body)
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_every_wrong_parameter_of_a_run_has_its_own_pointer(client: DashboardClient, flows: WorkflowBench):
    flows.write("""
        params: {host: {type: string, required: true}, keep: {type: integer, default: 7, minimum: 1}}
        steps: [{name: a, command: echo}]
    """)
    answer = await client.post("/api/workflows/flow/run", {"params": {"keep": 0, "hosts": "web1"}})
    assert [(each["pointer"], each["code"], each.get("suggestion")) for each in answer.json()["errors"]] == [
        ("#/params/hosts", "unknown-key", "host"),
        ("#/params/host", "missing-key", None),
        ("#/params/keep", "bad-value", None),
    ]


async def test_a_second_run_is_refused_or_waits_as_overlap_says(client: DashboardClient, flows: WorkflowBench):
    gate = flows.folder / "gate"
    steps = f"steps: [{{name: a, command: 'while [ ! -e {gate} ]; do sleep 0.01; done'}}]"
    flows.write(f"overlap: skip\n{steps}\n", "skip")
    flows.write(f"overlap: queue\n{steps}\n", "queue")
    assert (await client.post("/api/workflows/skip/run")).status == 202
    refused = await client.post("/api/workflows/skip/run")
    assert (refused.status, refused.json()["code"]) == (409, "run-already-active")
    begun, queued, cancelled = [await client.post("/api/workflows/queue/run") for _ in range(3)]
    assert [each.json()["status"] for each in (begun, queued, cancelled)] == ["running", "queued", "queued"]
    assert [each.status for each in (begun, queued, cancelled)] == [202] * 3
    assert (await client.post(f"{cancelled.headers['location']}/cancel")).json()["status"] == "cancelled"

    def audited() -> list[str]:
        return [str(entry.metadata["status"]) for entry in flows.bench.audit("workflow.run")]

    await eventually(lambda: audited() == ["skipped", "cancelled"])  # at once, though the first is still at work
    gate.touch()

    async def ended() -> bool:
        return (await client.get(queued.headers["location"])).json()["status"] == "succeeded"

    await eventually(ended)
    assert (await client.get(cancelled.headers["location"])).json()["status"] == "cancelled"
