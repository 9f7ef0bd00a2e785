"""Hostile webhook calls by the thousand against the whole gateway, in this process and with no provider behind it.

In blocks: first forged calls, while nothing else happens, after which not one byte of the database may have
changed; then signed calls with hostile bodies among good ones, which must be acknowledged and worked off.
"""

import asyncio
import gc
import json
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message
from tests.chaos.figures import Figure, none_of
from tests.waiting import eventually
from tests.web.conftest import SCHEMAS, make_app, parts_of
from tests.web.webhook_calls import Call, Stranger
from tests.web.webhook_products import PRODUCTS, Product

from tocsin.assembly.program import App
from tocsin.core.config.core_variables import REPLY_BRAKE
from tocsin.core.http.transport import CALL_TIMEOUT_S, MAX_BODY_BYTES, READ_TIMEOUT_S
from tocsin.core.http.transport import HttpResponse as HttpReply
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.loop_guard import OwnLoopGuard
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.work import InboxHooks, InboxWork
from tocsin.testing.fakes import FakeClock
from tocsin.web.gateway.app import build_gateway

BLOCK = 250
# Of a block: this many are forged, so many are good, the others are signed and hostile.
FORGED_SHARE, GOOD_SHARE = 0.8, 0.02
AT_ONCE = 16
WARM_UP = 500
# The copies of some bodies of 1 MiB, and what SQLite keeps of a growing database: 8 MiB for each of 5 connections.
# A bomb that goes off takes 256 MiB.
MAX_GROWTH_MIB = 96.0
# No server hands on so much of one body: whoever asks for more does not stop by himself.
ENDLESS_BYTES = 64 * 1024 * 1024
STATUS = Path("/proc/self/status")
ENDS = {"answered", "ignored", "failed"}
ENDED = "SELECT status, reason, message FROM inbox"
REJECTED = "a webhook request was rejected"
LIMITS = {"RATE_LIMIT_PER_IP": "1000000000", "WEBHOOK_RATE_LIMIT": "1000000000", "REPLY_BRAKE": "10000"}


@dataclass(slots=True)
class Provider:
    """Answers every call of ours at once, and counts them: no call leaves this process."""

    calls: int = 0

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: object,
        body: bytes = b"",
        timeout_s: float = CALL_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> HttpReply:
        """See `Transport.request`."""
        self.calls += 1
        result = {"id": 4_200_000_001, "username": "helper", "message_id": 5}
        return HttpReply(200, {}, json.dumps({"ok": True, "ts": "1.000001", "id": "9", "result": result}).encode())

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


class Unhurried:
    """The clock of the test, on which the inbox waits without turning it."""

    def __init__(self, clock: Clock) -> None:
        self.now, self.monotonic = clock.now, clock.monotonic

    async def sleep(self, seconds: float) -> None:
        """Wait a moment of real time."""
        await asyncio.sleep(min(seconds, 0.005))


class Records(logging.Handler):
    """What the program logs."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep level and words of a record, and what broke."""
        broken = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        self.kept.append((record.levelno, record.getMessage() + broken))


@dataclass(slots=True)
class Found:
    """What was wrong, each with the call that showed it."""

    statuses: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)  # 500 and above, or no answer at all
    unexpected: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)  # 401 with another body or other headers
    effects: list[str] = field(default_factory=list)  # before verification
    faults: list[str] = field(default_factory=list)  # logged as errors
    growth_mib: float = 0.0
    calls: int = 0
    good: int = 0


