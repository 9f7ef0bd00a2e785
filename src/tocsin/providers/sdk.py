"""The SDKs of the model providers, through pydantic-ai. Importing this module takes a second."""

import asyncio
import logging
import ssl
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import httpx2
from pydantic_ai import Agent, Tool, UsageLimitExceeded, UsageLimits
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model as SdkModel
from pydantic_ai.settings import ModelSettings

from tocsin.core.errors import walk_causes
from tocsin.providers.contract import Completion, ModelTool, ProviderError, Question, Turn, WorkLimits, WorkReport
from tocsin.providers.endpoint import CallTimeouts, ModelEndpoint
from tocsin.providers.failures import (
    answer_error,
    declined_error,
    status_error,
    to_provider_error,
    unreadable_error,
)
from tocsin.providers.stream_relay import StreamRelay
from tocsin.providers.unstreamed import UnstreamedError, read_completion, was_to_stream

T = TypeVar("T")

# A megabyte of text is 250,000 tokens, more than any model writes in two minutes.
MAX_ANSWER_CHARS = 1024 * 1024
MAX_WORK_TOKENS = 16_000  # of one answer: a file that is written from scratch
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# The SDKs log questions and answers at DEBUG, and every call at INFO.
_TALKATIVE = ("httpx2", "httpcore2", "anthropic", "openai")


def open_model(endpoint: ModelEndpoint, redact: Callable[[str], str], limits: CallTimeouts) -> "Model":
    """Return the model of an endpoint; only its own SDK is imported. No connection is made."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    # The cost of an answer is informational, so a failure to read it is ignored.
    warnings.filterwarnings("ignore", message="Failed to extract usage")
    # `Model.answer` limits the pauses of a stream; the client's own limit ends calls that do not stream.
    timeout = httpx2.Timeout(limits.whole_s, connect=limits.connect_s, pool=limits.connect_s)
    http = httpx2.AsyncClient(
        timeout=timeout,
        verify=_tls(),
        follow_redirects=False,  # a redirect would carry the key elsewhere
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_Bounds(endpoint)]},
    )
    model = _anthropic(endpoint, http) if endpoint.provider == "anthropic" else _openai(endpoint, http)
    return Model(endpoint, redact, limits, model, http)


@cache
def _tls() -> ssl.SSLContext:
    """Return the settings of all clients: reading the certificates takes longer than a request."""
    return httpx2.create_ssl_context()


def _anthropic(endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> SdkModel:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=endpoint.key, base_url=endpoint.base_url, http_client=http, timeout=http.timeout, max_retries=0
    )
    _ = client.beta.messages  # imported only when it is touched
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=client))


def _openai(endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> SdkModel:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(
        api_key=endpoint.key or "none",  # the SDK insists on one
        base_url=endpoint.base_url,
        http_client=http,
        timeout=http.timeout,
        max_retries=0,
    )
    return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=client))


class Model:
    """Calls the model, also concurrently; failures are ProviderErrors, except those of the caller's `on_text`."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        redact: Callable[[str], str],
        limits: CallTimeouts,
        model: SdkModel,
        http: httpx2.AsyncClient,
    ) -> None:
        self._endpoint = endpoint
        self._redact = redact
        self._limits = limits
        self._model = model
        self._http = http

    async def answer(self, question: Question, relay: StreamRelay) -> Completion:
        """Stream one answer; every event, shown or not, restarts the pause limit."""
        patience = asyncio.timeout(self._limits.first_piece_s)
        try:
            async with patience:
                return await self._stream(question, relay, patience)
        except ProviderError:
            raise
        except TimeoutError as error:
            if not patience.expired():
                raise self._failure(error, relay) from None
            raise answer_error(self._endpoint, "stalled", "stopped sending", "try again in a few minutes") from None
        except Exception as error:  # noqa: BLE001  # sorted by `failure_of`
            if whole := next((cause for cause in walk_causes(error) if isinstance(cause, UnstreamedError)), None):
                relay(whole.completion.text)
                return whole.completion
            raise self._failure(error, relay) from None

    async def extract(self, question: Question, shape: type[T]) -> T:
        """Have the model fill in `shape`, with one correction allowed."""
        before = to_messages(question)[:-1]
        agent = Agent(self._model, output_type=shape, instructions=question.instructions or None, retries=1)
        try:
            result = await agent.run(_content(question.turns[-1]), message_history=before)
        except Exception as error:  # noqa: BLE001  # sorted by `failure_of`
            raise to_provider_error(error, self._endpoint, self._redact) from None
        return result.output

    async def work(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits
    ) -> WorkReport[T]:
        """Have the model call tools until it fills in `shape`, with two corrections allowed."""
        before = to_messages(question)[:-1]
        agent = Agent(
            self._model,
            output_type=shape,
            instructions=question.instructions or None,
            retries=2,
            tools=[_sdk_tool(tool) for tool in tools],
            model_settings=ModelSettings(max_tokens=MAX_WORK_TOKENS),
        )
        bounds = UsageLimits(
            request_limit=limits.questions, tool_calls_limit=limits.tool_calls, total_tokens_limit=limits.tokens
        )
        try:
            result = await agent.run(_content(question.turns[-1]), message_history=before, usage_limits=bounds)
        except UsageLimitExceeded:
            text = f"exceeded a limit ({limits.questions} questions, {limits.tokens:,} tokens)"
            raise answer_error(self._endpoint, "limit", text, "give it fewer files or a smaller task") from None
        except Exception as error:  # noqa: BLE001  # sorted by `failure_of`
            raise to_provider_error(error, self._endpoint, self._redact) from None
        usage = result.usage
        return WorkReport(result.output, usage.requests, usage.input_tokens, usage.output_tokens)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _stream(self, question: Question, relay: StreamRelay, patience: asyncio.Timeout) -> Completion:
        clock = asyncio.get_running_loop().time
        pieces: list[str] = []
        length = 0
        ending = _StreamEnd()
        _STREAM_END.set(ending)
        async with model_request_stream(
            self._model, to_messages(question), model_settings=_settings(question)
        ) as stream:
            async for event in stream:
                patience.reschedule(clock() + self._limits.between_pieces_s)
                if piece := _event_text(event):
                    length += len(piece)
                    if length > MAX_ANSWER_CHARS:
                        raise answer_error(self._endpoint, "endless", "exceeded the maximum answer length")
                    pieces.append(piece)
                    relay(piece)
            return self._completion("".join(pieces), stream.get(), is_whole=ending.seen)

    def _completion(self, text: str, response: ModelResponse, *, is_whole: bool) -> Completion:
        """Return the answer; raises ProviderError if it is empty or incomplete."""
        endpoint = self._endpoint
        filtered = response.finish_reason == "content_filter"
        # Both interfaces give a reason for stopping. `response.finish_reason` may be pydantic-ai's guess; this is not.
        reason = (response.provider_details or {}).get("finish_reason")
        if not filtered and not reason and not (is_whole and text):
            cut = answer_error(endpoint, "cut", "stopped before the answer was complete", "try again")
            raise cut if text else unreadable_error(endpoint)
        if not text.strip():
            raise (
                declined_error(endpoint)
                if filtered
                else answer_error(endpoint, "empty", "sent an empty answer", "try again")
            )
        return Completion(
            text,
            _name(response.model_name) or endpoint.model,
            endpoint.provider,
            max(0, response.usage.input_tokens),
            max(0, response.usage.output_tokens),
            truncated=filtered or response.finish_reason == "length",
        )

    def _failure(self, error: Exception, relay: StreamRelay) -> Exception:
        if relay.failure is error:
            return error
        return to_provider_error(error, self._endpoint, self._redact)


