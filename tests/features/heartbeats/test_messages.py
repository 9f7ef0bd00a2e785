"""What is sent about a heartbeat: one message for an alarm and its end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.features.heartbeats.conftest import TEST, Door, open_door
from tests.waiting import eventually

from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.core.http.direct import DirectTransport
from tocsin.delivery.dispatcher import Dispatcher
from tocsin.delivery.model import Delivery
from tocsin.delivery.store import DeliveryFilter
from tocsin_standins import StandinCluster, open_standins

PROFILE = 'oncall: [{{channel: teamchat, target: "#ops"{}}}]\n'
SLACK = {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"}


@asynccontextmanager
async def with_profile(tmp_path: Path, options: str = "") -> AsyncIterator[Door]:
    (tmp_path / "profiles.yaml").write_text(PROFILE.format(options))
    async with open_door(tmp_path, SLACK, channels=(TeamchatAdapter,)) as door:
        yield door


async def queued(door: Door) -> list[Delivery]:
    """Return what was queued, the oldest first; a message that replaced a waiting one has its place."""
    return sorted((await door.bench.app.outbox.store.search(DeliveryFilter())).items, key=lambda each: each.id)


async def fails_and_recovers(door: Door, **fields: object) -> list[Delivery]:
    await door.add("job", period="1d", notify="oncall", **fields)
    await door.settle()
    for action in ("/3", ""):
        await door.ping("job", action)
        await door.step(after_s=60)
    return await queued(door)


async def test_an_alarm_and_its_end_are_one_message_that_turns_green(tmp_path: Path):
    async with with_profile(tmp_path) as door:
        down, up = await fails_and_recovers(door)
    assert down.key == up.key != ""
    assert (down.content["title"], down.content["type"]) == ("job is down", "failure")
    assert (up.content["title"], up.content["type"]) == ("job is up again", "success")


async def test_the_chat_shows_one_message_that_was_edited(tmp_path: Path):
    async with open_standins() as town, sending(tmp_path, town) as door:
        await door.add("job", period="1d", notify="teamchat:#ops")
        await door.settle()
        await door.ping("job", "/3")
        await door.step()
        await eventually(lambda: town.recorder.of(kind="message", channel="teamchat"))
        await door.ping("job")
        await door.step(after_s=5)
        await eventually(lambda: town.recorder.of(kind="edit", channel="teamchat"))
        (message,) = town.recorder.of(kind="message", channel="teamchat")
        (edit,) = town.recorder.of(kind="edit", channel="teamchat")
    assert (message.id, "job is down" in message.text) == (edit.id, True)
    assert "job is up again" in edit.text


@asynccontextmanager
async def sending(tmp_path: Path, town: StandinCluster) -> AsyncIterator[Door]:
    """Open a door whose queue sends to the stand-ins."""
    transport = DirectTransport()
    async with open_door(tmp_path, town.environment(), channels=(TeamchatAdapter,), transport=transport) as door:
        app = door.bench.app
        dispatcher = Dispatcher(app.outbox.store, app.registry, door.clock, on_attempt=app.outbox.record_attempt)
        app.outbox.on_queued(dispatcher.wake)
        task = asyncio.create_task(dispatcher.run())
        try:
            yield door
        finally:
            dispatcher.stop()
            await task
            await transport.aclose()


async def test_each_alarm_is_a_message_of_its_own_since_an_edit_notifies_no_one(tmp_path: Path):
    async with with_profile(tmp_path) as door:
        first = await fails_and_recovers(door)
        await door.ping("job", "/fail")
        await door.step()
        *_, again = await queued(door)
    assert again.key not in {"", first[0].key}


async def test_the_end_of_an_alarm_is_a_message_of_its_own_where_the_profile_says_so(tmp_path: Path):
    async with with_profile(tmp_path, ", on_resolve: message") as door:
        down, up = await fails_and_recovers(door)
    assert (down.key != "", up.key) == (True, "")


@pytest.mark.parametrize(("severity", "count"), [("critical", 2), ("warning", 0)])
async def test_a_target_for_urgent_messages_gets_critical_alarms_and_their_ends(
    tmp_path: Path, severity: str, count: int
):
    async with with_profile(tmp_path, ", min_priority: high") as door:
        found = await fails_and_recovers(door, severity=severity)
    assert [each.content.get("priority", 3) for each in found] == [5, 3][:count]


@pytest.mark.parametrize(("change", "said"), [("pause", "paused"), ("remove", "removed")])
async def test_pausing_or_removing_a_heartbeat_that_is_down_ends_its_alarm(tmp_path: Path, change: str, said: str):
    async with with_profile(tmp_path) as door:
        await door.add("job", period="1d", notify="oncall")
        await door.settle()
        await door.ping("job", "/fail")
        await door.step()
        await getattr(door.heartbeats, change)("job", TEST)
        await door.step(after_s=300)
        down, end = await queued(door)
    assert (down.key == end.key, end.content["title"]) == (True, "job is no longer watched")
    assert said in end.message


async def test_notices_of_an_alarm_and_its_end_belong_together(tmp_path: Path):
    async with with_profile(tmp_path) as door:
        await fails_and_recovers(door)
        down, up = (notice.dedupe_key for notice in door.bench.notices)
    assert (down.replace("failing", "recovered"), down) == (up, up.replace("recovered", "failing"))
