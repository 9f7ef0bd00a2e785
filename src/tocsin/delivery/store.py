"""The interface of every delivery store; one contract suite runs over all of them.

A *lane* is the queue of one (channel, target): its deliveries are sent in order, one at a time. A worker leases lanes,
not deliveries; its holder may send the lane's first delivery.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tocsin.core.errors import FailureKind, NotFoundError, TocsinError
from tocsin.core.pages import ListPage
from tocsin.core.storage.change_stream import ChangeStream
from tocsin.delivery.model import OPEN, AttemptOutcome, Delivery, DeliveryStatus, MessageOperation, NewDelivery, Rate

MAX_WORDS = 32  # of the text of a search
# The hints of errors when a change is refused.
ONLY_RETRIES = "only a delivery in retry_wait can be retried now; later ones follow automatically"
ONLY_REPLAYS = "only a finished delivery that was not sent can be replayed"
ONLY_DISMISSALS = "only a dead or uncertain delivery can be dismissed"
ONLY_CANCELS = "only a waiting delivery can be cancelled"


class UnknownDeliveryError(NotFoundError):
    """No delivery has this ID."""


def unknown_delivery(id_: str) -> UnknownDeliveryError:
    return UnknownDeliveryError(f"unknown delivery: {id_}", hint="`tocsin deliveries list` shows the deliveries")


class TransitionError(TocsinError):
    """The state of the delivery does not allow this."""

    code = "invalid-transition"


def not_allowed(id_: str, status: str, hint: str) -> TransitionError:
    """Return the error for a delivery whose status does not allow the change; `hint` names the statuses that do."""
    return TransitionError(f"delivery {id_} is {status}", hint=hint)


def check_finished(delivery: Delivery) -> None:
    """Raise TransitionError for a delivery that a worker would have to send."""
    if delivery.status in OPEN:
        raise not_allowed(delivery.id, delivery.status, "queue it instead")


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """The rules by which a store claims the deliveries of a channel."""

    target_rate: Rate | None = None
    group_rate: Rate | None = None  # in addition, for targets that begin with `group_prefix`
    group_prefix: str = ""
    account_rate: Rate | None = None
    recognises_repeats: bool = False


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """A search, restricted by every field that is set."""

    status: DeliveryStatus | None = None
    channel: str = ""
    target: str = ""
    text: str = ""  # words in message or target
    since: float | None = None  # Unix seconds
    limit: int = 50
    cursor: str = ""  # `next_cursor` of the previous page
    undismissed: bool = False
    key: str = ""


def search_words(words: Iterable[str]) -> list[str]:
    """Return the distinct words of a search text, at most `MAX_WORDS`: each requires a search of its own."""
    return list(dict.fromkeys(words))[:MAX_WORDS]


@dataclass(frozen=True, slots=True)
class DeliveryHold:
    """A provider's request to stop sending: its end (Unix seconds) and its reason."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """The outcomes of a channel's deliveries since some time."""

    sent: int = 0
    failed: int = 0
    last_sent_at: float | None = None  # Unix seconds


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the store keeps deliveries safe; `problems` are sentences for the operator."""

    backend: str
    ok: bool
    problems: Sequence[str] = ()


