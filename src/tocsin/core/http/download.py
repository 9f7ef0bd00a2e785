"""Download a large public file whose size and digest are known."""

import os
from collections.abc import Callable
from hashlib import sha256
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.http.redirects import MAX_REDIRECTS, HttpRequest, RedirectError, redirected
from tocsin.core.http.transport import describe_os_error, displayed_host
from tocsin.core.storage.files import make_directory

CHUNK_BYTES = 1024 * 1024
STALL_S = 60.0


class DownloadError(RemoteError):
    """The file did not arrive as expected; nothing was replaced."""

    code = "download-failed"


def download(
    url: str, path: Path, *, size: int, digest: str, on_progress: Callable[[int], None] = lambda _: None
) -> None:
    """Download `url` to `path` if it has the expected size and SHA-256 digest.

    `on_progress` gets the number of bytes so far. Redirects are followed, because the digest verifies the content.
    Raises DownloadError, or OSError if the file cannot be written.
    """
    make_directory(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        received, found = _fetch(url, part, size, on_progress)
        if received < size:
            raise _broken(url, f"stopped after {received:,} of {size:,} bytes")
        if found != digest:
            raise DownloadError(f"{displayed_host(url)} sent a file with the wrong checksum", hint="try again later")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class _Redirects(HTTPRedirectHandler):
    """Follows redirects by our rule: urllib would repeat `Proxy-Authorization` at a server without a proxy."""

    max_redirections = MAX_REDIRECTS

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        after = redirected(HttpRequest(req.get_method(), req.full_url, dict(req.header_items())), code, newurl)
        if after is None:
            return None
        return Request(after.url, headers=dict(after.headers), method=after.method)  # noqa: S310  # http or https


def _fetch(url: str, part: Path, size: int, on_progress: Callable[[int], None]) -> tuple[int, str]:
    """Return the number of received bytes, and their digest."""
    try:
        response = build_opener(_Redirects).open(url, timeout=STALL_S)
    except HTTPError as error:
        error.close()  # it is also a response
        raise DownloadError(
            f"{displayed_host(url)} responded with status {error.code}", hint="check the address"
        ) from None
    except RedirectError as error:
        raise DownloadError(str(error), hint=error.hint) from None
    except URLError as error:
        reason = describe_os_error(error.reason) if isinstance(error.reason, OSError) else str(error.reason)
        raise _broken(url, f"could not be reached: {reason}") from None
    seen, received = sha256(), 0
    part.touch(mode=0o600)
    with response, part.open("wb") as file:
        while chunk := _next(url, response.read):
            received += len(chunk)
            if received > size:
                raise DownloadError("the file is larger than expected", hint="try again later")
            seen.update(chunk)
            file.write(chunk)
            on_progress(received)
        file.flush()
        os.fsync(file.fileno())
    return received, seen.hexdigest()


def _next(url: str, read: Callable[[int], bytes]) -> bytes:
    try:
        return read(CHUNK_BYTES)
    except (HTTPException, OSError) as error:
        raise _broken(url, f"stopped ({type(error).__name__})") from None


def _broken(url: str, what: str) -> DownloadError:
    return DownloadError(
        f"{displayed_host(url)} {what}", hint="check the network and try again", kind=FailureKind.TRANSIENT
    )
