"""Route the output of a run to `<channel>:<target>` or to a profile, through the durable queue."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.channels.contract import NO_CONTENT, PLAIN, Outgoing, SendResult
from tocsin.core.errors import ChannelError, StoreUnavailableError, TocsinError, UnknownChannelError
from tocsin.core.time.timestamps import duration_words
from tocsin.delivery.model import OPEN, DeliveryStatus
from tocsin.delivery.store import DeliveryFilter, UnknownDeliveryError
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.profiles import ProfileEntry, Profiles

LONGEST_WAIT_S = 900.0  # until a queue that is not worked off counts as trouble
_LOOKED_AT = 200  # newest queued messages


class QueuedOutput(NamedTuple):
    """A failed result for each refused target, and the IDs of the deliveries for the others."""

    refused: tuple[SendResult, ...]
    deliveries: tuple[str, ...]


class _Target(NamedTuple):
    channel: str
    target: str
    place: str = ""  # position of the target's mistake in the profiles file
    entry: ProfileEntry | None = None


class OutputRouter:
    """Queues texts for a destination, and reports the outcome of their deliveries."""

    def __init__(self, outbox: Outbox, profiles: Callable[[], Profiles]) -> None:
        self._outbox = outbox
        self._profiles = profiles

    def check(self, destination: str) -> None:
        """Raise TocsinError if a message to the destination would be refused."""
        for target in self._targets(destination):
            self._outbox.prepare(target.channel, target.target, "a text", "")  # nothing is sent: no source

    def targets(self, destination: str) -> set[tuple[str, str]]:
        """Return the channel kinds and targets of a destination; raise TocsinError if it is unknown."""
        return {(self._outbox.kind_of(each.channel), each.target) for each in self._targets(destination)}

    def add_to_profile(self, name: str, channel: str, target: str) -> str:
        """Add a target to a profile, and return its channel's kind; raises TocsinError if it would be refused."""
        self._outbox.prepare(channel, target, "a text", "")
        kind = self._outbox.kind_of(channel)
        self._profiles().add(name, kind, target)
        return kind

    def find_target(self, channel: str, candidates: Sequence[str]) -> tuple[str, str]:
        """Return the kind of a channel, and the first of some texts that is a target of it.

        `channel` may be a scheme of Apprise. Raises UnknownChannelError, or ChannelError, which repeats no candidate.
        """
        kind = self._outbox.kind_of_scheme(channel)
        for candidate in [*filter(None, candidates), ""]:
            try:
                self._outbox.prepare(kind, candidate, "a text", "")
            except UnknownChannelError:
                raise
            except TocsinError:
                continue
            return kind, candidate
        raise ChannelError("it names no target of this channel", hint="add one to profiles.yaml")

    async def queue(
        self,
        destination: str,
        text: str,
        caller: Caller,
        key: str,
        *,
        content: Mapping[str, Any] = NO_CONTENT,
        resolves: bool = False,
    ) -> QueuedOutput:
        """Queue a text for each target, once per `key`; with fields, as `content`, as the entries of the profile say.

        A text that `resolves` a problem goes where its message went, which has the same key and priority, and edits it
        unless the entry says otherwise. A refused target, or an unknown destination, becomes a failed result. Raises
        StoreUnavailableError.
        """
        try:
            targets = self._targets(destination)
        except StoreUnavailableError:
            raise
        except TocsinError as error:
            return QueuedOutput((SendResult(False, "", destination, error=error.sentence()),), ())
        made = [
            await self._queue(target, text, caller, f"{key}:{n}", _adapted(target, content, resolves=resolves))
            for n, target in enumerate(targets)
            if not (target.entry and target.entry.skips(content))
        ]
        refused = tuple(each for each in made if isinstance(each, SendResult))
        return QueuedOutput(refused, tuple(each for each in made if isinstance(each, str)))

    async def outcome(self, delivery_id: str) -> SendResult | None:
        """Return the outcome of a queued message; `None` while it has not ended."""
        try:
            delivery = await self._outbox.get(delivery_id)
        except UnknownDeliveryError:
            return SendResult(False, "", "", error=f"delivery {delivery_id} was deleted")
        if delivery.status in OPEN:
            return None
        ok = delivery.status is DeliveryStatus.SENT
        error = "" if ok else delivery.error or f"the message is {delivery.status}"
        note = f"delivery={delivery.id}" if ok else ""
        return SendResult(ok, delivery.channel, delivery.target, note, error)

    async def trouble(self, now: float) -> str:
        """Return why queued messages may not be sent: the store fails, or one waits for long; empty if all is well."""
        try:
            await self._outbox.store.try_write()
            query = DeliveryFilter(status=DeliveryStatus.QUEUED, limit=_LOOKED_AT)
            waiting = (await self._outbox.store.search(query)).items
        except StoreUnavailableError as error:
            return error.sentence()
        oldest = min((each.next_attempt_at or each.created_at for each in waiting), default=now)
        return f"a message has been due for {duration_words(now - oldest)}" if now - oldest > LONGEST_WAIT_S else ""

    def _targets(self, destination: str) -> list[_Target]:
        channel, colon, target = destination.partition(":")
        if colon:
            return [_Target(channel.strip(), target.strip())]
        profiles = self._profiles()
        entries = profiles.get(destination).entries
        return [_Target(entry.channel, entry.target, profiles.place(entry), entry) for entry in entries]

    async def _queue(
        self, target: _Target, text: str, caller: Caller, key: str, content: Mapping[str, Any]
    ) -> SendResult | str:
        """Return the ID of the delivery, or a failed result."""
        try:
            outgoing = Outgoing(target.target, text, parse_mode=PLAIN, content=content)
            [delivery] = await self._outbox.queue_outgoing(target.channel, [outgoing], key, caller)
        except StoreUnavailableError:
            raise
        except TocsinError as error:
            kind = self._outbox.kind_of(target.channel)
            return SendResult(False, kind, target.target, error=f"{target.place}{error.sentence()}")
        return delivery.id


def _adapted(target: _Target, content: Mapping[str, Any], *, resolves: bool) -> Mapping[str, Any]:
    if resolves:  # good news is not urgent
        content = {name: value for name, value in content.items() if name != "priority"}
    return target.entry.adapt(content, "edit" if resolves else "") if target.entry else content
