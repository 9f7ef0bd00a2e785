"""What operations on task jobs take and answer."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tocsin.core.records.marks import Time
from tocsin.features.jobs.model import MAX_COMMAND, MAX_DESCRIPTION, MAX_LABELS, MAX_SUMMARY, MAX_TITLE
from tocsin.rest.models import MAX_NAME, RequestModel

StatusWord = Literal["queued", "running", "completed", "failed", "cancelled"]
OutcomeWord = Literal["completed", "failed", "cancelled"]
PriorityWord = Literal["low", "normal", "high"]

MAX_PATH, MAX_BRANCH = 4096, 255


class NewJob(RequestModel):
    """Task job to create."""

    title: str = Field(min_length=1, max_length=MAX_TITLE, examples=["Fix the login"])
    description: str = Field(default="", max_length=MAX_DESCRIPTION)
    command: str = Field(
        default="", max_length=MAX_COMMAND, description="Command that is run with `sh` when the job starts."
    )
    skill: str = Field(
        default="",
        max_length=MAX_NAME,
        description="Skill that is run when the job starts.",
    )
    repo: str = Field(
        default="",
        max_length=MAX_PATH,
        description="Repository: an absolute path, or a path below one of JOB_REPOSITORIES.",
    )
    base_branch: str = Field(
        default="",
        max_length=MAX_BRANCH,
        description="Branch or commit to start from (default: the current branch of the repository).",
    )
    branch: str = Field(
        default="", max_length=MAX_BRANCH, description="Name of the branch (default: `job/<short id>-<title>`)."
    )
    create_branch: bool = Field(default=True, description="Whether to create the branch, or use an existing one.")
    priority: PriorityWord = "normal"
    labels: list[str] = Field(default=[], max_length=MAX_LABELS)


class JobOutcome(RequestModel):
    """Result of a completed task job."""

    outcome: OutcomeWord = "completed"
    summary: str = Field(default="", max_length=MAX_SUMMARY)
    exit_code: int | None = Field(default=None, ge=0, le=255)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffStatRecord:
    """Size of the changes of a branch since it left its base."""

    files: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResultRecord:
    """Result of a task job."""

    outcome: OutcomeWord
    summary: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Reason for the failure of a task job."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskJobRecord:
    """Unit of work with a state, optionally with its own git branch."""

    id: str
    title: str
    description: str
    status: StatusWord
    priority: PriorityWord
    labels: list[str]
    repo: str | None
    base_branch: str | None
    branch: str | None
    worktree_path: str | None
    head_sha: str | None
    ahead: Annotated[int | None, "Number of commits missing from the base."]
    behind: Annotated[int | None, "Number of commits of the base that are missing here."]
    diffstat: DiffStatRecord | None
    progress: Annotated[float | None, "Progress from 0 to 1."]
    run_id: str | None
    result: JobResultRecord | None
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    created_by: str | None
    error: JobError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRecord:
    """Branch of a repository, with its task job if it has one."""

    name: str
    job_id: str | None
    repo: str
    base: Annotated[str, "Branch that it is compared with."]
    head_sha: str
    head_subject: str
    head_at: Time
    ahead: int | None
    behind: int | None
    dirty: Annotated[bool | None, "Whether the work tree of the job has uncommitted changes."]
    merged: Annotated[bool, "Whether the base contains all its commits."]
    worktree_path: str | None
    diffstat: DiffStatRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList:
    """Branches, at most 200 per repository."""

    items: list[BranchRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """Commit missing from the base."""

    sha: str
    at: Time
    author: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFile:
    """File changed in a branch; lines of binary files are not counted."""

    path: str
    insertions: int | None
    deletions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchWithChanges(BranchRecord):
    """Branch with its commits and changed files."""

    commits: Annotated[list[BranchCommit], "Newest 100 commits missing from the base."]
    files: Annotated[list[BranchFile], "At most 1,000 files."]
    patch: Annotated[str | None, "With `patch=true`: up to 512 KiB of the patch, in whole lines."] = None
    truncated: Annotated[bool, "Whether `patch` is incomplete."]
