"""What steps of each type do: calls, messages, questions, skills, child workflows; and secrets."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from aiohttp import web
from tests.features.workflows.conftest import Opening, WorkflowBench, request
from tests.waiting import eventually
from tests.web_server import web_server

from tocsin.features.context import AbilityMissingError
from tocsin.features.null_abilities import NoSecrets
from tocsin.features.workflows.engine.http import HttpSteps, PrivateAddressError, refuse_private
from tocsin.features.workflows.engine.step_call import StepCall
from tocsin.features.workflows.engine.values import RunValues, StepScope
from tocsin.features.workflows.language.reading import read_workflow
from tocsin.features.workflows.language.surroundings import Surroundings
from tocsin.features.workflows.store import InvalidWorkflowError
from tocsin.runs.control import StartRequest
from tocsin.runs.model import RunStatus
from tocsin.testing.fakes import ScriptedTransport

ALLOWED = {"HTTP_ALLOW_PRIVATE": "true"}


class WebServer:
    """A server that records what it is asked, and redirects below `/to/`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        self.url = ""

    async def handle(self, asked: web.Request) -> web.Response:
        self.asked.append((asked.method, asked.path_qs, dict(asked.headers), await asked.text()))
        if asked.path.startswith("/to/"):
            raise web.HTTPFound(asked.path.removeprefix("/to"))
        if asked.path[1:4] in {"302", "307", "308"}:
            return web.Response(status=int(asked.path[1:4]), headers={"Location": asked.path[5:]})
        if asked.path == "/loop":
            raise web.HTTPFound("/loop")
        if asked.path == "/missing":
            return web.Response(status=404, text="nothing here")
        return web.json_response({"path": asked.path, "ok": True})


@asynccontextmanager
async def serving() -> AsyncIterator[WebServer]:
    made = WebServer()
    async with web_server(web.route("*", "/{rest:.*}", made.handle)) as made.url:
        yield made


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with serving() as made:
        yield made


@pytest.fixture
async def other() -> AsyncIterator[WebServer]:
    """A server at another port: another origin."""
    async with serving() as made:
        yield made


async def test_a_call_hands_on_status_body_and_headers_and_quotes_values_in_its_address(opening: Opening, server):
    async with opening(ALLOWED) as flows:
        steps = await flows.steps(
            f"""
            params: {{name: {{default: 'a/b ?c'}}}}
            steps:
              - name: call
                type: http
                url: {server.url}/x/${{params.name}}
                method: POST
                headers: {{X-Name: 'n ${{run.id}}'}}
                json: {{text: 'say "${{params.name}}"', n: 1, whole: '${{run.attempt}}'}}
                outputs: {{path: stdout | json:/path}}
              - {{name: show, command: 'echo $STEP_CALL_STATUS $STEP_CALL_PATH'}}
        """
        )
        assert flows.printed("show")[0].startswith("200 /x/")
    assert steps["call"].outputs["status"] == 200
    [(method, path, headers, body)] = server.asked
    assert (method, path, headers["Content-Type"]) == ("POST", "/x/a%2Fb%20%3Fc", "application/json")
    assert json.loads(body) == {"text": 'say "a/b ?c"', "n": 1, "whole": 1}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("url: URL/missing", "the response has status 404, expected 200 to 299"),
        ("url: URL/missing, expect_status: [404]", ""),
        ("url: URL/x, expect_status: 204", "the response has status 200, expected 204"),
        ("url: URL/x, expect_body: 'ok.: true'", ""),
        ("url: URL/x, expect_body: 'not this'", "the response does not match 'not this'"),
        ("url: URL/to/x", ""),
        ("url: 'http://a.example:99999/'", "invalid URL: use the form https://host:port/path"),
        ("url: URL/loop", "more than 5 redirects: call the final URL directly"),
    ],
)
async def test_a_call_succeeds_or_fails_as_it_expects(opening: Opening, server, more: str, reason: str):
    async with opening(ALLOWED) as flows:
        steps = await flows.steps(f"steps: [{{name: a, type: http, {more.replace('URL', server.url)}}}]")
    assert (steps["a"].error or {}).get("message", "") == reason


async def test_private_addresses_are_not_called_unless_a_setting_allows_it(flows: WorkflowBench, server):
    for url in (server.url, server.url.replace("127.0.0.1", "localhost"), "http://[::1]:1", "http://169.254.169.254"):
        steps = await flows.steps(f"steps: [{{name: a, type: http, url: '{url}/'}}]")
        assert (steps["a"].error or {})["code"] == "private-address", url
    assert server.asked == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.1.1", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "0.0.0.0"],
)
def test_an_address_that_a_name_resolves_to_is_refused_where_it_is_not_public(address: str):
    with pytest.raises(PrivateAddressError):
        refuse_private(address)
    refuse_private("93.184.216.34")


