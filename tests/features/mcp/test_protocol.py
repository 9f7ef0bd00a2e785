"""Both eras of the protocol over HTTP, and malformed messages."""

import base64
import json
import random
from collections.abc import Iterator

import pytest

ALSO = "2026-07-28"


async def test_a_modern_client_discovers_lists_and_calls(agent):
    status, found = await agent.ask_modern("server/discover")
    assert status == 200
    assert found["result"]["supportedVersions"][0] == ALSO
    assert found["result"]["resultType"] == "complete"
    assert found["result"]["cacheScope"] == "private"
    listed = (await agent.ask_modern("tools/list"))[1]["result"]
    assert listed["ttlMs"] > 0
    assert "io.modelcontextprotocol/serverInfo" in listed["_meta"]
    called = (await agent.ask_modern("tools/call", {"name": "get_status", "arguments": {}}))[1]["result"]
    assert called["resultType"] == "complete"
    assert called["structuredContent"]["untrusted"] is True


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
async def test_a_client_with_initialize_gets_its_version(agent, version):
    status, found = await agent.ask("initialize", {"protocolVersion": version})
    assert status == 200
    assert found["result"]["protocolVersion"] == version
    assert (await agent.ask("ping", mcp_protocol_version=version))[1]["result"] == {}
    assert (await agent.ask("tools/list", mcp_protocol_version=version))[0] == 200


async def test_an_unknown_version_is_offered_the_newest_with_initialize(agent):
    assert (await agent.ask("initialize", {"protocolVersion": "1"}))[1]["result"]["protocolVersion"] == "2025-11-25"


async def test_a_notification_has_no_response(agent):
    answer = await agent.client.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_is_no_stream_and_no_session(agent, method):
    assert (await agent.client.call(method, "/mcp")).status == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_method": "tools/list"},
        {"mcp_name": "list_runs"},
        {"mcp_name": "=?base64?!?="},
        {"mcp_name": "=?base64?/w==?="},
    ],
)
async def test_headers_that_contradict_the_body_are_refused(agent, headers):
    status, found = await agent.ask_modern("tools/call", {"name": "get_status", "arguments": {}}, **headers)
    assert (status, found["error"]["code"]) == (400, -32020)


async def test_a_name_in_a_header_may_be_base64(agent):
    name = f"=?base64?{base64.b64encode(b'get_status').decode()}?="
    status, _ = await agent.ask_modern("tools/call", {"name": "get_status", "arguments": {}}, mcp_name=name)
    assert status == 200


async def test_an_unknown_version_names_those_that_are_supported(agent):
    status, found = await agent.ask_modern("tools/list", version="2030-01-01")
    assert (status, found["error"]["code"]) == (400, -32022)
    assert ALSO in found["error"]["data"]["supported"]
    status, found = await agent.ask("tools/list", mcp_protocol_version="1999-01-01")
    assert (status, found["error"]["code"]) == (400, -32022)


async def test_an_unknown_method_is_not_found(agent):
    status, found = await agent.ask_modern("resources/list")
    assert (status, found["error"]["code"]) == (404, -32601)
    status, found = await agent.ask("resources/list")
    assert (status, found["error"]["code"]) == (200, -32601)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"a":' * 100 + b"1" + b"}" * 100, -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'"ping"', -32600),
    ],
)
async def test_malformed_messages_are_refused(agent, body, code):
    answer = await agent.client.call("POST", "/mcp", body, headers={"content-type": "application/json"})
    assert answer.status == 400
    assert answer.json()["error"]["code"] == code


async def test_params_that_are_no_object_are_invalid(agent):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]}
    assert (await agent.client.post("/mcp", body)).json()["error"]["code"] == -32602


async def test_a_message_over_a_mebibyte_is_refused(agent):
    assert (await agent.client.post("/mcp", {"text": "x" * 1_048_577})).status == 413


async def test_another_media_type_is_refused(agent):
    assert (await agent.client.call("POST", "/mcp", b"{}", headers={"content-type": "text/plain"})).status == 415


async def test_a_token_in_the_query_is_refused(agent):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = await agent.client.post("/mcp?token=tcs_x", body)
    assert answer.status == 400
    assert "header" in answer.json()["detail"]
    agent.client.login = ""
    answer = await agent.client.post("/mcp?token=tcs_x", body)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


async def test_a_page_of_another_site_is_refused_with_and_without_a_token(agent):
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await agent.client.post("/mcp", body, origin="http://127.0.0.1:8200")).status == 200
    for login in ("token", ""):
        agent.client.login = login
        for origin in ("https://evil.example", "null"):
            assert (await agent.client.post("/mcp", body, origin=origin)).status == 403


@pytest.mark.parametrize("login", ["basic", "session"])
async def test_only_tokens_are_accepted(agent, login):
    agent.client.login = login
    answer = await agent.client.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, authorization="Bearer x")
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_client_that_disconnects_leaves_no_call_behind(agent):
    agent.client.leaves = True
    for _ in range(20):
        await agent.call("list_runs")
    agent.client.leaves = False
    assert not (await agent.call("list_runs"))["isError"]


def _fuzzed(chance):
    """Return the text of a message that is nearly one of the protocol."""
    values = [None, True, -1, 1e308, "", "x" * 300, "\ud800", [], {}, [{}], {"name": "get_status"}, "\0", 2**70]
    meta = {
        "io.modelcontextprotocol/protocolVersion": chance.choice([ALSO, "2025-11-25", *values]),
        "io.modelcontextprotocol/clientCapabilities": chance.choice([{}, *values]),
    }
    arguments = {chance.choice(["run_id", "limit", "q", "name", "message"]): chance.choice(values)}
    params = {
        "name": chance.choice(["get_status", "list_runs", "read_run_log", "notify", *values]),
        "arguments": chance.choice([arguments, *values]),
        "_meta": chance.choice([meta, *values]),
    }
    methods = ["tools/call", "tools/list", "server/discover", "initialize", "ping", "notifications/x", *values]
    message = {
        "jsonrpc": chance.choice(["2.0", "2.0", "2.0", *values]),
        "id": chance.choice([1, "a", *values]),
        "method": chance.choice(methods),
        "params": chance.choice([params, params, params, *values]),
    }
    for key in chance.sample(sorted(message), chance.choice([0, 0, 1, 2])):
        del message[key]
    text = bytearray(json.dumps(message).encode())
    for _ in range(chance.choice([0, 0, 0, 1, 3])):
        text[chance.randrange(len(text))] = chance.randrange(256)
    return bytes(text)


def fuzzed(count: int) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Yield malformed messages, each with the headers that it is sent with."""
    chance = random.Random(31)
    for _ in range(count):
        body, headers = _fuzzed(chance), {}
        if chance.random() < 0.3:
            headers = {"mcp-protocol-version": chance.choice([ALSO, "2025-11-25", "x"]), "mcp-method": "tools/call"}
        yield body, headers


async def test_fuzzed_messages_never_fail_the_server(agent):
    for body, headers in fuzzed(1_000):
        answer = await agent.client.call("POST", "/mcp", body, headers={"content-type": "application/json", **headers})
        assert answer.status < 500, body
        assert not answer.body or isinstance(answer.json(), dict)
