"""Take the files that callers attach to messages into the store, and refuse those that cannot be sent."""

import asyncio
import base64
import binascii
import hashlib
import os
import re
import stat
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from mimetypes import MimeTypes
from pathlib import Path
from typing import Any

from tocsin.channels.attached import MAX_FILES, UNKNOWN_TYPE, too_large
from tocsin.core.errors import ChannelError
from tocsin.core.text.strings import truncate
from tocsin.delivery.files.store import BLOCK_BYTES, FileStore, StoredFile, gone

_TYPES = MimeTypes()  # the same on every machine, without the files of the system
NOT_READ = "0" * 64  # the hash of a file that a dry run did not read
SHOWN = 200  # characters of a path or name in an error


class FileIntake:
    """Stores the files of messages before these are sent or queued."""

    def __init__(self, store: Callable[[], FileStore], max_bytes: int) -> None:
        """`max_bytes` limits the files of one message together; `store` opens the store when it is needed."""
        self.store = store
        self.max_bytes = max_bytes

    def read(self, hash_: str) -> AsyncGenerator[bytes]:
        """Read a stored file."""
        return self.store().blocks(hash_)

    async def has_room(self, size: int, /) -> bool:
        """Whether files of this many bytes together fit in."""
        used = await self.store().usage()
        return used.size + size <= used.quota

    async def take(
        self, content: Mapping[str, Any], *, paths: bool = False, dry_run: bool = False
    ) -> Mapping[str, Any]:
        """Return the content of a message with its files stored; unchanged without files.

        An item of `attach` is an object with `name` and `content` (Base64) or `hash`; with `paths`, for callers who may
        read the files of this user, also the path of a file. A dry run reads the files and stores none; there, `name`
        and `size` describe a file that is uploaded later. Raises ChannelError for a file that cannot be attached, and
        what the store raises.
        """
        given = content.get("attach")
        if not given:
            return content
        if isinstance(given, str | bytes | Path | Mapping) or not isinstance(given, Sequence):
            given = [given]
        if len(given) > MAX_FILES:
            raise ChannelError(f"a message has at most {MAX_FILES} files, not {len(given)}", hint="send two messages")
        taken: list[Mapping[str, Any]] = []
        for item in given:
            left = self.max_bytes - sum(each["size"] for each in taken)
            if paths and isinstance(item, str | os.PathLike):
                taken.append(await self._take_path(Path(item), left, dry_run=dry_run))
            else:
                taken.append(await self._take_object(item, left, dry_run=dry_run))
        return {**content, "attach": taken}

    async def _take_path(self, path: Path, left: int, *, dry_run: bool) -> Mapping[str, Any]:
        return self._named({"name": path.name}, await self._add(_read(path, left, self.max_bytes), dry_run))

    async def _take_object(self, item: object, left: int, *, dry_run: bool) -> Mapping[str, Any]:
        if not isinstance(item, Mapping):
            raise ChannelError("an attached file must be a path or an object", hint="see docs/messages.md, Files")
        name = str(item.get("name") or "")
        if hash_ := item.get("hash"):
            is_hash = re.fullmatch(r"[0-9a-f]{64}", str(hash_))
            size = await self.store().size_of(str(hash_)) if is_hash else None
            if size is None:
                raise gone(str(hash_))
            return self._named(item, StoredFile(str(hash_), self._fitting(name, size, left)))
        if dry_run and not item.get("content") and isinstance(size := item.get("size"), int) and size > 0:
            return self._named(item, StoredFile(NOT_READ, self._fitting(name, size, left)))
        try:
            data = base64.b64decode(str(item.get("content") or ""), validate=True)
        except (ValueError, binascii.Error):
            raise ChannelError(f"the content of {_shown(name)} is not Base64", hint="encode the bytes") from None
        if not data:
            raise ChannelError(f"the file {_shown(name)} is empty", hint="attach a file with content")
        self._fitting(name, len(data), left)
        return self._named(item, await self._add(_whole(data), dry_run))

    async def keep(self, hashes: Iterable[str], keep_s: float, /) -> None:
        """Keep files for a record that only this host knows, as `FileStore.keep`."""
        await self.store().keep(hashes, keep_s)

    async def add_part(self, name: str, kind: str, blocks: AsyncGenerator[bytes], left: int) -> Mapping[str, Any]:
        """Store a file that arrives in blocks, of at most `left` bytes; return its item of `attach`."""

        async def limited() -> AsyncGenerator[bytes]:
            size = 0
            async for block in blocks:
                size += len(block)
                self._fitting(name, size, left)
                yield block
            if not size:
                raise ChannelError(f"the file {_shown(name)} is empty", hint="attach a file with content")

        return self._named({"name": name, "type": kind}, await self.store().add(limited()))

    async def _add(self, blocks: AsyncGenerator[bytes], dry_run: bool) -> StoredFile:  # of this class
        if not dry_run:
            return await self.store().add(blocks)
        digest, size = hashlib.sha256(), 0
        async for block in blocks:
            digest.update(block)
            size += len(block)
        return StoredFile(digest.hexdigest(), size)

    def _fitting(self, name: str, size: int, left: int) -> int:
        if size > left:
            whose = "MAX_FILES_MB" if left == self.max_bytes else "what other files leave of MAX_FILES_MB"
            raise too_large(f"the file {_shown(name)}", size, left, whose)
        return size

    def _named(self, item: Mapping[str, Any], stored: StoredFile) -> Mapping[str, Any]:
        name = str(item.get("name") or "").encode("utf-8", "replace").decode()  # names on disk may have any bytes
        kind = item.get("type") or item.get("mime") or _TYPES.guess_type(name)[0] or UNKNOWN_TYPE
        alt = {"alt": item["alt"]} if item.get("alt") else {}
        return {"name": name, "type": kind, **alt, "hash": stored.hash, "size": stored.size}


async def _whole(data: bytes) -> AsyncGenerator[bytes]:
    yield data


async def _read(path: Path, left: int, most: int) -> AsyncGenerator[bytes]:
    """Read a file of the caller; raise ChannelError if it is no regular file, or changes meanwhile."""
    shown = _shown(str(path))
    try:
        # A pipe would block without O_NONBLOCK.
        handle = await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            before = os.fstat(handle)
            _check(shown, before, left, most)
            size = 0
            while size <= before.st_size and (block := await asyncio.to_thread(os.read, handle, BLOCK_BYTES)):
                size += len(block)
                yield block
            after = os.fstat(handle)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ChannelError(f"cannot read {shown}: {reason}", hint="check the path and its permissions") from None
    if size != before.st_size or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise ChannelError(f"{shown} changed while it was read", hint="attach it when it is complete")


def _check(shown: str, found: os.stat_result, left: int, most: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
        raise ChannelError(f"{shown} is {kind}", hint="attach a regular file")
    if not found.st_size:
        raise ChannelError(f"{shown} is empty", hint="attach a file with content")
    if found.st_size > left:
        whose = "MAX_FILES_MB" if left == most else "what other files leave of MAX_FILES_MB"
        raise too_large(shown, found.st_size, left, whose)


def _shown(text: str) -> str:
    visible = "".join(each if each.isprintable() else "\ufffd" for each in text)
    return truncate(visible, SHOWN) or "without a name"
