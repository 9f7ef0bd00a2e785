"""Forwarding of notices to the operator: one by one, or as one digest if there are many."""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from tocsin.core.ids import new_id
from tocsin.core.service import ServiceLoop
from tocsin.core.time.clock import Clock
from tocsin.features.context import NoticeLevel
from tocsin.features.notifications.forwarding.quiet_hours import QuietHours
from tocsin.features.notifications.model import Notification
from tocsin.features.notifications.store import NotificationStore

log = logging.getLogger(__name__)

POLL_S = 5.0  # another process may have stored a notice
LEASE_S = 30.0
AT_ONCE = 5  # messages per minute; more notices become a digest
SHOWN = 20  # notices listed in a digest


@dataclass(frozen=True, slots=True)
class NoticeMessage:
    """A message to the operator: its whole text, and for a single notice its parts."""

    text: str
    dedupe_key: str
    notice: Notification | None = None  # None for a digest

    @property
    def subject(self) -> str:
        """The key of the message; empty if nothing edits it.

        A failure and the recovery from it have the same one, and so have a question and its decision.
        """
        if self.notice is None:
            return ""
        if self.notice.step or self.notice.corrects:
            times = self.notice.count if self.notice.step else self.notice.told_count
            return _key("asked", f"{self.notice.id}:{times}")
        if not (found := _EVENT.fullmatch(self.notice.dedupe_key)):
            return ""
        # A repeated failure is a new message, because an edit notifies no one.
        repeated = found["event"] == "failing" and self.notice.told
        return "" if repeated else _key("notice", found[1] + found[3])

    @property
    def resolves(self) -> bool:
        """Whether it is the end of a failure."""
        return self.notice is not None and self.notice.level is NoticeLevel.SUCCESS


# Returns False if there is no receiver.
Deliver = Callable[[NoticeMessage], Awaitable[bool]]
_EVENT = re.compile(r"(.+)-(?P<event>failing|recovered)(:.+)", re.DOTALL)  # the keys of `run_notices`
_LABELS = {
    NoticeLevel.ERROR: "Error",
    NoticeLevel.WARNING: "Warning",
    NoticeLevel.SUCCESS: "OK",
    NoticeLevel.INFO: "Info",
}


class NoticeForwarder:
    """Forwards due notices to the operator; only one process at a time does."""

    def __init__(
        self, store: NotificationStore, clock: Clock, deliver: Deliver, quiet_hours: QuietHours | None = None
    ) -> None:
        self.loop = ServiceLoop("forwarding notices", self.step, clock)
        self._store = store
        self._clock = clock
        self._deliver = deliver
        self._quiet_hours = quiet_hours
        self._holder = new_id()

    async def step(self) -> float:
        """Forward due notices; return the time of the next check."""
        now = self._clock.now()
        due = await self._store.due(now, self._levels(now))
        if not due:
            return POLL_S
        sent = await self._store.take_turn(self._holder, now, LEASE_S)
        if sent is None:
            return POLL_S
        # Another process may have forwarded some before this one obtained the lease.
        due = await self._store.due(now, self._levels(now))
        if len(due) + sent.messages <= AT_ONCE:
            for notification in due:
                await self._tell([notification])
        elif due and not sent.digest:
            await self._tell(due, digest=True)
        return POLL_S

    def _levels(self, now: float) -> tuple[NoticeLevel, ...]:
        if self._quiet_hours is not None and self._quiet_hours.cover(now):
            return (NoticeLevel.ERROR,)
        return tuple(NoticeLevel)

    async def _tell(self, told: Sequence[Notification], *, digest: bool = False) -> None:
        names = ",".join(f"{each.id}:{each.told}:{each.told_count}:{each.step}" for each in told)
        key = _key("notice", names)
        single = told[0] if len(told) == 1 else None
        if await self._deliver(NoticeMessage(message_text(single) if single else digest_text(told), key, single)):
            await self._store.mark_forwarded(told, self._clock.now(), digest=digest)
        else:
            await self._store.give_up(told)


def _key(prefix: str, names: str) -> str:
    return f"{prefix}:{sha256(names.encode()).hexdigest()[:32]}"


def message_text(notification: Notification) -> str:
    """Return the message for one notice; the first line is its title."""
    return f"{notice_title(notification)}\n\n{notification.body}".strip()


def digest_text(notifications: Sequence[Notification]) -> str:
    """Return the message for many notices, the most urgent first."""
    order = list(_LABELS)
    ordered = sorted(notifications, key=lambda each: order.index(each.level))
    counts = {level: sum(each.level is level for each in ordered) for level in order}
    told = ", ".join(_counted(level, count) for level, count in counts.items() if count)
    lines = [
        f"{len(ordered):,} notifications: {told}",
        "",
        *(f"- {notice_title(each)}" for each in islice(ordered, SHOWN)),
    ]
    if len(ordered) > SHOWN:
        lines.append(f"and {len(ordered) - SHOWN:,} more: `tocsin notifications list` shows them")
    return "\n".join(lines)


def _counted(level: NoticeLevel, count: int) -> str:
    is_plural = count != 1 and level in {NoticeLevel.ERROR, NoticeLevel.WARNING}
    return f"{count:,} {level}{'s' if is_plural else ''}"


def notice_title(notification: Notification) -> str:
    """Return the title of the message for one notice."""
    times = f" ({notification.count:,} times)" if notification.count > 1 else ""
    return f"{_LABELS[notification.level]}: {notification.title}{times}"
