"""The effect of a delivery with a key, by the message that the last one with the same key left in its target.

No message yet, or a withdrawn one: it sends. A message that the product can edit: it edits. One whose fate is unknown:
the product is asked again where it recognises repeats, else the policy decides.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tocsin.channels.contract import OutboundAdapter, Outgoing, Receipt, SendResult
from tocsin.channels.model import CUT, KeyedMessage, MessageOperation, MessageThread, UnknownAttempt
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.time.clock import Clock
from tocsin.delivery.files.store import FileGoneError
from tocsin.delivery.model import Delivery, DeliveryStatus, Policy
from tocsin.delivery.store import DeliveryFilter, DeliveryStore

_WAITING = (DeliveryStatus.QUEUED, DeliveryStatus.RETRY_WAIT)
_WAITING_LOOKED_AT = 200  # waiting deliveries of a target
_WAIT_S, _LOOK_S = 30.0, 0.25  # for a send to end, before its message can be withdrawn directly

Transmit = Callable[[Outgoing], Awaitable[Receipt]]


@dataclass(frozen=True, slots=True)
class KeyedReceipt:
    """The receipt of a delivery with a key, what it did, and the revision that it left."""

    receipt: Receipt
    operation: MessageOperation = MessageOperation.SEND
    revision: int = 1
    files: Sequence[Any] | None = None  # of an edit without `attach`: those that the message keeps

    @property
    def ref(self) -> str:
        """The reference to the message, as it is stored."""
        return encode_ref(self.receipt)


def encode_ref(receipt: Receipt) -> str:
    """Return the reference of a sent message as a delivery stores it; empty if there is none."""
    return json.dumps(dict(receipt.ref)) if receipt.ref else ""


def thread_of(name: str, root: Delivery | None) -> MessageThread | None:
    """Return the thread of a message; `None` if it has none."""
    return MessageThread(name, json.loads(root.ref) if root and root.ref else {}) if name else None


async def last_keyed(
    store: DeliveryStore, channel: str, target: str, key: str
) -> tuple[Delivery | None, MessageThread | None]:
    """Return the last delivery of a key that was sent or may have been, and its thread if its message has no ID yet."""
    last = await store.latest(channel, target, key)
    if last is None or last.ref or not last.thread:
        return last, None
    return last, thread_of(last.thread, await store.thread_root(channel, target, last.thread))


def choose_operation(delivery: Delivery, last: Delivery | None, adapter: OutboundAdapter) -> MessageOperation:
    """Return what a delivery does, given the last one with the same key that was sent or may have been."""
    if delivery.operation is MessageOperation.WITHDRAW:
        return MessageOperation.WITHDRAW
    editable = (
        last is not None and last.operation is not MessageOperation.WITHDRAW and bool(last.ref) and _can_edit(adapter)
    )
    return MessageOperation.EDIT if editable else MessageOperation.SEND


async def is_known(store: DeliveryStore, channel: str, target: str, key: str) -> bool:
    """Whether a message with the key was sent, or may have been, or is under way."""
    if await store.latest(channel, target, key):
        return True
    return bool(await find_keyed(store, channel, target, key, (*_WAITING, DeliveryStatus.SENDING)))


async def find_keyed(
    store: DeliveryStore, channel: str, target: str, key: str, statuses: Iterable[DeliveryStatus] = _WAITING
) -> list[Delivery]:
    """Return the deliveries of a key with one of `statuses`; by default, those that wait in the queue."""
    found: list[Delivery] = []
    for status in statuses:
        query = DeliveryFilter(status=status, channel=channel, target=target, limit=_WAITING_LOOKED_AT)
        found += [each for each in (await store.search(query)).items if each.key == key]
    return found


async def wait_for_sending(store: DeliveryStore, clock: Clock, channel: str, target: str, key: str) -> bool:
    """Wait until no delivery of a key is being sent; return whether one was. Raises ChannelError after `_WAIT_S`."""
    ends_at, met = clock.monotonic() + _WAIT_S, False
    while await find_keyed(store, channel, target, key, [DeliveryStatus.SENDING]):
        if clock.monotonic() >= ends_at:
            raise ChannelError(
                "a message with this key is still being sent",
                hint="withdraw it later, or through the queue",
                kind=FailureKind.TRANSIENT,
            )
        met = True
        await clock.sleep(_LOOK_S)
    return met


async def transmit_keyed(
    delivery: Delivery,
    outgoing: Outgoing,
    found: tuple[Delivery | None, MessageThread | None],
    adapter: OutboundAdapter,
    transmit: Transmit,
) -> KeyedReceipt:
    """Send, edit or withdraw the message of a delivery's key; `transmit` makes one attempt.

    `found` is the result of `last_keyed`.
    """
    last, thread = found
    keyed = KeyedMessage(delivery.key, drop_if_gone=delivery.content.get("if_gone") == "drop")
    withdraws = delivery.operation is MessageOperation.WITHDRAW
    if last is None or last.operation is MessageOperation.WITHDRAW:
        if withdraws:
            said = "nothing to withdraw: " + ("it was not sent" if last is None else "it is withdrawn already")
            return KeyedReceipt(_done(delivery, said), MessageOperation.WITHDRAW, last.revision if last else 0)
        return KeyedReceipt(await transmit(replace(outgoing, keyed=keyed)), revision=last.revision + 1 if last else 1)
    if last.status is DeliveryStatus.UNCERTAIN and not last.ref:
        last = await _ask_again(last, thread, adapter, transmit)
        if last is None or not last.ref:
            return await _without_answer(delivery, outgoing, keyed, transmit)
    ref, revision = json.loads(last.ref) if last.ref else {}, last.revision + 1
    if withdraws:
        if not ref or not adapter.spec.shows("withdraw"):
            return KeyedReceipt(
                _refused(delivery, f"{adapter.spec.label} cannot withdraw a message"), MessageOperation.WITHDRAW
            )
        change = replace(keyed, operation=MessageOperation.WITHDRAW, ref=ref)
        return KeyedReceipt(await transmit(replace(outgoing, keyed=change)), MessageOperation.WITHDRAW, revision)
    if not ref or not _can_edit(adapter):
        after = replace(keyed, ref=ref, follows=True)
        return KeyedReceipt(await _send_after(delivery, outgoing, after, adapter, transmit), revision=revision)
    if _says_the_same(delivery, last):
        done = replace(_done(delivery, "unchanged"), ref=ref)
        return KeyedReceipt(done, MessageOperation.EDIT, last.revision, last.content.get("attach"))
    return await _edit(delivery, outgoing, replace(keyed, ref=ref), last, transmit)


def _says_the_same(delivery: Delivery, last: Delivery) -> bool:
    content = delivery.keeping(last.content.get("attach")).content
    return (delivery.message, content, delivery.parse_mode) == (last.message, last.content, last.parse_mode)


async def _edit(
    delivery: Delivery, outgoing: Outgoing, keyed: KeyedMessage, last: Delivery, transmit: Transmit
) -> KeyedReceipt:
    """Edit the message; without `attach`, the files that the earlier messages named stay."""
    files, was_cut = last.content.get("attach"), CUT in keyed.ref
    kept = delivery.keeping(files or ([] if was_cut else None))
    same_files = not was_cut and kept.content.get("attach") == files
    change = replace(keyed, operation=MessageOperation.EDIT, same_files=same_files)
    if kept is delivery:
        receipt = await transmit(replace(outgoing, keyed=change))
    else:
        # After a text that was cut, its `message.txt` gives way to these files.
        content = kept.content if was_cut else delivery.content
        receipt = await transmit(replace(outgoing, content=content, keyed=replace(change, files=files or ())))
        if isinstance(receipt.failure, FileGoneError) and not receipt.text_sent:
            without = replace(outgoing, content={**delivery.content, "attach": []} if was_cut else delivery.content)
            receipt = _with_remark(await transmit(replace(without, keyed=change)), "its files are not stored any more")
            files = None
    # A text that was cut has its whole in a file, which took the place of these.
    return KeyedReceipt(receipt, MessageOperation.EDIT, last.revision + 1, None if CUT in receipt.ref else files)


async def _send_after(
    delivery: Delivery, outgoing: Outgoing, keyed: KeyedMessage, adapter: OutboundAdapter, transmit: Transmit
) -> Receipt:
    """Send a new message, because the product cannot edit the earlier one; or none, if the delivery says so."""
    if delivery.content.get("unable") == "skip":
        return replace(_done(delivery, f"skipped: {adapter.spec.label} cannot edit a message"), ref=keyed.ref)
    receipt = await transmit(replace(outgoing, keyed=keyed))
    reason = "" if _can_edit(adapter) else f": {adapter.spec.label} cannot edit one"
    return _with_remark(receipt, f"a new message{reason}")


def _can_edit(adapter: OutboundAdapter) -> bool:
    return adapter.spec.shows("key")


async def _ask_again(
    last: Delivery, thread: MessageThread | None, adapter: OutboundAdapter, transmit: Transmit
) -> Delivery | None:
    """Repeat an uncertain send where that makes no second message, to learn the message's ID; None if it has none."""
    if not adapter.spec.recognises_repeats and not adapter.finds_sent():
        return None
    again = Outgoing(
        last.target, last.message, last.id, last.parse_mode, extra=last.extra, content=last.content,
        keyed=KeyedMessage(last.key), thread=thread, unknown=UnknownAttempt(last.created_at, held=True),
    )  # fmt: skip
    receipt = await transmit(again)
    return replace(last, ref=json.dumps(dict(receipt.ref))) if receipt.result.ok and receipt.ref else None


