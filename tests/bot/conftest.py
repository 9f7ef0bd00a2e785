"""The bot with everything around it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.bot.bench import ADMIN, Bench
from tests.databases import copied_tables

from tocsin.bot.settings import BotSettings

__all__ = ["copied_tables"]

MakeBench = Callable[..., Bench]


@pytest.fixture
async def make_bench(tmp_path: Path) -> AsyncIterator[MakeBench]:
    made: list[Bench] = []

    def make(settings: BotSettings | None = None, **parts: Any) -> Bench:
        directory = tmp_path / str(len(made))
        directory.mkdir()
        made.append(Bench(directory, settings or BotSettings(allowed=frozenset({"7", "8"}), admin=ADMIN), **parts))
        return made[-1]

    yield make
    for bench in made:
        await bench.aclose()


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """A bot that lets the chats 7 and 8 in, whose admin chat is 900."""
    return make_bench()
