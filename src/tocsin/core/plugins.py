"""Entry points of other distributions, found without the cost of importlib.metadata where there are none."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def plugin_points(group: str) -> "Sequence[EntryPoint]":
    """Return the entry points of a group by name."""
    if f"[{group}]".encode() not in _declared(tuple(sys.path)):
        return ()
    from importlib.metadata import entry_points  # takes 20 ms

    return sorted(entry_points(group=group), key=lambda point: point.name)


def sentence_of(error: BaseException) -> str:
    """Return why a plug-in cannot be loaded, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


@lru_cache(maxsize=1)  # channels and features are looked for in the same places
def _declared(paths: Iterable[str]) -> bytes:
    """Return the text of every `entry_points.txt` below `paths`."""
    return b"\n".join(text for path in paths for text in _texts(path))


def _texts(path: str) -> list[bytes]:
    try:
        packages = os.listdir(path)  # noqa: PTH208  # Path.iterdir takes ten times as long, at every start
    except OSError:
        return []  # a zip file, or a directory that is not there
    points = (Path(path, name, "entry_points.txt") for name in packages if name.endswith("-info"))
    return [point.read_bytes() for point in points if point.is_file()]
