"""Route messages, and the output of runs, to `<channel>:<target>` or to a profile, through the durable queue."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.channels.contract import NO_CONTENT, PLAIN, Outgoing, SendResult
from tocsin.core.errors import (
    ChannelError,
    StoreUnavailableError,
    TocsinError,
    UnknownChannelError,
    UnknownProfileError,
)
from tocsin.core.time.timestamps import duration_words
from tocsin.delivery.model import OPEN, DeliveryStatus, NewDelivery
from tocsin.delivery.store import DeliveryFilter, UnknownDeliveryError
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.results import NotifyResult, queued_result

if TYPE_CHECKING:
    from tocsin.channels.targets import ChannelTargets
    from tocsin.messaging.outbound.profiles import ProfileEntry, Profiles

Prepare = Callable[["ProfileEntry"], Awaitable[NewDelivery | SendResult]]

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
    entry: "ProfileEntry | None" = None


class OutputRouter:
    """Queues texts for a destination, and reports the outcome of their deliveries."""

    def __init__(self, outbox: Outbox, profiles: "Callable[[], Profiles]") -> None:
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
        kind, services = self._outbox.channels.kind_of_scheme(channel), self._outbox.channels.services
        if services and kind == services.spec.kind:
            raise UnknownChannelError("its targets are addresses, not parts of one")
        for candidate in [*filter(None, candidates), ""]:
            try:
                self._outbox.prepare(kind, candidate, "a text", "")
            except UnknownChannelError:
                raise
            except TocsinError:
                continue
            return kind, candidate
        raise ChannelError("it names no target of this channel", hint="add one to profiles.yaml")

    def check_service(self, address: str) -> str:
        """Return the kind of the channel that reaches a service by its address; raises TocsinError, without it."""
        return self._services().check_entry(address)

    def add_service(self, name: str, entry: str) -> None:
        """Add a target of that channel to `targets.yaml`; raises ConfigError or WriteError."""
        self._services().add(name, entry)

    def _services(self) -> "ChannelTargets":
        if (found := self._outbox.channels.services) is None:
            raise UnknownChannelError("no channel reaches services by their address")
        return found

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
        try:
            entries = profiles.get(destination).entries
        except UnknownProfileError as error:
            if self._outbox.kind_of(destination) not in self._outbox.channels.kinds():
                raise
            hint = f"{destination} is a channel: write {destination}:TARGET"
            raise UnknownProfileError(str(error), hint=hint) from None
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
            if content.get("actions"):  # the text may be longer than a message with buttons
                bare = {name: value for name, value in content.items() if name != "actions"}
                return await self._queue(target, text, caller, key, bare)
            kind = self._outbox.kind_of(target.channel)
            return SendResult(False, kind, target.target, error=f"{target.place}{error.sentence()}")
        return delivery.id


def _adapted(target: _Target, content: Mapping[str, Any], *, resolves: bool) -> Mapping[str, Any]:
    if resolves:  # good news is not urgent
        content = {name: value for name, value in content.items() if name != "priority"}
    return target.entry.adapt(content, "edit" if resolves else "") if target.entry else content


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageForProfile:
    """A message to a profile."""

    text: str
    parse_mode: str = ""  # on channels that have it
    content: Mapping[str, Any] = field(default_factory=dict)
    resolution: str = ""  # as in `ProfileEntry.adapt`
    tags: Sequence[Collection[str]] = ()  # in a profile with tags: only targets with all tags of one of these sets
    not_before: float | None = None  # when it is sent, in Unix seconds
    optional_files: bool = False  # a target that does not take them gets the text, with their names
    optional_buttons: bool = False  # a target on which they could not be pressed gets the text


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

    async def send(self, profile: str, message: MessageForProfile, key: str = "") -> NotifyResult:
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

    def _prepared(self, entry: "ProfileEntry", message: MessageForProfile) -> NewDelivery:
        adapted = entry.adapt(message.content, message.resolution)
        kind, target, source = entry.channel, entry.target, self._caller.source
        mode = message.parse_mode if message.parse_mode in self._modes_of(kind) else ""
        try:
            return self._outbox.prepare(kind, target, message.text, source, parse_mode=mode, content=adapted)
        except ChannelError as error:
            if message.optional_buttons and adapted.get("actions"):
                bare = {name: value for name, value in message.content.items() if name != "actions"}
                return self._prepared(entry, replace(message, content=bare))
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
