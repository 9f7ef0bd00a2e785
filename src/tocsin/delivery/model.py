"""A delivery, one message to one target: its record, its states, and their transitions.

queued → sending → sent | retry_wait → sending … | dead | uncertain
queued, retry_wait → cancelled | expired | superseded;  dead, uncertain → queued (replay)

A delivery with a `key` sends, edits or withdraws the one message of that key in its target: `delivery/keyed.py`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, Literal

from tocsin.channels.action_tokens import comparable, given_key
from tocsin.channels.model import FORMATS, MessageOperation
from tocsin.core.errors import ChannelError, FailureKind, clamp_retry_after_s
from tocsin.core.ids import new_id
from tocsin.core.records.marks import Converted, Private, Time, after
from tocsin.core.text.strings import storable
from tocsin.core.time.ratelimit import Rate
from tocsin.core.tracing.spans import TRACEPARENT

__all__ = [
    "NEEDING_PERSON",
    "OPEN",
    "REPLAYABLE",
    "WAITING",
    "Accepted",
    "AttemptOutcome",
    "Delivery",
    "DeliveryStatus",
    "Failure",
    "MessageOperation",
    "NewDelivery",
    "Policy",
    "Rate",
    "judge",
    "judge_abandoned",
    "pack_extra",
    "read_policy",
]

LEASE_S = 9.0  # with poll and claim, a killed worker's deliveries continue within 10 s
HEARTBEAT_S = 3.0
IDEMPOTENCY_S = 24 * 3600.0  # a key that is reused later creates a new delivery
# Waits between attempts after temporary failures; then the delivery is dead, or uncertain (`is_held`).
SCHEDULE_S = (5.0, 30.0, 120.0, 600.0, 1800.0, 7200.0, 21600.0, 43200.0)
# For answers that a person is waiting for: each wait is 15 % of the outage so far. An outage of 20 s then delays them
# by 3 s, and an outage of a day costs the provider only this many attempts.
PROMPT_SOURCES = frozenset({"inbox", "bot"})
_PROMPT_SHARE, _PROMPT_LEAST_S, _PROMPT_WHOLE_S = 0.15, 1.0, 86_400.0
# Jitter only lengthens a wait, because the provider may have asked for it.
JITTER = 0.1
# A provider that keeps saying "wait 0 s" is not called in a tight loop.
LEAST_THROTTLE_S = 0.5
# The limit of a hold; a longer one in a store was not made by `judge` and is ignored.
LONGEST_HOLD_S = 24 * 3600.0
MAX_EXTRA_BYTES = 16 * 1024
# The key of `extra` with the content of a message (docs/messages.md), and the bytes that it may have.
CONTENT = "content"
MAX_CONTENT_BYTES = 64 * 1024
# The key of `extra` with the files that a message without `attach` keeps: those of the one that it changes.
KEPT_FILES = "attach"
# How long the reference to a message with a key is kept at least, so that it can be edited.
KEYS_KEPT_S = 30 * 86_400.0


def _prompt_schedule() -> tuple[float, ...]:
    waits: list[float] = []
    while (so_far := sum(waits)) < _PROMPT_WHOLE_S:
        waits.append(max(_PROMPT_LEAST_S, so_far * _PROMPT_SHARE))
    return tuple(waits)


PROMPT_SCHEDULE_S = _prompt_schedule()


def retry_schedule(source: str) -> tuple[float, ...]:
    """Return the waits between the attempts of deliveries queued by `source`."""
    return PROMPT_SCHEDULE_S if source in PROMPT_SOURCES else SCHEDULE_S


class DeliveryStatus(StrEnum):
    """State of a delivery."""

    QUEUED = "queued"
    SENDING = "sending"
    RETRY_WAIT = "retry_wait"
    SENT = "sent"
    DEAD = "dead"
    UNCERTAIN = "uncertain"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"  # a later delivery with the same key took its place before it was sent


OPEN = frozenset({DeliveryStatus.QUEUED, DeliveryStatus.SENDING, DeliveryStatus.RETRY_WAIT})
WAITING = frozenset({DeliveryStatus.QUEUED, DeliveryStatus.RETRY_WAIT})
FAILED = frozenset({DeliveryStatus.DEAD, DeliveryStatus.UNCERTAIN, DeliveryStatus.EXPIRED})
NEEDING_PERSON = frozenset({DeliveryStatus.DEAD, DeliveryStatus.UNCERTAIN})  # until replayed or dismissed
REPLAYABLE = FAILED | {DeliveryStatus.CANCELLED}


class Policy(StrEnum):
    """Policy for messages that may have been delivered."""

    AT_LEAST_ONCE = "at_least_once"  # send it again; it may arrive twice
    AT_MOST_ONCE = "at_most_once"  # hold it as uncertain; it may not have arrived


def read_policy(stored: str) -> Policy:
    """Return the stored policy; an unknown policy of another version becomes the one that never sends twice."""
    return Policy(stored) if stored in set(Policy) else Policy.AT_MOST_ONCE


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A message to queue. Times are Unix seconds."""

    channel: str
    target: str
    message: str
    source: str
    policy: Policy = Policy.AT_LEAST_ONCE
    parse_mode: str = ""
    not_before: float | None = None
    expires_at: float | None = None
    idempotency_key: str | None = None  # a known key returns the existing delivery
    extra: Mapping[str, Any] = field(default_factory=dict)  # specific to the channel, representable as JSON
    key: str = ""  # of the message that it sends, edits or withdraws
    thread: str = ""
    operation: MessageOperation = MessageOperation.SEND  # EDIT is chosen when it is sent

    @property
    def content(self) -> Mapping[str, Any]:
        """The stored content besides the text; empty for a plain text."""
        return self.extra.get(CONTENT) or {}

    def with_traceparent(self, traceparent: str) -> "NewDelivery":
        """Return the same message with the trace that its attempts continue, in any process."""
        return replace(self, extra={**self.extra, TRACEPARENT: traceparent}) if traceparent else self

    def with_terms(self, not_before: float | None, expires_at: float | None, key: str | None) -> "NewDelivery":
        """Return the same message with its schedule and its key; without `expires_at`, its own is kept."""
        if not_before is None is self.not_before and expires_at is None and key is None is self.idempotency_key:
            return self
        until = self.expires_at if expires_at is None else expires_at
        return replace(self, not_before=not_before, expires_at=until, idempotency_key=key)

    def accepted(self, now: float) -> "Delivery":
        """Return the record of this message when it is queued: with a new ID, and text that a store can represent."""
        return Delivery(
            id=new_id(),
            channel=storable(self.channel),
            target=storable(self.target),
            message=storable(self.message),
            source=storable(self.source),
            status=DeliveryStatus.QUEUED,
            policy=self.policy,
            created_at=now,
            parse_mode=storable(self.parse_mode),
            not_before=self.not_before,
            expires_at=self.expires_at,
            idempotency_key=None if self.idempotency_key is None else storable(self.idempotency_key),
            extra=self.extra,
            key=self.key,
            thread=self.thread,
            operation=self.operation,
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """Delivery: one message to one target."""

    id: str
    channel: str
    target: str
    message: str
    source: str
    status: DeliveryStatus
    policy: Policy
    parse_mode: Private[str] = ""
    attempts: int = 0
    next_attempt_at: Time | None = None
    not_before: Time | None = None
    expires_at: Time | None = None
    idempotency_key: str | None = None
    parts_sent: int = 0
    parts_total: int = 0
    provider_id: str = ""
    error: str = ""
    error_class: Annotated[str, Converted(str, FailureKind | Literal[""])] = ""
    created_at: Time = field(kw_only=True)
    finished_at: Time | None = None
    duration_ms: Annotated[int | None, "Of the last attempt, in milliseconds."] = None
    failures: Private[int] = 0  # failed attempts other than throttled ones: the position in the schedule
    extra: Private[Mapping[str, Any]] = field(default_factory=dict)
    dismissed: Annotated[bool, "It ended unsent and needs no person: it was dismissed, or its caller saw it."] = False
    key: Annotated[str, "Names the message, so that a later delivery edits or withdraws it."] = ""
    operation: Annotated[MessageOperation, "What it does, or did, with its message."] = MessageOperation.SEND
    revision: Annotated[int, "1 for the first message with the key; each edit adds 1."] = 0
    note: Annotated[str, "Answer of the provider, and outcome of an edit."] = ""
    ref: Private[str] = ""  # JSON of what the channel needs to change the message, or to reply to it
    thread: Annotated[str, "Groups messages to one target below the first one."] = ""

    @property
    @after("thread")
    def content(self) -> Mapping[str, Any]:
        """Title, priority and the other fields of the message; empty for a plain text."""
        given, kept = self.extra.get(CONTENT) or {}, self.extra.get(KEPT_FILES)
        return given if kept is None else {**given, "attach": kept}

    def keeping(self, files: Sequence[Any] | None) -> "Delivery":
        """Return the same delivery with the files of the message that it changes, unless it names its own."""
        if files is None or "attach" in self.content or self.operation is MessageOperation.WITHDRAW:
            return self
        return replace(self, extra={**self.extra, KEPT_FILES: list(files)})

    @property
    @after("thread")
    def format(self) -> str:
        """How the text is read: plain, markdown, native, or a parse mode of the channel."""
        return next((name for name, mode in FORMATS.items() if mode == self.parse_mode), self.parse_mode)

    def is_same_message(self, new: NewDelivery) -> bool:
        """Whether `new`, which has the same idempotency key, is the same message."""
        content = self.extra.get(CONTENT) or {}
        return (self.channel, self.target, self.message, comparable(content), given_key(self.key)) == (
            new.channel,
            new.target,
            new.message,
            comparable(new.content),
            given_key(new.key),
        )


@dataclass(frozen=True, slots=True)
class Accepted:
    """A delivery as callers are shown it who may send and not read."""

    id: str
    status: DeliveryStatus


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The outcome of one attempt; made by `judge`, applied by a store."""

    status: DeliveryStatus  # sent, retry_wait, dead or uncertain; queued after a worker died
    parts_sent: int = 0
    parts_total: int = 0
    provider_id: str = ""
    error: str = ""
    error_class: str = ""
    wait_s: float = 0.0  # until the next attempt, for retry_wait
    throttled: bool = False  # the provider named the wait, which does not advance the schedule
    throttles_account: bool = False  # … and it applies to the whole account
    operation: MessageOperation = MessageOperation.SEND
    revision: int = 0  # for a delivery with a key that was sent
    note: str = ""
    ref: str = ""  # JSON
    kept_files: Sequence[Any] | None = None  # of an edit without `attach`
    duration_ms: int = 0

    def with_progress(self, parts_sent: int, parts_total: int, duration_ms: int) -> "AttemptOutcome":
        """Return the same outcome with the progress and duration of the attempt."""
        return replace(self, parts_sent=parts_sent, parts_total=parts_total, duration_ms=duration_ms)


@dataclass(frozen=True, slots=True)
class Failure:
    """The facts of a failed attempt."""

    kind: FailureKind
    sentence: str
    retry_after_s: float | None = None
    whole_account: bool = False


def pack_extra(extra: Mapping[str, Any]) -> str:
    """Return `extra` as JSON, `""` if it is empty; raise ChannelError if a store would refuse it."""
    if not extra:
        return ""
    try:
        packed = json.dumps(dict(extra), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ChannelError(
            "the extras of the message cannot be represented as JSON",
            hint="use only strings, numbers, lists and objects",
        ) from None
    limit = MAX_EXTRA_BYTES + (MAX_CONTENT_BYTES if CONTENT in extra else 0)
    if len(packed) > limit:
        raise ChannelError(
            f"the extras of the message have {len(packed):,} bytes, limit {limit:,}",
            hint="send fewer or shorter buttons",
        )
    return packed


def judge(
    failure: Failure,
    delivery: Delivery,
    *,
    recognises_repeats: bool,
    jitter: float,
    operation: MessageOperation = MessageOperation.SEND,
) -> AttemptOutcome:
    """Return the outcome of a failed attempt; `jitter` is a random number from 0 to 1.

    An edit or withdrawal whose answer was lost is repeated, whatever the policy: it has the same effect once more.
    """
    dead = AttemptOutcome(
        DeliveryStatus.DEAD, error=failure.sentence, error_class=str(failure.kind), operation=operation
    )
    if failure.kind is FailureKind.PERMANENT:
        return dead
    told_s = clamp_retry_after_s(failure.retry_after_s)
    retry = replace(dead, status=DeliveryStatus.RETRY_WAIT, throttles_account=failure.whole_account)
    if failure.kind is FailureKind.RATE_LIMITED and told_s is not None:
        return replace(retry, wait_s=max(told_s, LEAST_THROTTLE_S), throttled=True)
    held = is_held(delivery, recognises_repeats=recognises_repeats) and operation is MessageOperation.SEND
    if failure.kind is FailureKind.AMBIGUOUS and held:
        return replace(dead, status=DeliveryStatus.UNCERTAIN)
    if has_spent_retries(delivery):
        return dead
    wait_s = retry_schedule(delivery.source)[delivery.failures] * (1 + JITTER * jitter)
    return replace(retry, wait_s=max(wait_s, told_s or 0.0))


def judge_abandoned(delivery: Delivery, *, recognises_repeats: bool) -> AttemptOutcome:
    """Return the outcome for a delivery whose worker died, or lost its lease, while sending.

    It is retried immediately; a message that kills every worker becomes dead.
    """
    unknown = AttemptOutcome(
        DeliveryStatus.UNCERTAIN,
        error="outcome unknown: the worker died during the send; check the recipient's side before you send again",
        error_class=str(FailureKind.AMBIGUOUS),
        operation=delivery.operation,
    ).with_progress(delivery.parts_sent, delivery.parts_total, delivery.duration_ms or 0)
    if is_held(delivery, recognises_repeats=recognises_repeats) and delivery.operation == MessageOperation.SEND:
        return unknown
    if has_spent_retries(delivery):
        return replace(unknown, status=DeliveryStatus.DEAD)
    return replace(unknown, status=DeliveryStatus.QUEUED, error="the worker died during the send; sent again")


def is_held(delivery: Delivery, *, recognises_repeats: bool) -> bool:
    """Whether a message that may have arrived is held as `uncertain`: it is neither sent again nor called `dead`."""
    sent_again = recognises_repeats and not has_spent_retries(delivery)
    return delivery.policy is Policy.AT_MOST_ONCE and not sent_again


def has_spent_retries(delivery: Delivery) -> bool:
    return delivery.failures >= len(retry_schedule(delivery.source))
