"""kill -9 of the gateway while it accepts, and of workers while they send."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from random import Random

from tests.chaos.clients import Accepted, Message, queue_all, repeat_unanswered
from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import Entry, Ledger, Queue, SqliteQueue, settle
from tests.chaos.processes import Child, Town, open_town, wait_for
from tests.chaos.standins import StandIns

CLIENTS = 32
# How long a send takes, so that there is a middle of it.
SEND_S = 0.25
# The rooms of the guildchat stand-in that take everything, and who takes direct messages.
ROOMS = ("100000000000000001", "100000000000000002", "100000000000000003")
PEOPLE = ("300000000000000001", "300000000000000002")


def kill_gateways(directory: Path, *, kills: int, accepted_each: int, workers: int = 1) -> list[Figure]:
    """Kill a gateway that accepts and sends, again and again; `accepted_each` messages come between two kills.

    Every second message has an idempotency key and is repeated until it is acknowledged.
    """
    messages = (Message(f"g{n}", "chaoschat", f"t{n % 400}", keyed=n % 2 == 0, policy="at_least_once") for n in count())
    with open_town(directory) as town:
        queue = SqliteQueue(town)
        town.start_gateway()
        for _ in range(workers):
            town.start_worker()
        accepted, in_flight = asyncio.run(_accept_through_kills(town, queue, messages, kills, accepted_each))
        asyncio.run(repeat_unanswered(town.port, accepted))
        ledger = settle(town, queue, accepted.ids)
        unacknowledged = len(ledger.entries) - len(ledger.accepted)
        return [
            Figure("kills of the gateway", kills),
            *ledger.figures(),
            Figure("duplicates (at most: in flight at the kills)", _seen_again(ledger), "≤", in_flight),
            Figure("accepted without an answer", unacknowledged, "≤", kills * CLIENTS),
            Figure("accepted a second", len(accepted.ids) / accepted.seconds, unit="/s"),
        ]


async def _accept_through_kills(
    town: Town, queue: Queue, messages: Iterator[Message], kills: int, accepted_each: int
) -> tuple[Accepted, int]:
    done = False
    flying = 0
    load = asyncio.create_task(queue_all(town.port, messages, clients=CLIENTS, until=lambda: done))
    # What has been acknowledged so far is known to the load alone; the queue tells nearly the same.
    try:
        for number in range(1, kills + 1):
            await asyncio.to_thread(_wait_for_more, town, accepted_each)
            gateway = town.gateway
            assert gateway is not None
            await asyncio.to_thread(gateway.kill)
            flying += len(await asyncio.to_thread(queue.in_flight, gateway))
            if number < kills:
                await asyncio.to_thread(town.start_gateway)
        await asyncio.to_thread(town.start_gateway)
    finally:
        done = True
    return await load, flying


def _wait_for_more(town: Town, accepted_each: int) -> None:
    queue = SqliteQueue(town)
    target = queue.last_place() + accepted_each
    wait_for(f"{accepted_each} more messages are accepted", lambda: queue.last_place() >= target)


def _seen_again(ledger: Ledger) -> int:
    return ledger.duplicates(entry.message_id for entry in ledger.entries.values())


def kill_workers(
    directory: Path,
    *,
    kills: int,
    messages_each: int,
    workers: int = 4,
    prepare: Callable[[Town], Queue] = SqliteQueue,
    settings: dict[str, str] | None = None,
) -> list[Figure]:
    """Kill workers while they send; `messages_each` new messages come before each kill.

    Half of the messages may be repeated, a quarter may not, a quarter goes to a provider that drops repeats.
    """
    random = Random(20261120)  # a run that can be repeated
    kinds = cycle((("chaoschat", ""), ("chaoschat", "at_most_once"), ("chaoschat", ""), ("noncechat", "")))
    numbered = ((n, *next(kinds)) for n in count())
    messages = (Message(f"w{n}", channel, f"t{n % 397}", policy=policy) for n, channel, policy in numbered)
    ids: dict[str, str] = {}
    abandoned: list[Entry] = []
    with open_town(directory, {"DELIVERY_WORKERS": "16", **(settings or {})}) as town:
        queue = prepare(town)
        town.provider.set_delay(SEND_S)
        town.start_gateway(DELIVERY_WORKERS="0")
        for _ in range(workers):
            town.start_worker()

        def queue_some() -> None:
            ids.update(_queue_some(town, messages, messages_each))

        for _ in range(kills):
            queue_some()
            victim = _victim(town, queue, random, queue_some)
            town.end_worker(victim, kill=True)
            abandoned += queue.in_flight(victim)
            town.start_worker()
        ledger = settle(town, queue, ids)
        return [*_worker_figures(ledger, abandoned, kills), Figure("in flight twice", town.provider.overlaps(), "=", 0)]


def _queue_some(town: Town, messages: Iterator[Message], how_many: int) -> dict[str, str]:
    some = [next(messages) for _ in range(how_many)]
    accepted = asyncio.run(queue_all(town.port, iter(some), clients=8))
    assert not accepted.unanswered, accepted.refused[:3]
    return accepted.ids


def _victim(town: Town, queue: Queue, random: Random, queue_more: Callable[[], None]) -> Child:
    """Return a worker that is sending; queue more where all was sent before this process had its turn to look."""

    def look() -> Child | None:
        found = _who_sends(queue, town.workers, random)
        if not found and not queue.open_count():
            queue_more()
        return found

    return wait_for("a worker is sending", look)


def _who_sends(queue: Queue, workers: list[Child], random: Random) -> Child | None:
    for worker in random.sample(workers, len(workers)):
        if queue.in_flight(worker):
            return worker
    return None


def _worker_figures(ledger: Ledger, abandoned: list[Entry], kills: int) -> list[Figure]:
    may_repeat = [entry.message_id for entry in ledger.entries.values() if entry.may_repeat]
    once = [e.message_id for e in ledger.entries.values() if e.policy == "at_most_once" and e.channel == "chaoschat"]
    nonce = [entry.message_id for entry in ledger.entries.values() if entry.channel == "noncechat"]
    held = {entry.id for entry in abandoned if entry.message_id in set(once)}
    listed = {entry.id for entry in ledger.entries.values() if entry.status == "uncertain"}
    others = [e.id for e in ledger.entries.values() if e.status not in {"sent", "uncertain"}]
    return [
        Figure("kills of a worker", kills),
        *ledger.figures(),
        Figure("in flight at the kills", len(abandoned)),
        Figure(
            "duplicates (at most: in flight at the kills)",
            ledger.duplicates(may_repeat),
            "≤",
            sum(entry.may_repeat for entry in abandoned),
        ),
        Figure("duplicates with at_most_once", ledger.duplicates(once), "=", 0),
        Figure("duplicates where the provider drops repeats", ledger.duplicates(nonce), "=", 0),
        none_of("ambiguous with at_most_once and not listed", held - listed),
        none_of("listed as ambiguous without a kill", listed - held),
        none_of("neither sent nor uncertain", others),
    ]


def resume_after_kills(directory: Path, *, kills: int, spread_s: float = 3.0) -> list[Figure]:
    """Kill workers at different moments of long sends; measure how long until another one sends again."""
    with open_town(directory, {"CHAOSCHAT_READ_S": "600"}) as town:  # no send ends before its worker
        queue = SqliteQueue(town)
        town.start_gateway(DELIVERY_WORKERS="0")
        # With one slot each, every one of them takes one message.
        victims = [town.start_worker(DELIVERY_WORKERS="1") for _ in range(kills)]
        messages = [Message(f"r{n}", "chaoschat", f"t{n}", plan=["stall:600"]) for n in range(kills)]
        ids = {m.id: town.send(m.channel, m.target, m.text) for m in messages}
        wait_for("the provider has every message", lambda: len(town.provider.rows()) == kills)
        town.start_worker()
        killed_at: dict[str, float] = {}
        for victim in victims:
            time.sleep(spread_s / kills)  # so the kills fall everywhere between two heartbeats
            town.end_worker(victim, kill=True)
            [entry] = queue.in_flight(victim)
            killed_at[entry.message_id] = time.monotonic()
        ledger = settle(town, queue, ids)
        tries = {name: [row.at for row in ledger.received if row.id == name] for name in killed_at}
        waited = [tries[name][1] - at for name, at in killed_at.items()]
        return [
            Figure("kills in the middle of a send", kills),
            *ledger.figures(),
            Figure("tries of a message", max(map(len, tries.values())), "=", 2),
            Figure("longest until a killed worker's message was sent again", max(waited), "≤", 10.0, "s"),
        ]


def kill_guildchat_workers(directory: Path, *, kills: int, messages: int) -> list[Figure]:
    """Kill workers while they post to guildchat, where the nonce makes a repeat no second message."""
    random = Random(7)  # a run that can be repeated
    with open_town(directory) as town:
        standins = StandIns(town)
        queue = SqliteQueue(town)
        people = standins.open_direct_messages(town.environment["GUILDCHAT_BOT_TOKEN"], list(PEOPLE))
        targets = cycle([*ROOMS, *people])
        # Taken in, and answered late: a kill falls between the two.
        standins.script("guildchat", {"kind": "stall", "seconds": SEND_S, "accept": True}, held=True)
        town.start_gateway(DELIVERY_WORKERS="0")
        for _ in range(2):
            town.start_worker()
        ids: dict[str, str] = {}

        def queue_some() -> None:
            names = [f"d{n}" for n in range(len(ids), len(ids) + messages)]
            ids.update((name, town.send("guildchat", next(targets), name)) for name in names)

        queue_some()
        abandoned = 0
        for _ in range(kills):
            victim = _victim(town, queue, random, queue_some)
            town.end_worker(victim, kill=True)
            abandoned += len(queue.in_flight(victim))
            town.start_worker()
        wait_for("everything is finished", lambda: not queue.open_count())
        received = Counter(item["text"] for item in standins.received("guildchat"))
        states = Counter(entry.status for entry in queue.entries().values())
        return [
            Figure("kills of a worker that posts to guildchat", kills),
            Figure("accepted", len(ids)),
            Figure("sent", states["sent"], "=", len(ids)),
            Figure("in flight at the kills", abandoned),
            none_of("accepted and not received", [name for name in ids if not received[name]]),
            none_of("received twice", [name for name, times in received.items() if times > 1]),
        ]
