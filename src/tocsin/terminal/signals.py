"""Signals cancel the work of a command, so that it can report its progress."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end. SIGTERM and SIGHUP cancel it as Ctrl-C does; a second one ends the program at once.

    Raises KeyboardInterrupt after Ctrl-C, and SystemExit with the status that a shell reports after the others.
    """
    came: list[int] = []

    async def main() -> T:
        with _cancelled_by_signals(came):
            return await work

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if not came:
            raise
        raise SystemExit(128 + came[0]) from None


@contextmanager
def _cancelled_by_signals(came: list[int]) -> Iterator[None]:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def cancel(number: int) -> None:
        came.append(number)
        loop.remove_signal_handler(number)
        if task:
            task.cancel()

    # Keep signals that the parent ignores, such as SIGHUP under nohup.
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        loop.add_signal_handler(number, cancel, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
