"""Answer an interaction with its token, and show the typing indicator. Source: docs/facts/guildchat.md."""

import re
from dataclasses import dataclass, field
from typing import Any

from tocsin.channels.contract import COMMONMARK, PLAIN, visible
from tocsin.channels.guildchat.api import MAX_CHARS, SUPPRESS_EMBEDS, GuildchatApi
from tocsin.channels.guildchat.interactions import snowflake
from tocsin.channels.guildchat.markdown import GuildMarkdown
from tocsin.channels.inbound import answer_in_parts, as_channel_error
from tocsin.channels.replies import refused, repeat_once
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.text.markup import Block, PlainText, TextRun, literal, render
from tocsin.core.time.clock import Clock

EPHEMERAL = 64  # only the person who asked sees it
LIFE_S = 15 * 60 - 10.0  # of a token, whose time began before the call arrived here
LONGEST_WAIT_S = 5.0  # for the provider's pace; later the queue takes over
# A call may overtake the answer to the webhook; until that has arrived, the provider does not know the token.
NOT_YET = (10015, 10008)
NOT_YET_WAITS_S = (0.25, 0.5, 1.0, 2.0)

_TOKEN = re.compile(r"[A-Za-z0-9_.=~-]{1,500}")


@dataclass(slots=True)
class InteractionToken:
    """The token of one interaction, which replaces the bot's token; `expires_at` in monotonic seconds."""

    application_id: str
    token: str = field(repr=False)
    expires_at: float
    original_is_open: bool  # the deferred answer waits for its text

    @property
    def path(self) -> str:
        """The path of the token below the base address; secret."""
        return f"/webhooks/{self.application_id}/{self.token}"

    @classmethod
    def of(cls, interaction: dict[str, Any], now: float, *, deferred: bool) -> "InteractionToken | None":
        """Return the token, or `None` if it is malformed."""
        application_id, token = snowflake(interaction.get("application_id")), interaction.get("token")
        if not application_id or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            return None
        return cls(application_id, token, now + LIFE_S, deferred)


@dataclass(frozen=True, slots=True)
class InteractionResponder:
    """Answers interactions for one receiver."""

    api: GuildchatApi
    clock: Clock

    async def answer(self, to: InteractionToken, text: str, parse_mode: str = PLAIN) -> None:
        """Fill in the deferred answer, then post follow-ups; raise ChannelError if that cannot work."""
        if self.clock.monotonic() >= to.expires_at:
            raise refused("10062", "an interaction can be answered directly only for 15 minutes")
        if parse_mode == COMMONMARK:
            # The product's Markdown is close to CommonMark, so that unsent parts may be rendered again.
            parts = [part.text for part in render(visible(text), GuildMarkdown(MAX_CHARS))]
            await answer_in_parts(parts, lambda part: self._post(to, part))
            return
        sources = [part.text for part in literal(visible(text), PlainText(MAX_CHARS, escaped_at_most))]
        await answer_in_parts(sources, lambda source: self._post(to, escape_plain(source)))

    async def whisper(self, to: InteractionToken, text: str) -> None:
        """Delete the deferred answer, which all see, and post a message that only the person sees."""
        await self.withdraw(to)
        try:
            await self._post(to, escape_plain(text), EPHEMERAL)
        except RemoteError as failure:
            raise as_channel_error(failure) from None

    async def type(self, channel_id: str) -> None:
        """Show "typing" for 10 seconds."""
        try:
            await self.api.call("POST", f"/channels/{channel_id}/typing")
        except RemoteError as failure:
            raise as_channel_error(failure) from None

    async def withdraw(self, token: InteractionToken) -> None:
        """Delete the deferred answer if it still has no text; raises ChannelError."""
        if not token.original_is_open or self.clock.monotonic() >= token.expires_at:
            return
        try:
            await self._call_with_retry("DELETE", f"{token.path}/messages/@original")
        except RemoteError as failure:
            raise as_channel_error(failure) from None
        token.original_is_open = False

    async def _post(self, to: InteractionToken, part: str, flags: int = 0) -> None:
        said = {"content": part, "allowed_mentions": {"parse": []}, "flags": SUPPRESS_EMBEDS | flags}
        if not to.original_is_open:
            await self._call_with_retry("POST", to.path, said)
            return
        # The same text in the same place: asking twice changes nothing.
        await repeat_once(lambda: self._call_with_retry("PATCH", f"{to.path}/messages/@original", said))
        to.original_is_open = False

    async def _call_with_retry(self, method: str, path: str, document: Any = None) -> None:
        """Call, and retry while the provider asks to wait or does not know the token yet."""
        for usual_s in NOT_YET_WAITS_S:
            try:
                return await self.api.call_by_token(method, path, document)
            except RemoteError as failure:
                if (wait_s := _pause_s(failure, usual_s)) is None:
                    raise
            await self.clock.sleep(wait_s)
        return await self.api.call_by_token(method, path, document)


def escape_plain(text: str) -> str:
    """Return plain text escaped, so that no character acts as markup."""
    return GuildMarkdown(MAX_CHARS).show(Block((TextRun(text),))).text


def escaped_at_most(text: str) -> int:
    """Return an upper bound of the length of `escape_plain(text)`, additive over code points."""
    in_addresses = sum(map(text.count, "\\*`|~"))  # there, %7C instead of a backslash before it
    return len(text) + 2 * in_addresses + sum(map(text.count, "[]_<>#-+."))


def _pause_s(failure: RemoteError, usual_s: float) -> float | None:
    """Return the wait before the next attempt, or `None` to give up."""
    if failure.provider_code in map(str, NOT_YET):
        return usual_s
    told = failure.retry_after_s if failure.kind is FailureKind.RATE_LIMITED else None
    return told if told is not None and told <= LONGEST_WAIT_S else None
