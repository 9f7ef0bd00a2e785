"""What exists outside a workflow file that it may refer to."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field


def _no_children(_: str) -> Collection[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Names that exist here; `None` is not known, and is not checked."""

    profiles: Collection[str] | None = None
    channels: Collection[str] | None = None
    skills: Collection[str] | None = None
    hosts: Collection[str] | None = None  # `group:NAME` for groups
    ssh: bool = True  # whether steps of the type ssh can be run
    secrets: Collection[str] | None = None
    workflows: Collection[str] | None = None
    children_of: Callable[[str], Collection[str]] = field(default=_no_children)  # workflows that a workflow starts
