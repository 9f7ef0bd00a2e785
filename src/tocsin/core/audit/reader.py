"""Read an audit log: its lines and links, the newest first, and search. `audit_chain` checks the chain.

A line is one JSON object whose last bytes are its link of the chain:

    …,"metadata":{…,"chain":{"seq":7,"hash":"<64 hex digits>"}}}

`hash` is SHA-256 over the hash of the line before and every byte of this line up to the hash. The
first line of a file names the hash before it as `prev`, so that a chain goes on across rotation. One that
was written although the head file was gone says `"head":"lost"`.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 1 << 16  # bytes per read for the newest lines; enough for a tail of 100
SEARCH_CHUNK = 1 << 20
MAX_LINE = 1 << 20  # a longer line is not ours: it is skipped, and memory use stays limited

# How each type of compressed file is opened, by modules of the standard library; others need a program.
PACKED = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}
UNREADABLE = (".zst", ".zip", ".lz4")

_LINK = re.compile(
    rb'"chain":\{"seq":([0-9]{1,18}),(?:"prev":"([0-9a-f]{64})",)?(?:("head":"lost"),)?"hash":"([0-9a-f]{64})"\}\}\}$'
)
_LINK_LENGTH = 220  # bytes at the end of a line that certainly contain the link
_AFTER_SIGNED = len('"}}}') + 64
_HEAD = re.compile(rb"([0-9]{1,18}) ([0-9a-f]{64}) ([0-9]+) ([0-9]+)\n")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A line of the audit log; `metadata["chain"]` has its place in the chain."""

    ts: str
    action: str
    detail: str
    source: str
    metadata: Mapping[str, object]


class Tip(NamedTuple):
    """The end of a chain: sequence number and hash of its last line."""

    seq: int
    hash: bytes


GENESIS = Tip(0, b"0" * 64)


class Anchor(NamedTuple):
    """Number and hash of a line, stored elsewhere at a time as in `ts`, which may be unknown."""

    seq: int
    hash: bytes
    at: str = ""


class Link(NamedTuple):
    """A line's link to the chain, and the bytes that its hash covers."""

    tip: Tip
    prev: bytes | None
    headless: bool
    signed: bytes

    def follows(self, tip: Tip) -> bool:
        """Whether this line is unchanged and follows right after `tip`."""
        if self.tip.seq != tip.seq + 1:
            return False
        return sha256(tip.hash + self.signed).hexdigest().encode() == self.tip.hash


class Head(NamedTuple):
    """The content of the head file: the end of the chain and of the log."""

    tip: Tip
    inode: int
    size: int

    def encode(self) -> bytes:
        return b"%d %b %d %d\n" % (self.tip.seq, self.tip.hash, self.inode, self.size)


def open_regular(path: "Path | str", flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor; raise OSError for any other, and never block on a pipe."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == stat.S_IFREG:
        return descriptor
    os.close(descriptor)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.ENXIO, "not a regular file")


def decode_head(text: bytes) -> Head | None:
    """Decode the content of a head file; return `None` if it is invalid."""
    found = _HEAD.match(text)
    if found is None:
        return None
    seq, digest, inode, size = found.groups()
    return Head(Tip(int(seq), digest), int(inode), int(size))


def parse_link(line: bytes) -> Link | None:
    """Find the link at the end of a line (without its newline); return `None` if it has none."""
    found = _LINK.search(line, max(0, len(line) - _LINK_LENGTH))
    if found is None:
        return None
    seq, prev, headless, digest = found.groups()
    return Link(Tip(int(seq), digest), prev, headless is not None, line[:-_AFTER_SIGNED])


def decode_entry(line: bytes) -> AuditEntry | None:
    """Decode a line; return `None` if it is not an audit entry."""
    try:
        fields = json.loads(line.decode())
        metadata = fields.get("metadata", {})
        texts = fields["ts"], fields["action"], fields["detail"], fields["source"]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in texts):
        return None
    return AuditEntry(*texts, metadata)


