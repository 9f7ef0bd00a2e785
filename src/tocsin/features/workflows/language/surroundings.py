"""The names outside a workflow file to which it may refer."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache


def _no_children(_: str) -> Collection[str]:
    return ()


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


class LateNames(Collection[str]):
    """Names that are looked up when a file first refers to one; `find` returns `None` if they are unknown.

    Any name may exist then.
    """

    def __init__(self, find: Callable[[], Sequence[str] | None]) -> None:
        self._names = cache(find)

    def __contains__(self, name: object) -> bool:
        names = self._names()
        return names is None or name in names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names() or ())

    def __len__(self) -> int:
        return len(self._names() or ())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Surroundings:
    """Names that exist here; `None` is not known, and is not checked."""

    profiles: Collection[str] | None = None
    channels: Collection[str] | None = None
    parse_modes: Collection[str] | None = None  # of all channels
    skills: Collection[str] | None = None
    hosts: Collection[str] | None = None  # `group:NAME` for groups
    has_ssh: Callable[[], bool] = field(default=_yes)  # whether steps of the type ssh can be run
    secrets: Collection[str] | None = None
    workflows: Collection[str] | None = None
    is_cancelled: Callable[[], bool] = field(default=_no)  # whether reading is to end
    children_of: Callable[[str], Collection[str]] = field(default=_no_children)  # workflows that a workflow starts
