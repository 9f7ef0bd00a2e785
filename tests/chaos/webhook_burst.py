"""A burst of webhook calls with a kill in its middle: whatever was acknowledged is answered, and answered once.

The product is played by a client that calls at a fixed rate, whatever the answers do, and that calls again
with every event which it got no answer for. Each event runs a command and its output goes to the channel it came from.
"""

import asyncio
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.channels.teamchat.calls import event, signed
from tests.chaos.busy_teamchat import channel
from tests.chaos.figures import Figure, none_of, percentile
from tests.chaos.processes import HERE, PATIENCE_S, Child, Town, ask, open_town, wait_for

from tocsin_standins.teamchat.server import SIGNING_SECRET, TOKEN

RATE = 200.0
AGAIN_S = 0.25
CONNECTIONS = 64
TRIGGERS = """\
- pattern: '^burst (e[0-9]+)$'
  command: 'echo "$1" >> effects.txt; echo "heard $1"'
"""
OPEN = (
    "SELECT (SELECT count(*) FROM inbox WHERE status IN ('new', 'working', 'replying'))"
    " + (SELECT count(*) FROM deliveries WHERE status IN ('queued', 'sending', 'retry_wait'))"
)
# Begun, and what came of it not kept yet.
COMMANDS_IN_FLIGHT = (
    "SELECT (SELECT count(*) FROM runs) - (SELECT count(*) FROM inbox WHERE status NOT IN ('new', 'working'))"
)
ANSWERS_IN_FLIGHT = "SELECT count(*) FROM lanes WHERE sending IS NOT NULL"
ANSWERS = "SELECT message, count(*) FROM deliveries GROUP BY message"


@dataclass(slots=True)
class Log:
    """What the product saw, by the name of the event."""

    acknowledged: dict[str, float] = field(default_factory=dict)  # how long the successful call took
    attempts: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    late: float = 0.0  # the most a call began behind its time
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class InFlight:
    """What the killed gateway was at."""

    commands: int
    answers: int
    away_s: float


