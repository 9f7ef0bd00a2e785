"""Messages with keys while the workers that send them are killed: what the chats show in the end."""

import asyncio
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.chaos.figures import Figure
from tests.chaos.processes import TOCSIN, Child, wait_for
from tests.town_thread import town_on_a_thread

import tocsin
from tocsin.delivery.model import OPEN
from tocsin_standins import StandinCluster
from tocsin_standins.faults import Fault
from tocsin_standins.guildchat.server import Channel
from tocsin_standins.teamchat.server import TeamchatConversation


class HasEnvironment(Protocol):
    """Stand-ins that say how to reach them."""

    def environment(self) -> dict[str, str]:
        """Return the settings that point Tocsin at them."""
        ...


SEED = 27
CHATS = 20  # of each product: a chat takes one message a second
FIRING = 150  # alarms at the same time, so that most are sent before they are resolved
LONGEST_LIFE_S = 3.0  # of a worker
MOST_SENT = 10  # by a worker to Slack, before it is killed
ANSWER_S = 1.0  # Slack takes a message, and answers after this time


def targets(town: StandinCluster) -> dict[str, list[str]]:
    """Return chats of each product, opened for this run."""
    rooms = [f"C00000{number:03}" for number in range(CHATS)]
    channels = [f"3000000000000{number:05}" for number in range(CHATS)]
    town.teamchat.places |= {room: TeamchatConversation(room, room.lower()) for room in rooms}
    town.guildchat.channels |= {id_: Channel(id_, id_) for id_ in channels}
    return {"teamchat": rooms, "botchat": [str(2_000 + number) for number in range(CHATS)], "guildchat": channels}


def edit_under_kills(place: Path, *, pairs: int, kills: int, finds: bool) -> list[Figure]:
    """Queue `pairs` of firing and resolved messages while workers are killed; compare what the chats show.

    Each worker is killed as soon as Slack took a message of it, before the answer. With `finds`, the next one looks for
    that message; without, Slack must show it twice, or the run shows nothing.
    """
    chance = random.Random(SEED)
    with town_on_a_thread() as town, environment(place, town):
        town.botchat.world.open_world = True
        town.teamchat.scopes |= {"channels:history"}
        os.environ["TEAMCHAT_FIND_SENT"] = str(finds).lower()
        town.teamchat.faults.hold(Fault.stall(ANSWER_S).only("chat.postMessage"))
        chats = targets(town)
        keys = [
            (kind, chance.choice(chats[kind]), f"pair-{n}") for n in range(pairs) for kind in [chance.choice([*chats])]
        ]
        recorder = town.recorder
        with workers(place, kills, chance, lambda: len(recorder.of("teamchat"))) as killed:
            asyncio.run(queue_pairs(keys, chance, lambda: len(recorder.of())))
        posted = [item.at for item in recorder.of("teamchat")]
        met = sum(any(at - ANSWER_S < each < at for each in posted) for at in killed)
        return [
            Figure("workers killed", len(killed), "=", kills),
            Figure("… while a message to Slack was under way", met, "=", kills),
            *shown(town, keys, finds=finds),
        ]


@contextmanager
def environment(place: Path, town: HasEnvironment) -> Iterator[None]:
    """Point this process and its children at the stand-ins and at a data directory below `place`."""
    before = dict(os.environ)
    os.environ |= {**town.environment(), "TOCSIN_DATA_DIR": str(place / "data"), "LOG_LEVEL": "warning"}
    os.environ |= {"REDIS_URL": f"unix://{place}/no-redis.sock"}
    (place / "data").mkdir(exist_ok=True)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


