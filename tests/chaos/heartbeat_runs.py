"""What heartbeats must show at full size: answers in time, silence noticed in time, and nothing lost in kills."""

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.figures import Figure, percentile
from tests.chaos.gateway_home import GatewayHome
from tests.chaos.processes import Child, wait_for
from tests.features.heartbeats.kills import survive_kills
from tests.features.heartbeats.test_absence import KINDS, Simulation

from tocsin.features.heartbeats.model import HeartbeatState

SEED = 20_261_127
PER_SECOND = 200
CLIENT = "healthchecks-io==0.4.4"
_PERIOD_S, _GRACE_S = 60, 30
_HERE = Path(__file__).parent


class FrontDoor(GatewayHome):
    """A gateway with many heartbeats."""

    def __init__(self, home: Path, definitions: str) -> None:
        super().__init__(home)
        (home / "heartbeats.yaml").write_text(definitions)

    @contextmanager
    def gateway(self, *, kills: bool = False) -> Iterator[Child]:
        with super().gateway(kills=kills) as child:
            wait_for("the front door opens", lambda: self._answers(child), every_s=0.1)
            yield child

    def _answers(self, child: Child) -> bool:
        child.must_live()
        try:
            return asyncio.run(_request(self.port, "/health"))[1] == 200
        except OSError:
            return False

    def codes(self) -> list[str]:
        """Return the addresses of all heartbeats."""
        return [row[0] for row in self.read("SELECT code FROM heartbeats ORDER BY name")]


def ping_many(place: Path, *, count: int, seconds: int) -> list[Figure]:
    """Ping `count` heartbeats at 200 a second, and let all of them fall silent."""
    lines = f"{{period: {_PERIOD_S}s, grace: {_GRACE_S}s}}"
    door = FrontDoor(place / "many", "".join(f"job-{n}: {lines}\n" for n in range(count)))
    with door.gateway():
        answers = asyncio.run(_ping(door.port, door.codes(), seconds))
        down = f"SELECT COUNT(*) FROM heartbeats WHERE state = '{HeartbeatState.DOWN}'"
        pinged = min(count, len(answers))
        wait_for("all are down", lambda: door.read(down)[0][0] == pinged, every_s=1.0)
        wait_for("all are told", lambda: not door.read("SELECT 1 FROM heartbeat_messages LIMIT 1"), every_s=1.0)
        told_at = time.time()
        sql = "SELECT since - last_ping_at, since, pings FROM heartbeats WHERE pings > 0"
        rows = door.read(sql)
    late = [silent - _PERIOD_S - _GRACE_S for silent, _, _ in rows]
    times = [1000 * took for took, _ in answers]
    return [
        Figure(f"pings at {PER_SECOND} a second to {count:,} heartbeats", len(answers)),
        Figure("… not answered with 200", sum(status != 200 for _, status in answers), "=", 0),
        Figure("… not counted", len(answers) - sum(pings for _, _, pings in rows), "=", 0),
        Figure("… answered within, p50", percentile(times, 0.5), unit="ms"),
        Figure("… p99", percentile(times, 0.99), "≤", 50, "ms"),
        Figure(f"silence of {pinged:,} heartbeats noticed late by at most", max(late), "≤", 5, "s"),
        Figure("… too early", sum(each < 0 for each in late), "=", 0),
        Figure("… and the last one told after", told_at - max(since for _, since, _ in rows), unit="s"),
    ]


def kill_gateways(place: Path, *, kills: int, seconds: int, count: int) -> list[Figure]:
    """Kill the gateway while pings arrive: whatever was answered was stored, and nobody is down."""
    door = FrontDoor(place / "kills", "".join(f"job-{n}: {{period: 10m, grace: 1m}}\n" for n in range(count)))
    answered: Counter[int] = Counter()
    for _ in range(kills):
        with door.gateway(kills=True):
            answered.update(status for _, status in asyncio.run(_ping(door.port, door.codes(), seconds)))
    [(stored, down)] = door.read("SELECT SUM(pings), SUM(state = 'down') FROM heartbeats")
    sql = "SELECT COUNT(*) - COUNT(DISTINCT heartbeat_id || ' ' || due_at) FROM heartbeat_instants"
    return [
        Figure("kills of the gateway", kills),
        Figure("… pings answered with 200", answered[200], "≥", kills),
        Figure("… of these lost", max(0, answered[200] - stored), "=", 0),
        Figure("… instants with two rows", door.read(sql)[0][0], "=", 0),
        Figure("… falsely down", down, "=", 0),
    ]


