"""A part that is made when it is first asked for, and closed only if it was made."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Calls `make` once, when the part is first asked for, and `close` with it at the end."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._made: list[T] = []

    def __call__(self) -> T:
        """Return the part."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    async def aclose(self) -> None:
        """Close the part if there is one."""
        while self._made:
            await self._close(self._made.pop())
