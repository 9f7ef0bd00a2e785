"""Conversations with a chat model in the hand of the test."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.waiting import eventually

from tocsin.core.time.clock import Clock, SystemClock
from tocsin.features.chat.feature import FEATURE
from tocsin.features.chat.model import ChatMessage
from tocsin.features.chat.service import Chats
from tocsin.features.chat.store import MessageDraft
from tocsin.providers.contract import Completion, Question
from tocsin.testing.features import FeatureBench, open_feature

ENV = {"CHAT_PROVIDER": "openai", "CHAT_MODEL": "small-1"}


@dataclass
class HandModel:
    """A chat model: `say` is a piece of its answer, `end` the rest."""

    name: str = "openai"
    model: str = "small-1"
    questions: list[Question] = field(default_factory=list)
    asked_of: list[str] = field(default_factory=list)  # the models that were named
    cancelled: int = 0
    _said: str = ""
    _on_text: Callable[[str], None] = print
    _on_restart: Callable[[], None] = print
    _end: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def say(self, text: str) -> None:
        self._said += text
        self._on_text(text)

    def restart(self) -> None:
        self._said = ""
        self._on_restart()

    def end(self, error: Exception | None = None) -> None:
        if error:
            self._end.set_exception(error)
        else:
            self._end.set_result(None)

    async def ask(self, question: Question, on_text: Any = None, on_restart: Any = None) -> Completion:
        self._said, self._on_text, self._on_restart = "", on_text, on_restart
        self._end = asyncio.get_running_loop().create_future()
        self.questions.append(question)
        try:
            await self._end
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Completion(self._said, self.model, self.name, 9, 2)

    @asynccontextmanager
    async def lent(self, model: str = "", /) -> AsyncIterator["HandModel"]:
        self.asked_of.append(model)
        yield self


@dataclass
class Talk:
    """An open feature, its model, and how to talk."""

    bench: FeatureBench
    model: HandModel
    chats: Chats

    async def send(self, content: str = "hello", **fields: Any) -> Any:
        """Send a message, and wait until the model has it."""
        before = len(self.model.questions)
        begun = await self.chats.send(MessageDraft(content, **fields), "dashboard")
        await eventually(lambda: len(self.model.questions) > before)
        return begun

    async def message(self, message_id: str) -> ChatMessage:
        sql = "SELECT conversation_id FROM chat_messages WHERE id = ?"
        found = await self.bench.app.database.read(lambda c: c.execute(sql, [message_id]).fetchone())
        transcript = await self.chats.store.transcript(found[0], 200)
        return next(message for message in transcript.messages if message.id == message_id)

    async def until(self, message_id: str, status: str) -> ChatMessage:
        async def reached() -> ChatMessage | None:
            message = await self.message(message_id)
            return message if message.status == status else None

        return await eventually(reached)

    async def finished(self, content: str = "hello", answer: str = "hi", **fields: Any) -> Any:
        """Hold a whole exchange."""
        begun = await self.send(content, **fields)
        self.model.say(answer)
        self.model.end()
        await self.until(begun.answer.id, "complete")
        return begun


@asynccontextmanager
async def open_talk(
    folder: Path, env: dict[str, str] | None = None, *, owner: str = "", clock: Clock | None = None, **abilities: Any
) -> AsyncIterator[Talk]:
    """Open conversations; with another `owner`, as another process has them."""
    model = HandModel()
    abilities = {"models": SimpleNamespace(open=model.lent), **abilities}
    env, clock = ENV if env is None else env, clock or SystemClock()
    async with open_feature(FEATURE, folder, env, clock=clock, abilities=abilities) as bench:
        chats = bench.service
        if owner:
            chats = bench.features._opened["chat"] = Chats(chats._context, owner)  # noqa: SLF001
        bench.app.features._opened["chat"] = chats  # noqa: SLF001  # the interface has the model of the test, too
        yield Talk(bench, model, chats)


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with open_talk(tmp_path) as talk:
        yield talk


@pytest.fixture(scope="session")
def picture() -> bytes:
    """Return the smallest PNG."""
    return base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
