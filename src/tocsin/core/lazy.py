"""Objects that are created at their first use."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Lazy(Generic[T]):
    """Calls `make` once, at the first use, and `close` with the result at the end."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._made: list[T] = []

    def __call__(self) -> T:
        """Return the object, created at the first call."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    async def aclose(self) -> None:
        """Close the object if it was created."""
        while self._made:
            await self._close(self._made.pop())


def lazily(find: Callable[[], T]) -> T:
    """Return an object that calls `find` at each access to an attribute, and returns the attribute of its result."""
    return cast("T", _LazyObject(find))


class _LazyObject:
    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    def __getattr__(self, name: str) -> Any:
        return getattr(self._find(), name)
