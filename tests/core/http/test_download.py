"""Downloads: the digest vouches for the file, and nothing half is ever put in place."""

import asyncio
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler
from tests.web_server import web_server

from tocsin.core.http.download import DownloadError, download

CONTENT = bytes(range(256)) * 10_000
DIGEST = sha256(CONTENT).hexdigest()


def server(handler: Handler) -> AbstractAsyncContextManager[str]:
    return web_server(web.get("/{tail:.*}", handler))


async def whole(request: web.Request) -> web.Response:
    if request.path == "/moved":
        raise web.HTTPFound("/file")
    return web.Response(body=CONTENT)


async def test_a_file_with_the_right_digest_is_put_in_place_and_its_progress_is_told(tmp_path: Path):
    seen: list[int] = []
    async with server(whole) as url:
        path = tmp_path / "models" / "file"
        await asyncio.to_thread(
            download, f"{url}/moved", path, size=len(CONTENT), digest=DIGEST, on_progress=seen.append
        )
    assert path.read_bytes() == CONTENT
    assert seen[-1] == len(CONTENT)
    assert [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("size", "digest", "reason"),
    [
        (len(CONTENT), "0" * 64, "a file with the wrong checksum"),
        (len(CONTENT) - 1, DIGEST, "larger than expected"),
    ],
)
async def test_a_file_that_is_another_one_leaves_what_was_there(tmp_path: Path, size: int, digest: str, reason: str):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    async with server(whole) as url:
        with pytest.raises(DownloadError, match=reason):
            await asyncio.to_thread(download, f"{url}/file", path, size=size, digest=digest)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


async def test_a_download_that_breaks_off_says_so(tmp_path: Path):
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(len(CONTENT))})
        await response.prepare(request)
        await response.write(CONTENT[:1000])
        assert request.transport is not None
        request.transport.abort()
        return response

    async with server(half) as url:
        with pytest.raises(DownloadError, match="stopped after"):
            await asyncio.to_thread(download, f"{url}/file", tmp_path / "file", size=len(CONTENT), digest=DIGEST)


async def test_an_address_that_is_gone_is_named(tmp_path: Path):
    async def gone(request: web.Request) -> web.Response:
        return web.Response(status=404, text="nothing is here")

    async with server(gone) as url:
        with pytest.raises(DownloadError, match="status 404") as told:
            await asyncio.to_thread(download, f"{url}/file", tmp_path / "file", size=1, digest=DIGEST)
    refused = told.value.__context__
    assert isinstance(refused, HTTPError)
    assert refused.closed  # its connection does not wait for the garbage collector


async def test_the_proxy_s_password_does_not_reach_a_server_that_needs_no_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[tuple[str, bool]] = []

    async def redirecting(request: web.Request) -> web.Response:
        seen.append((request.path, "Proxy-Authorization" in request.headers))
        if request.path == "/file":
            return web.Response(body=CONTENT)
        raise web.HTTPFound(f"{url.replace('127.0.0.1', 'localhost')}/file")

    async with server(redirecting) as url:
        monkeypatch.setenv("http_proxy", url.replace("//", "//user:word@"))
        monkeypatch.setenv("no_proxy", "localhost")
        await asyncio.to_thread(
            download, "http://files.example/moved", tmp_path / "file", size=len(CONTENT), digest=DIGEST
        )
    assert seen == [("/moved", True), ("/file", False)]


async def test_a_redirect_that_is_not_followed_is_a_failed_download(tmp_path: Path):
    async def away(request: web.Request) -> web.Response:
        raise web.HTTPFound("ftp://files.example/file")

    async with server(away) as url:
        with pytest.raises(DownloadError):
            await asyncio.to_thread(download, f"{url}/file", tmp_path / "file", size=1, digest=DIGEST)
