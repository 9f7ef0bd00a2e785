"""The log file of a run: JSON lines `{n, ts, stream, text}`, one per printed line."""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tocsin.delivery.document import seconds_of, timestamp
from tocsin.runs.model import Line, RunOutput

MAX_LINES = 1000  # of one page
TAIL_LINES = 20
MAX_TAIL_CHARS = 8 * 1024
SYSTEM = "system"  # the stream of lines that Tocsin adds


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some lines of a log, and the next line number; `complete` if the run has ended and no line follows."""

    lines: tuple[Line, ...]
    next_line: int
    complete: bool
    truncated: bool


def path_of(directory: Path, run_id: str, queued_at: float) -> Path:
    """Return the path of a run's log: one folder per month."""
    return directory / (timestamp(queued_at) or "")[:7] / f"{run_id}.log"


def encode(line: Line) -> bytes:
    """Return a line in the file's form."""
    record = {"n": line.n, "ts": timestamp(line.ts), "stream": line.stream, "text": line.text}
    return json.dumps(record, ensure_ascii=False).encode(errors="replace") + b"\n"


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a log; none if there is no file.

    A last line that a crash left incomplete is skipped.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for raw in file:
            if line := _decode(raw):
                yield line


def page(lines: Iterable[Line], from_line: int, stream: str, *, ended: bool, truncated: bool) -> LogPage:
    """Return the lines from `from_line` on, of one stream or of all, at most 1,000."""
    found: list[Line] = []
    next_line = max(1, from_line)
    for line in lines:
        if line.n < from_line:
            continue
        if len(found) == MAX_LINES:
            return LogPage(tuple(found), next_line, complete=False, truncated=truncated)
        next_line = line.n + 1
        if stream in {"", line.stream}:
            found.append(line)
    return LogPage(tuple(found), next_line, complete=ended, truncated=truncated)


def text_of(lines: Iterable[Line], max_chars: int) -> str:
    """Return the beginning of the output, streams interleaved in the order of arrival."""
    pieces: list[str] = []
    room = max_chars
    for line in lines:
        if room <= 0:
            break
        pieces.append(line.text)
        room -= len(line.text) + 1
    return "\n".join(pieces)[:max_chars]


def summary_of(lines: Iterable[Line]) -> RunOutput:
    """Summarise the output of a run whose process died, from its log."""
    size, newest, truncated = 0, deque[Line](maxlen=TAIL_LINES), False
    for line in lines:
        size += len(line.text.encode()) + 1
        newest.append(line)
        truncated = truncated or line.stream == SYSTEM
    return RunOutput(size, newest[-1].n if newest else 0, truncated, tail_of(newest))


def tail_of(lines: Iterable[Line]) -> str:
    """Return the tail that the record stores."""
    return "\n".join(line.text for line in lines)[-MAX_TAIL_CHARS:]


def _decode(raw: bytes) -> Line | None:
    if not raw.endswith(b"\n"):
        return None
    try:
        record = json.loads(raw)
        return Line(int(record["n"]), seconds_of(record["ts"]), str(record["stream"]), str(record["text"]))
    except (ValueError, TypeError, KeyError):
        return None