class DeliveryStore(Protocol):
    """Stores deliveries. Every change is durable before its method returns.

    `worker` names a running dispatcher; a lease ends `LEASE_S` after it was last renewed.
    """

    async def enqueue_many(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Accept deliveries, all or none; for a known idempotency key, return the existing one.

        A delivery with a `key` takes the place of the one that waits with the same key in its lane, which becomes
        superseded, or cancelled by a withdrawal.
        """
        ...

    async def record(self, delivery: Delivery) -> None:
        """Record a finished delivery that did not pass through the queue, unless its ID is known."""
        ...

    async def claim_due(self, worker: str, limit: int, rules: Mapping[str, ChannelRules]) -> list[Delivery]:
        """Lease up to `limit` lanes whose first delivery is due, and mark these as sending.

        Only channels in `rules` are claimed, within their rates. First, deliveries of dead workers are retried or
        become uncertain, by their policy, and those past their `expires_at` become expired.
        """
        ...

    async def renew(self, worker: str, ids: Sequence[str]) -> set[str]:
        """Renew the leases of these deliveries; return those that the worker still holds."""
        ...

    async def latest(self, channel: str, target: str, key: str) -> Delivery | None:
        """Return the last delivery of a message's key that was sent, or may have been; kept for `KEYS_KEPT_S`."""
        ...

    async def thread_root(self, channel: str, target: str, thread: str) -> Delivery | None:
        """Return the first delivery of a thread that was sent and can be replied to; kept for `KEYS_KEPT_S`."""
        ...

    async def begin_change(self, worker: str, id: str, operation: MessageOperation) -> bool:
        """Record that an edit or a withdrawal begins, which is repeated if its worker dies.

        Returns False if the lease was lost.
        """
        ...

    async def progress(self, worker: str, id: str, parts_sent: int, parts_total: int, ref: str = "") -> bool:
        """Record how many parts were sent, and the reference of the first; return False if the lease was lost."""
        ...

    async def pace(self, channel: str, target: str, rules: ChannelRules) -> float:
        """Take one more message from the buckets of `target`; return the seconds until it may be sent.

        For the second and later parts of a message; the claim has taken the first.
        """
        ...

    async def hold(self, channel: str, target: str, wait_s: float, reason: str) -> None:
        """Hold `target`, as the provider asked with `reason` in answer to a direct send."""
        ...

    async def hold_account(self, channel: str, wait_s: float, reason: str) -> None:
        """Hold the whole channel, as the provider asked with `reason` in answer to a direct send."""
        ...

    async def account_holds(self, channels: Sequence[str]) -> dict[str, DeliveryHold]:
        """Return the holds of whole channels among these."""
        ...

    async def finish(self, worker: str, id: str, outcome: AttemptOutcome) -> bool:
        """Apply the outcome of one attempt and free the lane; return False if the lease was lost."""
        ...

    async def release(self, worker: str, ids: Sequence[str]) -> None:
        """Return claimed deliveries to the queue before their sending has begun."""
        ...

    async def seconds_to_next(self, rules: Mapping[str, ChannelRules]) -> float | None:
        """Return the seconds until a delivery may be due, or `None` if none waits."""
        ...

    async def get(self, id: str) -> Delivery:
        """Return one delivery, with the reason if it waits; raise UnknownDeliveryError."""
        ...

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """Return for each text up to `limit` IDs that, or whose last groups, begin with it."""
        ...

    async def search(self, query: DeliveryFilter) -> ListPage[Delivery]:
        """Return matching deliveries, newest first, waiting ones with the reason."""
        ...

    async def replay(self, id: str) -> Delivery:
        """Queue a dead, uncertain, expired or cancelled delivery again, from its first unsent part."""
        ...

    async def retry(self, id: str) -> Delivery:
        """Retry a delivery in `retry_wait` now, or as soon as the provider's hold allows."""
        ...

    async def cancel(self, id: str) -> Delivery:
        """Cancel a waiting delivery; raise TransitionError if it is being sent or finished."""
        ...

    async def dismiss(self, id: str) -> Delivery:
        """Mark a dead or uncertain delivery as no longer needing a person; raise TransitionError for others."""
        ...

    async def needed_files(self, since: float) -> frozenset[str]:
        """Return the hashes of the files of all deliveries that are open, or finished after `since` (Unix time)."""
        ...

    async def counts(self) -> dict[DeliveryStatus, int]:
        """Return the number of deliveries in each state."""
        ...

    async def figures(self, since: float) -> dict[str, ChannelFigures]:
        """Return by channel the outcomes of the deliveries created since."""
        ...

    async def prune(self, before: float) -> int:
        """Delete deliveries that finished before a Unix time; return how many."""
        ...

    async def tidy(self) -> None:
        """Do a part of the deferred work; called every few seconds."""
        ...

    async def try_write(self) -> None:
        """Make a test write; raise StoreUnavailableError if it fails."""
        ...

    async def health(self) -> Health:
        """Return the health of the store."""
        ...

    def changes(self) -> ChangeStream:
        """Return the stream of the IDs of deliveries that are new or changed their state."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


def with_reason(
    delivery: Delivery, target: DeliveryHold | None, account: DeliveryHold | None, ahead: Delivery | None
) -> Delivery:
    """Return a waiting delivery with the reason in `error` and its end in `next_attempt_at`.

    `ahead` is the first delivery of the lane. An error of the delivery's own last attempt is kept.
    """
    reasons: list[tuple[float, str, str]] = []
    if target is not None:
        reasons.append((target.until, f"the target is on hold: {target.reason}", FailureKind.RATE_LIMITED))
    if account is not None:
        reasons.append((account.until, f"the account is on hold: {account.reason}", FailureKind.RATE_LIMITED))
    if ahead is not None and ahead.id != delivery.id and ahead.status is DeliveryStatus.RETRY_WAIT:
        sentence = f"waits for the earlier delivery {ahead.id}: {ahead.error}"
        reasons.append((ahead.next_attempt_at or 0.0, sentence, ahead.error_class))
    if not reasons:
        return delivery
    until, error, error_class = max(reasons)
    shown = replace(delivery, next_attempt_at=max(until, delivery.next_attempt_at or 0.0))
    return shown if delivery.error else replace(shown, error=error, error_class=error_class)
