"""Messages to one product that fails again and again, while the workers that send them are killed."""

import asyncio
import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.channels.matrix.homeserver import homeserver, program
from tests.chaos.figures import Figure
from tests.chaos.flapping_proxy import FlappingProxy
from tests.chaos.message_runs import HasEnvironment, environment, workers
from tests.waiting import PATIENCE_S

import tocsin
from tocsin.channels.apprise.standin import GotifyServer
from tocsin.channels.matrix.standin import MatrixRoom, MatrixServer
from tocsin.channels.mattermost.standin import MattermostPlace, MattermostServer
from tocsin.channels.model import TARGETS_FILE
from tocsin.channels.ntfy.standin import NtfyServer
from tocsin.channels.teams.standin import WorkflowServer
from tocsin.channels.webhook.standin import WebhookReceiver
from tocsin.channels.webpush.standin import PushService
from tocsin_standins.faults import Fault
from tocsin_standins.serving import HttpStandIn

SEED = 29
TARGETS = 20
NAMES = [f"target-{number}" for number in range(TARGETS)]  # in targets.yaml
# What a service that is being restarted answers, before and after it has taken a message.
OUTAGES = (Fault.status(502), Fault.status(503), Fault.reset(), Fault.reset_after_accept(), Fault.broken_json())
UP_S, DOWN_S = (2.0, 4.0), (0.1, 0.4)


