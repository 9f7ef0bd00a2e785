"""What a process leaves that is killed in the middle is finished by the next one."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path

from tests.facts import mentions
from tests.features.jobs.conftest import ANA, Workshop, commit, git
from tests.features.jobs.kills import survive_kills
from tests.waiting import eventually

from tocsin.core.ids import new_id
from tocsin.core.process.identity import own_identity
from tocsin.features.jobs.model import TaskJob, TaskJobStatus, TaskPhase
from tocsin.features.jobs.store import TaskJobFilter

DEAD = own_identity().replace(":", "1:", 1)


async def left_while_made(workshop: Workshop, branch: str) -> TaskJob:
    """Leave the record of a job as a process does that is killed before it has made the branch."""
    now, main = workshop.jobs.context.clock.now(), git(workshop.site, "rev-parse", "main")
    job = TaskJob(
        id=new_id(), title="Left", created_at=now, updated_at=now, repo=str(workshop.site), base_branch="main",
        base_sha=main, branch=branch, phase=TaskPhase.MAKING, phase_owner=DEAD, phase_at=now,
    )  # fmt: skip
    await workshop.jobs.store.add(job)
    assert (await workshop.jobs.store.search(TaskJobFilter())).items == []
    return job


async def left_while_removed(workshop: Workshop, job: TaskJob) -> None:
    def leave(job: TaskJob) -> TaskJob:
        return replace(job, phase=TaskPhase.REMOVING, phase_owner=DEAD, delete_branch=True)

    await workshop.jobs.store.change(job.id, leave, workshop.jobs.context.clock.now())


def heads(workshop: Workshop) -> set[str]:
    return set(git(workshop.site, "for-each-ref", "--format=%(refname:short)").splitlines())


async def test_a_record_whose_branch_was_not_made_yet_gets_it(workshop: Workshop):
    job = await left_while_made(workshop, "job/left")
    assert (await workshop.jobs.get(job.id)).status is TaskJobStatus.QUEUED
    assert heads(workshop) == {"main", "job/left"}


async def test_a_record_whose_branch_was_made_keeps_it(workshop: Workshop):
    job = await left_while_made(workshop, "job/left")
    assert await (await workshop.repository()).create_branch("job/left", job.base_sha or "", job.id)
    assert (await workshop.jobs.get(job.id)).branch == "job/left"


async def test_a_record_whose_branch_is_of_somebody_else_goes_and_the_branch_stays(workshop: Workshop):
    await left_while_made(workshop, "job/left")
    git(workshop.site, "branch", "job/left")
    await workshop.jobs.recovery.recover()
    assert await workshop.jobs.store.ids() == set()
    assert heads(workshop) == {"main", "job/left"}


async def test_a_job_that_was_being_deleted_is_gone_with_work_tree_and_branch(workshop: Workshop):
    job = await workshop.done("echo 1 > one; git add one; git commit -qm One")
    await left_while_removed(workshop, job)
    await workshop.jobs.recovery.recover()
    assert await workshop.jobs.store.ids() == set()
    assert heads(workshop) == {"main"}
    assert not Path(job.worktree_path or "").exists()


async def test_what_cannot_be_finished_yet_is_told_and_tried_again(workshop: Workshop):
    job = await workshop.done("true")
    await left_while_removed(workshop, job)
    lock = workshop.site / ".git" / "refs" / "heads" / f"{job.branch}.lock"
    lock.touch()
    (problem,) = await workshop.jobs.recovery.recover()
    assert mentions(problem, job.id)
    lock.unlink()
    assert await workshop.jobs.recovery.recover() == []
    assert await workshop.jobs.store.ids() == set()


async def test_a_half_made_work_tree_is_made_anew(workshop: Workshop):
    job = await workshop.create()
    repository = await workshop.repository()
    place = await repository.make_worktree(job.id, str(job.branch))
    (workshop.site / ".git" / "worktrees" / job.id / "locked").write_text("initializing")
    (place / "readme").unlink()
    assert ((await workshop.work_tree(job)) / "readme").exists()


async def test_a_complete_work_tree_is_used_as_it_is(workshop: Workshop):
    job = await workshop.create()
    place = await (await workshop.repository()).make_worktree(job.id, str(job.branch))
    commit(place, "one", "1\n")
    (place / "two").write_text("in no commit")
    assert (await workshop.work_tree(job) / "two").exists()


async def test_the_service_finishes_what_was_left_and_sees_commits(workshop: Workshop):
    left = await left_while_made(workshop, "job/left")
    job = await workshop.create()
    place = await workshop.work_tree(job)
    head = commit(place, "one", "1\n")
    (watch,) = workshop.bench.features.services()
    serving = asyncio.create_task(watch.run())

    async def seen() -> bool:
        return (await workshop.jobs.store.get(job.id)).head_sha == head

    await eventually(seen)
    watch.stop()
    await serving
    assert (await workshop.jobs.store.get(left.id)).phase is TaskPhase.READY
    await workshop.jobs.complete(job.id, TaskJobStatus.COMPLETED, ANA)


async def test_after_kills_every_branch_and_work_tree_has_its_record_and_every_record_its_branch(
    tmp_path: Path, chance: random.Random
):
    found = await survive_kills(tmp_path, kills=3, chance=chance)
    assert found.records
    assert found.faults == 0, found
