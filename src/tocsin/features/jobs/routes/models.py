"""What operations on task jobs take and answer."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Time
from tocsin.features.jobs.model import MAX_COMMAND, MAX_DESCRIPTION, MAX_LABELS, MAX_SUMMARY, MAX_TITLE
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.models import MAX_NAME

StatusWord = Literal["queued", "running", "completed", "failed", "cancelled"]
OutcomeWord = Literal["completed", "failed", "cancelled"]
PriorityWord = Literal["low", "normal", "high"]

MAX_PATH, MAX_BRANCH = 4096, 255


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob(RequestBody):
    """A task job to create."""

    title: Annotated[str, Written(TextType(max_chars=MAX_TITLE), examples=("Fix the login",))]
    description: Annotated[str, text(MAX_DESCRIPTION)] = ""
    command: Annotated[str, text(MAX_COMMAND), "What starting it runs with `sh`."] = ""
    skill: Annotated[str, text(MAX_NAME), "The skill that starting it runs."] = ""
    repo: Annotated[str, text(MAX_PATH), "Its repository, in full or below one of JOB_REPOSITORIES."] = ""
    base_branch: Annotated[str, text(MAX_BRANCH), "Where its branch begins; the one the repository is on."] = ""
    branch: Annotated[str, text(MAX_BRANCH), "Usually `job/<short id>-<title>`."] = ""
    create_branch: Annotated[bool, FLAG, "Whether to make the branch, or take the one there is."] = True
    priority: Annotated[PriorityWord, Written(ChoiceType(get_args(PriorityWord)))] = "normal"
    labels: Annotated[list[str], Written(ListType(TextType(), max_items=MAX_LABELS))] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome(RequestBody):
    """How a task job has ended."""

    outcome: Annotated[OutcomeWord, Written(ChoiceType(get_args(OutcomeWord)))] = "completed"
    summary: Annotated[str, text(MAX_SUMMARY)] = ""
    exit_code: Annotated[int | None, Written(IntegerType(0, 255), nullable=True)] = None


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
