"""The two interfaces of chat models as data: requests, and answers whole or streamed.

Sources: https://platform.openai.com/docs/api-reference/chat, https://docs.claude.com/en/api/messages and
https://docs.claude.com/en/docs/build-with-claude/streaming
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from tocsin_standins.serving import RefusalError, whole_seconds

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MAX_IMAGE_CHARS = 5 * 1024 * 1024  # in base64: https://docs.claude.com/en/docs/build-with-claude/vision
FINAL = "final_result"  # what clients call the function for a structured answer beside other tools
CREATED = 1_800_000_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request by either interface; `text` and `images` are those of the last turn."""

    model: str
    system: str
    turns: tuple[tuple[str, str], ...]
    images: int
    stream: bool
    wants_usage: bool
    tool: str  # the function that the model must call
    schema: Mapping[str, Any] | None  # of that function's arguments, or of the requested JSON text
    max_tokens: int | None = None
    temperature: float | None = None

    @property
    def text(self) -> str:
        """The text of the last turn."""
        return self.turns[-1][1]

    @property
    def names(self) -> list[str]:
        """The names that the instructions list, each on a line `- name: description`."""
        return re.findall(r"^- ([\w-]+): ", self.system, re.MULTILINE)

    def summary(self) -> dict[str, Any]:
        """Return the fields to record, without images and schema."""
        return {
            "system": self.system,
            "turns": [list(turn) for turn in self.turns],
            "images": self.images,
            "stream": self.stream,
            "tool": self.tool,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An answer in which the model calls one of the tools that it was given."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's output: a text, or with `tool` the arguments of a call as JSON."""

    text: str
    id: str
    tool: str = ""
    shortened: bool = False

    @property
    def pieces(self) -> list[str]:
        """The text word by word, blanks included."""
        return re.findall(r"\s*\S+|\s+$", self.text)

    @property
    def tokens(self) -> int:
        """The token counts."""
        return len(self.pieces)


class ChatApi(Protocol):
    """One of the two interfaces."""

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the API key of a request."""

    def read(self, body: Mapping[str, Any]) -> Prompt:
        """Read a request; raise RefusalError as the product does."""

    def document(self, prompt: Prompt, answer: ModelReply) -> dict[str, Any]:
        """Return the whole answer."""

    def events(self, prompt: Prompt, answer: ModelReply) -> Iterator[bytes]:
        """Return the answer as server-sent events, one per piece, and the final ones."""

    def error_event(self) -> bytes:
        """Return the error event of a model that becomes overloaded while it answers."""

    def refusal(self, status: int, code: str, text: str, seconds: float = 0.0) -> web.Response:
        """Return an error in the product's shape; `seconds` is for 429."""


class OpenAi:
    """`POST /v1/chat/completions`."""

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the bearer token."""
        return headers.get("Authorization", "").removeprefix("Bearer ")

    def read(self, body: Mapping[str, Any]) -> Prompt:
        """Read messages, images, tools and the JSON schema of a requested text."""
        turns, images, system = [], 0, []
        for message in _messages(self, body):
            text, images = self._content(message.get("content"))
            if message.get("role") in {"system", "developer"}:
                system.append(text)
            else:
                turns.append((str(message.get("role")), text))
        if not turns:
            raise self._invalid("messages must have at least one turn of a user")
        tool, schema = self._structure(body)
        return Prompt(
            model=str(body.get("model", "")),
            system="\n".join(system),
            turns=tuple(turns),
            images=images,
            stream=body.get("stream") is True,
            wants_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            tool=tool,
            schema=schema,
            max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
            temperature=body.get("temperature"),
        )

    def document(self, prompt: Prompt, answer: ModelReply) -> dict[str, Any]:
        """Return a `chat.completion`."""
        choice = {"index": 0, "message": self._whole(answer), "finish_reason": self._finish(answer), "logprobs": None}
        return self._head(prompt, answer, "chat.completion") | {"choices": [choice], "usage": _usage(prompt, answer)}

    def events(self, prompt: Prompt, answer: ModelReply) -> Iterator[bytes]:
        """Return `chat.completion.chunk` events up to `[DONE]`."""
        head = self._head(prompt, answer, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return _event(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        yield chunk({"role": "assistant", "content": None if answer.tool else ""})
        if answer.tool:
            function = {"name": answer.tool, "arguments": ""}
            yield chunk({"tool_calls": [{"index": 0, "id": answer.id, "type": "function", "function": function}]})
        for piece in answer.pieces:
            call = {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            yield chunk(call if answer.tool else {"content": piece})
        yield chunk({}, self._finish(answer))
        if prompt.wants_usage:
            yield _event(head | {"choices": [], "usage": _usage(prompt, answer)})
        yield b"data: [DONE]\n\n"

    def error_event(self) -> bytes:
        """Return the error object that a stream may carry."""
        return _event({"error": {"message": "The server is overloaded.", "type": "server_error", "code": "overloaded"}})

    def refusal(self, status: int, code: str, text: str, seconds: float = 0.0) -> web.Response:
        """Return `{"error": {…}}`."""
        kind = {401: "invalid_request_error", 429: "requests"}.get(status, "invalid_request_error")
        error = {"message": text or code, "type": kind if status < 500 else "server_error", "param": None, "code": code}
        return web.json_response({"error": error}, status=status, headers=_retry_after(seconds))

    def _content(self, content: Any) -> tuple[str, int]:
        if isinstance(content, str):
            return content, 0
        if not isinstance(content, list):
            return "", 0
        texts, images = [], 0
        for part in content:
            if part.get("type") == "text":
                texts.append(str(part.get("text", "")))
            elif part.get("type") == "image_url":
                media_type, _, data = str(part["image_url"]["url"]).removeprefix("data:").partition(";base64,")
                if not _is_image(media_type, data):
                    raise self._invalid("the image is not a base64 data URL of a supported type")
                images += 1
        return "\n".join(texts), images

    def _structure(self, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
        tools = body.get("tools") or []
        if tools and body.get("tool_choice") not in (None, "auto", "none"):
            functions = [each["function"] for each in tools]
            function = next((each for each in functions if each["name"] == FINAL), functions[0])
            return str(function["name"]), function.get("parameters") or {}
        wanted = body.get("response_format") or {}
        return "", (wanted.get("json_schema") or {}).get("schema")

    def _head(self, prompt: Prompt, answer: ModelReply, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": CREATED, "model": prompt.model}

    def _whole(self, answer: ModelReply) -> dict[str, Any]:
        if not answer.tool:
            return {"role": "assistant", "content": answer.text, "refusal": None}
        function = {"name": answer.tool, "arguments": answer.text}
        call = {"id": answer.id, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}

    def _finish(self, answer: ModelReply) -> str:
        return "length" if answer.shortened else "tool_calls" if answer.tool else "stop"

    def _invalid(self, text: str) -> RefusalError:
        return RefusalError(self.refusal(400, "invalid_value", text))


class Anthropic:
    """`POST /v1/messages`."""

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return `x-api-key`, or the bearer token that newer SDKs send instead."""
        return headers.get("x-api-key", "") or headers.get("Authorization", "").removeprefix("Bearer ")

    def read(self, body: Mapping[str, Any]) -> Prompt:
        """Read messages, images and tools."""
        turns, images = [], 0
        if not isinstance(body.get("max_tokens"), int):
            raise self._invalid("max_tokens: Field required")
        for message in _messages(self, body):
            text, images = self._content(message.get("content"))
            turns.append((str(message.get("role")), text))
        if turns[0][0] != "user":
            raise self._invalid("messages: first message must use the user role")
        tool, schema = self._structure(body)
        return Prompt(
            model=str(body.get("model", "")),
            system=self._content(body.get("system") or "")[0],
            turns=tuple(turns),
            images=images,
            stream=body.get("stream") is True,
            wants_usage=True,
            tool=tool,
            schema=schema,
            max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
            temperature=body.get("temperature"),
        )

    def document(self, prompt: Prompt, answer: ModelReply) -> dict[str, Any]:
        """Return a `message`."""
        block: dict[str, Any] = {"type": "text", "text": answer.text}
        if answer.tool:
            arguments = json.loads(answer.text)
            block = {"type": "tool_use", "id": f"toolu_{answer.id}", "name": answer.tool, "input": arguments}
        head = self._head(prompt, answer)
        head["usage"]["output_tokens"] = answer.tokens
        return head | {"content": [block] if answer.text else [], "stop_reason": self._finish(answer)}

    def events(self, prompt: Prompt, answer: ModelReply) -> Iterator[bytes]:
        """Return the named events from `message_start` to `message_stop`."""
        yield self._event("message_start", message=self._head(prompt, answer))
        block: dict[str, Any] = {"type": "text", "text": ""}
        if answer.tool:
            block = {"type": "tool_use", "id": f"toolu_{answer.id}", "name": answer.tool, "input": {}}
        yield self._event("content_block_start", index=0, content_block=block)
        yield self._event("ping")
        for piece in answer.pieces:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield self._event(
                "content_block_delta", index=0, delta=delta if answer.tool else {"type": "text_delta", "text": piece}
            )
        yield self._event("content_block_stop", index=0)
        end = {"stop_reason": self._finish(answer), "stop_sequence": None}
        yield self._event("message_delta", delta=end, usage={"output_tokens": answer.tokens})
        yield self._event("message_stop")

    def error_event(self) -> bytes:
        return self._event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    def refusal(self, status: int, code: str, text: str, seconds: float = 0.0) -> web.Response:
        """Return `{"type": "error", "error": {…}}`."""
        error = {"type": code, "message": text or code}
        body = {"type": "error", "error": error, "request_id": "req_standin"}
        return web.json_response(body, status=status, headers=_retry_after(seconds))

    def _content(self, content: Any) -> tuple[str, int]:
        if isinstance(content, str):
            return content, 0
        texts, images = [], 0
        for block in content:
            if block.get("type") == "text":
                if not str(block.get("text", "")).strip():
                    raise self._invalid("messages: text content blocks must be non-empty")
                texts.append(block["text"])
            elif block.get("type") == "tool_result":
                texts.append(self._content(block.get("content") or "")[0])
            elif block.get("type") == "image":
                if not _is_image(str(block["source"].get("media_type")), str(block["source"].get("data"))):
                    raise self._invalid("the image is not base64 of a supported type")
                images += 1
        return "\n".join(texts), images

    def _structure(self, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
        tools = body.get("tools") or []
        if tools and (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
            function = next((each for each in tools if each["name"] == FINAL), tools[0])
            return str(function["name"]), function.get("input_schema") or {}
        wanted = (body.get("output_config") or {}).get("format") or {}
        return "", wanted.get("schema")

    def _head(self, prompt: Prompt, answer: ModelReply) -> dict[str, Any]:
        usage = {"input_tokens": _input_tokens(prompt), "output_tokens": 1}
        head = {"id": f"msg_{answer.id}", "type": "message", "role": "assistant", "model": prompt.model, "content": []}
        return head | {"stop_reason": None, "stop_sequence": None, "usage": usage}

    def _finish(self, answer: ModelReply) -> str:
        return "max_tokens" if answer.shortened else "tool_use" if answer.tool else "end_turn"

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\n".encode() + _event({"type": kind, **fields})

    def _invalid(self, text: str) -> RefusalError:
        return RefusalError(self.refusal(400, "invalid_request_error", text))


def build_example(
    schema: Mapping[str, Any], text: str, root: Mapping[str, Any] | None = None, names: Sequence[str] = ()
) -> Any:
    """Return a minimal value for a JSON schema; strings repeat `text`, empty defaults take a name that occurs in it."""
    root = schema if root is None else root
    if reference := schema.get("$ref"):
        schema = root.get("$defs", {})[str(reference).rpartition("/")[2]]
    if choices := schema.get("anyOf") or schema.get("allOf"):
        return build_example(choices[0], text, root, names)
    fixed = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if fixed:
        return fixed[0]
    if "default" in schema:
        default = schema["default"]
        return next((name for name in names if name in text), "") if default == "" else default
    kind = schema.get("type")
    if kind == "object":
        return {name: build_example(field, text, root, names) for name, field in schema.get("properties", {}).items()}
    if kind == "array":
        return [build_example(schema.get("items", {}), text, root, names)]
    simple = {"integer": schema.get("minimum", 0), "number": schema.get("minimum", 0), "boolean": False, "null": None}
    return simple.get(str(kind), text)


def _messages(dialect: OpenAi | Anthropic, body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise RefusalError(
            dialect.refusal(400, "invalid_request_error", "messages: a list of at least one is required")
        )
    return messages


def _is_image(media_type: str, data: str) -> bool:
    try:
        fits = media_type in IMAGE_TYPES and len(data) <= MAX_IMAGE_CHARS
        return fits and bool(base64.b64decode(data, validate=True))
    except binascii.Error:
        return False


def _usage(prompt: Prompt, answer: ModelReply) -> dict[str, int]:
    asked, said = _input_tokens(prompt), answer.tokens
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _input_tokens(prompt: Prompt) -> int:
    return sum(len(text.split()) for text in (prompt.system, *(text for _, text in prompt.turns)))


def _event(document: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(document)}\n\n".encode()


def _retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": whole_seconds(seconds)} if seconds else {}
