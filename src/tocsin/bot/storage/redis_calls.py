"""The Redis operations that the bot's records use, and a client that migrates old records first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from tocsin.core.storage.redis_client import Argument, Script


class RedisCalls(Protocol):
    """Commands and scripts on one Redis."""

    async def command(self, *words: Argument) -> Any:
        """Run one command."""

    async def run(self, script: Script, keys: Sequence[Argument], args: Sequence[Argument]) -> Any:
        """Run a script as one transaction."""


class CallsAfter:
    """Awaits `first` before the first call; while `first` fails, every call fails."""

    def __init__(self, calls: RedisCalls, first: Callable[[], Awaitable[None]]) -> None:
        self._calls = calls
        self._first: Callable[[], Awaitable[None]] | None = first
        self._lock = asyncio.Lock()

    async def command(self, *words: Argument) -> Any:
        await self._once()
        return await self._calls.command(*words)

    async def run(self, script: Script, keys: Sequence[Argument], args: Sequence[Argument]) -> Any:
        await self._once()
        return await self._calls.run(script, keys, args)

    async def _once(self) -> None:
        if self._first is None:
            return
        async with self._lock:
            if self._first is not None:
                await self._first()
                self._first = None
