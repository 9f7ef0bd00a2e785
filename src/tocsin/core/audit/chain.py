"""Verify the hash chain of an audit log through all of its files, rotated and compressed ones included.

Each file is read separately and yields a segment: the state of the chain before its first line and after its last one.
Then the segments must follow each other from the oldest to the live file, and the last must end where the head file
says. `audit_reader` defines the format of a line.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, ClassVar, NamedTuple, cast

from tocsin.core.audit.reader import (
    GENESIS,
    MAX_LINE,
    PACKED,
    UNREADABLE,
    Anchor,
    Head,
    Tip,
    decode_entry,
    open_regular,
    parse_link,
    rotated,
)
from tocsin.core.records.marks import after

MAX_ISSUES = 1_000
_NUMBERED = re.compile(r"\.([0-9]+)(?:\.[a-z0-9]+)?$")
_DATED = re.compile(r"-([0-9]{8}(?:-?[0-9]{2,10})?)(?:\.[a-z0-9]+)?$")


class ChainProblem(NamedTuple):
    """An error in the chain, with its file and line (counted from 1)."""

    line: int
    reason: str
    file: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying all files of a log; store `last` elsewhere to compare it later."""

    schema_name: ClassVar[str] = "ChainVerification"

    lines: int
    files: int
    problems: tuple[ChainProblem, ...]
    first: int  # sequence number of the oldest line; earlier ones have passed the retention time
    last: int
    last_hash: str

    @property
    @after("last_hash")
    def ok(self) -> bool:
        """Whether no line was changed, added, moved or removed."""
        return not self.problems


@dataclass(slots=True)
class Segment:
    """The part of the chain in one file; `start` is None if its first lines are missing."""

    file: str
    lines: int = 0
    begins_at: str = ""  # the time of its first line
    start: Tip | None = None
    end: Tip | None = None
    issues: list[ChainProblem] = field(default_factory=list)
    hashes: dict[int, bytes] = field(default_factory=dict)  # of the lines in `wanted`

    @property
    def first(self) -> int:
        """The number of its first entry, or of its last if the start is missing; 0 if it has none."""
        return self.start.seq + 1 if self.start else self.end.seq if self.end else 0

    def report(self, reason: str, line: int | None = None) -> None:
        """Record an error at the line that was read last."""
        if len(self.issues) < MAX_ISSUES:
            self.issues.append(ChainProblem(self.lines if line is None else line, reason, self.file))


def walk(file: str, lines: Iterable[bytes], head_name: str, wanted: Collection[int] = ()) -> Segment:
    """Verify the lines of one file against each other."""
    segment = Segment(file)
    tip: Tip | None = None
    inside = False  # within a line too long to be read at once
    for line in lines:
        if not inside:
            segment.lines += 1
            tip = _check(segment, line, tip, head_name)
            if tip is not None and tip.seq in wanted:
                segment.hashes.setdefault(tip.seq, tip.hash)
        inside = not line.endswith(b"\n")
    segment.end = tip
    return segment


def _check(segment: Segment, line: bytes, tip: Tip | None, head_name: str) -> Tip | None:
    """Verify one line, and return the new end of the chain."""
    link = parse_link(line[:-1]) if line.endswith(b"\n") else None
    if link is None:
        segment.report("is incomplete, or is not an entry of this log")
        return tip
    if tip is None:
        entry = decode_entry(line)
        segment.begins_at = entry.ts if entry else ""
        if link.prev is None:
            segment.report(f"has number {link.tip.seq}: the lines before it in this file are missing")
            return link.tip
        segment.start = tip = Tip(link.tip.seq - 1, link.prev)
    elif link.prev is not None and not link.headless:
        segment.report("is the first line of a different file")
    if link.headless:
        segment.report(f"was written after {head_name} was lost: lines before it may be missing")
    if not link.follows(tip):
        segment.report(_reason(link.tip.seq, tip.seq + 1))
    return link.tip if link.tip.seq > tip.seq else tip


def _reason(seq: int, expected: int) -> str:
    """Return why a line does not follow the one before it."""
    if seq > expected:
        return f"has number {seq} where {expected} is expected: {seq - expected} lines before it are missing"
    if seq < expected:
        return f"has number {seq} where {expected} is expected: it was inserted, repeated or moved"
    return "was changed, or the line before it was"


