"""What a watched folder goes through: floods, limits of the kernel, folders that vanish, names of any bytes."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.watching.folder_watcher import FolderWatcher
from tocsin.core.watching.sources import WatchfilesSource

Told = list[tuple[str, str]]

LIMITED = """
import asyncio, sys
from pathlib import Path
from tocsin.core.watching.folder_watcher import FolderWatcher

async def main(folder):
    for number in range(6):
        (folder / f"sub{number}").mkdir()
    watcher = FolderWatcher(folder)
    batches = watcher.changes()
    coming = asyncio.ensure_future(anext(batches))
    await watcher.ready.wait()
    (folder / "sub5" / "new").write_text("1")
    found = await coming
    print(watcher.backend, [change.path for change in found], watcher.reason, sep="|")
    await batches.aclose()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "watched").mkdir()
    return tmp_path / "watched"


@asynccontextmanager
async def watching(folder: Path, **options: bool) -> AsyncIterator[tuple[FolderWatcher, Told]]:
    watcher, told = FolderWatcher(folder, ignore=False, **options), Told()

    async def collect() -> None:
        async for batch in watcher.changes():
            told.extend((str(change.kind), change.path) for change in batch)

    task = asyncio.create_task(collect())
    await asyncio.wait_for(watcher.ready.wait(), PATIENCE_S)
    yield watcher, told
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_nothing_is_missed_when_the_queue_of_the_kernel_overflows(folder: Path):
    for name in ("a", "b", "old"):
        (folder / name).write_text("1")
    queued = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    async with watching(folder) as (_, told):
        # The loop does not turn meanwhile: nobody reads the queue.
        for number in range(queued + 10):
            os.utime(folder / "ab"[number % 2], (number, number))
        (folder / "lost").write_text("1")
        (folder / "deep").mkdir()
        (folder / "deep" / "lost too").write_text("1")
        (folder / "old").unlink()
        await eventually(lambda: {("created", "lost"), ("created", "deep/lost too"), ("deleted", "old")} <= {*told})
        (folder / "deep" / "next").write_text("1")
        await eventually(lambda: ("created", "deep/next") in told)


async def test_five_thousand_files_that_are_made_at_once_are_all_told_once(folder: Path):
    async with watching(folder) as (_, told):
        for number in range(50):
            (folder / f"d{number}").mkdir()
            for file in range(100):
                os.close(os.open(folder / f"d{number}" / f"f{file}", os.O_CREAT | os.O_WRONLY))
        await eventually(lambda: len(told) >= 5000)
    assert len(told) == len({*told}) == 5000


async def test_a_folder_that_was_away_tells_the_difference_when_it_is_there_again(folder: Path):
    for name in ("stays", "goes"):
        (folder / name).write_text("1")
    async with watching(folder) as (watcher, told):
        folder.rename(folder.with_name("away"))
        await eventually(lambda: str(watcher.folder) in watcher.problem)
        (folder.with_name("away") / "goes").unlink()
        (folder.with_name("away") / "comes").write_text("1")
        folder.with_name("away").rename(folder)
        await eventually(lambda: {("deleted", "goes"), ("created", "comes")} == {*told})
        assert not watcher.problem
        (folder / "later").write_text("1")
        await eventually(lambda: ("created", "later") in told)


async def test_a_tree_that_is_renamed_deleted_or_moved_away_is_told_by_its_files(folder: Path):
    (folder / "a" / "deep").mkdir(parents=True)
    (folder / "a" / "deep" / "x").write_text("1")
    async with watching(folder) as (_, told):
        (folder / "a").rename(folder / "b")
        await eventually(lambda: told == [("moved", "b/deep/x")])
        (folder / "b" / "deep" / "y").write_text("1")
        await eventually(lambda: ("created", "b/deep/y") in told)
        (folder / "b").rename(folder.parent / "elsewhere")
        await eventually(lambda: {("deleted", "b/deep/x"), ("deleted", "b/deep/y")} <= {*told})
        shutil.copytree(folder.parent / "elsewhere", folder / "c")
        await eventually(lambda: {("created", "c/deep/x"), ("created", "c/deep/y")} <= {*told})
        shutil.rmtree(folder / "c")
        await eventually(lambda: {("deleted", "c/deep/x"), ("deleted", "c/deep/y")} <= {*told})


async def test_without_the_folders_below_only_the_folder_itself_is_watched(folder: Path):
    (folder / "sub").mkdir()
    async with watching(folder, recursive=False) as (_, told):
        (folder / "sub" / "x").write_text("1")
        (folder / "new").mkdir()
        (folder / "new" / "x").write_text("1")
        (folder / "top").write_text("1")
        await eventually(lambda: told)
        assert told[0] == ("created", "top")


async def test_names_of_any_bytes_are_told(folder: Path):
    name = os.fsdecode(b"caf\xe9\n")
    async with watching(folder) as (_, told):
        (folder / name).write_text("1")
        await eventually(lambda: told)
        assert told[0] == ("created", name)


async def test_a_polled_folder_tells_deletions_and_renamings_too(folder: Path):
    (folder / "a").write_text("1")
    (folder / "b").write_text("22")
    async with watching(folder, poll=True) as (watcher, told):
        assert watcher.backend == "polling"
        (folder / "a").unlink()
        (folder / "b").rename(folder / "c")
        await eventually(lambda: {("deleted", "a"), ("moved", "c")} == {*told})


def test_where_the_kernel_watches_no_more_folders_they_are_polled_and_it_says_what_to_do(folder: Path):
    # In a namespace of its own the limit is ours to set, and nobody else reaches it.
    script = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", script, "sh", sys.executable, "-c", LIMITED, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare failed" in ended.stderr or "Operation not permitted" in ended.stderr:
        pytest.skip("this machine allows no namespaces")
    backend, found, reason = ended.stdout.split("|")
    assert (backend, found) == ("polling", "['sub5/new']"), ended.stderr
    assert "limit fs.inotify.max_user_watches" in reason
    assert "sudo sysctl fs.inotify.max_user_watches=" in reason


async def test_what_the_package_for_macos_tells_is_taken_as_touched(folder: Path):
    source = WatchfilesSource([folder])
    source.start()
    await asyncio.sleep(0)
    (folder / "a").write_text("1")
    await asyncio.wait_for(source.wait(), PATIENCE_S)
    assert source.collect().paths == {str(folder / "a"): True}
    await source.aclose()
