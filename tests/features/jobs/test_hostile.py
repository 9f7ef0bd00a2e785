"""Repositories of strangers: what they name is never run, and what is wrong with one is told in a sentence."""

import shutil
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.jobs.conftest import ANA, Workshop, commit, git, make_repository, open_workshop

from tocsin.core.errors import TocsinError
from tocsin.core.process.git import GitFailedError
from tocsin.features.jobs.git.places import RepositoryNotAllowedError
from tocsin.features.jobs.model import InvalidTaskJobError, TaskConflictError, TaskJobStatus


async def test_hooks_run_where_the_operator_says_so(tmp_path: Path):
    async with open_workshop(tmp_path, {"JOB_HOOKS": "true"}) as workshop:
        hook = workshop.site / ".git" / "hooks" / "post-checkout"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
        await workshop.done("true")
        assert (tmp_path / "ran").exists()


async def test_a_repository_that_includes_other_configuration_is_refused(workshop: Workshop):
    job = await workshop.create()
    git(workshop.site, "config", "includeIf.onbranch:**.path", "more")
    with pytest.raises(GitFailedError, match="files"):
        await workshop.create(command="true")
    with pytest.raises(GitFailedError, match="files"):
        await workshop.jobs.start(job.id, ANA)
    assert (await workshop.jobs.get(job.id)).head_sha == job.head_sha
    await workshop.jobs.delete(job.id, ANA, force=True)


async def test_a_missing_object_fails_the_job_and_says_how_to_get_it(workshop: Workshop):
    job = await workshop.create(command="true")
    blob = git(workshop.site, "rev-parse", "HEAD:readme")
    (workshop.site / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    ended = await workshop.run(job)
    assert ended.error is not None
    assert (ended.status, ended.error["code"]) == (TaskJobStatus.FAILED, "git-failed")
    assert "--refetch" in (ended.error["message"] + str(ended.result))


@pytest.mark.parametrize("place", ["logs/refs/heads/job/x", "logs/refs/heads/job", "refs/heads/job", "worktrees"])
async def test_nothing_is_written_through_a_link_in_a_repository(workshop: Workshop, tmp_path: Path, place: str):
    outside, link = tmp_path / "outside", workshop.site / ".git" / place
    outside.mkdir()
    (outside / "x").write_text("kept\n")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside / "x" if link.name == "x" else outside)
    with pytest.raises(GitFailedError, match="link"):
        await workshop.create(branch="job/x")
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("x", "kept\n")]


