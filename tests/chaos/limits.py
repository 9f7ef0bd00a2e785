"""A provider that enforces its rates, and a disk that is full."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import SqliteQueue, settle
from tests.chaos.processes import Town, open_town, wait_for
from tests.chaos.standins import StandIns

ALLOWED = 30.0  # a second, over the whole account
SHARE = 0.95
WARM_UP_S = 2.0
GROUP = "-3001"


def keep_the_pace(directory: Path, *, seconds: int) -> list[Figure]:
    """Send as fast as we do to a provider that refuses more than 1/s a chat, 20/min a group, 30/s overall.

    Two processes share the work, and keep one pace together. For an idle machine: a busy one delivers some requests
    late, and the next one then seems early to the provider.
    """
    with open_town(directory) as town:
        standins = StandIns(town, paced=True)
        queue = SqliteQueue(town)
        chats = 60
        each = max(2, round(seconds * ALLOWED * SHARE / chats))
        in_group = max(3, seconds // 4)
        town.start_gateway(DELIVERY_WORKERS="0")
        ids = {f"c{n}": town.send("botchat", str(5000 + n % chats), f"c{n}") for n in range(chats * each)}
        ids |= {f"g{n}": town.send("botchat", GROUP, f"g{n}") for n in range(in_group)}
        for _ in range(2):
            town.start_worker()
        wait_for("everything is finished", lambda: not queue.open_count(), every_s=0.1)
        entries = queue.entries().values()
        refused = sum(entry.attempts - 1 for entry in entries)
        received = standins.received("botchat")
        at = sorted(item["at"] for item in received if item["target"] != GROUP)
        steady = [moment for moment in at if moment > at[0] + WARM_UP_S]
        rate = (len(steady) - 1) / (steady[-1] - steady[0])
        in_a_group = sorted(item["at"] for item in received if item["target"] == GROUP)
        return [
            Figure("accepted", len(ids)),
            none_of("not sent", [entry.id for entry in entries if entry.status != "sent"]),
            Figure("received", len(received), "=", len(ids)),
            Figure("refused with 429", refused, "=", 0),
            Figure("sent a second, of 30 that are allowed", rate, "≥", ALLOWED * SHARE * 0.85, "/s"),
            Figure("sent to a group in any minute, of 20 that are allowed", _most_in(60.0, in_a_group), "≤", 20),
        ]


def _most_in(window_s: float, moments: Sequence[float]) -> int:
    return max(sum(start <= moment < start + window_s for moment in moments) for start in moments)


def why_no_small_disk(directory: Path) -> str:
    """Return why a file system of a few MiB cannot be made here, or nothing."""
    if os.geteuid() != 0:
        return "mounting a small disk needs root"
    try:
        with small_disk(directory / "probe", "64k"):
            return ""
    except (OSError, subprocess.SubprocessError) as error:
        return f"a small disk cannot be mounted: {error}"


def survive_a_full_disk(directory: Path, *, rounds: int) -> list[Figure]:
    """Fill the disk under queue and audit log while messages come; recover once with and once without a crash."""
    with small_disk(directory / "data", "48m"), open_town(directory) as town:
        queue = SqliteQueue(town)
        town.provider.set_delay(0.01)
        town.start_gateway()
        ids: dict[str, str] = {}
        notes: list[str] = []
        for number in range(2 * rounds):
            _accept(town, ids, 50)
            filler = _fill(town)
            refusals = _accept_until_refused(town, ids)
            notes += [f"refused with {status}" for status in refusals if status != 503]
            wait_for("/health is not ok", lambda: town.health() != 200)
            crash = number % 2 == 1
            if crash:
                assert town.gateway is not None
                town.gateway.kill()
            filler.unlink()
            if crash:
                town.start_gateway()
            town.wait_until_healthy()
            _accept(town, ids, 50)
        ledger = settle(town, queue, ids)
        return [
            Figure("times the disk was full", 2 * rounds),
            *ledger.figures(),
            none_of("refusals other than 503", notes),
            none_of("torn lines in the audit log", _torn_lines(town)),
            none_of("damage that SQLite finds", [line for line in _integrity(town) if line != "ok"]),
        ]


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    """Mount a file system of `size` in memory at `place`, which needs root."""
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tocsin-chaos", place], check=True, capture_output=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True, capture_output=True)


def _fill(town: Town) -> Path:
    """Take all the space there is; return the file that does."""
    filler = town.data_dir / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


def _accept(town: Town, ids: dict[str, str], how_many: int) -> None:
    for _ in range(how_many):
        name = f"k{len(ids)}"
        ids[name] = town.send("chaoschat", f"t{len(ids) % 50}", json.dumps({"id": name, "size": "x" * 500}))


def _accept_until_refused(town: Town, ids: dict[str, str]) -> list[int]:
    refusals: list[int] = []
    numbers = count(1)

    def look() -> bool:
        name = f"full{len(ids)}-{next(numbers)}"
        body = {"channel": "chaoschat", "target": "t", "message": json.dumps({"id": name, "size": "x" * 5000})}
        status, answer = town.ask("POST", "/send", body, {"Prefer": "respond-async"})
        if status == 202:
            ids[name] = answer["id"]
        else:
            refusals.append(status)
        return len(refusals) >= 3

    wait_for("the disk is full and messages are refused", look, every_s=0)
    return refusals


def _torn_lines(town: Town) -> list[str]:
    torn = []
    for line in (town.data_dir / "audit.log").read_text("utf-8", "replace").splitlines():
        try:
            json.loads(line)
        except ValueError:
            torn.append(line[:80])
    return torn


def _integrity(town: Town) -> list[str]:
    with closing(sqlite3.connect(town.data_dir / "tocsin.db")) as connection:
        return [row[0] for row in connection.execute("PRAGMA integrity_check")]