@dataclass(frozen=True, slots=True)
class Door:
    """A gateway whose inbox works, and everything an unverified call could touch."""

    product: Product
    gateway: ASGIApp
    app: App
    clock: FakeClock
    provider: Provider
    database: Database
    store: SqliteInbox
    watch: "Watch"
    found: Found
    usual: list[tuple[object, ...]] = field(default_factory=list)  # the first 401

    async def ask(self, call: Call) -> int:
        """Make one call from an address of its own, a second after the last; return the status, 0 for none."""
        self.found.calls += 1
        self.clock.advance(1.0)
        pieces = call.pieces()
        read = 0

        async def receive() -> Message:
            nonlocal read
            body, more = next(pieces, (b"", False))
            read += len(body)
            assert read <= ENDLESS_BYTES, "the body is read without an end"
            if not more and call.cut_off:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body, "more_body": more}

        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        await self.gateway(self._scope(call), receive, send)
        head, body = sent[0], b"".join(part.get("body", b"") for part in sent[1:])
        self._check(call, head["status"], head["headers"], body)
        return int(head["status"])

    def _scope(self, call: Call) -> Message:
        number = self.found.calls
        path = f"/webhook/{self.product.kind}"
        address = f"198.{18 + number // 65536 % 2}.{number // 256 % 256}.{number % 256}"
        return {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": list(call.headers), "client": (address, 50_000),
            "server": ("127.0.0.1", 8100), "state": {},
        }  # fmt: skip

    def _check(self, call: Call, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        found = self.found
        found.statuses[f"{call.what}: {status}"] += 1
        if status >= 500:
            found.broken.append(f"{call}"[:400])
        elif status not in call.expected:
            found.unexpected.append(f"{status} for {call}"[:400])
        if status != 401:
            return
        name = dict(headers)[b"x-request-id"]
        shown = (body.replace(name, b"*"), [(key, value) for key, value in headers if key != b"x-request-id"])
        self.usual.append(shown)
        if shown != self.usual[0]:
            found.different.append(f"{shown} for {call}"[:400])
        del self.usual[1:]

    async def refuse(self, calls: Iterator[Call]) -> None:
        """Make calls of which none may have an effect."""
        before, wanted = self.watch.moment(), Counter[str]()
        for call in calls:
            traces = self.provider.calls, len(self.watch.records.kept)
            status = await self.ask(call)
            wanted["rejected"] += status == 401
            if (self.provider.calls, len(self.watch.records.kept) - (status == 401)) != traces:
                last = self.watch.records.kept[-1:]
                self.found.effects.append(f"{self.provider.calls - traces[0]} calls, log {last} by {call}"[:400])
        self.found.effects += self.watch.effects_since(before, rejected=wanted["rejected"])

    async def admit(self, calls: list[Call]) -> None:
        """Make calls that are let in, some at a time, and wait until they are worked off."""
        for start in range(0, len(calls), AT_ONCE):
            await asyncio.gather(*map(self.ask, calls[start : start + AT_ONCE]))

        async def worked_off() -> bool:
            return not (await self.store.backlog()).open

        await eventually(worked_off, "what was received is not worked off")


class Watch:
    """Everything that a call may leave behind."""

    def __init__(self, app: App, path: Path, records: Records) -> None:
        self.records = records
        self._audit = app.audit.log.path
        self._database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def moment(self) -> tuple[int, int, int]:
        """Return how far log, audit log and database are."""
        size = self._audit.stat().st_size if self._audit.exists() else 0
        return len(self.records.kept), size, self._version()

    def effects_since(self, moment: tuple[int, int, int], *, rejected: int) -> list[str]:
        """Return what came since then beside a line in log and audit log for each rejected call."""
        logged, size, version = moment
        effects = [f"log: {text}" for _, text in self.records.kept[logged:] if text != REJECTED]
        lines = self._audit_since(size)
        effects += [f"audit: {line['action']}" for line in lines if line["action"] != "msg.reject"]
        reasons = [line["metadata"]["reason"] for line in lines if line["action"] == "msg.reject"]
        effects += [f"a bug of the verifier: {reason}" for reason in reasons if reason.startswith("unexpected")]
        if len(reasons) != rejected:
            effects.append(f"{rejected} calls were rejected, the audit log has {len(reasons)}")
        if self._version() != version:
            effects.append("something was written to the database")
        return effects

    def _audit_since(self, size: int) -> list[dict[str, Any]]:
        if not self._audit.exists():
            return []
        with self._audit.open("rb") as file:
            file.seek(size)
            return [json.loads(line) for line in file]

    def _version(self) -> int:
        """Return what is another number whenever somebody else has changed the database."""
        return int(self._database.execute("PRAGMA data_version").fetchone()[0])


def fuzz(directory: Path, kind: str, *, calls: int, seed: int = 20261120) -> list[Figure]:
    """Make so many calls to the webhook of one channel."""
    logger = logging.getLogger("tocsin")
    records, level, propagates = Records(), logger.level, logger.propagate
    logger.addHandler(records)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        return asyncio.run(_fuzz(directory, PRODUCTS[kind], calls, seed, records))
    finally:
        logger.removeHandler(records)
        logger.setLevel(level)
        logger.propagate = propagates


async def _fuzz(directory: Path, product: Product, calls: int, seed: int, records: Records) -> list[Figure]:
    found, stranger = Found(), Stranger(product, seed)
    without_secret = {name: value for name, value in product.env.items() if name != product.secret}
    async with open_door(directory / "open", product, without_secret, found, records) as door:
        await door.refuse(stranger.forged(door.clock.now()) for _ in range(calls // 100))
        await door.refuse(replace(stranger.good(door.clock.now()), expected=(401,)) for _ in range(calls // 100))
    async with open_door(directory / "whole", product, product.env, found, records) as door:
        await _block(door, stranger, WARM_UP)
        begun, memory = time.process_time(), Memory()
        while found.calls < calls:
            await _block(door, stranger, min(BLOCK, calls - found.calls))
        found.growth_mib, spent = memory.growth_mib(), time.process_time() - begun
        entries = await door.database.read(lambda c: [tuple(row) for row in c.execute(ENDED)])
    return _figures(found, entries, spent)


async def _block(door: Door, stranger: Stranger, calls: int) -> None:
    forged, good = round(calls * FORGED_SHARE), max(1, round(calls * GOOD_SHARE))
    await door.refuse(stranger.forged(door.clock.now()) for _ in range(forged))
    signed = [stranger.good(door.clock.now()) for _ in range(good)]
    signed += [stranger.hostile(door.clock.now()) for _ in range(calls - forged - 2 * good)]
    already = len(door.watch.records.kept)
    await door.admit(signed + signed[:good])  # the good ones come twice
    told = door.watch.records.kept[already:]
    door.found.faults += [text for level, text in told if level >= logging.ERROR]
    door.found.good += good
    door.watch.records.kept.clear()


def _figures(found: Found, entries: list[tuple[Any, ...]], spent: float) -> list[Figure]:
    ends = Counter(str(status) for status, _, _ in entries)
    accepted = sum(ends.values())
    rejected = sum(number for what, number in found.statuses.items() if what.endswith(": 401"))
    return [
        Figure("calls", found.calls, detail=", ".join(f"{n} {what}" for what, n in sorted(found.statuses.items()))),
        Figure("rejected with 401", rejected, "≥", found.calls * FORGED_SHARE * 0.9),
        none_of("answered with 500 or more", found.broken),
        none_of("answered with another status than they must be", found.unexpected),
        none_of("answers of 401 unlike the first one", found.different),
        none_of("effects before verification", found.effects),
        Figure("events accepted", accepted, "≥", found.good, detail=str(dict(ends))),
        none_of("events without a documented end", [entry for entry in entries if entry[0] not in ENDS]),
        none_of("events whose work broke", [entry for entry in entries if "unexpected" in str(entry[1])]),
        none_of("errors of ours in the log", found.faults),
        Figure("memory, at its highest above the start", found.growth_mib, "≤", MAX_GROWTH_MIB, "MiB"),
        Figure("processor time a call, the making of it included", spent / found.calls * 1e6, unit="µs"),
    ]


class Memory:
    """The most memory this process has had since this was made, where the system tells."""

    def __init__(self) -> None:
        gc.collect()
        if STATUS.exists():
            Path("/proc/self/clear_refs").write_text("5")  # proc(5): forget the highest so far
        self._before = self._kib("VmRSS")

    def growth_mib(self) -> float:
        """Return how far above the start it was at its highest."""
        return (self._kib("VmHWM") - self._before) / 1024

    def _kib(self, name: str) -> int:
        lines = STATUS.read_text().splitlines() if STATUS.exists() else [f"{name}: 0 kB"]
        return int(next(line for line in lines if line.startswith(name)).split()[1])


async def echo(received: MessageContext) -> HandlerResult:
    """Answer with what was said, so that whatever was let in goes all the way to the queue."""
    return HandlerResult(HandlingStatus.ANSWERED, (Reply(received.message.text or received.message.args or "?"),))


@asynccontextmanager
async def open_door(
    directory: Path, product: Product, env: Mapping[str, str], found: Found, records: Records
) -> AsyncIterator[Door]:
    """Open a gateway in a directory of its own, with its inbox at work."""
    directory.mkdir(parents=True)
    clock, provider = FakeClock(), Provider()
    database = Database(directory / "tocsin.db", SCHEMAS)
    app = make_app(directory, {**env, **LIMITS}, provider, clock, database)
    brake = OwnLoopGuard(app.settings[REPLY_BRAKE], clock.monotonic)
    waiting = Unhurried(clock)
    store = SqliteInbox(database, clock)
    work = InboxWork(store, app.registry, app.outbox, app.audit, waiting, InboxHooks((echo,)), brake)
    inbox = Inbox(store, work, app.audit, waiting, app.presence())
    await database.read(lambda _: None)  # the file is made at its first use
    watch = Watch(app, database.path, records)
    door = Door(
        product, build_gateway(parts_of(app, clock, inbox=inbox)), app, clock, provider, database, store, watch, found
    )
    working = asyncio.create_task(inbox.run())
    try:
        yield door
    finally:
        inbox.stop()
        await working
        watch.close()
        app.audit.log.close()
        await database.aclose()
