"""Answer a command or a button through its `response_url`. Source: docs/facts/teamchat.md."""

import re
from dataclasses import dataclass, field
from typing import Any

from tocsin.channels.contract import COMMONMARK, visible
from tocsin.channels.inbound import answer_in_parts
from tocsin.channels.replies import refused
from tocsin.channels.teamchat.api import TeamchatApi
from tocsin.channels.teamchat.mrkdwn import Mrkdwn
from tocsin.channels.teamchat.wording import escape
from tocsin.core.http.transport import find_origin
from tocsin.core.text.markup import PlainText, literal, render
from tocsin.core.text.measures import escaped_code_points
from tocsin.core.time.clock import Clock

MAX_USES = 5  # of a response_url, in 30 minutes
LIFE_S = 1_790.0
CHUNK_AT = 4_000
HOSTS = ("https://hooks.slack.com", "https://hooks.slack-gov.com")
_PATH = re.compile(r"/[A-Za-z0-9/_.~%-]{1,1000}")


@dataclass(slots=True)
class ResponseUrl:
    """A `response_url`, which needs no token; `expires_at` in monotonic seconds."""

    url: str = field(repr=False)
    expires_at: float
    thread_id: str | None
    uses_left: int = MAX_USES

    @classmethod
    def of(cls, url: object, api_url: str, now: float, thread_id: str | None) -> "ResponseUrl | None":
        """Return the address, or `None` if it is neither on the product's host nor on that of `api_url`."""
        if not isinstance(url, str):
            return None
        origin = find_origin(url)
        if origin not in (*HOSTS, find_origin(api_url)) or not _PATH.fullmatch(url.removeprefix(origin)):
            return None
        return cls(url, now + LIFE_S, thread_id)

    async def answer(
        self, text: str, parse_mode: str, api: TeamchatApi, clock: Clock, *, private: bool = False
    ) -> None:
        """Post `text` in as many parts as it needs; raise ChannelError if that cannot work.

        Everyone in the chat sees it, unless it is `private`. Markdown in more than one part is refused, because the
        unsent rest could not be recovered as Markdown.
        """
        markdown = parse_mode == COMMONMARK
        if clock.monotonic() >= self.expires_at:
            raise refused("expired_url", "a command can be answered directly only for half an hour")
        parts = _rendered(text) if markdown else _literal(text)
        if len(parts) > (min(1, self.uses_left) if markdown else self.uses_left):
            raise refused("used_url", "a command can be answered directly with at most five messages")

        async def post(part: str) -> None:
            self.uses_left -= 1
            said: dict[str, Any] = {"text": part} if markdown else {"text": escape(part), "mrkdwn": False}
            await self._post({"response_type": "ephemeral" if private else "in_channel", **said}, api)

        await answer_in_parts(parts, post)

    async def _post(self, said: dict[str, Any], api: TeamchatApi) -> None:
        thread = {"thread_ts": self.thread_id} if self.thread_id else {}
        await api.respond(self.url, {"replace_original": False, **said, **thread})


def _literal(text: str) -> list[str]:
    """Return the parts of plain text, not yet escaped."""
    return [part.text for part in literal(visible(text), PlainText(CHUNK_AT, escaped_code_points))]


def _rendered(text: str) -> list[str]:
    return [part.text for part in render(visible(text), Mrkdwn(CHUNK_AT))]
