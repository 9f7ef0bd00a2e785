"""Many hosts on loopback: gateways, a bot and workers, each with a data directory of its own, over one Redis.

Messages and webhook calls come in at all gateways; every tenth call comes to a second gateway as well. Meanwhile
processes are killed at random and started again. Then the ledger must hold.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.chaos.clients import Accepted, Message, queue_all, repeat_unanswered
from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import Ledger, RedisQueue, settle
from tests.chaos.processes import HERE, TOCSIN, ChaosError, Child, Redis, Town, ask, open_town, wait_for
from tests.chaos.standins import StandIns
from tests.chaos.webhook_burst import Product, name_of, received_from
from tests.ports import free_port

from tocsin.features.triggers.service import INTERRUPTED
from tocsin_standins.teamchat.server import SIGNING_SECRET, TOKEN

CHANNELS = 200
TARGETS = 400
SEND_S = 0.05
SLICE_S = 1.0
# Of every other event, what was interrupted may not run again.
RULES = """\
- pattern: '^burst (e[0-9]*[02468])$'
  command: 'echo "$1" >> effects.txt; echo "heard $1"'
  repeat: false
- pattern: '^burst (e[0-9]+)$'
  command: 'echo "$1" >> effects.txt; echo "heard $1"'
"""
# For the throughput: as slow as providers are, so that waiting and not this machine is what more workers share.
SLOW_S = 0.2
IN_FLIGHT = 16  # for each worker


@dataclass(frozen=True)
class Sizes:
    """How many of each; what comes in, and the kills, are spread over `seconds`, or longer on a slow machine."""

    gateways: int = 3
    workers: int = 4
    bots: int = 1
    kills: int = 200
    messages: int = 100_000
    webhooks: int = 20_000
    seconds: float = 1_500.0
    seed: int = 20261122  # of who is killed


class Host:
    """One process with a data directory of its own; started again it is the same host."""

    def __init__(self, town: Town, kind: str, number: int) -> None:
        self.kind = kind
        self.name = f"{kind}-{number}"
        self.port = free_port()
        self.directory = town.directory / self.name
        self.directory.mkdir()
        (self.directory / "triggers.yaml").write_text(RULES)
        self._town = town
        self._child: Child | None = None

    def start(self) -> None:
        """Start it; a gateway answers when this returns."""
        own = {"TOCSIN_DATA_DIR": str(self.directory), "GATEWAY_PORT": str(self.port)}
        places = "0" if self.kind == "gateway" else str(IN_FLIGHT)
        self._child = self._town.start_host([TOCSIN, self.kind], self.name, {"DELIVERY_WORKERS": places} | own)
        if self.kind == "gateway":
            wait_for(f"{self.name} answers", self._answers)

    def _answers(self) -> bool:
        assert self._child is not None
        self._child.must_live()
        try:
            return ask(self.port, "GET", "/health", None, {})[0] == 200
        except OSError:
            return False

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._child is not None
        self._child.must_live()
        self._child.kill()

    def stop(self) -> None:
        """Ask it to end."""
        assert self._child is not None
        self._child.stop()


@contextmanager
def open_hosts(directory: Path) -> Iterator[tuple[Town, Redis, str]]:
    """Run Redis, the recording provider and a teamchat; return the address of the last one, too."""
    with open_town(directory) as town:
        redis = Redis(town, directory)
        redis.start()
        teamchat = town.run([sys.executable, HERE / "busy_teamchat.py", str(CHANNELS)], "teamchat", pipes=True)
        url = teamchat.first_line().strip()
        before = dict(town.environment)
        StandIns(town)  # of these only the one that the bot needs
        botchat = {name: value for name, value in town.environment.items() if name.startswith("BOTCHAT_")}
        town.environment = before | botchat
        town.environment |= {
            "STORE": "redis",
            "REDIS_URL": redis.url,
            "TEAMCHAT_API_URL": f"{url}/api",
            "TEAMCHAT_BOT_TOKEN": TOKEN,
            "TEAMCHAT_SIGNING_SECRET": SIGNING_SECRET,
        }
        yield town, redis, url


def survive_kills(directory: Path, sizes: Sizes) -> list[Figure]:
    """Accept messages and events at all gateways while processes die; return the ledger."""
    with open_hosts(directory) as (town, redis, url):
        hosts = [Host(town, kind, n) for kind, many in _kinds(sizes).items() for n in range(many)]
        for host in hosts:
            host.start()
        town.provider.set_delay(SEND_S)
        gateways = [host for host in hosts if host.kind == "gateway"]
        town.port = gateways[0].port
        begun = time.monotonic()
        accepted, products, killed = asyncio.run(_load(hosts, gateways, sizes))
        came_in_s = time.monotonic() - begun
        asyncio.run(_repeat(accepted, gateways))
        ids = {message: id_ for part in accepted for message, id_ in part.ids.items()}
        queue = RedisQueue(town, redis)
        try:
            wait_for_events(redis)
            everything = settle(town, queue, ids)
        except ChaosError as error:
            raise ChaosError(f"{error}\n{what_is_left(redis)}") from None
        own = {id_: entry for id_, entry in everything.entries.items() if entry.channel == "chaoschat"}
        answers = [entry for entry in everything.entries.values() if entry.channel == "teamchat"]
        ledger = Ledger(ids, own, everything.received)
        queued = Counter(answer.message_id for answer in answers)
        return [
            Figure("hosts", len(hosts)),
            Figure(
                "kills", sum(killed.values()), "≥", sizes.kills, detail=", ".join(f"{n} {k}" for k, n in killed.items())
            ),
            Figure("until all had come in", came_in_s, unit="s"),
            Figure("until all was worked off", time.monotonic() - begun, unit="s"),
            *ledger.figures(),
            *_duplicates(ledger),
            *_event_figures(hosts, products, redis, Counter(received_from(url)), queued),
        ]


def _kinds(sizes: Sizes) -> dict[str, int]:
    return {"gateway": sizes.gateways, "worker": sizes.workers, "bot": sizes.bots}


async def _load(
    hosts: list[Host], gateways: list[Host], sizes: Sizes
) -> tuple[list[Accepted], list[Product], Counter[str]]:
    """Run everything that comes in, and the kills, until both are done."""
    products = [Product(gateway.port, CHANNELS) for gateway in gateways]
    async with asyncio.TaskGroup() as group:
        killing = group.create_task(_kill_some(hosts, sizes))
        group.create_task(_call(products, sizes))
        share = -(-sizes.messages // len(gateways))
        sends = [group.create_task(_send(gateway, at, share, sizes)) for at, gateway in enumerate(gateways)]
    return [send.result() for send in sends], products, killing.result()


async def _send(gateway: Host, at: int, messages: int, sizes: Sizes) -> Accepted:
    """Queue messages at one gateway, each with a key, evenly over the time."""
    some = (Message(f"h{at}-{n}", "chaoschat", f"t{n % TARGETS}", keyed=True) for n in range(messages))
    slices = max(1, round(sizes.seconds / SLICE_S))
    accepted = Accepted()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number in range(slices):
        await asyncio.sleep(begun + number * SLICE_S - loop.time())
        many = messages * (number + 1) // slices - messages * number // slices
        part = await queue_all(gateway.port, islice(some, many), clients=8)
        accepted.ids |= part.ids
        accepted.unanswered |= part.unanswered
    return accepted


async def _repeat(accepted: list[Accepted], gateways: list[Host]) -> None:
    """Ask another gateway again for whatever got no answer."""
    for at, part in enumerate(accepted):
        await repeat_unanswered(gateways[(at + 1) % len(gateways)].port, part)


async def _call(products: list[Product], sizes: Sizes) -> None:
    """Call with one event after the other; every tenth comes to the next gateway at the same time."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(sizes.webhooks):
            await asyncio.sleep(begun + number * sizes.seconds / sizes.webhooks - loop.time())
            group.create_task(products[number % len(products)].insist(number))
            if number % 10 == 0:
                group.create_task(products[(number + 1) % len(products)].insist(number))
    for product in products:
        product.close()


