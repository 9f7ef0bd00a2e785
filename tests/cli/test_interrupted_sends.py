"""A send that a signal cuts off leaves a record, one audit line and a sentence."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.cli.conftest import TOCSIN, Cli, end, wait_until_it_listens
from tests.facts import mentions
from tests.waiting import PATIENCE_S

from tocsin_standins import Fault, StandinCluster

Until = Callable[[Callable[[], Any]], Any]
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def deliveries(cli: Cli) -> list[dict[str, Any]]:
    return list(cli("deliveries", "list", "--json").json())


@pytest.fixture
def mute_mail() -> Iterator[socket.socket]:
    """A mail server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_while_the_answer_is_waited_for_leaves_an_uncertain_record_and_says_so(
    wired: Cli, town: StandinCluster, until: Until, number: int, code: int
):
    town.teamchat.faults.push(Fault.stall(86_400))
    with wired.running("send", "slack", "#ops", "hello") as child:
        until(lambda: town.recorder.of("teamchat"))
        ended, out, err = end(child, number)
    [delivery] = deliveries(wired)
    assert (ended, out) == (code, "")
    assert mentions(err, "interrupted", "Slack", "#ops", f"`tocsin deliveries show {delivery['id']}`")
    assert (delivery["status"], delivery["channel"], delivery["error_class"]) == ("uncertain", "teamchat", "ambiguous")
    [entry] = wired.audit_log()
    assert (entry["action"], entry["source"]) == ("msg.send", "cli")
    assert entry["detail"].startswith("perhaps sent on teamchat to #ops: ")
    assert entry["metadata"]["delivery"] == delivery["id"]


@pytest.mark.parametrize(("number", "code"), SIGNALS[:1])
def test_a_signal_before_anything_left_is_a_dead_record_and_says_that_nothing_was_sent(
    wired: Cli, mute_mail: socket.socket, number: int, code: int
):
    env = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(mute_mail.getsockname()[1]), "SMTP_TLS": "none"}
    with wired.running("send", "mail", "ops@example.org", "hello", env=env) as child:
        connection, _ = mute_mail.accept()
        with connection:
            ended, out, err = end(child, number)
    assert (ended, out) == (code, "")
    assert mentions(err, "interrupted", "E-mail", "ops@example.org")
    assert [delivery["status"] for delivery in deliveries(wired)] == ["dead"]
    [entry] = wired.audit_log()
    assert mentions(entry["detail"], "not sent", "email", "ops@example.org")


def test_an_interrupted_send_as_json_is_the_send_result(wired: Cli, town: StandinCluster, until: Until):
    town.teamchat.faults.push(Fault.stall(86_400))
    with wired.running("send", "slack", "#ops", "hello", "--json") as child:
        until(lambda: town.recorder.of("teamchat"))
        code, out, _ = end(child, signal.SIGTERM)
    assert code == 143
    result = json.loads(out)
    assert (result["ok"], result["channel"], result["target"]) == (False, "teamchat", "#ops")
    assert result["error"].startswith("outcome unknown: interrupted")


@pytest.mark.parametrize(("number", "code"), SIGNALS[:2])
def test_an_interrupted_notify_tells_of_each_target_and_writes_one_entry(
    wired: Cli, town: StandinCluster, until: Until, number: int, code: int
):
    wired.write_profiles(
        "oncall:\n  - {channel: slack, target: '#ops'}\n"
        f"  - {{channel: telegram, target: '{town.samples()['botchat']}'}}\n"
    )
    town.teamchat.faults.push(Fault.stall(86_400))
    with wired.running("notify", "oncall", "hello") as child:
        until(lambda: town.recorder.of("teamchat") and town.recorder.of("botchat"))
        until(lambda: [d for d in deliveries(wired) if d["channel"] == "botchat"])
        ended, out, err = end(child, number)
    assert (ended, out) == (code, "")
    found = {delivery["channel"]: delivery for delivery in deliveries(wired)}
    assert {channel: d["status"] for channel, d in found.items()} == {"teamchat": "uncertain", "botchat": "sent"}
    place = f"tocsin deliveries show {found['teamchat']['id']}"
    assert mentions(err, "interrupted", "Slack", "#ops", f"`{place}`")
    assert re.search("interrupted, but the message was sent on Telegram to \\S+ \\(id=", err)
    [entry] = wired.audit_log()
    assert (entry["action"], mentions(entry["detail"], "oncall", "1 of 2")) == ("msg.notify", True)
    assert [target["channel"] for target in entry["metadata"]["targets"]] == ["teamchat", "botchat"]


def test_a_hangup_that_nohup_ignores_does_not_interrupt_a_send(wired: Cli, town: StandinCluster, until: Until):
    town.teamchat.faults.push(Fault.stall(1))
    command = ["nohup", str(TOCSIN), "send", "teamchat", "#ops", "hello"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=wired.env, cwd=wired.home, **streams) as child:
        until(lambda: town.recorder.of("teamchat"))
        child.send_signal(signal.SIGHUP)
        assert child.wait(PATIENCE_S) == 0


@contextmanager
def sending(
    wired: Cli, town: StandinCluster, until: Until, port: int
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """Run a gateway with a send that never ends; yields it, and the connection of the caller."""
    town.teamchat.faults.push(Fault.stall(86_400))
    with wired.running("gateway", env={"GATEWAY_PORT": str(port)}) as child:
        wait_until_it_listens(child)
        body = json.dumps({"channel": "slack", "target": "#ops", "message": "hello"})
        head = "POST /send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as client:
            client.sendall((head + body).encode())
            until(lambda: town.recorder.of("teamchat"))
            yield child, client


def test_a_stopped_gateway_records_what_it_was_sending_and_answers_504(
    wired: Cli, town: StandinCluster, until: Until, free_port: int
):
    with sending(wired, town, until, free_port) as (child, client):
        assert end(child, signal.SIGTERM)[0] == 0
        answer = client.recv(65536)
    assert answer.startswith(b"HTTP/1.1 504 ")
    result = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (result["ok"], result["channel"]) == (False, "teamchat")
    [delivery] = deliveries(wired)
    assert (delivery["status"], delivery["source"]) == ("uncertain", "gateway")
    [entry] = wired.audit_log()
    assert (entry["action"], entry["source"], entry["metadata"]["channel"]) == ("msg.send", "gateway", "teamchat")


def test_a_gateway_that_is_stopped_twice_still_records_what_it_was_sending(
    wired: Cli, town: StandinCluster, until: Until, free_port: int
):
    with sending(wired, town, until, free_port) as (child, _):
        child.send_signal(signal.SIGTERM)
        assert "graceful" not in end(child, signal.SIGINT)[2], "the time for what runs was waited out"
    assert [delivery["status"] for delivery in deliveries(wired)] == ["uncertain"]
    assert [entry["action"] for entry in wired.audit_log()] == ["msg.send"]
