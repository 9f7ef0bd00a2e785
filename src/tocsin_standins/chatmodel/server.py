"""Stand-in of a chat model with the interfaces of OpenAI and Anthropic: streaming, images, structured answers.

Repeats the question, unless `will_answer` provides an answer.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiohttp import web

from tocsin_standins.chatmodel.wire import Anthropic, ChatApi, ModelReply, OpenAi, Prompt, ToolCall, build_example
from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import CURRENT_FAULT, Handler, HttpStandIn, RefusalError, abort, parse_json, reset

KEY = "standin-chat-key-opens-nothing-else"
MODEL, FAST, CAPABLE = "standin-chat-1", "standin-fast-1", "standin-capable-1"
EVENTS = web.RequestKey("events", tuple)
# For these faults, the fault and not the handler sends the stream.
BROKEN = frozenset({"cut", "unfinished", "hang", "slow", "broken_event", "error_event"})


class ChatModel(HttpStandIn):
    """A model with both interfaces; `openai_url` and `anthropic_url` are their base addresses.

    It waits `pause_s` before each piece of a streamed answer.
    """

    channel = "chatmodel"

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        key: str = KEY,
        models: Iterable[str] = (MODEL, FAST, CAPABLE),
        pause_s: float = 0.0,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.key = key
        self.models = set(models)
        self.pause_s = pause_s
        self.given_up = 0  # answers whose reader disconnected early
        self._answers: deque[str | ToolCall | Mapping[str, Any]] = deque()
        self._count = 0

    @property
    def openai_url(self) -> str:
        """The value for `OPENAI_BASE_URL`."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The value for `ANTHROPIC_BASE_URL`."""
        return self.url

    def will_answer(self, *answers: str | ToolCall | Mapping[str, Any]) -> None:
        """Queue answers; a mapping is a structured answer, or is sent as JSON text."""
        self._answers.extend(answers)

    def forget(self) -> None:
        """Drop the queued answers."""
        self._answers.clear()

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Serve the two calls."""
        openai, anthropic = OpenAi(), Anthropic()

        async def complete(request: web.Request) -> web.StreamResponse:
            return await self._reply(request, openai)

        async def message(request: web.Request) -> web.StreamResponse:
            return await self._reply(request, anthropic)

        return [web.post("/v1/chat/completions", complete), web.post("/v1/messages", message)]

    def refusal(self, fault: Fault) -> web.Response:
        """Refuse as OpenAI does."""
        return _refusal(OpenAi(), fault)

    async def _reply(self, request: web.Request, dialect: ChatApi) -> web.StreamResponse:
        prompt = await self._understand(request, dialect)
        self._count += 1
        fault = request.get(CURRENT_FAULT, "")
        answer = self._answer_to(prompt, fault)
        self.record(
            request, prompt.model, prompt.text, id=answer.id, kind="question", body=prompt.summary(), account="model"
        )
        if not prompt.stream:
            return web.json_response(dialect.document(prompt, answer))
        events = tuple(dialect.events(prompt, answer))
        if not fault:
            return await self._stream(request, events, self.pause_s)
        request[EVENTS] = events
        return web.Response(body=b"".join(events), content_type="text/event-stream")

    async def _understand(self, request: web.Request, dialect: ChatApi) -> Prompt:
        if dialect.key_of(request.headers) != self.key:
            code = "invalid_api_key" if isinstance(dialect, OpenAi) else "authentication_error"
            raise RefusalError(dialect.refusal(401, code, "Incorrect API key provided."))
        try:
            body = parse_json(await request.read())
            prompt = dialect.read(body)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = f"the body is not understood: {error}"
            raise RefusalError(dialect.refusal(400, "invalid_request_error", text)) from None
        if prompt.model not in self.models:
            code = "model_not_found" if isinstance(dialect, OpenAi) else "not_found_error"
            raise RefusalError(dialect.refusal(404, code, f"model: {prompt.model}"))
        return prompt

    def _answer_to(self, prompt: Prompt, fault: str) -> ModelReply:
        identity = f"{self._count:06}"
        if fault == "empty":
            return ModelReply("", identity)
        scripted = self._answers.popleft() if self._answers else None
        if isinstance(scripted, ToolCall):
            return ModelReply(json.dumps(dict(scripted.arguments)), identity, scripted.name)
        if scripted is None:
            given = None if prompt.schema is None else build_example(prompt.schema, prompt.text, names=prompt.names)
            text = echo(prompt) if prompt.schema is None else json.dumps(given)
        else:
            text = scripted if isinstance(scripted, str) else json.dumps(scripted)
        if fault == "shortened":
            return ModelReply(text[: len(text) // 2], identity, prompt.tool, shortened=True)
        return ModelReply(text, identity, prompt.tool)

    async def _before_accept(self, fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
        if fault.kind in {"error", "rate_limited"}:
            await request.read()
            return _refusal(Anthropic() if request.path.endswith("/messages") else OpenAi(), fault)
        return await super()._before_accept(fault, request, handler)

    async def _after_accept(self, fault: Fault, request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
        if fault.kind in {"empty", "shortened"} or answer.status != 200:
            return answer
        if fault.kind not in BROKEN:
            return await super()._after_accept(fault, request, answer)
        if EVENTS not in request:
            return await self._break_document(fault, request, answer)
        events = request[EVENTS]
        if fault.kind == "slow":
            return await self._stream(request, events, fault.seconds)
        return await self._break_stream(fault, request, events[: max(3, len(events) // 2)])

    async def _break_document(
        self, fault: Fault, request: web.Request, answer: web.StreamResponse
    ) -> web.StreamResponse:
        if fault.kind in {"hang", "slow"}:
            await self.pause(fault.seconds)
            return answer
        if fault.kind == "error_event":
            return _refusal(OpenAi(), Fault.error("overloaded", http_status=503))
        if fault.kind == "cut":
            return reset(request)
        return await super()._after_accept(Fault.broken_json(), request, answer)

    async def _break_stream(self, fault: Fault, request: web.Request, events: Sequence[bytes]) -> web.StreamResponse:
        dialect = Anthropic() if request.path.endswith("/messages") else OpenAi()
        last = {"broken_event": b'data: {"choices": [\n\n', "error_event": dialect.error_event()}.get(fault.kind)
        if isinstance(dialect, Anthropic) and fault.kind == "broken_event":
            last = b'event: content_block_delta\ndata: {"type": "content\n\n'
        response = await self._stream(request, [*events, *([last] if last else [])], self.pause_s, end=False)
        if fault.kind == "hang":
            await self._stay_silent(request, fault.seconds)
        if fault.kind in {"cut", "hang"} and request.transport is not None:
            abort(request.transport)
        return response

    async def _stay_silent(self, request: web.Request, seconds: float) -> None:
        """Wait until the time is over or the reader disconnects."""
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until and await self.pause(0.005):
            if request.transport is None or request.transport.is_closing():
                self.given_up += 1
                return

    async def _stream(
        self, request: web.Request, events: Iterable[bytes], pause_s: float, *, end: bool = True
    ) -> web.StreamResponse:
        """Send events one by one; without `end`, leave the connection to the fault that breaks it."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        try:
            await response.prepare(request)
            for event in events:
                if pause_s and not await self.pause(pause_s):
                    return reset(request)
                await response.write(event)
            if end:
                await response.write_eof()
        except ConnectionError:  # the reader disconnected
            self.given_up += 1
        return response


def echo(prompt: Prompt) -> str:
    """Repeat the last turn in Markdown, with the number of its images."""
    quoted = "\n".join(f"> {line}" for line in prompt.text.splitlines()) or "> …"
    images = f"\n\n*Images: {prompt.images}*" if prompt.images else ""
    return f"**You said:**\n\n{quoted}{images}"


def _refusal(dialect: ChatApi, fault: Fault) -> web.Response:
    if fault.kind == "rate_limited":
        code = "rate_limit_exceeded" if isinstance(dialect, OpenAi) else "rate_limit_error"
        return dialect.refusal(429, code, "Rate limit reached.", fault.seconds)
    return dialect.refusal(fault.http_status or 400, fault.code, fault.text)
