"""The whole bot on a real database, with stand-ins at its seams: provider, Bot API, queue, time."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from tests.audit_entries import check_audit_log
from tests.clocks import SteppedClock

from tocsin.assembly.full.bot import BotDependencies, build_bot, build_executor
from tocsin.bot.commands import CommandDependencies
from tocsin.bot.contract import Prepared, ShownMessage, SkillResult
from tocsin.bot.runner import Bot
from tocsin.bot.schema import SCHEMAS
from tocsin.bot.settings import BotSettings
from tocsin.bot.storage.stores import sqlite_bot_stores
from tocsin.bot.talk.sessions import Sessions
from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.botchat.conversation import BotchatConversation
from tocsin.channels.contract import Tools
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.settings import Settings
from tocsin.core.errors import TocsinError
from tocsin.core.http.transport import HttpResponse, Transport
from tocsin.core.storage.database import READERS, Database
from tocsin.core.time.clock import Clock
from tocsin.features.ability_records import SkillInfo
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.providers.contract import Completion, Question
from tocsin.runs.model import Run, RunStatus, RunTrigger

T = TypeVar("T")

ADMIN = "900"


@dataclass
class Call:
    """One question to the provider, answered when the test says so."""

    question: Question
    on_text: Callable[[str], None] | None
    on_restart: Callable[[], None] | None
    outcome: "asyncio.Future[Completion]"
    cancelled: bool = False

    @property
    def turns(self) -> list[str]:
        return [f"{turn.role}: {turn.text}" for turn in self.question.turns]

    def write(self, piece: str) -> None:
        assert self.on_text is not None
        self.on_text(piece)

    def answer(self, text: str, *, truncated: bool = False) -> None:
        self.outcome.set_result(Completion(text, "model-1", "scripted", truncated=truncated))

    def fail(self, error: TocsinError) -> None:
        self.outcome.set_exception(error)


class ScriptedProvider:
    """Answers by `reply`, or, without one, each call as the test says."""

    name, model = "scripted", "model-1"

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.reply: Callable[[str], str] | None = lambda text: f"You said: {text}"

    async def ask(
        self,
        question: Question,
        on_text: Callable[[str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> Completion:
        call = Call(question, on_text, on_restart, asyncio.get_running_loop().create_future())
        self.calls.append(call)
        if self.reply:
            call.answer(self.reply(question.turns[-1].text))
        try:
            return await call.outcome
        except asyncio.CancelledError:
            call.cancelled = True
            raise

    async def extract(self, question: Question, shape: type[Any]) -> Any:
        raise NotImplementedError

    async def aclose(self) -> None:
        pass


class RecordingApi:
    """The Bot API behind a transport: every call is kept; `failures` are raised first; a `hold` delays answers."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.failures: list[Exception] = []
        self.hold: asyncio.Event | None = None
        self._ids = count(500)

    async def request(self, _: str, url: str, *, body: bytes = b"", **__: Any) -> HttpResponse:
        method = url.rpartition("/")[2]
        self.calls.append((method, json.loads(body)))
        if self.failures:
            raise self.failures.pop(0)
        if self.hold:
            await self.hold.wait()
        result = {"message_id": next(self._ids)} if method == "sendMessage" else True
        return HttpResponse(200, {}, json.dumps({"ok": True, "result": result}).encode())

    async def aclose(self) -> None: ...

    def texts(self, method: str) -> list[str]:
        return [params["text"] for name, params in self.calls if name == method]


def conversation(http: Transport, clock: Clock, **env: str) -> BotchatConversation:
    """Return the channel of the bot, whose product is behind `http`."""
    variables = BotchatAdapter.spec.variables
    environ = {"TOCSIN_DATA_DIR": "/nonexistent", "BOTCHAT_BOT_TOKEN": "123:abc", **env}
    return BotchatConversation(Settings.load(variables, environ=environ).only(variables), Tools(http, clock))


