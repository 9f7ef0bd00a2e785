"""Processes that take pings, to be killed: `python -m tests.features.heartbeats.victim` makes one for each line.

A line has the time of the wall and the time passed when the process starts, a seed, and whether the clock may jump.
Time is virtual: the process moves its clock by some seconds, looks, sends the pings of its jobs that are due, and notes
what was acknowledged.
"""

import os
from pathlib import Path
from random import Random

from tests.clocks import SteppedClock
from tests.features.heartbeats.conftest import Door, open_door
from tests.forked import begun, serve_forks

from tocsin.features.heartbeats.model import Heartbeat
from tocsin.scheduling.schedule import Schedule

NOTED, LOOKS, ACKNOWLEDGED, SILENT = "time", "looks", "acknowledged", "silent"
JUMPING, STEADY = "jumping", "steady"
JUMPS = 0.01  # of the looks
FURTHEST_S = 7_200.0


class Jobs:
    """Jobs on a machine whose clock goes as that of Tocsin; those with the tag `silent` ping once."""

    def __init__(self, door: Door, heartbeats: list[Heartbeat], folder: Path) -> None:
        self.door = door
        self.trace = (folder / ACKNOWLEDGED).open("ab", buffering=0)
        self.schedules: dict[str, Schedule | None] = {each.name: each.definition.instants() for each in heartbeats}
        self.heartbeats = heartbeats
        self.seen = self.times()
        self.noted: set[str] = set()

    def times(self) -> tuple[float, float]:
        """Return the time of the wall, and the time that has passed."""
        return self.door.clock.now(), self.door.clock.monotonic()

    async def ping(self) -> None:
        """Send the pings that became due since the last look, and note those that were acknowledged."""
        before, self.seen = self.seen, self.times()
        for each in self.heartbeats:
            is_first = not each.pings and each.name not in self.noted
            if is_first or (SILENT not in each.definition.tags and self._is_due(each, before)):
                answer = await self.door.client.get(f"/ping/{each.code}")
                if answer.status == 200:
                    self.noted.add(each.name)
                    self.trace.write(f"{each.name}\n".encode())

    def _is_due(self, heartbeat: Heartbeat, before: tuple[float, float]) -> bool:
        if schedule := self.schedules[heartbeat.name]:
            following = schedule.after(before[0])
            return following is not None and following <= self.seen[0]
        every = 0.9 * (heartbeat.definition.period or 0.0)
        return before[1] // every != self.seen[1] // every


async def live(line: str, *, looks: int | None = None) -> None:
    folder = Path(os.environ["TOCSIN_DATA_DIR"])
    wall, passed, seed, mode = line.split()
    chance, clock = Random(int(seed)), SteppedClock(float(wall), monotonic=float(passed))
    async with open_door(folder, {"TZ": "UTC"}, clock=clock) as door:
        if looks is None:
            begun()
        heartbeats = await door.heartbeats.all()
        jobs, noted = Jobs(door, heartbeats, folder), os.open(folder / NOTED, os.O_WRONLY | os.O_CREAT)
        seen = (folder / LOOKS).open("ab", buffering=0)
        while looks is None or (looks := looks - 1) >= 0:
            clock.advance(chance.uniform(1.0, 9.0))
            if mode == JUMPING and chance.random() < JUMPS:
                clock.jump(chance.uniform(-FURTHEST_S, FURTHEST_S))
            await door.step()
            os.pwrite(noted, f"{clock.now():020.3f} {clock.monotonic():020.3f}".encode(), 0)
            await jobs.ping()
            seen.write(f"{clock.now()}\n".encode())
        os.close(noted)
        seen.close()
        jobs.trace.close()


if __name__ == "__main__":
    serve_forks(live, lambda: live(f"1795176000 0 1 {STEADY}", looks=1))
