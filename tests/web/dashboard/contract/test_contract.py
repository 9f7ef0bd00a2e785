"""What holds for every operation that the OpenAPI document names."""

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
import uvicorn
from jsonschema_rs import Draft202012Validator
from tests.audit_entries import check_audit_log
from tests.docs.pages import ROOT
from tests.waiting import eventually
from tests.web.dashboard.contract.curl import PREAMBLE, curl_of, variable_of
from tests.web.dashboard.contract.examples import EXAMPLES, LOGIN, OPERATIONS, UNKNOWN, Absent, Example
from tests.web.dashboard.contract.world import ContractWorld, open_world

from tocsin.core.scopes import SCOPES
from tocsin.rest.models import RecordReceipt
from tocsin.testing.dashboard import DashboardAnswer
from tocsin.web.http.protocol import BoundedProtocol

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content-type": "application/json"}


class Described(NamedTuple):
    """An operation, as the document describes it."""

    name: str
    method: str
    path: str
    says: dict[str, Any]
    problems: dict[str, list[str]]  # codes by status

    @property
    def scope(self) -> str:
        return str(self.says.get("x-scope", ""))

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    @property
    def reads(self) -> bool:
        """Whether it changes nothing: it needs no more than reading, or only shows something."""
        return self.scope == "read" or (not self.changes and "200" in self.says["responses"])

    @property
    def takes_json(self) -> bool:
        return "application/json" in self.says.get("requestBody", {}).get("content", {"application/json": {}})

    @property
    def receipt(self) -> bool:
        """Whether callers who may not read are shown a receipt of what they changed."""
        return "RecordReceipt" in str(self.says["responses"])

    @property
    def example(self) -> Example:
        return EXAMPLES[self.name]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ContractWorld]:
    async with open_world(tmp_path_factory.mktemp("contract")) as world:
        yield world
        check_audit_log(world.app.audit.log)


def operations(world: ContractWorld) -> Iterator[Described]:
    for path, methods in world.document["paths"].items():
        for method, says in methods.items():
            problems = {status: codes_of(world.document, answer) for status, answer in says["responses"].items()}
            yield Described(f"{method.upper()} {path}", method.upper(), path, says, problems)


def whole_numbers_of(document: dict[str, Any], says: dict[str, Any]) -> list[str]:
    """Return the fields of a body that are whole numbers."""
    schema = says.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    fields: dict[str, Any] = schema.get("properties", {})
    return [name for name, field in fields.items() if _is_whole(field) or any(map(_is_whole, field.get("anyOf", ())))]


def _is_whole(field: dict[str, Any]) -> bool:
    return "integer" in field.get("type", "") and "number" not in field.get("type", "")


