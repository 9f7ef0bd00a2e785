"""The difference between a branch and its base: counts, commits, files and a patch."""

import re
from dataclasses import dataclass

from tocsin.core.process.git import GitFailedError
from tocsin.features.jobs.git.repository import GitRepository
from tocsin.features.jobs.model import BranchCommit, BranchFile, DiffStat

MAX_COMMITS, MAX_FILES = 100, 1000
MAX_PATCH_BYTES = 512 * 1024
# Nothing of a repository's configuration or attributes decides what a difference looks like, or starts a program.
_DIFF = (
    "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BranchDistance:
    """How far a branch is from its base."""

    ahead: int
    behind: int
    diffstat: DiffStat

    @property
    def merged(self) -> bool:
        """Whether the base has all of the branch's commits."""
        return self.ahead == 0


@dataclass(frozen=True, slots=True)
class BranchPatch:
    """A patch, possibly truncated."""

    text: str
    truncated: bool


async def distance(repository: GitRepository, base: str, head: str) -> BranchDistance:
    """Return how far the commit `head` is from the commit `base`."""
    if base == head:
        return BranchDistance(0, 0, DiffStat())
    counts = await repository.git("rev-list", "--left-right", "--count", f"{base}...{head}", "--")
    behind, ahead = map(int, counts.split())
    if not ahead:
        return BranchDistance(0, behind, DiffStat())
    told = await repository.git(*_DIFF, "--shortstat", await _start(repository, base, head), head, "--")
    return BranchDistance(ahead, behind, _diffstat(told))


async def commits(repository: GitRepository, base: str, head: str) -> list[BranchCommit]:
    """Return the newest commits that the base has not."""
    words = ("log", "--no-color", "--no-show-signature", "--format=%H%x00%ct%x00%an%x00%s%x00", "-n", str(MAX_COMMITS))
    found = (await repository.git(*words, f"{base}..{head}", "--")).split("\0")
    rows = [found[n : n + 4] for n in range(0, len(found) - 4, 4)]
    return [BranchCommit(sha.lstrip("\n"), float(at), author, subject) for sha, at, author, subject in rows]


async def files(repository: GitRepository, base: str, head: str) -> list[BranchFile]:
    """Return the files that a branch changes, at most 1,000; lines of a binary file are not counted."""
    words = (*_DIFF, "--numstat", "-z", "--no-renames", await _start(repository, base, head), head, "--")
    output = await repository.commands.beginning(MAX_PATCH_BYTES, *words)
    rows = output.data.decode(errors="replace").split("\0")[:-1][:MAX_FILES]
    found = [re.fullmatch(r"(\d+|-)\t(\d+|-)\t(.+)", row, re.DOTALL) for row in rows]
    return [BranchFile(row[3], _lines(row[1]), _lines(row[2])) for row in found if row]


async def patch(repository: GitRepository, base: str, head: str) -> BranchPatch:
    """Return the patch of a branch, at most 512 KiB in whole lines."""
    words = (*_DIFF, await _start(repository, base, head), head, "--")
    output = await repository.commands.beginning(MAX_PATCH_BYTES, *words)
    data = output.data[: output.data.rfind(b"\n") + 1] if output.truncated else output.data
    return BranchPatch(data.decode(errors="replace"), output.truncated)


async def _start(repository: GitRepository, base: str, head: str) -> str:
    """Return the commit at which the branch left its base; the base itself if they share no history."""
    try:
        return (await repository.git("merge-base", base, head, accepted=(0, 1))).strip() or base
    except GitFailedError:  # a shallow history that ends before
        return base


def _diffstat(told: str) -> DiffStat:
    def count(words: str) -> int:
        found = re.search(rf"(\d+) {words}", told)
        return int(found[1]) if found else 0

    return DiffStat(count("files? changed"), count("insertion"), count("deletion"))


def _lines(text: str) -> int | None:
    return None if text == "-" else int(text)
