"""jobs: list, show, create, start, complete and delete task jobs, and show their branches."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tocsin.core.audit.actions import CLI
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import cell, short_time
from tocsin.core.text.strings import number_of
from tocsin.features.contract import Commands
from tocsin.features.jobs.branches import BranchDetails
from tocsin.features.jobs.model import OUTCOMES, NewTaskJob, TaskBranch, TaskJob, TaskJobStatus, TaskPriority
from tocsin.features.jobs.service import TaskJobs
from tocsin.features.jobs.store import MAX_PAGE, TaskJobFilter
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import Line
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin.terminal.text import add_limit, read_message, readable

CALLER = Caller(CLI.name)
USUAL_LIMIT, MAX_LIMIT = 20, 10_000


def configure_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin jobs`."""
    commands = add_subcommands(
        parser,
        {
            "list": "list task jobs, newest first",
            "show": "show one task job with all fields",
            "create": "create a task job, and its branch if it has a repository",
            "start": "start a task job, and wait until its command or skill has ended",
            "complete": "complete, fail or cancel a task job",
            "delete": "delete a task job with its work tree",
            "branches": "list the branches of task jobs, or show the commits and files of one",
        },
    )
    parser.epilog = 'example: tocsin jobs create "Fix the login" --repo website --command "make test"'
    _configure_list(commands["list"])
    _configure_create(commands["create"])
    for name, run in (("show", _show), ("start", _start), ("complete", _complete), ("delete", _delete)):
        commands[name].add_argument("id", help="ID of the task job, or its short form from `tocsin jobs list`")
        commands[name].set_defaults(run=run)
    commands["show"].epilog = "example: tocsin jobs show 2b8d7c6e"
    commands[
        "start"
    ].epilog = "example: tocsin jobs start 2b8d7c6e\n\nexit code 0: it completed or is running, 1: it failed"
    _configure_complete(commands["complete"])
    _configure_delete(commands["delete"])
    _configure_branches(commands["branches"])


