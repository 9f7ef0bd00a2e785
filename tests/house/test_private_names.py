"""Names that a library does not document stand in one module, and a release that changes them fails here."""

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, Query
from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError
from starlette.routing import compile_path
from tests.house.source import SOURCE, source_files
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

TOCSIN = Path("tocsin")
# The modules of a library that any module may import, and the one module that may import all others.
LIBRARIES = {
    "uvicorn": ({"uvicorn"}, "web/http/protocol.py"),
    "redis": (
        {
            "redis",
            "redis.asyncio.client",
            "redis.asyncio.retry",
            "redis.asyncio.sentinel",
            "redis.backoff",
            "redis.exceptions",
        },
        "core/storage/redis_routes.py",
    ),
    "fastapi": (
        {"fastapi", "fastapi.exceptions", "fastapi.openapi.utils", "fastapi.responses", "fastapi.routing"},
        "rest/operations.py",
    ),
    "starlette": (
        {f"starlette.{name}" for name in ("applications", "exceptions", "requests", "responses", "routing", "types")},
        "rest/operations.py",
    ),
}
# Attributes of routes that FastAPI does not document.
OF_ROUTES = ("dependant", "body_field", "field_info", "path_regex", "path_format", "param_convertors", "query_params")


@pytest.mark.parametrize("library", LIBRARIES)
def test_modules_that_a_library_does_not_document_are_imported_by_one_module(library: str):
    documented, only = LIBRARIES[library]
    found = {
        f"{file.path}:{line}: {name}"
        for file in source_files()
        if file.path != TOCSIN / only
        for line, name in file.imports
        if name.split(".")[0] == library and not {name, name.rpartition(".")[0]} & documented
    }
    assert found == set()


def test_attributes_of_routes_that_fastapi_does_not_document_are_read_in_one_module():
    attribute = re.compile(rf"\.({'|'.join(set(OF_ROUTES) - {'query_params'})})\b")  # requests have query_params, too
    found = {
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if attribute.search(path.read_text("utf-8"))
    }
    assert found == {str(TOCSIN / LIBRARIES["fastapi"][1])}


def parameters(method: Any) -> list[str]:
    return [name for name in inspect.signature(method).parameters if name != "self"]


def assigned(kind: type) -> set[str]:
    """Return the attributes that the initialiser of a class sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind.__init__)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }


def test_uvicorn_s_protocol_has_the_names_that_ours_overrides_and_reads():
    expected = {
        "connection_made": ["transport"],
        "connection_lost": ["exc"],
        "data_received": ["data"],
        "on_message_begin": [],
        "on_header": ["name", "value"],
        "on_headers_complete": [],
        "on_body": ["body"],
        "on_message_complete": [],
        "on_response_complete": [],
        "send_400_response": ["msg"],
        "timeout_keep_alive_handler": [],
        "_start_asgi_task": ["cycle", "app"],
        "_unset_keepalive_if_required": [],
    }
    assert {name: parameters(getattr(HttpToolsProtocol, name)) for name in expected} == expected
    read = {"loop", "parser", "client", "transport", "cycle", "pipeline", "scope", "headers", "expect_100_continue"}
    read |= {"server_state", "flow", "timeout_keep_alive", "timeout_keep_alive_task"}
    assert read <= assigned(HttpToolsProtocol)


def test_uvicorn_s_cycle_of_a_request_has_the_names_that_whole_answers_use():
    read = {"scope", "transport", "flow", "default_headers", "message_event", "on_response", "keep_alive", "more_body"}
    read |= {"disconnected", "waiting_for_100_continue", "response_started", "response_complete"}
    assert read <= assigned(RequestResponseCycle)
    assert parameters(RequestResponseCycle.send) == ["message"]


def test_redis_py_s_connection_has_the_names_that_our_links_use():
    expected = {
        "connect": [],
        "can_read": [],
        "pack_command": ["args"],
        "pack_commands": ["commands"],
    }
    assert {name: parameters(getattr(AbstractConnection, name)) for name in expected} == expected
    assert "nowait" in parameters(AbstractConnection.disconnect)
    assert "check_health" in parameters(AbstractConnection.send_packed_command)
    assert isinstance(AbstractConnection.is_connected, property)
    assert "while writing" in inspect.getsource(AbstractConnection.send_packed_command)
    options = {"protocol": 2, "socket_timeout": None, "socket_connect_timeout": 1, "driver_info": None}
    assert Connection(**options, **parse_url("redis://host:1/2")).db == 2
    assert key_slot(b"{a}b") == key_slot(b"a")
    assert {(error("1 host:2").host, error("1 host:2").port) for error in (AskError, MovedError)} == {("host", 2)}


def test_fastapi_s_routes_have_the_names_that_operations_set_and_read():
    router = APIRouter()

    @router.post("/a/{b}")
    async def answer(b: str, body: dict[str, int], c: list[str] = Query(alias="d")) -> None:  # noqa: B008
        """Do nothing."""

    [route] = router.routes
    assert [name for name in OF_ROUTES if not hasattr(route, name)] == ["field_info", "query_params"]
    assert route.body_field.field_info.annotation == dict[str, int]
    [parameter] = route.dependant.query_params
    assert (parameter.alias, parameter.field_info.annotation, route.dependant.dependencies) == ("d", list[str], [])
    assert (route.path_regex, route.path_format, route.param_convertors) == compile_path("/a/{b}")
    assert parameters(type(route).get_route_handler) == []
