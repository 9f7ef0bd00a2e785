"""Tocsin's own absence, and the monitor elsewhere that watches Tocsin."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from tests.features.heartbeats.conftest import open_door

from tocsin.core.http.transport import HttpResponse
from tocsin.features.heartbeats.feature import HEARTBEAT_OUT_URL
from tocsin.features.heartbeats.ledger.rules import Gap, HeartbeatDecision, decide_at, pass_gap, pass_time, take_ping
from tocsin.features.heartbeats.model import (
    HeartbeatDefinition,
    HeartbeatState,
    PingKind,
    ReceivedPing,
    Watched,
)
from tocsin.features.heartbeats.store import HOLD_S
from tocsin.features.heartbeats.watching.watch import HeartbeatWatch
from tocsin.features.heartbeats.watching.watchdog import OutsideWatchdog

START = 1_795_176_000.0
SUCCESS = ReceivedPing(kind=PingKind.SUCCESS)
KINDS = [
    HeartbeatDefinition(period=300, grace=60),
    HeartbeatDefinition(period=3600, grace=300),
    HeartbeatDefinition(schedule="*/5 * * * *", timezone="UTC", grace=90),
    HeartbeatDefinition(schedule="0 * * * *", timezone="Europe/Berlin", grace=600),
]


class Simulation:
    """One heartbeat and a job that always reports in time, over stops of Tocsin, second by second where it matters."""

    def __init__(self, definition: HeartbeatDefinition, chance: Random) -> None:
        self.definition, self.chance = definition, chance
        self.watched, self.n, self.rows = Watched(), 0, list[float]()
        self.now, self.hold_until = START, START + HOLD_S
        self.every = definition.period or (300 if "*/5" in definition.schedule else 3600)
        self.next_ping = START + 1

    def run(self, seconds: float, *, is_there: bool, is_silent: bool = False) -> None:
        """Let time pass; pings of a time when nobody takes them are lost, as without `curl --retry`."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.next_ping, *(self._decided() if is_there else ()))
            if self.now >= self.next_ping:
                if is_there and not is_silent:
                    self.n += 1
                    self._take(take_ping(self.definition, self.watched, SUCCESS, self.n, self.now))
                on_time = START + (1 + (self.now - START + self.definition.grace / 2) // self.every) * self.every
                self.next_ping = on_time + self.chance.uniform(0, self.definition.grace / 2)
            if is_there and self.now >= self.hold_until:
                self._take(pass_time(self.definition, self.watched, self.now))

    def _decided(self) -> list[float]:
        at = decide_at(self.definition, self.watched)
        return [] if at is None else [max(at, self.hold_until, self.now + 0.001)]

    def _take(self, decision: HeartbeatDecision) -> None:
        self.watched = decision.watched
        self.rows += [instant.due_at for instant in decision.instants]

    def stop(self, seconds: float) -> None:
        """Stop for a while; the last note is up to 5 s older than the stop."""
        noted = self.now - self.chance.uniform(0, 5)
        self.run(seconds, is_there=False)
        self._take(pass_gap(self.definition, self.watched, Gap(noted, self.now)))
        self.hold_until = self.now + HOLD_S


@pytest.mark.parametrize("definition", KINDS, ids=lambda each: each.schedule or f"{each.period:g}")
def test_a_thousand_stops_of_a_second_to_an_hour_make_nothing_down(definition: HeartbeatDefinition, chance: Random):
    simulation = Simulation(definition, chance)
    for _ in range(250):  # times four kinds
        simulation.run(chance.uniform(1, 2 * simulation.every), is_there=True)
        assert simulation.watched.state is not HeartbeatState.DOWN, simulation.watched.reason
        simulation.stop(chance.choice([1, 5, 30, 600, 3600]) * chance.uniform(0.5, 1))
    assert len(simulation.rows) == len(set(simulation.rows))


@pytest.mark.parametrize("definition", KINDS, ids=lambda each: each.schedule or f"{each.period:g}")
def test_a_job_that_stays_silent_is_down_within_period_and_grace_of_any_start(
    definition: HeartbeatDefinition, chance: Random
):
    for _ in range(50):
        simulation = Simulation(definition, chance)
        simulation.run(chance.uniform(60, 3 * simulation.every), is_there=True)
        simulation.stop(chance.uniform(1, 3600))
        started = simulation.now
        simulation.run(simulation.every + definition.grace + 1, is_there=True, is_silent=True)
        assert simulation.watched.state is HeartbeatState.DOWN
        assert simulation.watched.since - started <= simulation.every + definition.grace + 1


EVERY_FIVE = HeartbeatDefinition(schedule="*/5 * * * *", timezone="UTC", grace=90)


@pytest.mark.parametrize(
    ("noted_at", "started_at", "instants", "due"),
    [
        (120, 400, {0: "missed", 300: "unknown"}, 600),  # over before the stop, but not decided: it had just started
        (80, 400, {0: "unknown", 300: "unknown"}, 600),
        (120, 200, {}, 0),  # decided after the start
        (120, 110, {}, 0),  # the same with a clock that was set back
        (900, 310, {}, 0),
        (-900, -800, {}, 0),
    ],
)
def test_a_stop_takes_no_instant_out_of_the_ledger(
    noted_at: float, started_at: float, instants: dict[float, str], due: float
):
    watched = Watched(state=HeartbeatState.UP, due_at=START)
    decision = pass_gap(EVERY_FIVE, watched, Gap(START + noted_at, START + started_at))
    assert {each.due_at - START: str(each.state) for each in decision.instants} == instants
    assert decision.watched.due_at == START + due


async def test_one_process_decides_and_another_takes_over(tmp_path: Path):
    async with open_door(tmp_path) as door:
        await door.add("sensor", period="5m")
        await door.settle()
        await door.ping("sensor")
        other = HeartbeatWatch(door.heartbeats, "another process")
        await other.step()
        assert (door.at_the_door.watch.lease.held, other.lease.held) == (True, False)
        await door.at_the_door.watch.lease.release()
        await other.step()
        for _ in range(45):
            door.clock.advance(9.5)
            await other.step()
        assert (await door.state("sensor"), other.lease.held) == ("down", True)


async def test_a_message_that_was_queued_before_a_kill_is_not_sent_twice(tmp_path: Path):
    async with open_door(tmp_path) as door:
        await door.add("job", period="1d")
        await door.settle()
        await door.ping("job", "/fail")
        stored = await door.heartbeats.store.messages()
        await door.step()

        def put_back(connection: sqlite3.Connection) -> None:
            sql = "INSERT INTO heartbeat_messages (message) SELECT ?"
            connection.execute(sql, [json.dumps(asdict(stored[0][1]))])

        await door.heartbeats.context.database.write(put_back)
        await door.step()
        assert {notice.dedupe_key for notice in door.bench.notices} == {stored[0][1].key}
        assert all(notice.once for notice in door.bench.notices)


class Monitor:
    """A monitor elsewhere that counts calls."""

    def __init__(self, status: int = 200) -> None:
        self.status, self.calls = status, 0

    async def request(self, method: str, url: str, *, headers: Mapping[str, str], timeout_s: float) -> HttpResponse:
        self.calls += 1
        return HttpResponse(self.status, {}, b"")


URL = "https://monitor.example.org/ping/11111111-2222-4333-8444-555555555555"


async def test_the_monitor_elsewhere_is_called_once_a_minute_by_one_process(tmp_path: Path):
    async with open_door(tmp_path, {"HEARTBEAT_OUT_URL": URL}) as door:
        monitor = Monitor()
        first, second = (OutsideWatchdog(door.heartbeats.context, monitor, name) for name in ("one", "two"))
        for _ in range(120):
            await first.step()
            await second.step()
            door.clock.advance(1)
        assert monitor.calls == 2


async def test_a_monitor_that_refuses_the_call_is_reported(tmp_path: Path):
    async with open_door(tmp_path, {"HEARTBEAT_OUT_URL": URL}) as door:
        monitor = Monitor(500)
        watchdog = OutsideWatchdog(door.heartbeats.context, monitor, "one")
        await watchdog.step()
        assert (monitor.calls, "500" in watchdog.trouble) == (1, True)


def test_the_address_of_the_monitor_is_a_secret():
    assert HEARTBEAT_OUT_URL.secret
