"""Send, test and fan out, with one audit entry per operation."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tocsin.channels.action_tokens import with_secret
from tocsin.channels.contract import COMMONMARK, NO_CONTENT, PLAIN, Outgoing, Receipt, SendResult
from tocsin.channels.registry import Registry
from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ChannelError, FailureKind, NotFoundError, RemoteError, StoreUnavailableError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.tasks import to_the_end
from tocsin.core.text.strings import number_of, truncate
from tocsin.core.tracing.spans import current_tracer, span
from tocsin.delivery.keyed import KeyedReceipt, wait_for_sending
from tocsin.delivery.model import MessageOperation
from tocsin.messaging.outbound.account_holds import AccountHolds
from tocsin.messaging.outbound.audit_actions import MSG_NOTIFY, MSG_TEST, MSG_WITHDRAW, record_send
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.output_routing import MessageForProfile, ProfileQueue
from tocsin.messaging.outbound.results import (
    SHOWN,
    NotifyResult,
    PlannedTarget,
    facts_of,
    outcome_of,
    with_id,
    with_position,
)

if TYPE_CHECKING:
    from asyncio import Task

    from tocsin.channels.dressing import MessagePlan
    from tocsin.messaging.outbound.profiles import Profiles

__all__ = ["Caller", "Messenger", "NotifyResult", "Observer", "OnCutOff"]

Observer = Callable[[Receipt], None]
OnCutOff = Callable[[Sequence[Receipt]], None]

# How long `aclose` waits for cancelled sends; recording them takes milliseconds.
CLOSE_S = 2.0


class UnknownKeyError(NotFoundError):
    """No message to the target has the key."""


def unknown_key(target: str, key: str) -> UnknownKeyError:
    """Return the error for a key that no message to the target has."""
    return UnknownKeyError(f"no message to {target} has the key {key}", hint="use the key of a message")


class _Sending:
    """One message of a call. Its key is the ID of its record; `receipt` is set when the send has ended."""

    __slots__ = ("channel", "keyed", "operation", "outgoing", "receipt")

    def __init__(
        self, channel: str, target: str, message: str, parse_mode: str = "", content: Mapping[str, Any] = NO_CONTENT
    ) -> None:
        self.channel = channel
        self.outgoing = with_secret(Outgoing(target, message, new_id(), parse_mode, content=content))
        self.operation = MessageOperation.SEND
        self.keyed: KeyedReceipt | None = None
        self.receipt: Receipt | None = None


class Messenger:
    """Sends, tests and fans out; each operation writes exactly one audit entry."""

    def __init__(
        self,
        registry: Registry,
        profiles: Callable[[], "Profiles"],
        audit: AuditTrail,
        outbox: Outbox,
        *,
        observers: Sequence[Observer] = (),
    ) -> None:
        """`observers` receive the receipt of every send that is not cancelled."""
        self._registry = registry
        self._profiles = profiles
        self._audit = audit
        self._outbox = outbox
        self._holds = AccountHolds(outbox.store, outbox.clock)
        self._observers = observers
        self._running: set[Task[Any]] = set()

    def profile_names(self) -> tuple[str, ...]:
        """Return the names of the notification profiles."""
        return tuple(profile.name for profile in self._profiles().all())

    def channel_names(self) -> tuple[str, ...]:
        """Return the kinds of all channels and their aliases, configured or not."""
        kinds = self._registry.kinds()
        return (*kinds, *(alias for kind in kinds for alias in self._registry.spec(kind).aliases))

    def channel_label(self, name: str) -> str:
        """Return the display name of a channel."""
        return self._registry.label(name)

    def parse_modes(self) -> tuple[str, ...]:
        """Return the parse modes of all channels."""
        kinds = self._registry.kinds()
        return tuple(dict.fromkeys([*(mode for kind in kinds for mode in self._parse_modes(kind)), PLAIN, COMMONMARK]))

    def _modes_of(self, channel: str) -> tuple[str, ...]:
        return (PLAIN, COMMONMARK, *self._parse_modes(channel))

    def _parse_modes(self, channel: str) -> tuple[str, ...]:
        try:
            return self._registry.spec(channel).parse_modes
        except TocsinError:
            return ()

    async def send(
        self,
        channel: str,
        target: str,
        message: str,
        caller: Caller,
        *,
        parse_mode: str = "",
        content: Mapping[str, Any] = NO_CONTENT,
        on_cut_off: OnCutOff | None = None,
    ) -> Receipt:
        """Send one message directly; never raises, except when cancelled.

        A cancelled send is recorded and audited like any other; `on_cut_off` receives its receipt.
        """

        def note(receipts: Sequence[Receipt]) -> None:
            receipt = receipts[0]
            outcome, comment = outcome_of(receipt)
            facts = {**facts_of(receipt), **caller.facts}
            record_send(self._audit, outcome, comment, source=caller.source, metadata=facts)

        sending = _Sending(channel, target, message, parse_mode, content)
        [receipt] = await self._send_all([sending], caller, note, on_cut_off)
        return receipt

    async def withdraw(self, channel: str, target: str, key: str, caller: Caller) -> Receipt:
        """Withdraw the message of a key now, once it is not being sent any more, and cancel what waits with that key.

        Raises only UnknownKeyError; a channel that cannot withdraw is a failed result.
        """

        def note(receipts: Sequence[Receipt]) -> None:
            [receipt] = receipts
            outcome, comment = outcome_of(receipt)
            detail = f"{'withdrawn' if receipt.result.ok else outcome} on {receipt.result.channel}{comment}"
            self._record(MSG_WITHDRAW, detail, caller, {**facts_of(receipt), "message_key": truncate(key, SHOWN)})

        try:
            new = self._outbox.prepare_withdrawal(channel, target, key, caller.source)
            store, cancelled = self._outbox.store, await self._outbox.cancel_waiting(new, caller)
            if was_sending := await wait_for_sending(store, self._outbox.clock, new.channel, new.target, key):
                cancelled += await self._outbox.cancel_waiting(new, caller)  # a send that would be retried
            last = await store.latest(new.channel, new.target, key)
        except TocsinError as error:
            receipt = self._refusal_receipt(channel, target, error)
            note([receipt])
            return receipt
        if last is None:
            if not cancelled and not was_sending:
                raise unknown_key(target, key)
            said = "cancelled before it was sent" if cancelled else "nothing to withdraw: it was not sent"
            return Receipt(SendResult(True, new.channel, target, message=said))
        sending = _Sending(channel, target, "", content={"key": key})
        sending.operation = MessageOperation.WITHDRAW
        [receipt] = await self._send_all([sending], caller, note, None)
        return receipt

    async def test(self, channel: str, caller: Caller) -> SendResult:
        """Verify a channel's credentials without sending; never raises."""
        return (await self.try_channel(channel, caller)).result

    async def try_channel(self, channel: str, caller: Caller) -> Receipt:
        """Verify a channel's credentials like `test`, and also return the failure."""
        try:
            adapter = self._registry.adapter(channel)
        except TocsinError as error:
            receipt = self._refusal_receipt(channel, "", error)
        else:
            receipt = await adapter.try_connection()
        result = receipt.result
        outcome = result.message if result.ok else f"failed: {result.error}"
        self._record(MSG_TEST, f"{result.channel}: {outcome}", caller, {"channel": result.channel, "ok": result.ok})
        return receipt

    def _refusal_receipt(self, channel: str, target: str, error: TocsinError) -> Receipt:
        """Return the receipt for a channel that cannot be used."""
        kind = FailureKind.TRANSIENT if isinstance(error, StoreUnavailableError) else FailureKind.PERMANENT
        failure = (
            error if isinstance(error, RemoteError) else ChannelError(str(error), kind=kind, provider_code=error.code)
        )
        result = SendResult(False, self._registry.kind_of(channel), target, error=error.in_result())
        return Receipt(result, failure=failure)

    async def notify(
        self,
        profile: str,
        message: str,
        caller: Caller,
        *,
        parse_mode: str = "",
        content: Mapping[str, Any] = NO_CONTENT,
        on_cut_off: OnCutOff | None = None,
    ) -> NotifyResult:
        """Send concurrently to every target of a profile; channels without `parse_mode` use their default.

        Raises only UnknownProfileError or ConfigError.
        """
        profiles = self._profiles()
        every = profiles.get(profile).entries
        skipped = [entry.skips(content) for entry in every]
        entries = [entry for entry, why in zip(every, skipped, strict=True) if not why]

        def note(receipts: Sequence[Receipt]) -> None:
            sent = sum(receipt.result.ok for receipt in receipts)
            self._record(
                MSG_NOTIFY,
                f"profile {profile}: sent to {sent} of {number_of(len(receipts), 'target')}",
                caller,
                {"profile": profile, "ok": sent == len(receipts), "targets": [facts_of(each) for each in receipts]},
            )

        sends = [
            _Sending(
                entry.channel,
                entry.target,
                message,
                parse_mode if parse_mode in self._modes_of(entry.channel) else "",
                entry.adapt(content),
            )
            for entry in entries
        ]
        left = iter(await self._send_all(sends, caller, note, on_cut_off))
        ended = [
            Receipt(SendResult(True, entry.channel, entry.target, message=why)) if why else next(left)
            for entry, why in zip(every, skipped, strict=True)
        ]
        placed = tuple(with_position(r.result, profiles.place(entry)) for entry, r in zip(every, ended, strict=True))
        return NotifyResult(profile, placed, tuple(each.failure for each in ended))

    def plan(
        self, profile: str, message: str, *, parse_mode: str = "", content: Mapping[str, Any] = NO_CONTENT
    ) -> list[PlannedTarget]:
        """Return what the message would become for each target; raises UnknownProfileError or ConfigError."""
        found = []
        for entry in self._profiles().get(profile).entries:
            planned: MessagePlan | TocsinError
            try:
                mode = parse_mode if parse_mode in self._modes_of(entry.channel) else ""
                adapted = entry.adapt(content)
                planned = self._outbox.plan(entry.channel, entry.target, message, parse_mode=mode, content=adapted)
            except TocsinError as error:
                planned = error
            found.append(PlannedTarget(entry.channel, entry.target, planned, entry.skips(content)))
        return found

    def check_profile(self, profile: str) -> None:
        """Raise UnknownProfileError or ConfigError if messages cannot be sent to a profile."""
        self._profiles().get(profile)

    async def notify_by_queue(
        self,
        profile: str,
        message: str,
        caller: Caller,
        *,
        key: str = "",
        parse_mode: str = "",
        content: Mapping[str, Any] = NO_CONTENT,
    ) -> NotifyResult:
        """Queue the message for every target of a profile, as `ProfileQueue.send` does."""
        made = MessageForProfile(text=message, parse_mode=parse_mode, content=content)
        return await self.for_profiles(caller).send(profile, made, key)

    def for_profiles(self, caller: Caller) -> ProfileQueue:
        """Return what queues messages and withdrawals for profiles."""
        return ProfileQueue(self._outbox, self._profiles(), caller, self._modes_of)

    async def aclose(self) -> None:
        """Cancel running sends, and wait until each is recorded."""
        import asyncio

        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_S)

    async def _send_all(
        self, sends: "Sequence[_Sending]", caller: Caller, note: OnCutOff, on_cut_off: OnCutOff | None
    ) -> list[Receipt]:
        """Send concurrently; `note` receives all receipts once, also when the caller is cancelled."""
        import asyncio

        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
        try:
            transmit = self._transmit_traced if current_tracer() else self._transmit
            if len(sends) == 1:
                await transmit(sends[0], caller)
            else:
                await asyncio.gather(*[transmit(each, caller) for each in sends])
        except BaseException:
            receipts = [each.receipt or self._cancelled_receipt(each) for each in sends]
            note(receipts)
            if on_cut_off:
                on_cut_off(receipts)
            raise
        finally:
            self._running.discard(task)
        note(receipts := [each.receipt for each in sends if each.receipt])
        return receipts

    async def _transmit_traced(self, sending: "_Sending", caller: Caller) -> None:
        with span("send message", channel=sending.channel, delivery=sending.outgoing.key) as current:
            await self._transmit(sending, caller)
            if receipt := sending.receipt:
                current.set(channel=receipt.result.channel, outcome=outcome_of(receipt)[0])
                current.fail(receipt.failure.kind if receipt.failure else "")

    async def _transmit(self, sending: "_Sending", caller: Caller) -> None:
        """Send, record, and leave the receipt in `sending`, even when this is cancelled on the way."""
        try:
            adapter = self._registry.adapter(sending.channel)
        except TocsinError as error:
            sending.receipt = self._notify_observers(
                self._refusal_receipt(sending.channel, sending.outgoing.target, error)
            )
            return
        held = await self._holds.refusal(adapter.spec.kind, adapter.spec.retry.longest_wait_s)
        if held is not None:  # the provider would refuse again, and might extend its hold on the account
            refused = self._refusal_receipt(sending.channel, sending.outgoing.target, held)
            await self._record_send(sending, refused, caller)
            return
        content = sending.outgoing.content
        if content and content.get("thread"):
            try:
                sending.outgoing = await self._outbox.with_thread(adapter.spec.kind, sending.outgoing)
            except TocsinError as error:
                refused = self._refusal_receipt(sending.channel, sending.outgoing.target, error)
                await self._record_send(sending, refused, caller)
                return
        receipts: list[Receipt] = []

        async def transmit(outgoing: Outgoing) -> Receipt:
            return await adapter.transmit(outgoing, on_cut_off=receipts.append)

        try:
            if (content and content.get("key")) or sending.operation is not MessageOperation.SEND:
                sending.keyed = await self._outbox.transmit_now(adapter, sending.outgoing, sending.operation, transmit)
                receipts.append(sending.keyed.receipt)
            else:
                receipts.append(await transmit(sending.outgoing))
            # Not for a cancelled send, which says nothing about the provider.
            self._notify_observers(receipts[0])
            await self._record_send(sending, receipts[0], caller)
            await self._holds.note(receipts[0])
        except BaseException:
            for receipt in receipts:
                # Possibly a second time; a known id is stored once.
                await to_the_end(self._record_send(sending, receipt, caller))
            raise

    async def _record_send(self, sending: "_Sending", receipt: Receipt, caller: Caller) -> None:
        outgoing = sending.outgoing
        kept = await self._outbox.keep(outgoing, receipt, caller.source, outgoing.key, sending.keyed)
        # The ID is of use to replay a message, and for its buttons and edits: a plain text that was sent needs none.
        named = kept and (receipt.failure or outgoing.content)
        sending.receipt = with_id(receipt, outgoing.key) if named else receipt

    def _notify_observers(self, receipt: Receipt) -> Receipt:
        for observer in self._observers:
            observer(receipt)
        return receipt

    def _cancelled_receipt(self, sending: "_Sending") -> Receipt:
        failure = ChannelError("interrupted before the send started", kind=FailureKind.TRANSIENT)
        kind = self._registry.kind_of(sending.channel)
        return Receipt(SendResult(False, kind, sending.outgoing.target, error=str(failure)), failure=failure)

    def _record(self, action: AuditAction, detail: str, caller: Caller, facts: Mapping[str, object]) -> None:
        self._audit.record(action, detail, source=caller.source, metadata={**facts, **caller.facts})