async def _kill_some(hosts: list[Host], sizes: Sizes) -> Counter[str]:
    """Kill a process at random and start it again, evenly over the time."""
    random, killed = Random(sizes.seed), Counter[str]()
    restarts: dict[Host, asyncio.Task[None]] = {}
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(sizes.kills):
            await asyncio.sleep(begun + (number + 1) * sizes.seconds / (sizes.kills + 1) - loop.time())
            host = random.choice(hosts)
            if host in restarts:
                await restarts[host]
            killed[host.kind] += 1
            restarts[host] = group.create_task(_restart(host))
    return killed


async def _restart(host: Host) -> None:
    await asyncio.to_thread(host.kill)
    await asyncio.to_thread(host.start)


def wait_for_events(redis: Redis) -> None:
    """Return when no event is open."""

    def look() -> bool:
        states = ("new", "working", "replying")
        return not any(redis.ask("ZCARD", f"{{tocsin:inbox}}:status:{state}") for state in states)

    wait_for("every event is worked off", look, every_s=0.2)


def what_is_left(redis: Redis) -> str:
    """Return every open event and delivery with what Redis knows of it, at most 20 of each state: who holds it up."""
    told = []
    for store, key, states in (
        ("inbox", "e", ("new", "working", "replying")),
        ("delivery", "d", ("queued", "sending", "retry_wait")),
    ):
        place = f"{{tocsin:{store}}}:"
        for state in states:
            for raw in redis.ask("ZRANGE", f"{place}status:{state}", "0", "19"):
                id_ = raw.decode() if store == "inbox" else raw.decode()[12:]
                fields = redis.ask("HGETALL", f"{place}{key}:{id_}")
                told.append(f"{store} {state} {id_}: {b' '.join(fields).decode(errors='replace')[:600]}")
        told.append(f"{store} clock: {redis.ask('HGETALL', place + 'clock')}")
    told.append(f"owners: {redis.ask('HGETALL', '{tocsin:inbox}:owners')}")
    told.append(f"pace: {redis.ask('ZRANGE', '{tocsin:delivery}:pace', '0', '20', 'WITHSCORES')}")
    return "\n".join(told)