@dataclass
class Skills:
    """Installed skills, and what became of those that ran."""

    names: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    ran: list[tuple[str, tuple[str, ...], str, str]] = field(default_factory=list)
    status: RunStatus = RunStatus.SUCCEEDED
    output: str = "done"
    error: TocsinError | None = None
    hold: asyncio.Event | None = None

    async def list(self, *, every: bool = False) -> list[SkillInfo]:
        found = [SkillInfo(name, f"does {name}", self.reasons.get(name, "")) for name in self.names]
        return [skill for skill in found if every or not skill.reason]

    async def run(self, name: str, *, args: tuple[str, ...], input: str, actor: str) -> SkillResult:
        self.ran.append((name, args, input, actor))
        if self.hold:
            await self.hold.wait()
        if self.error:
            raise self.error
        run = Run(
            id="run-1",
            kind="skill",
            subject_id=name,
            subject_name=name,
            trigger=RunTrigger.BOT,
            status=self.status,
            queued_at=0.0,
        )
        return SkillResult(run, self.output)


MakeChannel = Callable[[Clock], ConversationAdapter]


class CountedDatabase(Database):
    """A database that knows how many reads and writes are under way."""

    pending = 0

    async def settled(self) -> None:
        """Wait for what is under way: every thread that reads has come to its end, and the one that writes."""
        await asyncio.gather(*(super(CountedDatabase, self).read(lambda _: None) for _ in range(READERS)))
        await super().write(lambda _: None)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self.pending += 1
        try:
            return await super().write(work)
        finally:
            self.pending -= 1

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self.pending += 1
        try:
            return await super().read(work)
        finally:
            self.pending -= 1


