"""Products that redirect, answer with pages, say nothing, throttle or refuse: each with every channel.

These are the channels whose product has a stand-in that they bring. What is special about one is tested in its folder.
"""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tocsin.channels.contract import OutboundAdapter, Outgoing, Receipt
from tocsin.channels.registry import discover
from tocsin.core.errors import FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.plugins import load_class
from tocsin.core.time.clock import SystemClock
from tocsin.testing import build_adapter
from tocsin.testing.fakes import MemoryDocument
from tocsin_standins.faults import Fault
from tocsin_standins.serving import HttpStandIn

CHANNELS = {each.spec.kind: each for each in discover().classes if each.standin}
UNKNOWN, REFUSED, LATER, THROTTLED = (
    FailureKind.AMBIGUOUS,
    FailureKind.PERMANENT,
    FailureKind.TRANSIENT,
    FailureKind.RATE_LIMITED,
)
# Each fault with what it means, and the channels for which it means something else, with the reason.
CASES: Mapping[str, tuple[Fault, FailureKind, Mapping[str, FailureKind | None]]] = {
    "revoked": (Fault.error("M_UNKNOWN_TOKEN", http_status=401), REFUSED, {}),
    "throttled": (Fault.rate_limited(30), THROTTLED, {}),
    "down": (Fault.status(503), LATER, {}),
    "cut off": (Fault.reset(), UNKNOWN, {"matrix": None}),
    "too large for a proxy": (Fault.status(413, "<html>413 Request Entity Too Large</html>"), REFUSED, {}),
    "redirecting": (Fault.redirect("https://elsewhere.example/x"), REFUSED, {}),
    # A receiver may answer an event as it likes, and so may the server behind Apprise's plug-in. Matrix recognises
    # repeats, so that the second attempt is sent at once.
    "a page": (Fault.html_200(), UNKNOWN, {"webhook": None, "apprise": None, "matrix": None}),
    "taken without an answer": (Fault.reset_after_accept(), UNKNOWN, {"matrix": None}),
    "silent": (Fault.stall(3_600), UNKNOWN, {}),
}


@asynccontextmanager
async def product(kind: str) -> AsyncIterator[tuple[HttpStandIn, OutboundAdapter]]:
    """Open a stand-in and the channel that sends to it."""
    channel, http = CHANNELS[kind], DirectTransport()
    try:
        async with load_class(channel.standin)() as server:
            yield (
                server,
                build_adapter(
                    channel,
                    server.environment(),
                    http=http,
                    clock=SystemClock(),
                    targets=server.targets(),
                    document=MemoryDocument(server.document()),
                ),
            )
    finally:
        await http.aclose()


async def sent(server: HttpStandIn, adapter: OutboundAdapter, text: str = "hello") -> Receipt:
    return await adapter.transmit(Outgoing(server.sample, text, key="delivery-1"), patient=False)


@pytest.mark.parametrize("kind", CHANNELS)
async def test_each_channel_understands_what_its_product_does(kind: str):
    expected = {case: others.get(kind, usual) for case, (_, usual, others) in CASES.items()}
    found, errors = {}, {}
    async with product(kind) as (server, adapter):
        for case, (fault, _, _) in CASES.items():
            assert (await sent(server, adapter, "before")).result.ok  # what is looked up once is known
            if case == "silent":  # the last
                impatient(adapter)
            server.faults.push(fault)
            receipt = await sent(server, adapter)
            found[case], errors[case] = receipt.failure and receipt.failure.kind, receipt.result.error
    assert found == expected, errors
    assert [case for case in CASES if expected[case] is UNKNOWN and "outcome unknown" not in errors[case]] == []


def impatient(adapter: OutboundAdapter) -> None:
    """Let a send end in half a second."""
    from tocsin.core.time.shared_timeout import SharedTimeout

    adapter._send_limits = SharedTimeout(0.5)  # noqa: SLF001  # a limit is a class attribute of the spec


def secrets_of(server: HttpStandIn, channel: type[OutboundAdapter]) -> Iterator[str]:
    """Yield the secrets with which a channel sends to its stand-in."""
    names = {variable.name for variable in channel.spec.secrets}
    yield from (value for name, value in server.environment().items() if name in names)
    for entry in server.targets().values():
        parts = urlsplit(entry["url"])
        yield from filter(lambda text: len(text) > 8, [entry["url"], parts.path, parts.query, entry.get("secret", "")])


@pytest.mark.parametrize("kind", CHANNELS)
async def test_no_secret_is_shown_if_the_product_sends_it_back(kind: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with product(kind) as (server, adapter):
        secrets = [*secrets_of(server, CHANNELS[kind])]
        echo = " ".join(secrets)
        said: list[Any] = []
        for fault in (
            Fault.error("x", f"no {echo}", http_status=401),
            Fault.status(502, f"<html>{echo}</html>"),
            Fault.html_200(f"<html>{echo}</html>"),
            Fault.redirect(f"https://elsewhere.example/?{secrets[0] if secrets else ''}"),
            Fault.reset_after_accept(),
        ):
            server.faults.push(fault)
            said.append((await sent(server, adapter)).result)
            server.faults.push(fault)
            said.append(await adapter.test_connection())
        shown = repr(said) + caplog.text
        assert [secret for secret in secrets if secret in shown] == []
