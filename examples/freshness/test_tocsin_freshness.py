"""The feature keeps its promises; `pytest` in this directory runs it."""
# ruff: noqa: S101  # tests assert

import os
from pathlib import Path

import pytest
from tocsin_freshness.feature import FEATURE, backup_folders

from tocsin.features.context import SubsystemState
from tocsin.testing import FakeClock
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.features import FeatureBench, open_feature

NOW = 1_800_000_000.0


def folders(place: Path) -> dict[str, str]:
    """Return the setting for a fresh and a stale folder, each with one file."""
    for name, age_h in (("db", 2), ("mail", 30)):
        (place / name).mkdir()
        (place / name / "dump").write_text("backup")
        os.utime(place / name / "dump", (NOW - age_h * 3600, NOW - age_h * 3600))
    return {"FRESHNESS_FOLDERS": f"{place}/db:24, {place}/mail:24"}


async def states(bench: FeatureBench) -> dict[str, str]:
    """Return the states that the operation lists."""
    async with open_dashboard(bench.app) as client:
        listed = (await client.get("/api/freshness/folders")).json()["items"]
    return {each["name"]: each["state"] for each in listed}


async def test_a_folder_without_a_fresh_backup_is_shown_and_needs_a_person(tmp_path: Path):
    """The page and the status show it."""
    async with open_feature(FEATURE, tmp_path, folders(tmp_path), clock=FakeClock(NOW)) as bench:
        assert await states(bench) == {"db": "ok", "mail": "failing"}
        [status] = (await bench.subsystems())["freshness"]
        assert (status.status, status.summary) == (SubsystemState.DEGRADED, "2 folders, 1 without a fresh backup")


async def test_a_check_is_a_run_an_audit_entry_and_a_notice_if_it_fails(tmp_path: Path):
    """What follows from a run is left to the engine."""
    async with (
        open_feature(FEATURE, tmp_path, folders(tmp_path), clock=FakeClock(NOW)) as bench,
        open_dashboard(bench.app) as client,
    ):
        ended = {
            name: await client.post(f"/api/freshness/folders/{name}/run", prefer="wait=10") for name in ("db", "mail")
        }
        assert {name: answer.json()["status"] for name, answer in ended.items()} == {
            "db": "succeeded",
            "mail": "failed",
        }
        assert [entry.metadata["folder"] for entry in bench.audit("freshness.check")] == ["db", "mail"]
        reason = "its newest file is 30 h old, and 24 h are allowed"
        assert [(notice.title, notice.body) for notice in bench.notices] == [("No fresh backup in mail", reason)]


async def test_a_folder_that_nothing_names_is_not_found(tmp_path: Path):
    """The answer is a problem document."""
    async with open_feature(FEATURE, tmp_path) as bench, open_dashboard(bench.app) as client:
        assert (await client.post("/api/freshness/folders/db/run")).status == 404


@pytest.mark.parametrize("value", ["/backups", "/backups:often", ":24", "/a/db:24,/b/db:24"])
def test_a_setting_that_makes_no_sense_is_refused(value: str):
    """The sentence says what is expected."""
    with pytest.raises(ValueError, match="folders"):
        backup_folders(value)