def newest_blocks(fd: int, chunk: int = CHUNK) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines, the last block first.

    A last line without its newline is incomplete and left out.
    """
    end = _end_of_last_line(fd, chunk)
    rest = b""  # the front of a block: its line begins in the chunk before
    while end > 0:
        start = max(0, end - chunk)
        data = os.pread(fd, end - start, start) + rest
        cut = data.find(b"\n") + 1 if start else 0
        rest = data[:cut] if cut < MAX_LINE else b"\n"
        if len(data) > cut:
            yield data[cut:]
        end = start


def _end_of_last_line(fd: int, chunk: int) -> int:
    """Return the offset after the last newline."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - chunk)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def newest_lines(fd: int, chunk: int = CHUNK) -> Iterator[bytes]:
    """Yield the whole lines of a file without their newlines, the last line first."""
    for block in newest_blocks(fd, chunk):
        lines = block.split(b"\n")
        lines.pop()
        yield from reversed(lines)


def newest_entries(fd: int) -> Iterator[AuditEntry]:
    """Yield the entries of a log, the newest first; other lines are skipped."""
    return (entry for line in newest_lines(fd) if (entry := decode_entry(line)) is not None)


def search_entries(fd: int, query: str) -> Iterator[AuditEntry]:
    """Yield the entries with `query` in a text, key or value, the newest first.

    The search ignores case and excludes the chain, whose digits would match by chance.
    """
    wanted = query.casefold()
    narrow = _ascii_candidates if query and query.isascii() and query.isprintable() else _candidates
    for block in newest_blocks(fd, SEARCH_CHUNK):
        for line in narrow(block, wanted):
            entry = decode_entry(line)
            if entry is not None and any(wanted in text.casefold() for text in _texts(entry)):
                yield entry


def _ascii_candidates(block: bytes, wanted: str) -> Iterator[bytes]:
    """Yield the lines of a block that contain the query as JSON encodes it, without decoding them."""
    needle = json.dumps(wanted)[1:-1].encode()
    lowered = block.lower()
    end = len(block)
    while (found := lowered.rfind(needle, 0, end)) >= 0:
        start = lowered.rfind(b"\n", 0, found) + 1
        yield block[start : lowered.find(b"\n", found)]
        end = start


def _candidates(block: bytes, wanted: str) -> Iterator[bytes]:
    """Yield the lines of a block that may contain the query; lines with escapes always may."""
    needle = json.dumps(wanted, ensure_ascii=False)[1:-1]
    for line in reversed(block.splitlines()):
        if rb"\u" in line or needle in line.decode(errors="replace").casefold():
            yield line


def _texts(entry: AuditEntry) -> Iterator[str]:
    """Yield every searchable value of an entry."""
    yield from (entry.ts, entry.action, entry.detail, entry.source)
    yield from _leaves({key: value for key, value in entry.metadata.items() if key != "chain"})


def _leaves(value: object) -> Iterator[str]:
    """Yield the keys, texts and numbers in a decoded JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield json.dumps(value)


def last_tip(fd: int) -> Tip | None:
    """Return the end of the chain from the newest line with a link."""
    links = (link for line in newest_lines(fd) if (link := parse_link(line)) is not None)
    newest = next(links, None)
    return newest.tip if newest else None


def advance(fd: int, tip: Tip, offset: int) -> Tip:
    """Follow the chain from `tip` through the complete lines after `offset` that belong to it."""
    for line in lines_from(fd, offset):
        if not line.endswith(b"\n"):
            break
        link = parse_link(line[:-1])
        if link is not None and link.follows(tip):
            tip = link.tip
    return tip


def lines_from(fd: int, offset: int) -> Iterator[bytes]:
    """Yield the lines after `offset` with their newlines; overlong ones are split."""
    with open(fd, "rb", buffering=SEARCH_CHUNK, closefd=False) as file:
        file.seek(offset)
        yield from iter(lambda: file.readline(MAX_LINE), b"")


def rotated(path: "Path") -> "list[Path]":
    """List the rotated files of the log at `path`: `audit.log.1`, `audit.log-20260101.gz`."""
    starts = (f"{path.name}.", f"{path.name}-")
    if not path.parent.is_dir():
        return []
    return [file for file in path.parent.iterdir() if file.name.startswith(starts) and file.suffix != ".head"]


def rotated_tips(path: "Path") -> list[Tip]:
    """Return the ends of the chains in the readable rotated files."""
    tips = []
    for file in rotated(path):
        if file.suffix in (*PACKED, *UNREADABLE) or not file.is_file():
            continue
        with file.open("rb") as opened:
            tip = last_tip(opened.fileno())
        if tip is not None:
            tips.append(tip)
    return tips
