"""tocsin workflows: write, check, plan and run them at the command line."""

import json

from tests.cli.conftest import Cli, end
from tests.facts import mentions
from tests.waiting import PATIENCE_S


def write(cli: Cli, text: str, name: str = "flow") -> None:
    folder = cli.data_dir / "workflows"
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    (folder / f"{name}.yaml").write_text(f"name: {name}\n{text}")


def test_a_new_workflow_is_valid_planned_run_listed_and_shown(cli: Cli):
    path = cli("workflows", "new", "disk").out.strip()
    assert path == str(cli.data_dir / "workflows" / "disk.yaml")
    assert cli("workflows", "new", "disk").code == 2
    assert cli("workflows", "validate").code == 0
    plan = cli("workflows", "run", "disk", "--dry-run", "--json").json()
    assert [step["step"] for step in plan["plan"]] == ["measure", "warn", "explain"]
    done = cli("workflows", "run", "disk", "--param", "folder=/")
    assert done.code == 0
    assert done.out.startswith("measure | ")
    [listed] = cli("workflows", "list", "--json").json()
    assert (listed["name"], listed["valid"], listed["last_run"]["status"]) == ("disk", True, "succeeded")
    shown = cli("workflows", "show", "disk", "--json").json()
    assert shown["graph"]["edges"] == [["measure", "warn"]]
    assert set(shown["params"]) == {"folder", "limit"}
    assert "measure" in cli("workflows", "show", "disk").out
    assert [entry["action"] for entry in cli.audit_log()] == ["workflow.run"]


def test_mistakes_are_lines_that_editors_understand(cli: Cli):
    write(cli, "steps:\n  - name: a\n    comand: ls\n")
    done = cli("workflows", "validate", "flow")
    file = cli.data_dir / "workflows" / "flow.yaml"
    assert done.code == 1
    assert mentions(cli("workflows", "list").err, "`tocsin workflows validate flow`")
    missing, unknown = done.out.splitlines()
    assert mentions(missing, f"{file}:3:5: ", "'command'", "steps[0]")
    assert mentions(unknown, f"{file}:4:5: ", "'comand'", "steps[0]", "'command'")
    [document] = cli("workflows", "validate", "--json").json()
    assert [error["code"] for error in document["errors"]] == ["missing-key", "unknown-key"]
    assert cli("workflows", "validate", str(file)).code == 1
    refused = cli("workflows", "run", "flow")
    assert refused.code != 0
    assert "flow" in refused.err
    assert "comand" in cli("doctor", "--json").out


def test_the_list_of_workflows_shows_all_and_exits_with_2_if_the_file_of_one_is_broken(cli: Cli):
    assert cli("workflows", "new", "disk").code == 0
    assert cli("workflows", "list").code == 0
    write(cli, "steps:\n  - name: a\n    comand: ls\n")
    assert [each["name"] for each in cli("workflows", "list", "--json").json()] == ["disk", "flow"]
    assert (cli("workflows", "list").code, cli("workflows", "list", "--json").code) == (2, 2)


def test_a_run_shows_the_file_as_it_was_when_it_began(cli: Cli):
    write(cli, "steps:\n  - {name: a, command: echo out}\n")
    assert cli("workflows", "run", "flow").code == 0
    write(cli, "steps:\n  - {name: b, command: df}\n")
    [run] = cli("runs", "list", "--json").json()
    assert (
        "what ran:\n  name: flow\n  steps:\n    - {name: a, command: echo out}\n" in cli("runs", "show", run["id"]).out
    )
    shown = cli("runs", "show", run["id"], "--json").json()["definition"]["yaml"]
    assert shown == "name: flow\nsteps:\n  - {name: a, command: echo out}\n"


def test_the_exit_code_tells_how_a_run_ended(cli: Cli):
    write(cli, "steps:\n  - {name: a, command: 'echo out; echo err >&2; exit 3'}\n")
    done = cli("workflows", "run", "flow")
    assert (done.code, done.out.splitlines()[0]) == (1, "a | out")
    assert "a:stderr | err" in done.err
    assert mentions(done.err, "step a ", "exit code 3")
    assert cli("workflows", "run", "flow", "--json").json()["status"] == "failed"
    assert cli("workflows", "run", "none").code != 0