def _configure_list(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin jobs list --status running --label website"
    states = [str(status) for status in TaskJobStatus]
    parser.add_argument(
        "--status", action="append", default=[], choices=states, help="state of the task jobs; may be repeated"
    )
    parser.add_argument("--label", default="", help="label of the task jobs")
    parser.add_argument("-s", "--search", default="", metavar="TEXT", help="text in the title or description")
    add_limit(parser, USUAL_LIMIT, MAX_LIMIT)
    parser.set_defaults(run=_list)


def _configure_create(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'example: tocsin jobs create "Fix the login" --repo website --command "make test"\n\n'
        "Without --command and --skill, the work is manual: start the task job, work in its work tree, and "
        "complete it."
    )
    parser.add_argument("title", metavar="TITLE", help="title of the work, in one line")
    parser.add_argument("--description", default="", metavar="TEXT", help="details; passed to a skill as its input")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--command", default="", help="command to run in the work tree; `-` reads it from standard input")
    work.add_argument("--skill", default="", help="skill to run; an assistant skill inspects the work tree")
    parser.add_argument("--repo", default="", metavar="DIR", help="git repository below JOB_REPOSITORIES")
    parser.add_argument(
        "--base",
        default="",
        metavar="BRANCH",
        help="branch or commit to start from (default: the current branch of the repository)",
    )
    parser.add_argument("--branch", default="", help="name of the new branch (default: job/<short id>-<title>)")
    parser.add_argument("--existing-branch", action="store_true", help="use the existing branch given with --branch")
    priorities = [str(priority) for priority in TaskPriority]
    parser.add_argument(
        "--priority", choices=priorities, default=str(TaskPriority.NORMAL), help="priority of the task job"
    )
    parser.add_argument("--label", action="append", default=[], help="label; may be repeated")
    parser.set_defaults(run=_create, free_text="title")


def _configure_complete(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'example: tocsin jobs complete 2b8d7c6e --summary "merged by hand"'
    outcomes = [str(outcome) for outcome in OUTCOMES]
    parser.add_argument("--outcome", choices=outcomes, default=outcomes[0], help=f"outcome (default: {outcomes[0]})")
    parser.add_argument("--summary", default="", metavar="TEXT", help="summary of the result")
    parser.add_argument("--exit-code", type=int, metavar="N", help="exit code to record")


def _configure_delete(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin jobs delete 2b8d7c6e --delete-branch"
    parser.add_argument("--delete-branch", action="store_true", help="delete the branch as well")
    parser.add_argument("--force", action="store_true", help="delete even uncommitted or unmerged changes")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")


def _configure_branches(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin jobs branches 2b8d7c6e --patch"
    parser.add_argument("id", nargs="?", default="", help="task job whose branch to show")
    parser.add_argument("--repo", default="", metavar="DIR", help="list all branches of this repository")
    parser.add_argument("--patch", action="store_true", help="include the patch, up to 512 KiB")
    parser.set_defaults(run=_branches)


def _list(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    status = tuple(map(TaskJobStatus, arguments.status))
    query = TaskJobFilter(status, readable(arguments.label), readable(arguments.search))

    async def work(jobs: TaskJobs) -> list[TaskJob]:
        found: list[TaskJob] = []
        cursor: str | None = ""
        while cursor is not None and len(found) < arguments.limit:
            limit = min(arguments.limit - len(found), MAX_PAGE)
            page = await jobs.search(replace(query, limit=limit, cursor=cursor))
            found, cursor = [*found, *page.items], page.next_cursor
        return found

    found = program.run(work)
    return out.listing(
        found,
        ("id", "created", "status", "priority", "title", "branch", "commits"),
        (_row(job) for job in found),
        empty="no task jobs; create one with `tocsin jobs create`",
    )


def _row(job: TaskJob) -> tuple[str, ...]:
    return (
        _short(job.id),
        short_time(job.created_at)[5:],
        f"{job.status}{'' if job.progress is None else f' {job.progress:.0%}'}",
        str(job.priority),
        job.title,
        job.branch or "",
        _distance(job.ahead, job.behind),
    )


def _show(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    job = program.run(lambda jobs: jobs.get(readable(arguments.id)))
    work = {"command": job.command} if job.command else {"skill": job.skill} if job.skill else {}
    return out.listing(
        job, ("field", "value"), ((name, _shown(value)) for name, value in {**to_json(job), **work}.items())
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(each)}" for name, each in value.items() if each is not None)
    return cell(value)


def _create(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    new = NewTaskJob(
        title=readable(arguments.title),
        description=readable(arguments.description),
        command=read_message(arguments.command, out),
        skill=readable(arguments.skill),
        repo=arguments.repo,
        base_branch=readable(arguments.base),
        branch=readable(arguments.branch),
        create_branch=not arguments.existing_branch,
        priority=TaskPriority(arguments.priority),
        labels=tuple(map(readable, arguments.label)),
    )

    job = program.run(lambda jobs: jobs.create(new, CALLER), writes=True)
    out.effect_done("the task job was created")
    if out.as_json:
        out.document(job)
    else:
        on = f" on the branch {job.branch}" if job.branch else ""
        out.line(f"created {_short(job.id)}{on}")
        out.note(f"`tocsin jobs start {_short(job.id)}` starts it")
    return DONE


def _start(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    def show(line: Line) -> None:
        (out.text if line.stream == "stdout" else out.aside)(line.plain)

    async def work(jobs: TaskJobs) -> TaskJob:
        started = await jobs.start(readable(arguments.id), CALLER, watch=show)
        out.effect_done("the task job was started")
        if started.run is not None:
            await started.run.wait_or_stop()
        return await jobs.get(started.job.id)

    job = program.run(work, writes=True)
    if out.as_json:
        out.document(job)
    elif job.status is TaskJobStatus.RUNNING:
        out.line(f"started {_short(job.id)} in {job.worktree_path}")
    elif job.status is not TaskJobStatus.COMPLETED:
        out.error(f"{job.title}: {job.status}: {(job.error or {}).get('message') or ''}")
    return DONE if job.status in {TaskJobStatus.RUNNING, TaskJobStatus.COMPLETED} else FAILED


def _complete(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    outcome, summary = TaskJobStatus(arguments.outcome), readable(arguments.summary)

    async def work(jobs: TaskJobs) -> TaskJob:
        id_ = readable(arguments.id)
        return await jobs.complete(id_, outcome, CALLER, summary=summary, exit_code=arguments.exit_code)

    job = program.run(work, writes=True)
    out.effect_done("the task job was completed")
    return out.answer(job, f"{job.title}: {job.status}")


def _delete(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(jobs: TaskJobs) -> TaskJob:
        job = await jobs.get(readable(arguments.id))
        branch = f" and the branch {job.branch}" if arguments.delete_branch and job.branch else ""
        await out.confirm(f"Delete the task job {job.title!r}{branch}?", yes=arguments.yes)
        await jobs.delete(job.id, CALLER, delete_branch=arguments.delete_branch, force=arguments.force)
        return job

    job = program.run(work, writes=True)
    out.effect_done("the task job was deleted")
    return out.answer({"id": job.id, "deleted": True}, f"{job.title}: deleted")


def _branches(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    if arguments.id:
        return _show_branch(readable(arguments.id), arguments.patch, out, program)

    found = program.run(lambda jobs: jobs.branches.all(arguments.repo))
    return out.listing(
        found,
        ("job", "branch", "base", "commits", "changes", "state", "last commit"),
        (_branch_row(branch) for branch in found),
        empty="no branches of task jobs",
    )


def _branch_row(branch: TaskBranch) -> tuple[str, ...]:
    stat = branch.diffstat
    state = ["dirty"] if branch.dirty else []
    return (
        _short(branch.job_id or ""),
        branch.name,
        branch.base,
        _distance(branch.ahead, branch.behind),
        f"{number_of(stat.files, 'file')} +{stat.insertions} -{stat.deletions}" if stat and stat.files else "",
        ", ".join([*state, "merged"] if branch.merged else state),
        branch.head_subject,
    )


def _show_branch(id_: str, patch: bool, out: Console, program: Program) -> int:
    async def work(jobs: TaskJobs) -> BranchDetails:
        return await jobs.branches.details(await jobs.get(id_), patch=patch)

    found = program.run(work)
    if out.as_json:
        out.document(found)
        return DONE
    out.table(("field", "value"), [(name, _shown(value)) for name, value in to_json(found.branch).items()])
    _table_of(("commit", "author", "subject"), [(c.sha[:12], c.author, c.subject) for c in found.commits], out)
    changes = [(_shown(f.insertions), _shown(f.deletions), f.path) for f in found.files]
    _table_of(("added", "removed", "file"), changes, out)
    if found.patch:
        out.text(found.patch, end="")
    if found.truncated:
        out.note("tocsin: the patch was shortened; use git diff to see all of it")
    return DONE


def _table_of(columns: Sequence[str], rows: Sequence[Sequence[str]], out: Console) -> None:
    if rows:
        out.line("")
        out.table(columns, rows)


def _short(id_: str) -> str:
    return id_.rpartition("-")[2][:8]


def _distance(ahead: int | None, behind: int | None) -> str:
    """Return how far a branch is from its base, as in `+2 -1`."""
    return "" if ahead is None or behind is None else f"+{ahead} -{behind}"


COMMANDS: Commands = {"jobs": configure_jobs}
