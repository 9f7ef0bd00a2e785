"""The base of the receiving contract suite: hostile bodies, and helpers."""
# ruff: noqa: S101  # asserting is what these functions are for

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, TypeVar

from tocsin.channels.contract import OutboundAdapter, Tools
from tocsin.channels.inbound import InboundAdapter
from tocsin.core.config.settings import Settings
from tocsin.core.http.transport import Transport
from tocsin.core.time.clock import Clock
from tocsin.testing.fakes import FakeClock, ScriptedTransport

T = TypeVar("T")
Headers = tuple[tuple[str, str], ...]

NOT_ASCII = ("é", "\udc80", "\u0661", "v0=" + "é" * 64, "\u2028")
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    1e308,
    "",
    " ",
    "\0",
    "\ud800",
    "x" * 50_000,
    "9" * 5_000,
    "-" * 20,
    "a\nb",
    "/",
    "<" * 2_000,
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": None},
    ["x"],
)
HOSTILE_BODIES = {
    "empty": b"",
    "blank": b" \n",
    "no UTF-8": b'{"type": "\xff"}',
    "UTF-16": '{"type": 1}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"type": 1}',
    "half a document": b'{"type": "mess',
    "100,000 levels of lists": b"[" * 100_000,
    "100,000 levels of objects": b'{"type":' * 100_000,
    "100,000 levels, closed": b'{"type":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a million digits": b'{"type":' + b"9" * 1_000_000 + b"}",
    "not a number": b'{"type":NaN,"id":Infinity,"update_id":-Infinity}',
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "a text": b'"text"',
    "an empty object": b"{}",
    "a form of nothing": b"&&==&",
    "a broken form": b"payload=%7B%ff&command=%zz",
    "a form without end": b"a=1&" * 50_000,
    "NUL": b"\0" * 1_000,
}


def build_receiver(
    adapter: type[OutboundAdapter],
    env: Mapping[str, str],
    *,
    http: Transport | None = None,
    clock: Clock | None = None,
) -> InboundAdapter:
    """Build the inbound side of a channel from environment variables."""
    receiver = adapter.receiver()
    assert receiver is not None, "the channel does not receive"
    loaded = Settings.load(adapter.spec.variables, environ={"TOCSIN_DATA_DIR": "/nonexistent", **env})
    return receiver(loaded.only(adapter.spec.variables), Tools(http or ScriptedTransport(), clock or FakeClock()))


def deformed(document: Any) -> Iterator[Any]:
    """Yield copies of a JSON document in which one value, at any depth, is missing or hostile."""
    if not isinstance(document, dict | list):
        return
    places = list(document) if isinstance(document, dict) else list(range(len(document)))
    for place in places:
        value = document[place]
        for other in (*HOSTILE_VALUES, *deformed(value)):
            copy = document.copy()
            copy[place] = other
            yield copy
        if isinstance(document, dict):
            yield {name: kept for name, kept in document.items() if name != place}


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on a new event loop."""
    return asyncio.run(work)


def replaced(headers: Headers, place: int, other: tuple[str, str]) -> Headers:
    """Return the headers with the one at `place` replaced."""
    return (*headers[:place], other, *headers[place + 1 :])


def spoilt(body: bytes, place: int, noise: bytes) -> bytes:
    """Return the body truncated at `place`, or with `noise` inserted there."""
    return body[:place] + noise + (body[place + 1 :] if noise else b"")
