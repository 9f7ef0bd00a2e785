"""Waiting for what another task, thread or process does; the one place in the tests that gives up by a clock.

Patient on purpose. A wait that succeeds ends at once, whatever its bound, and one that fails may take its five minutes;
a shorter bound would be a statement about the speed of the machine.
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE_S = 300.0
# For a limit that is meant to run out once a child has got somewhere: a busy machine takes longer to get there.
LIMITS_S = (0.5, 5.0, 50.0)


def until(look: Callable[[], T | None], what: object = "", *, within_s: float = PATIENCE_S, every_s: float = 0.01) -> T:
    """Return what `look` returns, once that is true; `what` says what is waited for, or returns the words."""
    end = time.monotonic() + within_s
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(_in_vain(what, within_s))
        time.sleep(every_s)
    return found


async def eventually(look: Callable[[], Any], what: object = "") -> Any:
    """Do the same while other tasks run; `look` may be a coroutine function."""
    end = time.monotonic() + PATIENCE_S
    while not (found := await _value(look())):
        if time.monotonic() > end:
            raise AssertionError(_in_vain(what, PATIENCE_S))
        await asyncio.sleep(0.002)
    return found


async def rate_of(count: Callable[[], Any], *, over_s: float) -> float:
    """Return by how much a count grows in a second.

    An upper bound on it is honest: on a busy machine the seconds get longer, and less happens in each.
    """
    before, began = await _value(count()), time.monotonic()
    await asyncio.sleep(over_s)
    return float((await _value(count()) - before) / (time.monotonic() - began))


async def _value(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def _in_vain(what: object, within_s: float) -> str:
    return f"in vain after {within_s:g} s: {what() if callable(what) else what}".rstrip(": ")