def ntfy(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Publish to topics; a device shows one notification for each sequence."""
    topics = [f"topic-{number}" for number in range(TARGETS)]
    server = NtfyServer()
    found = send_to_standin(place, server, topics, messages=messages, kills=kills)
    shown = Counter(each["message"] for each in server.shown.values())
    return [*found, Figure("messages that a device shows twice", twice(shown), "=", 0)]


def mattermost(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Post to channels; a repeat is recognised for half a minute."""
    places = [f"{f'channel{number}':x<26}" for number in range(TARGETS)]
    server = MattermostServer()
    server.places |= {id_: MattermostPlace(id_, id_) for id_ in places}
    found = send_to_standin(place, server, places, messages=messages, kills=kills)
    return [*found, Figure("posts that are there twice", twice(texts(server)), "≤", kills)]


def matrix(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Send to rooms; a repeat is always recognised."""
    rooms = [f"!room{number}:standin.example" for number in range(TARGETS)]
    server = MatrixServer()
    server.rooms |= {id_: MatrixRoom(id_) for id_ in rooms}
    found = send_to_standin(place, server, rooms, messages=messages, kills=kills)
    recognised = len(server.recorder.of("matrix", kind="duplicate"))
    return [*found, Figure("events that are there twice", twice(texts(server)), "=", 0), Figure("repeats", recognised)]


def webhook(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Post events to receivers, which drop an event that they know."""
    server = WebhookReceiver()
    found = send_to_standin(place, server, NAMES, messages=messages, kills=kills)
    return [*found, Figure("events that are there twice", twice(texts(server)), "=", 0)]


def webpush(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Push to devices, which show one notification for each tag."""
    server = PushService()
    found = send_to_standin(place, server, NAMES, messages=messages, kills=kills)
    shown = Counter(each["body"] for each in server.browser.shown.values())
    repeats = len(server.recorder.of("webpush", kind="edit"))
    return [*found, Figure("messages that a device shows twice", twice(shown), "=", 0), Figure("repeats", repeats)]


def teams(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Start workflows, which recognise no repeats."""
    server = WorkflowServer()
    found = send_to_standin(place, server, NAMES, messages=messages, kills=kills)
    return [*found, Figure("cards that are there twice", twice(texts(server)))]


def apprise(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Send to a service of Apprise, which recognises no repeats, while processes of the library are killed, too."""
    server = GotifyServer()
    with children_killed(place, "tocsin.channels.apprise.child", kills) as killed:
        found = send_to_standin(place, server, NAMES, messages=messages, kills=kills)
    return [
        *found,
        Figure("processes of the library killed", len(killed), "=", kills),
        Figure("messages that are there twice", twice(texts(server))),
    ]


def synapse(place: Path, *, messages: int, kills: int) -> list[Figure]:
    """Send to rooms of a real homeserver, whose answers get lost again and again."""
    if program() is None:
        return [Figure("homeservers installed (see tests/channels/matrix/homeserver.py)", 0)]
    with homeserver(place / "homeserver") as server:
        token = server.register("tocsin")
        rooms = [server.create_room(token) for _ in range(TARGETS)]
        proxy = FlappingProxy(server.url, {"MATRIX_TOKEN": token})

        def arrived() -> Counter[str]:
            events = [event for room in rooms for event in server.messages(token, room)]
            return Counter(event["content"]["body"] for event in events if event["type"] == "m.room.message")

        chance = random.Random(SEED)
        with on_a_thread(proxy.run, proxy.set_mode, FlappingProxy.MODES, chance) as outages:
            found = send_under_kills(place, "matrix", proxy, rooms, arrived, chance, messages=messages, kills=kills)
        counted = arrived()
    return [
        *found,
        Figure("outages", len(outages), "≥", 1),
        Figure("answers lost", proxy.lost, "≥", 1),
        Figure("events that are there twice", twice(counted), "=", 0),
    ]


def send_to_standin(place: Path, server: HttpStandIn, targets: list[str], *, messages: int, kills: int) -> list[Figure]:
    """Queue messages to a stand-in that fails again and again; `targets` have the entry of its sample, if any.

    What the channel keeps in the store is that of the stand-in, with each target as a device.
    """

    async def run(serving: Callable[[], Awaitable[None]]) -> None:
        async with server:
            await serving()

    chance = random.Random(SEED)
    with on_a_thread(run, server.faults.hold, OUTAGES, chance) as outages:
        if entry := server.targets().get(server.sample):
            write_targets(place / "data", {server.channel: dict.fromkeys(targets, entry)})
        if text := server.document():
            with environment(place, server):
                asyncio.run(keep_devices(server.channel, json.loads(text), targets))
        found = send_under_kills(
            place, server.channel, server, targets, lambda: texts(server), chance, messages=messages, kills=kills
        )
    return [*found, Figure("outages", len(outages), "≥", 1)]


def send_under_kills(
    place: Path,
    channel: str,
    product: HasEnvironment,
    targets: list[str],
    arrived: Callable[[], Counter[str]],
    chance: random.Random,
    *,
    messages: int,
    kills: int,
) -> list[Figure]:
    """Queue `messages` while workers are killed; compare with the texts that arrived."""
    with environment(place, product), workers(place, kills, chance) as killed:
        asyncio.run(queue(channel, targets, messages))
    wanted, found = {f"message {number}" for number in range(messages)}, set(arrived())
    return [
        Figure("messages lost", len(wanted - found), "=", 0),
        Figure("messages that nobody sent", len(found - wanted), "=", 0),
        Figure("workers killed", len(killed), "=", kills),
    ]


async def queue(channel: str, targets: list[str], messages: int) -> None:
    """Queue the messages, spread over the targets."""
    async with tocsin.open() as t:
        for number in range(messages):
            await t.enqueue(channel, targets[number % len(targets)], f"message {number}")
            await asyncio.sleep(0.02)


async def keep_devices(channel: str, document: dict[str, Any], names: list[str]) -> None:
    """Store the document of a channel with its only device under each name."""
    [device] = document["devices"]
    text = json.dumps({**document, "devices": [{**device, "name": name} for name in names]})
    async with tocsin.open() as t:
        await t._app.stores.document(channel).change(lambda _: text)  # noqa: SLF001  # people add devices by a browser


def write_targets(data: Path, entries: Mapping[str, Any]) -> None:
    """Write `targets.yaml` into a data directory."""
    data.mkdir(exist_ok=True)
    (data / TARGETS_FILE).write_text(json.dumps(entries))


def texts(server: HttpStandIn) -> Counter[str]:
    """Count each text that the product has taken, which is the last line: a notification has a title."""
    return Counter(item.text.rpartition("\n")[2] for item in server.recorder.of(server.channel))


def twice(counted: Counter[str]) -> int:
    """Return the number of texts beyond the first of each."""
    return sum(counted.values()) - len(counted)


@contextmanager
def children_killed(place: Path, module: str, kills: int) -> Iterator[list[int]]:
    """Kill processes that run `module` for the worker of `place`, one after the other; yield those that were."""
    killed: list[int] = []
    stop, chance = threading.Event(), random.Random(SEED)

    def kill_again_and_again() -> None:
        while len(killed) < kills and not stop.wait(chance.uniform(*UP_S)):
            if found := sorted(children(place, module)):
                killed.append(chance.choice(found))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill_again_and_again, name="killer")
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join(timeout=PATIENCE_S)


def children(place: Path, module: str) -> Iterator[int]:
    """Yield the processes that run `module` and whose parent has its data below `place`."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"\0{module}\0" in (folder / "cmdline").read_text():
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                if f"={place}/data\0" in Path("/proc", parent, "environ").read_text():
                    yield int(folder.name)


@contextmanager
def on_a_thread(
    run: Callable[[Callable[[], Awaitable[None]]], Coroutine[Any, Any, None]],
    fail: Callable[[Any], None],
    ways: Sequence[Any],
    chance: random.Random,
) -> Iterator[list[Any]]:
    """Run a product that fails again and again, in one of `ways`, until the end of the block; yield its outages."""
    started: Future[Callable[[], object]] = Future()
    outages: list[Any] = []

    async def fail_again_and_again() -> None:
        while True:
            await asyncio.sleep(chance.uniform(*UP_S))
            outages.append(chance.choice(ways))
            fail(outages[-1])
            await asyncio.sleep(chance.uniform(*DOWN_S))
            fail(None)

    async def serving() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        failing = asyncio.create_task(fail_again_and_again())
        started.set_result(lambda: loop.call_soon_threadsafe(stop.set))
        await stop.wait()
        failing.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(run(serving)), name="product")
    thread.start()
    stop = started.result(timeout=PATIENCE_S)
    try:
        yield outages
    finally:
        stop()
        thread.join(timeout=PATIENCE_S)