class CountedThreads(ThreadPoolExecutor):
    """Threads of the event loop that know how many calls are under way."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: set[Future[Any]] = set()

    @property
    def pending(self) -> bool:
        return any(not call.done() for call in self._calls)

    async def settled(self) -> None:
        """Wait for the calls that are under way."""
        await asyncio.gather(*map(asyncio.wrap_future, self._calls), return_exceptions=True)

    def submit(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        call = super().submit(*args, **kwargs)
        self._calls = {known for known in self._calls if not known.done()} | {call}
        return call


class Bench:
    """The bot, what it was given, and what came of it. `send` does what the inbox does."""

    def __init__(
        self, directory: Path, settings: BotSettings, channel: MakeChannel | None = None, **parts: Any
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.given = parts
        self.clock = SteppedClock()
        self.sessions = Sessions(self.clock, ttl_s=3600, window=settings.max_history)
        self.provider: ScriptedProvider | None = ScriptedProvider()
        self.api = RecordingApi()
        self.channel = channel(self.clock) if channel else conversation(self.api, self.clock)
        self.skills = Skills()
        self.model_problems: dict[str, str] = {}
        self.told: list[tuple[str, Reply]] = []
        self.keys: set[str] = set()
        self.shown: dict[str, ShownMessage] = {}  # by delivery
        self.prepared: Callable[[InboundMessage], Prepared] = lambda message: Prepared(message.text)
        self.audit = AuditLog(directory / "audit.log")
        self._numbers = count(1)
        self._threads: CountedThreads | None = None
        self.start()

    def start(self) -> None:
        """Open the database and put the bot together, as after a restart."""
        self.database = CountedDatabase(self.directory / "tocsin.db", SCHEMAS)
        self.bot: Bot = build_bot(self._parts())

    async def restart(self, settings: BotSettings | None = None) -> None:
        await self.database.aclose()
        self.settings = settings or self.settings
        self.start()

    async def aclose(self) -> None:
        await self.database.aclose()
        check_audit_log(self.audit)
        self.audit.close()

    def _parts(self) -> BotDependencies:
        async def tell(target: str, reply: Reply, key: str) -> str:
            if key not in self.keys:
                self.keys.add(key)
                self.told.append((target, reply))
            return f"delivery to {target}"

        async def shown_as(delivery: str) -> ShownMessage | None:
            return self.shown.get(delivery)

        async def status_lines() -> list[str]:
            return ["Queue: 0 waiting", "Cron: 3 jobs, all well"]

        async def run_lines() -> list[str]:
            return ["2b8d7c6e backup (cron): failed, 5 min ago"]

        async def prepare(message: InboundMessage) -> Prepared:
            return self.prepared(message)

        async def provider() -> ScriptedProvider | None:
            return self.provider

        stores = sqlite_bot_stores(self.database, self.clock)
        of_executor = {name: self.given[name] for name in ("hold", "indicating") if name in self.given}
        usual: dict[str, Any] = {
            "settings": self.settings,
            "executor": build_executor(self.settings, stores, self.clock, self.channel, tell, **of_executor),
            "stores": stores,
            "clock": self.clock,
            "audit": AuditTrail(self.audit),
            "sessions": self.sessions,
            "channel": self.channel,
            "tell": tell,
            "shown_as": shown_as,
            "for_commands": CommandDependencies(
                self.skills,
                self.skills.run,
                status_lines,
                run_lines,
                "scripted model-1",
                model_problems=lambda: self.model_problems,
            ),
            "provider": provider,
            "prepare": prepare,
        }
        return BotDependencies(**usual | {name: part for name, part in self.given.items() if name not in of_executor})

    async def settle(self) -> None:
        """Let everything happen that can: nothing waits for the database or a thread for some turns in a row."""
        loop = asyncio.get_running_loop()
        if self._threads is None:
            self._threads = CountedThreads()
            loop.set_default_executor(self._threads)
        quiet = 0
        while quiet < 25:
            await asyncio.sleep(0)
            quiet += 1
            while self.database.pending or self._threads.pending:
                await self.database.settled()
                await self._threads.settled()
                quiet = 0

    async def pass_time(self, seconds: float) -> None:
        """Let `seconds` pass, and everything react."""
        self.clock.advance(seconds)
        await self.settle()

    def received(self, text: str = "", *, chat: str = "7", id: str = "", **fields: Any) -> MessageContext:
        """Return an event as the inbox hands it over; a text with a slash is a command."""
        number = next(self._numbers)
        kind = MessageKind.COMMAND if text.startswith("/") else MessageKind.MESSAGE
        command, _, args = text.removeprefix("/").partition(" ")
        about_inbox = {name: fields.pop(name) for name in ("backlog", "attempt", "seq") if name in fields}
        message = InboundMessage(self.channel.name, kind, str(number), (str(number),), chat, text, sender_id=chat)
        if kind is MessageKind.COMMAND:
            message = replace(message, command=command, args=args)
        return MessageContext(id or f"event-{number}", replace(message, **fields), **about_inbox)

    def pressed(self, data: str, *, chat: str = "7", **fields: Any) -> MessageContext:
        """Return the press of a button."""
        return self.received("", chat=chat, kind=MessageKind.CALLBACK, callback_id="cb", callback_data=data, **fields)

    async def handle(self, received: MessageContext) -> HandlerResult:
        """Ask the bot's handlers in their order; then do what the inbox does when the replies are queued."""
        for handler in (self.bot.access_handler, self.bot.handler):
            verdict = await handler(received)
            if verdict is not None:
                if verdict.done:
                    await verdict.done()
                return verdict
        raise AssertionError("nobody felt concerned")

    async def send(self, text: str, **fields: Any) -> HandlerResult:
        return await self.handle(self.received(text, **fields))

    async def press(self, data: str, **fields: Any) -> HandlerResult:
        return await self.handle(self.pressed(data, **fields))

    def arrived(self, target: str, *, message_id: str) -> None:
        """Let what was told `target` be a message there."""
        self.shown[f"delivery to {target}"] = ShownMessage(target, message_id)

    async def history(self, chat: str = "7") -> list[str]:
        """Return what is remembered of a chat."""
        return [f"{entry.role}: {entry.content}" for entry in await self.sessions.get(chat)]

    def entries(self) -> list[tuple[str, str]]:
        """Return the audit log, the oldest first: action and detail."""
        return [(entry.action, entry.detail) for entry in reversed(self.audit.tail(100))]


def text_of(verdict: HandlerResult) -> str:
    """Return the one text of a verdict."""
    (reply,) = verdict.replies
    return reply.text


def buttons_of(verdict: HandlerResult) -> list[list[str]]:
    """Return label and data of every button."""
    (reply,) = verdict.replies
    return [button for row in reply.extra["buttons"] for button in row]


def silent(verdict: HandlerResult) -> bool:
    """Whether nothing at all was said."""
    return verdict.ending is HandlingStatus.IGNORED and verdict.replies == ()
