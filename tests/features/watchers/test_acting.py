"""Files change in a watched folder, and rules act on them."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.facts import mentions
from tests.features.watchers.conftest import Site, open_site
from tests.waiting import eventually

from tocsin.core.process.identity import own_identity
from tocsin.core.records.as_json import to_json
from tocsin.features.watchers.feature import FEATURE
from tocsin.features.watchers.model import WatchedChange, WatchEvent
from tocsin.features.watchers.watching.content import text_below
from tocsin.features.watchers.work import service_of
from tocsin.runs.control import Retry, StartRequest
from tocsin.runs.model import RunStatus, RunTrigger
from tocsin.testing.features import open_feature

SHOWN = 'printf "%s|" "$0" "$1" "$WATCH_PATH" "$WATCH_EVENT" "$WATCH_OLD_PATH" "$WATCH_NAME" "$PWD"'


async def test_each_event_runs_the_command_with_the_path_as_an_argument_and_is_a_run(site: Site):
    site.write({"name": "show", "command": SHOWN, "events": ["created", "modified", "moved", "deleted"]})
    hostile = site.folder / "a $(touch pwned) '; x"
    async with site.watching():
        hostile.write_text("1")
        await site.acted(1)
        hostile.write_text("22")
        await site.acted(2)
        hostile.rename(site.folder / "b")
        await site.acted(3)
        (site.folder / "b").unlink()
        name = hostile.name
        acted = await site.acted(4)
    assert acted == [("created", name), ("modified", name), ("moved", "b"), ("deleted", "b")]
    run = (await site.runs())[2]
    assert (run.kind, run.trigger, run.status) == ("watcher", "watcher", RunStatus.SUCCEEDED)
    there = site.folder / "b"
    assert run.output.tail == f"show|{there}|{there}|moved|{hostile}|show|{site.folder}|"
    assert not (site.folder / "pwned").exists()
    entries = site.bench.audit("watcher.run")
    assert [(e.metadata["file_event"], e.metadata["run"], e.source) for e in entries[2:3]] == [
        ("moved", run.id, "watchers")
    ]
    record = to_json(await site.watchers.find_rule("show"))
    assert record["last_run"]["id"] == record["recent"][0]["run_id"]
    assert {**record["recent"][1], "at": ""} == {"at": "", "type": "moved", "path": str(there), "run_id": run.id}
    assert (record["events_24h"], record["last_event"]["type"]) == (4, "deleted")


async def test_a_name_of_any_bytes_is_acted_on_and_takes_no_other_file_along(site: Site):
    site.write({"name": "show", "command": "true", "patterns": ["*.csv"]})
    async with site.watching():
        (site.folder / "caf\udce9.csv").write_text("1")
        (site.folder / "b.csv").write_text("1")
        acted = await site.acted(2)
    assert ("created", "b.csv") in acted


def test_what_a_skill_gets_to_read_is_never_behind_a_link_in_the_watched_folder(tmp_path: Path):
    folder, secret = tmp_path / "watched", tmp_path / "outside"
    (folder / "real").mkdir(parents=True)
    secret.mkdir()
    (secret / "note").write_text("secret")
    (folder / "real" / "note").write_text("told")
    (folder / "file").symlink_to(secret / "note")
    (folder / "linked").symlink_to(secret)
    (tmp_path / "entrance").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    names = ["real/note", "file", "linked/note", "pipe", "gone", "real"]
    assert [text_below(folder, folder / name, 10) for name in names] == ["told", "", "", "", "", ""]
    assert text_below(tmp_path / "entrance", tmp_path / "entrance" / "real" / "note", 10) == "told"
    assert text_below(tmp_path / "entrance", folder / "real" / "note", 10) == "told"
    assert text_below(folder, folder / "real" / "note", 3) == ""


async def test_the_environment_of_a_command_has_no_secret_of_ours(tmp_path: Path, monkeypatch: Any):
    async with open_feature(FEATURE, tmp_path, {"GATEWAY_TOKEN": "hidden-value", "PLAIN": "shown"}) as bench:
        bench.service.rules.path.write_text(f"- {{name: env, path: {tmp_path}, command: env}}\n")
        run = await bench.service.run("env", WatchedChange(WatchEvent.CREATED, f"{tmp_path}/x"), source="cli")
        printed = await bench.app.runs().text(run.id, 10_000)
    assert "PLAIN=shown" in printed
    assert "hidden-value" not in printed


async def test_a_name_that_is_no_text_reaches_the_command_as_it_is(site: Site):
    site.write({"name": "bytes", "command": 'test -e "$1" && printf %s "${1##*/}" | od -An -tx1'})
    async with site.watching():
        (site.folder / os.fsdecode(b"caf\xe9")).write_text("1")
        assert await site.acted() == [("created", "caf\N{REPLACEMENT CHARACTER}")]
    [run] = await site.runs()
    assert run.output.tail.strip() == "63 61 66 e9"


async def test_a_skill_gets_the_path_and_the_content_a_workflow_parameters_and_a_notice_is_told(tmp_path: Path):
    asked: list[Any] = []

    async def run_skill(name: str, **call: Any) -> Any:
        asked.append((name, call["args"], call["input"], call["cause"], call["source"], call["folder"]))
        return await helper.run("child", WatchedChange(WatchEvent.CREATED, "/x"), source="cli")

    async def start_run(kind: str, subject: str, request: StartRequest, /) -> Any:
        asked.append((kind, subject, dict(request.offers)))
        change = WatchedChange(WatchEvent.CREATED, "/x")
        return await helper.start("failing", change, StartRequest(source="cli", cause="watcher"))

    abilities = {"skills": SimpleNamespace(run=run_skill), "run_starter": SimpleNamespace(start=start_run)}
    async with open_site(tmp_path, abilities=abilities) as site:
        helper = site.watchers
        site.write(
            {"name": "child", "command": "echo did it"},
            {"name": "failing", "command": "echo no; exit 3"},
            {"name": "skill", "action": "skill", "command": "greet --loud"},
            {"name": "flow", "action": "workflow", "command": "nightly"},
            {"name": "tell", "action": "notify", "command": "A scan came in"},
        )
        path = site.folder / "a.txt"
        path.write_text("content")
        done = {
            name: await site.watchers.run(name, WatchedChange(WatchEvent.MODIFIED, str(path)), source="cli")
            for name in ("skill", "flow", "tell")
        }
        assert asked == [
            ("greet", ["--loud", str(path)], "content", RunTrigger.MANUAL, "watchers", site.folder),
            ("workflow", "nightly", {"path": str(path), "event": "modified"}),
        ]
        assert {name: run.status for name, run in done.items()} == {
            "skill": "succeeded", "flow": "failed", "tell": "succeeded",
        }  # fmt: skip
        assert "did it" in done["skill"].output.tail
        assert "exit code 3" in str(done["flow"].reason)
        [*_, notice] = site.bench.notices
        assert (notice.title, notice.body) == ("A scan came in", f"{path} was modified")


async def test_output_is_sent_where_a_rule_says_and_a_success_without_a_word_is_not(tmp_path: Path):
    async with open_site(tmp_path) as site:
        site.write(
            {"name": "says", "command": "echo found it", "output": "nowhere:x"},
            {"name": "quiet", "command": "true", "output": "nowhere:x"},
            {"name": "fails", "command": "exit 3", "output": "nowhere:x"},
        )
        change = WatchedChange(WatchEvent.CREATED, str(site.folder / "a"))
        delivered = {
            name: (await site.watchers.run(name, change, source="cli")).delivery for name in ("says", "quiet", "fails")
        }
        # There is no such channel: that it was tried shows in the result.
        assert {name: str(each.status) for name, each in delivered.items()} == {
            "says": "failed", "quiet": "none", "fails": "failed",
        }  # fmt: skip
        assert "nowhere" in delivered["says"].results[0].result.error
        [finding] = [f for f in await site.bench.findings() if "output of says" in f.detail]
        assert finding.state == "warning"


async def test_rules_are_read_again_when_the_file_changes_and_a_broken_edit_leaves_them_in_force(site: Site):
    site.write({"name": "one", "command": "true"})
    async with site.watching():
        site.watchers.rules.path.write_text("- {name: one, pth: /x}\n")
        await eventually(lambda: ["watchers.yaml" in notice.title for notice in site.bench.notices] == [True])
        (site.folder / "a").write_text("1")
        assert await site.acted(1, "one") == [("created", "a")]
        [finding] = [f for f in await site.bench.findings() if f.state == "error"]
        assert mentions(finding.detail, "'pth'", "'path'")
        site.write({"name": "two", "command": "true"})

        async def is_watched() -> bool:
            return [r.state for r in await site.watchers.list_rules()] == ["watching"]

        await eventually(is_watched)
        (site.folder / "b").write_text("1")
        assert await site.acted(1, "two") == [("created", "b")]
    assert await site.acted(1, "one") == [("created", "a")]


async def test_a_rule_that_was_disabled_does_not_act_until_it_is_enabled(site: Site):
    site.write({"name": "one", "command": "true"}, {"name": "other", "command": "true"})
    await site.watchers.disable("one", source="cli")
    async with site.watching():
        (site.folder / "a").write_text("1")
        await site.acted(1, "other")
        assert [r.state for r in await site.watchers.list_rules()] == ["paused", "watching"]
        await site.watchers.enable("one", source="cli")

        async def is_watched() -> bool:
            return (await site.watchers.find_rule("one")).record.state == "watching"

        await eventually(is_watched)
        (site.folder / "b").write_text("1")
        assert await site.acted(1, "one") == [("created", "b")]
    switched = [entry for entry in site.bench.audit() if entry.action != "watcher.run"]
    assert [(entry.action, entry.metadata["watcher"]) for entry in switched] == [
        ("watcher.disable", "one"), ("watcher.enable", "one"),
    ]  # fmt: skip


async def test_a_folder_that_is_not_there_is_an_error_until_it_is(site: Site):
    site.folder.rmdir()
    site.write({"name": "one", "command": "true"})
    async with site.watching():
        record = to_json(await site.watchers.find_rule("one"))
        assert (record["state"], "folder" in record["error"]) == ("error", True)
        [status] = [await load_subsystem(site)]
        assert (str(status.status), status.attention[0].message.startswith("watcher one: ")) == ("degraded", True)
        site.folder.mkdir()

        async def is_watched() -> bool:
            return (await site.watchers.find_rule("one")).record.state == "watching"

        await eventually(is_watched)
        (site.folder / "a").write_text("1")
        assert await site.acted() == [("created", "a")]
    assert [(e.metadata["watcher"], e.metadata["ok"]) for e in site.bench.audit("watcher.error")] == [("one", False)]
    assert ["Watcher" in notice.title for notice in site.bench.notices] == [True]


async def test_a_lasting_error_is_reported_once_by_any_process_and_again_after_it_was_gone(site: Site):
    def told() -> list[str]:
        return [notice.title for notice in site.bench.notices]

    site.folder.rmdir()
    site.write({"name": "one", "command": "true"})
    async with site.watching():
        await eventually(told)
    site.watchers.rules.path.write_text("- name: one\n  pat: x\n")
    for _ in range(2):
        async with site.watching():
            await eventually(lambda: len(told()) > 1)
    assert ["watchers.yaml" in title for title in told()] == [False, True]
    site.folder.mkdir()
    site.write({"name": "one", "command": "true"})
    async with site.watching():
        await eventually(lambda: is_state(site, "watching"))
        site.folder.rmdir()
        await eventually(lambda: is_state(site, "error"))
        site.watchers.rules.path.write_text("- name: one\n  pat: x\n")
        await eventually(lambda: len(told()) > 3)
    assert ["watchers.yaml" in title for title in told()[2:]] == [False, True]
    assert len(site.bench.audit("watcher.error")) == 2


async def is_state(site: Site, state: str) -> bool:
    return bool((await site.watchers.find_rule("one")).record.state == state)


async def load_subsystem(site: Site) -> Any:
    from tocsin.features.watchers.hooks import check_subsystem

    return await check_subsystem(site.watchers)


async def test_where_a_folder_is_polled_that_is_said(site: Site):
    site.write({"name": "one", "command": "true"})
    async with site.watching(poll=True):
        record = to_json(await site.watchers.find_rule("one"))
        assert (record["state"], record["backend"], record["error"]) == ("watching", "polling", None)
        (site.folder / "a").write_text("1")
        assert await site.acted() == [("created", "a")]
    after = to_json(await site.watchers.find_rule("one"))
    assert (after["state"], "`tocsin up`" in after["error"]) == ("paused", True)


async def test_one_of_two_processes_watches_and_what_the_first_left_is_acted_on_by_the_next(site: Site):
    site.write({"name": "one", "command": "true"})
    # What a process has noted that was killed before it could act.
    [rule] = await site.watchers.all()
    left = WatchedChange(WatchEvent.CREATED, str(site.folder / "left"))
    await site.watchers.store.note({rule: [left]}, site.bench.app.clock.now())
    async with site.watching(), site.watching(holder=own_identity().replace(":", "1:", 1)):
        (site.folder / "a").write_text("1")
        assert sorted(await site.acted(2)) == [("created", "a"), ("created", "left")]
    async with site.watching():
        (site.folder / "b").write_text("1")
        await site.acted(3)
    assert len(await site.runs()) == 3


async def test_runs_of_one_rule_follow_each_other_and_rules_do_not_wait_for_each_other(site: Site):
    gate = site.folder.parent / "gate"
    site.write(
        {"name": "slow", "command": f"while [ ! -e {gate} ]; do sleep 0.01; done", "patterns": ["s*"]},
        {"name": "quick", "command": "true", "patterns": ["q*"]},
    )
    async with site.watching():
        for name in ("s1", "s2", "q1"):
            (site.folder / name).write_text("1")
        await site.acted(1, "quick")
        active = (await site.bench.app.runs().search("watcher", "slow")).items
        assert [run.status for run in active] == ["running"]
        gate.touch()
        assert await site.acted(2, "slow") == [("created", "s1"), ("created", "s2")]


async def test_an_earlier_run_can_be_started_again(site: Site):
    site.write({"name": "one", "command": "exit 3"})
    path = str(site.folder / "a")
    first = await site.watchers.run("one", WatchedChange(WatchEvent.CREATED, path), source="cli")
    site.write({"name": "one", "command": "true"})
    request = StartRequest(source="cli", cause=RunTrigger.RETRY, params=first.params, retry=Retry(first))
    again = await site.bench.features.abilities.run_starter.start("watcher", "one", request)
    ended = await again.wait()
    assert (ended.status, ended.retry_of, ended.params["path"]) == ("succeeded", first.id, path)
    assert await site.bench.features.abilities.run_starter.subjects("watcher") == ["one"]


async def test_a_state_that_could_not_be_noted_is_noted_by_the_next_step(site: Site, caplog: pytest.LogCaptureFixture):
    async def execute(sql: str) -> None:
        await site.bench.app.database.write(lambda connection: connection.execute(sql).fetchall())

    async def is_noted() -> bool:
        return bool((await site.watchers.find_rule("away")).record.state == "error")

    site.write({"name": "away", "path": f"{site.folder}/missing", "command": "true"})
    stuck = "WHEN new.error <> '' BEGIN SELECT RAISE(ABORT, 'full'); END"
    await execute(f"CREATE TRIGGER full BEFORE INSERT ON watcher_states {stuck}")
    service = service_of(site.watchers)
    task = asyncio.create_task(service.run())
    await eventually(lambda: "service" in caplog.text)
    await execute("DROP TRIGGER full")
    await eventually(is_noted)
    await eventually(lambda: bool(site.bench.notices))  # told after it is noted
    service.stop()
    await task
    assert ["Watcher" in notice.title for notice in site.bench.notices] == [True]
