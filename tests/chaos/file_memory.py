"""The memory that a large file takes in a gateway which stores it and sends it four times, by channel."""

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.figures import Figure
from tests.chaos.file_runs import form, post
from tests.chaos.heartbeat_runs import settled_mib
from tests.chaos.message_runs import HasEnvironment
from tests.chaos.processes import TOCSIN, Child, wait_for
from tests.http_calls import http_call
from tests.ports import free_port
from tests.town_thread import town_on_a_thread

from tocsin_standins import StandinCluster
from tocsin_standins.faults import Fault, FaultScript

MIB = 2**20
MOST_MIB = 10.0
NO_CHANNEL = ("CHAT_", "OPENAI_", "ANTHROPIC_")  # chat models, whose clients would load meanwhile
RETRIES = 3
# Fails with the error of an app that is not running, while there are files that say so.
OSASCRIPT = """#!/bin/sh
cat > /dev/null
case "$5" in
  */large.bin) for fault in "$HOME"/fault-*; do
    [ -e "$fault" ] && rm "$fault" && echo "execution error: Messages got an error (-600)" >&2 && exit 1
  done ;;
esac
echo "$5" >> "$HOME/said"
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Where a file goes, its size, and what makes an attempt fail after it took the file."""

    target: str
    mib: int
    fault: Fault | None


CASES = {
    "teamchat": Case("#ops", 20, Fault.rate_limited(1).only("files.completeUploadExternal")),
    "botchat": Case("1001", 20, Fault.rate_limited(1).only("sendDocument")),
    "guildchat": Case("100000000000000002", 10, Fault.rate_limited(1).only("POST messages")),
    "email": Case("ops@example.org", 20, Fault.reset_after_accept().only("DATA")),
    "devicemsg": Case("+15551234567", 20, None),
}


def memory_of_files(place: Path) -> list[Figure]:
    """Send a file of 20 MB, or of the limit of the channel, by a gateway of its own for each channel."""
    figures: list[Figure] = []
    with town_on_a_thread() as town, ThreadPoolExecutor(len(CASES)) as cases:
        measured = {kind: cases.submit(_measure, place, town, kind, case) for kind, case in CASES.items()}
        for kind, waiting in measured.items():
            added, attempts = waiting.result()
            figures += [
                Figure(f"{kind}: attempts with a file of {CASES[kind].mib} MiB", attempts, "≥", RETRIES + 1),
                Figure(f"{kind}: memory that it added", round(added, 1), "≤", MOST_MIB, "MiB"),
            ]
    return figures


def _measure(place: Path, town: StandinCluster, kind: str, case: Case) -> tuple[float, int]:
    """Return the MiB that a file added to the memory of a gateway, and the attempts of its delivery."""
    with _gateway(place / kind, town) as (gateway, port):
        small = _send(port, kind, case.target, b"small", "small.bin")
        wait_for(f"{kind}: the small file is sent", lambda: _is_sent(port, small), every_s=0.2)
        for number in range(RETRIES):
            if case.fault:
                _faults(town, kind).push(case.fault)
            else:
                (place / kind / f"fault-{number}").touch()
        settled_mib(gateway.pid)
        Path(f"/proc/{gateway.pid}/clear_refs").write_text("5")  # proc(5): resets VmHWM
        before = _status(gateway, "VmHWM")
        large = _send(port, kind, case.target, random.Random(kind).randbytes(case.mib * MIB), "large.bin")
        wait_for(f"{kind}: the large file is sent", lambda: _is_sent(port, large), every_s=0.5)
        return _status(gateway, "VmHWM") - before, int(_delivery(port, large)["attempts"])


@contextmanager
def _gateway(home: Path, town: HasEnvironment) -> Iterator[tuple[Child, int]]:
    (home / "data").mkdir(parents=True)
    script, port = home / "osascript", free_port()
    script.write_text(OSASCRIPT)
    script.chmod(0o700)
    env = {
        "PATH": os.environ["PATH"],
        **{name: value for name, value in town.environment().items() if not name.startswith(NO_CHANNEL)},
        "HOME": str(home),
        "TOCSIN_DATA_DIR": str(home / "data"),
        "REDIS_URL": "off",
        "GATEWAY_PORT": str(port),
        "RATE_LIMIT_PER_IP": "1000000",
        "LOG_LEVEL": "warning",
        "DEVICEMSG_PLATFORM": "darwin",
        "DEVICEMSG_OSASCRIPT": str(script),
    }
    gateway = Child([TOCSIN, "gateway"], home / "gateway.log", env, cwd=home)
    try:
        yield gateway, port
    finally:
        gateway.stop()


def _send(port: int, kind: str, target: str, data: bytes, name: str) -> str:
    """Queue a message with a file once the gateway answers; return the ID of its delivery."""
    body = form({"channel": kind, "target": target, "message": name}, name, data)
    answer = wait_for(f"{kind}: {name} is accepted", lambda: post(port, body), every_s=0.2)
    return str(answer["id"])


def _delivery(port: int, id_: str) -> dict[str, object]:
    return dict(http_call(f"http://127.0.0.1:{port}/deliveries/{id_}").accepted().json())


def _is_sent(port: int, id_: str) -> bool:
    return _delivery(port, id_)["status"] == "sent"


def _faults(town: StandinCluster, kind: str) -> FaultScript:
    return {
        "teamchat": town.teamchat.faults,
        "botchat": town.botchat.faults,
        "guildchat": town.guildchat.faults,
        "email": town.mail.faults,
    }[kind]


def _status(child: Child, name: str) -> float:
    """Return a figure of a process in MiB."""
    lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))
