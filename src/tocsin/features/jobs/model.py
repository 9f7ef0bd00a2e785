"""The model of task jobs: states, transitions, errors."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, TypedDict

from tocsin.core.errors import ConflictError, NotFoundError, TocsinError
from tocsin.core.records.marks import Converted, Private, Time

MAX_TITLE, MAX_DESCRIPTION, MAX_COMMAND, MAX_SUMMARY = 200, 20_000, 100_000, 2_000
MAX_LABELS = 20
_LABEL = re.compile(r"[\w][\w.:/ -]{0,49}")
_SLUG = 40  # characters of a title in the name of a branch


class TaskJobStatus(StrEnum):
    """The state of a task job."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


OUTCOMES = (TaskJobStatus.COMPLETED, TaskJobStatus.FAILED, TaskJobStatus.CANCELLED)
_ALLOWED: dict[TaskJobStatus, tuple[TaskJobStatus, ...]] = {
    TaskJobStatus.QUEUED: (TaskJobStatus.RUNNING, TaskJobStatus.CANCELLED),
    TaskJobStatus.RUNNING: OUTCOMES,
}


class TaskPriority(StrEnum):
    """How urgent a task job is; people and lists read it."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class TaskPhase(StrEnum):
    """The git operation in progress on a branch, stored so that another process can finish it."""

    MAKING = "making"  # the branch may not be there yet
    READY = "ready"
    REMOVING = "removing"  # work tree and branch may be gone already


class JobEvent(StrEnum):
    """A change of a task job, for its followers."""

    CREATED = "job.created"
    UPDATED = "job.updated"
    DELETED = "job.deleted"
    BRANCH_UPDATED = "branch.updated"


class UnknownTaskJobError(NotFoundError):
    """No task job has this ID."""


class InvalidTaskJobError(TocsinError):
    """The values given for a task job are invalid."""

    code = "validation-failed"


class TaskConflictError(ConflictError):
    """The request conflicts with existing records, with the state of a branch or with a running job."""


class TaskTransitionError(TocsinError):
    """The state of the task job does not allow this; `allowed` are the states that it can take."""

    code = "invalid-transition"

    def __init__(self, message: str, allowed: Sequence[TaskJobStatus], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.allowed = tuple(map(str, allowed))


@dataclass(frozen=True, slots=True)
class DiffStat:
    """Size of the changes of a branch since it left its base."""

    schema_name: ClassVar[str] = "DiffStatRecord"

    files: int = 0
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Result of a task job."""

    schema_name: ClassVar[str] = "JobResultRecord"

    outcome: Annotated[TaskJobStatus, Converted(str, Literal["completed", "failed", "cancelled"])]
    summary: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTaskJob:
    """A task job that is asked for."""

    title: str
    description: str = ""
    command: str = ""
    skill: str = ""
    repo: str = ""
    base_branch: str = ""  # empty: the branch that the repository is on
    branch: str = ""  # empty: made of the ID and the title
    create_branch: bool = True
    priority: TaskPriority = TaskPriority.NORMAL
    labels: Sequence[str] = ()

    def check(self) -> None:
        """Raise InvalidTaskJobError for values that are invalid in any case."""
        if not self.title.strip() or not self.title.isprintable():
            raise InvalidTaskJobError(
                "a task job needs a title of one line", hint="describe the work in a few words", body_key="title"
            )
        for name, limit in (("title", MAX_TITLE), ("description", MAX_DESCRIPTION), ("command", MAX_COMMAND)):
            if len(getattr(self, name)) > limit:
                raise InvalidTaskJobError(
                    f"the {name} has more than {limit:,} characters", hint="shorten it", body_key=name
                )
        if "\0" in self.command + self.description:
            raise InvalidTaskJobError("command and description must not contain a NUL character", hint="remove it")
        if self.command.strip() and self.skill:
            raise InvalidTaskJobError(
                "a task job can have a command or a skill, but not both", hint="remove one of them", body_key="skill"
            )
        if not self.repo and (self.base_branch or self.branch):
            raise InvalidTaskJobError("a branch needs a repository", hint="set repo", body_key="repo")
        if self.repo and not self.create_branch and not self.branch:
            raise InvalidTaskJobError(
                "without a new branch, an existing one is required", hint="set branch", body_key="branch"
            )
        self._check_labels()

    def _check_labels(self) -> None:
        if len(self.labels) > MAX_LABELS:
            raise InvalidTaskJobError(
                f"a task job can have at most {MAX_LABELS} labels", hint="remove some", body_key="labels"
            )
        for label in self.labels:
            if not _LABEL.fullmatch(label):
                hint = "use up to 50 letters, digits, spaces and . _ : / -"
                raise InvalidTaskJobError(f"{label[:60]!r} is not a valid label", hint=hint, body_key="labels")


