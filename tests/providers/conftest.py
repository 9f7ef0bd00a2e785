"""A chat model on loopback and a chat provider that speaks to it, by either interface."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.web_server import web_server

from tocsin.core.config.settings import Settings
from tocsin.core.text.redaction import Redactor
from tocsin.providers.chat import open_chat
from tocsin.providers.contract import ChatProvider, Question, Turn
from tocsin.providers.endpoint import CallTimeouts
from tocsin.testing import FakeClock
from tocsin_standins.chatmodel.server import MODEL, ChatModel

PATIENT = CallTimeouts(connect_s=60.0, first_piece_s=60.0, between_pieces_s=60.0, whole_s=120.0)


@dataclass
class Desk:
    """Opens chat providers from settings, as the program does, and closes them."""

    model: ChatModel
    place: Path
    clock: FakeClock = field(default_factory=FakeClock)
    opened: list[ChatProvider] = field(default_factory=list)

    def settings(self, **env: str) -> Settings:
        return Settings.load(
            environ={
                "TOCSIN_DATA_DIR": str(self.place),
                "CHAT_MODEL": MODEL,
                "OPENAI_API_KEY": self.model.key,
                "OPENAI_BASE_URL": self.model.openai_url,
                "ANTHROPIC_API_KEY": self.model.key,
                "ANTHROPIC_BASE_URL": self.model.anthropic_url,
                **env,
            }
        )

    def open(
        self, provider: str = "openai", *, limits: CallTimeouts = PATIENT, model: str = "", **env: str
    ) -> ChatProvider:
        settings = self.settings(CHAT_PROVIDER=provider, **env)
        chat = open_chat(settings, self.clock, Redactor(settings.secrets()), limits=limits, model=model)
        assert chat is not None
        self.opened.append(chat)
        return chat

    def asked(self) -> list[dict[str, Any]]:
        """What the model was asked, as its stand-in understood it."""
        return [item.body for item in self.model.recorder.of(kind="question")]


@pytest.fixture
async def model() -> AsyncIterator[ChatModel]:
    async with ChatModel() as model:
        yield model


@pytest.fixture
async def desk(model: ChatModel, tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(model, tmp_path)
    yield desk
    for chat in desk.opened:
        await chat.aclose()


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def chat(desk: Desk, provider: str) -> ChatProvider:
    return desk.open(provider)


@asynccontextmanager
async def answering(
    answer: web.Response, asked: list[Any] | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[dict[str, str]]:
    """Give the same answer to every question, which `asked` gets; returns the settings that lead there."""

    async def take(request: web.Request) -> web.Response:
        if asked is not None:
            asked.append(await request.json())
        return web.Response(body=answer.body, headers=answer.headers)

    async with web_server(web.post("/{path:.*}", take), tls=tls) as url:
        yield {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url}


def question(text: str = "What is new?", **fields: Any) -> Question:
    return Question((Turn("user", text),), **fields)


@pytest.fixture
def ask() -> Callable[..., Question]:
    return question
