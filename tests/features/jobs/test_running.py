"""Task jobs from their creation to their end."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.features.assistant_skills.broken_front_matter import GOOD, file_of
from tests.features.jobs.conftest import ANA, Workshop, git, open_workshop
from tests.waiting import eventually

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.process.identity import own_identity
from tocsin.core.records.as_json import to_json
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.feature import FEATURE as ASSISTANT_SKILLS
from tocsin.features.jobs.hooks import start_job, startable_jobs, status_of
from tocsin.features.jobs.model import (
    InvalidTaskJobError,
    NewTaskJob,
    TaskConflictError,
    TaskJobStatus,
    TaskResult,
    TaskTransitionError,
    UnknownTaskJobError,
    branch_name,
)
from tocsin.features.jobs.store import TaskJobFilter
from tocsin.features.skills.feature import FEATURE as SKILLS
from tocsin.runs.control import NotRetriedError, Retry, StartRequest
from tocsin.runs.model import RunSpec, RunStatus, RunTrigger, new_run
from tocsin.runs.stored_run import RunTask

FIELDS = [
    "id", "title", "description", "status", "priority", "labels", "repo", "base_branch", "branch", "worktree_path",
    "head_sha", "ahead", "behind", "diffstat", "progress", "run_id", "result", "created_at", "started_at",
    "completed_at", "created_by", "error",
]  # fmt: skip


async def test_the_command_of_a_job_runs_in_its_work_tree_and_its_end_completes_the_job(workshop: Workshop):
    job = await workshop.create(command="pwd; cat readme; echo new > file; git add file; git commit -qm 'Add a file'")
    assert (job.status, job.branch) == (TaskJobStatus.QUEUED, branch_name(job.id, "Fix the login"))
    assert str(job.branch).endswith("-fix-the-login")
    ended = await workshop.run(job)
    record = to_json(ended)
    assert list(record) == FIELDS
    assert (record["status"], record["result"]["exit_code"], record["error"]) == ("completed", 0, None)
    assert (record["ahead"], record["behind"]) == (1, 0)
    assert record["diffstat"] == {"files": 1, "insertions": 1, "deletions": 0}
    assert record["head_sha"] == git(workshop.site, "rev-parse", job.branch)
    assert record["created_by"] == "ana"
    run = await workshop.bench.app.runs().get(record["run_id"])
    assert (run.kind, run.status, run.actor) == ("job", RunStatus.SUCCEEDED, "ana")
    assert run.output.tail.splitlines() == [record["worktree_path"], "hello"]
    assert (workshop.site / "file").exists() is False
    actions = [(entry.action, entry.source) for entry in workshop.bench.audit()]
    assert actions == [("job.create", "cli"), ("job.start", "cli"), ("job.complete", "jobs")]


async def test_a_failed_command_fails_the_job_and_tells_the_operator(workshop: Workshop):
    job = await workshop.done("echo a reason; exit 3")
    assert job.status is TaskJobStatus.FAILED
    assert job.result is not None
    assert (job.result.exit_code, job.error) == (3, {"code": "exit-code", "message": job.result.summary})
    assert ["failed" in notice.title for notice in workshop.bench.notices] == [True]


async def test_a_command_reports_its_progress(workshop: Workshop):
    gate = workshop.repos / "gate"
    command = f"echo '::progress 40%::'; echo '::progress 7::'; while [ ! -e {gate} ]; do sleep 0.01; done"
    job = await workshop.create(command=command)
    started = await workshop.jobs.start(job.id, ANA)
    assert started.run is not None

    async def reported() -> bool:
        return (await workshop.jobs.get(job.id)).progress == 0.4

    await eventually(reported)
    gate.touch()
    await started.run.wait()
    assert (await workshop.jobs.get(job.id)).progress == 1.0


async def test_a_job_without_a_repository_works_in_an_empty_folder(workshop: Workshop):
    job = await workshop.done("ls -A; pwd", repo="")
    assert (job.status, job.repo, job.branch, job.head_sha) == (TaskJobStatus.COMPLETED, None, None, None)
    assert job.result is not None
    assert job.result.summary == job.worktree_path
    await workshop.jobs.delete(job.id, ANA)
    assert not Path(job.worktree_path or "").exists()


async def test_the_command_has_none_of_our_secrets_and_no_setting_that_leads_git_elsewhere(tmp_path: Path):
    env = {"GATEWAY_TOKEN": "hidden-token", "GIT_DIR": "/nowhere", "GIT_AUTHOR_NAME": "Ben"}
    async with open_workshop(tmp_path, env) as workshop:
        job = await workshop.done("env")
        lines = [line.text for line in (await workshop.jobs.context.runs().log(job.run_id or "")).lines]
        assert f"JOB_ID={job.id}" in lines
        assert "GIT_AUTHOR_NAME=Ben" in lines
        assert not [line for line in lines if "hidden-token" in line or line.startswith("GIT_DIR=")]


async def test_a_skill_looks_at_the_work_tree(tmp_path: Path):
    asked: list[AssistantRequest] = []

    async def names() -> list[str]:
        return ["code-reviewer"]

    async def run_assistant(name: str, request: AssistantRequest) -> AssistantRun:
        asked.append(request)
        assert request.folder is not None
        assert (request.folder / "readme").read_text() == "hello\n"
        jobs = workshop.jobs.context.runs()
        return AssistantRun(replace(await jobs.get(request.parent_run_id or ""), status=RunStatus.SUCCEEDED))

    abilities = {"assistants": SimpleNamespace(names=names, run=run_assistant)}
    async with open_workshop(tmp_path, abilities=abilities) as workshop:
        with pytest.raises(InvalidTaskJobError, match="unknown skill: 'code-reviewr'") as error:
            await workshop.create(skill="code-reviewr")
        assert "code-reviewer" in error.value.hint
        job = await workshop.run(await workshop.create(skill="code-reviewer", description="look at the login"))
        (request,) = asked
        assert (request.input, str(request.folder)) == ("look at the login", job.worktree_path)


async def test_a_skill_that_is_a_program_does_a_job_and_its_end_completes_it(tmp_path: Path):
    folder = tmp_path / "data" / "skills" / "greet"
    folder.mkdir(parents=True)
    command = "read -r name; echo hello $name; [ $name != nobody ]"
    (folder / "skill.yaml").write_text(f"name: greet\ndescription: It greets.\ncommand: {command}\n")
    async with open_workshop(tmp_path, others=(SKILLS,)) as workshop:
        job = await workshop.run(await workshop.create("Ana", skill="greet", repo=""))
        assert job.result == TaskResult(TaskJobStatus.COMPLETED, "hello Ana", 0)
        failed = await workshop.run(await workshop.create("Ana", skill="greet", description="nobody"))
        assert (failed.status, failed.result and failed.result.exit_code) == (TaskJobStatus.FAILED, 1)
        with pytest.raises(InvalidTaskJobError, match="unknown skill: 'great'"):
            await workshop.create(skill="great")
        told = [entry.action for entry in workshop.bench.audit()]
        assert told == ["job.create", "job.start", "job.complete"] * 2
        assert [entry.metadata["ok"] for entry in workshop.bench.audit("job.complete")] == [True, False]


async def test_a_program_with_instructions_for_the_assistant_is_a_program_for_a_job_too(tmp_path: Path):
    folder = tmp_path / "data" / "skills" / "it"
    folder.mkdir(parents=True)
    (folder / "skill.yaml").write_text("name: it\ndescription: It runs.\ncommand: echo ran\n")
    (folder / "SKILL.md").write_text(file_of(GOOD | {"name": "name: it"}))
    async with open_workshop(tmp_path, others=(SKILLS, ASSISTANT_SKILLS)) as workshop:
        job = await workshop.run(await workshop.create("Ana", skill="it", repo=""))
        assert job.result == TaskResult(TaskJobStatus.COMPLETED, "ran", 0)


async def test_a_skill_for_the_assistant_needs_a_repository(tmp_path: Path):
    async def names() -> list[str]:
        return ["code-reviewer"]

    async with open_workshop(tmp_path, abilities={"assistants": SimpleNamespace(names=names)}) as workshop:
        with pytest.raises(InvalidTaskJobError, match="repository"):
            await workshop.create(skill="code-reviewer", repo="")


async def test_people_do_the_work_of_a_job_without_a_command_and_complete_it(workshop: Workshop):
    job = await workshop.create(labels=["web"])
    place = await workshop.work_tree(job)
    assert git(place, "branch", "--show-current") == job.branch
    done = await workshop.jobs.complete(job.id, TaskJobStatus.COMPLETED, ANA, summary="merged by hand")
    assert to_json(done)["result"] == {"outcome": "completed", "summary": "merged by hand", "exit_code": None}
    assert done.run_id is None


async def test_a_chat_lists_the_newest_task_jobs(workshop: Workshop):
    _, answer = workshop.bench.features.bot_commands()["jobs"]
    message = InboundMessage("town", MessageKind.COMMAND, "1", ("1",), "7", "/jobs", sender_id="7", command="jobs")
    assert "task" in await answer(message)
    first = await workshop.done("true", title="First")
    second = await workshop.create(title="Second")
    lines = (await answer(message)).splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["Second: queued", "First: completed"]
    assert [line.partition(" ")[0] for line in lines] == [job.id.rpartition("-")[2][:8] for job in (second, first)]


async def test_a_transition_that_is_not_allowed_names_those_that_are(workshop: Workshop):
    job = await workshop.create(command="true")
    with pytest.raises(TaskTransitionError, match="is queued") as error:
        await workshop.jobs.complete(job.id, TaskJobStatus.COMPLETED, ANA)
    assert (error.value.code, error.value.allowed) == ("invalid-transition", ("running", "cancelled"))
    await workshop.jobs.complete(job.id, TaskJobStatus.CANCELLED, ANA)
    with pytest.raises(TaskTransitionError, match="is cancelled") as error:
        await workshop.jobs.start(job.id, ANA)
    assert error.value.allowed == ()


async def test_completing_a_job_by_hand_ends_its_run(workshop: Workshop):
    job = await workshop.create(command="sleep 600")
    started = await workshop.jobs.start(job.id, ANA)
    assert started.run is not None
    with pytest.raises(TaskTransitionError) as error:
        await workshop.jobs.start(job.id, ANA)
    assert error.value.allowed == ("completed", "failed", "cancelled")
    with pytest.raises(TaskConflictError, match="is running"):
        await workshop.jobs.delete(job.id, ANA, force=True)
    done = await workshop.jobs.complete(job.id, TaskJobStatus.CANCELLED, ANA)
    assert (await started.run.wait()).status is RunStatus.CANCELLED
    assert (await workshop.jobs.get(job.id)).result == done.result
    assert [entry.metadata["status"] for entry in workshop.bench.audit("job.complete")] == ["cancelled"]


async def test_cancelling_its_run_cancels_the_job(workshop: Workshop):
    started = await workshop.jobs.start((await workshop.create(command="sleep 600")).id, ANA)
    assert started.run is not None
    await workshop.jobs.context.runs().cancel(started.run.run.id)
    await started.run.wait()
    assert (await workshop.jobs.get(started.job.id)).status is TaskJobStatus.CANCELLED


async def test_two_starts_at_once_start_one_run(workshop: Workshop):
    job = await workshop.create(command="true")
    both = await asyncio.gather(*(workshop.jobs.start(job.id, ANA) for _ in range(2)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in both) == ["StartedJob", "TaskTransitionError"]
    assert len((await workshop.jobs.context.runs().search("job")).items) == 1


async def test_a_job_whose_process_died_has_failed_as_interrupted(workshop: Workshop):
    started = await workshop.jobs.start((await workshop.create(command="sleep 600")).id, ANA)
    assert started.run is not None
    dead = own_identity().replace(":", "1:", 1)

    def leave(connection: object) -> None:
        connection.execute("UPDATE runs SET owner = ?", [dead])  # type: ignore[attr-defined]

    await workshop.bench.app.database.write(leave)
    job = await workshop.jobs.get(started.job.id)
    assert job.status is TaskJobStatus.FAILED
    assert job.error is not None
    assert job.error["code"] == "interrupted"
    assert "crashed" in job.error["message"]
    # The command still runs here, and may see its end, too: notices of one key are one.
    assert {notice.dedupe_key for notice in workshop.bench.notices} == {f"job-failed-{job.id}"}


async def test_a_job_whose_process_died_before_it_noted_the_start_has_failed_too(workshop: Workshop):
    job, runs = await workshop.create(command="true"), workshop.bench.app.runs()
    run = new_run(RunSpec("job", job.id, job.title, RunTrigger.MANUAL, "ana"), RunStatus.RUNNING, runs.now())
    await runs.store.add(run, own_identity().replace(":", "1:", 1), RunTask())
    (left,) = await runs.recover()
    await runs.settle(left)
    job = await workshop.jobs.get(job.id)
    assert (job.status, job.run_id, job.error and job.error["code"]) == (TaskJobStatus.FAILED, run.id, "interrupted")
    assert [entry.metadata["run"] for entry in workshop.bench.audit("job.complete")] == [run.id]


async def test_a_program_that_stops_leaves_its_job_failed(tmp_path: Path):
    async with open_workshop(tmp_path) as workshop:
        started = await workshop.jobs.start((await workshop.create(command="sleep 600")).id, ANA)
    async with open_workshop(tmp_path) as workshop:
        job = await workshop.jobs.get(started.job.id)
        assert (job.status, job.error and job.error["code"]) == (TaskJobStatus.FAILED, "interrupted")


async def test_other_features_start_a_queued_job_by_its_id(workshop: Workshop):
    job, by_hand = await workshop.create(command="echo hi"), await workshop.create("Another")
    assert await startable_jobs(workshop.jobs) == [job.id]
    start, request = partial(start_job, workshop.jobs), StartRequest(source="cli", cause="workflow")
    run = await (await start(job.id, replace(request, actor="ana"))).wait()
    assert (run.status, run.trigger) == (RunStatus.SUCCEEDED, "workflow")
    with pytest.raises(NotRetriedError):
        await start(job.id, replace(request, cause=RunTrigger.RETRY, retry=Retry(run)))
    with pytest.raises(TaskConflictError, match="command"):
        await start(by_hand.id, request)
    assert await status_of(workshop.jobs) == ["Task jobs: 1 queued"]


async def test_jobs_are_found_by_state_label_and_text_page_by_page(workshop: Workshop):
    made = [await workshop.create(f"Task {n}", repo="", labels=["odd"] if n % 2 else []) for n in range(5)]
    page = await workshop.jobs.search(TaskJobFilter(limit=2))
    assert ([job.title for job in page.items], page.total) == (["Task 4", "Task 3"], 5)
    rest = await workshop.jobs.search(TaskJobFilter(limit=200, cursor=page.next_cursor or ""))
    assert ([job.title for job in rest.items], rest.next_cursor) == (["Task 2", "Task 1", "Task 0"], None)
    for query, found in (
        (TaskJobFilter(label="odd"), {"Task 1", "Task 3"}),
        (TaskJobFilter(q="tASK 2"), {"Task 2"}),
        (TaskJobFilter(q="100%_"), set()),
        (TaskJobFilter(status=(TaskJobStatus.RUNNING,)), set()),
    ):
        assert {job.title for job in (await workshop.jobs.search(query)).items} == found
    assert (await workshop.jobs.get(made[0].id.rpartition("-")[2])).id == made[0].id
    with pytest.raises(UnknownTaskJobError):
        await workshop.jobs.get("ffffffffffff")


async def test_another_process_sees_what_has_changed_by_its_number(workshop: Workshop):
    job = await workshop.create()
    await workshop.work_tree(job)
    first = await workshop.told()
    await workshop.jobs.complete(job.id, TaskJobStatus.COMPLETED, ANA)
    await workshop.jobs.delete(job.id, ANA, delete_branch=True)
    assert first == ["jobs created", "branches updated", "jobs updated", "jobs updated"]
    assert await workshop.told() == [*first, "jobs updated", "jobs updated", "jobs deleted"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"title": "  "}, "needs a title of one line"),
        ({"title": "two\nlines"}, "needs a title of one line"),
        ({"title": "x" * 201}, "more than 200 characters"),
        ({"command": "true", "skill": "code-reviewer"}, "a command or a skill, but not both"),
        ({"repo": "", "branch": "x"}, "needs a repository"),
        ({"create_branch": False}, "an existing one is required"),
        ({"labels": ["\n"]}, "is not a valid label"),
        ({"labels": [f"l{n}" for n in range(21)]}, "at most 20 labels"),
        ({"command": "a\0b"}, "not contain a NUL character"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_sentence(wrong: dict[str, object], sentence: str):
    with pytest.raises(InvalidTaskJobError, match=sentence):
        NewTaskJob(**{"title": "A task", "repo": "site", **wrong}).check()  # type: ignore[arg-type]


def test_the_name_of_a_branch_is_made_of_id_and_title():
    id_ = "01a203f2-9c62-7a95-882d-17fef7fe1fee"
    for title, name in (
        ("Fix the lögin: now!", "job/17fef7fe-fix-the-login-now"),
        ("日本語", "job/17fef7fe"),
        ("--force ../x @{0}~^", "job/17fef7fe-force-x-0"),
        ("a" * 60, f"job/17fef7fe-{'a' * 40}"),
    ):
        assert branch_name(id_, title) == name
