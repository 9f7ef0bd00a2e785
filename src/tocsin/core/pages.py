"""Pages of the lists that stores keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """A part of a list, and the cursor of the next one, which is None on the last page."""

    items: Sequence[T]
    next_cursor: str | None = None
    total: int = 0  # of the whole list, in stores that count it
