"""Write the output of a run to its log, with bounded memory and disk space.

The first quarter of the log is written as it arrives. Later output goes into a ring buffer, unparsed. `refresh` appends
its new lines to the file. If there are many, it replaces the end of the file instead, every two seconds or when less
output arrives, so that endless output costs little. As on a terminal, a carriage return restarts the line: of a
progress bar, only the last state is kept.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tocsin.core.storage.files import make_directory
from tocsin.core.time.clock import Clock
from tocsin.runs.log_file import TAIL_LINES, encode, format_tail, gap_line, read_lines
from tocsin.runs.model import Line, RunOutput

log = logging.getLogger(__name__)

MAX_LINE_BYTES = 32 * 1024  # more than 4,000 characters of any kind, the most that a chat shows
REFRESH_S = 2.0
_LINE_COST = 75  # bytes per line in the file in addition to its text
_FEW_BYTES = 64 * 1024  # the most that is appended to the file at once
_REST = 2  # after replacing the end of the file, pause for this multiple of the time it took
_PIECE_BYTES = 16 * 1024  # granularity at which the ring is trimmed


class _Piece(NamedTuple):
    ts: float
    stream: str
    data: bytes
    newlines: int

    @property
    def cost(self) -> int:
        return len(self.data) + _LINE_COST * (self.newlines + (not self.data.endswith(b"\n")))

    def replaces(self, earlier: "_Piece") -> bool:
        """Whether this piece overwrites the whole earlier piece."""
        if earlier.newlines or earlier.stream != self.stream:
            return False
        text = self.data.lstrip(b"\r")
        returned = len(text) < len(self.data) or earlier.data.endswith(b"\r")
        return returned and not text.startswith(b"\n") and bool(text)


class _Splitter:
    """Splits one stream into lines; keeps the beginning of long lines, and the last state of overwritten ones."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._cut = 0
        self.has_cut = False  # a line that was yielded, or returned unfinished, lacks its end
        self._returned = False  # the last character was a carriage return: more text replaces the line

    def take(self, data: bytes) -> Iterator[str]:
        *ended, begun = data.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._line()
        self._add(begun)

    def rest(self) -> Iterator[str]:
        if self._begun:
            yield self._line()

    def unfinished(self) -> bytes:
        """Return the unfinished line, and reset it."""
        begun = bytes(self._begun) + b"\r" * self._returned
        self.has_cut = self.has_cut or bool(self._cut)
        self._drop()
        return begun

    def _add(self, part: bytes) -> None:
        body = part.rstrip(b"\r")
        if body:
            _, returned, state = body.rpartition(b"\r")
            if returned or self._returned:
                self._drop()
            kept = state[: MAX_LINE_BYTES - len(self._begun)]
            self._begun += kept
            self._cut += len(state) - len(kept)
        self._returned = self._returned or len(body) < len(part)

    def _line(self) -> str:
        more = f"… ({self._cut:,} more bytes)" if self._cut else ""
        text = self._begun.decode(errors="replace")
        self.has_cut = self.has_cut or bool(self._cut)
        self._drop()
        return text + more

    def _drop(self) -> None:
        self._begun.clear()
        self._cut, self._returned = 0, False


