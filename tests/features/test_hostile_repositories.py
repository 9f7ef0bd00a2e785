"""Nothing that a hostile repository names is run by task jobs, assistant skills, watchers or cron."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.features.jobs.conftest import ANA
from tests.features.watchers.conftest import open_site
from tests.hostile_repositories import (
    GIT_ENV,
    INCLUDES,
    PARTIAL_CLONES,
    Form,
    HostileRepository,
    groups,
    make_base,
    run_git,
    settings_of,
)
from tests.waiting import eventually

from tocsin.core.process.git import GitFailedError
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.feature import FEATURE as ASSISTANT_SKILLS
from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch
from tocsin.features.cron.feature import FEATURE as CRON
from tocsin.features.jobs.feature import FEATURE as JOBS
from tocsin.features.jobs.model import NewTaskJob
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import StartRequest
from tocsin.runs.model import RunTrigger
from tocsin.testing.features import FeatureBench, open_feature

# Groups of the settings that name a program, so that few hide each other; how one is carried is shown with two.
GROUPS = {form: 6 if form is Form.PLAIN else 2 for form in Form}
# What people have jobs do in their work tree.
COMMAND = "git status; git diff HEAD; git add -A; git commit --allow-empty -qm Do; git merge -q topic; git fetch; true"
ADD = "worktree add ../made"
# Ways in which git itself runs what a repository names: the form, the key, and a command that is enough for it.
PROVEN = [
    *((form, "core.fsmonitor", "status") for form in Form if form not in {Form.BARE, Form.IN_WORK_TREE}),
    *((form, "filter.evil.smudge", ADD) for form in Form if form not in {Form.SUBMODULE, Form.NESTED}),
    (Form.PLAIN, "alias.status", "evil"),
    (Form.PLAIN, "core.attributesFile", ADD),
    (Form.PLAIN, "core.editor", "commit --allow-empty"),
    (Form.PLAIN, "core.hooksPath", ADD),
    (Form.PLAIN, "diff.evil.command", "diff"),
    (Form.PLAIN, "diff.evil.textconv", "diff"),
    (Form.PLAIN, "diff.external", "diff"),
    (Form.PLAIN, "filter.evil.clean", "diff"),
    (Form.PLAIN, "filter.evil.process", ADD),
    (Form.PLAIN, "gpg.program", "log -1"),
    (Form.PLAIN, "merge.evil.driver", "merge-tree --write-tree main topic"),
    (Form.PLAIN, "sequence.editor", "rebase -i --autostash HEAD"),
    (Form.PLAIN, "tar.evil.command", "archive --format=evil HEAD"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base") / "site")


@asynccontextmanager
async def opened(tmp_path: Path, repos: Path) -> AsyncIterator[FeatureBench]:
    env = {**GIT_ENV, "JOB_REPOSITORIES": str(repos)}
    async with open_feature(JOBS, tmp_path / "data", env, others=[ASSISTANT_SKILLS]) as bench:
        yield bench


async def use_in_a_job(bench: FeatureBench, repository: HostileRepository) -> str:
    """Do with a repository what task jobs do; return what came of it."""
    jobs = bench.service
    try:
        job = await jobs.create(
            NewTaskJob(title="Work", repo=repository.name, base_branch="main", command=COMMAND), ANA
        )
    except GitFailedError:
        return "refused"
    started = await jobs.start(job.id, ANA)
    run = await started.run.wait()
    await jobs.branches.details(job, patch=True)
    await jobs.branches.all(repository.name)
    await jobs.delete(job.id, ANA, delete_branch=True, force=True)
    return str(run.status)


async def use_in_a_skill(bench: FeatureBench, repository: HostileRepository) -> str:
    """Look at a folder as assistant skills do; return what came of it."""
    runner = bench.features.opened("assistant_skills").runner()
    request = AssistantRequest(source="cli", cause=RunTrigger.MANUAL, folder=repository.folder, files=())
    found = await runner.run("git-commit-helper", request)
    await runner.committed_files(repository.folder, "HEAD")
    return str(found.run.status)


@pytest.mark.parametrize("form", Form)
async def test_no_program_that_a_repository_names_is_run_by_a_job_or_a_skill(base: Path, tmp_path: Path, form: Form):
    repository = HostileRepository(tmp_path / "repos", form).make(base)
    ran, ends = list[str](), set[tuple[str, str]]()
    async with opened(tmp_path, repository.place) as bench:
        for settings in groups(GROUPS[form]):
            repository.arm(settings)
            ends.add((await use_in_a_job(bench, repository), await use_in_a_skill(bench, repository)))
            ran.append(repository.ran())
    assert ran == [""] * GROUPS[form]
    assert ends == ({("refused", "failed")} if form in INCLUDES else {("succeeded", "succeeded")})


async def test_no_object_that_a_partial_clone_lacks_is_fetched(base: Path, tmp_path: Path):
    repository = HostileRepository(tmp_path / "repos", Form.PLAIN).make(base)
    repository.lose("readme")
    ran, ends = dict[str, str](), set[tuple[str, str]]()
    async with opened(tmp_path, repository.place) as bench:
        for way, settings in PARTIAL_CLONES.items():
            repository.arm(settings)
            ends.add((await use_in_a_job(bench, repository), await use_in_a_skill(bench, repository)))
            ran[way] = repository.ran()
    assert ran == dict.fromkeys(PARTIAL_CLONES, "")
    assert ends == {("failed", "succeeded")}


async def test_nothing_runs_when_watchers_skills_and_cron_look_at_such_repositories(base: Path, tmp_path: Path):
    repositories = [HostileRepository(tmp_path / form.name / "repos", form).make(base) for form in Form]
    repositories = [each for each in repositories if each.form is not Form.BARE]
    for each in repositories:
        each.arm(groups(1)[0])
    folders = [each.folder for each in repositories]
    others, env = [ASSISTANT_SKILLS, CRON], {**GIT_ENV, "SKILLS_WATCH": ",".join(map(str, folders))}
    async with open_site(tmp_path, env=env, others=others) as site:
        site.write(*({"name": each.form.name, "path": str(each.folder), "command": "true"} for each in repositories))
        ended: list[AssistantRun] = []
        watch = AssistantWatch(site.bench.features.opened("assistant_skills"), folders, on_run=ended.append)
        task = asyncio.create_task(watch.run())
        await watch.ready()
        async with site.watching():
            for each in repositories:
                (each.folder / "readme").write_text("saved\n")
                each.log_commit("wip")
            await site.acted(len(repositories))
            await eventually(lambda: sum(e.run.subject_name == "git-commit-helper" for e in ended) == len(folders))
        task.cancel()
        await asyncio.wait([task])
        cron = site.bench.features.opened("cron")
        for each in repositories:
            fields = {"name": each.form.name, "schedule": "@daily", "command": "cat readme"}
            await cron.add(fields | {"working_dir": str(each.folder)}, Caller.of("cli", "ana"))
            request = StartRequest(source="cli", cause=RunTrigger.MANUAL)
            run = await (await site.bench.features.abilities.run_starter.start("cron", each.form.name, request)).wait()
            assert run.ok
    assert {each.form: each.ran() for each in repositories} == dict.fromkeys((e.form for e in repositories), "")


@pytest.mark.parametrize("form", Form)
def test_git_by_itself_runs_what_these_repositories_name(base: Path, tmp_path: Path, form: Form):
    repository = HostileRepository(tmp_path / "repos", form).make(base)
    silent = []
    for _, key, words in (case for case in PROVEN if case[0] is form):
        repository.arm(settings_of(key))
        run_git(repository.folder, *words.split(), check=False)
        silent += [] if repository.ran() else [key]
        if words == ADD:
            run_git(repository.folder, "worktree", "remove", "--force", "../made", check=False)
            run_git(repository.folder, "branch", "-D", "made", check=False)
    assert silent == []


def test_git_by_itself_fetches_what_a_partial_clone_lacks(base: Path, tmp_path: Path):
    repository = HostileRepository(tmp_path / "repos", Form.PLAIN).make(base)
    repository.lose("readme")
    silent = []
    for way, settings in PARTIAL_CLONES.items():
        repository.arm(settings)
        run_git(repository.folder, "diff", "HEAD", check=False)
        silent += [] if repository.ran() else [way]
    assert silent == []
