"""A failover of Sentinel under load: hosts receive and send again by themselves, and lose nothing they acknowledged."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

from tests.chaos.clients import Accepted, Message, queue_all, repeat_unanswered
from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import Ledger, RedisQueue, settle
from tests.chaos.many_hosts import CHANNELS, TARGETS, Host, wait_for_events
from tests.chaos.processes import HERE, open_town
from tests.chaos.webhook_burst import Product, received_from
from tests.delivery.redis_topologies import SentinelSetup, sentinel_setup

from tocsin_standins.teamchat.server import SIGNING_SECRET, TOKEN

AGAIN_S = 15.0
# Sentinels of the setup take a master for gone after a second: what succeeds later has met the next one.
FAILED_OVER_S = 1.0
SEND_S = 0.05


class MasterRedis:
    """Whichever server is the master, spoken to as the ledger does."""

    def __init__(self, setup: SentinelSetup) -> None:
        self._setup = setup

    def ask(self, *words: str) -> Any:
        """Run one command; text comes as bytes."""
        return _raw(self._setup.master().ask(*words))

    def ask_many(self, commands: Iterable[Sequence[str]]) -> list[Any]:
        """Run commands; return their answers."""
        master = self._setup.master()
        return [_raw(master.ask(*words)) for words in commands]


def _raw(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_raw(part) for part in answer]
    return answer.encode() if isinstance(answer, str) else answer


def survive_a_failover(directory: Path, *, before_s: float = 6.0, after_s: float = 20.0) -> list[Figure]:
    """Kill the master that two gateways and two workers use, with a replica that confirms each change."""
    with sentinel_setup() as setup, open_town(directory) as town:
        teamchat = town.run([sys.executable, HERE / "busy_teamchat.py", str(CHANNELS)], "teamchat", pipes=True)
        url = teamchat.first_line().strip()
        town.environment |= {
            "STORE": "redis",
            "REDIS_URL": setup.url,
            "REDIS_WAIT_REPLICAS": "1",
            "TEAMCHAT_API_URL": f"{url}/api",
            "TEAMCHAT_BOT_TOKEN": TOKEN,
            "TEAMCHAT_SIGNING_SECRET": SIGNING_SECRET,
        }
        town.provider.set_delay(SEND_S)
        hosts = [Host(town, kind, number) for kind in ("gateway", "worker") for number in range(2)]
        for host in hosts:
            host.start()
        town.port = hosts[0].port
        load = _Load(hosts[:2])
        killed_at = asyncio.run(load.run(setup, before_s, after_s))
        asyncio.run(repeat_unanswered(hosts[1].port, load.accepted))
        redis: Any = MasterRedis(setup)
        wait_for_events(redis)
        everything = settle(town, RedisQueue(town, redis), load.accepted.ids)
        own = {id_: entry for id_, entry in everything.entries.items() if entry.channel == "chaoschat"}
        ledger = Ledger(load.accepted.ids, own, everything.received)
        taken_at = [row.at for row in everything.received if row.taken]
        answered = Counter(name for name, _ in received_from(url))
        events = load.product.log.acknowledged
        return [
            Figure("messages accepted again after", _again(load.accepted_at, killed_at), "≤", AGAIN_S, "s"),
            Figure("webhook calls accepted again after", _again(load.received_at, killed_at), "≤", AGAIN_S, "s"),
            Figure("messages sent again after", _again(taken_at, killed_at), "≤", AGAIN_S, "s"),
            *ledger.figures(),
            Figure("seen twice", sum(times > 1 for times in ledger.taken.values())),
            Figure("events acknowledged", len(events)),
            none_of("events acknowledged and not answered", [name for name in events if not answered[name]]),
        ]


def _again(moments: Iterable[float], killed_at: float) -> float:
    later = [moment - killed_at for moment in moments if moment > killed_at + FAILED_OVER_S]
    return min(later, default=float("inf"))


class _Load:
    """Messages at one gateway and webhook calls at the other, without a pause."""

    def __init__(self, gateways: Sequence[Host]) -> None:
        self.accepted = Accepted()
        self.accepted_at: list[float] = []
        self.received_at: list[float] = []
        self.product = Product(gateways[1].port, CHANNELS)
        self._port = gateways[0].port
        self._ends = False

    async def run(self, setup: SentinelSetup, before_s: float, after_s: float) -> float:
        """Return when the master was killed, by the clock of all processes of this machine."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send())
            group.create_task(self._call())
            await asyncio.sleep(before_s)
            await asyncio.to_thread(setup.master().kill)
            killed_at = time.monotonic()
            await asyncio.sleep(after_s)
            self._ends = True
        self.product.close()
        return killed_at

    async def _send(self) -> None:
        numbers = count()
        while not self._ends:
            some = [Message(f"f{n}", "chaoschat", f"t{n % TARGETS}", keyed=True) for n in islice(numbers, 16)]
            part = await queue_all(self._port, iter(some), clients=4)
            if part.ids:
                self.accepted_at.append(time.monotonic())
            self.accepted.ids |= part.ids
            self.accepted.unanswered |= part.unanswered
            await asyncio.sleep(0.1)

    async def _call(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in count():
                if self._ends:
                    return
                group.create_task(self._insist(number))
                await asyncio.sleep(0.05)

    async def _insist(self, number: int) -> None:
        await self.product.insist(number)
        self.received_at.append(time.monotonic())
