"""Files are saved and commits made in a watched folder, and skills act on them."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.errors import ConfigError
from tocsin.core.time.clock import SystemClock
from tocsin.features.ability_records import AssistantRun
from tocsin.features.assistant_skills.feature import FEATURE
from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch
from tocsin.features.assistant_skills.watch.watch_service import LEASE, WatchService
from tocsin.scheduling.lease import Lease
from tocsin.testing.features import FeatureBench, open_feature

AWS = "AK" + "IAQ7XJ3LPWZ5NMBV2R"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[FeatureBench]:
    async with open_feature(FEATURE, tmp_path / "data") as bench:
        for name in ("code-reviewer", "security-auditor", "test-generator", "api-documenter", "readme-updater"):
            folder = tmp_path / "data" / "skills" / name
            folder.mkdir(parents=True, mode=0o700)
            text = (Path(bench.service.get(name).path) / "SKILL.md").read_text()
            (folder / "SKILL.md").write_text(text.replace("priority:", "enabled: false\npriority:", 1))
        yield bench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path / "project"], check=True)
    return tmp_path / "project"


@asynccontextmanager
async def watching(bench: FeatureBench, folder: Path) -> AsyncIterator[list[AssistantRun]]:
    ended: list[AssistantRun] = []
    watch = AssistantWatch(bench.service, [folder], on_run=ended.append)
    task = asyncio.create_task(watch.run())
    await watch.ready()
    yield ended
    task.cancel()
    await asyncio.wait([task])


def acted(ended: list[AssistantRun]) -> list[tuple[str, str]]:
    return [(each.run.subject_name, each.run.params["files"][0]) for each in ended]


async def test_skills_act_on_a_saved_file_in_their_order_and_findings_are_told(bench: FeatureBench, folder: Path):
    async with watching(bench, folder) as ended:
        (folder / "requirements.txt").write_text(f"requests\n# {AWS}\n")
        await eventually(lambda: len(ended) == 2)
    assert acted(ended) == [("dependency-auditor", "requirements.txt"), ("secret-scanner", "requirements.txt")]
    assert [str(notice.level) for notice in bench.notices] == ["warning", "error"]
    assert AWS not in str(bench.notices)
    assert {entry.source for entry in bench.audit("skill.assist")} == {"skills"}
    assert {str(each.run.trigger) for each in ended} == {"watcher"}


async def test_what_strangers_name_or_ignore_keeps_no_skill_from_other_files(bench: FeatureBench, folder: Path):
    async with watching(bench, folder) as ended:
        (folder / ".gitignore").write_text("[z-a]\n")
        await eventually(lambda: ended)
        (folder / "caf\udce9.py").write_text("x = 1\n")
        (folder / "a.txt").write_text(f"# {AWS}\n")
        await eventually(lambda: ("secret-scanner", "a.txt") in acted(ended))
    assert [str(notice.level) for notice in bench.notices] == ["error"]


async def test_the_output_of_a_watch_names_the_file_also_without_findings(bench: FeatureBench, folder: Path):
    lines: list[str] = []
    watch = AssistantWatch(bench.service, [folder], show=lambda line: lines.append(line.plain))
    task = asyncio.create_task(watch.run())
    await watch.ready()
    (folder / "a.txt").write_text("harmless")
    await eventually(lambda: lines)
    task.cancel()
    await asyncio.wait([task])
    assert lines == ["secret-scanner: a.txt: 0 findings"]


async def test_one_version_of_a_file_is_looked_at_once_by_all_who_watch(bench: FeatureBench, folder: Path):
    async with watching(bench, folder) as first, watching(bench, folder) as second:
        (folder / "a.txt").write_text("one")
        await eventually(lambda: len(first) + len(second) == 1)
        (folder / "a.txt").write_text("two")
        await eventually(lambda: len(first) + len(second) == 2)
        (folder / "a.txt").write_text("one")  # seen before
        (folder / "b.txt").write_text("one")
        await eventually(lambda: len(first) + len(second) == 3)
    assert sorted(acted(first + second)) == [("secret-scanner", "a.txt")] * 2 + [("secret-scanner", "b.txt")]


async def test_a_commit_is_for_the_skill_that_asks_for_commits(bench: FeatureBench, folder: Path):
    async with watching(bench, folder) as ended:
        (folder / "a.txt").write_text("one")
        await eventually(lambda: len(ended) == 1)
        git = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.org"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "wip"], check=True)
        await eventually(lambda: ("git-commit-helper", ".git/COMMIT_EDITMSG") in acted(ended))
    assert acted(ended).count(("secret-scanner", "a.txt")) == 1, "the commit has the version that was saved"
    (helper,) = [each for each in ended if each.run.subject_name == "git-commit-helper"]
    assert [finding.suggestion for finding in helper.findings] == ["Add a.txt"]


async def test_a_keyword_in_the_message_has_a_skill_look_again(bench: FeatureBench, folder: Path):
    async with watching(bench, folder) as ended:
        (folder / "a.txt").write_text("one")
        await eventually(lambda: len(ended) == 1)
        git = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.org"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "Take leaked credentials out of the notes"], check=True)
        await eventually(lambda: acted(ended).count(("secret-scanner", "a.txt")) == 2)


async def test_a_file_of_a_gigabyte_and_a_link_are_left_alone(bench: FeatureBench, folder: Path):
    async with watching(bench, folder) as ended:
        with (folder / "large").open("wb") as stream:
            stream.truncate(1024**3)
        (folder / "link").symlink_to("/etc/passwd")
        (folder / "small.txt").write_text("one")
        await eventually(lambda: len(ended) == 1)
    assert acted(ended) == [("secret-scanner", "small.txt")]


async def test_one_of_two_processes_watches_and_the_other_takes_over(bench: FeatureBench, folder: Path):
    context, made = bench.service.context, list[str]()

    def service(name: str) -> WatchService:
        def make() -> AssistantWatch:
            made.append(name)
            return AssistantWatch(bench.service, [folder])

        return WatchService(make, Lease(context.database, LEASE, SystemClock(), holder=name), SystemClock())

    first, second = service("first"), service("second")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(first.run())
        await eventually(lambda: made == ["first"])
        group.create_task(second.run())
        first.stop()
        await running
        await eventually(lambda: made == ["first", "second"])
        second.stop()


async def test_what_skills_invoke_is_queued_no_more_when_the_watch_has_ended(bench: FeatureBench, folder: Path):
    async with watching(bench, folder):
        assert bench.service.runner().queue is not None
    assert bench.service.runner().queue is None


async def test_a_folder_that_cannot_be_watched_is_told_in_a_sentence(bench: FeatureBench, folder: Path):
    with pytest.raises(ConfigError, match="missing"):
        await AssistantWatch(bench.service, [folder, folder / "missing"]).run()


async def test_without_folders_the_service_watches_nothing(bench: FeatureBench):
    (service,) = bench.features.services()
    running = asyncio.create_task(service.run())
    service.stop()
    await asyncio.wait_for(running, PATIENCE_S)
