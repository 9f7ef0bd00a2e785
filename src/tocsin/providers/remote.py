"""A chat model behind an API: loaded at first use, with a deadline and one retry."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from tocsin.core.errors import FailureKind
from tocsin.core.text.redaction import Redactor
from tocsin.core.time.clock import Clock
from tocsin.core.tracing.spans import SpanKind, span
from tocsin.providers.contract import Completion, ModelTool, ProviderError, Question, Turn, WorkLimits, WorkReport
from tocsin.providers.endpoint import CallTimeouts, ModelEndpoint, refused_key_error
from tocsin.providers.stream_relay import StreamRelay
from tocsin.providers.watch import ModelWatch

if TYPE_CHECKING:
    from tocsin.providers.sdk import Model

T = TypeVar("T")

# The wait before a retry if the provider named none.
PAUSE_S = 1.0
# A refused key is not sent again for this long; correcting it requires a restart anyway.
REFUSED_KEY_S = 300.0
# No part of the answer arrived, and a retry often succeeds.
_PASSING = frozenset({"connect", "lost"})


class RemoteChat:
    """One chat model; its SDK is imported in a thread at the first call."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        clock: Clock,
        redact: Callable[[str], str],
        limits: CallTimeouts | None = None,
        watch: ModelWatch | None = None,
        *,
        has_fallback: bool = False,
    ) -> None:
        """With a fallback, failed connections are not retried."""
        self.name = endpoint.provider
        self.model = endpoint.model
        self._endpoint = endpoint
        self._clock = clock
        self._limits = limits or CallTimeouts()
        self._watch = watch or ModelWatch()
        own = Redactor([endpoint.key])
        self._redact = lambda text: redact(own(text))
        self._starting = asyncio.Lock()
        self._started: Model | None = None
        self._refused_until = float("-inf")
        self._passing = _PASSING - {"connect"} if has_fallback else _PASSING

    async def ask(
        self,
        question: Question,
        on_text: Callable[[str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> Completion:
        asked = normalise_question(question)
        relay = StreamRelay(on_text, on_restart)

        async def call() -> Completion:
            return await (await self._start()).answer(asked, relay)

        return await self._call_watched(call, relay)

    async def extract(self, question: Question, shape: type[T]) -> T:
        asked = normalise_question(question)

        async def call() -> T:
            return await (await self._start()).extract(asked, shape)

        return await self._call_watched(call, StreamRelay(None, None))

    async def work(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits
    ) -> WorkReport[T]:
        asked = normalise_question(question)

        async def call() -> WorkReport[T]:
            return await (await self._start()).work(asked, tools, shape, limits)

        return await self._report_outcome(lambda: self._call_within(call, limits.whole_s))

    async def aclose(self) -> None:
        if self._started is not None:
            await self._started.aclose()
            self._started = None

    async def _call_watched(self, call: Callable[[], Awaitable[T]], relay: StreamRelay) -> T:
        return await self._report_outcome(lambda: self._call_with_retry(call, relay))

    async def _report_outcome(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call, and report the result to the watch."""
        model = qualified_name(self.model, self.name)
        try:
            with span("ask model", SpanKind.CLIENT, provider=self.name, model=self.model):
                answer = await call()
        except ProviderError as failure:
            await self._watch.failed(model, failure)
            raise
        self._watch.worked(model)
        return answer

    async def _call_with_retry(self, call: Callable[[], Awaitable[T]], relay: StreamRelay) -> T:
        """Call, and retry once if that can help, all within the deadline."""

        async def twice() -> T:
            try:
                return await call()
            except ProviderError as failure:
                wait_s = self._wait_s(failure)
                if wait_s is None or not relay.may_restart():
                    raise
            await self._clock.sleep(wait_s)
            return await call()

        return await self._call_within(twice, self._limits.whole_s)

    async def _call_within(self, call: Callable[[], Awaitable[T]], whole_s: float) -> T:
        """Call within a deadline; remember that a key was refused."""
        self._check_key()
        deadline = asyncio.timeout(whole_s)
        try:
            async with deadline:
                return await call()
        except TimeoutError:
            if not deadline.expired():
                raise
            raise ProviderError(
                f"{self._endpoint.label} has not responded within {whole_s:g} seconds",
                hint="ask a shorter question, or try again later",
                kind=FailureKind.TRANSIENT,
                provider_code="timeout",
            ) from None
        except ProviderError as failure:
            if failure.provider_code == "401":
                self._refused_until = self._clock.monotonic() + REFUSED_KEY_S
            raise

    def _wait_s(self, failure: ProviderError) -> float | None:
        """Return the wait before the retry, or `None` if a retry cannot help."""
        passing = failure.provider_code in self._passing or failure.provider_code.startswith("5")
        if not passing and failure.kind is not FailureKind.RATE_LIMITED:
            return None
        wait_s = PAUSE_S if failure.retry_after_s is None else failure.retry_after_s
        return wait_s if wait_s <= self._limits.longest_wait_s else None

    def _check_key(self) -> None:
        if self._clock.monotonic() < self._refused_until:
            raise refused_key_error(self._endpoint)

    async def _start(self) -> "Model":
        """Return the model; the SDK is imported in a thread, because that takes seconds."""
        async with self._starting:
            if self._started is None:
                self._started = await asyncio.to_thread(load_model, self._endpoint, self._redact, self._limits)
            return self._started


def load_model(endpoint: ModelEndpoint, redact: Callable[[str], str], limits: CallTimeouts) -> "Model":
    """Import the SDK of an endpoint, which takes seconds, and return its model; raises ProviderError."""
    try:
        from tocsin.providers.sdk import open_model

        return open_model(endpoint, redact, limits)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        package = {"pydantic_ai": "pydantic-ai-slim", "": endpoint.provider}.get(package, package)
        raise ProviderError(
            f"{package}: package not installed",
            hint='pip install "tocsin[chat]"',
            provider_code="package",
            needs_operator=True,
        ) from None


def qualified_name(model: str, provider: str) -> str:
    return f"{model} ({provider})"


def normalise_question(question: Question) -> Question:
    """Return the question in a form that every provider accepts.

    Roles alternate, the user's turns are first and last, and none is blank. An excerpt of a longer conversation may
    begin with an answer, and people write twice in a row.
    """
    turns: list[Turn] = []
    for turn in question.turns:
        said = bool(turn.text.strip() or turn.images)
        if not said or (not turns and turn.role == "assistant"):
            continue
        if turns and turns[-1].role == turn.role:
            turns[-1] = _merge(turns[-1], turn)
        else:
            turns.append(turn)
    if not turns or turns[-1].role != "user":
        raise ProviderError("the question is empty", hint="write something", provider_code="no-question")
    return replace(question, turns=tuple(turns))


def _merge(first: Turn, second: Turn) -> Turn:
    text = "\n\n".join(text for text in (first.text, second.text) if text.strip())
    return Turn(first.role, text, (*first.images, *second.images))
