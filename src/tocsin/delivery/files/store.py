"""The interface of every store of files: contents by their SHA-256, each of them once.

A file is stored before the delivery that has it, so that a crash leaves no delivery without its file. A file that no
delivery needs is removed by `prune`, but not within an hour after it was stored: its delivery may not be there yet.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tocsin.core.errors import ChannelError, StoreUnavailableError

BLOCK_BYTES = 256 * 1024
GRACE_S = 3_600.0


class FileGoneError(ChannelError):
    """The content of a file is not stored any more."""

    code = "file-gone"


class FilesFullError(StoreUnavailableError):
    """There is no room for another file."""

    code = "files-full"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The SHA-256 of a content in hexadecimal, and its bytes."""

    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class FilesUsage:
    """How many files are stored, their bytes, and how many bytes there may be."""

    count: int
    size: int
    quota: int


class FileStore(Protocol):
    """Stores the contents of files; methods raise StoreUnavailableError while the store fails."""

    async def add(self, blocks: AsyncIterable[bytes]) -> StoredFile:
        """Store a content durably; raise FilesFullError if there is no room. Errors of `blocks` store nothing."""
        ...

    async def keep(self, hashes: Iterable[str], keep_s: float) -> None:
        """Begin the grace period of contents in `keep_s` seconds, for a record that other hosts do not know."""
        ...

    def blocks(self, hash_: str) -> AsyncGenerator[bytes]:
        """Read a content; raise FileGoneError if it is not stored."""
        ...

    async def size_of(self, hash_: str) -> int | None:
        """Return the size of a content; `None` if it is not stored."""
        ...

    async def prune(self, needed: frozenset[str]) -> int:
        """Remove contents that are not needed and older than the grace period; return how many."""
        ...

    async def remove(self, hash_: str) -> None:
        """Remove a content that was moved to another store."""
        ...

    async def usage(self) -> FilesUsage:
        """Return how much is stored."""
        ...

    async def hashes(self) -> frozenset[str]:
        """Return the hashes of all contents."""
        ...


def gone(hash_: str) -> FileGoneError:
    return FileGoneError(
        f"the content of a file is gone (SHA-256 {hash_[:12]}…)",
        hint="send the message again with the file; FILES_KEEP_DAYS says how long contents are kept",
    )


def full(usage: FilesUsage, setting: str) -> FilesFullError:
    return FilesFullError(
        f"files of messages need {usage.size / 2**20:,.0f} of {usage.quota / 2**20:,.0f} MiB ({setting})",
        hint=f"wait until messages were sent and their files are removed, or raise {setting}",
    )