class Verifier:
    """Joins the segments of all files and collects breaks of the chain.

    Lines before `keep_since`, a time as in `ts`, may be missing; `anchors` are hashes stored elsewhere, the most
    trusted first.
    """

    def __init__(
        self, path: Path, head: Head | None, *, keep_since: str = "", anchors: Collection[Anchor] = ()
    ) -> None:
        self._path = path
        self._head = head
        self._head_name = f"{path.name}.head"
        self._keep_since = keep_since
        self._anchors: dict[int, list[Anchor]] = {}
        for anchor in anchors:
            self._anchors.setdefault(anchor.seq, []).append(anchor)
        self._wanted = {*self._anchors, *([head.tip.seq] if head else [])}
        self._issues: list[ChainProblem] = []

    def verify(self, live: Iterable[bytes] | None) -> Verification:
        """Verify the lines of the live file, `None` if there is none, and all rotated files."""
        segments = [] if live is None else [walk(self._path.name, live, self._head_name, self._wanted)]
        segments += self._rotated()
        for segment in segments:
            self._issues += segment.issues
        chain = self._join(sorted((s for s in segments if s.end), key=lambda s: (s.first, -_end(s).seq)))
        self._check_order(chain)
        self._check_end(chain)
        tip = _end(chain[-1]) if chain else self._head.tip if self._head else GENESIS
        return Verification(
            lines=sum(segment.lines for segment in segments),
            files=len(segments),
            problems=tuple(sorted(self._issues, key=lambda issue: (issue.file, issue.line))[:MAX_ISSUES]),
            first=chain[0].first if chain else tip.seq + 1,
            last=tip.seq,
            last_hash=tip.hash.decode(),
        )

    def _rotated(self) -> list[Segment]:
        files = rotated(self._path)
        names = {file.name for file in files if file.is_file()}
        # While logrotate compresses a file, both exist, and the compressed one is incomplete.
        return [self._read(file) for file in sorted(files) if not (file.suffix in PACKED and file.stem in names)]

    def _read(self, file: Path) -> Segment:
        if not file.is_file():
            return self._unread(file, "is not a regular file")
        if file.suffix in UNREADABLE:
            return self._unread(file, f"cannot be read: decompress it ({file.suffix}) and verify again")
        try:
            with _opened(file) as stream:
                return walk(file.name, split_lines(stream), self._head_name, self._wanted)
        except (OSError, EOFError, ValueError) as error:
            return self._unread(file, f"cannot be read completely: {error}")
        except Exception as error:  # noqa: BLE001  # zlib.error and lzma.LZMAError have no common base
            return self._unread(file, f"cannot be decompressed: {error}")

    def _unread(self, file: Path, reason: str) -> Segment:
        segment = Segment(file.name)
        segment.report(reason)
        return segment

    def _join(self, segments: list[Segment]) -> list[Segment]:
        """Return the segments of the chain, the oldest first, without copies."""
        chain: list[Segment] = []
        copies: list[Segment] = []
        for segment in segments:
            before = _end(chain[-1]) if chain else None
            if before is None:
                self._check_oldest(segment)
            elif _end(segment).seq <= before.seq and segment.start is not None:
                copies.append(segment)
                continue
            elif segment.start is not None and segment.start != before:
                self._report(segment, _break(segment, chain[-1]), 1)
            chain.append(segment)
        self._check_copies(copies, chain)
        return chain

    def _check_oldest(self, segment: Segment) -> None:
        start = segment.start
        if start is None or start == GENESIS or segment.begins_at < self._keep_since:
            return
        self._report(segment, f"should follow number {start.seq}, but no rotated file beside the log ends with it", 1)

    def _check_copies(self, copies: list[Segment], chain: list[Segment]) -> None:
        """Check files that repeat lines: identical copies are fine, a forged one beside the original is not."""
        ends = {_end(copy).seq for copy in copies}
        if not ends:
            return
        known: dict[int, bytes] = {}
        for segment in chain:
            if any(segment.first <= seq <= _end(segment).seq for seq in ends):
                with _opened(self._path.with_name(segment.file)) as stream:
                    known |= walk(segment.file, split_lines(stream), self._head_name, ends).hashes
        for copy in copies:
            if known.get(_end(copy).seq) != _end(copy).hash:
                self._report(
                    copy, f"contradicts the other files: number {_end(copy).seq} is a different line there", copy.lines
                )

    def _check_order(self, chain: list[Segment]) -> None:
        """Check the names of rotated files, which show their order."""
        for older, newer in pairwise(chain):
            if _is_older(newer.file, older.file, self._path.name):
                self._report(
                    newer, f"has a file name that makes it older than {older.file}, although it follows that file", 1
                )

    def _check_end(self, chain: list[Segment]) -> None:
        """Compare the last line with the head file, and each anchored line with its anchor."""
        head = self._head
        if head is None:
            if chain:
                self._report(
                    chain[-1],
                    f"is the last one, but without {self._head_name}, removed lines at the end cannot be detected",
                )
        elif not chain:
            if head.tip.seq:
                reason = f"{self._head_name} records {head.tip.seq} lines, but no file contains any"
                self._issues.append(ChainProblem(0, reason, self._path.name))
        elif head.tip.seq > _end(chain[-1]).seq:
            missing = head.tip.seq - _end(chain[-1]).seq
            self._report(chain[-1], f"is the last one, but {missing} more were written after it")
        hashes = {seq: digest for segment in chain for seq, digest in segment.hashes.items()}
        if (
            chain
            and head
            and head.tip.seq <= _end(chain[-1]).seq
            and hashes.get(head.tip.seq, head.tip.hash) != head.tip.hash
        ):
            self._report(chain[-1], f"is not the last line that was written: {self._head_name} records another hash")
        self._check_anchors(chain, hashes)

    def _check_anchors(self, chain: list[Segment], hashes: Mapping[int, bytes]) -> None:
        first, last = (chain[0].first, _end(chain[-1]).seq) if chain else (0, -1)
        # The first line has the hash of the line before it, which may be missing.
        known = {**hashes, **({start.seq: start.hash} if chain and (start := chain[0].start) else {})}
        for seq, (anchor, *others) in sorted(self._anchors.items()):
            if any(other.hash != anchor.hash for other in others):
                self._report_log(f"number {seq} was anchored with different hashes")
            # The time of the first line proves nothing, because its writer chose it; the anchor's time does. The newest
            # of several counts: an earlier one may have been inserted before the true one.
            may_be_gone = max(anchor.at, *(other.at for other in others), "") < self._keep_since
            if seq > last or (seq < first and not may_be_gone):
                self._report_log(f"number {seq} was anchored, but is missing from the log")
            elif (seq >= first or seq in known) and known.get(seq) != anchor.hash:
                self._report_log(f"number {seq} differs from the anchored line: the chain was recomputed")

    def _report_log(self, reason: str) -> None:
        self._issues.append(ChainProblem(0, reason, self._path.name))

    def _report(self, segment: Segment, reason: str, line: int | None = None) -> None:
        self._issues.append(ChainProblem(segment.lines if line is None else line, reason, segment.file))


