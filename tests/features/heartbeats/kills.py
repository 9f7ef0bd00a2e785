"""Kill the process that takes pings again and again, change its clock, and count what became of every instant."""

import asyncio
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from tests.features.heartbeats.conftest import open_door
from tests.features.heartbeats.victim import ACKNOWLEDGED, FURTHEST_S, JUMPING, LOOKS, NOTED, STEADY
from tests.forked import Fork, forks
from tests.waiting import until

from tocsin.scheduling.schedule import Schedule, read_schedule

# An hour before the clocks of Berlin are set back, and of Berlin the day after.
START = datetime(2026, 10, 25, 1, 0, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
LONGEST_AWAY_S = 3_600.0
JUMPS = 0.2  # of the kills: the clock is changed while nothing runs
LONGEST_LIFE_S = 0.3
SETTLED_S = 2_700.0  # without kills and jumps, until every silent job must be down
FILE = """\
minutely: {schedule: "*/5 * * * *", timezone: Europe/Berlin, grace: 90s}
hourly: {schedule: "30 * * * *", timezone: UTC, grace: 5m}
sensor: {period: 10m, grace: 2m}
often: {period: 2m, grace: 1m, misses: 2}
silent-minutely: {schedule: "*/5 * * * *", timezone: Europe/Berlin, grace: 90s, tags: [silent]}
silent-sensor: {period: 10m, grace: 2m, tags: [silent]}
"""


@dataclass(frozen=True)
class KillCount:
    """What a series of kills did."""

    kills: int
    jumps: int
    rows: int
    planned: int  # instants of the schedules that the clock reached, and whose grace it saw end
    lost: int  # planned, and without a row
    invented: int  # rows of instants that are none of the schedule
    forgotten: int  # acknowledged pings that were not counted
    false_downs: int  # changes to down of jobs that always reported
    unnoticed: int  # silent jobs that are not down at the end


def survive_kills(folder: Path, kills: int, chance: Random) -> KillCount:
    """Let jobs ping while the process that takes pings is killed; return what is found afterwards."""
    (folder / "heartbeats.yaml").write_text(FILE)
    wall, passed, jumps = START, 0.0, 0
    with forks("tests.features.heartbeats.victim", folder) as victims:
        for _ in range(kills):
            wall, passed = _lived(victims, folder, f"{wall} {passed} {chance.getrandbits(30)} {JUMPING}", chance)
            away = chance.uniform(1.0, LONGEST_AWAY_S)
            wall, passed = wall + away, passed + away
            if chance.random() < JUMPS:
                wall, jumps = wall + chance.uniform(-FURTHEST_S, FURTHEST_S), jumps + 1
        with victims(f"{wall} {passed} 1 {STEADY}"):
            until(lambda: _noted(folder)[1] > passed + SETTLED_S, "time to pass")
    return asyncio.run(_count(folder, kills, jumps))


def _lived(victims: Fork, folder: Path, line: str, chance: Random) -> tuple[float, float]:
    """Let a process live for a moment; return the times at which it was killed."""
    passed = float(line.split()[1])
    with victims(line):
        # On a slow machine, it has not looked so far. Jobs are watched from their first ping on.
        until(lambda: _noted(folder)[1] > passed and (folder / LOOKS).stat().st_size, "a look, and the first pings")
        time.sleep(chance.uniform(0.0, LONGEST_LIFE_S))
    return _noted(folder)


def _noted(folder: Path) -> tuple[float, float]:
    noted = (folder / NOTED).read_text().split() if (folder / NOTED).exists() else []
    return (float(noted[0]), float(noted[1])) if len(noted) == 2 else (0.0, 0.0)


def _climbs(walls: list[float]) -> list[tuple[float, float]]:
    """Part the times of the looks where the clock was set back; return the first and the last time of each part."""
    climbs = [(walls[0], walls[0])]
    for wall in walls:
        climbs[-1:] = [(climbs[-1][0], wall)] if wall >= climbs[-1][1] else [climbs[-1], (wall, wall)]
    return climbs


def _decided(schedule: Schedule, grace: float, climbs: list[tuple[float, float]]) -> set[float]:
    """Return the instants that the clock reached and whose grace ended, then or after it was set back."""
    decided: set[float] = set()
    for n, (first, last) in enumerate(climbs):
        latest = max(end for _, end in climbs[n:])
        decided.update(due for due in schedule.newest(first, last, 10**7).found if due + grace < latest)
    return decided


async def _count(folder: Path, kills: int, jumps: int) -> KillCount:
    async with open_door(folder, {"TZ": "UTC"}) as door:
        heartbeats = {each.id: each for each in await door.heartbeats.store.all()}
    with closing(sqlite3.connect(folder / "tocsin.db")) as connection:
        rows = connection.execute("SELECT heartbeat_id, due_at FROM heartbeat_instants").fetchall()
        changes = connection.execute("SELECT heartbeat_id FROM heartbeat_changes WHERE state = 'down'").fetchall()
    acknowledged = Counter((folder / ACKNOWLEDGED).read_text().split())
    climbs = _climbs(list(map(float, (folder / LOOKS).read_text().split())))
    lost = invented = planned = 0
    for each in heartbeats.values():
        found = {due for heartbeat_id, due in rows if heartbeat_id == each.id}
        if not each.definition.schedule:
            continue
        schedule = read_schedule(each.definition.schedule, each.definition.timezone, 0.0)
        possible = set(schedule.newest(min(found) - 1, max(found), 10**7).found)
        wanted = _decided(schedule, each.definition.grace, climbs)
        planned, lost, invented = planned + len(wanted), lost + len(wanted - found), invented + len(found - possible)
    names = [heartbeats[heartbeat_id].name for (heartbeat_id,) in changes]
    return KillCount(
        kills=kills,
        jumps=jumps,
        rows=len(rows),
        planned=planned,
        lost=lost,
        invented=invented,
        forgotten=sum(max(0, acknowledged[each.name] - each.pings) for each in heartbeats.values()),
        false_downs=sum("silent" not in name for name in names),
        unnoticed=sum(each.watched.state != "down" for each in heartbeats.values() if "silent" in each.definition.tags),
    )
