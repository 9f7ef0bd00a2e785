"""What is kept of notices, how equal ones are counted, and what is read."""

import asyncio
from pathlib import Path

import pytest
from tests.features.notifications.conftest import open_office

from tocsin.core.records.as_json import to_json
from tocsin.core.short_ids import AmbiguousIdError
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.notifications.model import (
    InvalidNoticeError,
    NotificationCategory,
    UnknownNotificationError,
)
from tocsin.features.notifications.store import NotificationFilter

DAY_S = 86_400


async def test_a_notice_is_kept_with_every_field_of_its_record(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify(
            "Disk full", NoticeLevel.ERROR, body="/var", category="system", source="disk", link="#/home"
        )
        (kept,) = [to_json(each) for each in await office.all()]
    assert kept.pop("id")
    assert kept == {
        "title": "Disk full",
        "body": "/var",
        "level": "error",
        "category": "system",
        "source": "disk",
        "link": "#/home",
        "read": False,
        "read_at": None,
        "created_at": "2023-11-14T22:13:20.000Z",
        "last_at": "2023-11-14T22:13:20.000Z",
        "count": 1,
        "dedupe_key": "",
        "approval": None,
        "expires_at": "2023-12-14T22:13:20.000Z",
    }


async def test_the_same_key_within_24_hours_raises_the_count(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for _ in range(3):
            await office.notify("backup failed", dedupe_key="cron:backup")
        office.clock.advance(DAY_S - 1)
        await office.notify("backup failed again", dedupe_key="cron:backup")
        (kept,) = await office.all()
        assert (kept.count, kept.title) == (4, "backup failed again")
        office.clock.advance(1)
        await office.notify("backup failed", dedupe_key="cron:backup")
        assert [each.count for each in await office.all()] == [1, 4]


async def test_a_notice_that_is_given_once_is_not_counted_again_after_a_crash(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for _ in range(2):
            await office.notify("it was interrupted", dedupe_key="r1", once=True)
        assert [each.count for each in await office.all()] == [1]
        assert len(office.bench.audit("notification.create")) == 1


async def test_notices_without_a_key_are_never_merged(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("hello")
        await office.notify("hello")
        assert [each.count for each in await office.all()] == [1, 1]


async def test_a_merged_notice_keeps_the_more_urgent_level(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for level in (NoticeLevel.WARNING, NoticeLevel.ERROR, NoticeLevel.INFO):
            await office.notify("disk", level, dedupe_key="disk")
        assert [each.level for each in await office.all()] == [NoticeLevel.ERROR]


async def test_a_notice_of_an_approval_is_closed_by_its_decision_and_opened_by_the_next_question(tmp_path: Path):
    asks = {"source": "workflow w", "dedupe_key": "approval:r:ask", "run_id": "r", "step": "ask"}
    async with open_office(tmp_path) as office:
        await office.notify("w waits", **asks)
        assert to_json((await office.all())[0])["approval"] == {"run_id": "r", "step": "ask"}
        office.clock.advance(2 * DAY_S)
        await office.notify("w was approved", NoticeLevel.INFO, **asks, closed=True)
        (closed,) = await office.all()
        shown = to_json(closed)
        assert (shown["title"], shown["read"], shown["approval"], shown["count"]) == ("w was approved", True, None, 1)
        assert await office.forward() == [], "nobody is told of what needs no person any more"
        await office.notify("w was approved", closed=True, **{**asks, "dedupe_key": "approval:r:other"})
        assert await office.all() == [closed], "what was never told is not closed"


async def test_a_question_that_is_asked_again_within_a_day_is_unread_again(tmp_path: Path):
    asks = {"source": "workflow w", "dedupe_key": "approval:r:ask", "run_id": "r", "step": "ask"}
    async with open_office(tmp_path) as office:
        await office.notify("w waits", **asks)
        await office.notify("w was rejected", **asks, closed=True)
        await office.notify("w waits", **asks)
        (again,) = [to_json(each) for each in await office.all()]
    assert (again["read"], again["approval"], again["count"]) == (False, {"run_id": "r", "step": "ask"}, 2)


async def test_a_key_that_another_source_chose_replaces_no_notice(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("w waits for approval", source="workflow w", dedupe_key="approval:r:ask")
        await office.service.create(Notice("harmless", dedupe_key="approval:r:ask"))
        assert [(each.title, each.count) for each in await office.all()] == [
            ("harmless", 1),
            ("w waits for approval", 1),
        ]


async def test_reading_is_idempotent_and_audited_once(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("disk")
        (kept,) = await office.all()
        first = await office.service.mark_read(kept.id, source="cli")
        office.clock.advance(60)
        assert (await office.service.mark_read(kept.id, source="cli")).read_at == first.read_at
        assert [entry.metadata["notification"] for entry in office.bench.audit("notification.read")] == [kept.id]
        assert (await office.service.unread()).count == 0


async def test_read_all_may_be_limited_to_a_category_and_a_time(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("old", category="cron")
        await office.notify("old", category="ssh")
        office.clock.advance(60)
        await office.notify("new", category="cron")
        service, cron = office.service, NotificationCategory.CRON
        before = office.clock.now()
        assert await service.mark_all_read(source="cli", before=before, category=cron) == 1
        assert await service.mark_all_read(source="cli", category=cron) == 1
        assert await service.mark_all_read(source="cli") == 1
        assert await service.mark_all_read(source="cli") == 0
        assert [entry.metadata["read"] for entry in office.bench.audit("notification.read")] == [1, 1, 1]


async def test_a_deleted_notification_is_gone_and_audited(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("disk")
        (kept,) = await office.all()
        await office.service.delete(kept.id, source="cli")
        assert await office.all() == []
        assert [entry.source for entry in office.bench.audit("notification.delete")] == ["cli"]
        with pytest.raises(UnknownNotificationError):
            await office.service.delete(kept.id, source="cli")


async def test_any_unique_beginning_of_an_id_or_of_its_last_group_names_a_notification(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("one")
        await office.notify("two")
        two, _ = await office.all()
        assert (await office.service.get(two.id.rpartition("-")[2][:8])).title == "two"
        with pytest.raises(AmbiguousIdError):
            await office.service.get("0")
        for unknown in ("ffffffff", "*", "no such", ""):
            with pytest.raises(UnknownNotificationError):
                await office.service.get(unknown)


async def test_a_flood_leaves_the_newest_thousand(tmp_path: Path):
    async with open_office(tmp_path) as office:
        assert await office.all() == []  # opens the database, so that all are kept in order
        await asyncio.gather(*[office.notify(f"notice {number}") for number in range(1_500)])
        page = await office.service.search(NotificationFilter(limit=1))
        assert (page.total, page.items[0].title) == (1_000, "notice 1499")


async def test_what_is_older_than_30_days_is_neither_shown_nor_kept(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("old")
        office.clock.advance(30 * DAY_S)
        assert await office.all() == []
        assert await office.service.prune() == 1


async def test_pages_go_from_the_newest_to_the_oldest(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for number in range(5):
            await office.notify(str(number))
        titles, cursor = [], ""
        while cursor is not None:
            page = await office.service.search(NotificationFilter(limit=2, cursor=cursor))
            titles += [each.title for each in page.items]
            cursor = page.next_cursor
        assert titles == ["4", "3", "2", "1", "0"]


async def test_a_filter_by_level_category_and_unread(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("a", NoticeLevel.ERROR, category="ssh")
        await office.notify("b", NoticeLevel.WARNING, category="ssh")
        await office.notify("c", NoticeLevel.ERROR, category="vault")
        query = NotificationFilter(unread=True, level=NoticeLevel.ERROR, category=NotificationCategory.SSH)
        assert [each.title for each in (await office.service.search(query)).items] == ["a"]


async def test_secrets_are_masked_and_long_texts_shortened_before_they_are_kept(tmp_path: Path):
    async with open_office(tmp_path, GATEWAY_TOKEN="correct-horse-battery") as office:
        await office.notify("key correct-horse-battery\nleaks" + "x" * 500, body="correct-horse-battery" + "y" * 9_000)
        (kept,) = await office.all()
    assert "correct-horse" not in kept.title + kept.body
    assert (len(kept.title), len(kept.body), "\n" in kept.title) == (200, 4_000, False)


async def test_a_notice_of_a_feature_is_kept_even_where_its_category_is_unknown(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify(" ", category="cats", source="zoo", link="javascript:alert(1)")
        (kept,) = await office.all()
        assert (kept.title, kept.category, kept.link) == ("zoo", "system", "")


@pytest.mark.parametrize(
    "notice", [Notice(" "), Notice("x", category="cats"), Notice("x", link="javascript:alert(1)")], ids=str
)
async def test_a_person_is_told_what_is_wrong_with_a_notice(notice: Notice, tmp_path: Path):
    async with open_office(tmp_path) as office:
        with pytest.raises(InvalidNoticeError):
            await office.service.create(notice, source="dashboard")
        assert await office.all() == []


async def test_unread_notices_are_counted_for_others(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("disk")
        assert await office.bench.features.abilities.notices.unread_count() == 1
        assert await office.bench.features.status_lines() == ["Notifications: 1 unread"]