def _settings(question: Question) -> ModelSettings | None:
    settings = ModelSettings()
    if question.max_tokens is not None:
        settings["max_tokens"] = question.max_tokens
    if question.temperature is not None:
        settings["temperature"] = question.temperature
    return settings or None


def _sdk_tool(tool: ModelTool) -> Tool[None]:
    async def call(**arguments: Any) -> str:
        return await tool.call(arguments)

    return Tool.from_schema(call, tool.name, tool.description, dict(tool.parameters), sequential=True)


def to_messages(question: Question) -> list[ModelMessage]:
    """Return the conversation as pydantic-ai messages; the instructions go with the last one."""
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(_content(turn))])
        if turn.role == "user"
        else ModelResponse(parts=[TextPart(turn.text)])
        for turn in question.turns
    ]
    messages[-1] = ModelRequest(
        parts=[UserPromptPart(_content(question.turns[-1]))], instructions=question.instructions or None
    )
    return messages


def _content(turn: Turn) -> str | list[UserContent]:
    """Return text without images as a string, because some services accept no lists."""
    if not turn.images:
        return turn.text
    text: list[UserContent] = [turn.text] if turn.text.strip() else []
    return [*text, *(BinaryContent(image.data, media_type=image.media_type) for image in turn.images)]


def _event_text(event: ModelResponseStreamEvent) -> str:
    """Return the text that an event adds to the answer; reasoning and tool calls add none."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _name(told: object) -> str:
    """Return the model's name as reported by the provider, or `""` if it is malformed."""
    return told if isinstance(told, str) and told.isprintable() and len(told) <= 200 else ""


@dataclass(slots=True)
class _StreamEnd:
    """Records whether the end of the stream was seen; some services give no other reason for stopping."""

    seen: bool = False


# Per task, because the client's hooks are shared by all calls.
_STREAM_END: ContextVar[_StreamEnd | None] = ContextVar("stream_end", default=None)
_OVER = b"\ndata: [DONE]"


class _Bounds:
    """Refuses redirects and compressed bodies; limits the size of all other responses."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            raise status_error(response.status_code, self._endpoint)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise unreadable_error(self._endpoint)
        ending = _STREAM_END.get() or _StreamEnd()
        response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream), ending)
        if was_to_stream(response):
            whole = read_completion(await response.aread(), self._endpoint)
            raise UnstreamedError(whole) if whole else unreadable_error(self._endpoint)


class _Bounded(httpx2.AsyncByteStream):
    """A body that is read up to a maximum, and searched for its end mark."""

    def __init__(self, stream: httpx2.AsyncByteStream, ending: _StreamEnd) -> None:
        self._stream = stream
        self._ending = ending

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left, before = MAX_ANSWER_BYTES, b""
        async for chunk in self._stream:
            self._ending.seen = self._ending.seen or _OVER in before + chunk
            before = (before + chunk)[-len(_OVER) :]
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError("the response does not end")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
