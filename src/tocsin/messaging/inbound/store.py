"""The interface of the stores of received events, which are stored by their dedupe keys before they are acknowledged.

Every change is durable before its method returns. Only the owner changes an event: a process that was wrongly
considered dead learns that when it records an outcome.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tocsin.channels.contract import PLAIN
from tocsin.channels.conversation import UpdateLease
from tocsin.channels.inbound import InboundMessage
from tocsin.core.storage.change_stream import ChangeStream
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.model import Backlog, InboxEvent, InboxStatus, QueuedEvent

log = logging.getLogger(__name__)

Cursor = tuple[str, int]

# Source: docs/facts/webhooks.md, "Keys".
KEYS_KEPT_S = 24 * 3600.0
MAX_KEYS = 50_000  # per channel
BODIES_KEPT_S = 30 * 86400.0  # docs/receiving.md, "States"
MAX_ROWS = 100_000
ADOPTED_AT_ONCE = 5_000  # in one transaction: 50 ms
PRUNED_AT_ONCE = 1_000
# The owner of events that wait for a process of a newer version. No process has this identity.
SET_ASIDE = "set-aside"


class UnknownEventError(ValueError):
    """The event has a kind, state or format that only another version of the program knows."""


class Claim(NamedTuple):
    """The claimed events, and the `seq` of events that wait for an earlier one of another process.

    `unknown` contains the `seq` of events that only another version of the program can read.
    """

    events: list[InboxEvent]
    waiting: set[int]
    unknown: frozenset[int] = frozenset()


class InboxStore(Protocol):
    """The events of all processes that share the store."""

    async def accept(
        self, messages: Sequence[InboundMessage], owner: str, cursor: Cursor | None = None, lease: int = 0
    ) -> list[QueuedEvent | None]:
        """Store events and the cursor, all or nothing; return `None` for each duplicate.

        An event that shares any key with a stored one is a duplicate; its other keys are stored, too. With the token
        of a lease of the cursor's name, raises UpdateLeaseLostError if another process has taken it over.
        """
        ...

    async def cursor(self, name: str) -> int | None:
        """Return the cursor stored last under `name`."""
        ...

    async def claim(self, seqs: Sequence[int], owner: str) -> Claim:
        """Mark events of `owner` as being worked on.

        An event that is not urgent waits while an earlier one of its chat is open that belongs to another process.
        """
        ...

    async def begin(self, seq: int, owner: str) -> bool:
        """Count an attempt; return False if another process has taken the event over."""
        ...

    async def outcome(
        self, seq: int, owner: str, ending: HandlingStatus, replies: Iterable[Reply], reason: str = ""
    ) -> bool:
        """Store the outcome before any reply is queued; return False if another process has taken the event over."""
        ...

    async def finish(self, seq: int, owner: str, ending: HandlingStatus, reason: str = "") -> bool:
        """End the work on an event; return False if another process has taken it over."""
        ...

    async def owners(self) -> dict[str, int]:
        """Return the number of open events per owner; released events have the owner ''."""
        ...

    async def adopt(
        self, owner: str, heir: str, known: Collection[int] = (), limit: int = ADOPTED_AT_ONCE
    ) -> list[QueuedEvent]:
        """Transfer up to `limit` open events of `owner`, the oldest first, to `heir`, except those in `known`.

        Events being worked on start over; those being answered continue.
        """
        ...

    async def set_aside(self, seqs: Collection[int], owner: str) -> None:
        """Transfer open events of `owner` to SET_ASIDE, from which any process may adopt them; their chats continue."""
        ...

    async def release(self, owner: str) -> None:
        """Release all open events of `owner`, so that any process may claim them."""
        ...

    async def listen(self, owner: str, wake: Callable[[], None]) -> None:
        """Call `wake` when an event of `owner` need not wait any more, until cancelled; spurious calls are possible.

        A store without notifications returns immediately. The caller must also poll, for that case and for times when
        the store is unavailable.
        """
        ...

    def lease(self, name: str, holder: str) -> UpdateLease | None:
        """Return the lease of a cursor for one fetcher; `None` if fetchers use a lock file in a shared directory."""
        ...

    async def backlog(self) -> Backlog:
        """Return the number of open events."""
        ...

    async def counts(self) -> dict[InboxStatus, int]:
        """Return the number of events in each state."""
        ...

    async def search(
        self, limit: int = 50, *, status: InboxStatus | None = None, before: int | None = None
    ) -> list[InboxEvent]:
        """Return the latest events, newest first, without those that only another version can read.

        `before` is the `seq` of the last event on the previous page.
        """
        ...

    def changes(self) -> ChangeStream:
        """Return the stream of the numbers of events that are new or changed their state."""
        ...

    async def prune(self) -> int:
        """Delete the content of old events, and all but the latest rows; return the number of changed rows."""
        ...


def encode(replies: Iterable[Reply]) -> str:
    """Return replies as JSON; raise TypeError or ValueError for values that JSON cannot represent."""
    return json.dumps([{"text": r.text, "parse_mode": r.parse_mode, "extra": dict(r.extra)} for r in replies])


def to_event(seq: int, row: Mapping[str, Any]) -> InboxEvent:
    """Return the record of a row, in which numbers may be text and empty values missing; unknown fields are ignored.

    Raises UnknownEventError for a kind, state or format of another version.
    """
    try:
        if row.get("ending"):
            HandlingStatus(row["ending"])
        return InboxEvent(
            seq=seq,
            id=row["id"],
            channel=row["channel"],
            chat=row["chat"],
            kind=row["kind"],
            status=InboxStatus(row["status"]),
            accepted_at=float(row["accepted_at"]),
            attempts=int(row.get("attempts") or 0),
            ending=row.get("ending") or "",
            reason=row.get("reason") or "",
            finished_at=None if row.get("finished_at") is None else float(row["finished_at"]),
            message=InboundMessage.restore(json.loads(row["message"])) if row.get("message") else None,
            replies=tuple(_to_reply(reply) for reply in json.loads(row.get("replies") or "[]")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnknownEventError(f"{type(error).__name__}: {error}") from error


def known_events(rows: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[list[InboxEvent], frozenset[int]]:
    """Return the records of rows, and the `seq` of those that only another version can read."""
    events, unknown = [], set()
    for seq, row in rows:
        try:
            events.append(to_event(seq, row))
        except UnknownEventError as error:
            unknown.add(seq)
            log.debug("a received event has an unknown format", extra={"seq": seq, "reason": str(error)})
    return events, frozenset(unknown)


def _to_reply(values: Mapping[str, Any]) -> Reply:
    return Reply(values["text"], values.get("parse_mode", PLAIN), values.get("extra") or {})