def kill_watches(place: Path, *, kills: int) -> list[Figure]:
    """Kill what takes pings and decides, with changes of the clock, over days with a clock change of the zone."""
    found = survive_kills(place, kills, random.Random(SEED))
    return [
        Figure("kills of the watch, on a virtual clock", found.kills),
        Figure("… and changes of the clock by up to 2 h while it was away", found.jumps),
        Figure("… instants of schedules", found.planned),
        Figure("… without a row", found.lost, "=", 0),
        Figure("… rows of no instant", found.invented, "=", 0),
        Figure("… acknowledged pings that were lost", found.forgotten, "=", 0),
        Figure("… false downs of jobs that always reported", found.false_downs, "=", 0),
        Figure("… silent jobs that are not down at the end", found.unnoticed, "=", 0),
    ]


def stop_often(_: Path, *, stops: int) -> list[Figure]:
    """Stop for a second to an hour, beside jobs that always report in time, and beside jobs that fall silent."""
    chance, downs, rows, late = random.Random(SEED), 0, 0, 0
    for kind in KINDS:
        simulation = Simulation(kind, chance)
        for _ in range(stops // len(KINDS)):
            simulation.run(chance.uniform(1, 2 * simulation.every), is_there=True)
            downs += simulation.watched.state is HeartbeatState.DOWN
            simulation.stop(chance.uniform(1, 3600))
        rows += len(simulation.rows) - len(set(simulation.rows))
        for _ in range(50):
            silent = Simulation(kind, chance)
            silent.run(chance.uniform(60, 3 * silent.every), is_there=True)
            silent.stop(chance.uniform(1, 3600))
            started, limit = silent.now, silent.every + kind.grace + 1
            silent.run(limit, is_there=True, is_silent=True)
            is_down = silent.watched.state is HeartbeatState.DOWN
            late += not is_down or silent.watched.since - started > limit
    return [
        Figure(f"stops of 1 s to 1 h, beside {len(KINDS)} jobs that report in time", stops),
        Figure("… false downs", downs, "=", 0),
        Figure("… instants with two rows", rows, "=", 0),
        Figure("… silent jobs down later than period and grace after the start", late, "=", 0),
    ]


def use_healthchecks_client(place: Path) -> list[Figure]:
    """Report with the client that healthchecks has on PyPI, unmodified, in an environment of its own."""
    door = FrontDoor(place / "client", "backup: {period: 1d}\n")
    python = place / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", CLIENT], check=True)
    with door.gateway():
        [code], key = door.codes(), door.run("heartbeats", "url", "backup")["slug_url"].split("/")[-2]
        arguments = [python, _HERE / "healthchecks_client.py", f"http://127.0.0.1:{door.port}/ping/", code, key]
        done = subprocess.run(arguments, env={"PATH": os.environ["PATH"]}, check=False, capture_output=True, text=True)
        kinds = [kind for (kind,) in door.read("SELECT kind FROM heartbeat_pings ORDER BY n")]
    wanted = json.loads(done.stdout) if done.returncode == 0 else []
    detail = "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]
    return [
        Figure(f"{CLIENT}, unmodified: pings sent", len(wanted), "≥", 1, detail=detail),
        Figure("… and recorded as what they are", sum(map(str.__eq__, kinds, wanted)), "=", len(wanted)),
    ]


def weigh_the_door(place: Path, *, rounds: int) -> list[Figure]:
    """Compare the memory of an idle gateway with and without a heartbeat, which opens the front door."""
    with_one, without = FrontDoor(place / "one", "job: {period: 1d}\n"), FrontDoor(place / "none", "")
    sizes: dict[str, list[float]] = {"with": [], "without": []}
    without.port = int(without.env["GATEWAY_PORT"])  # its front door stays shut
    for _ in range(rounds):
        for name, door in (("with", with_one), ("without", without)):
            with door.gateway() as child:
                sizes[name].append(settled_mib(child.pid))
    return [
        Figure("memory of an idle gateway without a heartbeat", min(sizes["without"]), unit="MiB"),
        Figure("… more with one, and the front door open", min(sizes["with"]) - min(sizes["without"]), "≤", 2, "MiB"),
    ]


def settled_mib(pid: int) -> float:
    """Return the memory of a process once it no longer grows."""
    sizes = [0.0]
    while len(sizes) < 60 and (len(sizes) < 8 or sizes[-1] != sizes[-4]):
        time.sleep(1)
        status = Path(f"/proc/{pid}/status").read_text()
        sizes.append(next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024)
    return sizes[-1]


async def _ping(port: int, codes: Sequence[str], seconds: int) -> list[tuple[float, int]]:
    """Send pings evenly; return how long each took, and its status, 0 if there was no answer."""
    started, tasks = time.monotonic(), list[asyncio.Task[tuple[float, int]]]()
    for n in range(seconds * PER_SECOND):
        await asyncio.sleep(max(0.0, started + n / PER_SECOND - time.monotonic()))
        tasks.append(asyncio.create_task(_request(port, f"/ping/{codes[n % len(codes)]}")))
    return await asyncio.gather(*tasks)


async def _request(port: int, path: str) -> tuple[float, int]:
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    words = answer[:20].split()
    return time.monotonic() - began, int(words[1]) if len(words) > 1 else 0
