"""Entry points of other distributions, and objects by name; importlib.metadata is imported only if there are any."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def load_class(place: str) -> Any:
    """Return the class, or another object, at `module:Name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def plugin_points(group: str) -> "Sequence[EntryPoint]":
    """Return the entry points of a group by name."""
    if f"[{group}]".encode() not in _declared(tuple(sys.path)):
        return ()
    from importlib.metadata import entry_points  # takes 20 ms

    return sorted(entry_points(group=group), key=lambda point: point.name)


def modules_in(package: Iterable[str]) -> list[tuple[str, bool]]:
    """Return the names of the modules in a package, given its `__path__`, sorted, and whether each is a package."""
    found: dict[str, bool] = {}
    for place in package:
        names = _listed(place)
        if not names:  # inside a zip file
            from pkgutil import iter_modules  # imports inspect: 6 ms

            found |= {module.name: module.ispkg for module in iter_modules([place])}
        for name in names:
            stem, dot, ending = name.partition(".")
            if ending == "py" and stem != "__init__":
                found.setdefault(stem, False)
            elif not dot and os.path.isfile(f"{place}/{name}/__init__.py"):  # noqa: PTH113  # faster, as in `_listed`
                found[stem] = True
    return sorted(found.items())


def _listed(path: str) -> list[str]:
    try:
        return os.listdir(path)  # noqa: PTH208  # Path.iterdir takes ten times as long, at every start
    except OSError:  # a zip file, or the directory is missing
        return []


def describe_error(error: BaseException) -> str:
    """Return in one line why a plug-in cannot be loaded."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


@lru_cache(maxsize=1)  # channels and features search the same paths
def _declared(paths: Iterable[str]) -> bytes:
    """Return the text of every `entry_points.txt` below `paths`."""
    return b"\n".join(text for path in paths for text in _texts(path))


def _texts(path: str) -> list[bytes]:
    texts = []
    for name in _listed(path):
        if name.endswith("-info"):
            with suppress(OSError), open(f"{path}/{name}/entry_points.txt", "rb") as stream:  # noqa: PTH123  # see `_listed`
                texts.append(stream.read())
    return texts