def _duplicates(ledger: Ledger) -> list[Figure]:
    """Return how many messages people saw twice, and whether the queue says so of each."""
    twice = {message for message, times in ledger.taken.items() if times > 1}
    marked = {entry.message_id for entry in ledger.entries.values() if entry.attempts > 1}
    return [Figure("seen twice", len(twice)), none_of("seen twice and not marked", twice - marked)]


def _event_figures(
    hosts: list[Host], products: list[Product], redis: Redis, seen: Counter[tuple[str, str]], queued: Counter[str]
) -> list[Figure]:
    names = {name for product in products for name in product.log.acknowledged}
    calls = sum(len(product.log.acknowledged) for product in products)
    answered = Counter(name for name, _ in seen.elements())
    files = [host.directory / "effects.txt" for host in hosts]
    effects = Counter(word for file in files if file.exists() for word in file.read_text().split())
    again = {name for name, times in effects.items() if times > 1}
    events = _events(redis)
    begun_again = {event.name for event in events if event.attempts > 1}
    interrupted = {event.name for event in events if event.reason.endswith("not run again")}
    once = {name for name in names if _is_once(name)}
    return [
        Figure("events acknowledged", len(names)),
        Figure("… and again by another gateway", calls - len(names)),
        none_of("events acknowledged and not worked on", names - effects.keys() - interrupted),
        none_of("events acknowledged and not answered", [n for n in names - interrupted if not answered[n]]),
        none_of("answers queued more than once", [t for t, times in queued.items() if times > 1 and t != INTERRUPTED]),
        none_of("events worked on again, and nobody was killed at them", again - begun_again),
        Figure("events that may not repeat", len(once)),
        none_of("… worked on twice", once & again),
        Figure("… interrupted by a kill, and told so instead", len(interrupted)),
        Figure("… interrupted, and not told", len(interrupted) - queued[INTERRUPTED], "=", 0),
        Figure("events that may repeat", len(names - once)),
        Figure("… worked on again after a kill", len(again - once)),
    ]


def _is_once(name: str) -> bool:
    return int(name[-1]) % 2 == 0


class _Event(NamedTuple):
    name: str
    attempts: int
    reason: str


def _events(redis: Redis) -> list[_Event]:
    """Return what the inbox knows; an attempt above the first means that a process was killed at the one before."""
    numbers = [raw.decode() for raw in redis.ask("ZRANGE", "{tocsin:inbox}:all", "0", "-1")]
    rows = redis.ask_many(("HMGET", f"{{tocsin:inbox}}:e:{n}", "message", "attempts", "reason") for n in numbers)
    found = [((body or b"").decode(), int(attempts or 0), (reason or b"").decode()) for body, attempts, reason in rows]
    return [_Event(body.partition("burst ")[2][: len(name_of(0))], *rest) for body, *rest in found]


def scale_workers(directory: Path, *, messages: int, workers: tuple[int, ...] = (1, 2, 4)) -> list[Figure]:
    """Measure how fast the queue is worked off by more and more workers."""
    rates = {many: _rate(directory / f"scale-{many}", messages, many) for many in workers}
    told = [Figure(f"sent with {many} workers", rate, unit="/s") for many, rate in rates.items()]
    last = max(workers)
    return [*told, Figure(f"{last} workers, times as fast as 1", rates[last] / rates[1], "≥", 3.4 if last == 4 else 1)]


def _rate(directory: Path, messages: int, many: int) -> float:
    directory.mkdir()
    with open_hosts(directory) as (town, redis, _):
        gateway = Host(town, "gateway", 0)
        gateway.start()
        town.port = gateway.port
        town.provider.set_delay(SLOW_S)
        some = (Message(f"s{n}", "chaoschat", f"t{n % TARGETS}") for n in range(messages * many))
        accepted = asyncio.run(queue_all(gateway.port, some, clients=16))
        hosts = [Host(town, "worker", n) for n in range(many)]
        for host in hosts:
            host.start()
        queue = RedisQueue(town, redis)
        wait_for("all is sent", lambda: queue.open_count() == 0, every_s=0.1)
        times = sorted(row.at for row in town.provider.rows())
        assert len(times) == len(accepted.ids), "each is sent once"
        # Neither while the workers start nor while the last lanes run dry.
        first, last = len(times) // 4, len(times) * 3 // 4
        return (last - first) / (times[last] - times[first])
