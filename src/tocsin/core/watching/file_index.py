"""The files of a folder, with an identity of each version."""

import os
from collections.abc import Collection, Iterator


class FileIndex:
    """Identities of files by path relative to the folder; stored by directory, so that no name is stored twice."""

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, int]] = {}

    def get(self, path: str) -> int | None:
        """Return the identity of a file, `None` if it is unknown."""
        directory, _, name = path.rpartition("/")
        return self._directories.get(directory, {}).get(name)

    def put(self, path: str, identity: int) -> None:
        """Store the current version of a file."""
        directory, _, name = path.rpartition("/")
        self._directories.setdefault(directory, {})[name] = identity

    def pop(self, path: str) -> int | None:
        """Remove a file, and return its identity."""
        directory, _, name = path.rpartition("/")
        names = self._directories.get(directory, {})
        identity = names.pop(name, None)
        if not names:
            self._directories.pop(directory, None)
        return identity

    def below(self, directories: Collection[str]) -> Iterator[str]:
        """Yield the known files at any depth below directories; the empty one is the folder itself."""
        wanted = set(directories)
        for directory in list(self._directories) if wanted else ():
            if _is_below(directory, wanted):
                for name in list(self._directories[directory]):
                    yield f"{directory}/{name}" if directory else name


def _is_below(directory: str, wanted: Collection[str]) -> bool:
    while directory:
        if directory in wanted:
            return True
        directory = directory.rpartition("/")[0]
    return "" in wanted


def identity_of_version(found: os.stat_result) -> int:
    """Return attributes that a rename preserves; the inode alone is reused as soon as a file is deleted."""
    return hash((found.st_ino, found.st_size, found.st_mtime_ns)) or 1
