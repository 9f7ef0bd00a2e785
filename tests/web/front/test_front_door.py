"""The front door as a listener: its routes, its layers, and when it opens."""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.ports import free_port
from tests.waiting import eventually
from tests.web.asgi_client import Client

from tocsin.core.config.settings import Settings
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.time.ratelimit import RateLimiter
from tocsin.features.front_door import ANY_METHOD, FrontRequest, FrontResponse, FrontRoute
from tocsin.testing.fakes import FakeClock
from tocsin.web.front.app import FrontDependencies, build_front_door
from tocsin.web.http.metrics import Metrics
from tocsin.web.http.serving import Service, serve

MIB = 1024 * 1024


async def echo(request: FrontRequest) -> FrontResponse:
    said = await request.excerpt(3, 3)
    shown = (request.method, dict(request.path), dict(request.query), request.client, said.head, said.tail, said.size)
    return FrontResponse(200, repr(shown).encode())


async def refuse(request: FrontRequest) -> FrontResponse:
    return FrontResponse(404, b"not found")


def door(
    routes: Sequence[FrontRoute], tmp_path: Path, *, draining: bool = False, limit: int = 60, **env: str
) -> tuple[Client, FakeClock]:
    clock = FakeClock()
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), **env}
    settings = Settings.load((), environ=environ, env_file=Path("/dev/null"))
    parts = FrontDependencies(
        settings=settings,
        limiter=lambda _, __: RateLimiter(limit, clock.monotonic),
        routes=routes,
        metrics=Metrics(),
        draining=lambda: draining,
    )
    return Client(build_front_door(parts), documented=False), clock


async def test_a_handler_gets_the_parts_of_the_path_the_query_and_the_ends_of_the_body(tmp_path: Path):
    client, _ = door([FrontRoute("/in/{token}", echo)], tmp_path)
    answer = await client.request("POST", "/in/abc?a=1&a=2&b=", body=[b"1234", b"567", b"89"])
    assert answer.body == repr(("POST", {"token": "abc"}, {"a": "2", "b": ""}, "127.0.0.1", b"123", b"789", 9)).encode()


async def measure(request: FrontRequest) -> FrontResponse:
    size = 0
    async for chunk in request.chunks():
        size += len(chunk)
    return FrontResponse(200, str(size).encode())


async def keep(request: FrontRequest) -> FrontResponse:
    body = await request.body(12 * MIB)
    return FrontResponse(413) if body is None else FrontResponse(200, str(len(body)).encode())


async def test_a_body_of_more_than_8_mib_arrives_whole_or_is_refused(tmp_path: Path):
    client, _ = door([FrontRoute("/in/{token}", measure), FrontRoute("/p/{token}", keep)], tmp_path)
    sizes = {"/in/a": 30 * MIB, "/p/a": 12 * MIB, "/p/b": 12 * MIB + 1, "/p/c": 25 * MIB}

    answers = [await client.request("POST", path, body=in_pieces(size)) for path, size in sizes.items()]

    assert [(each.status, each.body) for each in answers[:2]] == [(200, b"%d" % (30 * MIB)), (200, b"%d" % (12 * MIB))]
    assert [each.status for each in answers[2:]] == [413, 413]


def in_pieces(size: int) -> list[bytes]:
    return [bytes(MIB)] * (size // MIB) + [bytes(size % MIB)]


async def test_a_route_without_a_prefix_never_takes_a_reserved_word(tmp_path: Path):
    client, _ = door([FrontRoute("/{topic}", echo, ANY_METHOD), FrontRoute("/message", echo, ("POST",))], tmp_path)
    answers = [await client.request("PUT", path) for path in ("/alerts", "/message", "/v2")]
    assert [answer.status for answer in answers] == [200, 405, 404]
    assert answers[1].header("allow") == "POST"


async def test_a_refused_method_is_not_among_those_allowed(tmp_path: Path):
    client, _ = door([FrontRoute("/ping/{address:path}", echo, ("GET", "HEAD", "POST"))], tmp_path)
    for path, allowed in (("/ping/x", "GET, HEAD, POST"), ("/health", "GET, HEAD")):
        for method in ("OPTIONS", "PUT"):
            answer = await client.request(method, path)
            assert (answer.status, answer.header("allow")) == (405, allowed)


def test_a_route_below_a_word_that_is_not_reserved_is_a_bug(tmp_path: Path):
    with pytest.raises(ValueError, match="alerts"):
        door([FrontRoute("/alerts/{token}", echo)], tmp_path)


async def test_refused_requests_are_limited_by_address_and_good_ones_are_not(tmp_path: Path):
    client, clock = door([FrontRoute("/in/{token}", refuse), FrontRoute("/ping/{x}", echo)], tmp_path, limit=3)
    assert [(await client.get("/in/x")).status for _ in range(5)] == [404, 404, 404, 429, 429]
    assert (await client.get("/ping/x")).status == 200
    assert (await client.get("/in/x", peer="10.0.0.9")).status == 404
    clock.advance(60)
    assert (await client.get("/in/x")).status == 404


async def test_what_cannot_be_stored_is_refused_for_a_while_and_logged_without_its_path(tmp_path: Path, caplog):
    async def fail(request: FrontRequest) -> FrontResponse:
        raise StoreUnavailableError("the disk is full")

    client, _ = door([FrontRoute("/in/{token}", fail)], tmp_path)
    with caplog.at_level(logging.WARNING):
        answer = await client.get("/in/a-secret-token")
    assert (answer.status, answer.header("retry-after")) == (503, "5")
    assert "a-secret-token" not in str([record.__dict__ for record in caplog.records])


async def test_foreign_host_names_are_refused_on_loopback_and_health_is_public(tmp_path: Path):
    client, _ = door([FrontRoute("/in/{token}", echo)], tmp_path)
    foreign = ("Host", "evil.example.org")
    assert [(await client.get(path, foreign)).status for path in ("/in/x", "/health")] == [403, 200]


async def test_a_listener_that_stops_says_so(tmp_path: Path):
    client, _ = door([], tmp_path, draining=True)
    answer = await client.get("/health")
    assert (answer.status, answer.json()["status"]) == (503, "draining")


async def test_a_service_listens_from_when_it_is_needed_and_no_sooner(tmp_path: Path):
    needed, opened, seen = asyncio.Event(), asyncio.Event(), list[list[str]]()

    async def is_needed() -> bool:
        return needed.is_set()

    service = Service(
        "front door", "127.0.0.1", free_port(), "FRONT_DOOR_PORT", lambda _: door([], tmp_path)[0].app,
        is_needed=is_needed, opened=opened.set,
    )  # fmt: skip
    serving = asyncio.create_task(serve([service], ready=lambda addresses: seen.append(list(addresses))))
    assert await eventually(lambda: seen) == [[]]  # no address yet
    assert not opened.is_set()
    needed.set()
    await opened.wait()
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b"200 OK" in await reader.read()
    writer.close()
    os.kill(os.getpid(), signal.SIGTERM)
    await serving
