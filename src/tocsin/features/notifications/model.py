"""The records of notifications, and their limits."""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar

from tocsin.core.errors import NotFoundError, TocsinError
from tocsin.core.records.marks import Private, Time, after
from tocsin.core.text.strings import normalise, truncate
from tocsin.core.text.visible import one_line
from tocsin.features.context import Notice, NoticeLevel
from tocsin.runs.approvals import CHAT

KEEP_DAYS, KEEP = 30, 1_000
MERGE_S = 24 * 3600.0
MAX_TITLE, MAX_BODY, MAX_WORD = 200, 4_000, 200  # characters
# `success` means a recovery: receivers of warnings get it as well.
_RANKS = {NoticeLevel.INFO: 0, NoticeLevel.SUCCESS: 1, NoticeLevel.WARNING: 1, NoticeLevel.ERROR: 2}


class UnknownNotificationError(NotFoundError):
    """The notification does not exist."""


class InvalidNoticeError(TocsinError):
    """A notice is invalid and cannot be stored."""

    code = "validation-failed"


class NotificationCategory(StrEnum):
    """The subject area of a notification."""

    CRON = "cron"
    WORKFLOW = "workflow"
    VAULT = "vault"
    SSH = "ssh"
    MESSAGING = "messaging"
    SECURITY = "security"
    SYSTEM = "system"
    USER = "user"


@dataclass(frozen=True, slots=True)
class WaitingApproval:
    """Waiting step: decide with `POST /api/runs/{run_id}/approve` or `/reject`."""

    run_id: str
    step: str


@dataclass(frozen=True, slots=True)
class Notification:
    """Notification for the operator."""

    schema_name: ClassVar[str] = "NotificationRecord"

    id: str
    title: str
    body: str
    level: NoticeLevel
    category: NotificationCategory
    source: str
    link: Annotated[str, "Page of the dashboard, or a URL."]
    read_at: Time | None = field(default=None, kw_only=True)
    created_at: Time = field(kw_only=True)
    last_at: Annotated[Time, "Time of the last occurrence; later than `created_at` if `count` is more than 1."] = field(
        kw_only=True
    )
    count: Annotated[int, "Number of occurrences within a day."] = field(default=1, kw_only=True)
    dedupe_key: str
    told: Private[int] = 0  # how often it was forwarded
    told_count: Private[int] = 0  # `count` when it was forwarded last
    run_id: Private[str] = ""  # the run that waits for approval, or that failed; or `chat:` and a chat that asks
    step: Private[str] = ""  # the step of that run that waits for approval; empty once it was decided

    @property
    def corrects(self) -> bool:
        """Whether it was closed after it had been forwarded, so that the message needs an edit."""
        return self.told == 0 and self.told_count > 0

    @property
    @after("link")
    def read(self) -> bool:
        """Whether it is read."""
        return self.read_at is not None

    @property
    @after("dedupe_key")
    def approval(self) -> WaitingApproval | None:
        """Pending decision, if any."""
        is_of_run = self.step and not self.run_id.startswith(CHAT)
        return WaitingApproval(self.run_id, self.step) if is_of_run else None

    @property
    @after("dedupe_key")
    def expires_at(self) -> Time:
        """When it is deleted, unless newer ones push it out before."""
        return self.created_at + KEEP_DAYS * 86400


def rank(level: NoticeLevel) -> int:
    """Return the urgency of a level as a number."""
    return _RANKS[level]


def levels_from(lowest: NoticeLevel) -> tuple[NoticeLevel, ...]:
    """Return the levels that are at least as urgent as `lowest`."""
    return tuple(level for level in NoticeLevel if rank(level) >= rank(lowest))


def check(notice: Notice) -> None:
    """Raise InvalidNoticeError for a notice that cannot be stored."""
    if not notice.title.strip():
        raise InvalidNoticeError(
            "a notification needs a title", hint="describe the event in a few words", body_key="title"
        )
    if notice.category not in set(NotificationCategory):
        hint = f"choose from {', '.join(NotificationCategory)}"
        raise InvalidNoticeError(f"unknown category: {truncate(notice.category, 50)!r}", hint=hint)
    if not _is_link(notice.link):
        raise InvalidNoticeError(
            "a link must start with #/, http:// or https://", hint="remove or correct it", body_key="link"
        )


def sanitize(notice: Notice) -> Notice:
    """Return a notice that `check` accepts: a notice of a feature must not be lost because of its category."""
    return replace(
        notice,
        title=notice.title if notice.title.strip() else notice.source.strip() or "Notice",
        category=notice.category if notice.category in set(NotificationCategory) else NotificationCategory.SYSTEM,
        link=notice.link if _is_link(notice.link) else "",
    )


def shorten(notice: Notice) -> Notice:
    """Shorten a notice to the limits, with a title of one line."""
    return replace(
        notice,
        title=truncate(one_line(normalise(notice.title).strip()), MAX_TITLE),
        body=truncate(notice.body.strip(), MAX_BODY),
        source=truncate(one_line(notice.source), MAX_WORD),
        dedupe_key=truncate(notice.dedupe_key, MAX_WORD),
    )


def _is_link(link: str) -> bool:
    return not link or bool(re.fullmatch(r"(?:#/|https?://)[!-~]{1,500}|#/", link))
