"""Markdown as chat models write it: the processor time until it is ready to be sent, by document and channel."""

import statistics
import time
from collections.abc import Iterator
from random import Random

from report import Row, absolute

from tocsin.channels.contract import COMMONMARK, Outgoing
from tocsin.channels.registry import discover
from tocsin.testing import build_adapter

DOCUMENTS = 400
LIMIT_MS = 15.0
TARGETS = {"teamchat": "#ops", "botchat": "1001", "guildchat": "100000000000000002"}
TOKENS = {f"{kind.upper()}_BOT_TOKEN": "123456:benchmark-benchmark-benchmark-benchmark" for kind in TARGETS}

PLAIN_WORDS = (
    "the",
    "queue",
    "retries",
    "a",
    "message",
    "durably",
    "snake_case",
    "漢字",
    "שלום",
    "😀",
    "naïve",
    "a & b < c",
)
MARKED_WORDS = (
    "*every*",
    "**because it is**",
    "`code`",
    "[link](https://example.org/a_b)",
    "~~gone~~",
    "https://a.b/x_y",
)
WORDS = 3 * PLAIN_WORDS + MARKED_WORDS
CODE = "def f(a, *args):\n    return a  # `x` **y** _z_\n\n\nclass A:\n    pass"


def measure() -> list[Row]:
    """Return for each channel with formatting the slowest hundredth and the mean of the documents."""
    rows = []
    for channel in discover().classes:
        if channel.spec.kind not in TARGETS:
            continue
        adapter = build_adapter(channel, TOKENS)
        times = sorted(_times(adapter, TARGETS[channel.spec.kind]))
        what = f"Markdown for {channel.spec.kind}, a document's processor time"
        rows += [
            absolute(f"{what}, mean", statistics.mean(times), LIMIT_MS, "ms"),
            absolute(f"{what}, 99th of 100", times[len(times) * 99 // 100], LIMIT_MS, "ms"),
        ]
    return rows


def _times(adapter: object, target: str) -> Iterator[float]:
    check = adapter.check  # type: ignore[attr-defined]
    check(Outgoing(target, "# once `for` the *imports*", parse_mode=COMMONMARK))
    for source in _documents():
        begun = time.process_time()
        _, parts = check(Outgoing(target, source, parse_mode=COMMONMARK))
        yield (time.process_time() - begun) * 1000
        assert parts


def _documents() -> Iterator[str]:
    """Yield documents of up to 2,000 characters, one in ten of 8,000 to 12,000."""
    random = Random(7)
    for number in range(DOCUMENTS):
        size = random.randint(8_000, 12_000) if number % 10 == 0 else random.randint(1, 2_000)
        blocks = [_block(random)]
        while sum(map(len, blocks)) < size:
            blocks.append(_block(random))
        yield "\n\n".join(blocks)


def _block(random: Random) -> str:
    lines = [" ".join(random.choices(WORDS, k=random.randint(3, 20))) for _ in range(random.randint(2, 5))]
    match random.randrange(6):
        case 0:
            return f"## {lines[0]}"
        case 1:
            return "\n".join(f"{'  ' * (number % 3)}- {line}" for number, line in enumerate(lines))
        case 2:
            return f"```python\n{CODE}\n```"
        case 3:
            return "\n".join(f"> {line}" for line in lines)
        case 4:
            rows = [" | ".join(line.split()[:3]) for line in lines]
            return "\n".join(f"| {row} |" for row in (rows[0], "--- | --- | ---", *rows[1:]))
    return "\n".join(lines)
