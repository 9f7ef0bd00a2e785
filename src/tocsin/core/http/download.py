"""Fetch a large public file whose size and digest are known before."""

import asyncio
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.http.transport import host_of, origin_of, proxy_for, reason_of
from tocsin.core.storage.files import make_directory

if TYPE_CHECKING:
    import aiohttp

CHUNK_BYTES = 1024 * 1024
STALL_S = 60.0
MAX_REDIRECTS = 5


class DownloadError(RemoteError):
    """The file did not arrive as it should be; nothing was put in its place."""

    code = "download-failed"


async def download(
    url: str, path: Path, *, size: int, digest: str, on_progress: Callable[[int], None] = lambda _: None
) -> None:
    """Put the file at `url` into `path` once it has the size and the SHA-256 that it must have.

    `on_progress` gets the number of bytes so far. Redirects are followed: no secret goes with them, and the
    digest vouches for the content. Raises DownloadError, OSError where it cannot be written.
    """
    await asyncio.to_thread(make_directory, path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        found = await _fetch(url, part, size, on_progress)
        if found != digest:
            raise DownloadError(f"{host_of(url)} sent a file with the wrong checksum", hint="try again later")
        await asyncio.to_thread(part.replace, path)
    finally:
        await asyncio.to_thread(part.unlink, missing_ok=True)


async def _fetch(url: str, part: Path, size: int, on_progress: Callable[[int], None]) -> str:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=STALL_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            session.get(url, proxy=proxy_for(origin_of(url)), max_redirects=MAX_REDIRECTS) as response,
        ):
            if response.status != 200:
                raise DownloadError(f"{host_of(url)} answered {response.status}", hint="check the address")
            return await _store(response.content, part, size, on_progress)
    except aiohttp.ClientConnectorError as error:
        reason = reason_of(error.os_error)
        raise _broken(url, f"could not be reached: {reason}", FailureKind.TRANSIENT) from None
    except (aiohttp.ClientError, TimeoutError) as error:
        raise _broken(url, f"broke off ({type(error).__name__})", FailureKind.TRANSIENT) from None


async def _store(stream: "aiohttp.StreamReader", part: Path, size: int, on_progress: Callable[[int], None]) -> str:
    digest, received = sha256(), 0
    await asyncio.to_thread(part.touch, mode=0o600)
    file = await asyncio.to_thread(part.open, "wb")
    try:
        async for chunk in stream.iter_chunked(CHUNK_BYTES):
            received += len(chunk)
            if received > size:
                raise DownloadError("the file is larger than it should be", hint="try again later")
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
            on_progress(received)
        await asyncio.to_thread(os.fsync, file.fileno())
    finally:
        await asyncio.to_thread(file.close)
    return digest.hexdigest()


def _broken(url: str, what: str, kind: FailureKind) -> DownloadError:
    return DownloadError(f"{host_of(url)} {what}", hint="check the network and try again", kind=kind)
