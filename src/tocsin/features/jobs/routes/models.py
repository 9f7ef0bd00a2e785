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
    """A task job to create."""

    title: str = Field(min_length=1, max_length=MAX_TITLE, examples=["Fix the login"])
    description: str = Field(default="", max_length=MAX_DESCRIPTION)
    command: str = Field(default="", max_length=MAX_COMMAND, description="What starting it runs with `sh`.")
    skill: str = Field(
        default="",
        max_length=MAX_NAME,
        description="The skill that starting it runs.",
    )
    repo: str = Field(
        default="", max_length=MAX_PATH, description="Its repository, in full or below one of JOB_REPOSITORIES."
    )
    base_branch: str = Field(
        default="", max_length=MAX_BRANCH, description="Where its branch begins; the one the repository is on."
    )
    branch: str = Field(default="", max_length=MAX_BRANCH, description="Usually `job/<short id>-<title>`.")
    create_branch: bool = Field(default=True, description="Whether to make the branch, or take the one there is.")
    priority: PriorityWord = "normal"
    labels: list[str] = Field(default=[], max_length=MAX_LABELS)


class JobOutcome(RequestModel):
    """How a task job has ended."""

    outcome: OutcomeWord = "completed"
    summary: str = Field(default="", max_length=MAX_SUMMARY)
    exit_code: int | None = Field(default=None, ge=0, le=255)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffStatRecord:
    """How much a branch changes since it left its base."""

    files: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResultRecord:
    """How a task job ended."""

    outcome: OutcomeWord
    summary: str | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why a task job failed."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskJobRecord:
    """Work with a state, perhaps on a git branch of its own."""

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
    ahead: Annotated[int | None, "How many commits its base has not."]
    behind: Annotated[int | None, "How many commits of its base it has not."]
    diffstat: DiffStatRecord | None
    progress: Annotated[float | None, "0 to 1."]
    run_id: str | None
    result: JobResultRecord | None
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    created_by: str | None
    error: JobError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRecord:
    """A branch of a repository, with its task job if it has one."""

    name: str
    job_id: str | None
    repo: str
    base: Annotated[str, "The branch that it is compared with."]
    head_sha: str
    head_subject: str
    head_at: Time
    ahead: int | None
    behind: int | None
    dirty: Annotated[bool | None, "Whether the job's work tree has changes that are in no commit."]
    merged: Annotated[bool, "Whether the base has all of its commits."]
    worktree_path: str | None
    diffstat: DiffStatRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList:
    """Branches, at most 200 of a repository."""

    items: list[BranchRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """A commit that the base has not."""

    sha: str
    at: Time
    author: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFile:
    """A file that a branch changes; lines of a binary one are not counted."""

    path: str
    insertions: int | None
    deletions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchWithChanges(BranchRecord):
    """A branch, and what it changes."""

    commits: Annotated[list[BranchCommit], "The newest 100 that the base has not."]
    files: Annotated[list[BranchFile], "At most 1,000."]
    patch: Annotated[str | None, "With `patch=true`: at most 512 KiB, in whole lines."] = None
    truncated: Annotated[bool, "Whether `patch` is only the beginning."]