class Product:
    """Delivers events over kept connections, and again whatever is not acknowledged in the time it allows."""

    def __init__(self, port: int, channels: int, *, deadline_s: float = 3.0) -> None:
        self.log = Log()
        self._port = port
        self._channels = channels
        self._deadline_s = deadline_s
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._places = asyncio.Semaphore(CONNECTIONS)

    async def deliver(self, numbers: Iterable[int]) -> None:
        """Call with one event after the other at the rate; return when all are acknowledged."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.TaskGroup() as group:
            for number in numbers:
                due = begun + number / RATE
                await asyncio.sleep(due - loop.time())
                self.log.late = max(self.log.late, loop.time() - due)
                group.create_task(self.insist(number))
        self.log.seconds = loop.time() - begun
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for _, writer in self._idle:
            writer.close()

    async def insist(self, number: int) -> None:
        """Call with one event until it is acknowledged."""
        name = name_of(number)
        body = event(number, channel=channel(number % self._channels), text=f"burst {name}", event_id=f"Ev{name}")
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while name not in self.log.acknowledged:
                    await self._try(name, body)

    async def _try(self, name: str, body: bytes) -> None:
        self.log.attempts[name] += 1
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(self._deadline_s):
                status = await self._call(body, self.log.attempts[name] - 1)
        except (OSError, EOFError, TimeoutError):
            await asyncio.sleep(AGAIN_S)
            return
        if status == 200:
            self.log.acknowledged[name] = time.perf_counter() - begun
        else:
            self.log.refused.append(f"{name}: {status}")
            await asyncio.sleep(AGAIN_S)

    async def _call(self, body: bytes, already: int) -> int:
        """Make one call, signed at this moment, and return the status."""
        request = signed(body, time.time(), SIGNING_SECRET)
        retried = (("x-slack-retry-num", str(already)), ("x-slack-retry-reason", "http_timeout")) if already else ()
        headers = "".join(f"{name}: {value}\r\n" for name, value in (*request.headers, *retried))
        head = (
            f"POST /webhook/teamchat HTTP/1.1\r\nHost: tocsin.example.org\r\nContent-Type: application/json\r\n"
            f"{headers}Content-Length: {len(body)}\r\n\r\n"
        )
        async with self._places:
            reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
            try:
                writer.write(head.encode() + body)
                answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(answer.partition("content-length: ")[2].partition("\r\n")[0] or 0))
            except BaseException:
                writer.transport.abort()
                raise
            self._idle.append((reader, writer))
        return int(answer.split(" ", 2)[1])


def survive_burst(directory: Path, *, seconds: float, channels: int) -> list[Figure]:
    """Deliver 200 events a second for so long, and kill the gateway in the middle."""
    with open_town(directory, {"REDIS_URL": "off", "LOG_FORMAT": "json"}) as town:
        provider = town.run([sys.executable, HERE / "busy_teamchat.py", str(channels)], "teamchat", pipes=True)
        url = provider.first_line().strip()
        town.environment |= {
            "TEAMCHAT_API_URL": f"{url}/api",
            "TEAMCHAT_BOT_TOKEN": TOKEN,
            "TEAMCHAT_SIGNING_SECRET": SIGNING_SECRET,
        }
        (town.data_dir / "triggers.yaml").write_text(TRIGGERS)
        town.start_gateway()
        events = round(seconds * RATE)
        log, in_flight = asyncio.run(_burst(town, events, channels, seconds / 2))
        ended = time.monotonic()
        _settle(town)
        worked_off_s = time.monotonic() - ended
        p99 = percentile(log.acknowledged.values(), 0.99)
        return [
            *_figures(town, received_from(url), log, in_flight, channels),
            Figure("acknowledged, p99", p99, "≤", 1.0, "s"),
            Figure("until all were answered, after the last call", worked_off_s, unit="s"),
        ]


async def _burst(town: Town, events: int, channels: int, kill_after_s: float) -> tuple[Log, InFlight]:
    product = Product(town.port, channels)
    delivering = asyncio.create_task(product.deliver(range(events)))
    await asyncio.sleep(kill_after_s)
    in_flight = await asyncio.to_thread(_kill_and_start, town)
    await delivering
    return product.log, in_flight


def _kill_and_start(town: Town) -> InFlight:
    gateway = _gateway(town)
    gateway.kill()
    begun = time.monotonic()
    commands, answers = _number(town, COMMANDS_IN_FLIGHT), _number(town, ANSWERS_IN_FLIGHT)
    town.start_gateway()
    return InFlight(commands, answers, time.monotonic() - begun)


def _gateway(town: Town) -> Child:
    assert town.gateway is not None
    town.gateway.must_live()
    return town.gateway


def _settle(town: Town) -> None:
    def look() -> bool:
        _gateway(town)
        return _number(town, OPEN) == 0

    wait_for("every event is answered", look, every_s=0.1)


def received_from(url: str) -> list[tuple[str, str]]:
    """Return the name of the event and the channel of every answer that people saw."""
    _, document = ask(urlsplit(url).port or 0, "GET", "/_standin/received?kind=message", None, {})
    return [(_name_in(item["text"]), item["target"]) for item in document["received"]]


def _figures(town: Town, received: list[tuple[str, str]], log: Log, in_flight: InFlight, channels: int) -> list[Figure]:
    names, answers = log.acknowledged.keys(), Counter(name for name, _ in received)
    effects = Counter((town.data_dir / "effects.txt").read_text().split())
    elsewhere = [name for name, place in received if place != channel(int(name[1:]) % channels)]
    queued_again = [text for text, number in _rows(town, ANSWERS) if int(str(number)) > 1]
    return [
        Figure("events acknowledged", len(names), "=", len(log.attempts)),
        Figure("calls a second", len(log.attempts) / log.seconds, unit="/s"),
        Figure("a call began behind its time, at most", log.late, unit="s"),
        Figure("without a gateway", in_flight.away_s, unit="s"),
        Figure("calls made again", sum(number - 1 for number in log.attempts.values()), "≥", 1),
        none_of("calls refused", log.refused),
        Figure("acknowledged, median", percentile(log.acknowledged.values(), 0.5), unit="s"),
        none_of("acknowledged and not answered", [name for name in names if not answers[name]]),
        none_of("answered in another channel", elsewhere),
        none_of("answered though nobody asked", answers.keys() - names),
        none_of("answers queued more than once", queued_again),
        Figure("answers sent again (at most: in flight at the kill)", _too_many(answers), "≤", in_flight.answers),
        none_of("commands that did not run", names - effects.keys()),
        Figure("commands run again (at most: in flight at the kill)", _too_many(effects), "≤", in_flight.commands),
    ]


def _name_in(answer: str) -> str:
    return answer.removeprefix("heard ").strip()


def name_of(number: int) -> str:
    """Return what names an event in its text, in the answer and in the file that its command writes."""
    return f"e{number:05}"


def _too_many(counts: Counter[str]) -> int:
    return sum(number - 1 for number in counts.values())


def _number(town: Town, sql: str) -> int:
    return int(str(_rows(town, sql)[0][0]))


def _rows(town: Town, sql: str) -> list[tuple[object, ...]]:
    path = town.data_dir / "tocsin.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
        return connection.execute(sql).fetchall()
