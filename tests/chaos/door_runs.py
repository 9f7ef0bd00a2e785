"""What doors must show at full size: no accepted request is lost, and durable answers come in time."""

import asyncio
import json
import random
import re
import time
from itertools import count
from pathlib import Path
from typing import Any

from tests.chaos.clients import Connection
from tests.chaos.figures import Figure, none_of, percentile
from tests.chaos.gateway_home import GatewayHome
from tests.chaos.processes import wait_for

SEED = 20_261_128
CONNECTIONS = 64
AIM_MS = 120
SENDERS = 16  # at once, while the gateway is killed
_PROFILES = "oncall: [{channel: email, target: ops@example.org}]\n"
_RECONNECT_S = 0.02
_FURTHER_S = 0.2  # until the kill, once enough was accepted


class DoorHouse(GatewayHome):
    """A gateway with one door; its messages stay in the queue."""

    def __init__(self, home: Path) -> None:
        account = {"SMTP_HOST": "127.0.0.1", "SMTP_USER": "tocsin@example.org", "SMTP_PASS": "none"}
        super().__init__(home, DELIVERY_WORKERS="0", **account)
        (home / "profiles.yaml").write_text(_PROFILES)
        self.path = "/in/" + self.add("alerts")["token"]

    def add(self, name: str, protocol: str = "webhook") -> dict[str, Any]:
        """Add a door, and return its address."""
        return self.run("doors", "add", name, "--protocol", protocol, "--profile", "oncall", "--rate", "1000000")

    def waiting(self) -> int:
        """Return how many requests are stored and not processed."""
        return int(self.read("SELECT COUNT(*) FROM door_requests WHERE state = 'stored'")[0][0])

    def request(self, name: str) -> bytes:
        """Return a request about an event with this name."""
        event = {"title": name, "text": "/srv has 91 % used.", "severity": "warning", "host": {"name": "nas", "id": 7}}
        body = json.dumps(event).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def survive_kills(place: Path, *, kills: int, accepted: int) -> list[Figure]:
    """Kill the gateway while requests arrive; each one that was answered with 200 must be in the queue in the end."""
    house, chance = DoorHouse(place / "kills"), random.Random(SEED)
    answered, refused = asyncio.run(_send_through_kills(house, kills, accepted, chance))
    with house.gateway():
        wait_for("all requests are processed", lambda: not house.waiting(), every_s=0.5)
    queued = [re.search(r"event \d+", extra) for (extra,) in house.read("SELECT extra FROM deliveries")]
    names = [found[0] for found in queued if found]
    return [
        Figure("kills of the gateway", kills),
        Figure("… requests answered with 200", len(answered), "≥", accepted),
        none_of("… of these lost", answered - set(names)),
        Figure("… queued twice", len(names) - len(set(names)), "=", 0),
        Figure("… refused", refused, "=", 0),
    ]


async def _send_through_kills(house: DoorHouse, kills: int, wanted: int, chance: random.Random) -> tuple[set[str], int]:
    """Send requests until there were `kills` kills and `wanted` of them were accepted."""
    names, answered, refused, is_over = count(), set[str](), list[int](), asyncio.Event()

    async def send() -> None:
        while not is_over.is_set():
            connection = await _connected(house.port)
            try:
                while not is_over.is_set():
                    name = f"event {next(names)}"
                    status, _ = await connection.ask(house.request(name))
                    answered.add(name) if status == 200 else refused.append(status)
            except OSError:  # killed: without an answer, nothing is promised
                await asyncio.sleep(_RECONNECT_S)
            finally:
                connection.transport.abort()

    senders = [asyncio.create_task(send()) for _ in range(SENDERS)]
    for n in range(1, kills + 1):
        before = len(answered)
        with house.gateway() as child:
            while len(answered) < max(before + 1, wanted * n // kills):
                child.must_live()
                await asyncio.sleep(_RECONNECT_S)
            await asyncio.sleep(chance.uniform(0, _FURTHER_S))
            child.kill()
    is_over.set()
    for sender in senders:
        sender.cancel()
    await asyncio.gather(*senders, return_exceptions=True)
    return answered, len(refused)


async def _connected(port: int) -> Connection:
    while True:
        try:
            return (await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port))[1]
        except OSError:
            await asyncio.sleep(_RECONNECT_S)


def answer_many(place: Path, *, seconds: float) -> list[Figure]:
    """Send from 64 connections without a pause; each answer means that the request is on disk."""
    house = DoorHouse(place / "many")
    with house.gateway():
        times, wrong, lasted = asyncio.run(_send_for(house, seconds))
        waiting, began = house.waiting(), time.monotonic()
        wait_for("all requests are processed", lambda: not house.waiting(), every_s=0.1)
        caught_up_s = time.monotonic() - began
    return [
        Figure(f"durable answers to {CONNECTIONS} connections", len(times)),
        Figure("… not 200", wrong, "=", 0),
        Figure("… a second", len(times) / lasted, unit="/s"),
        Figure("… p50", percentile(times, 0.5), unit="ms"),
        Figure("… p99", percentile(times, 0.99), "≤", AIM_MS, "ms"),
        Figure("… not processed yet at the end", waiting),
        Figure("… and processed after", caught_up_s, unit="s"),
    ]


async def _send_for(house: DoorHouse, seconds: float) -> tuple[list[float], int, float]:
    """Return the times of the answers in ms, how many were not 200, and how long it lasted."""
    names, times, wrong = count(), list[float](), 0
    connections = [await _connected(house.port) for _ in range(CONNECTIONS)]
    began, is_over = time.perf_counter(), asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, is_over.set)

    async def send(connection: Connection) -> None:
        nonlocal wrong
        while not is_over.is_set():
            asked = time.perf_counter()
            status, _ = await connection.ask(house.request(f"event {next(names)}"))
            times.append(1000 * (time.perf_counter() - asked))
            wrong += status != 200

    await asyncio.gather(*map(send, connections))
    lasted = time.perf_counter() - began
    for connection in connections:
        connection.transport.abort()
    return times, wrong, lasted
