"""up and gateway: starting, refusing to start, stopping."""

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from tests import ports
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.facts import mentions
from tests.http_calls import http_call
from tests.waiting import PATIENCE_S, until

from tocsin_standins import Fault, StandinCluster

LOGIN = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "a long made-up password"}


def post(port: int, document: object, **headers: str) -> tuple[int, dict[str, Any]]:
    answer = http_call(f"http://127.0.0.1:{port}/send", document, **headers)
    return answer.status, answer.json()


@pytest.mark.parametrize("command", ["up", "gateway"])
def test_a_service_sends_until_sigterm_and_then_ends_with_0(
    wired: Cli, town: StandinCluster, free_port: int, command: str
):
    with wired.running(command, env={"GATEWAY_PORT": str(free_port)}) as child:
        lines = wait_until_it_listens(child)
        assert lines[-1]["address"] == f"http://127.0.0.1:{free_port}"
        status, result = post(free_port, {"channel": "teamchat", "target": "#ops", "message": "hello"})
        assert (status, result["ok"]) == (200, True)
        code, out, _ = end(child)
    assert (code, out) == (0, "")
    assert [item.text for item in town.recorder.of("teamchat")] == ["hello"]
    assert [(entry["action"], entry["source"]) for entry in wired.audit_log()] == [("msg.send", "gateway")]


def test_each_service_says_where_it_listens_and_the_dashboard_how_to_sign_in(wired: Cli, free_port: int):
    both = {**LOGIN, "GATEWAY_PORT": str(free_port), "DASHBOARD_PORT": str(ports.free_port())}
    with wired.running("up", env=both) as child:
        lines = wait_until_it_listens(child)
        lines += wait_until_it_listens(child)
        end(child)
    told = {line["service"]: line["address"] for line in lines if line["event"] == "listening"}
    assert told == {
        "gateway": f"http://127.0.0.1:{free_port}",
        "dashboard": f"http://127.0.0.1:{both['DASHBOARD_PORT']}",
    }
    assert [line["sign_in"] for line in lines if "sign_in" in line] == [f"{wired.tocsin} dashboard link"]


def test_ctrl_c_ends_a_service_with_0(wired: Cli, free_port: int):
    with wired.running("gateway", env={"GATEWAY_PORT": str(free_port)}) as child:
        wait_until_it_listens(child)
        assert end(child, signal.SIGINT)[0] == 0


def test_a_port_in_use_is_exit_code_2_with_one_sentence(cli: Cli):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for command in ("up", "gateway"):
            done = cli(command, env={"GATEWAY_PORT": str(port), "LOG_LEVEL": "error"})
            assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 2)
            assert mentions(done.err, "127.0.0.1", port, "Address already in use", "GATEWAY_PORT")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_open_gateway_is_refused_with_the_setting_to_add(cli: Cli, free_port: int, host: str):
    done = cli("gateway", env={"GATEWAY_HOST": host, "GATEWAY_PORT": str(free_port)})
    assert (done.code, done.out) == (2, "")
    assert host in done.err
    assert mentions(done.err, "set GATEWAY_TOKEN", "ALLOW_INSECURE_BIND=true")


def test_an_address_of_another_machine_is_a_sentence(cli: Cli, free_port: int):
    env = {"GATEWAY_HOST": "192.0.2.1", "GATEWAY_PORT": str(free_port), "GATEWAY_TOKEN": "made-up-token"}
    done = cli("gateway", env=env)
    assert done.code == 2
    assert mentions(done.err, "192.0.2.1", free_port, "Cannot assign requested address")


def test_a_token_opens_the_gateway_to_those_who_have_it_alone(wired: Cli, free_port: int):
    env = {"GATEWAY_HOST": "0.0.0.0", "GATEWAY_PORT": str(free_port), "GATEWAY_TOKEN": "made-up-token"}
    message = {"channel": "teamchat", "target": "#ops", "message": "hello"}
    with wired.running("gateway", env=env) as child:
        told = wait_until_it_listens(child)
        assert not [line for line in told if "DANGER" in line["event"]]
        assert post(free_port, message)[0] == 401
        assert post(free_port, message, Authorization="Bearer made-up-token")[0] == 200
        assert "made-up-token" not in end(child)[2]


def test_an_open_gateway_without_a_token_starts_with_the_override_and_a_warning(wired: Cli, free_port: int):
    env = {"GATEWAY_HOST": "0.0.0.0", "GATEWAY_PORT": str(free_port), "ALLOW_INSECURE_BIND": "true"}
    with wired.running("gateway", env=env) as child:
        assert any("DANGER" in line["event"] for line in wait_until_it_listens(child))
        assert post(free_port, {})[0] == 422
        assert end(child)[0] == 0


def test_a_send_that_runs_is_finished_before_the_end(wired: Cli, town: StandinCluster, free_port: int):
    town.teamchat.faults.push(Fault.stall(1))
    with wired.running("gateway", env={"GATEWAY_PORT": str(free_port)}) as child:
        wait_until_it_listens(child)
        before = town.teamchat.requests
        client = socket.create_connection(("127.0.0.1", free_port))
        body = json.dumps({"channel": "teamchat", "target": "#ops", "message": "hello"})
        head = "POST /send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        client.sendall((head + body).encode())
        until(lambda: town.teamchat.requests > before)
        child.send_signal(signal.SIGTERM)
        with client:
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, out, b"Traceback" in err) == (0, b"", False)
    assert [entry["metadata"]["ok"] for entry in wired.audit_log()] == [True]


