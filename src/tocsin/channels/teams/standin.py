"""Stand-in of workflows that post cards. It imports nothing of ours: it plays the other side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, whole_seconds

SIGNATURE = "example-of-a-signature-in-the-address"
MAX_BYTES = 28 * 1024
_CONTENT_TYPE = "application/vnd.microsoft.card.adaptive"
_CARD = {"$schema", "type", "version", "body", "actions"}
_STYLES = {"default", "emphasis", "good", "attention", "warning", "accent"}


class WorkflowServer(HttpStandIn):
    """A workflow that is started by calls with its signature, and posts their card.

    Without `posts`, it accepts calls, but its action fails: nothing is shown.
    """

    channel = "teams"
    sample = "ops"

    def __init__(
        self, recorder: Recorder | None = None, *, signature: str = SIGNATURE, posts: bool = True, **serving: Any
    ) -> None:
        super().__init__(recorder, **serving)
        self.signature, self.posts = signature, posts

    def targets(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the entry of `targets.yaml` that points the channel here."""
        return {self.sample: {"url": f"{self.url}/workflows/invoke?sig={self.signature}"}}

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [web.post("/workflows/invoke", self._start)]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with the status of the fault."""
        if fault.kind == "rate_limited":
            return web.Response(status=429, headers={"Retry-After": whole_seconds(fault.seconds)})
        return answer_with(fault.http_status, fault.code)

    async def _start(self, request: web.Request) -> web.Response:
        if request.query.get("sig") != self.signature:
            raise refuse(401, "AuthorizationFailed")
        raw = await request.read()
        if len(raw) > MAX_BYTES:
            raise refuse(413, "RequestEntityTooLarge")
        text = read_message(raw)
        if self.posts:
            self.record(request, self.sample, text, id=f"run-{self.requests}", account="workflow", body=json.loads(raw))
        return web.Response(status=202)


def read_message(raw: bytes) -> str:
    """Return the text of a message's card, or refuse."""
    try:
        message = json.loads(raw)
        [attachment] = message["attachments"]
        card = attachment["content"]
        fits = message["type"] == "message" and attachment["contentType"] == _CONTENT_TYPE
        fits = fits and card["type"] == "AdaptiveCard" and set(card) <= _CARD
        actions = card.get("actions", [])
        fits = (
            fits and len(actions) <= 6 and all(each["type"] == "Action.OpenUrl" and each["title"] for each in actions)
        )
        lines = [line for item in card["body"] for line in read_item(item)]
    except (ValueError, TypeError, KeyError):
        raise refuse(400, "InvalidCard") from None
    if not fits or not lines:
        raise refuse(400, "InvalidCard")
    return "\n".join(lines)


def read_item(item: Mapping[str, Any]) -> list[str]:
    """Return the lines of an element of a card; raise KeyError or ValueError if it is not one."""
    if item["type"] == "Container":
        if item["style"] not in _STYLES or not item["items"]:
            raise ValueError("not a container")
        return [line for each in item["items"] for line in read_item(each)]
    if item["type"] != "RichTextBlock" or not item["inlines"]:
        raise ValueError("not an element that is used here")
    runs = [{"type": "TextRun", "text": run} if isinstance(run, str) else run for run in item["inlines"]]
    if any(run["type"] != "TextRun" or not run["text"] for run in runs):
        raise ValueError("not a run of text")
    return ["".join(run["text"] for run in runs)]


def refuse(status: int, code: str) -> RefusalError:
    """Return the refusal with this status."""
    return RefusalError(answer_with(status, code))


def answer_with(status: int, code: str) -> web.Response:
    """Return an error as the service writes it."""
    return web.json_response({"error": {"code": code, "message": code}}, status=status)
