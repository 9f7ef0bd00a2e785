"""The chat model of the program, created at its first use; failures that need the operator are reported."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from tocsin.assembly.full.operator import tell_operator
from tocsin.core.config.core_variables import CHAT_MODEL, CHAT_PROVIDER
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.text.redaction import Redactor
from tocsin.core.time.clock import Clock
from tocsin.providers.chat import HOW_TO_CONFIGURE, NOT_CONFIGURED, load_clients, open_chat
from tocsin.providers.contract import (
    ChatProvider,
    ModelTool,
    ProviderError,
    Question,
    Turn,
    WorkLimits,
    WorkReport,
)
from tocsin.providers.remote import qualified_name
from tocsin.providers.watch import ModelWatch

if TYPE_CHECKING:
    from tocsin.assembly.program import App

T = TypeVar("T")

log = logging.getLogger(__name__)

LOAD_AFTER_S = 3.0  # loading takes seconds of a processor: what starts a service goes first


class ChatModels:
    """The configured chat model with its fallback."""

    def __init__(
        self, settings: Settings, clock: Clock, redact: Redactor, tell_operator: Callable[[str], Awaitable[None]]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._redact = redact
        self._watch = ModelWatch(tell_operator)
        self._opened: list[ChatProvider | None] = []

    @property
    def name(self) -> str:
        """Return the model and its provider, for people; empty where none is configured."""
        provider = self._settings[CHAT_PROVIDER]
        return qualified_name(self._settings[CHAT_MODEL], provider) if provider else ""

    def problems(self) -> dict[str, str]:
        """Return what the operator must do, by model."""
        return self._watch.problems

    def state(self) -> str:
        """Return its state without reasons, as it is public; the log and the admin chat have them."""
        if not self._settings[CHAT_PROVIDER]:
            return "off"
        return "failing" if self._watch.problems else "ok"

    async def find(self) -> ChatProvider | None:
        """Return the model, `None` where none is configured; raises ConfigError for one that cannot be used."""
        try:
            if not self._opened:
                self._opened.append(open_chat(self._settings, self._clock, self._redact, watch=self._watch))
        except ConfigError as error:
            await self._watch.failed(qualified_name(self._settings[CHAT_MODEL], self._settings[CHAT_PROVIDER]), error)
            raise
        return self._opened[0]

    async def load(self) -> None:
        """Import the clients beforehand; a failure is only logged, because the first question reports it."""
        if not self._settings[CHAT_PROVIDER]:
            return
        await self._clock.sleep(LOAD_AFTER_S)
        try:
            await asyncio.to_thread(load_clients, self._settings)
        except TocsinError as error:
            log.warning("the chat model cannot be used", extra={"reason": error.sentence()})

    async def ask(
        self,
        prompt: str,
        message: str = "",
        /,
        *,
        system: str = "",
        model: str = "",
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> str:
        """Return the answer to a prompt, with the message behind it unless the prompt quotes it."""
        text = prompt if message in prompt else f"{prompt}\n\n{message}"
        question = Question((Turn("user", text),), system, max_tokens, temperature)
        async with self.open(model) as lent:
            return (await lent.ask(question)).text

    @asynccontextmanager
    async def open(self, model: str = "", /) -> AsyncIterator[ChatProvider]:
        """Lend the model, or another one of the provider; raises ProviderError, ConfigError."""
        if not model:
            yield _configured(await self.find())
            return
        other = _configured(open_chat(self._settings, self._clock, self._redact, model=model))
        try:
            yield other
        finally:
            await other.aclose()

    async def use_tools(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits, *, model: str = ""
    ) -> WorkReport[T]:
        """Have a model call tools until it fills in `shape`."""
        other = _configured(open_chat(self._settings, self._clock, self._redact, model=model, watch=self._watch))
        try:
            return await other.work(question, tools, shape, limits)
        finally:
            await other.aclose()

    async def aclose(self) -> None:
        """Close the model's client."""
        for model in self._opened:
            if model is not None:
                await model.aclose()
        self._opened.clear()


def open_models(app: "App") -> ChatModels:
    """Return the configured chat model; it opens nothing before its first use."""
    return ChatModels(app.settings, app.clock, app.redact, tell_operator(app))


def _configured(model: ChatProvider | None) -> ChatProvider:
    if model is None:
        raise ProviderError(NOT_CONFIGURED, hint=HOW_TO_CONFIGURE)
    return model
