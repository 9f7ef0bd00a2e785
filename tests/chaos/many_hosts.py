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
from itertools import count
from pathlib import Path
from random import Random

from tests.chaos.clients import Accepted, Message, queue_all, repeat_unanswered
from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import Ledger, RedisQueue, settle
from tests.chaos.processes import HERE, TOCSIN, Child, Redis, Town, ask, open_town, wait_for
from tests.chaos.standins import StandIns
from tests.chaos.webhook_burst import TRIGGERS, Product, name_of, received_from
from tests.ports import free_port

from tocsin_standins.teamchat.server import SIGNING_SECRET, TOKEN

CHANNELS = 200
TARGETS = 400
SEND_S = 0.05
# For the throughput: as slow as providers are, so that waiting and not this machine is what more workers share.
SLOW_S = 0.2
IN_FLIGHT = 64


@dataclass(frozen=True)
class Sizes:
    """How many of each."""

    gateways: int = 3
    workers: int = 4
    bots: int = 1
    kills: int = 200
    messages: int = 100_000
    webhooks: int = 20_000
    webhook_rate: float = 50.0


class Host:
    """One process with a data directory of its own; started again it is the same host."""

    def __init__(self, town: Town, kind: str, number: int) -> None:
        self.kind = kind
        self.name = f"{kind}-{number}"
        self.port = free_port()
        self.directory = town.directory / self.name
        self.directory.mkdir()
        (self.directory / "triggers.yaml").write_text(TRIGGERS)
        self._town = town
        self._child: Child | None = None

    def start(self) -> None:
        """Start it; a gateway answers when this returns."""
        own = {"TOCSIN_DATA_DIR": str(self.directory), "GATEWAY_PORT": str(self.port)}
        workers = "0" if self.kind == "gateway" else "16"
        self._child = self._town.start_host([TOCSIN, self.kind], self.name, {"DELIVERY_WORKERS": workers} | own)
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
def _open(directory: Path) -> Iterator[tuple[Town, Redis, str]]:
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
    with _open(directory) as (town, redis, url):
        hosts = [Host(town, kind, n) for kind, many in _kinds(sizes).items() for n in range(many)]
        for host in hosts:
            host.start()
        town.provider.set_delay(SEND_S)
        gateways = [host for host in hosts if host.kind == "gateway"]
        town.port = gateways[0].port
        begun = time.monotonic()
        accepted, products, killed = asyncio.run(_load(hosts, gateways, sizes))
        asyncio.run(_repeat(accepted, gateways))
        ids = {message: id_ for part in accepted for message, id_ in part.ids.items()}
        queue = RedisQueue(town, redis)
        _wait_for_events(redis)
        everything = settle(town, queue, ids)
        own = {id_: entry for id_, entry in everything.entries.items() if entry.channel == "chaoschat"}
        answers = [entry for entry in everything.entries.values() if entry.channel == "teamchat"]
        ledger = Ledger(ids, own, everything.received)
        queued = Counter(answer.message_id for answer in answers)
        return [
            Figure("hosts", len(hosts)),
            Figure("kills", sum(killed.values()), detail=", ".join(f"{n} {kind}" for kind, n in killed.items())),
            Figure("seconds", time.monotonic() - begun, unit="s"),
            *ledger.figures(),
            *_duplicates(ledger),
            *_event_figures(hosts, products, redis, Counter(received_from(url)), queued),
        ]


def _kinds(sizes: Sizes) -> dict[str, int]:
    return {"gateway": sizes.gateways, "worker": sizes.workers, "bot": sizes.bots}


async def _load(
    hosts: list[Host], gateways: list[Host], sizes: Sizes
) -> tuple[list[Accepted], list[Product], Counter[str]]:
    """Run everything that comes in, and the kills, until all has come in."""
    products = [Product(gateway.port, CHANNELS) for gateway in gateways]
    killed: Counter[str] = Counter()
    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        killing = group.create_task(_kill_some(hosts, sizes, killed, done))
        events = group.create_task(_call(products, sizes))
        share = sizes.messages // len(gateways)
        sends = [group.create_task(_send(gateway, at, share)) for at, gateway in enumerate(gateways)]
        accepted = [await send for send in sends]
        await events
        done.set()
        await killing
    return accepted, products, killed


