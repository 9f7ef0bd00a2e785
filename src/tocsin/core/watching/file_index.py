"""The files of a folder and what tells each version of one from the next."""

import os
from collections.abc import Collection, Iterator


class FileIndex:
    """Identities of files by path; paths start at the folder. By directory, so that no name is stored twice."""

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, int]] = {}

    def get(self, path: str) -> int | None:
        """Return the identity of a file, None of one that is not known."""
        directory, _, name = path.rpartition("/")
        return self._directories.get(directory, {}).get(name)

    def put(self, path: str, identity: int) -> None:
        """Note the present version of a file."""
        directory, _, name = path.rpartition("/")
        self._directories.setdefault(directory, {})[name] = identity

    def pop(self, path: str) -> int | None:
        """Forget a file, and return what it was."""
        directory, _, name = path.rpartition("/")
        names = self._directories.get(directory, {})
        identity = names.pop(name, None)
        if not names:
            self._directories.pop(directory, None)
        return identity

    def below(self, directories: Collection[str]) -> Iterator[str]:
        """Yield the files that are known at any depth below directories; the empty one is the folder itself."""
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
    """Return what a renaming leaves as it is; the inode alone is given to the next file as soon as one is deleted."""
    return hash((found.st_ino, found.st_size, found.st_mtime_ns)) or 1
