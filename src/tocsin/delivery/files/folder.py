"""Files in a folder beside the database: `ab/<hash>`, and `tmp` for those that are being written."""

import asyncio
import errno
import fcntl
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.clock import Clock
from tocsin.delivery.files.store import BLOCK_BYTES, GRACE_S, FilesUsage, StoredFile, full, gone

_FULL = {errno.ENOSPC, errno.EDQUOT}


class FolderFiles:
    """Files of the messages of one host, shared by all its processes."""

    def __init__(self, folder: Path, quota: int, clock: Clock) -> None:
        """`quota` is the number of bytes of all files together."""
        self._folder = folder
        self._quota = quota
        self._clock = clock

    async def keep(self, hashes: Iterable[str], keep_s: float) -> None:
        """Do nothing: the one host that prunes knows every record."""

    async def add(self, blocks: AsyncIterable[bytes]) -> StoredFile:
        used = await self.usage()
        digest, size = hashlib.sha256(), 0
        try:
            place, file = await asyncio.to_thread(self._create)
            try:
                with file:
                    async for block in blocks:
                        size += len(block)
                        if used.size + size > self._quota:
                            raise full(used, "FILES_QUOTA_MB")
                        digest.update(block)
                        await asyncio.to_thread(file.write, block)
                    await asyncio.to_thread(_sync, file)
                await asyncio.to_thread(self._keep, place, digest.hexdigest())
            finally:
                with suppress(FileNotFoundError):
                    place.unlink()
        except OSError as error:
            raise _failure(error, self._folder) from None
        return StoredFile(digest.hexdigest(), size)

    async def blocks(self, hash_: str) -> AsyncGenerator[bytes]:
        try:
            with await asyncio.to_thread(self._place(hash_).open, "rb") as file:
                while block := await asyncio.to_thread(file.read, BLOCK_BYTES):
                    yield block
        except FileNotFoundError:
            raise gone(hash_) from None
        except OSError as error:
            raise _failure(error, self._folder) from None

    async def size_of(self, hash_: str) -> int | None:
        try:
            return (await asyncio.to_thread(self._place(hash_).stat)).st_size
        except FileNotFoundError:
            return None

    async def prune(self, needed: frozenset[str]) -> int:
        return await asyncio.to_thread(self._prune, needed)

    async def remove(self, hash_: str) -> None:
        await asyncio.to_thread(self._place(hash_).unlink, missing_ok=True)

    async def usage(self) -> FilesUsage:
        sizes = await asyncio.to_thread(lambda: [entry.stat().st_size for entry in self._entries()])
        return FilesUsage(len(sizes), sum(sizes), self._quota)

    async def hashes(self) -> frozenset[str]:
        return await asyncio.to_thread(lambda: frozenset(entry.name for entry in self._entries()))

    def _place(self, hash_: str) -> Path:
        return self._folder / hash_[:2] / hash_

    def _entries(self) -> Iterator[Path]:
        if self._folder.is_dir():
            yield from (each for folder in self._folder.glob("[0-9a-f][0-9a-f]") for each in folder.iterdir())

    def _create(self) -> tuple[Path, BinaryIO]:
        folder = self._folder / "tmp"
        for each in (self._folder, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = folder / os.urandom(16).hex()
        return place, os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")

    def _keep(self, place: Path, hash_: str) -> None:
        """Move a complete file to its place; one that is there already counts as stored now."""
        final = self._place(hash_)
        with self._locked(fcntl.LOCK_SH):
            if not final.exists():
                final.parent.mkdir(mode=0o700, exist_ok=True)
                place.rename(final)
                _sync_folder(final.parent)
                _sync_folder(self._folder)
            now = self._clock.now()
            os.utime(final, (now, now))

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Hold the lock without which `prune` might remove a file that a new delivery is about to use."""
        handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)

    def _prune(self, needed: frozenset[str]) -> int:
        if not self._folder.is_dir():
            return 0
        before, removed = self._clock.now() - GRACE_S, 0
        with self._locked(fcntl.LOCK_EX):
            for entry in self._entries():
                if entry.name not in needed and entry.stat().st_mtime < before:
                    entry.unlink()
                    removed += 1
            for left in (self._folder / "tmp").glob("*"):  # of a killed process
                if left.stat().st_mtime < before:
                    left.unlink()
        return removed


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _failure(error: OSError, folder: Path) -> StoreUnavailableError:
    hint = "free some disk space" if error.errno in _FULL else f"check the folder {folder}"
    return StoreUnavailableError(f"a file cannot be stored or read: {error.strerror or error}", hint=hint)
