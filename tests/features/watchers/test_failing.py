"""What people learn of files for which a watcher failed, and how they are acted on again."""

from pathlib import Path

from tests.features.watchers.conftest import Site

from tocsin.features.context import NoticeLevel, SubsystemState
from tocsin.features.watchers.hooks import check_subsystem, prune
from tocsin.features.watchers.model import WatchedChange, WatchEvent
from tocsin.runs.model import Run, RunTrigger

RULE = {"name": "scan", "command": 'grep -q good "$1"'}


async def act(site: Site, name: str, content: str) -> Run:
    path = site.folder / name
    path.write_text(content)
    return await site.watchers.run("scan", WatchedChange(WatchEvent.CREATED, str(path)), source="cli")


def told(site: Site) -> list[tuple[str, str]]:
    return [(notice.title, notice.level) for notice in site.bench.notices]


async def attention(site: Site) -> list[str]:
    return [item.message for item in (await check_subsystem(site.watchers)).attention if "failed" in item.message]


async def test_a_failed_file_is_told_once_and_stays_known_after_others_succeeded(site: Site):
    site.write(RULE)
    run = await act(site, "a", "bad")
    await act(site, "b", "bad")
    await act(site, "c", "good")
    assert told(site) == [("Watcher scan is failing", NoticeLevel.ERROR)]
    assert f"{site.folder}/a was created" in site.bench.notices[0].body
    assert f"`tocsin runs retry {run.id}`" in site.bench.notices[0].body
    assert ["`tocsin watchers retry scan --failed`" in message for message in await attention(site)] == [True]
    assert (await check_subsystem(site.watchers)).status == SubsystemState.DEGRADED


async def test_the_recovery_is_told_when_the_last_failed_file_succeeds(site: Site):
    site.write(RULE)
    for name in ("a", "b"):
        await act(site, name, "bad")
    await act(site, "a", "good")
    assert len(told(site)) == 1
    await act(site, "b", "good")
    await act(site, "b", "good")
    assert told(site)[1:] == [("Watcher scan succeeds again", NoticeLevel.SUCCESS)]
    assert await attention(site) == []


async def test_failed_files_are_acted_on_again_and_those_that_are_gone_are_skipped(site: Site):
    site.write(RULE, {"name": "other", "command": "false"})
    failed = [await act(site, name, "bad") for name in ("a", "b", "c")]
    await site.watchers.run("other", WatchedChange(WatchEvent.CREATED, str(site.folder / "a")), source="cli")
    (site.folder / "a").write_text("good")
    (site.folder / "c").unlink()
    again = [run async for run in site.watchers.retry_failed("scan", source="cli")]
    assert [(Path(run.params["path"]).name, str(run.status), run.retry_of) for run in again] == [
        ("a", "succeeded", failed[0].id),
        ("b", "failed", failed[1].id),
        ("c", "skipped", failed[2].id),
    ]
    assert {run.trigger for run in again} == {RunTrigger.RETRY}
    assert len(site.bench.audit("watcher.run")) == 7
    assert [run.params["path"] for run in await site.watchers.failed("scan")] == [str(site.folder / "b")]
    everywhere = [run.subject_name async for run in site.watchers.retry_failed(source="cli")]
    assert sorted(everywhere) == ["other", "scan"]


async def test_a_file_whose_failed_run_was_deleted_counts_as_failed_no_more(site: Site):
    site.write(RULE)
    old = await act(site, "a", "bad")
    await site.bench.app.runs().store.records.remove([old.id])
    await prune(site.watchers)
    await act(site, "b", "bad")
    assert len(told(site)) == 2, "the failure of another file is told again"
    assert await site.watchers.store.failed() != [old.id]
