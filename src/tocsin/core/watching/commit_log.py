"""Commits, as git's own log of the branch that is checked out has them.

Git appends a line to `logs/HEAD` for everything that moves the branch; nothing else needs to be asked or installed.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tocsin.core.process.git import git_directory

MAX_BYTES = 1024 * 1024
# "<old> <new> <name> <mail> <time> <zone>\t<what>: <subject>"; pulls, rebases and checkouts bring commits of others.
_LINE = re.compile(
    r"[0-9a-f]{40,64} (?P<id>[0-9a-f]{40,64}) .*\t(?:commit|cherry-pick|revert)(?: \([\w -]+\))?: (?P<subject>.*)"
)


class LoggedCommit(NamedTuple):
    """A commit that was made here."""

    id: str
    subject: str


class CommitLog:
    """The log of the work tree at the top of a folder; without git it stays empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (git_directory(folder) or folder / ".git") / "logs" / "HEAD"
        self._read_to = 0

    def places(self) -> list[Path]:
        """Return the directories that must be watched; of a linked work tree, they lie elsewhere."""
        return [place for place in (self._file.parent.parent, self._file.parent) if place.is_dir()]

    def outside(self) -> list[Path]:
        """Return those of them that do not lie in the folder."""
        return [place for place in self.places() if not place.is_relative_to(self._folder)]

    def may_have_grown(self, path: str) -> bool:
        """Whether a path that was touched may mean a new line; no event names the log itself when its folder is new."""
        place = str(self._file.parent.parent)
        return path == place or path.startswith(f"{place}/")

    def skip(self) -> None:
        """Leave out what is there already."""
        with suppress(OSError):
            self._read_to = self._file.stat().st_size

    def new(self) -> list[LoggedCommit]:
        """Return the commits since the last call."""
        try:
            if not self._file.is_file():  # opening a pipe would wait for its other end
                return []
            with self._file.open("rb") as stream:
                size = stream.seek(0, 2)
                start = self._read_to if self._read_to <= size else 0  # it was written anew, as `git gc` does
                stream.seek(max(start, size - MAX_BYTES))
                content = stream.read(MAX_BYTES)
        except OSError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        self._read_to = size - (len(content) - len(whole))
        lines = whole.decode("utf-8", "replace").splitlines()
        return [LoggedCommit(found["id"], found["subject"]) for line in lines if (found := _LINE.match(line))]