@pytest.mark.parametrize("command", ["up", "gateway", "bot", "worker"])
def test_a_service_without_a_usable_data_directory_ends_with_2(wired: Cli, free_port: int, command: str):
    (wired.home / "file").touch()
    env = {"GATEWAY_PORT": str(free_port), "TOCSIN_DATA_DIR": str(wired.home / "file" / "data")}
    done = wired(command, env=env)
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, f"{wired.home}/file/data", "Not a directory", f"{wired.home}/file ")
    assert "listening" not in done.err


@pytest.mark.parametrize(
    "call",
    [
        ("send", "teamchat", "#ops", "hello", "--queue"),
        ("bot", "access", "deny", "5"),
        ("skills", "run", "x"),
        ("watchers", "new", "x", "--path", "."),
        ("workflows", "new", "x"),
        ("vault", "init"),
    ],
    ids=" ".join,
)
def test_a_command_that_is_nothing_without_the_data_directory_ends_with_2_too(wired: Cli, call: tuple[str, ...]):
    (wired.home / "file").touch()
    done = wired(*call, "--json", env={"TOCSIN_DATA_DIR": str(wired.home / "file" / "data")})
    assert (done.code, done.json()["code"]) == (2, "invalid-config")
    assert "Not a directory" in done.json()["error"]


def test_weak_settings_are_warned_of_in_the_log(wired: Cli, free_port: int):
    env = {"GATEWAY_PORT": str(free_port), "WEBHOOK_REQUIRE_SIGNATURE": "false"}
    with wired.running("gateway", env=env) as child:
        events = [line["event"] for line in wait_until_it_listens(child) if line["level"] == "warning"]
        end(child)
    assert any("WEBHOOK_REQUIRE_SIGNATURE" in event for event in events)
    missing = "the dashboard has no sign-in configured: set DASHBOARD_USER and DASHBOARD_PASS in "
    assert f"{missing}{wired.data_dir / '.env'}" in events


MISTAKES = {
    "triggers.yaml": '- pattern: "^disk (\\d+)$"\n  command: df\n',
    "profiles.yaml": "oncall:\n  - chanel: email\n    target: ops@example.org\n",
    "skills/hello/skill.yaml": "name: hello\ndescription: Greets.\ncomand: echo hello\n",
}


PLACES = (
    ("triggers.yaml:1:21: ", "\\d"),
    ("profiles.yaml:2:5: oncall[0]: ", "'channel'"),
    ("skill.yaml:3:1: ", "'command'"),
)


def test_broken_files_are_told_at_the_start_with_the_place_and_the_fix(wired: Cli, free_port: int):
    for file, text in MISTAKES.items():
        (wired.data_dir / file).parent.mkdir(parents=True, exist_ok=True)
        (wired.data_dir / file).write_text(text)
    with wired.running("up", env={"GATEWAY_PORT": str(free_port)}) as child:
        lines = [line for line in wait_until_it_listens(child) if line["level"] == "warning"]
        end(child)
    told = [line["event"] + line.get("problem", "") for line in lines]
    assert [any(mentions(each, *facts) for each in told) for facts in PLACES] == [True] * len(PLACES), told


@pytest.mark.parametrize("command", ["up", "gateway", "worker"])
def test_a_service_logs_misspelt_settings_and_how_far_skills_are_confined(wired: Cli, free_port: int, command: str):
    with wired.running(command, env={"GATEWAY_PORT": str(free_port), "GATEWAY_PROT": "8101"}) as child:
        assert child.stderr
        lines = [json.loads(child.stderr.readline())]
        while "by" not in lines[-1]:
            lines.append(json.loads(child.stderr.readline()))
        end(child)
    assert mentions(lines[0]["event"], "environment", "GATEWAY_PROT", "GATEWAY_PORT")
    level = lines[-1]["by"]
    assert level in {"bubblewrap", "limits"}
    assert ("reason" in lines[-1]) is (level == "limits")


def test_a_service_loads_the_client_of_the_chat_model_before_it_is_asked(wired: Cli, free_port: int):
    (wired.home / "sitecustomize.py").write_text("import sys\nsys.modules['pydantic_ai'] = None\n")
    env = {"PYTHONPATH": str(wired.home), "GATEWAY_PORT": str(free_port)}
    with wired.running("worker", env=env) as child:
        assert child.stderr
        lines = []
        while not lines or "pydantic-ai-slim" not in lines[-1].get("reason", ""):
            lines.append(json.loads(child.stderr.readline()))
        end(child)
    assert lines[-1]["level"] == "warning"


def test_the_command_line_works_while_the_service_runs(wired: Cli, free_port: int):
    with wired.running("up", env={"GATEWAY_PORT": str(free_port)}) as child:
        wait_until_it_listens(child)
        assert wired("send", "teamchat", "#ops", "from the command line").code == 0
        assert post(free_port, {"channel": "teamchat", "target": "#ops", "message": "by HTTP"})[0] == 200
        assert wired("audit", "verify").code == 0
        end(child)
    assert [entry["source"] for entry in wired.audit_log()] == ["cli", "gateway"]


def test_a_service_runs_where_its_home_is_not_writable(wired: Cli, free_port: int, tmp_path: Path):
    env = {"GATEWAY_PORT": str(free_port), "HOME": "/nonexistent"}
    with wired.running("gateway", env=env) as child:
        wait_until_it_listens(child)
        assert end(child)[0] == 0
