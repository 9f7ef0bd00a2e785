"""Ten messages to one target through one kept adapter: how long Tocsin itself waits between them."""

import asyncio

from report import Row, absolute

from tocsin.channels.contract import OutboundAdapter
from tocsin.channels.registry import discover
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter

ANSWER = {"ok": True, "ts": "1503435956.000247", "result": {"message_id": 1}, "id": "1"}
TARGETS = {"teamchat": "#ops", "botchat": "1001", "guildchat": "100000000000000002"}
TOKENS = {f"{kind.upper()}_BOT_TOKEN": "123456:benchmark-benchmark-benchmark-benchmark" for kind in TARGETS}


def measure() -> list[Row]:
    """Return a row for each channel that speaks HTTP."""
    return [
        absolute(
            f"10 messages to one {channel.spec.kind} target, own waiting",
            asyncio.run(_waited(channel)),
            0,
            "s",
        )
        for channel in discover().classes
        if channel.spec.kind in TARGETS
    ]


async def _waited(channel: type[OutboundAdapter]) -> float:
    clock = FakeClock()
    adapter = build_adapter(channel, TOKENS, http=ScriptedTransport().will_answer(ANSWER), clock=clock)
    for number in range(10):
        result = await adapter.send(TARGETS[channel.spec.kind], f"message {number}")
        assert result.ok, result.error
    return sum(clock.slept)
