"""What git says of the branches of task jobs, and what deleting one refuses."""

from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.jobs.conftest import ANA, Workshop, commit, git, make_repository

from tocsin.core.records.as_json import to_json
from tocsin.features.jobs.git.comparison import MAX_PATCH_BYTES
from tocsin.features.jobs.hooks import live_branches, live_jobs
from tocsin.features.jobs.model import InvalidTaskJobError, TaskConflictError, TaskJobStatus, UnknownTaskJobError

FIELDS = [
    "name", "job_id", "repo", "base", "head_sha", "head_subject", "head_at", "ahead", "behind", "dirty", "merged",
    "worktree_path", "diffstat",
]  # fmt: skip


async def test_a_branch_tells_its_distance_changes_and_state(workshop: Workshop):
    job = await workshop.create()
    place = await workshop.work_tree(job)
    commit(place, "one", "1\n2\n", "Add one")
    head = commit(place, "readme", "bye\n", "Say 'bye'")
    commit(workshop.site, "other", "x\n")
    (place / "left").write_text("not in a commit")
    (branch,) = await workshop.jobs.branches.all()
    record = to_json(branch)
    assert list(record) == FIELDS
    assert (record["name"], record["job_id"], record["base"]) == (job.branch, job.id, "main")
    assert (record["head_sha"], record["head_subject"]) == (head, "Say 'bye'")
    assert (record["ahead"], record["behind"], record["dirty"], record["merged"]) == (2, 1, True, False)
    assert record["diffstat"] == {"files": 2, "insertions": 3, "deletions": 1}
    assert record["worktree_path"] == str(place)


async def test_the_details_of_a_branch_have_commits_files_and_a_patch(workshop: Workshop):
    job = await workshop.create()
    place = await workshop.work_tree(job)
    commit(place, "a 'b' é\tc", "1\n", "First; $(subject)")
    (place / "binary").write_bytes(b"\0\1\2")
    git(place, "add", "binary")
    git(place, "commit", "-qm", "Second")
    found = await workshop.jobs.branches.details(job, patch=True)
    assert [entry.subject for entry in found.commits] == ["Second", "First; $(subject)"]
    assert found.commits[0].author == "Ana"
    assert {entry.path: entry.insertions for entry in found.files} == {"a 'b' é\tc": 1, "binary": None}
    assert found.patch is not None
    assert "+1\n" in found.patch
    assert not found.truncated
    assert (await workshop.jobs.branches.details(job)).patch is None


async def test_a_long_patch_ends_after_512_kib_in_a_whole_line_and_commits_after_100(workshop: Workshop):
    job = await workshop.create()
    place = await workshop.work_tree(job)
    git(place, "-c", "alias.many=!for n in $(seq 102); do git commit -q --allow-empty -m $n; done", "many")
    commit(place, "big", "".join(f"line {n}\n" for n in range(400_000)))
    found = await workshop.jobs.branches.details(job, patch=True)
    assert found.truncated
    assert found.patch is not None
    assert MAX_PATCH_BYTES - 20 < len(found.patch) <= MAX_PATCH_BYTES
    assert found.patch.endswith("\n")
    assert len(found.commits) == 100
    assert (await workshop.jobs.get(job.id)).diffstat is not None


async def test_the_branches_of_a_repository_are_listed_with_those_of_nobody(workshop: Workshop):
    git(workshop.site, "branch", "by-hand")
    git(workshop.site, "update-ref", "refs/heads/-x", "HEAD")
    job = await workshop.create(base_branch="by-hand")
    found = {branch.name: branch for branch in await workshop.jobs.branches.all("site")}
    assert {name: (each.job_id, each.base) for name, each in found.items()} == {
        "main": (None, "main"),
        "by-hand": (None, "main"),
        "-x": (None, "main"),
        job.branch: (job.id, "by-hand"),
    }
    make_repository(workshop.repos / "other")
    assert [branch.job_id for branch in await workshop.jobs.branches.all("other")] == [None]
    assert [branch.name for branch in await workshop.jobs.branches.all()] == [job.branch]


