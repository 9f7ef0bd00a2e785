"""Two chat models behind one interface: the second answers when the first fails."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tocsin.providers.contract import (
    ChatProvider,
    Completion,
    ModelTool,
    ProviderError,
    Question,
    WorkLimits,
    WorkReport,
)
from tocsin.providers.stream_relay import StreamRelay

T = TypeVar("T")

log = logging.getLogger(__name__)


class Fallback:
    """A chat provider that consists of two; its name is that of the first one."""

    def __init__(self, first: ChatProvider, second: ChatProvider) -> None:
        self.name = first.name
        self.model = first.model
        self._first = first
        self._second = second

    async def ask(
        self,
        question: Question,
        on_text: Callable[[str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> Completion:
        relay = StreamRelay(on_text, on_restart)
        show = relay if on_text else None
        try:
            return await self._first.ask(question, show, on_restart)
        except ProviderError as failure:
            if not relay.may_restart():
                raise
            first = failure
        self._log_failure(first)
        try:
            return await self._second.ask(question, on_text, on_restart)
        except ProviderError as second:
            raise _both(first, second) from None

    async def extract(self, question: Question, shape: type[T]) -> T:
        try:
            return await self._first.extract(question, shape)
        except ProviderError as failure:
            first = failure
        self._log_failure(first)
        try:
            return await self._second.extract(question, shape)
        except ProviderError as second:
            raise _both(first, second) from None

    async def work(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits
    ) -> WorkReport[T]:
        called = False

        async def note(tool: ModelTool, arguments: Mapping[str, Any]) -> str:
            nonlocal called
            called = True
            return await tool.call(arguments)

        noted = [replace(tool, call=partial(note, tool)) for tool in tools]
        try:
            return await self._first.work(question, noted, shape, limits)
        except ProviderError as failure:
            if called:
                raise
            first = failure
        self._log_failure(first)
        try:
            return await self._second.work(question, tools, shape, limits)
        except ProviderError as second:
            raise _both(first, second) from None

    async def aclose(self) -> None:
        try:
            await self._first.aclose()
        finally:
            await self._second.aclose()

    def _log_failure(self, failure: ProviderError) -> None:
        log.warning(
            "the chat provider failed; using the fallback",
            extra={"provider": self.name, "fallback": self._second.name, "reason": failure.sentence()},
        )


def _both(first: ProviderError, second: ProviderError) -> ProviderError:
    """Return the error for two failures; kind and retry time are those of the second."""
    return ProviderError(
        f"{first.sentence()}; the fallback also failed: {second}",
        hint=second.hint,
        kind=second.kind,
        provider_code=second.provider_code,
        retry_after_s=second.retry_after_s,
        needs_operator=first.needs_operator and second.needs_operator,
    )