@pytest.mark.parametrize(
    "place", ["http://10.0.0.1/", "http://169.254.169.254/latest", "//localhost/", "http://[::1]/"]
)
async def test_a_redirect_to_a_private_address_is_not_followed(place: str):
    text = b"name: flow\nsteps: [{name: a, type: http, url: 'http://public.example/'}]"
    workflow = read_workflow(text, Path("flow.yaml"), Surroundings()).workflow
    scope = StepScope(RunValues(params={}, run={}), (), (), Path())
    call = StepCall(workflow, workflow.steps[0], scope, Mock(), Mock(), env={}, variables={}, attempt=1, since=0.0)
    http = ScriptedTransport().will_answer(b"", 302, {"location": place})
    with pytest.raises(PrivateAddressError):
        await HttpSteps(lambda: http).run(call)
    assert [request.url for request in http.sent] == ["http://public.example/"]


CALL = """
env: {TOKEN: 'placed-${params.who}'}
params: {who: {default: dave}}
steps:
  - name: a
    type: http
    url: URL
    method: METHOD
    body: BODY
    headers: {Authorization: written, X-Api-Key: written, X-Env: '${env.TOKEN}', X-Run: '${run.id}', X-Trace: kept}
"""


async def _call(opening: Opening, url: str, method: str, body: str = "") -> tuple[str, list[str]]:
    """Make a call; return why it failed, and what the run's log says."""
    async with opening(ALLOWED) as flows:
        text = CALL.replace("URL", f"'{url}'").replace("METHOD", method).replace("BODY", f"'{body}'")
        steps = await flows.steps(text)
        return (steps["a"].error or {}).get("message", ""), flows.printed("a:system")


@pytest.mark.parametrize(("method", "status", "arrives"), [("GET", 307, "GET"), ("POST", 302, "GET")])
async def test_another_origin_gets_no_placeholder_no_credential_and_no_body(
    opening: Opening, server, other, method: str, status: int, arrives: str
):
    body = "a placed-value" if method == "POST" else ""
    error, log = await _call(opening, f"{server.url}/{status}/{other.url}/x", method, body)
    assert not error
    [(got, _, headers, text)] = other.asked
    assert (got, text) == (arrives, "")
    assert headers["X-Trace"] == "kept"
    assert not {"Authorization", "X-Api-Key", "X-Env", "X-Run", "Content-Type"} & headers.keys()
    assert log[1].endswith("without Authorization, X-Api-Key, X-Env, X-Run")


async def test_a_body_that_a_redirect_would_repeat_at_another_origin_fails_the_step(opening: Opening, server, other):
    error, _ = await _call(opening, f"{server.url}/308/{other.url}/x", "PUT", "a placed-value")
    assert "redirects the PUT to 127.0.0.1" in error
    assert other.asked == []


async def test_the_first_origin_gets_headers_and_body_again_only_if_the_chain_never_left_it(
    opening: Opening, server, other
):
    await _call(opening, f"{server.url}/307/{server.url}/there", "POST", "text")
    assert {(body, headers["X-Env"]) for _, _, headers, body in server.asked} == {("text", "placed-dave")}
    server.asked.clear()
    await _call(opening, f"{server.url}/307/{other.url}/307/{server.url}/back", "GET")
    assert ["X-Env" in headers for _, _, headers, _ in server.asked] == [True, False]


async def test_a_message_that_is_not_sent_fails_a_step_only_where_it_is_required(flows: WorkflowBench):
    (flows.folder / "profiles.yaml").write_text("oncall: [{channel: email, target: a@example.org}]\n")
    steps = await flows.steps("""
        parallel: true
        steps:
          - {name: perhaps, type: notify, profile: oncall, command: hi}
          - {name: must, type: message, profile: oncall, command: hi, required: true}
    """)
    assert (steps["perhaps"].status, steps["perhaps"].outputs) == (RunStatus.SUCCEEDED, {"sent": 0, "failed": 1})
    assert (steps["must"].status, (steps["must"].error or {})["code"]) == (RunStatus.FAILED, "not-sent")


