"""The chat app and the chat model as a bot meets them: the stand-ins on a thread of their own, run by plain code.

Keeps what a person sees: every message of the bot with its last text, whichever calls brought it there.
"""

import asyncio
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web
from tests.chaos.processes import PATIENCE_S, ChaosError, wait_for

from tocsin_standins.botchat.server import BotChat
from tocsin_standins.botchat.updates import OTHER_POLLER
from tocsin_standins.chatmodel.server import MODEL, ChatModel
from tocsin_standins.faults import Fault
from tocsin_standins.recorder import RecordedRequest, Recorder
from tocsin_standins.serving import RefusalError

POLL = "getUpdates"
SEND = "sendMessage"
CONFLICT = Fault.error(409, OTHER_POLLER).only(POLL)
NAME = re.compile(r"\b[a-z]\d{5}\b")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person wrote; `name` is in it once, and in nothing else."""

    name: str
    chat: int
    text: str
    at: float


@dataclass(slots=True)
class Seen:
    """One message of the bot in a chat."""

    chat: int
    message_id: int
    text: str
    at: float  # when it got this text
    open: bool  # it still has a button: a preview
    first_at: float

    def answers(self, asked: Asked) -> bool:
        """Whether it is the whole answer to a question."""
        return not self.open and self.chat == asked.chat and self.text.endswith(asked.text)


@dataclass(slots=True)
class _Sight:
    """What is on the screens; written by the loop of the stand-ins alone."""

    messages: dict[tuple[int, int], Seen] = field(default_factory=dict)
    by_name: dict[str, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))

    def notice(self, received: RecordedRequest) -> None:
        """Take in one call that a person can see."""
        if received.channel != BotChat.channel or received.kind not in {"message", "edit"}:
            return
        key = int(received.target), int(received.id)
        is_open = isinstance(received.body, dict) and bool(received.body.get("reply_markup"))
        known = self.messages.get(key)
        first_at = known.first_at if known else received.at
        self.messages[key] = Seen(*key, received.text, received.at, is_open, first_at)
        # The model sees a question together with those before it that are still open; the last one is meant.
        for name in NAME.findall(received.text)[-1:]:
            self.by_name[name].add(key)


class _BotChat(BotChat):
    """Writes down when it told whom to wait, and overlooks no mistake."""

    strict_entities = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.refused_at: list[float] = []

    def refusal(self, fault: Fault) -> web.Response:
        self.refused_at.append(self.clock())
        return super().refusal(fault)


class ChatApp:
    """Both stand-ins, from a `with` to its end. `latency_s` is how long each call of the bot takes to be answered.

    `pause_s` is what the model waits before each word.
    """

    def __init__(self, *, latency_s: float = 0.0, pause_s: float = 0.0) -> None:
        self._sight = _Sight()
        self._recorder = Recorder()
        self._recorder.on_message(self._sight.notice)
        self._botchat = _BotChat(self._recorder, utf16_limit=True)
        self._model = ChatModel(self._recorder, pause_s=pause_s)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="chat app", daemon=True)
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self.asked: dict[str, Asked] = {}
        if latency_s:
            self._botchat.faults.hold(Fault.stall(latency_s))

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(PATIENCE_S) or self._failure:
            raise ChaosError(f"the stand-ins did not start: {self._failure}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with self._botchat, self._model:
                self._started.set()
                await self._stop.wait()
        except BaseException as error:
            self._failure = error
            self._started.set()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """The settings that make a bot of Tocsin talk to it."""
        return {
            "BOTCHAT_API_URL": self._botchat.api_url,
            "BOTCHAT_BOT_TOKEN": self._botchat.token,
            "CHAT_PROVIDER": "openai",
            "CHAT_MODEL": MODEL,
            "OPENAI_API_KEY": self._model.key,
            "OPENAI_BASE_URL": self._model.openai_url,
        }

    @property
    def polls(self) -> int:
        """How often somebody has asked for updates."""
        return self._botchat.updates.polls

    @property
    def commands(self) -> list[str]:
        """The command menu, as it is registered."""
        return [command["command"] for command in self._botchat.commands]

    @property
    def refused_at(self) -> list[float]:
        """When a scripted refusal, such as 429, was answered. Unix time, as all times here."""
        return self._botchat.refused_at

    def say(self, names_and_chats: Iterable[tuple[str, int]], *, words: int = 0) -> list[Asked]:
        """Let people write, each a name and some words more; the bot gets it when it asks."""
        tail = "".join(f" word{n}" for n in range(words))

        def act() -> list[Asked]:
            said = []
            for name, chat in names_and_chats:
                said.append(Asked(name, chat, f"{name} says hello{tail}.", time.time()))
                self._botchat.say(chat, said[-1].text)
            return said

        said = self._do(act)
        self.asked |= {asked.name: asked for asked in said}
        return said

    def meet(self, *faults: Fault, times: int = 1) -> None:
        """Let the next calls meet these faults."""
        self._do(lambda: self._botchat.faults.push(*faults, times=times))

    def faults_left(self) -> int:
        """Return how many faults nobody has met yet."""
        return self._do(lambda: len(self._botchat.faults))

    def poll_as_another(self) -> None:
        """Ask for updates as a second program with the same token does, which ends the poll that waits."""

        async def act() -> None:
            with suppress(RefusalError):
                await self._botchat.updates.poll(0, 1, 0, None)

        self._await(act())

    def go_down(self) -> None:
        """Be gone: whoever connects is refused. What people write meanwhile is kept."""
        self._await(self._botchat.stop())

    def come_back(self) -> None:
        """Answer again, at the same address."""
        self._await(self._botchat.start())

    def seen(self) -> list[Seen]:
        """Return every message of the bot, in the order in which they appeared."""
        return self._do(lambda: [self._sight.messages[key] for key in sorted(self._sight.messages)])

    def answers(self, name: str) -> list[Seen]:
        """Return the messages in which a person sees the whole answer to `name`, the oldest first."""
        return self._do(lambda: self._answers(name))

    def wait_for_answers(self, asked: Iterable[Asked], *, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Return when each has an answer; raises with the names of those that have none."""
        missing = {one.name for one in asked}

        def look() -> bool:
            meanwhile()
            found = self._do(lambda: [name for name in missing if self._answers(name)])
            missing.difference_update(found)
            return not missing

        try:
            wait_for("every message is answered", look)
        except ChaosError as error:
            raise ChaosError(f"{error} (missing: {', '.join(sorted(missing)[:10])})") from None

    def _answers(self, name: str) -> list[Seen]:
        asked = self.asked[name]
        found = [self._sight.messages[key] for key in self._sight.by_name.get(name, ())]
        return sorted((seen for seen in found if seen.answers(asked)), key=lambda seen: seen.at)

    def _do(self, act: Callable[[], T]) -> T:
        async def run() -> T:
            return act()

        return self._await(run())

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)
