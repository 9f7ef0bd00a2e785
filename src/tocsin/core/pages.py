"""Pages of stored lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """A page of a list, and the cursor of the next page, `None` on the last one."""

    items: Sequence[T]
    next_cursor: str | None = None
    total: int = 0  # of the whole list, if the store counts it
