"""What the tests of the inbox share: a channel that receives, time in the hand of the test, a running inbox."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.audit_entries import check_audit_log
from tests.clocks import SteppedClock
from tests.waiting import PATIENCE_S

from tocsin.channels.contract import COMMONMARK, PLAIN, ChannelSpec, OutboundAdapter, Part, Tools
from tocsin.channels.inbound import (
    Handshake,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    PartlyAnsweredError,
    WebhookRequest,
)
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ChannelError
from tocsin.core.process import beats
from tocsin.core.process.beats import Beats, SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.delivery.model import Delivery
from tocsin.delivery.sqlite import schema as sqlite_schema
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.inbound import schema as inbox_schema
from tocsin.messaging.inbound.handling import Handler, HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.messaging.inbound.inbox import Inbox, OnReceived
from tocsin.messaging.inbound.loop_guard import OwnLoopGuard
from tocsin.messaging.inbound.model import InboxEvent
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.inbound.store import InboxStore
from tocsin.messaging.inbound.work import InboxHooks, InboxWork
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.testing.fakes import ScriptedTransport, settings_of

SCHEMAS = {
    "delivery": sqlite_schema.MIGRATIONS,
    "inbox": inbox_schema.MIGRATIONS,
    "presence": beats.MIGRATIONS,
}

Step = Callable[[InboundMessage], Awaitable[None]]


class Bell(OutboundAdapter):
    """Rings; it cannot ring where its target says so."""

    spec = ChannelSpec(
        "bell", "Bell", "a bell", aliases=("dingdong",), inbound=("webhook",), parse_modes=(PLAIN, COMMONMARK)
    )

    @classmethod
    def receiver(cls) -> type[InboundAdapter]:
        return Ear

    def check_target(self, target: str) -> str:
        if target == "nowhere":
            raise ChannelError("there is no such tower")
        return target

    async def deliver(self, part: Part) -> str:
        return f"rang {part.target}"

    async def probe(self) -> str:
        return "the belfry"


class Ear(InboundAdapter):
    """Notes what it is asked to do; a test may lay steps in its way."""

    name: ClassVar[str] = "bell"
    indicator_every_s: ClassVar[float | None] = 4.0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.acknowledged: list[str] = []
        self.indicated: list[str] = []
        self.answered: list[tuple[str, str]] = []
        self.answered_in: list[str] = []
        self.on_acknowledge: Step | None = None
        self.whispered: list[tuple[str, str]] = []
        self.on_answer: Step | None = None
        self.on_whisper: Step | None = None

    def verify(self, request: WebhookRequest, now: float) -> None:
        pass

    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        return None

    def reply_target(self, message: InboundMessage) -> str:
        return message.chat_id

    def reply_extra(self, message: InboundMessage) -> dict[str, Any]:
        return {"reply_to": message.id, "thread": message.thread_id} if message.thread_id else {}

    async def acknowledge(self, message: InboundMessage) -> None:
        self.acknowledged.append(message.text)
        if self.on_acknowledge:
            await self.on_acknowledge(message)

    async def start_processing_indicator(self, message: InboundMessage) -> None:
        self.indicated.append(message.text)
        raise ChannelError("nobody sees it")

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        if self.on_whisper:
            await self.on_whisper(message)
        self.whispered.append((message.text, response))

    async def send_response(self, message: InboundMessage, response: str, parse_mode: str = PLAIN) -> None:
        if self.on_answer:
            await self.on_answer(message)
        self.answered.append((message.text, response))
        self.answered_in.append(parse_mode)


def message(text: str = "hello", chat: str = "tower", *keys: str, **values: Any) -> InboundMessage:
    values.setdefault("kind", MessageKind.MESSAGE)
    return InboundMessage("bell", id="1", dedupe_keys=keys, chat_id=chat, text=text, **values)


def partly(unsent: str) -> Step:
    async def step(_: InboundMessage) -> None:
        raise PartlyAnsweredError("sent 1 of 2 parts", unsent=unsent)

    return step


def failing(error: Exception) -> Step:
    async def step(_: InboundMessage) -> None:
        raise error

    return step


async def echo(received: MessageContext) -> HandlerResult:
    """Answer with the same text."""
    return HandlerResult(HandlingStatus.ANSWERED, (Reply(received.message.text),))


@dataclass(slots=True)
class Hall:
    """One database with everything around it."""

    place: Path
    database: Database
    clock: SteppedClock
    registry: Registry
    log: AuditLog
    outbox: Outbox
    store: InboxStore
    signs: Beats
    dead: set[str] = field(default_factory=set)
    alive: set[str] = field(default_factory=set)
    buried: list[str] = field(default_factory=list)
    notified: list[str] = field(default_factory=list)

    @classmethod
    def build(cls, place: Path) -> "Hall":
        clock = SteppedClock()
        settings = settings_of([Bell], {"TOCSIN_DATA_DIR": str(place)})
        registry = Registry([Bell], settings, lambda: Tools(ScriptedTransport(), clock))
        log = AuditLog(place / "audit.log")
        database = Database(place / "tocsin.db", SCHEMAS)
        outbox = Outbox(SqliteStore(database, clock), registry, AuditTrail(log), clock)
        return cls(place, database, clock, registry, log, outbox, SqliteInbox(database, clock), SqliteBeats(database))

    @property
    def ear(self) -> Ear:
        ear = self.registry.receiver("bell")
        assert isinstance(ear, Ear)
        return ear

    def inbox(
        self,
        *handlers: Handler,
        owner: str = "me",
        limit: int = 60,
        store: Any = None,
        on_received: OnReceived | None = None,
        **duties: Any,
    ) -> Inbox:
        async def bury(ended: str) -> None:
            self.buried.append(ended)

        async def notify(text: str) -> None:
            self.notified.append(text)

        duty = InboxHooks(handlers, **{"notify": notify, **duties})
        brake = OwnLoopGuard(limit, self.clock.monotonic)
        kept = store or self.store
        work = InboxWork(kept, self.registry, self.outbox, AuditTrail(self.log), self.clock, duty, brake)
        trail = AuditTrail(self.log)
        own = self.process(owner)
        return Inbox(kept, work, trail, self.clock, own, before_taking_over=bury, on_received=on_received)

    def process(self, identity: str) -> Presence:
        """Return the presence of one process; `dead` and `alive` are what it can prove of others."""
        proofs = {"is_dead": self.dead.__contains__, "is_alive": self.alive.__contains__}
        return Presence(self.signs, self.clock, identity, **proofs)

    async def beats(self) -> dict[str, int]:
        """Return the signs of life of every process."""
        return await self.signs.all()

    async def ended(self, number: int = 1) -> list[InboxEvent]:
        """Wait until so many events have ended; return all, the oldest first."""
        while True:
            entries = (await self.store.search(1000))[::-1]
            if sum(entry.finished_at is not None for entry in entries) >= number:
                return entries
            await asyncio.sleep(0.001)

    async def queued(self) -> list[Delivery]:
        """Return what is queued, the oldest first."""
        return list((await self.outbox.store.search(DeliveryFilter(limit=200))).items)[::-1]

    async def replies(self) -> list[tuple[str, str]]:
        """Return target and text of what is queued."""
        return [(delivery.target, delivery.message) for delivery in await self.queued()]

    def audit(self, action: str) -> list[AuditEntry]:
        check_audit_log(self.log)
        return [entry for entry in reversed(self.log.tail(1000)) if entry.action == action]


@asynccontextmanager
async def running(*inboxes: Inbox) -> AsyncIterator[None]:
    """Run inboxes during the block."""
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for inbox in inboxes:
            group.create_task(inbox.run())
        try:
            yield
        finally:
            for inbox in inboxes:
                inbox.stop()


@asynccontextmanager
async def killed(inbox: Inbox) -> AsyncIterator[None]:
    """Run an inbox during the block, then end it as a crash does: it writes nothing any more."""
    task = asyncio.create_task(inbox.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def texts(entries: Sequence[InboxEvent]) -> list[str]:
    return [entry.message.text if entry.message else "" for entry in entries]


def statuses(entries: Sequence[InboxEvent]) -> list[str]:
    return [str(entry.status) for entry in entries]


def facts(entry: AuditEntry) -> Mapping[str, Any]:
    return {key: value for key, value in entry.metadata.items() if key != "chain"}
