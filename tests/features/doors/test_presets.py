"""Presets: what becomes of what products send."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import yaml
from starlette.routing import compile_path

from tocsin.core.time.timestamps import parse_timestamp
from tocsin.features.doors.model import Door, DoorDefinition, DoorMessage, DoorRequest
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.receiving.bodies import media_type
from tocsin.features.doors.receiving.files import FORM, in_blocks, take_body
from tocsin.features.doors.rules.file import preset_names, preset_rules
from tocsin.features.doors.rules.rendering import RenderedMessage, render

HERE = Path(__file__).parent
PRODUCTS = yaml.safe_load((HERE / "products.yaml").read_text())
PUBLISHED = yaml.safe_load((HERE / "published.yaml").read_text())
PAYLOADS = Path(__file__).parents[4] / "shared" / "front-door" / "payloads"


def rendered(preset: str, payload: Any, headers: dict[str, str] | None = None) -> RenderedMessage:
    door = Door(id="1", name="door", definition=DoorDefinition(preset=preset, profile="oncall"))
    request = DoorRequest(headers={name.lower(): value for name, value in (headers or {}).items()})
    rules = preset_rules(preset) if preset else ()
    return render(door, request, DoorMessage(payload=payload), rules)


@pytest.mark.parametrize("case", PRODUCTS, ids=[case["name"] for case in PRODUCTS])
def test_an_event_of_a_product_becomes_its_message(case: dict[str, Any]):
    found = rendered(case.get("preset", ""), case["payload"], case.get("headers"))

    if case.get("drop"):
        assert found.drop
        return
    told = {name: str(getattr(found, name)) for name in ("title", "text", "severity", "key", "link", "note")}
    wanted = {name: case.get(name, "") for name in told}
    assert told == wanted


@pytest.mark.skipif(not PAYLOADS.exists(), reason="the published payloads are not here")
@pytest.mark.parametrize("case", PUBLISHED, ids=[case["file"] for case in PUBLISHED])
def test_a_published_payload_becomes_its_message(case: dict[str, Any]):
    text = (PAYLOADS / case["file"]).read_text()
    names: list[str] = []
    if "protocol" in case:
        found, names = by_protocol(case, text)
    else:
        found = rendered(case["preset"], json.loads(text), case.get("headers"))

    told = {name: str(getattr(found, name)) for name in ("title", "severity", "key", "link", "note")}
    assert (told, names) == ({name: case.get(name, "") for name in told}, case.get("files", []))


@pytest.mark.skipif(not PAYLOADS.exists(), reason="the published payloads are not here")
def test_the_table_has_every_published_payload_of_a_door():
    of_heartbeats = {"healthchecks-ping_fail.json"}  # answered on /ping/, by another feature
    assert {each.name for each in PAYLOADS.glob("*.json")} - {case["file"] for case in PUBLISHED} == of_heartbeats


class KeptFiles:
    """Takes files without storing them."""

    max_bytes = 1024 * 1024

    async def add_part(self, name: str, kind: str, blocks: AsyncGenerator[bytes], left: int, /) -> Mapping[str, Any]:
        return {"name": name, "type": kind, "hash": "0" * 64, "size": len(b"".join([each async for each in blocks]))}


def by_protocol(case: dict[str, Any], text: str) -> tuple[RenderedMessage, list[str]]:
    """Return the message of a body, or of a request as it was recorded, and the names of its files."""
    protocol, at = PROTOCOLS[case["protocol"]], parse_timestamp(case.get("at", "2026-11-23T14:00:00Z"))
    request = DoorRequest(route=case.get("route", ""), body=text.encode(), at=at)
    recorded = json.loads(text)
    if isinstance(recorded, dict) and {"method", "path", "body"} <= recorded.keys():
        path, _, query = recorded["path"].partition("?")
        headers = {name.lower(): value for name, value in recorded["headers"].items()}
        route = next(each.path for each in protocol.routes if compile_path(each.path)[0].match(path))
        body = recorded["body"].encode()
        request = DoorRequest(route=route, query=dict(parse_qsl(query)), headers=headers, body=body, at=at)
    name = protocol.file_name(request)
    if name is not None or media_type(request) == FORM:
        taken = asyncio.run(take_body(in_blocks(request.body), request, name, KeptFiles()))
        assert isinstance(taken, DoorRequest)
        request = taken
    [message] = protocol.read(request)
    door = Door(id="1", name="door", definition=DoorDefinition(protocol=protocol.name, profile="oncall"))
    files = [*(each["name"] for each in request.files), *(each.name for each in message.files)]
    return render(door, request, message), files


def test_every_preset_is_tested_and_names_its_product():
    tested = {case.get("preset", "") for case in PRODUCTS}
    files = {preset_rules(name) is not None and name for name in preset_names()}
    shared = {"lidarr", "forgejo", "overseerr", "kuma"}

    assert files - tested - shared == set()


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("payload", [None, "", "text", 1, [], {}, {"alerts": "x", "commits": {}, "event": []}])
def test_no_payload_makes_a_preset_fail(name: str, payload: Any):
    found = rendered(name, payload)

    assert found.note == ""
    assert found.drop or found.title or found.text