class OutputLog:
    """Collects and stores the output of one run."""

    def __init__(
        self,
        path: Path,
        max_bytes: int,
        clock: Clock,
        redact: Callable[[str], str],
        watch: Callable[[Line], None] | None = None,
    ) -> None:
        """Write about `max_bytes` to `path`; `watch` receives every line, including those that are not kept."""
        self._path = path
        self._clock = clock
        self._redact = redact
        self._watch = watch
        self._watched = _Lines(redact)
        self._head_room = max_bytes // 4
        self._max_bytes = max_bytes
        self._tail_room = max_bytes - self._head_room
        self._head = _Lines(redact)
        self._head_bytes = 0  # size of the head in the file
        self._in_head = True
        self._ring: deque[_Piece] = deque()
        self._ring_cost = 0
        self._dropped_lines = self._dropped_bytes = 0
        self._torn: set[str] = set()  # streams whose oldest line in the ring lacks its beginning
        self._bytes = 0
        self._last: deque[Line] = deque(maxlen=TAIL_LINES)
        self._tail = _Lines(redact)  # the lines of the ring, except for its last pieces
        self._fresh = self._fresh_cost = 0  # number and cost of these last pieces
        self._tail_bytes = 0  # size of the tail in the file
        self._cost_seen = 0  # cost of the last pieces at the last refresh
        self._rewritten_until = self._calm_from = 0.0  # monotonic: earliest times to replace the end of the file
        self._problem = ""

    def feed(self, stream: str, data: bytes) -> None:
        """Add output as it arrives."""
        now = self._clock.now()
        self._bytes += len(data)
        if self._watch:
            for line in self._watched.take(stream, data, now):
                self._watch(line)
        if self._in_head:
            data = self._fill_head(stream, data, now)
        if data:
            self._add_to_ring(stream, _last_states(data), now)

    def reopen(self) -> None:
        """Continue the file of a run that another process began; a truncated last line is removed."""
        lines = list(read_lines(self._path))
        if not lines:
            return
        self._head.count = lines[-1].n
        self._last.extend(lines)
        self._bytes = sum(len(line.text.encode(errors="replace")) + 1 for line in lines)
        self._to_disk(self._find_end)

    def _find_end(self) -> None:
        with os.fdopen(_open(self._path), "r+b") as file:
            self._head_bytes = file.read().rfind(b"\n") + 1
            file.truncate(self._head_bytes)

    def refresh(self) -> None:
        """Update the file; must be called several times a second."""
        if not self._fresh:
            return
        if self._fresh_cost <= _FEW_BYTES and self._fresh <= len(self._ring) and self._append_tail():
            return
        began_at = self._clock.monotonic()
        calm = self._fresh_cost - self._cost_seen <= _FEW_BYTES and began_at >= self._calm_from
        if calm or began_at >= self._rewritten_until:
            self._write_tail(self._read_ring())
            ended_at = self._clock.monotonic()
            self._rewritten_until = ended_at + REFRESH_S
            self._calm_from = ended_at + _REST * (ended_at - began_at)
        self._cost_seen = self._fresh_cost

    def close(self) -> RunOutput:
        """Write the remaining output and return the summary."""
        if self._watch:
            for line in self._watched.rest(self._clock.now()):
                self._watch(line)
        if self._in_head:
            self._append(self._head.rest(self._clock.now()))
            shown, count, truncated = list(self._last), self._head.count, False
        else:
            lines, truncated = self._write_tail([*self._read_ring(), *self._tail.rest(self._clock.now())])
            shown, count = [*self._last, *lines][-TAIL_LINES:], lines[-1].n if lines else self._head.count
        truncated = truncated or self._head.has_cut or self._tail.has_cut
        return RunOutput(self._bytes, count, truncated, format_tail(shown))

    def _fill_head(self, stream: str, data: bytes, now: float) -> bytes:
        """Write the lines that fit into the head, and return the rest of `data`."""
        while data:
            at_most = (self._head_room - self._head_bytes) // _LINE_COST
            if at_most <= 0:
                self._in_head = False
                self._tail_room = max(self._max_bytes - self._head_bytes, self._max_bytes // 2)
                self._tail = _Lines(self._redact, self._head.count)
                for name, begun in self._head.unfinished():
                    self._add_to_ring(name, begun, now)
                return data
            end = _end_of_lines(data, at_most)
            self._append(self._head.take(stream, data[:end], now))
            data = data[end:]
        return b""

    def _append(self, lines: Iterator[Line]) -> None:
        found = list(lines)
        self._last.extend(found)
        content = b"".join(map(encode, found))
        self._head_bytes += len(content)
        if content:
            self._to_disk(lambda: _append_to(self._path, content))

    def _add_to_ring(self, stream: str, data: bytes, now: float) -> None:
        """Append output to the ring, and drop the oldest output beyond its size."""
        for start in range(0, len(data), _PIECE_BYTES):
            part = data[start : start + _PIECE_BYTES]
            piece = _Piece(now, stream, part, part.count(b"\n"))
            if self._ring and piece.replaces(self._ring[-1]):
                self._remove_newest()
                # The removed piece may have contained the carriage return; repeat it, so that earlier text of the line
                # is also overwritten.
                piece = piece._replace(data=b"\r" + part.lstrip(b"\r"))
            self._ring.append(piece)
            self._ring_cost += piece.cost
            self._fresh += 1
            self._fresh_cost += piece.cost
            while self._ring_cost - self._ring[0].cost > self._tail_room:
                self._drop()

    def _remove_newest(self) -> None:
        """Remove the newest piece, because its line is overwritten."""
        piece = self._ring.pop()
        self._ring_cost -= piece.cost
        if self._fresh:
            self._fresh -= 1
            self._fresh_cost -= piece.cost

    def _drop(self) -> None:
        oldest = self._ring.popleft()
        self._ring_cost -= oldest.cost
        self._dropped_lines += oldest.newlines
        self._dropped_bytes += len(oldest.data)
        if oldest.data.endswith(b"\n"):
            self._torn.discard(oldest.stream)
        else:
            self._torn.add(oldest.stream)

    def _append_tail(self) -> bool:
        """Append the new lines; return False if the file would become too large."""
        pieces = list(self._ring)[len(self._ring) - self._fresh :]
        lines = [line for ts, stream, data, _ in pieces for line in self._tail.take(stream, data, ts)]
        self._fresh = self._fresh_cost = 0
        content = b"".join(map(encode, lines))
        if self._tail_bytes + len(content) > self._tail_room + self._max_bytes // 4:
            self._fresh = len(pieces)  # the whole ring is read again
            self._fresh_cost = _FEW_BYTES + 1
            return False
        if content:
            self._to_disk(lambda: _append_to(self._path, content))
            self._tail_bytes += len(content)
        return True

    def _write_tail(self, lines: list[Line]) -> tuple[list[Line], bool]:
        """Write the newest of these lines after the head; return them, and whether others were omitted."""
        encoded: deque[bytes] = deque()
        room = self._tail_room
        for line in reversed(lines):
            content = encode(line)
            room -= len(content)
            if room < 0 and encoded:
                break
            encoded.appendleft(content)
        shown = lines[len(lines) - len(encoded) :]
        left_out = bool(self._dropped_bytes) or len(shown) < len(lines)
        if left_out and shown:
            before = shown[0].n - 1
            encoded.appendleft(encode(gap_line(before, shown[0].ts, before - self._head.count)))
        content = b"".join(encoded)
        self._tail_bytes = len(content)
        self._to_disk(lambda: _replace_tail(self._path, self._head_bytes, content))
        return shown, left_out

    def _read_ring(self) -> list[Line]:
        self._tail = _Lines(self._redact, self._head.count + self._dropped_lines)
        self._fresh = self._fresh_cost = 0
        torn = set(self._torn)
        found: list[Line] = []
        for ts, stream, data, _ in self._ring:
            beginning = "…".encode() if stream in torn else b""
            torn.discard(stream)
            found += self._tail.take(stream, beginning + data, ts)
        return found

    def _to_disk(self, write: Callable[[], None]) -> None:
        if self._problem:
            return
        try:
            write()
        except OSError as error:  # losing its output must not end the run
            self._problem = error.strerror or type(error).__name__
            log.error(  # noqa: TRY400  # the reason says it all
                "storing the output of a run failed", extra={"path": str(self._path), "reason": self._problem}
            )


class _Lines:
    """Numbers the lines of several streams in the order in which they are completed."""

    def __init__(self, redact: Callable[[str], str], count: int = 0) -> None:
        self.count = count
        self._redact = redact
        self._splitters: dict[str, _Splitter] = {}

    @property
    def has_cut(self) -> bool:
        """Whether a line was truncated because of its length."""
        return any(splitter.has_cut for splitter in self._splitters.values())

    def take(self, stream: str, data: bytes, ts: float) -> Iterator[Line]:
        for text in self._splitters.setdefault(stream, _Splitter()).take(data):
            yield self._line(stream, text, ts)

    def rest(self, ts: float) -> Iterator[Line]:
        """Yield the unfinished lines in the order in which they began."""
        for stream, splitter in sorted(self._splitters.items()):
            for text in splitter.rest():
                yield self._line(stream, text, ts)

    def unfinished(self) -> Iterator[tuple[str, bytes]]:
        """Yield the unfinished lines, and reset them."""
        for stream, splitter in self._splitters.items():
            yield stream, splitter.unfinished()

    def _line(self, stream: str, text: str, ts: float) -> Line:
        self.count += 1
        return Line(self.count, ts, stream, self._redact(text))


def _last_states(data: bytes) -> bytes:
    """Return output without the parts of lines that it overwrites itself."""
    if b"\r" not in data:
        return data
    return b"\n".join(part[max(part.rstrip(b"\r").rfind(b"\r"), 0) :] for part in data.split(b"\n"))


def _end_of_lines(data: bytes, lines: int) -> int:
    """Return the index after the first `lines` lines, or after a piece of a long line."""
    end = 0
    limit = min(len(data), max(lines * _LINE_COST, MAX_LINE_BYTES))
    for _ in range(lines):
        found = data.find(b"\n", end, limit)
        if found < 0:
            return limit
        end = found + 1
    return end


def _append_to(path: Path, content: bytes) -> None:
    with os.fdopen(_open(path), "ab") as file:
        file.write(content)


def _replace_tail(path: Path, head_bytes: int, tail: bytes) -> None:
    """Replace the tail atomically: a reader sees either the old or the new one."""
    with os.fdopen(_open(path), "rb") as file:
        head = file.read(head_bytes)
    fresh = path.with_suffix(".tmp")
    with os.fdopen(_open(fresh, os.O_TRUNC), "wb") as file:
        file.write(head + tail)
    fresh.replace(path)


def _open(path: Path, flags: int = 0) -> int:
    make_directory(path.parent)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