def _end(segment: Segment) -> Tip:
    return cast("Tip", segment.end)  # a segment without lines is in no chain


def _break(segment: Segment, before: Segment) -> str:
    """Return why a file does not follow the one before it."""
    start, end = cast("Tip", segment.start), _end(before)
    if start.seq > end.seq:
        return f"should follow number {start.seq}, but {before.file} ends with {end.seq}: the lines between are missing"
    if start.seq < end.seq:
        return (
            f"should follow number {start.seq}, but {before.file} continues to {end.seq}: one of the files was changed"
        )
    return f"should follow number {start.seq}, but {before.file} ends with a different line of that number"


def _is_older(name: str, than: str, live: str) -> bool:
    """Whether the name of a rotated file says that it is older; names of other formats say nothing."""
    if live in (name, than):
        return than == live
    numbers = _NUMBERED.search(name.removeprefix(live)), _NUMBERED.search(than.removeprefix(live))
    if numbers[0] and numbers[1]:
        return int(numbers[0][1]) > int(numbers[1][1])
    dates = _DATED.search(name.removeprefix(live)), _DATED.search(than.removeprefix(live))
    return bool(dates[0] and dates[1] and dates[0][1] < dates[1][1])


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    with os.fdopen(open_regular(file), "rb") as raw:
        if file.suffix not in PACKED:
            yield raw
            return
        from importlib import import_module

        with import_module(PACKED[file.suffix]).open(raw, "rb") as unpacked:
            yield unpacked


def split_lines(stream: IO[bytes], size: int | None = None) -> Iterator[bytes]:
    """Yield the lines that begin in the first `size` bytes; overlong ones are split."""
    offset = 0
    while (size is None or offset < size) and (line := stream.readline(MAX_LINE)):
        offset += len(line)
        yield line
