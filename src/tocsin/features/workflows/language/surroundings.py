"""What exists outside a workflow file that it may refer to."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field


def _no_children(_: str) -> Collection[str]:
    return ()


class LateNames(Collection[str]):
    """Names that are found out when a file refers to one, which most do not."""

    def __init__(self, find: Callable[[], Sequence[str]]) -> None:
        self._find = find
        self._found: Sequence[str] | None = None

    def _names(self) -> Sequence[str]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Names that exist here; `None` is not known, and is not checked."""

    profiles: Collection[str] | None = None
    channels: Collection[str] | None = None
    parse_modes: Collection[str] | None = None  # of all channels
    skills: Collection[str] | None = None
    hosts: Collection[str] | None = None  # `group:NAME` for groups
    ssh: bool = True  # whether steps of the type ssh can be run
    secrets: Collection[str] | None = None
    workflows: Collection[str] | None = None
    children_of: Callable[[str], Collection[str]] = field(default=_no_children)  # workflows that a workflow starts
