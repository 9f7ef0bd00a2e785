"""Tasks that end together: none outlives its caller, and a short operation is not cut in half."""

import asyncio
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class FirstErrorGroup(asyncio.TaskGroup):
    """A task group that raises its first error alone, so that the caller can catch it by its class."""

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
    """Do things at the same time and return their results in order; the first error ends the others and is raised.

    Unlike with `asyncio.gather`, none of them is at work any more when this returns or raises.
    """
    async with FirstErrorGroup() as group:
        tasks = [group.create_task(work) for work in works]
    return [task.result() for task in tasks]


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work`, a matter of a moment, even if the caller is cancelled; that is raised afterwards."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled
    return task.result()