async def test_a_question_is_asked_with_its_options_and_json_is_read(opening: Opening):
    asked: list[tuple[str, dict[str, Any]]] = []

    async def ask(prompt: str, message: str = "", /, **options: Any) -> str:
        asked.append((prompt, options))
        return "Yes." if "JSON" not in prompt else '```json\n{"level": 3}\n```'

    async with opening(models=SimpleNamespace(ask=ask)) as flows:
        steps = await flows.steps("""
            steps:
              - name: plain
                type: prompt
                command: Is ${run.name} fine?
                system: Be brief.
                model: small
                max_tokens: 9
              - {name: data, type: chat, command: How bad?, response_format: json}
              - {name: bad, type: prompt, command: Again?, response_format: json, when: steps.data.outputs.json == 4}
              - {name: show, command: 'echo "$STEP_PLAIN_TEXT $STEP_DATA_JSON"'}
        """)
        assert flows.printed("show") == ['Yes. {"level": 3}']
    assert asked[0] == ("Is flow fine?", {"system": "Be brief.", "model": "small", "max_tokens": 9})
    assert steps["data"].outputs["json"] == {"level": 3}


async def test_a_skill_runs_as_a_run_of_its_own_and_its_output_is_handed_on(flows: WorkflowBench):
    folder = flows.folder / "skills" / "greet"
    folder.mkdir(parents=True, mode=0o755)
    (folder / "skill.yaml").write_text('name: greet\ndescription: Greet.\ncommand: echo "hello $1"; cat\n')
    steps = await flows.steps("""
        params: {who: {default: A B}}
        steps:
          - name: greet
            type: skill
            mode: standard
            command: greet
            args: ['${params.who}']
            input: more
            outputs: {said: stdout | first_line}
    """)
    assert steps["greet"].outputs["said"] == "hello A B"
    run = await flows.runs.get(steps["greet"].outputs["run_id"])
    [parent] = (await flows.runs.search("workflow")).items
    assert (run.kind, run.parent_run_id, run.trigger) == ("skill", parent.id, "workflow")


async def test_a_child_workflow_gets_parameters_and_hands_its_outputs_on(flows: WorkflowBench):
    flows.write(
        r"""
        params: {n: {type: integer, required: true}}
        steps: [{name: double, command: 'expr ${params.n} \* 2', outputs: {value: stdout | trim}}]
    """,
        "child",
    )
    steps = await flows.steps("""
        steps:
          - name: each
            type: workflow
            for_each: [3, 4]
            command: child
            params: {n: '${item}'}
            outputs: {value: stdout | json:/double/value}
    """)
    assert steps["each"].outputs["value"] == ["6", "8"]
    runs = (await flows.runs.search("workflow", "child")).items
    assert {run.trigger for run in runs} == {"workflow"}


async def test_a_plan_shows_that_a_child_would_not_take_its_parameters(flows: WorkflowBench):
    flows.write(
        """
        params: {host: {type: string, required: true}, keep: {type: integer, minimum: 1}}
        steps: [{name: a, command: 'true'}]
    """,
        "child",
    )
    flows.write("steps: [{name: a, comand: x}]", "broken")
    flows.write("""
        steps:
          - {name: wrong, type: workflow, command: child, params: {hosts: a, keep: 0}}
          - {name: early, command: echo web1, outputs: {host: stdout}}
          - {name: later, type: workflow, command: child, params: {host: '${steps.early.outputs.host}'}}
          - {name: each, type: workflow, command: child, params: {host: '${item}'}, for_each: [a, b]}
          - {name: broken, type: workflow, command: broken}
          - {name: never, type: workflow, command: broken, when: 'false'}
    """)
    planned = {each.step: each.problems for each in (await flows.workflows.plan("flow", request())).plan}
    assert planned["wrong"] == (
        "workflow child cannot run: unknown parameter 'hosts' (did you mean 'host'?); parameter 'host' is required; "
        "keep must be at least 1, found 0",
    )
    assert planned["later"] == planned["each"] == planned["never"] == ()
    assert planned["broken"][0].startswith("workflow broken is invalid: broken.yaml:")
    run = await flows.run()
    assert planned["wrong"][0] in (run.reason or "")


async def test_children_are_nested_5_deep_and_a_deeper_one_is_a_mistake_before_the_run(flows: WorkflowBench):
    flows.write("steps: [{name: a, command: 'true'}]", "w6")
    for level in range(6):
        flows.write(f"steps: [{{name: a, type: workflow, command: w{level + 1}}}]", f"w{level}")
    assert (await flows.workflows.run("w1", request())).status is RunStatus.SUCCEEDED
    with pytest.raises(InvalidWorkflowError, match="more than 5 levels deep: w1 -> w2 -> w3 -> w4 -> w5 -> w6"):
        await flows.workflows.run("w0", request())


async def test_a_child_ends_with_the_run_that_started_it(flows: WorkflowBench):
    flows.write("steps: [{name: a, command: sleep 60}]", "child")
    flows.write("steps: [{name: a, type: workflow, command: child}]")
    running = await flows.workflows.start("flow", request())
    await eventually(lambda: child_runs(flows))
    await flows.runs.cancel(running.run.id)
    assert (await running.wait()).status is RunStatus.CANCELLED

    async def child_has_ended() -> bool:
        [child] = await child_runs(flows)
        return child.status in {RunStatus.INTERRUPTED, RunStatus.CANCELLED}

    await eventually(child_has_ended)


