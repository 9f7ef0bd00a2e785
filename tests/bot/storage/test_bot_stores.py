"""What the bot keeps, on either store: one suite, in which two openings stand for two hosts."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.bot.storage.conftest import BotPlace, RedisBotPlace, SqliteBotPlace
from tests.delivery.conftest import RedisServer

from tocsin.bot.contract import ChatMode
from tocsin.bot.door.access_store import AccessState, AccessStore, Record
from tocsin.bot.persistence import PREVIEWS_KEPT_S
from tocsin.bot.skill_mode.plans import KEPT_S, Plan, Step
from tocsin.bot.storage.keyed_table import KeyedTable, OpenTable, put
from tocsin.bot.storage.redis_table import redis_tables
from tocsin.bot.storage.shared_stores import shared_bot_stores
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.bot.storage.stores import BotStores, copy_bot_records

STEPS = (Step("save the files", "backup"), Step("sing ☃"))


async def states(store: AccessStore) -> list[tuple[str, str]]:
    return [(record.chat_id, str(record.state)) for record in await store.records()]


# Access


async def test_a_chat_that_nobody_knows_has_no_record(place: BotPlace):
    assert await place.open().access.family("7") == [("7", None)]


async def test_a_request_is_new_once_whichever_host_it_reaches(place: BotPlace):
    first, second = place.open().access, place.open().access
    record, is_new = await first.request("7", {"name": "Anna ☃"})
    assert record is not None
    assert (is_new, record.state, record.details, record.admin_told) == (True, "pending", {"name": "Anna ☃"}, False)
    assert await second.request("7", {"name": "Eve"}) == (record, False)


async def test_of_twenty_requests_at_the_same_time_one_is_new(place: BotPlace):
    hosts = [place.open().access, place.open().access]
    answers = await asyncio.gather(*(hosts[n % 2].request("7", {}) for n in range(20)))
    assert sum(is_new for _, is_new in answers) == 1
    assert len({record.changed_at for record, _ in answers if record}) == 1, "it is part of the key of the message"


async def test_that_the_admin_was_told_is_known_to_the_other_host(place: BotPlace):
    first, second = place.open().access, place.open().access
    await first.request("7", {"name": "Anna"})
    await first.record_admin_notice("7", "delivery-1")
    record, _ = await second.request("7", {})
    assert record is not None
    assert (record.admin_told, record.notice, record.details) == (True, "delivery-1", {"name": "Anna"})


async def test_a_decision_of_one_host_is_that_of_the_other_at_once(place: BotPlace):
    first, second = place.open().access, place.open().access
    await first.request("7", {"name": "Anna"})
    await first.record_admin_notice("7", "delivery-1")
    assert await first.decide("7", AccessState.ALLOWED)
    ((_, record),) = await second.family("7")
    assert record is not None
    assert (record.state, record.details, record.notice) == ("allowed", {"name": "Anna"}, "")


async def test_of_two_who_decide_the_same_one_has_decided(place: BotPlace):
    hosts = [place.open().access, place.open().access]
    await hosts[0].request("7", {})
    answers = await asyncio.gather(*(host.decide("7", AccessState.DENIED) for host in hosts))
    assert sorted(answers) == [False, True]
    assert await hosts[0].decide("7", AccessState.ALLOWED), "another decision is one"


async def test_a_chat_may_be_decided_about_that_has_not_asked(place: BotPlace):
    store = place.open().access
    assert await store.decide("7", AccessState.UNKNOWN)
    assert await states(store) == [("7", "unknown")]
    _, is_new = await store.request("7", {})
    assert is_new, "recorded as unknown, it may ask"


async def test_what_is_forgotten_may_be_asked_anew(place: BotPlace):
    store = place.open().access
    await store.request("7", {})
    assert await store.forget("7")
    assert not await store.forget("7")
    assert await states(store) == []
    assert (await store.request("7", {}))[1]


async def test_those_who_wait_are_listed_first_and_then_the_latest(place: BotPlace):
    store = place.open().access
    for chat in ("1", "2", "3"):
        await store.decide(chat, AccessState.ALLOWED)
        await place.advance(1.0)
    await store.request("4", {})
    assert [chat for chat, _ in await states(store)] == ["4", "3", "2", "1"]


async def test_a_group_that_moved_is_found_by_either_id_with_both_records(place: BotPlace):
    first, second = place.open().access, place.open().access
    await first.decide("-7", AccessState.ALLOWED)
    await first.record_move("-7", "-1007")
    assert [(id_, record and str(record.state)) for id_, record in await second.family("-1007")] == [
        ("-1007", None),
        ("-7", "allowed"),
    ]
    assert [id_ for id_, _ in await second.family("-7")] == ["-7", "-1007"]
    assert await second.moves() == [("-7", "-1007")]


async def test_a_group_that_moved_to_another_id_than_before_has_left_the_first(place: BotPlace):
    store = place.open().access
    await store.record_move("-7", "-1007")
    await store.record_move("-7", "-1008")
    assert [id_ for id_, _ in await store.family("-1007")] == ["-1007"]
    assert [id_ for id_, _ in await store.family("-1008")] == ["-1008", "-7"]


class CountedTables:
    """Tables that count how often all texts of one are read."""

    def __init__(self, open_table: OpenTable) -> None:
        self.scans = 0
        self._open_table = open_table

    def __call__(self, name: str, kept_s: float) -> KeyedTable:
        table, counted = self._open_table(name, kept_s), self

        class Counted:
            get, change = staticmethod(table.get), staticmethod(table.change)

            async def all(self) -> Mapping[str, str]:
                counted.scans += 1
                return await table.all()

        return Counted()


async def test_the_ids_of_a_group_are_looked_up_without_reading_all_moves(place: BotPlace):
    place.open()
    counted = CountedTables(tables(place))
    store = AccessStore(counted)
    await store.record_move("-7", "-1007")
    await store.record_move("-8", "-1007")
    first = [id_ for id_, _ in await store.family("-1007")]
    scans = counted.scans
    assert [id_ for id_, _ in await store.family("-1007")] == first == ["-1007", "-7", "-8"]
    assert [id_ for id_, _ in await store.family("-8")] == ["-8", "-1007"]
    assert counted.scans == scans == 1


async def test_a_move_of_a_version_without_an_index_is_found_by_the_new_id(place: BotPlace):
    place.open()
    await put(tables(place)("moves", 0), "-7", "-1007")
    assert [id_ for id_, _ in await place.open().access.family("-1007")] == ["-1007", "-7"]


async def test_no_more_than_the_limit_wait_and_who_was_decided_about_waits_no_more(place: BotPlace):
    place.open()
    now = 0.0
    store = AccessStore(tables(place), max_pending=2, monotonic=lambda: now)
    assert [(await store.request(chat, {}))[1] for chat in ("1", "2")] == [True, True]
    assert await store.request("3", {}) == (None, False)
    await store.decide("1", AccessState.DENIED)
    await store.forget("2")
    now += 60
    assert [(await store.request(chat, {}))[1] for chat in ("3", "4")] == [True, True]
    assert await store.request("5", {}) == (None, False)


async def test_while_too_many_requests_wait_they_are_not_counted_for_every_message(place: BotPlace):
    place.open()
    reads = 0

    class Counted:
        def __init__(self, table: KeyedTable) -> None:
            self.get, self.change, self._all = table.get, table.change, table.all

        async def all(self) -> Mapping[str, str]:
            nonlocal reads
            reads += 1
            return await self._all()

    now = 0.0
    opened = tables(place)
    store = AccessStore(lambda name, kept_s: Counted(opened(name, kept_s)), max_pending=1, monotonic=lambda: now)
    await store.request("1", {})
    reads = 0
    for chat in range(100):
        assert await store.request(f"stranger {chat}", {}) == (None, False)
    assert reads == 1
    now += 60
    await store.request("another", {})
    assert reads == 2


async def test_of_many_texts_that_expired_none_is_returned(place: BotPlace):
    place.open()
    table = tables(place)("previews", 1000)
    for number in range(130):
        await put(table, f"k{number:03}", "text")
    await place.advance(2000)
    assert await table.get("k129") is None
    assert await table.all() == {}


def tables(place: BotPlace) -> OpenTable:
    if isinstance(place, RedisBotPlace):
        return redis_tables(place.opened[0], place.prefix)
    assert isinstance(place, SqliteBotPlace)
    return sqlite_tables(place.opened[0], place.clock)


async def test_a_record_of_another_store_is_taken_over_as_it_is_and_replaces_none(place: BotPlace):
    store = place.open().access
    record = Record("7", AccessState.PENDING, 1_600_000_000.25, {"name": "Anna"}, True, "delivery-1")
    assert await store.restore(record)
    assert not await store.restore(replace(record, state=AccessState.ALLOWED))
    assert await store.records() == [record]
    assert await store.request("7", {}) == (record, False)


# Modes and previews


async def test_the_mode_of_a_chat_is_the_same_on_every_host(place: BotPlace):
    first, second = place.open().persistence, place.open().persistence
    assert await first.mode("7") is ChatMode.CHAT
    await first.set_mode("7", ChatMode.SKILL)
    assert await second.mode("7") is ChatMode.SKILL
    await second.set_mode("7", ChatMode.CHAT)
    assert await first.mode("7") is ChatMode.CHAT
    assert await first.modes() == {"7": ChatMode.CHAT}


async def test_a_preview_of_a_host_that_died_is_found_by_the_one_that_takes_over(place: BotPlace):
    first, second = place.open().persistence, place.open().persistence
    await first.keep_preview("event", "1700000000.100000")
    assert await second.preview("event") == "1700000000.100000"
    assert await second.preview("another") is None
    await second.forget_preview("event")
    assert await first.preview("event") is None


async def test_previews_are_forgotten_after_a_week(place: BotPlace):
    store = place.open().persistence
    await store.keep_preview("old", "1")
    await place.advance(PREVIEWS_KEPT_S / 2)
    await store.keep_preview("newer", "2")
    await place.advance(PREVIEWS_KEPT_S / 2 + 1)
    await store.keep_preview("newest", "3")
    assert await store.previews() == {"newer": "2", "newest": "3"}


# Plans


async def test_a_plan_is_taken_once_whichever_host_its_button_reaches(place: BotPlace):
    first, second = place.open().plans, place.open().plans
    plan = await first.add("7", STEPS)
    taken = await asyncio.gather(first.take(plan.id, "7", "event-1"), second.take(plan.id, "7", "event-2"))
    assert [found for found in taken if found] == [plan]
    taker = "event-1" if taken[0] else "event-2"
    assert await first.take(plan.id, "7", taker) == plan, "the same event again, after a crash"


async def test_a_plan_is_none_of_another_chats_business(place: BotPlace):
    plans = place.open().plans
    plan = await plans.add("7", STEPS)
    assert await plans.take(plan.id, "8", "event") is None
    assert await plans.take("another", "7", "event") is None
    assert await plans.take(plan.id, "7", "event") == plan


async def test_progress_and_what_is_given_back_are_seen_by_the_other_host(place: BotPlace):
    first, second = place.open().plans, place.open().plans
    plan = await first.add("7", STEPS)
    await first.take(plan.id, "7", "event-1")
    ahead = plan.with_step(0, replace(STEPS[0], ok=True, result="done"))
    await first.save(ahead)
    await first.give_back(plan)
    assert await second.take(plan.id, "7", "event-2") == ahead
    await second.save(replace(plan, id="another"))
    assert len(await first.stored()) == 1


async def test_a_plan_has_no_effect_after_a_day(place: BotPlace):
    plans = place.open().plans
    plan = await plans.add("7", STEPS)
    await place.advance(KEPT_S + 2)
    assert await plans.take(plan.id, "7", "event") is None
    newer = await plans.add("7", STEPS)
    assert await plans.stored() == [(newer, "")]


# From one store to the other


async def filled(stores: BotStores) -> Plan:
    await stores.access.request("7", {"name": "Anna"})
    await stores.access.decide("8", AccessState.DENIED)
    await stores.access.record_move("-7", "-1007")
    await stores.persistence.set_mode("7", ChatMode.SKILL)
    await stores.persistence.keep_preview("event", "12")
    plan = await stores.plans.add("7", STEPS)
    await stores.plans.take(plan.id, "7", "event-1")
    return plan


async def test_all_records_are_copied_to_the_other_store_and_back(tmp_path: Path, unsaved_redis: RedisServer):
    places = [SqliteBotPlace(tmp_path / "1.db"), RedisBotPlace(unsaved_redis.url), SqliteBotPlace(tmp_path / "2.db")]
    source, shared, back = (place.open() for place in places)
    plan = await filled(source)
    assert await copy_bot_records(source, shared) == 6
    await shared.access.decide("7", AccessState.ALLOWED)
    assert await copy_bot_records(source, shared) == 6, "a second time, it leaves what was decided since"
    await copy_bot_records(shared, back)
    assert sorted(await states(back.access)) == [("7", "allowed"), ("8", "denied")]
    assert await back.access.moves() == [("-7", "-1007")]
    assert await back.persistence.modes() == {"7": ChatMode.SKILL}
    assert await back.persistence.previews() == {"event": "12"}
    assert await back.plans.stored() == [(plan, "event-1")]
    for place in places:
        await place.aclose()


async def test_decisions_of_before_are_taken_over_once_before_anybody_is_judged(
    tmp_path: Path, unsaved_redis: RedisServer
):
    before, redis = SqliteBotPlace(tmp_path / "tocsin.db"), RedisBotPlace(unsaved_redis.url)
    await filled(before.open())
    redis.open()

    def shared() -> BotStores:
        return shared_bot_stores(redis.opened[0], before.path, "directory-1", before.clock, prefix=redis.prefix)

    first = shared()
    families = await asyncio.gather(*(first.access.family("8") for _ in range(3)))
    assert [record and str(record.state) for ((_, record),) in families] == ["denied"] * 3
    await first.access.forget("8")
    assert await shared().access.family("8") == [("8", None)], "a restart does not bring back what was removed"
    await before.aclose()
    await redis.aclose()


async def test_a_host_without_a_database_gets_none(tmp_path: Path, unsaved_redis: RedisServer):
    redis = RedisBotPlace(unsaved_redis.url)
    redis.open()
    path = tmp_path / "tocsin.db"
    stores = shared_bot_stores(redis.opened[0], path, "directory-1", SqliteBotPlace(path).clock, prefix=redis.prefix)
    assert await stores.access.records() == []
    assert not path.exists()
    await redis.aclose()


# Work in progress


async def test_work_that_another_host_cancels_is_cancelled_once(place: BotPlace):
    mine, yours = place.open().work, place.open().work
    assert await mine.begin("7", "one", 1)
    assert await mine.begin("7", "two", 2)
    assert await mine.begin("8", "elsewhere", 3)
    assert not await mine.is_cancelled("7", "one")
    assert await yours.cancel("7", "", ["two"], 4) == 1, "one of them is cancelled already where it is done"
    assert [await mine.is_cancelled("7", id_) for id_ in ("one", "two")] == [True, False]
    assert await yours.cancel("7", "two", [], 0) == 1
    assert await yours.cancel("7", "", [], 5) == 0
    assert not await mine.is_cancelled("8", "elsewhere")


async def test_what_has_ended_cannot_be_cancelled(place: BotPlace):
    mine, yours = place.open().work, place.open().work
    assert await mine.begin("7", "one", 1)
    await mine.end("7", "one")
    assert await yours.cancel("7", "", [], 2) == 0
    assert await mine.begin("7", "zero", 1), "where nothing was cancelled, nothing that waits is"


async def test_cancelled_work_that_a_kill_cut_off_does_not_begin_anew(place: BotPlace):
    mine, heir = place.open().work, place.open().work
    assert await mine.begin("7", "one", 1)
    assert await mine.begin("7", "one", 1), "after a kill the same event begins again"
    assert await heir.cancel("7", "one", [], 0) == 1
    assert not await heir.begin("7", "one", 1)


async def test_what_came_before_a_reset_is_forgotten_on_every_host(place: BotPlace):
    mine, yours = place.open().work, place.open().work
    assert not await mine.is_forgotten("7", 1)
    await yours.forget("7", 3)
    assert [await mine.is_forgotten("7", seq) for seq in (2, 3, 4)] == [True, False, False]
    assert not await mine.is_forgotten("8", 2)
    assert await mine.begin("7", "two", 2), "it is answered all the same"
    assert await yours.cancel("7", "", [], 5) == 1


async def test_what_came_before_a_cancellation_and_has_not_begun_is_cancelled_too(place: BotPlace):
    mine, yours = place.open().work, place.open().work
    assert await mine.begin("7", "first", 1)
    assert await yours.cancel("7", "", [], 3) == 1
    assert not await yours.begin("7", "second", 2)
    assert await yours.begin("7", "after", 4)
    assert await yours.begin("8", "of another chat", 2)
