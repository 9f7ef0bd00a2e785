"""The stand-ins that channels bring for `tocsin demo`: each plays the product for its own channel."""

import pytest

from tocsin.channels.contract import OutboundAdapter
from tocsin.channels.registry import discover
from tocsin.core.http.direct import DirectTransport
from tocsin.core.plugins import load_class
from tocsin.core.time.clock import SystemClock
from tocsin.testing import build_adapter
from tocsin.testing.fakes import MemoryDocument
from tocsin_standins import open_standins

BRINGING = [channel for channel in discover().classes if channel.standin]


@pytest.mark.parametrize("channel", BRINGING, ids=lambda channel: channel.spec.kind)
async def test_the_settings_of_a_stand_in_make_its_channel_work(channel: type[OutboundAdapter]):
    http = DirectTransport()
    try:
        async with open_standins(further=[load_class(channel.standin)]) as town:
            [server] = town.further
            adapter = build_adapter(
                channel,
                town.environment(),
                http=http,
                clock=SystemClock(),
                targets=server.targets(),
                document=MemoryDocument(server.document()),
            )
            assert server.channel == channel.spec.kind
            assert (await adapter.test_connection()).ok
            assert (await adapter.send(server.sample, "hello")).ok
            [received] = town.recorder.of(server.channel)
            assert received.text.endswith("hello")  # below the name of the app, where there is one
            assert town.control()[server.channel] == server.url
    finally:
        await http.aclose()
