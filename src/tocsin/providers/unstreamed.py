"""Read a complete answer from a service that ignored the request to stream."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from tocsin.providers.contract import Completion
from tocsin.providers.endpoint import ModelEndpoint

# Reasons for an early end, in either interface.
_TRUNCATED = frozenset({"length", "max_tokens", "content_filter"})


class UnstreamedError(Exception):
    """Carries the complete answer through the SDK, which expects a stream."""

    def __init__(self, completion: Completion) -> None:
        super().__init__("the answer came in one piece")
        self.completion = completion


def was_to_stream(response: httpx2.Response) -> bool:
    """Whether a stream was requested, but JSON arrived."""
    if response.status_code != 200 or "application/json" not in response.headers.get("content-type", ""):
        return False
    asked = _object(response.request.content)
    return asked.get("stream") is True


def read_completion(body: bytes, endpoint: ModelEndpoint) -> Completion | None:
    """Return the answer in a complete body, or `None` if it contains none."""
    document = _object(body)
    text, ending = _openai(document) if endpoint.provider == "openai" else _anthropic(document)
    if not text.strip():
        return None
    model = document.get("model")
    named = isinstance(model, str) and model.isprintable() and 0 < len(model) <= 200
    return Completion(text, str(model) if named else endpoint.model, endpoint.provider, truncated=ending in _TRUNCATED)


def _openai(document: Mapping[str, Any]) -> tuple[str, object]:
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return "", None
    content = choice["message"].get("content")
    return content if isinstance(content, str) else "", _hashable(choice.get("finish_reason"))


def _anthropic(document: Mapping[str, Any]) -> tuple[str, object]:
    blocks = document.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "".join(texts), _hashable(document.get("stop_reason"))


def _hashable(value: object) -> object:
    return value if isinstance(value, str) else None


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
