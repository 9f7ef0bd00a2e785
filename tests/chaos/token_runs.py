"""What doors must never show: the token of a door in what the product writes and errors."""

import asyncio
import json
from collections.abc import Sequence
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any

from tests.chaos.clients import Connection
from tests.chaos.door_runs import DoorHouse, _connected
from tests.chaos.figures import Figure, none_of
from tests.chaos.processes import Child, wait_for

from tocsin.features.doors.protocols.catalogue import PROTOCOLS

_BROKEN = (b"{", b"\xff\xfe", b"[" * 200, b"")


def search_tokens(place: Path, *, size: int) -> list[Figure]:
    """Send good and bad requests with tokens until what the product writes has `size` bytes, and search it.

    That is logs, audit, metrics, errors and the database.
    """
    house = DoorHouse(place / "tokens")
    house.env |= {"LOG_LEVEL": "debug", "RATE_LIMIT_PER_IP": "1000000"}
    names = sorted(name for name, protocol in PROTOCOLS.items() if protocol.routes)
    addresses = [house.add(name, name) for name in names]
    (house.home / "profiles.yaml").write_text("")  # so that each message is refused, with a line in the log
    secrets = {secret for each in addresses for secret in _secrets(each)}
    with house.gateway() as child:
        written = asyncio.run(_send(house, addresses, child, size))
        wait_for("all requests are processed", lambda: not house.waiting(), every_s=0.5)
    # The write-ahead log is searched, but not counted while it grows: its pages move to the database.
    written += b"".join(path.read_bytes() for path in (*_files(house), *house.home.glob("tocsin.db-wal")))
    found = [each["protocol"] for each in addresses if any(one.encode() in written for one in _secrets(each))]
    return [
        Figure("bytes of logs, audit, metrics, errors and the database", len(written), "≥", size),
        Figure("… tokens of doors, in all their spellings", len(secrets)),
        none_of("… of the protocols whose token was found there", found),
    ]


def _secrets(address: dict[str, Any]) -> Sequence[str]:
    return PROTOCOLS[address["protocol"]].secrets_in(address["token"])


def _files(house: DoorHouse) -> list[Path]:
    return [path for path in house.home.iterdir() if path.name in {"gateway.log", "audit.log", "tocsin.db"}]


async def _send(house: DoorHouse, addresses: list[dict[str, Any]], child: Child, size: int) -> bytes:
    """Send until there is enough; return the errors and the metrics."""
    errors, connection = bytearray(), await _connected(house.port)
    for n in count():
        for address in addresses:
            for request in _requests(address, n):
                child.must_live()
                try:
                    status, body = await connection.ask(request)
                    errors += body if status >= HTTPStatus.BAD_REQUEST else b""  # others repeat what they got
                except OSError:  # some answers end the connection
                    connection = await _connected(house.port)
        if len(errors) + sum(path.stat().st_size for path in _files(house)) >= size:
            break
    connection.transport.abort()
    gateway: Connection = (
        await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", int(house.env["GATEWAY_PORT"]))
    )[1]
    _, metrics = await gateway.ask(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    gateway.transport.abort()
    return bytes(errors + metrics)


def _requests(address: dict[str, Any], n: int) -> list[bytes]:
    """Return requests with a token where senders of its protocol have it, and where none should."""
    token, path = address["token"], address["url"].removeprefix(address["base_url"])
    event = {"topic": address["name"], "routing_key": token, "event_action": "trigger", "title": f"event {n}"}
    event |= {"message": f"m {n} {token}", "body": "b", "text": f"t {token}", "content": "c"}
    good = json.dumps({**event, "payload": {"summary": f"s {token}", "source": "s", "severity": "info"}}).encode()
    login = f"Authorization: Bearer {token}\r\nX-Gotify-Key: {token}\r\n"
    places = [(path, ""), (f"/message?token={token}", ""), ("/api/v2/alerts", login), (f"/{token}/{token}/x", login)]
    places += [("/", login), (f"/in/{token}x?a={token}", ""), ("/v2/alerts", f"Authorization: GenieKey {token}\r\n")]
    bodies = (good, _BROKEN[n % len(_BROKEN)])
    return [_request(at, headers, body) for at, headers in places for body in bodies]


def _request(path: str, headers: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
