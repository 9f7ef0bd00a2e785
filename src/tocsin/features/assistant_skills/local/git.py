"""The staged changes and the last commit of a git folder."""

import asyncio
import re
from pathlib import Path

from tocsin.core.process.git import GitCommands, GitFailedError, GitProgram, find_repository
from tocsin.features.assistant_skills.local.commit_message import ChangedFile, GitChange

MAX_DIFF_CHARS = 200_000
_DIFF = ("--no-color", "--find-renames")


class GitFolder:
    """The work tree around a folder; its methods raise GitFailedError for a repository that is refused."""

    def __init__(self, folder: Path, program: GitProgram) -> None:
        self._folder = folder
        self._program = program
        self._commands: GitCommands | None = None

    async def change(self) -> GitChange:
        """Return the staged changes, else the changes since the last commit, else the last commit."""
        subjects = tuple((await self._git("log", "-10", "--format=%s")).splitlines())
        for selected in (("--cached",), ("HEAD",)):
            if diff := await self._git("diff", *_DIFF, *selected):
                return GitChange(await self._files("diff", *selected), diff[:MAX_DIFF_CHARS], "", subjects)
        return await self.last_commit()

    async def last_commit(self) -> GitChange:
        """Return the last commit with its message."""
        subjects = tuple((await self._git("log", "-10", "--format=%s")).splitlines())
        diff = await self._git("show", "--format=", *_DIFF, "HEAD")
        message = await self._git("log", "-1", "--format=%B")
        return GitChange(await self._files("show", "--format=", "HEAD"), diff[:MAX_DIFF_CHARS], message, subjects[1:])

    async def committed_files(self, commit: str) -> tuple[str, ...]:
        """Return the files that a commit added or changed; empty for a merge."""
        words = ("diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "--diff-filter=AMR", "-z", commit)
        return tuple(path for path in (await self._git(*words)).split("\0") if path)

    async def _files(self, command: str, *selected: str) -> tuple[ChangedFile, ...]:
        statuses = (await self._git(command, *selected, "--name-status", "-z", "--find-renames")).split("\0")
        counts = (await self._git(command, *selected, "--numstat", "-z", "--no-renames")).split("\0")
        by_path = {
            found[3]: found for each in counts if (found := re.match(r"\n?(\d+|-)\t(\d+|-)\t(.+)", each, re.DOTALL))
        }
        files, left = list[ChangedFile](), [part for part in statuses if part]
        while len(left) >= 2:
            status = left.pop(0).strip()[:1]
            old = left.pop(0) if status in {"R", "C"} and len(left) > 1 else ""
            path = left.pop(0)
            found = by_path.get(path)
            added, removed = (int(found[n]) if found and found[n] != "-" else 0 for n in (1, 2))
            files.append(ChangedFile(path, "A" if status == "C" else status, added, removed, old))
        return tuple(files)

    async def _git(self, *words: str) -> str:
        """Return the output of git; empty if it fails, and outside a work tree."""
        if self._commands is None:
            place = await asyncio.to_thread(find_repository, self._folder, above=True)
            if place is None:
                return ""
            self._commands = await self._program.open(place)
        try:
            return await self._commands.text(*words, work_tree=self._commands.place.top)
        except GitFailedError:
            return ""