async def _send(gateway: Host, at: int, messages: int) -> Accepted:
    """Queue messages at one gateway, each with a key."""
    some = (Message(f"h{at}-{n}", "chaoschat", f"t{n % TARGETS}", keyed=True) for n in range(messages))
    return await queue_all(gateway.port, some, clients=8)


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
            await asyncio.sleep(begun + number / sizes.webhook_rate - loop.time())
            group.create_task(products[number % len(products)].insist(number))
            if number % 10 == 0:
                group.create_task(products[(number + 1) % len(products)].insist(number))
    for product in products:
        product.close()


async def _kill_some(hosts: list[Host], sizes: Sizes, killed: Counter[str], done: asyncio.Event) -> None:
    """Kill a process at random and start it again, evenly over the time that the events take."""
    random = Random(20261122)  # a run that can be repeated
    pause_s = sizes.webhooks / sizes.webhook_rate / (sizes.kills + 1)
    for _ in count():
        if sum(killed.values()) >= sizes.kills:
            return
        await asyncio.sleep(pause_s)
        if done.is_set():
            return
        host = random.choice(hosts)
        await asyncio.to_thread(host.kill)
        killed[host.kind] += 1
        await asyncio.to_thread(host.start)


def _wait_for_events(redis: Redis) -> None:
    def look() -> bool:
        states = ("new", "working", "replying")
        return not any(redis.ask("ZCARD", f"{{tocsin:inbox}}:status:{state}") for state in states)

    wait_for("every event is worked off", look, every_s=0.2)


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
    return [
        Figure("events acknowledged", len(names)),
        Figure("… and again by another gateway", calls - len(names)),
        none_of("events acknowledged and not worked on", names - effects.keys()),
        none_of("events acknowledged and not answered", [name for name in names if not answered[name]]),
        none_of("answers queued more than once", [text for text, times in queued.items() if times > 1]),
        none_of("events worked on again, and nobody was killed at them", again - _begun_again(redis)),
        Figure("events worked on again after a kill", len(again)),
    ]


def _begun_again(redis: Redis) -> set[str]:
    """Return the events with which more than one process had begun, because the first was killed."""
    numbers = [raw.decode() for raw in redis.ask("ZRANGE", "{tocsin:inbox}:all", "0", "-1")]
    rows = redis.ask_many(("HMGET", f"{{tocsin:inbox}}:e:{n}", "attempts", "message") for n in numbers)
    found = [(int(attempts or 0), (body or b"").decode()) for attempts, body in rows]
    return {body.partition("burst ")[2][: len(name_of(0))] for attempts, body in found if attempts > 1}


def scale_workers(directory: Path, *, messages: int, workers: tuple[int, ...] = (1, 2, 4)) -> list[Figure]:
    """Measure how fast the queue is worked off by more and more workers."""
    rates = {many: _rate(directory / f"scale-{many}", messages, many) for many in workers}
    told = [Figure(f"sent with {many} workers", rate, unit="/s") for many, rate in rates.items()]
    last = max(workers)
    return [*told, Figure(f"{last} workers, times as fast as 1", rates[last] / rates[1], "≥", 3.4 if last == 4 else 1)]


def _rate(directory: Path, messages: int, many: int) -> float:
    directory.mkdir()
    with _open(directory) as (town, redis, _):
        gateway = Host(town, "gateway", 0)
        gateway.start()
        town.port = gateway.port
        town.provider.set_delay(SLOW_S)
        some = (Message(f"s{n}", "chaoschat", f"t{n % TARGETS}") for n in range(messages * many))
        accepted = asyncio.run(queue_all(gateway.port, some, clients=16))
        hosts = [Host(town, "worker", n) for n in range(many)]
        town.environment["DELIVERY_WORKERS"] = str(IN_FLIGHT)
        for host in hosts:
            host.start()
        queue = RedisQueue(town, redis)
        wait_for("all is sent", lambda: queue.open_count() == 0, every_s=0.1)
        times = sorted(row.at for row in town.provider.rows())
        assert len(times) == len(accepted.ids), "each is sent once"
        # Neither while the workers start nor while the last lanes run dry.
        first, last = len(times) // 4, len(times) * 3 // 4
        return (last - first) / (times[last] - times[first])
