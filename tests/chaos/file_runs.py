"""Messages with files while the gateway that takes and sends them is killed: what arrives, and what is left behind."""

import asyncio
import hashlib
import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.chaos.figures import Figure, none_of
from tests.chaos.message_runs import SEED, environment, still_open, targets
from tests.chaos.processes import TOCSIN, Child, wait_for
from tests.delivery.conftest import running_redis
from tests.ports import free_port
from tests.town_thread import town_on_a_thread
from tests.waiting import PATIENCE_S

import tocsin
from tocsin.assembly.files import files_in_folder, files_in_redis
from tocsin.core.config.core_variables import STORE
from tocsin.delivery.files.store import GRACE_S
from tocsin.testing.fakes import FakeClock
from tocsin_standins import StandinCluster

FILE_BYTES = 1_000_000
CALLERS = 8
BOUNDARY = "----one-of-many-files"
LATEST_KILL_S = 1.5  # after as many files were accepted as belong before the kill


class Arrivals:
    """The files that chats show, counted by their hash; their contents are dropped, because they are a gigabyte."""

    def __init__(self, town: StandinCluster) -> None:
        self._town = town
        self.seen: Counter[str] = Counter()

    def collect(self) -> None:
        """Count the contents that came since the last call."""
        for files in (self._town.teamchat.files, self._town.guildchat.files):
            for id_, data in list(files.items()):
                self._count(data)
                files[id_] = b""
        stored = self._town.botchat.world.files
        for id_, (path, data, size) in list(stored.items()):
            self._count(data)
            stored[id_] = (path, b"", size)

    def _count(self, data: bytes) -> None:
        if data:
            self.seen[hashlib.sha256(data).hexdigest()] += 1


def files_under_kills(place: Path, *, store: str, files: int, kills: int, size: int = FILE_BYTES) -> list[Figure]:
    """Queue messages with a file each over HTTP while the gateway is killed; compare what chats and store have."""
    with town_on_a_thread() as town, environment(place, town), _store(store, files * size):
        town.botchat.world.open_world = True
        arrivals, port = Arrivals(town), free_port()
        os.environ |= {"GATEWAY_PORT": str(port), "RATE_LIMIT_PER_IP": "1000000"}
        chance, chats = random.Random(SEED), targets(town)
        places = [(kind, chance.choice(chats[kind])) for kind in (chance.choice([*chats]) for _ in range(files))]
        killed, accepted = _queue_under_kills(place, port, places, kills, size, arrivals)
        gateway = _gateway(place)
        try:
            wait_for("the queue is empty", lambda: not still_open(place), every_s=1.0)
        finally:
            gateway.stop()
        arrivals.collect()
        wanted = {hashlib.sha256(content(number, size)).hexdigest() for number in range(files)}
        stored, left = asyncio.run(_prune())
    return [
        Figure("gateways killed", killed, "=", kills),
        Figure("messages with a file accepted", accepted, "=", files),
        none_of("files lost", wanted - arrivals.seen.keys()),
        none_of("files that none sent", arrivals.seen.keys() - wanted),
        Figure("files that arrived twice, at a kill", sum(seen > 1 for seen in arrivals.seen.values())),
        none_of("files stored that belong to no message", stored - wanted),
        none_of("files or parts of them left after their time", left),
    ]


def content(number: int, size: int) -> bytes:
    """Return the content of a file, which no other one has."""
    return random.Random(number).randbytes(size)


@contextmanager
def _store(store: str, total: int) -> Iterator[None]:
    """Choose the store, with room for all files."""
    room = str(2 * total // 2**20 + 10)
    os.environ |= {"STORE": store, "FILES_QUOTA_MB": room, "FILES_REDIS_MB": room}
    if store != "redis":
        yield
        return
    with running_redis(appendonly="yes") as server:
        os.environ["REDIS_URL"] = server.url
        yield


def _gateway(place: Path) -> Child:
    return Child([TOCSIN, "gateway"], place / "gateway.log", dict(os.environ), cwd=place)


def _queue_under_kills(
    place: Path, port: int, places: list[tuple[str, str]], kills: int, size: int, arrivals: Arrivals
) -> tuple[int, int]:
    """Queue a message to each place while gateways are killed; return the number of kills and of messages."""
    numbers, accepted, is_over, killed = count(), list[str](), threading.Event(), 0

    def call() -> None:
        while (number := next(numbers)) < len(places) and not is_over.is_set():
            (kind, target), name = places[number], f"file-{number}"
            fields = {"channel": kind, "target": target, "message": name}
            body = form(fields, f"{name}.bin", content(number, size))
            while not is_over.is_set():
                if post(port, body, name):
                    accepted.append(str(number))
                    break
                time.sleep(0.05)

    chance = random.Random(SEED + 1)
    with ThreadPoolExecutor(CALLERS) as callers:
        calls = [callers.submit(call) for _ in range(CALLERS)]
        try:
            for turn in range(1, kills + 1):
                gateway, until = _gateway(place), len(places) * turn // kills
                wait_for("files are accepted", lambda until=until: len(accepted) >= until - CALLERS, every_s=0.1)
                arrivals.collect()
                time.sleep(chance.uniform(0, LATEST_KILL_S))
                gateway.kill()
                killed += 1
            gateway = _gateway(place)
            wait_for("all files are accepted", lambda: all(each.done() for each in calls), every_s=0.1)
            gateway.kill()
        finally:
            is_over.set()
        for each in calls:
            each.result()
    return killed, len(set(accepted))


def form(fields: Mapping[str, str], name: str, data: bytes) -> bytes:
    """Return a message with a file as `multipart/form-data`."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{text}'.encode() for name, text in fields.items()]
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n'
    parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + data)
    return b"".join(f"--{BOUNDARY}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


def post(port: int, body: bytes, key: str = "") -> dict[str, Any] | None:
    """Queue a message; return the answer, or `None` if there is none yet: a killed gateway may hold the key."""
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Prefer": "respond-async"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("POST", "/send", body, headers | ({"Idempotency-Key": key} if key else {}))
        answer = connection.getresponse()
        told = answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    assert answer.status in {202, 409}, told
    return dict(json.loads(told)) if answer.status == 202 else None


async def _prune() -> tuple[frozenset[str], list[str]]:
    """Remove the files as the maintenance does after their time; return those that were there, and what is left."""
    async with tocsin.open() as t:
        app, later = t._app, FakeClock(time.time() + 2 * GRACE_S)  # noqa: SLF001  # there is no other interface in Python
        if app.settings[STORE] != "redis":
            folder = files_in_folder(app.settings, later)
            stored = await folder.hashes()
            await folder.prune(await app.outbox.store.needed_files(time.time()))
            place = app.settings.data_dir / "files"
            return stored, [each.name for each in place.rglob("*") if each.is_file() and each.name != "lock"]
        redis = files_in_redis(app.settings, app.redis(), later)
        stored = await redis.hashes()
        await redis.prune(await app.outbox.store.needed_files(time.time()))
        left = await app.redis().command("KEYS", "{tocsin:file*")
        return stored, [bytes(key).decode() for key in left]
