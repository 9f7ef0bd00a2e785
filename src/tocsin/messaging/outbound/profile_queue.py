"""Messages, and withdrawals of them, into the queue for every target of a profile."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import SendResult
from tocsin.core.errors import ChannelError, StoreUnavailableError, TocsinError, UnknownProfileError
from tocsin.delivery.model import NewDelivery
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.results import NotifyResult, queued_result

if TYPE_CHECKING:
    from tocsin.messaging.outbound.profiles import ProfileEntry, Profiles

Prepare = Callable[["ProfileEntry"], Awaitable[NewDelivery | SendResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileMessage:
    """A message to a profile."""

    text: str
    parse_mode: str = ""  # on channels that have it
    content: Mapping[str, Any] = field(default_factory=dict)
    resolution: str = ""  # as in `ProfileEntry.adapt`
    tags: Sequence[Collection[str]] = ()  # in a profile with tags: only targets with all tags of one of these sets
    not_before: float | None = None  # when it is sent, in Unix seconds
    optional_files: bool = False  # a target that does not take them gets the text, with their names


class ProfileQueue:
    """Queues for the targets of profiles; an invalid target becomes a failed result.

    The same `key` queues something once, within 24 hours. Raises UnknownProfileError, ConfigError, and what the store
    raises when nothing was queued.
    """

    def __init__(
        self, outbox: Outbox, profiles: "Profiles", caller: Caller, modes_of: Callable[[str], Sequence[str]]
    ) -> None:
        """`modes_of` returns the parse modes of a channel."""
        self._outbox = outbox
        self._profiles = profiles
        self._caller = caller
        self._modes_of = modes_of

    async def send(self, profile: str, message: ProfileMessage, key: str = "") -> NotifyResult:
        """Queue a message."""
        entries = self._profiles.get(profile).entries
        tags = message.tags if any(entry.tags for entry in entries) else ()

        async def prepare(entry: "ProfileEntry") -> NewDelivery | SendResult:
            if why := entry.skips(message.content) or entry.lacks_tags(tags):
                return SendResult(True, entry.channel, entry.target, message=why)
            return self._prepared(entry, message)

        if tags and all(entry.lacks_tags(tags) for entry in entries):
            raise UnknownProfileError(
                f"no target of the profile {profile} has the tags", hint=f"add them as `tags` to {self._profiles.path}"
            )
        return await self._queue(profile, entries, prepare, key, message.not_before)

    async def withdraw(self, profile: str, message_key: str, key: str) -> NotifyResult:
        """Cancel what waits with the key of a message, and queue the withdrawal of what was sent with it."""

        async def prepare(entry: "ProfileEntry") -> NewDelivery:
            new = self._outbox.prepare_withdrawal(entry.channel, entry.target, message_key, self._caller.source)
            await self._outbox.cancel_waiting(new, self._caller)
            return new

        return await self._queue(profile, self._profiles.get(profile).entries, prepare, key, None)

    def _prepared(self, entry: "ProfileEntry", message: ProfileMessage) -> NewDelivery:
        adapted = entry.adapt(message.content, message.resolution)
        kind, target, source = entry.channel, entry.target, self._caller.source
        mode = message.parse_mode if message.parse_mode in self._modes_of(kind) else ""
        try:
            return self._outbox.prepare(kind, target, message.text, source, parse_mode=mode, content=adapted)
        except ChannelError as error:
            if not (message.optional_files and adapted.get("attach")):
                raise
            names = ", ".join(str(each["name"]) for each in adapted["attach"])
            text = f"{message.text}\n\nFiles that were not sent ({error}): {names}"
            without = {name: value for name, value in adapted.items() if name != "attach"}
            return self._outbox.prepare(kind, target, text, source, parse_mode=mode, content=without)

    async def _queue(
        self, profile: str, entries: Sequence["ProfileEntry"], prepare: Prepare, key: str, not_before: float | None
    ) -> NotifyResult:
        prepared: list[NewDelivery | SendResult] = []
        for number, entry in enumerate(entries):
            try:
                new = await prepare(entry)
                if isinstance(new, NewDelivery):
                    new = new.with_terms(not_before, None, f"{key}:{number}" if key else None)
                prepared.append(new)
            except StoreUnavailableError:
                raise
            except TocsinError as error:
                said = f"{self._profiles.place(entry)}{error.in_result()}"
                prepared.append(SendResult(False, entry.channel, entry.target, error=said))
        new_ones = [item for item in prepared if isinstance(item, NewDelivery)]
        accepted = iter(await self._outbox.enqueue(new_ones, self._caller))
        results = [item if isinstance(item, SendResult) else queued_result(next(accepted)) for item in prepared]
        return NotifyResult(profile, tuple(results))
