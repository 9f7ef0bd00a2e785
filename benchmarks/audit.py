"""The audit log: appends a second, and reads of a log of 1 GiB (real lines; it is in the page cache)."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from report import Row, absolute

from tocsin.core.audit.log import AuditLog
from tocsin.core.text.redaction import Redactor

APPENDS = 40_000
ROUNDS = 5
GIB = 1 << 30
DETAIL = "sent on botchat to 123456 (id=88812), in one part, at the first try, after 213 ms"
METADATA = {"channel": "botchat", "target": "123456", "ok": True, "attempts": 1, "duration_ms": 213}
SECRETS = [f"made-up-secret-value-{number:04}" for number in range(4)]


def measure() -> list[Row]:
    """Return the rows; needs 1.1 GiB of temporary space and about 20 s."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "audit.log")
        log = AuditLog(path)
        plain = statistics.median(_rate(log) for _ in range(ROUNDS))
        masked = statistics.median(
            _rate(AuditLog(path.with_name("masked.log"), redact=Redactor(SECRETS))) for _ in range(ROUNDS)
        )
        log.close()
        _grow(path)
        big = AuditLog(path)
        tail = _median_ms(lambda: big.tail(100), 50)
        search = _median_ms(lambda: big.search("nowhere to be found", 100), 1)
    return [
        absolute("audit appends, without fsync", plain, 100_000, "/s", larger_is_better=True),
        absolute(f"… masking {len(SECRETS)} secrets", masked, 0, "/s", larger_is_better=True),
        absolute("audit tail of 100 from 1 GiB", tail, 5, "ms"),
        absolute("audit search through 1 GiB, no hit", search, 5_000, "ms"),
    ]


def _rate(log: AuditLog) -> float:
    started = time.perf_counter()
    for _ in range(APPENDS):
        log.append("msg.send", DETAIL, source="cli", metadata=METADATA)
    return APPENDS / (time.perf_counter() - started)


def _grow(path: Path) -> None:
    """Copy the lines until the log is 1 GiB; copies break the chain, which reading does not look at."""
    lines = path.read_bytes()
    with path.open("wb") as file:
        while file.tell() < GIB:
            file.write(lines)


def _median_ms(call: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)
