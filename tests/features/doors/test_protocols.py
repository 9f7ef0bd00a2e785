"""What every protocol promises, whatever its senders send."""

import itertools
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.features.doors.conftest import TEST, FrontBench, gzip_bomb, open_front

from tocsin.channels.content import read_content
from tocsin.features.doors.model import Door, DoorAddress, DoorDefinition, DoorRequest
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.protocols.protocol import BadRequestError, Refusal, RefusalReason, StoredReceipt
from tocsin.features.doors.rules.rendering import render

Header = tuple[str, str]
Place = tuple[str, tuple[Header, ...]]
AUTHORIZED: Mapping[str, Callable[[DoorAddress], Place]] = {
    "webhook": lambda address: (path_of(address.url, address), ()),
    "alertmanager": lambda address: ("/api/v2/alerts", (("Authorization", f"Bearer {address.token}"),)),
    "apprise": lambda address: (path_of(address.url, address), ()),
    "discord": lambda address: (path_of(address.url, address), ()),
    "gotify": lambda address: ("/message", (("X-Gotify-Key", address.token),)),
    "ntfy": lambda address: ("/", (("Authorization", f"Bearer {address.token}"),)),
    "opsgenie": lambda address: ("/v2/alerts", (("Authorization", f"GenieKey {address.token}"),)),
    "pagerduty": lambda address: ("/v2/enqueue", ()),
    "slack": lambda address: (path_of(address.services_url, address), ()),
}
# All protocols but mail, which comes to a port of its own: see tests/features/doors/mail.
OVER_HTTP = sorted(name for name, protocol in PROTOCOLS.items() if protocol.routes)
MAIN = {
    "/api/v2/alerts",
    "/notify",
    "/message",
    "/",
    "/v2/alerts",
    "/v2/enqueue",
    "/services/{token:path}",
}
# Fields of all protocols, each of which gets each of the values.
FIELDS = (
    *("text", "blocks", "attachments", "title", "body", "type", "format", "tag", "attach", "message", "priority"),
    *("tags", "actions", "click", "extras", "content", "embeds", "components", "flags", "files", "payload", "links"),
    *("images", "dedup_key", "event_action", "client_url", "alias", "details", "description", "source", "delay"),
    *("sequence_id", "filename", "markdown", "color", "labels", "annotations", "endsAt"),
)
INNER = {name: {name: [None, {"text": 5}, "x"]} for name in FIELDS}
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "\x00\ud800 <@1> <!x",
    [],
    [1, None, "x", []],
    {},
    INNER,
    [INNER],
)


def path_of(url: str, address: DoorAddress) -> str:
    return url.removeprefix(address.base_url)


def documents(token: str, *, every_list: bool) -> list[Any]:
    """Return documents with one field of another type; those in a list are a third, unless the protocol takes lists."""
    base: dict[str, Any] = {"topic": "alerts", "message": "m", "text": "t", "body": "b", "labels": {"alertname": "a"}}
    event = {"summary": "s", "source": "s", "severity": "info"}
    base |= {"routing_key": token, "event_action": "trigger", "payload": event}
    changed = [{**base, name: value} for name, value in itertools.product(FIELDS, VALUES)]
    changed += [{**base, "payload": {**event, name: value}} for name in ("custom_details", "class") for value in VALUES]
    listed = changed if every_list else changed[::3]
    return [base, *changed, *([each] for each in listed), "text", 5, None, [], [[]], [None]]


@pytest.mark.parametrize(
    ("protocol", "route"), [(p.name, route.path) for p in PROTOCOLS.values() for route in p.routes]
)
def test_no_document_breaks_a_protocol(protocol: str, route: str):
    spoken, door = PROTOCOLS[protocol], Door(id="1", name="d", definition=DoorDefinition(protocol=protocol))
    read, statuses = 0, set[int]()
    for document in documents("a-token", every_list=protocol == "alertmanager"):
        request = DoorRequest(route=route, body=json.dumps(document).encode(), at=1_700_000_000.0)
        try:
            messages = spoken.read(request)
        except BadRequestError as error:
            statuses.add(spoken.refused(Refusal(RefusalReason.BAD_REQUEST, str(error), error)).status)
            continue
        if messages:
            answer = spoken.accepted(StoredReceipt(request, 1, messages, "d"))
            assert answer.status == spoken.accepted_status(request, messages)
        for message in messages:
            found = render(door, request, message)
            read += 1
            assert found.title or found.text
            read_content({"title": found.title, "click": found.link, **found.content})
    assert statuses <= {400, 413, 422}
    assert read or route not in MAIN


