"""The service of notifications: it stores notices, counts duplicates, and marks them as read."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from tocsin.core.audit.actions import NOTICES, AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import TocsinError
from tocsin.core.pages import ListPage
from tocsin.core.text.strings import number_of
from tocsin.core.time.clock import Clock
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.notifications.feature import (
    NOTIFICATION_CREATE,
    NOTIFICATION_DELETE,
    NOTIFICATION_READ,
)
from tocsin.features.notifications.forwarding.receivers import NoticeReceivers
from tocsin.features.notifications.model import (
    Notification,
    NotificationCategory,
    check,
    levels_from,
    sanitize,
    shorten,
)
from tocsin.features.notifications.store import NotificationFilter, NotificationStore, StoredNotice

log = logging.getLogger(__name__)

UNREAD_SHOWN = 20


@dataclass(frozen=True, slots=True)
class UnreadNotifications:
    """The number of unread notifications, and the newest of them."""

    count: int
    items: tuple[Notification, ...]


class Notifications:
    """The notifications for the operator."""

    def __init__(
        self,
        store: NotificationStore,
        audit: AuditTrail,
        clock: Clock,
        *,
        forward_from: NoticeLevel,
        redact: Callable[[str], str] = str,
        receivers: NoticeReceivers,
    ) -> None:
        """Set up the service.

        `forward_from` is the lowest level that is forwarded; `redact` masks secrets in stored notices.
        """
        self.store = store
        self._audit = audit
        self._clock = clock
        self._forwarded = levels_from(forward_from)
        self._redact = redact
        self._receivers = receivers
        self._wakers: list[Callable[[], None]] = []

    def on_stored(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever this process stores a notice."""
        self._wakers.append(wake)

    async def notify(self, notice: Notice) -> None:
        """Store a notice of a feature, or close the one that it replaces; never raises for an invalid notice."""
        try:
            await (self._close(notice) if notice.closed else self.create(sanitize(notice)))
        except TocsinError as error:
            facts = {"title": notice.title, "source": notice.source, "reason": error.sentence()}
            log.error("a notification could not be stored", extra=facts)  # noqa: TRY400  # the sentence says it all

    async def _close(self, notice: Notice) -> None:
        closed = await self.store.close(shorten(self._masked(notice)), self._clock.now())
        if closed is not None:
            facts: dict[str, object] = {"read": 1, "notification": closed.id}
            self._record(NOTIFICATION_READ, f"notification {closed.id} closed", NOTICES.name, facts)
            for wake in self._wakers:
                wake()

    def _masked(self, notice: Notice) -> Notice:
        return replace(notice, title=self._redact(notice.title), body=self._redact(notice.body))

    async def create(self, notice: Notice, *, source: str = NOTICES.name) -> StoredNotice:
        """Store a notice, or count it with a duplicate of the last 24 hours; raises InvalidNoticeError."""
        check(notice)
        forwarded = () if notice.output and self._receivers.is_told(notice.output) else self._forwarded
        kept = await self.store.add(shorten(self._masked(notice)), self._clock.now(), forwarded=forwarded)
        if kept.merged and notice.once:
            return kept
        found = kept.notification
        facts: dict[str, object] = {"level": str(found.level), "category": str(found.category), "count": found.count}
        counted = f"occurred {found.count} times" if kept.merged else "kept"
        self._record(
            NOTIFICATION_CREATE, f"notification {found.id} {counted}", source, {"notification": found.id, **facts}
        )
        for wake in self._wakers:
            wake()
        return kept

    async def search(self, query: NotificationFilter) -> ListPage[Notification]:
        """Return the newest matching notifications."""
        return await self.store.search(query, self._clock.now())

    async def get(self, id: str) -> Notification:
        """Return one notification; here and below, `id` may be a short ID."""
        return await self.store.get(id)

    async def unread(self) -> UnreadNotifications:
        """Return the number of unread notifications, and the newest 20 of them."""
        page = await self.search(NotificationFilter(unread=True, limit=UNREAD_SHOWN))
        return UnreadNotifications(page.total, tuple(page.items))

    async def unread_count(self) -> int:
        """Return the number of unread notifications."""
        return (await self.unread()).count

    async def direct_to(self, channel: str, target: str, *, source: str) -> str:
        """Send notices to a target, too; return the profile that it was added to. Raises TocsinError."""
        return (await self._receivers.add(channel, target, source=source)).profile

    async def mark_read(self, id: str, *, source: str) -> Notification:
        """Mark one as read; idempotent."""
        found, changed = await self.store.mark_read(id, self._clock.now())
        if changed:
            self._record(
                NOTIFICATION_READ, f"notification {found.id} read", source, {"read": 1, "notification": found.id}
            )
        return found

    async def mark_unread(self, id: str, *, source: str) -> Notification:
        """Mark one as unread again; idempotent."""
        found, changed = await self.store.mark_unread(id)
        if changed:
            facts = {"read": 0, "notification": found.id}
            self._record(NOTIFICATION_READ, f"notification {found.id} unread again", source, facts)
        return found

    async def mark_all_read(
        self, *, source: str, before: float | None = None, category: NotificationCategory | None = None
    ) -> int:
        """Mark all as read, or those created before a time or of a category; return how many were unread."""
        count = await self.store.mark_all_read(self._clock.now(), before=before, category=category)
        facts = {"read": count, **({"category": str(category)} if category else {})}
        if count:
            self._record(NOTIFICATION_READ, f"{number_of(count, 'notification')} read", source, facts)
        return count

    async def delete(self, id: str, *, source: str) -> None:
        """Delete one."""
        found = await self.store.delete(id)
        self._record(NOTIFICATION_DELETE, f"notification {found.id} deleted", source, {"notification": found.id})

    async def prune(self) -> int:
        """Delete expired notifications; return how many."""
        return await self.store.prune(self._clock.now())

    def _record(self, action: AuditAction, detail: str, source: str, facts: dict[str, object]) -> None:
        self._audit.record(action, detail, source=source, metadata=facts)
