"""The repositories that task jobs may use."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tocsin.core.errors import NotFoundError
from tocsin.core.process.git import GitFailedError, GitProgram, find_repository
from tocsin.features.jobs.git.repository import GitRepository


class RepositoryNotAllowedError(NotFoundError):
    """The repository does not exist, or is not below a folder of JOB_REPOSITORIES: the error is the same."""


class RepositoryPlaces:
    """The folders below which repositories may be used; `worktrees` is the folder of their work trees."""

    def __init__(self, folders: Sequence[Path], program: GitProgram, worktrees: Path) -> None:
        self.folders = tuple(folders)
        self.program = program
        self.worktrees = worktrees

    async def open(self, named: str) -> GitRepository:
        """Return the repository of a path, which may start below one of the folders.

        Raises RepositoryNotAllowedError, and GitFailedError for a repository that git cannot use.
        """
        path = self._locate(named)
        found = await asyncio.to_thread(find_repository, path)
        if found is None:
            hint = "use the folder that contains .git, or a bare repository"
            raise RepositoryNotAllowedError(f"{path} is not the top of a git repository", hint=hint)
        if not self._is_allowed(found.common_dir):
            raise _not_allowed(named, self.folders)
        if not self.program.trusted and found.common_dir.stat().st_uid != os.geteuid():
            hint = "make the user of Tocsin its owner"
            raise GitFailedError(f"{path} belongs to another user (dubious ownership)", hint=hint)
        place = replace(found, git_dir=found.common_dir)
        return GitRepository(path, await self.program.open(place), self.worktrees)

    def _locate(self, named: str) -> Path:
        """Return the real path of a folder that is named in full, or from one of the folders."""
        starts = [Path("/")] if named.startswith("/") else self.folders
        for start in starts if named and "\0" not in named else ():
            path = Path(os.path.realpath(start / named))
            if self._is_allowed(path) and os.path.isdir(path):  # noqa: PTH112  # false where a name is too long
                return path
        raise _not_allowed(named, self.folders)

    def _is_allowed(self, path: Path) -> bool:
        return any(path.is_relative_to(os.path.realpath(folder)) for folder in self.folders)


def _not_allowed(named: str, folders: Sequence[Path]) -> RepositoryNotAllowedError:
    if not folders:
        return RepositoryNotAllowedError(
            "no repositories are allowed", hint="add their parent folder to JOB_REPOSITORIES"
        )
    shown = ", ".join(map(str, folders))
    return RepositoryNotAllowedError(
        f"repository {named[:200]!r} not found below {shown}", hint="choose another one, or extend JOB_REPOSITORIES"
    )