async def test_a_commit_in_the_work_tree_is_seen_by_the_next_look_and_told_as_a_change(workshop: Workshop):
    job = await workshop.create()
    place = await workshop.work_tree(job)
    before = await workshop.told()
    await workshop.jobs.get(job.id)
    assert await workshop.told() == before
    head = commit(place, "one", "1\n")
    seen = await workshop.jobs.get(job.id)
    assert (seen.head_sha, seen.ahead) == (head, 1)
    assert await workshop.told() == [*before, "branches updated", "jobs updated"]
    shown = await live_branches(workshop.jobs, [job.id, "nothing"])
    assert {id_: (branch["name"], branch["ahead"]) for id_, branch in shown.items()} == {job.id: (job.branch, 1)}
    assert (await live_jobs(workshop.jobs, [job.id]))[job.id]["head_sha"] == head


async def test_a_branch_that_is_not_merged_is_deleted_only_with_force(workshop: Workshop):
    job = await workshop.done("echo 1 > one; git add one; git commit -qm One")
    with pytest.raises(TaskConflictError, match="has 1 commit missing from main") as error:
        await workshop.jobs.delete(job.id, ANA, delete_branch=True)
    assert "branch" in error.value.hint
    assert Path(job.worktree_path or "").is_dir()
    await workshop.jobs.delete(job.id, ANA, delete_branch=True, force=True)
    assert git(workshop.site, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(workshop.site, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert not Path(job.worktree_path or "").exists()
    with pytest.raises(UnknownTaskJobError):
        await workshop.jobs.get(job.id)


async def test_a_merged_branch_is_deleted_and_one_that_is_kept_stays(workshop: Workshop):
    merged = await workshop.done("echo 1 > one; git add one; git commit -qm One")
    git(workshop.site, "merge", "-q", str(merged.branch))
    await workshop.jobs.delete(merged.id, ANA, delete_branch=True)
    kept = await workshop.done("echo 2 > two; git add two; git commit -qm Two")
    await workshop.jobs.delete(kept.id, ANA)
    heads = git(workshop.site, "for-each-ref", "--format=%(refname:short)").splitlines()
    assert sorted(heads) == sorted(["main", str(kept.branch)])
    told = [entry.metadata["branch_deleted"] for entry in workshop.bench.audit("job.delete")]
    assert told == [True, False]


async def test_changes_that_are_in_no_commit_are_lost_only_with_force(workshop: Workshop):
    job = await workshop.done("echo 1 > one; mkdir locked; echo 2 > locked/two; chmod 500 locked")
    with pytest.raises(TaskConflictError, match="changes"):
        await workshop.jobs.delete(job.id, ANA)
    await workshop.jobs.delete(job.id, ANA, force=True)
    assert not Path(job.worktree_path or "").exists()


async def test_a_job_takes_over_a_branch_that_is_there(workshop: Workshop):
    with pytest.raises(InvalidTaskJobError, match="'wip'"):
        await workshop.create(branch="wip", create_branch=False)
    git(workshop.site, "branch", "wip")
    with pytest.raises(TaskConflictError, match="'wip'"):
        await workshop.create(branch="wip")
    job = await workshop.create(branch="wip", create_branch=False)
    with pytest.raises(TaskConflictError, match="task"):
        await workshop.create(branch="wip", create_branch=False)
    assert git(await workshop.work_tree(job), "branch", "--show-current") == "wip"


async def test_a_branch_that_is_checked_out_elsewhere_starts_no_job_and_is_not_deleted(workshop: Workshop):
    job = await workshop.create(command="true")
    git(workshop.site, "switch", "-q", str(job.branch))
    with pytest.raises(TaskConflictError, match="checked") as error:
        await workshop.jobs.start(job.id, ANA)
    assert "switch" in error.value.hint
    assert (await workshop.jobs.get(job.id)).status is TaskJobStatus.QUEUED
    with pytest.raises(TaskConflictError, match="checked"):
        await workshop.jobs.delete(job.id, ANA, delete_branch=True)
    git(workshop.site, "switch", "-q", "main")
    await workshop.run(job)


async def test_a_branch_that_somebody_deleted_is_told_and_its_job_can_be_deleted(workshop: Workshop):
    job = await workshop.create(command="true")
    git(workshop.site, "branch", "-D", str(job.branch))
    seen = await workshop.jobs.get(job.id)
    assert (seen.head_sha, seen.ahead, seen.diffstat) == (None, None, None)
    with pytest.raises(TaskConflictError, match="no longer has"):
        await workshop.jobs.start(job.id, ANA)
    with pytest.raises(TaskConflictError, match="no longer has"):
        await workshop.jobs.branches.details(seen)
    assert [each for each in await workshop.bench.findings() if mentions(each.detail, job.id, job.branch, "no longer")]
    await workshop.jobs.delete(job.id, ANA, delete_branch=True)
