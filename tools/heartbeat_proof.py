"""Prove heartbeats at full size: a gateway with 10,000 of them that is killed while jobs ping.

    make heartbeat-proof [ARGS="--seconds 20 --kills 3"]

Pings arrive at 200 a second. Prints the 99th percentile of their answers, instants with more than one row, and
heartbeats that are down although their job reported; ends with 1 if a figure misses its aim.
"""

import argparse
import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.ports import free_port

COUNT, PER_SECOND = 10_000, 200
_PROGRAM = [sys.executable, "-m", "tocsin"]


def main(words: Sequence[str] | None = None) -> int:
    """Run the proof; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.heartbeat_proof", description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="seconds of pings before each kill")
    parser.add_argument("--kills", type=int, default=3, help="how many times the gateway is killed")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="tocsin-heartbeats-") as home:
        return prove(Path(home), arguments.seconds, arguments.kills)


def prove(home: Path, seconds: int, kills: int) -> int:
    """Ping through kills, and report what the database says afterwards."""
    lines = "".join(f"job-{n}: {{period: 10m, grace: 1m}}\n" for n in range(COUNT))
    (home / "heartbeats.yaml").write_text(lines)
    port, gateway_port = free_port(), free_port()
    environment = {"TOCSIN_DATA_DIR": str(home), "REDIS_URL": "off", "FRONT_DOOR_PORT": str(port)}
    environment |= {"GATEWAY_PORT": str(gateway_port), "PATH": "/usr/bin:/bin"}
    times: list[float] = []
    for _ in range(kills):
        process = subprocess.Popen([*_PROGRAM, "gateway"], env=environment, stderr=subprocess.DEVNULL)
        try:
            asyncio.run(_answering(port))
            times += asyncio.run(_ping(port, _codes(home), seconds))
        finally:
            process.kill()
            process.wait()
    times.sort()
    rows, distinct, down = _read(
        home,
        "SELECT COUNT(*), COUNT(DISTINCT heartbeat_id || due_at), "
        "(SELECT COUNT(*) FROM heartbeats WHERE state = 'down') FROM heartbeat_instants",
    )[0]
    p99 = times[int(0.99 * len(times))] * 1000
    print(f"{len(times):,} pings at {PER_SECOND} a second to {COUNT:,} heartbeats: p99 {p99:.1f} ms")
    print(f"{kills} kills: {rows - distinct} instants with more than one row, {down} false downs")
    return int(p99 > 50 or rows != distinct or down > 0)


async def _ping(port: int, codes: Sequence[str], seconds: int) -> list[float]:
    """Send pings evenly; return how long each took."""
    started, tasks = time.monotonic(), list[asyncio.Task[float]]()
    for n in range(seconds * PER_SECOND):
        await asyncio.sleep(max(0.0, started + n / PER_SECOND - time.monotonic()))
        tasks.append(asyncio.create_task(_request(port, f"/ping/{codes[n % len(codes)]}")))
    return await asyncio.gather(*tasks)


async def _request(port: int, path: str) -> float:
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    if b" 200 " not in answer[:20]:
        raise RuntimeError(f"{urlsplit(path).path[:6]}… was answered {answer[:40]!r}")
    return time.monotonic() - began


async def _answering(port: int) -> None:
    for _ in range(600):
        try:
            await _request(port, "/health")
        except OSError:
            await asyncio.sleep(0.1)
        else:
            return
    raise RuntimeError("the front door does not open")


def _codes(home: Path) -> list[str]:
    return [row[0] for row in _read(home, "SELECT code FROM heartbeats WHERE removed_at IS NULL ORDER BY name")]


def _read(home: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(home / "tocsin.db")
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
