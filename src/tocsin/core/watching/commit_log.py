"""New commits, from git's log of the checked-out branch.

Git appends a line to `logs/HEAD` for every change of the branch, so git need not be called.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tocsin.core.process.git import git_directory

MAX_BYTES = 1024 * 1024
# "<old> <new> <name> <mail> <time> <zone>\t<what>: <subject>"; pulls, rebases and checkouts bring commits of other
# authors.
_LINE = re.compile(
    r"[0-9a-f]{40,64} (?P<id>[0-9a-f]{40,64}) .*\t(?:commit|cherry-pick|revert)(?: \([\w -]+\))?: (?P<subject>.*)"
)


class LoggedCommit(NamedTuple):
    """A commit that was made in this work tree."""

    id: str
    subject: str


class CommitLog:
    """The log of the work tree at the top of a folder; without git, it stays empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (git_directory(folder) or folder / ".git") / "logs" / "HEAD"
        self._read_to = 0

    def places(self) -> list[Path]:
        """Return the directories to watch; those of a linked work tree are elsewhere."""
        return [place for place in (self._file.parent.parent, self._file.parent) if place.is_dir()]

    def outside(self) -> list[Path]:
        """Return the directories to watch outside the folder."""
        return [place for place in self.places() if not place.is_relative_to(self._folder)]

    def may_have_grown(self, path: str) -> bool:
        """Whether an event of a path may mean a new line; a new folder hides events of the log itself."""
        place = str(self._file.parent.parent)
        return path == place or path.startswith(f"{place}/")

    def skip(self) -> None:
        """Skip the existing commits."""
        with suppress(OSError):
            self._read_to = self._file.stat().st_size

    def new(self) -> list[LoggedCommit]:
        """Return the commits since the last call."""
        try:
            if not self._file.is_file():  # opening a pipe would block until its other end is open
                return []
            with self._file.open("rb") as stream:
                size = stream.seek(0, 2)
                start = self._read_to if self._read_to <= size else 0  # it was rewritten, as by `git gc`
                stream.seek(max(start, size - MAX_BYTES))
                content = stream.read(MAX_BYTES)
        except OSError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        self._read_to = size - (len(content) - len(whole))
        lines = whole.decode("utf-8", "replace").splitlines()
        return [LoggedCommit(found["id"], found["subject"]) for line in lines if (found := _LINE.match(line))]
