"""The operations on notifications."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from fastapi import Query, Request, Response

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.fields import ChoiceType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.files import WriteError
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.notifications.feeds import atom_feed, feed_address, json_feed
from tocsin.features.notifications.forwarding.receivers import NoticeTarget
from tocsin.features.notifications.hooks import OpenNotifications
from tocsin.features.notifications.model import (
    MAX_BODY,
    MAX_TITLE,
    MAX_WORD,
    Notification,
    NotificationCategory,
)
from tocsin.features.notifications.store import NotificationFilter
from tocsin.rest.bodies import MOMENT, RequestBody, text
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.event_stream import EVENT_STREAM, last_event_id
from tocsin.rest.models import GivenTime
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import accepted_type
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import as_detail

FEED_ITEMS = 50
JSON_FEED, ATOM = "application/feed+json", "application/atom+xml"
# The accepted media types, and the type of the response for each.
_FEED_TYPES = {
    JSON_FEED: JSON_FEED,
    "application/json": JSON_FEED,
    ATOM: ATOM,
    "application/xml": ATOM,
    "text/xml": ATOM,
    EVENT_STREAM: EVENT_STREAM,
}

Level = Literal["info", "success", "warning", "error"]
CategoryWord = Literal["cron", "workflow", "vault", "ssh", "messaging", "security", "system", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotification(RequestBody):
    """Notification to store."""

    title: Annotated[str, Written(TextType(max_chars=MAX_TITLE), examples=("Backup finished",))]
    body: Annotated[str, text(MAX_BODY)] = ""
    level: Annotated[Level, Written(ChoiceType(get_args(Level)))] = "info"
    category: Annotated[CategoryWord, Written(ChoiceType(get_args(CategoryWord)))] = "user"
    link: Annotated[str, text(500), "`#/…` is a page of the dashboard."] = ""
    dedupe_key: Annotated[
        str, text(MAX_WORD), "Notifications with the same key within 24 hours are counted as one."
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRecord:
    """Number of unread notifications, and the newest of them."""

    count: int
    items: Sequence[Notification]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAll(RequestBody):
    """Notifications to mark as read."""

    before: Annotated[GivenTime | None, MOMENT, "Time before which the notifications were created."] = None
    category: Annotated[CategoryWord | None, Written(ChoiceType(get_args(CategoryWord)), nullable=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNoticeTarget(RequestBody):
    """Target to which notices are sent."""

    channel: Annotated[str, Written(TextType(max_chars=100)), "Channel, or an alias."]
    target: Annotated[str, Written(TextType(max_chars=MAX_TITLE)), "Target on the channel."]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedCount:
    """Number of changed records."""

    updated: int


_FEEDS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            JSON_FEED: {"schema": {"type": "object"}},
            ATOM: {"schema": {"type": "string"}},
            EVENT_STREAM: {},
        }
    }
}


class NotificationRoutes:
    """The operations on notifications."""

    def __init__(self, opened: OpenNotifications) -> None:
        self._opened = opened
        self._notices = opened.service

    @operation("GET", "/api/notifications", problems=("validation-failed",), answer=Page[Notification])
    async def list_notifications(
        self,
        paging: PagingOf,
        unread: Annotated[bool, Query(description="Only unread notifications.")] = False,
        level: Annotated[Level | None, Query(description="Level of the notifications.")] = None,
        category: Annotated[CategoryWord | None, Query(description="Category of the notifications.")] = None,
    ) -> Any:
        """List notifications, newest first."""
        query = NotificationFilter(
            unread=unread,
            level=NoticeLevel(level) if level else None,
            category=NotificationCategory(category) if category else None,
            limit=paging.limit,
            cursor=paging.start,
        )
        found = await self._notices.search(query)
        return paging.page(found.items, found.next_cursor, found.total)

    @operation(
        "POST",
        "/api/notifications",
        scope="run",
        once=True,
        problems=("validation-failed",),
        status=201,
        answer=Notification,
        responses={200: {"model": Notification, "description": "It was counted with a notification of the same key."}},
    )
    async def create_notification(self, body: NewNotification, response: Response) -> Any:
        """Create a notification, or count it with one of the same `dedupe_key`."""
        kept = await self._notices.create(
            Notice(body.title, body.body, NoticeLevel(body.level), body.category, "", body.link, body.dedupe_key),
            source=DASHBOARD.name,
        )
        if kept.merged:
            response.status_code = 200
        else:
            response.headers["Location"] = f"/api/notifications/{kept.notification.id}"
        return _answer(response, kept.notification)

    @operation("GET", "/api/notifications/unread", answer=UnreadRecord)
    async def get_unread_notifications(self) -> Any:
        """Get the number of unread notifications, and the newest 20."""
        found = await self._notices.unread()
        return UnreadRecord(count=found.count, items=found.items)

    @operation(
        "POST",
        "/api/notifications/read-all",
        scope="run",
        problems=("validation-failed",),
        answer=UpdatedCount,
    )
    async def read_all_notifications(self, body: ReadAll | None = None) -> Any:
        """Mark all notifications, or those in the body, as read."""
        wish = body or ReadAll()
        category = NotificationCategory(wish.category) if wish.category else None
        return {
            "updated": await self._notices.mark_all_read(source=DASHBOARD.name, before=wish.before, category=category)
        }

    @operation(
        "GET", "/api/notifications/feed", problems=("not-acceptable",), responses=_FEEDS, response_class=Response
    )
    async def get_notification_feed(self, request: Request) -> Any:
        """Get the newest notifications as JSON Feed 1.1, or as Atom with `Accept: application/atom+xml`.

        With `Accept: text/event-stream`, the response streams `notification.created`, `notification.updated` and
        `notification.deleted`.
        """
        media = _feed_type(request)
        if media == EVENT_STREAM:
            return await request.app.state.live.open({"notifications"}, last_event_id(request))
        found = (await self._notices.search(NotificationFilter(limit=FEED_ITEMS))).items
        address, now = feed_address(self._opened.context.settings), self._opened.context.clock.now()
        if media == ATOM:
            return Response(atom_feed(found, address, now=now), media_type=ATOM)
        return Response(json.dumps(json_feed(found, address)), media_type=JSON_FEED)

    @operation("GET", "/api/notifications/target", extension=True, answer=NoticeTarget)
    async def get_notification_target(self) -> Any:
        """Get the target on which a person confirmed that a message arrived, and whether notices go there."""
        return await self._opened.receivers.confirmed()

    @operation(
        "POST",
        "/api/notifications/target",
        scope="admin",
        extension=True,
        problems=("validation-failed", "not-ready"),
        answer=NoticeTarget,
    )
    async def add_notification_target(self, body: NewNoticeTarget) -> Any:
        """Add a target to the receivers of notices, once a person confirmed that a message arrived on it.

        It is added to the profile of NOTIFY_PROFILE in `profiles.yaml`. If NOTIFY_PROFILE is not set, the profile
        `notices` becomes its value, in the file of settings.
        """
        try:
            return await self._opened.receivers.add(body.channel, body.target, source=DASHBOARD.name)
        except (ConfigError, WriteError) as error:
            raise HttpProblemError("not-ready", as_detail(error.sentence())) from None
        except TocsinError as error:
            issue = {"pointer": "#/target", "code": "bad-value", "detail": error.sentence()}
            raise HttpProblemError("validation-failed", as_detail(error.sentence()), [issue]) from None

    @operation("GET", "/api/notifications/{nid}", extension=True, problems=("not-found",), answer=Notification)
    async def get_notification(self, nid: str, response: Response) -> Any:
        """Return one."""
        return _answer(response, await self._notices.get(nid))

    @operation("POST", "/api/notifications/{nid}/read", scope="run", problems=("not-found",), answer=Notification)
    async def read_notification(self, nid: str, response: Response) -> Any:
        """Mark a notification as read."""
        return _answer(response, await self._notices.mark_read(nid, source=DASHBOARD.name))

    @operation(
        "POST",
        "/api/notifications/{nid}/unread",
        scope="run",
        extension=True,
        problems=("not-found",),
        answer=Notification,
    )
    async def unread_notification(self, nid: str, response: Response) -> Any:
        """Mark a notification as unread."""
        return _answer(response, await self._notices.mark_unread(nid, source=DASHBOARD.name))

    @operation(
        "DELETE",
        "/api/notifications/{nid}",
        scope="run",
        problems=("not-found", "precondition-failed"),
    )
    async def delete_notification(self, request: Request, nid: str) -> None:
        """Delete a notification; `If-Match` is supported."""
        if "if-match" in request.headers:
            check_unchanged(request, to_json(await self._notices.get(nid)))
        await self._notices.delete(nid, source=DASHBOARD.name)


def _answer(response: Response, found: Notification) -> Any:
    return tag(response, found, to_json(found))


def _feed_type(request: Request) -> str:
    """Return the media type of the feed; raise 406 if none is acceptable to the caller."""
    media = accepted_type(request, tuple(_FEED_TYPES))
    if media is None:
        raise HttpProblemError("not-acceptable", f"The feed is available as {JSON_FEED}, {ATOM} or {EVENT_STREAM}.")
    return _FEED_TYPES[media]


OPERATIONS = operations_of("notifications", NotificationRoutes)