def codes_of(document: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """Return the codes of the problems that an answer may be."""
    shared = document["components"]["responses"].get(answer.get("$ref", "").rpartition("/")[2], answer)
    found: list[str] = shared.get("x-problems", [])
    return found


def misfits(document: dict[str, Any], described: dict[str, Any], answer: DashboardAnswer) -> list[str]:
    """Return where an answer differs from its schema."""
    schema = {**described["content"]["application/json"]["schema"], "components": document["components"]}
    found = Draft202012Validator(schema).iter_errors(answer.json())
    return [f"{error.instance_path}: {error.message[:200]}" for error in found]


def filled(path: str, value: str) -> str:
    return re.sub(r"\{\w+\}", value, path)


class Request(NamedTuple):
    """What an example asks for, about something that is there."""

    path: str
    query: str
    body: Any
    headers: dict[str, str]


async def request_of(world: ContractWorld, operation: Described) -> Request:
    example = operation.example
    made = await world.made(example.made) if example.made else ""
    body = example.body
    if isinstance(body, dict):
        body = json.loads(json.dumps(body).replace("{made}", made))
        body |= {example.new: world.name()} if example.new else {}
    headers = {"content-type": example.media} if body is not None else {}
    return Request(filled(operation.path, made), example.query.replace("{made}", made), body, headers)


def problem_with(operation: Described, answer: DashboardAnswer, status: int, code: str) -> str:
    """Return what is wrong with an answer that is to be this problem; empty where nothing is."""
    if answer.status != status:
        return f"{operation.name}: {answer.status} instead of {status}: {answer.body[:200]!r}"
    if answer.headers.get("content-type") != "application/problem+json":
        return f"{operation.name}: {answer.headers.get('content-type')}"
    found = answer.json()
    if found["code"] != code or found["status"] != status or found["request_id"] != answer.headers["x-request-id"]:
        return f"{operation.name}: {found}"
    if code not in operation.problems.get(str(status), ()):
        return f"{operation.name}: {status} {code} is not documented"
    return ""


async def test_the_70_operations_are_there_and_all_others_are_marked_as_extensions(world: ContractWorld):
    found = {operation.name: operation.says.get("x-extension", False) for operation in operations(world)}
    assert len(OPERATIONS) == len(set(OPERATIONS)) == 70
    assert [name for name in OPERATIONS if name not in found] == []
    assert [name for name in OPERATIONS if found.get(name)] == []
    assert [name for name, extra in found.items() if not extra and name not in OPERATIONS] == []


async def test_every_operation_has_an_example_and_a_description(world: ContractWorld):
    found = {operation.name: operation.says for operation in operations(world)}
    assert sorted(set(found) - set(EXAMPLES)) == []
    assert sorted(set(EXAMPLES) - set(found)) == []
    ids = [says["operationId"] for says in found.values()]
    assert len(ids) == len(set(ids))
    assert [name for name, says in found.items() if not says.get("summary") or not says.get("tags")] == []


async def signed_in(world: ContractWorld) -> dict[str, str]:
    """Sign in as a browser does, and return the header of its requests."""
    answer = await world.client.post("/login", LOGIN)
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


async def test_each_succeeds_as_documented_and_each_change_is_one_audit_entry(world: ContractWorld):
    wrong, expected = [], {}
    for operation in operations(world):
        example, request = operation.example, await request_of(world, operation)
        path = f"{request.path}?{request.query}" if request.query else request.path
        headers = {"x-request-id": re.sub(r"\W+", "-", operation.name), **request.headers}
        if operation.name == "POST /logout":
            headers |= await signed_in(world)
        if example.streams:
            answer = await world.streamed(path, headers)
        else:
            answer = await world.client.call(operation.method, path, request.body, headers=headers)
        described = operation.says["responses"].get(str(answer.status))
        if answer.status != example.status or described is None:
            wrong.append(f"{operation.name}: {answer.status} {answer.body[:300]!r}")
        elif absent := [name for name in described.get("headers", ()) if name.lower() not in answer.headers]:
            wrong.append(f"{operation.name}: no {', '.join(absent)}")
        elif answer.headers.get("content-type") == "application/json":
            wrong += [f"{operation.name}: {why}" for why in misfits(world.document, described, answer)]
        expected[operation.name] = (headers["x-request-id"], 0 if operation.reads else 1)
    # What was started is recorded when it has ended.
    await eventually(world.is_idle)

    def recorded() -> bool:
        found = world.actions()
        return all(len(found[id_]) >= number for id_, number in expected.values())

    await eventually(recorded)
    found = world.actions()
    wrong += [f"{name}: {found[id_]}" for name, (id_, number) in expected.items() if len(found[id_]) != number]
    assert not wrong, "\n".join(wrong)


async def test_each_single_record_has_an_etag_and_is_where_the_answer_to_its_creation_says(world: ContractWorld):
    wrong = []
    for operation in operations(world):
        request = await request_of(world, operation)
        if operation.example.streams:
            continue
        path = f"{request.path}?{request.query}" if request.query else request.path
        if operation.method == "GET" and operation.path.endswith("}") and operation.scope:
            answer = await world.client.get(path)
            if not answer.headers.get("etag", "").startswith('"'):
                wrong.append(f"{operation.name}: {answer.headers}")
        elif operation.changes and operation.example.status in {201, 202}:
            answer = await world.client.call(operation.method, path, request.body, headers=request.headers)
            found = await world.client.get(answer.headers.get("location", "/nowhere"))
            if found.status != 200:
                wrong.append(f"{operation.name}: {answer.status} {answer.headers}")
    assert not wrong, "\n".join(wrong)


async def test_no_record_is_changed_or_deleted_that_has_changed_since_it_was_read(world: ContractWorld):
    wrong = []
    for operation in operations(world):
        if operation.method in {"PATCH", "PUT", "DELETE"}:
            path, _, body, headers = await request_of(world, operation)
            stale = {**headers, "if-match": '"stale"'}
            answer = await world.client.call(operation.method, path, body, headers=stale)
            wrong.append(problem_with(operation, answer, 412, "precondition-failed"))
    assert not any(wrong), "\n".join(filter(None, wrong))


async def test_an_etag_that_was_just_read_lets_a_record_be_deleted(world: ContractWorld):
    for kind, path in (("notification", "/api/notifications"), ("spare token", "/api/tokens")):
        record = f"{path}/{await world.made(kind)}"
        etag = (await world.client.get(record)).headers["etag"]
        assert (await world.client.call("DELETE", record, headers={"if-match": etag})).status == 204
        assert (await world.client.get(record)).status == 404


async def test_whatever_sends_runs_or_creates_is_done_once_with_a_key(world: ContractWorld):
    made = await world.made("channel")
    for path, body, media in (
        ("/api/tokens", {"name": world.name(), "scopes": ["read"]}, "application/json"),
        ("/api/chat/attachments", b"hello", "text/plain"),
        (f"/api/msg/test/{made}", {}, "application/json"),
        (f"/api/deliveries/{await world.made('cancelled delivery')}/replay", {}, "application/json"),
    ):
        headers = {"content-type": media, "idempotency-key": f"key of {path}"}
        first = await world.client.call("POST", path, body, headers=headers)
        again = await world.client.call("POST", path, body, headers=headers)
        expected = {**first.json(), **({"token": None} if path == "/api/tokens" else {})}
        assert (again.status, again.headers["idempotent-replayed"], again.json()) == (first.status, "true", expected)


async def test_who_waits_for_a_retry_finds_its_audit_entry(world: ContractWorld):
    run = await world.made("ended run")
    headers = {"x-request-id": "waited-for-it", "prefer": "wait=600"}
    answer = await world.client.call("POST", f"/api/runs/{run}/retry", {}, headers=headers)
    assert (answer.status, answer.headers["preference-applied"]) == (200, "wait=30")
    assert world.actions()["waited-for-it"] == ["cron.execute"]


async def test_curl_makes_each_request_of_the_reference_as_it_stands_there(world: ContractWorld, tmp_path: Path):
    page = (ROOT / "docs" / "reference" / "operations.md").read_text()
    assert PREAMBLE in page
    token = (await world.token("admin", "answer"))["authorization"].partition(" ")[2]
    async with served(world) as address:
        wrong = []
        for operation in operations(world):
            line = curl_of(operation.method, operation.path)
            if f"\n{line}\n" not in page:
                wrong.append(f"{operation.name} has no example")
            made = await world.made(operation.example.made) if operation.example.made else ""
            names = {"TOCSIN": address, "TOKEN": token, variable_of(operation.example.made): made}
            status = await typed(f"{PREAMBLE}\n{line}", names, tmp_path, ends=not operation.example.streams)
            if status != operation.example.status:
                wrong.append(f"{line}: {status}")
    assert not wrong, "\n".join(wrong)


@asynccontextmanager
async def served(world: ContractWorld) -> AsyncIterator[str]:
    """Serve the dashboard on a socket, and return its address."""
    server = uvicorn.Server(uvicorn.Config(world.client.app, http=BoundedProtocol, lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as sock:
        task = asyncio.create_task(server._serve([sock]))  # noqa: SLF001  # without its signal handlers
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        server.should_exit = True
        await task


async def typed(script: str, names: dict[str, str], home: Path, *, ends: bool) -> int:
    """Run a script in which curl tells the status of the answer, and return that; a stream is left soon."""
    limit = "" if ends else "max-time = 0.3\n"
    (home / ".curlrc").write_text(f"write-out = %{{http_code}}\noutput = /dev/null\n{limit}")
    env, pipe = {"PATH": os.environ["PATH"], "CURL_HOME": str(home), **names}, subprocess.PIPE
    shell = await asyncio.create_subprocess_exec("sh", "-c", script, env=env, stdout=pipe, stderr=pipe)
    out, said = await shell.communicate()
    assert shell.returncode == 0 or not ends, (script, said)
    return int(out)


async def test_nobody_gets_in_without_credentials(world: ContractWorld):
    wrong = []
    stranger = replace(world.client, headers={})
    for operation in filter(lambda each: each.scope, operations(world)):
        answer = await stranger.call(operation.method, filled(operation.path, UNKNOWN))
        wrong.append(problem_with(operation, answer, 401, "unauthenticated"))
    assert not any(wrong), "\n".join(filter(None, wrong))


async def test_a_token_without_the_scope_is_refused(world: ContractWorld):
    others = {scope: {*SCOPES} - ({scope} if scope == "answer" else {scope, "admin"}) for scope in SCOPES}
    tokens = {scope: await world.token(*others[scope]) for scope in SCOPES}
    wrong = []
    for operation in filter(lambda each: each.scope, operations(world)):
        path = filled(operation.path, UNKNOWN)
        answer = await world.client.call(operation.method, path, headers=tokens[operation.scope])
        wrong.append(problem_with(operation, answer, 403, "forbidden"))
    assert not any(wrong), "\n".join(filter(None, wrong))


async def test_a_token_that_may_not_read_is_shown_which_record_it_changed_and_no_more(world: ContractWorld):
    tokens = {scope: await world.token(scope) for scope in ("send", "run", "answer")}
    wrong = []
    for operation in operations(world):
        if operation.scope not in tokens or not operation.receipt:
            continue
        path, query, body, headers = await request_of(world, operation)
        answer = await world.client.call(
            operation.method, f"{path}?{query}", body, headers={**headers, **tokens[operation.scope]}
        )
        shown = set(answer.json()) if answer.body else set()
        if answer.status != operation.example.status or shown - set(RecordReceipt.model_fields):
            wrong.append(f"{operation.name}: {answer.status} {answer.body[:200]!r}")
        described = operation.says["responses"][str(answer.status)].get("content", {}).get("application/json", {})
        if answer.body and "RecordReceipt" not in str(described):
            wrong.append(f"{operation.name}: {described}")
    assert not wrong, "\n".join(wrong)


async def test_an_answer_that_is_shown_to_all_callers_holds_no_record_that_others_read(world: ContractWorld):
    read = {name for each in operations(world) if not each.changes for name in schemas_of(each)}
    wrong = [
        each.name
        for each in operations(world)
        if each.scope in {"send", "run", "answer"} and not each.receipt and schemas_of(each) & read
    ]
    assert wrong == []


def schemas_of(operation: Described) -> set[str]:
    """Return the schemas of its answers that are no problems."""
    answers = [answer for status, answer in operation.says["responses"].items() if status < "400"]
    return set(re.findall(r"#/components/schemas/(\w+)", str(answers)))


async def test_only_callers_who_may_read_shorten_an_id(world: ContractWorld):
    wrong, walked = [], set()
    for operation in operations(world):
        record, brace, _ = operation.path.partition("}")
        if operation.scope not in {"send", "run", "answer"} or not brace:
            continue
        made = await world.made(operation.example.made)
        short = made.rpartition("-")[2]
        if short == made or (await world.client.get(filled(record + brace, short))).status != 200:
            continue  # it has a name
        walked.add(record)
        path, header = filled(operation.path, short), await world.token(operation.scope)
        answer = await world.client.call(operation.method, path, operation.example.body, headers=header)
        wrong.append(problem_with(operation, answer, 422, "validation-failed"))
        header = await world.token(operation.scope, "read")
        answer = await world.client.call(operation.method, path, operation.example.body, headers=header)
        if answer.status >= 300:
            wrong.append(f"{operation.name}: {answer.status} {answer.body[:200]!r}")
    assert not any(wrong), "\n".join(filter(None, wrong))
    assert walked >= {f"/api/{name}" for name in ("runs/{run_id", "deliveries/{id", "jobs/{jid", "notifications/{nid")}


async def test_a_refusal_names_no_other_records_to_a_token_that_may_not_read(world: ContractWorld):
    known = [await world.made(kind) for kind in ("cron job", "workflow", "skill", "profile", "watcher", "browser")]
    wrong = []
    for operation in operations(world):
        if operation.scope not in {"send", "run", "answer"} or "{" not in operation.path:
            continue
        path, header = filled(operation.path, UNKNOWN), await world.token(operation.scope)
        answer = await world.client.call(operation.method, path, operation.example.body, headers=header)
        told = [name for name in known if name in answer.json().get("detail", "")]
        if answer.status < 400 or told:
            wrong.append(f"{operation.name}: {answer.status} {answer.body[:300]!r}")
    assert not wrong, "\n".join(wrong)


async def test_no_page_of_another_site_changes_anything(world: ContractWorld):
    wrong = []
    for operation in filter(lambda each: each.changes, operations(world)):
        path = filled(operation.path, UNKNOWN)
        for header in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            answer = await world.client.call(operation.method, path, operation.example.body, headers=header)
            wrong.append(problem_with(operation, answer, 403, "cross-site-request"))
    assert not any(wrong), "\n".join(filter(None, wrong))


async def test_what_there_is_not_is_404_where_that_is_documented(world: ContractWorld):
    wrong = []
    for operation in operations(world):
        if "404" not in operation.says["responses"] and "{" not in operation.path:
            continue
        absent = operation.example.absent or Absent()
        body = operation.example.body if absent.body is None else absent.body
        path = f"{filled(operation.path, UNKNOWN)}?{absent.query}"
        answer = await world.client.call(operation.method, path, body)
        if "404" not in operation.says["responses"]:
            if str(answer.status) not in operation.says["responses"]:
                wrong.append(f"{operation.name}: {answer.status}")
        elif answer.headers["content-type"] == "application/json":  # a send result
            described = operation.says["responses"]["404"]
            if (answer.status, answer.json()["ok"]) != (404, False) or "application/json" not in described["content"]:
                wrong.append(f"{operation.name}: {answer.status} {answer.body[:200]!r}")
        else:
            wrong.append(problem_with(operation, answer, 404, "not-found"))
    assert not any(wrong), "\n".join(filter(None, wrong))


async def test_unknown_keys_and_query_parameters_are_refused(world: ContractWorld):
    wrong = []
    for operation in operations(world):
        path, _, body, headers = await request_of(world, operation)
        answer = await world.client.call(operation.method, f"{path}?nobody_has_this=1", body, headers=headers)
        wrong.append(problem_with(operation, answer, 422, "validation-failed"))
        if answer.status == 422:
            wrong += _without_error(operation, answer, "unknown-parameter")
        if operation.changes and operation.takes_json:
            answer = await world.client.call(operation.method, path, {"nobody_has_this": 1})
            wrong.append(problem_with(operation, answer, 422, "validation-failed"))
            wrong += _without_error(operation, answer, "unknown-key")
    assert not any(wrong), "\n".join(filter(None, wrong))


def _without_error(operation: Described, answer: DashboardAnswer, code: str) -> list[str]:
    found = [error["code"] for error in answer.json().get("errors", [])]
    return [] if code in found else [f"{operation.name}: {found}"]


async def test_a_whole_number_may_be_written_with_a_zero_fraction(world: ContractWorld):
    async def refused(operation: Described, body: Any) -> list[str | None]:
        path = (await request_of(world, operation)).path
        answer = await world.client.call(operation.method, path, {**body, "nobody_has_this": 1})  # so nothing is done
        return [error.get("pointer") for error in answer.json()["errors"]]

    fields = [(each, name) for each in operations(world) for name in whole_numbers_of(world.document, each.says)]
    assert {"timeout_seconds", "exit_code"} <= {name for _, name in fields}
    for operation, name in fields:
        assert await refused(operation, {name: 5.0}) == await refused(operation, {name: 5}), (operation.name, name)
        assert f"#/{name}" in await refused(operation, {name: 5.5}), (operation.name, name)


async def test_bodies_that_cannot_be_read_are_refused(world: ContractWorld):
    wrong = []
    large = b'"' + b"a" * (1 << 20) + b'"'
    for operation in operations(world):
        if not operation.changes:
            continue
        path = filled(operation.path, UNKNOWN)
        for body, headers, status, code in (
            (b"a=1", {"content-type": "application/x-nothing"}, 415, "unsupported-media-type"),
            (b"{}", {}, 415, "unsupported-media-type"),
            (large, JSON, 413, "payload-too-large"),
            (b"{", JSON, 400, "invalid-request"),
        ):
            if operation.takes_json or headers != JSON or status != 400:
                answer = await world.client.call(operation.method, path, body, headers=headers)
                wrong.append(problem_with(operation, answer, status, code))
    assert not any(wrong), "\n".join(filter(None, wrong))


async def test_a_method_that_a_path_has_not_is_405_with_those_that_it_has(world: ContractWorld):
    wrong = []
    for path in world.document["paths"]:
        asked = filled(path, UNKNOWN)
        allowed = (await world.client.call("OPTIONS", asked)).headers["allow"]
        method = next(each for each in ("PUT", "PATCH", "DELETE", "POST") if each not in allowed)
        answer = await world.client.call(method, asked, {})
        if (answer.status, answer.headers.get("allow")) != (405, allowed):
            wrong.append(f"{method} {path}: {answer.status} {answer.body[:200]!r}")
        elif answer.json()["code"] != "method-not-allowed":
            wrong.append(f"{method} {path}: {json.dumps(answer.json())}")
    assert not wrong, "\n".join(wrong)