def test_a_failed_run_is_retried_from_where_it_failed(cli: Cli):
    write(cli, "steps:\n  - {name: a, command: echo x >> log}\n  - {name: b, command: test -e ready}\n")
    assert cli("workflows", "run", "flow").code == 1
    [failed] = cli("runs", "list", "--json").json()
    (cli.data_dir / "ready").touch()
    assert cli("runs", "retry", failed["id"]).code == 0
    assert (cli.data_dir / "log").read_text() == "x\n"
    newest = cli("runs", "list", "--json").json()[0]
    assert (newest["retry_of"], newest["status"], newest["attempt"]) == (failed["id"], "succeeded", 2)


def test_a_run_that_waits_is_approved_by_another_command(cli: Cli, until):
    write(cli, "steps:\n  - {name: ask, type: wait, approval: true}\n  - {name: b, command: echo on}\n")
    with cli.running("workflows", "run", "flow") as running:
        waiting = until(lambda: cli("runs", "list", "--status", "waiting", "--json").json())
        assert cli("runs", "approve", waiting[0]["id"]).code == 0
        out, _ = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, b"b | on" in out) == (0, True)
    assert f"tocsin runs approve {waiting[0]['id']} --step ask".encode() in out


def test_an_interrupted_run_is_continued_where_it_was(cli: Cli, until):
    wait = "touch b; while [ ! -e go ]; do sleep 0.02; done"
    write(cli, f"steps:\n  - {{name: a, command: echo x >> log}}\n  - {{name: b, command: '{wait}'}}\n")
    with cli.running("workflows", "run", "flow") as running:
        until((cli.data_dir / "b").exists)
        end(running)
    (cli.data_dir / "go").touch()
    [listed] = cli("runs", "list", "--json").json()
    interrupted = cli("runs", "show", listed["id"], "--json").json()
    assert (interrupted["status"], interrupted["steps"][0]["status"]) == ("interrupted", "succeeded")
    assert cli("runs", "retry", listed["id"]).code == 0
    assert (cli.data_dir / "log").read_text() == "x\n"


def test_a_profile_gets_a_summary_by_the_queue(wired: Cli, town):
    channel, target = next(iter({town.product(kind): to for kind, to in town.samples().items()}.items()))
    wired.write_profiles(json.dumps({"oncall": [{"channel": channel, "target": target}]}))
    write(wired, "notify_profile: oncall\nsteps:\n  - {name: a, command: exit 4}\n")
    assert wired("workflows", "run", "flow").code == 1
    [run] = wired("runs", "list", "--json").json()
    assert run["delivery"]["status"] == "pending"
    [queued] = wired("deliveries", "list", "--json").json()
    message = wired("deliveries", "show", queued["id"], "--json").json()
    assert (message["content"]["title"].startswith("flow failed after"), message["content"]["type"]) == (
        True,
        "failure",
    )
    assert mentions(message["message"], "a: ", "exit code 4")


def test_the_published_schema_names_every_type_and_refuses_other_keys(cli: Cli):
    schema = cli("schema", "workflow").json()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert len(schema["properties"]) == 17
    assert {
        f"{kind}_step" for kind in ("shell", "ssh", "skill", "prompt", "notify", "http", "wait", "workflow")
    } <= set(schema["$defs"])


def test_a_detached_run_goes_on_when_its_command_has_returned(cli: Cli, until):
    write(cli, "steps:\n  - {name: a, command: 'until [ -e go ]; do sleep 0.01; done; echo on; exit 3'}\n")
    done = cli.process("workflows", "run", "flow", "--detach")
    run_id = done.out.strip()
    assert (done.code, f"tocsin runs log -f {run_id}" in done.err) == (0, True)
    assert cli("runs", "show", run_id, "--json").json()["status"] == "running"
    refused = cli.process("workflows", "run", "flow", "--detach", "--json")
    assert (refused.code, refused.json()["code"]) == (1, "run-already-active")
    (cli.data_dir / "go").touch()
    assert "on\n" in cli("runs", "log", "-f", run_id).out
    assert until(lambda: cli("runs", "show", run_id, "--json").json()["status"] == "failed")


def test_what_cannot_begin_ends_a_detached_command_with_its_reason(cli: Cli):
    write(cli, "params: {n: {type: integer}}\nsteps:\n  - {name: a, command: echo}\n")
    done = cli.process("workflows", "run", "flow", "--detach", "--param", "n=x")
    assert (done.code, done.out, mentions(done.err, "n ", "integer")) == (2, "", True)
    assert cli("workflows", "run", "flow", "--detach", "--dry-run").code == 2