class JobError(TypedDict):
    """Reason for the failure of a task job."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskJob:
    """Unit of work with a state, optionally with its own git branch; facts of the branch are those of the last look."""

    schema_name: ClassVar[str] = "TaskJobRecord"

    id: str
    title: str
    description: str = ""
    status: TaskJobStatus = TaskJobStatus.QUEUED
    priority: TaskPriority = TaskPriority.NORMAL
    labels: tuple[str, ...] = ()
    repo: str | None = None
    base_branch: str | None = None
    branch: str | None = None
    worktree_path: str | None = None
    head_sha: str | None = None
    ahead: Annotated[int | None, "Number of commits missing from the base."] = None
    behind: Annotated[int | None, "Number of commits of the base that are missing here."] = None
    diffstat: DiffStat | None = None
    progress: Annotated[float | None, "Progress from 0 to 1."] = None
    run_id: str | None = None
    result: TaskResult | None = None
    created_at: Time
    started_at: Time | None = None
    completed_at: Time | None = None
    created_by: str | None = None
    error: Annotated[dict[str, str], Converted(dict, JobError)] | None = None
    command: Private[str] = ""
    skill: Private[str] = ""
    base_sha: Private[str | None] = None
    updated_at: Private[float]
    version: Private[int] = 1
    phase: Private[TaskPhase] = TaskPhase.READY
    phase_owner: Private[str] = ""
    phase_at: Private[float] = 0.0
    delete_branch: Private[bool] = False

    @property
    def has_work(self) -> bool:
        """Whether starting it starts a run."""
        return bool(self.command or self.skill)

    @property
    def allowed(self) -> tuple[TaskJobStatus, ...]:
        """The states that it can take now."""
        return _ALLOWED.get(self.status, ())

    def check_transition(self, wanted: TaskJobStatus) -> None:
        """Raise TaskTransitionError if the job cannot take that state."""
        if wanted in self.allowed:
            return
        told = f"it can become {', '.join(self.allowed)}" if self.allowed else "it has ended; create a new task job"
        raise TaskTransitionError(f"task job {self.id} is {self.status}", self.allowed, hint=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBranch:
    """Branch of a repository, with its task job if it has one."""

    schema_name: ClassVar[str] = "BranchRecord"

    name: str
    job_id: str | None = None
    repo: str
    base: Annotated[str, "Branch that it is compared with."]
    head_sha: str
    head_subject: str
    head_at: Time
    ahead: int | None = None
    behind: int | None = None
    dirty: Annotated[bool | None, "Whether the work tree of the job has uncommitted changes."] = None
    merged: Annotated[bool, "Whether the base contains all its commits."] = False
    worktree_path: str | None = None
    diffstat: DiffStat | None = None


@dataclass(frozen=True, slots=True)
class BranchCommit:
    """Commit missing from the base."""

    sha: str
    at: Time
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class BranchFile:
    """File changed in a branch; lines of binary files are not counted."""

    path: str
    insertions: int | None
    deletions: int | None


def branch_name(job_id: str, title: str) -> str:
    """Return the usual name of the branch of a job: `job/<short id>-<slug>`."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:_SLUG].strip("-")
    return f"job/{job_id.rpartition('-')[2][:8]}{'-' if slug else ''}{slug}"
