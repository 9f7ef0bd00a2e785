"""Structured concurrency: no task outlives its caller, and short operations finish despite cancellation."""

import asyncio
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class FirstErrorGroup(asyncio.TaskGroup):
    """A task group that raises its first error alone, so that callers can catch it by its class."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except BaseExceptionGroup as errors:
            first: BaseException = errors
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None


async def run_concurrently(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently and return their results in order; the first error cancels the others and is raised.

    Unlike with `asyncio.gather`, none of them still runs when this function returns or raises.
    """
    async with FirstErrorGroup() as group:
        tasks = [group.create_task(work) for work in works]
    return [task.result() for task in tasks]


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work`, which must be short, even if the caller is cancelled; raise the cancellation afterwards."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    return task.result()
