"""What every delivery store can do. One contract suite runs over all of them.

A *lane* is the queue of one (channel, target): one delivery of it is in flight at a time, in order.
A worker leases lanes, not deliveries; who holds the lane may send its first delivery.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tocsin.core.errors import TocsinError
from tocsin.delivery.model import OPEN, AttemptOutcome, Delivery, DeliveryStatus, NewDelivery, Rate

# Why `retry`, `replay` and `cancel` refuse.
ONLY_RETRIES = "only one in retry_wait can be tried now; those behind it follow by themselves"
ONLY_REPLAYS = "only a finished one that was not sent can be replayed"
ONLY_CANCELS = "only one that waits can be cancelled"


class UnknownDeliveryError(TocsinError):
    """No delivery has that id."""

    code = "not-found"


def unknown_delivery(id_: str) -> UnknownDeliveryError:
    """Return the error of an id that no delivery has."""
    return UnknownDeliveryError(f"there is no delivery {id_}", hint="`tocsin deliveries list` shows them")


class TransitionError(TocsinError):
    """The delivery is not in a state that allows this."""

    code = "invalid-transition"


def not_allowed(id_: str, status: str, hint: str) -> TransitionError:
    """Return the error of a delivery whose status does not allow what is asked; `hint` says which one would."""
    return TransitionError(f"delivery {id_} is {status}", hint=hint)


def check_finished(delivery: Delivery) -> None:
    """Raise TransitionError for a record that a worker would have to send."""
    if delivery.status in OPEN:
        raise not_allowed(delivery.id, delivery.status, "queue it instead")


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """What a store must know of a channel to hand out its deliveries."""

    target_rate: Rate | None = None
    group_rate: Rate | None = None  # in addition, for targets that begin with `group_prefix`
    group_prefix: str = ""
    account_rate: Rate | None = None
    recognises_repeats: bool = False


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """A search; every field that is set narrows it."""

    status: DeliveryStatus | None = None
    channel: str = ""
    target: str = ""
    text: str = ""  # words of message or target
    since: float | None = None  # Unix seconds
    limit: int = 50
    cursor: str = ""  # `DeliveryPage.next_cursor` of the page before


@dataclass(frozen=True, slots=True)
class DeliveryPage:
    """Found deliveries, newest first; `next_cursor` is empty on the last page."""

    items: Sequence[Delivery]
    next_cursor: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryHold:
    """Until when a provider said to send nothing (Unix seconds), and what it said."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the store can be relied on; `problems` are sentences for the operator."""

    backend: str
    ok: bool
    problems: Sequence[str] = ()


class DeliveryStore(Protocol):
    """Keeps deliveries. Whatever a method returns is durable before it returns.

    `worker` names a running dispatcher; a lease ends `LEASE_S` after it was last renewed.
    """

    async def enqueue_many(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Accept deliveries, all or none; one whose idempotency key is known comes back as it is."""
        ...

    async def record(self, delivery: Delivery) -> None:
        """Keep a finished delivery that did not pass through the queue; one with a known id is kept as it is."""
        ...

    async def claim_due(self, worker: str, limit: int, rules: Mapping[str, ChannelRules]) -> list[Delivery]:
        """Lease up to `limit` lanes whose first delivery is due, and mark these as sending.

        Only channels in `rules` are handed out, no faster than their rates. First ends what a dead
        worker left: a delivery found in `sending` is retried or becomes uncertain, by its policy;
        what is past its `expires_at` becomes expired.
        """
        ...

    async def renew(self, worker: str, ids: Sequence[str]) -> set[str]:
        """Renew the leases of these deliveries; return those that are still the worker's."""
        ...

    async def progress(self, worker: str, id: str, parts_sent: int, parts_total: int) -> bool:  # noqa: A002
        """Keep how many parts have gone out; false when the lease was lost."""
        ...

    async def pace(self, channel: str, target: str, rules: ChannelRules) -> float:
        """Take one more message from the buckets of `target`; return the seconds until it may go out.

        For the second and every further part of a message; the claim has taken the first.
        """
        ...

    async def hold(self, channel: str, target: str, wait_s: float, reason: str) -> None:
        """Hand nothing out for `target` during the next seconds: the provider said `reason` outside the queue."""
        ...

    async def account_holds(self, channels: Sequence[str]) -> dict[str, DeliveryHold]:
        """Return the channels among these whose provider wants nothing at all for now."""
        ...

    async def finish(self, worker: str, id: str, outcome: AttemptOutcome) -> bool:  # noqa: A002
        """Carry out what one try came to and free the lane; false when the lease was lost."""
        ...

    async def release(self, worker: str, ids: Sequence[str]) -> None:
        """Give back deliveries whose sending has not begun: they are queued as before."""
        ...

    async def seconds_to_next(self, rules: Mapping[str, ChannelRules]) -> float | None:
        """Return how long until something may be due, or nothing when nothing waits."""
        ...

    async def get(self, id: str) -> Delivery:  # noqa: A002
        """Return one delivery, with why it waits; raise UnknownDeliveryError."""
        ...

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """Return for each text up to `limit` ids that begin with it, or whose last group does."""
        ...

    async def search(self, query: DeliveryFilter) -> DeliveryPage:
        """Return matching deliveries, newest first, with why they wait."""
        ...

    async def replay(self, id: str) -> Delivery:  # noqa: A002
        """Queue a dead, uncertain, expired or cancelled delivery again, from its first unsent part."""
        ...

    async def retry(self, id: str) -> Delivery:  # noqa: A002
        """Try a delivery in `retry_wait` now, or as soon as a provider that asked for a pause allows it."""
        ...

    async def cancel(self, id: str) -> Delivery:  # noqa: A002
        """Cancel a delivery that waits; raise TransitionError when it is being sent or is finished."""
        ...

    async def counts(self) -> dict[DeliveryStatus, int]:
        """Return how many deliveries are in each state."""
        ...

    async def prune(self, before: float) -> int:
        """Forget deliveries that finished before that Unix time; return how many."""
        ...

    async def tidy(self) -> None:
        """Do a little of what was put off; called every few seconds."""
        ...

    async def try_write(self) -> None:
        """Write something without meaning; raise StoreUnavailableError when that fails."""
        ...

    async def health(self) -> Health:
        """Return whether deliveries are safe here."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
