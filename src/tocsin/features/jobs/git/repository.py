"""One repository: its branches, and the work trees of task jobs.

Branches are named by full references, commits by their hashes: no name can become an option. Where a name must stand
alone, git has checked it before (git-check-ref-format(1) refuses one that begins with a dash).
"""

import asyncio
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.process.git import GitCommands, GitFailedError
from tocsin.core.storage.files import make_directory
from tocsin.features.jobs.model import InvalidTaskJobError, TaskConflictError

MAX_BRANCHES = 200
_FIELDS = ("refname", "objectname", "committerdate:unix", "subject", "worktreepath", "HEAD")
_FORMAT = "".join(f"%({name})%00" for name in _FIELDS)
_HEADS = "refs/heads/"
_CREATED = "tocsin job "  # and the ID: what the log of a reference says of a branch that is ours


@dataclass(frozen=True, slots=True)
class BranchTip:
    """The commit of a branch, and its work tree."""

    name: str
    sha: str
    subject: str
    at: float
    checked_out: str = ""


class GitRepository:
    """A repository that task jobs may use."""

    def __init__(self, path: Path, commands: GitCommands, worktrees: Path) -> None:
        self.path = path
        self.commands = commands
        self._worktrees = Path(os.path.realpath(worktrees))  # as git names them

    async def git(self, *words: str, accepted: Sequence[int] = (0,)) -> str:
        """Return the output of a git command; raises GitFailedError."""
        return await self.commands.text(*words, accepted=accepted)

    async def default_branch(self) -> str:
        """Return the current branch of the repository; raises InvalidTaskJobError if there is none."""
        found = (await self.git("symbolic-ref", "--quiet", "HEAD", accepted=(0, 1))).strip()
        if not found.startswith(_HEADS):
            raise InvalidTaskJobError(
                f"{self.path} is not on a branch",
                hint="set base_branch to the branch to start from",
                body_key="base_branch",
            )
        return found.removeprefix(_HEADS)

    async def check_name(self, branch: str) -> None:
        """Raise InvalidTaskJobError for an invalid branch name."""
        hint = "use letters, digits and - . _ /, for example job/fix-login"
        if branch.startswith("-") or branch in {"", "HEAD", "@"} or "\0" in branch or len(branch) > 200:
            raise InvalidTaskJobError(f"{branch[:200]!r} is not a valid branch name", hint=hint, body_key="branch")
        try:
            await self.git("check-ref-format", f"{_HEADS}{branch}")
        except GitFailedError:
            raise InvalidTaskJobError(f"{branch!r} is not a valid branch name", hint=hint, body_key="branch") from None

    async def base_commit(self, branch: str) -> str:
        """Return the commit of a branch or remote-tracking branch; raises InvalidTaskJobError if it does not exist."""
        await self.check_name(branch)
        for ref in (f"{_HEADS}{branch}", f"refs/remotes/{branch}"):
            if found := await self._commit(ref):
                return found
        if not await self.branches(limit=1):
            raise InvalidTaskJobError(f"{self.path} has no commits", hint="create the first commit", body_key="repo")
        raise InvalidTaskJobError(
            f"{self.path} has no branch {branch!r}", hint="choose another base_branch", body_key="base_branch"
        )

    async def commit_of(self, branch: str) -> str | None:
        """Return the commit of a branch, `None` if it does not exist."""
        return await self._commit(f"{_HEADS}{branch}")

    async def _commit(self, ref: str) -> str | None:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return (await self.git(*words, accepted=(0, 1))).strip() or None

    async def branches(self, *refs: str, limit: int = MAX_BRANCHES) -> list[BranchTip]:
        """Return these branches, or those with the newest commits."""
        words = ("for-each-ref", f"--format={_FORMAT}", "--sort=-committerdate", f"--count={limit}")
        found = (await self.git(*words, *(refs or (_HEADS,)))).split("\0")
        rows = [found[n : n + len(_FIELDS)] for n in range(0, len(found) - len(_FIELDS) + 1, len(_FIELDS))]
        common = self.commands.place.common_dir
        main = str(common.parent) if common.name == ".git" else ""
        return [
            BranchTip(
                ref.lstrip("\n").removeprefix(_HEADS), sha, subject, float(at or 0), main if head == "*" else place
            )
            for ref, sha, at, subject, place, head in rows
        ]

    async def tip(self, branch: str) -> BranchTip | None:
        """Return the commit and work tree of a branch, `None` if it does not exist."""
        found = [tip for tip in await self.branches(f"{_HEADS}{branch}") if tip.name == branch]
        return found[0] if found else None

    async def create_branch(self, branch: str, sha: str, job_id: str) -> bool:
        """Create a branch; return False if it exists, unless it was created for this job.

        Raises GitFailedError.
        """
        self._refuse_links(branch)
        words = ("update-ref", "--no-deref", "--create-reflog", "-m", f"{_CREATED}{job_id}", f"{_HEADS}{branch}")
        try:
            await self.git(*words, sha, "0" * len(sha))
        except GitFailedError:
            if await self.commit_of(branch) is None:
                raise
            return await self.was_made_for(branch, job_id)
        return True

    def _refuse_links(self, branch: str) -> None:
        """Raise GitFailedError if git would write through a link, which a stranger may have pointed at any file."""
        common = self.commands.place.common_dir
        for written in (f"refs/heads/{branch}", f"logs/refs/heads/{branch}", "worktrees"):
            for path in (common / written, *(common / written).parents):
                if path == common:
                    break
                if path.is_symlink():
                    raise GitFailedError(f"{path} is a symbolic link", hint="replace it by its target")

    async def delete_branch(self, branch: str, sha: str) -> None:
        """Delete a branch if it points to commit `sha`; ignore a missing branch. Raises TaskConflictError."""
        try:
            await self.git("update-ref", "--no-deref", "-d", f"{_HEADS}{branch}", sha)
        except GitFailedError:
            now = await self.commit_of(branch)
            if now is None:
                return
            if now != sha:
                raise TaskConflictError(
                    f"branch {branch} now points to another commit", hint="look at it, then delete the branch again"
                ) from None
            raise

    async def was_made_for(self, branch: str, job_id: str) -> bool:
        """Whether the log of a branch says that it was made for a job."""
        words = ("log", "-g", "-n", "100", "--format=%gs", f"{_HEADS}{branch}", "--")
        return f"{_CREATED}{job_id}" in (await self.git(*words, accepted=(0, 128))).splitlines()

    def worktree_of(self, job_id: str) -> Path:
        """Return the path of the work tree of a job, which need not exist."""
        return self._worktrees / job_id

    def _state_of(self, job_id: str) -> Path:
        """Return the folder in the repository with the state of that work tree; git names it after the work tree."""
        return self.commands.place.common_dir / "worktrees" / job_id

    async def make_worktree(
        self, job_id: str, branch: str, started: Callable[[int], Awaitable[None]] | None = None
    ) -> Path:
        """Check the branch out for a job, unless that was done; `started` gets the process ID of git.

        Raises GitFailedError, and TaskConflictError for a branch that is checked out elsewhere.
        """
        folder = self.worktree_of(job_id)
        if await self.is_checked_out(job_id, branch):
            return folder
        await self.check_free(branch, job_id)
        self._refuse_links(branch)
        await asyncio.to_thread(self.remove_worktree, job_id)  # what a process left that was killed meanwhile
        await asyncio.to_thread(make_directory, self._worktrees)
        await self.commands.add_work_tree(folder, branch, started)
        return folder

    async def is_checked_out(self, job_id: str, branch: str) -> bool:
        """Whether the work tree of a job is complete and on its branch."""
        state = self._state_of(job_id)
        if not (state / "index").exists() or (state / "locked").exists() or not self.worktree_of(job_id).is_dir():
            return False
        found = await self.commands.text("symbolic-ref", "--quiet", "HEAD", accepted=(0, 1, 128), git_dir=state)
        return found.strip() == f"{_HEADS}{branch}"

    async def check_free(self, branch: str, job_id: str) -> None:
        """Raise TaskConflictError for a branch that is gone, or checked out elsewhere than for the job."""
        tip = await self.tip(branch)
        if tip is None:
            raise TaskConflictError(f"{self.path} no longer has a branch {branch!r}", hint="create another job")
        if tip.checked_out and Path(tip.checked_out) != self.worktree_of(job_id):
            hint = "switch that work tree to another branch"
            raise TaskConflictError(f"branch {branch} is checked out in {tip.checked_out}", hint=hint)

    async def is_dirty(self, job_id: str) -> bool | None:
        """Whether the work tree of a job has uncommitted changes; `None` without a work tree.

        Raises GitFailedError for one that git cannot read.
        """
        folder = self.worktree_of(job_id)
        if not folder.is_dir():
            return None
        words, state = ("status", "--porcelain", "-z", "--untracked-files=normal"), self._state_of(job_id)
        return bool((await self.commands.beginning(1, *words, git_dir=state, work_tree=folder)).data)

    def remove_worktree(self, job_id: str) -> None:
        """Remove the work tree of a job and its state, if they exist. Raises GitFailedError."""
        remove_folders_of(job_id, self._worktrees, self.commands.program.directories)
        _remove(self._state_of(job_id))


def remove_folders_of(job_id: str, *places: Path) -> None:
    """Remove the work tree of a job and its git directory, if they exist. Raises GitFailedError."""
    for place in places:
        _remove(place / job_id)


def _remove(folder: Path) -> None:
    """Remove a folder that may be gone, also one with folders that may not be written; raises GitFailedError."""
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder, onerror=_open_and_retry)
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
        raise GitFailedError(f"a work tree could not be removed: {reason}", hint="remove it manually") from None


def _open_and_retry(_: object, name: str, error: object) -> None:
    """Make a path writable, and remove it; `shutil.rmtree` calls this function."""
    path = Path(name)
    if not os.path.lexists(path):
        return
    for each in (path.parent, path):
        if not each.is_symlink():
            each.chmod(each.stat().st_mode | stat.S_IRWXU)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
