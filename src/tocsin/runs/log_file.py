"""The log file of a run: JSON lines `{n, ts, stream, text}`, one per line of output."""

import asyncio
import json
import logging
import os
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from json.encoder import encode_basestring
from pathlib import Path
from typing import Annotated, BinaryIO, ClassVar

from tocsin.core.text.visible import without_sequences
from tocsin.core.time.timestamps import parse_timestamp, timestamp
from tocsin.runs.model import Line, RunOutput

log = logging.getLogger(__name__)

MAX_LINES = 1000  # per page
TAIL_LINES = 20
MAX_TAIL_CHARS = 8 * 1024
FOLLOW_S = 0.05  # the delay until a follower sees a line that is in the file
_SYSTEM = "system"  # the stream of lines that Tocsin inserts
_GAP = re.compile(r"\[[0-9,]+ lines (omitted|left out) here\]")  # older versions wrote "left out"


@dataclass(frozen=True, slots=True)
class LogPage:
    """A part of what a run printed."""

    schema_name: ClassVar[str] = "RunLog"

    lines: tuple[Line, ...]
    next_line: Annotated[int, "Pass it as `from_line` to get the following lines."]
    complete: Annotated[bool, "Whether the run has ended and no line follows."]
    truncated: bool


def read_host(home: str) -> str:
    """Return the host in the name of a data directory, as recorded in stores that several hosts share."""
    return home.partition("@")[2] or home


def log_path(directory: Path, run_id: str, queued_at: float) -> Path:
    """Return the path of a run's log: one folder per month."""
    return directory / (timestamp(queued_at) or "")[:7] / f"{run_id}.log"


def encode(line: Line) -> bytes:
    """Return a line as JSON, encoded for the file."""
    # Same output as `json.dumps`, five times as fast: a burst writes thousands of lines at once.
    stream, text = encode_basestring(line.stream), encode_basestring(line.text)
    record = f'{{"n": {line.n}, "ts": "{_moment(line.ts)}", "stream": {stream}, "text": {text}}}\n'
    return record.encode(errors="replace")


def gap_line(n: int, ts: float, count: int) -> Line:
    """Return the line that replaces the `count` lines up to line `n`."""
    return Line(n, ts, _SYSTEM, f"[{count:,} lines omitted here]")


def _is_gap(line: Line) -> bool:
    return line.stream == _SYSTEM and _GAP.fullmatch(line.text) is not None


@lru_cache(maxsize=64)
def _moment(ts: float) -> str | None:
    return timestamp(ts)


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a log; none if the file is missing, or unreadable, which is logged.

    An incomplete last line, left by a crash, is skipped.
    """
    try:
        with path.open("rb") as file:
            for raw in file:
                if line := _decode(raw):
                    yield line
    except FileNotFoundError:
        return
    except OSError as error:  # the run is recorded elsewhere, and settling it must not wait
        reason = error.strerror or type(error).__name__
        log.warning("the output of a run cannot be read", extra={"path": str(path), "reason": reason})


class LogFollower:
    """Reads a log while it is written; returns each line once, even if the end of the file is replaced."""

    def __init__(self, path: Path, from_line: int = 1) -> None:
        self._path = path
        self._next = from_line
        self._file: BinaryIO | None = None  # kept open, so that its inode is not reused

    def read(self) -> list[Line]:
        """Return the new lines; none while the file cannot be read, which `read_lines` logs."""
        try:
            newest = self._path.stat().st_ino
            if self._file is None or os.fstat(self._file.fileno()).st_ino != newest:
                self.close()
                self._file = self._path.open("rb")
            return list(self._new_lines(self._file))
        except OSError:
            return []

    def close(self) -> None:
        if self._file:
            self._file.close()
        self._file = None

    def _new_lines(self, file: BinaryIO) -> Iterator[Line]:
        for raw in file:
            if not raw.endswith(b"\n"):  # it is still being written
                file.seek(-len(raw), os.SEEK_CUR)
                return
            if (line := _decode(raw)) and line.n >= self._next:
                self._next = line.n + 1
                yield line


async def follow(path: Path, from_line: int, ended: Callable[[], Awaitable[bool]]) -> AsyncIterator[Line]:
    """Yield the lines of a log as they are written, until its run has ended."""
    follower, over = LogFollower(path, from_line), False
    try:
        while not over:
            over = await ended()  # checked first: if the run has ended, the file is complete
            for line in await asyncio.to_thread(follower.read):
                yield line
            if not over:
                await asyncio.sleep(FOLLOW_S)
    finally:
        follower.close()


def remove_logs(paths: Iterable[Path]) -> None:
    """Delete logs, and the folders of months that are empty afterwards."""
    folders = set()
    for path in paths:
        path.unlink(missing_ok=True)
        folders.add(path.parent)
    for folder in folders:
        with suppress(OSError):  # not empty
            folder.rmdir()


def plain(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines without terminal escape sequences."""
    return (replace(line, text=without_sequences(line.text)) for line in lines)


def page(lines: Iterable[Line], from_line: int, stream: str, *, ended: bool, truncated: bool, tail: int = 0) -> LogPage:
    """Return the lines from `from_line` on, of one or all streams, at most 1,000; with `tail`, the last ones."""
    found: deque[Line] = deque(maxlen=min(tail, MAX_LINES) if tail else None)
    next_line = max(1, from_line)
    for line in lines:
        truncated = truncated or _is_gap(line)
        if line.n < from_line:
            continue
        if not tail and len(found) == MAX_LINES:
            return LogPage(tuple(found), next_line, complete=False, truncated=truncated)
        next_line = line.n + 1
        if stream in {"", line.stream}:
            found.append(line)
    return LogPage(tuple(found), next_line, complete=ended, truncated=truncated)


def format_text(lines: Iterable[Line], max_chars: int) -> str:
    """Return the beginning of the output as plain text, with streams interleaved in the order of arrival."""
    pieces: list[str] = []
    room = max_chars
    for line in plain(lines):
        if room <= 0:
            break
        pieces.append(line.text)
        room -= len(line.text) + 1
    return "\n".join(pieces)[:max_chars]


def summarise(lines: Iterable[Line]) -> RunOutput:
    """Return the summary of the output of a run whose process died, from its log."""
    size, newest, truncated = 0, deque[Line](maxlen=TAIL_LINES), False
    for line in lines:
        size += len(line.text.encode()) + 1
        newest.append(line)
        truncated = truncated or _is_gap(line)
    return RunOutput(size, newest[-1].n if newest else 0, truncated, format_tail(newest))


def format_tail(lines: Iterable[Line]) -> str:
    """Return the tail for the run's record, as plain text."""
    return "\n".join(line.text for line in plain(lines))[-MAX_TAIL_CHARS:]


def _decode(raw: bytes) -> Line | None:
    if not raw.endswith(b"\n"):
        return None
    try:
        record = json.loads(raw)
        return Line(int(record["n"]), parse_timestamp(record["ts"]), str(record["stream"]), str(record["text"]))
    except (ValueError, TypeError, KeyError):
        return None
