"""Notices about runs that were interrupted."""

from dataclasses import replace

import pytest

from tocsin.features.context import Notice
from tocsin.features.run_notices import NotifyingRuns, failing, interrupted, recovered, stored_notice
from tocsin.runs.model import WAS_STOPPED, Run, RunSpec, RunStatus, RunTrigger, new_run
from tocsin.testing.features import CollectedNotices

ENDED = replace(
    new_run(RunSpec("ssh", "web", "uptime", RunTrigger.API, source="dashboard"), RunStatus.INTERRUPTED, 1000.0),
    reason="Tocsin was killed or crashed during the run",
)


async def test_an_interrupted_run_is_a_notice_that_outlasts_the_process_that_made_it():
    kept: list[Notice] = []

    made = interrupted(ENDED, category="ssh")
    await NotifyingRuns(CollectedNotices(kept)).tell(ENDED, stored_notice(made))
    assert kept == [made]
    assert (kept[0].title, kept[0].link) == ("uptime was interrupted", f"#/runs/{ENDED.id}")


def test_a_notice_names_the_subject_by_the_kind_of_run_of_a_plug_in_or_by_the_word_given():
    run = replace(ENDED, kind="backup")
    assert failing(run, 0.0, category="system", link="").title == "Backup uptime is failing"
    assert recovered(run, 0.0, category="system", link="", noun="job").title == "Job uptime succeeds again"


@pytest.mark.parametrize(
    "run",
    [
        replace(ENDED, status=RunStatus.FAILED),
        replace(ENDED, parent_run_id="r1"),
        replace(ENDED, source="cli", reason=WAS_STOPPED),
    ],
    ids=["failed", "of another run", "stopped at a terminal"],
)
async def test_a_run_that_failed_or_that_another_waits_for_is_no_notice_of_an_interruption(run: Run):
    assert interrupted(run, category="ssh") is None
