"""Two chat models that look like one: the second is asked when the first fails."""

import logging
from collections.abc import Callable
from typing import TypeVar

from tocsin.providers.contract import ChatProvider, Completion, ProviderError, Question
from tocsin.providers.showing import StreamRelay

T = TypeVar("T")

log = logging.getLogger(__name__)


class Fallback:
    """A chat provider made of two; it goes by the name of the first."""

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
        """See `ChatProvider.ask`."""
        showing = StreamRelay(on_text, on_restart)
        show = showing if on_text else None
        try:
            return await self._first.ask(question, show, on_restart)
        except ProviderError as failure:
            if not showing.may_restart():
                raise
            first = failure
        self._tell(first)
        try:
            return await self._second.ask(question, on_text, on_restart)
        except ProviderError as second:
            raise _both(first, second) from None

    async def extract(self, question: Question, shape: type[T]) -> T:
        """See `ChatProvider.extract`."""
        try:
            return await self._first.extract(question, shape)
        except ProviderError as failure:
            first = failure
        self._tell(first)
        try:
            return await self._second.extract(question, shape)
        except ProviderError as second:
            raise _both(first, second) from None

    async def aclose(self) -> None:
        """Close the connections of both."""
        try:
            await self._first.aclose()
        finally:
            await self._second.aclose()

    def _tell(self, failure: ProviderError) -> None:
        log.warning(
            "the chat provider fails, its fallback is asked",
            extra={"provider": self.name, "fallback": self._second.name, "reason": failure.sentence()},
        )


def _both(first: ProviderError, second: ProviderError) -> ProviderError:
    """Return the error of two failures; what it means for a later try is what the second one means."""
    return ProviderError(
        f"{first.sentence()}; the fallback fails too: {second}",
        hint=second.hint,
        kind=second.kind,
        provider_code=second.provider_code,
        retry_after_s=second.retry_after_s,
        needs_operator=first.needs_operator and second.needs_operator,
    )
