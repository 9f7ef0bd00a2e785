"""Traces reach a collector from real processes, and continue those of callers."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.http_calls import http_call, is_answered
from tests.otlp_collector import Collector, running_collector
from tests.ports import free_port
from tests.waiting import PATIENCE_S, until

from tocsin_standins import StandinCluster
from tocsin_standins.chatmodel.server import MODEL
from tocsin_standins.faults import Fault

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{CALLER}-01"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with running_collector() as running:
        yield running


@pytest.fixture
def traced(wired: Cli, collector: Collector) -> Cli:
    """The command with stand-ins, which exports its traces."""
    wired.env |= {**collector.environment(), "REDIS_URL": "off", "GATEWAY_PORT": str(free_port())}
    return wired


@contextmanager
def gateway(cli: Cli, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    with cli.running("gateway", env=env) as child:
        wait_until_it_listens(child)
        yield child


def post(cli: Cli, **headers: str) -> int:
    """Send a message as a caller of the gateway does; return the status."""
    message = {"channel": "teamchat", "target": "#ops", "message": "a-text-of-mine"}
    return http_call(f"http://127.0.0.1:{cli.env['GATEWAY_PORT']}/send", message, **headers).status


def test_a_queued_message_keeps_its_trace_in_the_process_after_a_killed_one(
    traced: Cli, town: StandinCluster, collector: Collector
):
    town.teamchat.faults.push(Fault.stall(86_400, accept=False))
    with gateway(traced) as child:
        assert post(traced, traceparent=TRACEPARENT, prefer="respond-async") == 202
        accepted, request = collector.wait_for("queue message"), collector.wait_for("POST /send")
        until(lambda: not town.teamchat.faults, "the first attempt has begun")
        child.kill()
        child.wait(PATIENCE_S)
    assert (request.trace_id, request.parent) == (TRACE, CALLER)
    assert (accepted.trace_id, accepted.parent) == (TRACE, request.span_id)
    with gateway(traced):
        attempt = collector.wait_for("deliver message", delivery=accepted.attributes["tocsin.delivery"])
        call = collector.wait_for("call provider")
    assert (attempt.trace_id, attempt.parent, attempt.failed) == (TRACE, accepted.span_id, False)
    assert attempt.attributes["tocsin.outcome"] == "sent"
    assert attempt.attributes["tocsin.attempt"] > 1
    assert (call.trace_id, call.parent) == (TRACE, attempt.span_id)


def test_request_message_and_call_are_one_trace_without_texts_or_secrets(
    traced: Cli, town: StandinCluster, collector: Collector
):
    with gateway(traced, OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20x1", OTEL_SERVICE_NAME="bell") as child:
        assert post(traced) == 200
        request = collector.wait_for("POST /send")
        end(child)
    [message], [call] = collector.named("send message"), collector.named("call provider")
    assert (request.parent, message.parent, call.parent) == ("", request.span_id, message.span_id)
    assert request.trace_id == message.trace_id == call.trace_id
    assert request.attributes["http.response.status_code"] == 200
    assert request.resource["service.name"] == "bell"
    assert {each["authorization"] for each in collector.headers} == {"Bearer x1"}
    for private in (b"a-text-of-mine", b"#ops", town.environment()["TEAMCHAT_BOT_TOKEN"].encode()):
        assert private not in collector.bodies


def test_an_attempt_that_fails_has_the_kind_of_its_error(traced: Cli, town: StandinCluster, collector: Collector):
    town.teamchat.faults.push(Fault.error("invalid_auth"))
    with gateway(traced):
        assert post(traced, prefer="respond-async") == 202
        attempt = collector.wait_for("deliver message")
    assert attempt.failed
    assert attempt.attributes["error.type"] == "permanent"
    assert attempt.attributes["tocsin.outcome"] == "dead"


@pytest.mark.parametrize("invalid", ["", f"00-{TRACE}-{'0' * 16}-01", f"ff-{TRACE}-{CALLER}-01", "00-x", TRACE])
def test_an_invalid_traceparent_begins_a_new_trace(traced: Cli, collector: Collector, invalid: str):
    done = traced.forked("send", "teamchat", "#ops", "hi", env={"TRACEPARENT": invalid})
    assert done.code == 0, done.err
    assert collector.wait_for("send message").trace_id != TRACE


def test_a_command_continues_the_trace_of_its_environment(traced: Cli, collector: Collector):
    assert traced.forked("send", "teamchat", "#ops", "hi", env={"TRACEPARENT": TRACEPARENT}).code == 0
    message = collector.wait_for("send message", channel="teamchat")
    assert (message.trace_id, message.parent) == (TRACE, CALLER)


def test_a_collector_that_fails_or_is_away_fails_no_message(traced: Cli, collector: Collector):
    collector.status = 500
    assert traced.forked("send", "teamchat", "#ops", "hi").code == 0
    away = f"http://127.0.0.1:{free_port()}"
    assert traced.forked("send", "teamchat", "#ops", "hi", env={"OTEL_EXPORTER_OTLP_ENDPOINT": away}).code == 0
    assert collector.spans == []


def test_without_an_endpoint_neither_a_send_nor_the_gateway_imports_opentelemetry(traced: Cli):
    traced.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "", "PYTHONPROFILEIMPORTTIME": "1"}
    sent = traced.forked("send", "teamchat", "#ops", "hi")
    assert sent.code == 0, sent.err
    log = traced.home / "imports"
    with log.open("wb") as errors, subprocess.Popen([traced.tocsin, "gateway"], stderr=errors, env=traced.env) as child:
        try:
            health = f"http://127.0.0.1:{traced.env['GATEWAY_PORT']}/health"
            until(lambda: is_answered(health), "the gateway answers")
            assert post(traced) == 200
        finally:
            child.kill()
    for loaded in (sent.err, log.read_text()):
        assert "tocsin.messaging.outbound.messenger" in loaded
        assert "opentelemetry" not in loaded


@pytest.mark.parametrize("off", [{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, {"OTEL_SDK_DISABLED": "true"}])
def test_nothing_is_recorded_without_an_endpoint_or_with_the_sdk_disabled(
    traced: Cli, collector: Collector, off: dict[str, str]
):
    assert traced.forked("send", "teamchat", "#ops", "hi", env=off).code == 0
    assert collector.spans == []


def test_log_lines_of_a_message_have_the_id_of_its_trace(traced: Cli, town: StandinCluster, collector: Collector):
    town.teamchat.faults.push(Fault.error("invalid_auth"))
    with gateway(traced) as child:
        post(traced, traceparent=TRACEPARENT, prefer="respond-async")
        attempt = collector.wait_for("deliver message")
        _, _, err = end(child)
    lines = [json.loads(line) for line in err.splitlines()]
    [dead] = [line for line in lines if line.get("delivery") == attempt.attributes["tocsin.delivery"]]
    assert (dead["trace_id"], dead["span_id"]) == (TRACE, attempt.span_id)


def test_a_run_of_a_workflow_continues_the_trace_and_its_commands_are_given_it(traced: Cli, collector: Collector):
    folder = traced.data_dir / "workflows"
    folder.mkdir(mode=0o700, parents=True)
    text = "name: w\nsteps:\n  - {name: say, command: 'echo tp=$TRACEPARENT'}\n  - {name: end, command: 'exit 3'}\n"
    (folder / "w.yaml").write_text(text)
    (folder / "w.yaml").chmod(0o600)
    done = traced.forked("workflows", "run", "w", env={"TRACEPARENT": TRACEPARENT})
    assert done.code == 1, done.err
    run = collector.wait_for("run", kind="workflow")
    [said], [ended] = collector.named("step", step="say"), collector.named("step", step="end")
    [started] = collector.named("start run")
    assert {span.trace_id for span in collector.spans} == {TRACE}
    assert (started.parent, run.parent) == (CALLER, started.span_id)
    assert (said.parent, ended.parent) == (run.span_id, run.span_id)
    assert f"tp=00-{TRACE}-{said.span_id}-01" in done.out + done.err
    assert ended.failed
    assert run.failed
    assert run.attributes["tocsin.outcome"] == "failed"
    assert collector.named("settle run")


class Called(BaseHTTPRequestHandler):
    """A service that notes the headers of its callers."""

    seen: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize("own", ["", "00-11111111111111111111111111111111-2222222222222222-00"])
def test_an_http_step_passes_the_trace_on_unless_it_has_a_header_of_its_own(
    traced: Cli, collector: Collector, own: str
):
    folder = traced.data_dir / "workflows"
    folder.mkdir(mode=0o700, parents=True)
    headers = f", headers: {{Traceparent: {own}}}" if own else ""
    with ThreadingHTTPServer(("127.0.0.1", 0), Called) as server:
        Thread(target=server.serve_forever).start()
        step = f"{{name: call, type: http, url: 'http://127.0.0.1:{server.server_port}/'{headers}}}"
        (folder / "w.yaml").write_text(f"name: w\nsteps:\n  - {step}\n")
        (folder / "w.yaml").chmod(0o600)
        env = {"TRACEPARENT": TRACEPARENT, "HTTP_ALLOW_PRIVATE": "true"}
        done = traced.forked("workflows", "run", "w", env=env)
        server.shutdown()
    assert done.code == 0, done.err
    call, [step] = collector.wait_for("call URL"), collector.named("step", step="call")
    assert (call.trace_id, call.parent, call.attributes["http.response.status_code"]) == (TRACE, step.span_id, 200)
    assert Called.seen[-1]["traceparent"] == (own or f"00-{TRACE}-{call.span_id}-01")


def test_a_question_to_a_model_is_a_span_without_its_text(traced: Cli, collector: Collector):
    folder = traced.data_dir / "workflows"
    folder.mkdir(mode=0o700, parents=True)
    (folder / "w.yaml").write_text("name: w\nsteps:\n  - {name: ask, type: prompt, command: a-question-of-mine}\n")
    (folder / "w.yaml").chmod(0o600)
    done = traced.forked("workflows", "run", "w", env={"TRACEPARENT": TRACEPARENT})
    assert done.code == 0, done.err
    asked, [step] = collector.wait_for("ask model", provider="openai"), collector.named("step", step="ask")
    assert (asked.trace_id, asked.parent, asked.attributes["tocsin.model"]) == (TRACE, step.span_id, MODEL)
    assert b"a-question-of-mine" not in collector.bodies


@pytest.mark.parametrize(
    ("sampler", "caller", "recorded"),
    [
        ("always_off", TRACEPARENT, False),
        ("always_on", f"{TRACEPARENT[:-2]}00", True),
        ("parentbased_always_on", f"{TRACEPARENT[:-2]}00", False),
        ("parentbased_always_off", TRACEPARENT, True),
        ("parentbased_always_off", "", False),
    ],
)
def test_the_sampler_decides_which_traces_are_recorded(
    traced: Cli, collector: Collector, sampler: str, caller: str, recorded: bool
):
    env = {"OTEL_TRACES_SAMPLER": sampler, "TRACEPARENT": caller}
    assert traced.forked("send", "teamchat", "#ops", "hi", env=env).code == 0
    assert bool(collector.named("send message")) is recorded  # a process exports before it ends


def test_a_confined_skill_is_given_no_variable_besides_those_of_the_sandbox(traced: Cli, collector: Collector):
    skill = traced.data_dir / "skills" / "env"
    skill.mkdir(parents=True)
    (skill / "skill.yaml").write_text("name: env\ndescription: Show the environment.\ncommand: env\n")
    done = traced.forked("skills", "run", "--mode", "sandboxed", "env", env={"TRACEPARENT": TRACEPARENT})
    assert done.code == 0, done.err
    assert collector.wait_for("run", kind="skill").trace_id == TRACE
    assert "TRACEPARENT" not in done.out + done.err


def test_without_the_packages_a_send_and_doctor_say_how_to_install_them(traced: Cli, tmp_path_factory: Any):
    site = tmp_path_factory.mktemp("site")
    # What an installation without the extra shows: the API, on which other packages depend, and no SDK.
    (site / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    without = {"PYTHONPATH": str(site)}
    sent = traced.forked("send", "teamchat", "#ops", "hi", env=without)
    assert sent.code == 0
    assert 'pip install "tocsin[otel]"' in sent.err
    found = traced.forked("doctor", "--offline", "--json", env=without)
    [finding] = [each for each in found.json()["findings"] if each["subject"] == "traces"]
    assert (finding["state"], finding["fix"]) == ("warning", 'pip install "tocsin[otel]"')
    [finding] = [
        e for e in traced.forked("doctor", "--offline", "--json").json()["findings"] if e["subject"] == "traces"
    ]
    assert finding["state"] == "ok"
