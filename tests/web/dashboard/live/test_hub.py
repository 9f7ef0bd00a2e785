"""The event hub: what changes in any process reaches every reader once."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.rest.streams import StreamClient, connected
from tests.waiting import eventually

from tocsin.assembly.full.live import event_hub
from tocsin.assembly.program import App
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.change_feed import ChangeFeed
from tocsin.core.time.clock import SystemClock
from tocsin.features.context import Notice
from tocsin.features.cron.feature import FEATURE as CRON
from tocsin.features.notifications.feature import FEATURE as NOTIFICATIONS
from tocsin.messaging.outbound.caller import Caller
from tocsin.rest.event_stream import MAX_STREAMS
from tocsin.runs.model import Command, RunSpec, RunTrigger
from tocsin.runs.recorder import command
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import open_feature
from tocsin.web.dashboard.live.hub import MAX_EVENTS, EventHub
from tocsin.web.dashboard.live.run_events import RunEvents
from tocsin.web.dashboard.live.status_events import StatusEvents

ORDER = RunSpec("skill", "backup", "backup", RunTrigger.MANUAL, "tester")


@dataclass
class Scene:
    """A hub over real features."""

    app: App
    hub: EventHub

    async def add_job(self) -> Any:
        fields = {"name": "tick", "schedule": "@daily", "command": "true"}
        return await self.app.features.opened("cron").add(fields, Caller("cli"))

    @property
    def notifications(self) -> Any:
        return self.app.features.opened("notifications").service

    async def tell(self, title: str) -> str:
        kept = await self.notifications.create(Notice(title))
        return str(kept.notification.id)

    @asynccontextmanager
    async def reader(self, *topics: str, after: str = "", slow: bool = False) -> AsyncIterator[StreamClient]:
        async with connected(await self.hub.open(topics, after), slow=slow) as client:
            yield client


@asynccontextmanager
async def scene(tmp_path: Path, clock: Any) -> AsyncIterator[Scene]:
    async with open_feature(NOTIFICATIONS, tmp_path, clock=clock, others=(CRON,)) as bench:
        try:
            yield Scene(bench.app, event_hub(bench.app))
        finally:
            await bench.app.features.aclose()


@pytest.fixture
async def still(tmp_path: Path) -> AsyncIterator[Scene]:
    """A hub that looks when the test says so."""
    async with scene(tmp_path, FakeClock()) as found:
        yield found


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Scene]:
    """A hub that runs."""
    async with scene(tmp_path, SystemClock()) as found:
        serving = asyncio.create_task(found.hub.run())
        yield found
        found.hub.stop()
        await serving


async def test_a_change_is_told_to_those_who_listen_to_its_topic_as_lists_show_it(still: Scene):
    async with still.reader("notifications") as one, still.reader("notifications", "cron") as both:
        async with still.reader("cron") as other:
            notice = await still.tell("the disk is full")
            await still.hub.look()
            record = to_json(await still.notifications.get(notice))
            assert await one.got(1) == await both.got(1) == [("notification.created", record)]
            job = await still.add_job()
            await still.hub.look()
            [(name, told)] = await other.got(1)
            assert (name, told["id"], told["state"]) == ("cron.updated", job.id, "scheduled")
        await still.notifications.mark_read(notice, source="cli")
        await still.hub.look()
        await still.notifications.delete(notice, source="cli")
        await still.hub.look()
        (_, read), deleted = (await one.got(3))[1:]
        assert (read["read"], deleted) == (True, ("notification.deleted", {"id": notice}))
    assert still.hub.readers == 0


async def test_the_end_of_a_run_of_a_job_updates_the_job_with_its_figures(still: Scene):
    job = await still.add_job()
    begun = await still.app.features.opened("cron").begin_or_queue(job.id, Caller.of("api", "tester"))
    async with still.reader("cron") as client:
        await begun.task
        await still.hub.look()
        [(name, told)] = await client.got(1)
    assert (name, told["id"], told["success_rate_30d"], told["last_run"]["status"]) == (
        "cron.updated",
        job.id,
        1.0,
        "succeeded",
    )


async def test_a_reader_who_comes_back_gets_what_it_missed_and_nothing_twice(still: Scene, chance: random.Random):
    ids, seen, last = [], [], ""
    for number in range(60):
        async with still.reader("notifications", after=last) as client:
            for _ in range(chance.randrange(3)):
                ids.append(await still.tell(f"notice {number}"))
                if chance.random() < 0.5:
                    await still.hub.look()
            # Nobody sees whether an event that was sent has arrived before the line is cut: the client's id says.
            await asyncio.sleep(0)
        seen += [event[1]["id"] for event in client.events]
        last = client.id or last
    async with still.reader("notifications", after=last) as client:
        await still.hub.look()
        await eventually(lambda: len(seen) + len(client.events) >= len(ids))
    assert seen + [event[1]["id"] for event in client.events] == ids


async def test_after_a_restart_a_reader_goes_on_where_it_was(tmp_path: Path):
    async with scene(tmp_path, FakeClock()) as before:
        async with before.reader("notifications") as client:
            await before.tell("one")
            await before.hub.look()
            await client.got(1)
        await before.tell("two")
    async with scene(tmp_path, FakeClock()) as after, after.reader("notifications", after=client.id) as again:
        assert [record["title"] for _, record in await again.got(1)] == ["two"]


@pytest.mark.parametrize("last", ["999", "nonsense", "-1", "9" * 40, "\u0661"])
async def test_a_reader_with_an_id_of_nowhere_is_told_to_fetch_anew(still: Scene, last: str):
    await still.tell("one")
    async with still.reader("notifications", after=last) as client:
        assert await client.got(1) == [("resync", {})]
        assert client.id == "1"
        await still.tell("two")
        await still.hub.look()
        assert (await client.got(2))[1][1]["title"] == "two"


async def test_too_many_changes_at_once_and_changes_that_are_gone_are_told_as_such(still: Scene):
    async with still.reader("notifications") as client:
        for number in range(MAX_EVENTS + 1):
            await still.tell(f"notice {number}")
        await still.hub.look()
        assert await client.got(1) == [("resync", {})]
    await still.app.database.write(lambda c: c.execute("DELETE FROM changes WHERE seq < 100").rowcount)
    async with still.reader("notifications", after="5") as late:
        assert await late.got(1) == [("resync", {})]


async def test_a_record_that_cannot_be_shown_makes_readers_fetch_anew_and_ends_nothing(still: Scene):
    async with still.reader("notifications") as client:
        broken = await still.tell("one")
        await still.app.database.write(
            lambda c: c.execute("UPDATE notifications SET level = 'loud' WHERE id = ?", [broken]).rowcount
        )
        with pytest.raises(ValueError, match="loud"):
            await still.hub.look()
        await still.tell("two")
        await still.hub.look()
        (first, _), (_, second) = await client.got(2)
        assert (first, second["title"]) == ("resync", "two")


async def test_a_slow_reader_is_dropped_and_the_others_go_on(still: Scene):
    cut_off: list[bool] = []
    response = await still.hub.open(["notifications"])
    scope = {"tocsin.cut_off": lambda: cut_off.append(True)}
    async with connected(response, slow=True, **scope), still.reader("notifications") as quick:
        for _ in range(40):
            await still.notifications.create(Notice("long", "x" * 4_000))
            for _ in range(10):
                await still.notifications.create(Notice("again", "x" * 4_000, dedupe_key="k"))
                await still.hub.look()
        await eventually(lambda: cut_off)
        events = len(quick.events)
        await still.tell("and on")
        await still.hub.look()
        await quick.got(events + 1)


async def test_a_run_and_its_lines_are_told_while_it_goes_on(running: Scene):
    runs = running.app.runs()
    work = command(Command(("sh", "-c", "echo one; read x; echo two; echo three >&2"), {"PATH": "/usr/bin:/bin"}))
    async with running.reader("runs") as client:
        run = await runs.execute(ORDER, work)
        await eventually(lambda: client.events and client.events[-1][1].get("status") == "succeeded")
    lines = [line for name, event in client.events if name == "run.log" for line in event["lines"]]
    assert sorted((line["stream"], line["text"]) for line in lines) == [
        ("stderr", "three"),
        ("stdout", "one"),
        ("stdout", "two"),
    ]
    assert [line["n"] for line in lines] == [1, 2, 3]
    ended = client.events[-1]
    assert (ended[0], ended[1]["id"], "steps" in ended[1]) == ("run.updated", run.id, False)


async def test_pings_keep_a_stream_open_and_the_end_of_the_service_ends_it(running: Scene):
    async with running.reader("notifications") as client:
        await running.tell("one")
        await client.got(1)
        running.hub.stop()
        await eventually(lambda: client.has_ended)
    async with running.reader("notifications") as late:
        await eventually(lambda: late.has_ended)


async def test_a_quiet_stream_gets_a_comment_every_15_seconds(still: Scene):
    serving = asyncio.create_task(still.hub.run())  # its clock does not wait
    async with still.reader("notifications") as client:
        await eventually(lambda: client.comments >= 3)
        still.hub.stop()
        await eventually(lambda: client.has_ended)
    await serving
    assert client.events == []


async def test_a_changed_state_is_told_to_who_asks_for_the_status(still: Scene):
    status = {"status": "ok", "subsystems": {"cron": {"status": "ok"}}, "services": [], "attention": []}

    async def document() -> dict[str, Any]:
        return {**status}

    app = still.app
    runs = RunEvents(sqlite_runs(app.database), app.settings.data_dir / "runs", app.clock)
    hub = EventHub(ChangeFeed(app.database), [], runs, StatusEvents(document, app.clock), app.clock)
    serving = asyncio.create_task(hub.run())  # its clock does not wait
    async with connected(await hub.open({"status"})) as client:
        await eventually(lambda: client.comments)
        assert client.events == []
        status["subsystems"] = {"cron": {"status": "degraded"}}
        assert await client.got(1) == [("status.changed", status)]
        hub.stop()
        assert (await client.got(2))[1:] == [("status.draining", {"status": "draining"})]
    await serving


async def test_the_stream_and_the_feed_of_the_interface_are_of_the_hub(still: Scene):
    async with open_dashboard(still.app, still.hub) as client:
        assert (await client.call("HEAD", "/api/jobs/stream/updates")).status == 200
        client.leaves = True
        answer = await client.get("/api/jobs/stream/updates?topics=runs,notifications", Last_Event_ID="0")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert answer.body == b"retry: 2000\n\n"
        await still.tell("one")
        await still.hub.look()
        for path in ("/api/jobs/stream/updates?topics=notifications", "/api/notifications/feed"):
            answer = await client.get(path, Accept="text/event-stream", Last_Event_ID="0")
            assert answer.body.startswith(b"retry: 2000\n\nid: 1\nevent: notification.created\ndata: {")
        refused = await client.get("/api/jobs/stream/updates?topics=runs,crom")
        assert (refused.status, refused.json()["errors"][0]["parameter"]) == (422, "topics")
        assert "'cron'" in refused.json()["errors"][0]["detail"]
    assert still.hub.readers == 0


async def test_one_caller_has_32_streams_of_any_kind_and_takes_none_from_others(still: Scene):
    async with open_dashboard(still.app, still.hub) as client, AsyncExitStack() as open_streams:
        client.user, client.leaves = "token:agent", True
        paths = ("/api/jobs/stream/updates", "/api/notifications/feed")
        for _ in range(MAX_STREAMS):
            stream = connected(await still.hub.open(["notifications"]), **{"tocsin.user": "token:agent"})
            await open_streams.enter_async_context(stream)
        for path in paths:
            refused = await client.get(path, Accept="text/event-stream")
            assert (refused.status, refused.json()["code"], refused.headers["retry-after"]) == (
                429,
                "rate-limited",
                "60",
            )
        client.user = "token:other"
        assert [(await client.get(path, Accept="text/event-stream")).status for path in paths] == [200, 200]
        assert still.hub.readers == MAX_STREAMS
        await open_streams.aclose()
        client.user = "token:agent"
        assert [(await client.get(path, Accept="text/event-stream")).status for path in paths] == [200, 200]
    assert still.hub.readers == 0