async def _without_answer(
    delivery: Delivery, outgoing: Outgoing, keyed: KeyedMessage, transmit: Transmit
) -> KeyedReceipt:
    """Handle a delivery after one whose fate is unknown, and whose message cannot be addressed."""
    if delivery.operation is MessageOperation.WITHDRAW:
        error = "the message may have been sent, but its ID is unknown, so it cannot be withdrawn"
        return KeyedReceipt(_refused(delivery, error), MessageOperation.WITHDRAW)
    if delivery.policy is Policy.AT_MOST_ONCE:
        error = "an earlier message with this key may have been sent; check the recipient's side"
        return KeyedReceipt(_refused(delivery, error, FailureKind.AMBIGUOUS))
    receipt = await transmit(replace(outgoing, keyed=keyed))
    return KeyedReceipt(_with_remark(receipt, "an older copy may be there"))


def _with_remark(receipt: Receipt, remark: str) -> Receipt:
    result = receipt.result
    return replace(receipt, result=replace(result, message=f"{result.message} ({remark})")) if result.ok else receipt


def _done(delivery: Delivery, said: str) -> Receipt:
    return Receipt(SendResult(True, delivery.channel, delivery.target, message=said), 1, 1)


def _refused(delivery: Delivery, error: str, kind: FailureKind = FailureKind.PERMANENT) -> Receipt:
    result = SendResult(False, delivery.channel, delivery.target, error=error)
    return Receipt(result, failure=ChannelError(error, kind=kind))