@contextmanager
def workers(
    place: Path, kills: int, chance: random.Random, arrivals: Callable[[], int] | None = None
) -> Iterator[list[float]]:
    """Run a worker that is killed `kills` times and replaced; at the end, wait until the queue is empty.

    Yields the Unix times of the kills. With `arrivals`, which counts what arrived, a worker is killed right after one
    of its first messages arrived, else after some time.
    """
    killed: list[float] = []
    stop = asyncio.Event()

    def start() -> Child:
        return Child([TOCSIN, "worker"], place / "worker.log", dict(os.environ), cwd=place)

    async def live(worker: Child) -> None:
        if arrivals is None:
            await asyncio.sleep(chance.uniform(1.0, LONGEST_LIFE_S))
            return
        last = arrivals() + chance.randint(1, MOST_SENT)
        while arrivals() < last:
            worker.must_live()
            await asyncio.sleep(0.005)

    async def kill_some() -> None:
        worker = start()
        while len(killed) < kills:
            await live(worker)
            worker.kill()
            killed.append(time.time())
            worker = start()
        await stop.wait()
        worker.stop()

    import threading

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(kill_some()))
    thread.start()
    try:
        yield killed
        wait_for("all workers were killed", lambda: len(killed) >= kills)
        wait_for("the queue is empty", lambda: not still_open(place), every_s=1.0)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def still_open(place: Path) -> int:
    """Return the number of deliveries that have not ended."""

    async def count() -> int:
        async with tocsin.open() as t:
            counts = await t._app.outbox.store.counts()  # noqa: SLF001  # the queue has no other interface in Python
            return sum(number for status, number in counts.items() if status in OPEN)

    return asyncio.run(count())


async def queue_pairs(keys: list[tuple[str, str, str]], chance: random.Random, arrived: Callable[[], int]) -> None:
    """Queue each pair: the second message some time after the first, no faster than the messages arrive."""
    async with tocsin.open() as t:
        later: list[tuple[str, str, str]] = []
        for number, alarm in enumerate(keys):
            await t.enqueue(alarm[0], alarm[1], f"firing {alarm[2]}", key=alarm[2], title="Disk", type="failure")
            later.append(alarm)
            last = number == len(keys) - 1
            while arrived() < number - 2 * FIRING:  # noqa: ASYNC110  # what arrives is counted on another thread
                await asyncio.sleep(0.05)
            while len(later) > (0 if last else FIRING):
                kind, target, key = later.pop(chance.randrange(len(later)))
                await t.enqueue(kind, target, f"resolved {key}", key=key, title="Disk", type="success")
            await asyncio.sleep(0.02)


def shown(town: StandinCluster, keys: list[tuple[str, str, str]], *, finds: bool) -> list[Figure]:
    """Compare the messages that each chat shows with the keys that were sent to it.

    Discord recognises a repeated message, and on Slack it is looked for if `finds`. Otherwise one that was under way at
    a kill is sent again (`at_least_once`), and its first copy stays as it was.
    """
    texts: dict[tuple[str, str], str] = {}
    edits: Counter[str] = Counter()
    for item in town.recorder.of(kind=""):
        if item.kind in {"message", "edit"}:
            texts[item.channel, f"{item.target} {item.id}"] = item.text
        edits[item.channel] += item.kind == "edit"
    by_key: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (channel, _), text in texts.items():
        word, _, key = text.rpartition("\n")[2].partition(" ")
        by_key[channel, key].append(word)
    ended = {(kind, key): by_key[kind, key] for kind, _, key in keys}
    twice = Counter(dict.fromkeys(("teamchat", "botchat", "guildchat"), 0))
    for (kind, _), words in ended.items():
        twice[kind] += len(words) - 1
    return [
        Figure("alarms that end as resolved", sum("resolved" in each for each in ended.values()), "=", len(keys)),
        Figure("messages that still say firing", sum("firing" in each for each in ended.values()), "≤", twice.total()),
        Figure("second messages on Discord", twice["guildchat"], "=", 0),
        Figure("second messages on Slack", twice["teamchat"], *(("=", 0) if finds else ("≥", 1))),
        Figure("second messages on Telegram", twice["botchat"]),
        Figure("edits", sum(edits.values()), "≤", len(keys)),
    ]