async def child_runs(flows: WorkflowBench):
    return (await flows.runs.search("workflow", "child")).items


async def test_ssh_steps_go_to_the_feature_that_owns_them_with_values_as_variables(opening: Opening):
    given: list[tuple[str, str, Mapping[str, Any]]] = []

    async def start_run(kind: str, subject: str, request: StartRequest, /) -> Any:
        given.append((kind, subject, request.params))
        raise AbilityMissingError("not in this test")

    async def list_subjects(kind: str, /) -> list[str]:
        return ["web1", "group:db"]

    async with opening(run_starter=SimpleNamespace(start=start_run, subjects=list_subjects)) as flows:
        run = await flows.run("""
            params: {x: {default: "a'; b"}}
            steps: [{name: a, type: ssh, hosts: [web1], groups: db, command: 'echo "$PARAM_X"', user: deploy}]
        """)
        assert run.reason == "step a failed: not in this test"
    [(kind, subject, params)] = given
    assert (kind, subject, params["hosts"], params["groups"], params["user"]) == (
        "ssh",
        "flow/a",
        ["web1"],
        ["db"],
        "deploy",
    )
    done = await asyncio.to_thread(
        lambda: subprocess.run(
            ["sh", "-c", params["command"]], env=params["env"], capture_output=True, text=True, check=True
        )
    )
    assert done.stdout == "a'; b\n"
    assert "a'; b" not in params["command"]


async def test_secrets_reach_variables_and_headers_alone_and_are_masked_everywhere(opening: Opening, server):
    read: list[Any] = []

    async def reveal_secrets(names: Any = None, /, *, reader: str) -> Mapping[str, str]:
        read.append((list(names), reader))
        return {"TOKEN": "s3cr3t-value", "OTHER": "0ther-value"}

    async def secret_names() -> list[str]:
        return ["TOKEN", "OTHER"]

    text = f"""
        env: {{T: '${{vault:TOKEN}}'}}
        steps:
          - {{name: show, command: 'echo $T; echo $T | base64', outputs: {{t: stdout}}}}
          - {{name: call, type: http, url: {server.url}/x, headers: {{Authorization: 'Key ${{vault:OTHER}}'}}}}
    """
    async with opening(ALLOWED, secrets=SimpleNamespace(reveal_several=reveal_secrets, names=secret_names)) as flows:
        flows.bench.app.redact.learn(["s3cr3t-value", "0ther-value"])  # as the vault does
        flows.write(text)
        planned = await flows.workflows.plan("flow", request())
        assert read == []
        run = await flows.run()
        assert read == [(["TOKEN", "OTHER"], "workflow flow")]
        assert server.asked[0][2]["Authorization"] == "Key 0ther-value"
        said = json.dumps([line.text for line in flows.lines]) + str(run) + str(planned) + run.output.tail
        assert flows.printed("show") == ["[secret]", "[secret]"]
        assert "s3cr3t" not in said
        assert "s3cr3t" not in str((await flows.runs.get(run.id)).steps)
    assert run.env_keys == ("T",)


async def test_a_secret_that_is_not_there_stops_the_run_before_it_starts(opening: Opening):
    async def reveal_secrets(names: Any = None, /, *, reader: str) -> Mapping[str, str]:
        return {}

    async with opening(secrets=SimpleNamespace(reveal_several=reveal_secrets, names=NoSecrets().names)) as flows:
        flows.write("steps: [{name: a, command: echo a, env: {T: '${vault:TOKEN}'}}]")
        with pytest.raises(Exception, match="TOKEN"):
            await flows.run()
        assert (await flows.runs.search("workflow")).items == ()


async def test_the_shell_of_a_step_is_a_command_line_or_a_list_of_its_words(flows: WorkflowBench):
    run = await flows.run(
        """
        steps:
          - {name: line, command: "echo $0 $-; false; echo after", shell: "sh -f"}
          - {name: words, command: "echo $0 $-; false; echo after", shell: [sh, -f, -c]}
          - {name: other, command: "import os; print(os.environ['OF'])", shell: python3, env: {OF: "${run.id}"}}
        """
    )
    assert run.status is RunStatus.SUCCEEDED
    told = [flows.printed(name) for name in ("line", "words")]
    assert told[0][0].removeprefix("line") == told[1][0].removeprefix("words")
    assert [lines[1:] for lines in told] == [["after"], ["after"]]
    assert flows.printed("other") == [run.id]
