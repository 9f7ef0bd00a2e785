"""Processes with an inbox, to be killed: `python -m tests.messaging.inbox_child` makes a fork for each line it reads.

A line is `<events> <most> <seed>`. The fork stores so many events, then works on everything there is; each handler
notes in `begun` that it was asked, and takes as long as `seed` says: for ever once `most` have begun, so that whoever
kills it is never too late. With `all` as `most`, none does; it also sends what is queued, into the file `rung`, and
makes the file `ended` when all has ended.
"""

import asyncio
import os
import random
from itertools import count
from pathlib import Path

from tests import forked
from tests.messaging.inbound.inbox_hall import SCHEMAS, Bell, message

from tocsin.channels.contract import Part, Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.dispatcher import Dispatcher
from tocsin.delivery.model import DeliveryStatus
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.loop_guard import OwnLoopGuard
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.work import InboxHooks, InboxWork
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.testing.fakes import ScriptedTransport, settings_of

CHATS = 10


def append(path: Path, line: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{line}\n".encode())
    os.close(file)


async def main(place: Path, events: int, pace: random.Random, most: int | None) -> None:
    begun = count(1)

    class Loud(Bell):
        async def deliver(self, part: Part) -> str:
            append(place / "rung", f"{part.target} {part.text}")
            return "rang"

    async def handler(received: MessageContext) -> HandlerResult:
        append(place / "begun", received.message.text)
        if most is not None and next(begun) > most:
            await asyncio.Event().wait()
        await asyncio.sleep(pace.uniform(0, 0.05))
        return HandlerResult(HandlingStatus.ANSWERED, (Reply(f"re {received.message.text}"),))

    clock = SystemClock()
    settings = settings_of([Loud], {"TOCSIN_DATA_DIR": str(place)})
    registry = Registry([Loud], settings, lambda: Tools(ScriptedTransport(), clock))
    audit = AuditTrail(AuditLog(place / "audit.log"))
    database = Database(place / "tocsin.db", SCHEMAS)
    queue, store = SqliteStore(database, clock), SqliteInbox(database, clock)
    outbox = Outbox(queue, registry, audit, clock)
    brake = OwnLoopGuard(10_000, clock.monotonic)
    work = InboxWork(store, registry, outbox, audit, clock, InboxHooks([handler]), brake)
    inbox = Inbox(store, work, audit, clock, Presence(SqliteBeats(database), clock))
    await inbox.accept([message(f"event{n}", f"chat{n % CHATS}", f"key{n}") for n in range(events)])
    dispatcher = Dispatcher(queue, registry, clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(inbox.run())
        if most is None:
            group.create_task(dispatcher.run())
            while (await queue.counts()).get(DeliveryStatus.SENT, 0) < total(place):
                await clock.sleep(0.01)
            inbox.stop()
            dispatcher.stop()
    await database.aclose()


def total(place: Path) -> int:
    return int((place / "total").read_text())


async def live(line: str) -> None:
    place, (events, most, seed) = Path(os.environ["TOCSIN_DATA_DIR"]), line.split()
    forked.begun()
    await main(place, int(events), random.Random(seed), None if most == "all" else int(most))
    (place / "ended").touch()
    await asyncio.Event().wait()


if __name__ == "__main__":
    forked.serve_forks(live)
