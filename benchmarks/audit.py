"""Measure the audit log: appends a second, and tail, search and verify on a log of 1 GiB.

Usage: python benchmarks/audit.py        (needs 1.1 GiB of temporary space, takes about 20 s)

The log of 1 GiB is real lines: the appended ones, copied until the size is reached. It is in the page
cache when it is read. `verify` runs on the appended lines alone, since copies break the chain.
"""

import gc
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tocsin.core.audit import AuditLog
from tocsin.core.redaction import Redactor

APPENDS = 200_000
ROUNDS = 5
WRITERS = 2
GIB = 1 << 30
DETAIL = "sent to botchat:123456 as message 88812, in one part, at the first try in 213 ms"
METADATA = {"channel": "botchat", "target": "123456", "ok": True, "parts": 1, "message_id": "88812"}
SECRETS = [f"made-up-secret-value-{number:04}" for number in range(10)]


def main() -> None:
    """Print the figures."""
    version = sys.version.split()[0]
    print(f"Python {version}; {len(DETAIL)} characters of detail, {len(METADATA)} metadata fields")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "audit.log")
        appends(path)
        verify(path)
        grow(path)
        reads(path)


def appends(path: Path) -> None:
    """Measure appends: plain, by several processes, and with redaction."""
    log = AuditLog(path)
    rates = [rate(log, APPENDS // ROUNDS) for _ in range(ROUNDS)]
    log.close()
    print(f"append, one process       {statistics.median(rates):>10,.0f} /s (best {max(rates):,.0f})")
    with multiprocessing.Pool(WRITERS) as pool:
        started = time.perf_counter()
        pool.map(append_some, [path] * WRITERS, chunksize=1)
        both = WRITERS * APPENDS // ROUNDS / (time.perf_counter() - started)
    print(f"append, {WRITERS} processes       {both:>10,.0f} /s together")
    masked = rate(AuditLog(path.with_name("masked.log"), redact=Redactor(SECRETS)), APPENDS // ROUNDS)
    print(f"append, masking {len(SECRETS)} secrets {masked:>9,.0f} /s")


def append_some(path: Path) -> None:
    """Append one round's lines, in a process of its own."""
    rate(AuditLog(path), APPENDS // ROUNDS)


def rate(log: AuditLog, count: int) -> float:
    """Append `count` lines and return how many a second that is."""
    started = time.perf_counter()
    for _ in range(count):
        log.append("msg.send", DETAIL, source="cli", metadata=METADATA)
    return count / (time.perf_counter() - started)


def verify(path: Path) -> None:
    """Measure the check of the whole chain."""
    started = time.perf_counter()
    result = AuditLog(path).verify()
    assert result.ok, result.problems
    print(f"verify                    {result.lines / (time.perf_counter() - started):>10,.0f} lines/s")


def grow(path: Path) -> None:
    """Copy the lines until the log is 1 GiB, and end it with one that is rare."""
    lines = path.read_bytes()
    AuditLog(path.with_name("needle.log")).append("msg.send", "a needle", source="cli")
    with path.open("wb") as file:
        file.write(path.with_name("needle.log").read_bytes())
        while file.tell() < GIB:
            file.write(lines)


def reads(path: Path) -> None:
    """Measure tail and search on the large log."""
    size = path.stat().st_size
    log = AuditLog(path)
    print(f"a log of {size / GIB:.2f} GiB on disk ({path.stat().st_blocks * 512 / GIB:.2f} GiB of blocks):")
    show("tail of 100", 200, lambda: log.tail(100))
    show("search, 100 recent hits", 50, lambda: log.search("MESSAGE 88812", 100))
    show("search, only hit at the start", 1, lambda: log.search("a needle", 100))
    show("search, no hit", 1, lambda: log.search("nowhere", 100))
    show("search, no hit, not ASCII", 1, lambda: log.search("Nirgendwö", 100))


def show(what: str, times: int, call: Callable[[], object]) -> None:
    """Call something and print how long it takes."""
    gc.collect()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    print(f"  {what:<30}{statistics.median(taken):>10.3f} ms, slowest {max(taken):.3f} ms of {times}")


if __name__ == "__main__":
    main()
