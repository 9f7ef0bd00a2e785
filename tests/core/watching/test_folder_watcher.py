"""A real folder is watched: what is told of each thing that people and editors do."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from tocsin.core.errors import ConfigError
from tocsin.core.watching.commit_log import CommitLog
from tocsin.core.watching.folder_watcher import FileChange, FolderWatcher
from tocsin.core.watching.ignored_files import IgnoreRules, is_temporary

Told = tuple[str, str, str]


class Watched:
    """A watched folder; `after` does something and returns what is told of it."""

    def __init__(self, folder: Path, batches: "asyncio.Queue[tuple[FileChange, ...]]") -> None:
        self.folder = folder
        self._batches = batches
        self._marks = 0

    async def after(self, act: Callable[[], object]) -> list[Told]:
        act()
        # What comes before the mark is what was told of the act, also if that is nothing.
        self._marks += 1
        mark = f"mark-{self._marks}"
        (self.folder / mark).write_text("")
        told: list[FileChange] = []
        while not any(change.path == mark for change in told):
            told += await asyncio.wait_for(self._batches.get(), PATIENCE_S)
        return [(str(c.kind), c.path or c.subject, c.old_path) for c in told if not c.path.startswith("mark-")]


@asynccontextmanager
async def watching(folder: Path, *, poll: bool | None = None, ignore: bool = True) -> AsyncIterator[Watched]:
    watcher, stop = FolderWatcher(folder, poll=poll, ignore=ignore), asyncio.Event()
    batches: asyncio.Queue[tuple[FileChange, ...]] = asyncio.Queue()

    async def collect() -> None:
        async for batch in watcher.changes(stop):
            batches.put_nowait(batch)

    task = asyncio.create_task(collect())
    await asyncio.wait_for(watcher.ready.wait(), PATIENCE_S)
    yield Watched(watcher.folder, batches)
    stop.set()
    await task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.py").write_text("1")
    (folder / "sub" / "x.py").write_text("1")
    return folder


def git(folder: Path, *words: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, check=True, capture_output=True)


async def test_each_thing_that_happens_is_told_once_as_what_it_is(folder: Path):
    async with watching(folder) as watched:
        assert await watched.after(lambda: (folder / "a.py").write_text("2")) == [("modified", "a.py", "")]
        assert await watched.after(lambda: (folder / "b.py").write_text("2")) == [("created", "b.py", "")]
        assert await watched.after(lambda: (folder / "b.py").rename(folder / "c.py")) == [("moved", "c.py", "b.py")]
        assert await watched.after((folder / "c.py").unlink) == [("deleted", "c.py", "")]
        moved = await watched.after(lambda: (folder / "sub").rename(folder / "sub2"))
        assert moved == [("moved", "sub2/x.py", "sub/x.py")]


@pytest.mark.skipif(sys.platform != "linux", reason="only inotify tells in which order files were touched")
async def test_files_that_change_at_once_are_told_in_the_order_in_which_they_changed(folder: Path):
    def write() -> None:
        for name in ("d", "b", "a", "c"):
            (folder / name).write_text(name)

    async with watching(folder) as watched:
        assert [path for _, path, _ in await watched.after(write)] == ["d", "b", "a", "c"]


async def test_an_editor_that_writes_beside_the_file_and_renames_has_changed_it(folder: Path):
    def save() -> None:
        (folder / "a.py").rename(folder / "a.py~")
        (folder / "4913").write_text("")
        (folder / "4913").unlink()
        (folder / ".a.py.swp").write_text("x")
        (folder / "new-content").write_text("3")
        (folder / "new-content").rename(folder / "a.py")

    async with watching(folder) as watched:
        told = await watched.after(save)
        assert {(kind, path) for kind, path, _ in told} <= {("modified", "a.py"), ("moved", "a.py")}
        assert len(told) == 1


async def test_a_tree_that_is_copied_in_is_told_file_by_file(folder: Path):
    def copy() -> None:
        shutil.copytree(folder / "sub", folder / "new" / "deep")

    async with watching(folder) as watched:
        assert await watched.after(copy) == [("created", "new/deep/x.py", "")]


async def test_what_git_ignores_is_not_told_until_the_rules_change(folder: Path):
    (folder / ".gitignore").write_text("build/\n*.log\n")
    (folder / "build").mkdir()
    async with watching(folder) as watched:
        assert await watched.after(lambda: (folder / "build" / "x").write_text("1")) == []
        assert await watched.after(lambda: (folder / "x.log").write_text("1")) == []
        await watched.after(lambda: (folder / ".gitignore").write_text("build/\n"))
        assert ("created", "x.log", "") in await watched.after(lambda: (folder / "x.log").write_text("2"))
    async with watching(folder, ignore=False) as watched:
        assert await watched.after(lambda: (folder / "build" / "y").write_text("1")) == [("created", "build/y", "")]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "rules", ["[z-a]\n*.log\n", "[[:foo:]]\n*.log\n", f"{'?' * 40_000}\n*.log\n"], ids=["range", "class", "long"]
)
async def test_rules_that_are_none_stop_nothing_and_leave_the_others_in_force(folder: Path, rules: str):
    async with watching(folder) as watched:
        await watched.after(lambda: (folder / ".gitignore").write_text(rules))
        assert await watched.after(lambda: (folder / "x.log").write_text("1")) == []
        assert await watched.after(lambda: (folder / "b.py").write_text("1")) == [("created", "b.py", "")]


async def test_more_rules_than_can_be_matched_together_ignore_nothing(folder: Path):
    (folder / ".gitignore").write_text("".join(f"**/x{n}/**/{'y*' * 20}z\n" for n in range(1000)) + "*.log\n")
    assert not IgnoreRules(folder).ignores("x.log")


async def test_a_name_of_any_bytes_is_told_in_a_folder_with_rules(folder: Path):
    (folder / ".gitignore").write_text("*.log\n")
    async with watching(folder) as watched:
        told = await watched.after(lambda: (folder / "caf\udce9.py").write_text("1"))
        assert told == [("created", "caf\udce9.py", "")]


async def test_links_pipes_and_directories_alone_are_not_files(folder: Path):
    def make() -> None:
        (folder / "link").symlink_to("/etc/passwd")
        os.mkfifo(folder / "pipe")
        (folder / "empty").mkdir()

    async with watching(folder) as watched:
        assert await watched.after(make) == []


async def test_a_commit_is_told_with_its_subject_and_a_checkout_is_not_one(folder: Path):
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Begin")
    async with watching(folder) as watched:
        (folder / "a.py").write_text("2")
        told = await watched.after(lambda: git(folder, "commit", "-qam", "Say two"))
        assert ("committed", "Say two", "") in told
        told = await watched.after(lambda: git(folder, "commit", "-q", "--amend", "-m", "Say 2"))
        assert told == [("committed", "Say 2", "")]
        assert await watched.after(lambda: git(folder, "checkout", "-qb", "other")) == []


async def test_commits_of_a_linked_work_tree_are_told(folder: Path, tmp_path: Path):
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Begin")
    git(folder, "worktree", "add", "-q", str(tmp_path / "linked"))
    async with watching(tmp_path / "linked") as watched:
        told = await watched.after(lambda: git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "Linked"))
        assert told == [("committed", "Linked", "")]


async def test_a_folder_that_the_kernel_does_not_watch_is_polled(folder: Path):
    async with watching(folder, poll=True) as watched:
        assert await watched.after(lambda: (folder / "b.py").write_text("2")) == [("created", "b.py", "")]


async def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="none"):
        async for _ in FolderWatcher(tmp_path / "none").changes():
            pass


@pytest.mark.parametrize(
    "name",
    [
        "a.py~",
        ".a.py.swp",
        ".a.py.swx",
        "4913",
        ".#a.py",
        "#a.py#",
        "a.py___jb_tmp___",
        ".goutputstream-X1Y2Z3",
        "x.tmp",
    ],
)
def test_temporary_files_of_editors_are_known(name: str):
    assert is_temporary(name)


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("a.log", True), ("sub/a.log", True), ("keep.log", False), ("build/x", True), ("sub/build/x", True),
        ("top", True), ("sub/top", False), ("sub/only-here.txt", True), ("only-here.txt", False),
        ("sub/again.log", False), ("build/keep.log", True), (".git/config", True), ("a.py~", True), ("a.py", False),
    ],
)  # fmt: skip
def test_the_rules_are_those_of_git(tmp_path: Path, path: str, ignored: bool):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n/top\n")
    (tmp_path / "sub" / ".gitignore").write_text("only-here.txt\n!again.log\n")
    assert IgnoreRules(tmp_path).ignores(path) is ignored


def test_a_pipe_or_a_huge_file_in_the_place_of_what_git_writes_stops_nothing(tmp_path: Path):
    (tmp_path / ".git" / "logs").mkdir(parents=True)
    os.mkfifo(tmp_path / ".git" / "logs" / "HEAD")
    assert CommitLog(tmp_path).new() == []
    shutil.rmtree(tmp_path / ".git")
    with (tmp_path / ".git").open("wb") as pointer:
        pointer.truncate(1024**3)
    assert CommitLog(tmp_path).new() == []