async def test_a_name_that_is_no_branch_is_refused(workshop: Workshop):
    names = [
        "-x",
        "--force",
        "a..b",
        "a b",
        "x.lock",
        "HEAD",
        "@",
        "@{-1}",
        "main^{/x}",
        "a\nb",
        "x" * 201,
        "a//b",
        "/x",
    ]
    for name in names:
        for fields in ({"branch": name}, {"base_branch": name}):
            with pytest.raises(InvalidTaskJobError, match="branch"):
                await workshop.create(**fields)
    assert git(workshop.site, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


async def test_an_odd_name_of_a_branch_is_a_name_and_nothing_else(workshop: Workshop):
    for name in ('it\'s"q"$(touch_x);b&y|z', "é/日本", "a-/x%41"):
        job = await workshop.done("git branch --show-current", branch=name)
        assert job.result is not None
        assert (job.result.summary, job.branch) == (name, name)
        await workshop.jobs.delete(job.id, ANA, delete_branch=True)


async def test_references_that_a_stranger_wrote_lead_nowhere(workshop: Workshop):
    heads = workshop.site / ".git" / "refs" / "heads"
    (heads / "job").mkdir()
    (heads / "job" / "linked").write_text("ref: refs/heads/main\n")
    (heads / "--upload-pack=x").write_text((heads / "main").read_text())
    (heads / "broken").write_text("no commit\n")
    main = git(workshop.site, "rev-parse", "main")
    with pytest.raises(TaskConflictError, match="already"):
        await workshop.create(branch="job/linked")
    job = await workshop.create(branch="job/linked", create_branch=False)
    await workshop.jobs.delete(job.id, ANA, delete_branch=True, force=True)
    assert git(workshop.site, "rev-parse", "main") == main
    assert (await workshop.done("true")).status is TaskJobStatus.COMPLETED


async def test_a_repository_may_have_any_name(workshop: Workshop):
    made = make_repository(workshop.repos / "made")
    for name in ("-dash", "--git-dir=x", 'it\'s "quoted" $(touch x) a:b', "line\nend"):
        made = made.rename(workshop.repos / name)
        job = await workshop.done("cat readme", repo=name)
        assert (job.status, job.repo) == (TaskJobStatus.COMPLETED, str(workshop.repos / name))
        assert [branch.job_id for branch in await workshop.jobs.branches.all()] == [job.id]
        await workshop.jobs.delete(job.id, ANA, delete_branch=True)


async def test_a_bare_repository_works(workshop: Workshop):
    git(workshop.repos, "clone", "-q", "--bare", "site", "bare.git")
    job = await workshop.done("cat readme; git commit -q --allow-empty -m Empty", repo="bare.git")
    assert (job.status, job.ahead) == (TaskJobStatus.COMPLETED, 1)
    await workshop.jobs.delete(job.id, ANA, delete_branch=True, force=True)
    assert [branch.name for branch in await workshop.jobs.branches.all("bare.git")] == ["main"]


async def test_a_shallow_repository_works_with_the_history_that_it_has(workshop: Workshop):
    commit(workshop.site, "readme", "again\n")
    git(workshop.repos, "clone", "-q", "--depth=1", f"file://{workshop.site}", "shallow")
    job = await workshop.done("echo 1 > one; git add one; git commit -qm One", repo="shallow")
    assert (job.status, job.ahead, job.behind) == (TaskJobStatus.COMPLETED, 1, 0)
    assert len((await workshop.jobs.branches.details(job)).commits) == 1


async def test_a_dirty_and_busy_work_tree_of_a_person_is_left_alone(workshop: Workshop):
    (workshop.site / "readme").write_text("changed\n")
    lock = workshop.site / ".git" / "index.lock"
    lock.touch()
    job = await workshop.done("cat readme")
    assert job.result is not None
    assert job.result.summary == "hello"
    assert ((workshop.site / "readme").read_text(), lock.exists()) == ("changed\n", True)


async def test_a_locked_branch_is_told_and_leaves_neither_record_nor_branch(workshop: Workshop):
    lock = workshop.site / ".git" / "refs" / "heads" / "new.lock"
    lock.touch()
    with pytest.raises(GitFailedError, match=r"new\.lock") as error:
        await workshop.create(branch="new")
    assert "delete" in error.value.hint
    assert await workshop.jobs.store.ids() == set()
    lock.unlink()
    job = await workshop.create(branch="new")
    lock.touch()
    with pytest.raises(GitFailedError, match=r"new\.lock"):
        await workshop.jobs.delete(job.id, ANA, delete_branch=True)
    lock.unlink()
    await workshop.jobs.delete((await workshop.jobs.get(job.id)).id, ANA, delete_branch=True)


async def test_a_branch_below_or_above_another_is_told(workshop: Workshop):
    git(workshop.site, "branch", "job")
    with pytest.raises(GitFailedError, match="job") as error:
        await workshop.create()
    assert "conflicting name" in error.value.hint
    assert await workshop.jobs.store.ids() == set()


async def test_a_repository_that_is_gone_keeps_its_record_until_it_is_deleted(workshop: Workshop):
    job = await workshop.done("echo 1 > one; git add one; git commit -qm One")
    shutil.rmtree(workshop.site)
    assert (await workshop.jobs.get(job.id)).head_sha == job.head_sha
    assert await workshop.jobs.branches.all() == []
    with pytest.raises(RepositoryNotAllowedError):
        await workshop.jobs.branches.details(job)
    await workshop.jobs.delete(job.id, ANA, delete_branch=True)
    assert not Path(job.worktree_path or "").exists()


async def test_a_repository_that_is_none_any_more_is_deleted_only_with_force(workshop: Workshop):
    job = await workshop.done("true")
    shutil.rmtree(workshop.site / ".git")
    with pytest.raises(RepositoryNotAllowedError, match="repository"):
        await workshop.jobs.delete(job.id, ANA)
    await workshop.jobs.delete(job.id, ANA, force=True)
    assert await workshop.jobs.store.ids() == set()


async def test_a_repository_without_a_commit_or_a_branch_is_told(workshop: Workshop):
    empty = workshop.repos / "empty"
    empty.mkdir()
    git(empty, "init", "-q", "-b", "main")
    with pytest.raises(InvalidTaskJobError, match="commit"):
        await workshop.create(repo="empty")
    with pytest.raises(InvalidTaskJobError, match="'trunk'"):
        await workshop.create(base_branch="trunk")
    git(workshop.site, "switch", "-q", "--detach")
    with pytest.raises(InvalidTaskJobError, match="branch"):
        await workshop.create()
    assert (await workshop.create(base_branch="main")).base_branch == "main"


async def test_only_repositories_below_the_named_folders_are_used(workshop: Workshop, tmp_path: Path):
    outside = make_repository(tmp_path / "outside")
    (workshop.repos / "link").symlink_to(outside)
    (workshop.repos / "pointer").mkdir()
    (workshop.repos / "pointer" / ".git").write_text(f"gitdir: {outside}/.git\n")
    (workshop.repos / "plain").mkdir()
    (workshop.site / "below").mkdir()
    for name in (
        str(outside),
        "../outside",
        "link",
        "pointer",
        "plain",
        "site/below",
        "site/.git",
        "nowhere",
        "/",
        "\0",
    ):
        with pytest.raises(RepositoryNotAllowedError):
            await workshop.create(repo=name)
    assert git(outside, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    job = await workshop.create(repo=str(workshop.site))
    assert job.repo == str(workshop.site)


async def test_without_the_setting_no_repository_is_used(tmp_path: Path):
    async with open_workshop(tmp_path, {"JOB_REPOSITORIES": ""}) as workshop:
        with pytest.raises(RepositoryNotAllowedError, match="no repositories") as error:
            await workshop.create()
        assert error.value.code == "not-found"
        assert await workshop.bench.findings() == []


async def test_without_git_it_is_told_what_to_install(tmp_path: Path):
    async with open_workshop(tmp_path, {"PATH": str(tmp_path)}) as workshop:
        with pytest.raises(TocsinError, match="started") as error:
            await workshop.create()
        assert error.value.hint == "install git"
        (finding,) = await workshop.bench.findings()
        assert (finding.state, finding.fix) == ("error", "install git")


async def test_doctor_tells_of_missing_folders_and_work_trees_of_nobody(tmp_path: Path):
    settings = {"JOB_REPOSITORIES": f"{tmp_path}/repos,{tmp_path}/missing"}
    async with open_workshop(tmp_path, settings) as workshop:
        await workshop.create()
        (workshop.jobs.places.worktrees / "left").mkdir(parents=True)
        details = [finding.detail for finding in await workshop.bench.findings()]
        assert mentions(details[0], "JOB_REPOSITORIES", tmp_path, "/missing")
        assert mentions(details[1], workshop.jobs.places.worktrees, "/left")
        assert "1 task" in details[2]
