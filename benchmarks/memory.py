"""Memory with 100,000 entries: searching, recalling for a question, and decay, with the entries in the page cache."""

import asyncio
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from report import Row, absolute

from tocsin.features.memory.feature import FEATURE
from tocsin.features.memory.model import EntrySource, EntryType, MemoryEntry
from tocsin.features.memory.service import Memories
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import open_feature

ENTRIES = 100_000
VOCABULARY = 20_000
SEARCHES = 300
STOP_WORDS = 100  # half of all words in the texts are one of these; people do not search for them
ROUNDS = 3
DAY_S = 86_400.0
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "ol")]
HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 2_000)]


def measure() -> list[Row]:
    """Return the rows; needs 150 MB of temporary space and about a minute."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    chance, clock = random.Random(1), FakeClock()
    words = ["".join(chance.choices(SYLLABLES, k=3)) for _ in range(VOCABULARY)]
    # As in real texts, the word of rank n is n times as rare as the first.
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    async with open_feature(FEATURE, folder, clock=clock) as bench:
        memory: Memories = bench.service
        entries = [_entry(number, chance, words, weights, clock.now()) for number in range(ENTRIES)]
        await memory.import_all(entries, "cli", overwrite=False)
        texts = [entry.value.split() for entry in chance.sample(entries, SEARCHES)]
        queries = _queries(texts, chance, without=frozenset(words[:STOP_WORDS]))
        careless = _queries(texts, chance)
        han = ["".join(chance.choices(HAN[:300], k=chance.choice((2, 3)))) for _ in range(100)]
        searches = await _times_ms(memory.search, queries)
        with_stop_words = await _times_ms(memory.search, careless)
        pieces = await _times_ms(memory.search, han)
        recalled = await _times_ms(
            lambda text: memory.related(text, ("global",), 5), [" ".join(t[:8]) for t in texts[:100]]
        )
        dry, removing, removed = await _decays(memory, bench.app.database.path, clock)
    return [
        absolute(f"memory search among {ENTRIES:,} entries, 1 to 3 words, p50", _p(50, searches), 5, "ms"),
        absolute("… p99", _p(99, searches), 50, "ms"),
        absolute("… where half of the words are such as “the” and “of”, p50", _p(50, with_stop_words), 25, "ms"),
        absolute("… two or three Chinese characters, p50", _p(50, pieces), 50, "ms"),
        absolute("… the entries for a question of 8 words, p50", _p(50, recalled), 500, "ms"),
        absolute(f"memory decay of {ENTRIES:,}, dry run", dry, 1, "s"),
        absolute(f"… of which {removed:,} are removed", removing, 1, "s"),
    ]


def _entry(number: int, chance: random.Random, words: list[str], weights: list[float], now: float) -> MemoryEntry:
    value = " ".join(chance.choices(words, weights, k=chance.randint(5, 25)))
    if number % 5 == 0:
        value += " " + "".join(chance.choices(HAN[:300], k=12))
    accessed_at = now - chance.uniform(0, 200) * DAY_S
    return MemoryEntry(
        key=f"note.{number}",
        value=value,
        type=chance.choice(list(EntryType)),
        tags=(words[number % 50],),
        scope="global",
        source=EntrySource.CLI,
        importance=round(chance.random(), 2),
        pinned=number % 100 == 0,
        half_life_days=30.0,
        access_count=0,
        last_accessed_at=accessed_at,
        created_at=accessed_at,
        updated_at=accessed_at,
        expires_at=None,
        read_at=now,
    )


def _queries(texts: list[list[str]], chance: random.Random, without: frozenset[str] = frozenset()) -> list[str]:
    """Return queries of one, two and three words of a text; a word is as frequent in them as in the texts."""
    sensible = [[word for word in text if word.isascii() and word not in without] for text in texts]
    return [" ".join(chance.choices(words, k=count)) for words in sensible if words for count in (1, 2, 3)]


async def _times_ms(call: Callable[[str], Awaitable[object]], texts: list[str]) -> list[float]:
    taken = []
    for text in texts:
        started = time.perf_counter()
        await call(text)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


async def _decays(memory: Memories, path: Path, clock: FakeClock) -> tuple[float, float, int]:
    """Return the seconds of a dry run and of a decay, both medians, and how many entries the decay removes."""
    dry, removing, removed = [], [], 0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await memory.decay("cli", dry_run=True)
        dry.append(time.perf_counter() - started)
        started = time.perf_counter()
        report = await memory.decay("cli")
        removing.append(time.perf_counter() - started)
        removed = report.found.removed
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE memory_entries SET removed_at = NULL")
        connection.close()
    return statistics.median(dry), statistics.median(removing), removed


def _p(percent: int, taken: list[float]) -> float:
    return sorted(taken)[len(taken) * percent // 100]