@pytest.mark.parametrize("protocol", OVER_HTTP)
async def test_no_body_breaks_a_protocol(front: FrontBench, protocol: str):
    path, headers = AUTHORIZED[protocol](await front.add(protocol=protocol))
    bodies: Mapping[str, tuple[bytes, Header]] = {
        "charset": (b"\xff\xfe\x00", ("Content-Type", "application/json; charset=utf-16")),
        "gzip": (b"\x1f\x8b broken", ("Content-Encoding", "gzip")),
        "bomb": (gzip_bomb(), ("Content-Encoding", "gzip")),
        "br": (b"{}", ("Content-Encoding", "br")),
        "multipart": (b"--x\r\nbroken", ("Content-Type", "multipart/form-data; boundary=x")),
        "form": (b"a=1&" * 5_000, ("Content-Type", "application/x-www-form-urlencoded")),
        "deep": (b"[" * 100_000, ("Content-Type", "application/json")),
    }

    statuses = {
        name: (await front.post(path, body, *headers, header)).status for name, (body, header) in bodies.items()
    }

    assert set(statuses.values()) <= {200, 202, 204, 400, 413, 415, 422, 431}, statuses
    await front.work()


@pytest.mark.parametrize("protocol", OVER_HTTP)
async def test_beyond_the_limit_of_refusals_a_protocol_answers_503_in_its_own_shape(tmp_path: Path, protocol: str):
    """Alertmanager and others give up after a 429."""
    async with open_front(tmp_path, {"RATE_LIMIT_PER_IP": "1"}) as front:
        address = await front.add(protocol=protocol)
        path, headers = AUTHORIZED[protocol](address)
        wrong = {"topic": "alerts", "routing_key": address.token}
        await front.doors.remove(address.name, TEST)

        first, second = [await front.post(path, wrong, *headers) for _ in range(2)]

    assert (first.status // 100, second.status, second.header("retry-after")) == (4, 503, "30")
    assert second.header("content-type") == first.header("content-type")
    if "json" in first.header("content-type"):
        assert type(second.json()) is type(first.json())
        assert isinstance(first.json(), str) or second.json().keys() == first.json().keys()


@pytest.mark.parametrize("protocol", OVER_HTTP)
async def test_what_cannot_be_stored_is_answered_with_503_in_the_shape_of_a_protocol(front: FrontBench, protocol: str):
    address = await front.add(protocol=protocol)
    path, headers = AUTHORIZED[protocol](address)
    await front.bench.app.stores.database.aclose()

    answer = await front.post(path, {"topic": "alerts", "routing_key": address.token, "text": "t"}, *headers)

    refused = PROTOCOLS[protocol].refused(Refusal(RefusalReason.UNAVAILABLE, "the request cannot be stored now"))
    assert (answer.status, answer.header("retry-after")) == (503, "30")
    assert answer.header("content-type") == refused.media_type


@pytest.mark.parametrize("protocol", OVER_HTTP)
async def test_a_token_is_stored_as_its_hash_alone(front: FrontBench, protocol: str):
    address = await front.add(protocol=protocol)
    path, headers = AUTHORIZED[protocol](address)
    document = {
        "topic": "alerts",
        "routing_key": address.token,
        "message": f"m {address.token}",
        "text": "t",
        "body": "b",
    }
    await front.post(path, document, *headers)

    def everything(connection: sqlite3.Connection) -> str:
        tables = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'door%'")
        ]
        return str([tuple(row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")])

    for _ in range(2):  # before and after the worker
        assert address.token not in await front.bench.app.stores.database.read(everything)
        await front.work()


def test_every_protocol_is_tested():
    assert sorted(AUTHORIZED) == OVER_HTTP
