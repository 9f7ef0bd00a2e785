"""What operations on task jobs take and answer."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.features.jobs.model import MAX_COMMAND, MAX_DESCRIPTION, MAX_LABELS, MAX_SUMMARY, MAX_TITLE, TaskBranch
from tocsin.rest.bodies import FLAG, RequestBody, text
from tocsin.rest.models import MAX_NAME

StatusWord = Literal["queued", "running", "completed", "failed", "cancelled"]
OutcomeWord = Literal["completed", "failed", "cancelled"]
PriorityWord = Literal["low", "normal", "high"]

MAX_PATH, MAX_BRANCH = 4096, 255


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob(RequestBody):
    """Task job to create."""

    title: Annotated[str, Written(TextType(max_chars=MAX_TITLE), examples=("Fix the login",))]
    description: Annotated[str, text(MAX_DESCRIPTION)] = ""
    command: Annotated[str, text(MAX_COMMAND), "Command that is run with `sh` when the job starts."] = ""
    skill: Annotated[str, text(MAX_NAME), "Skill that is run when the job starts."] = ""
    repo: Annotated[str, text(MAX_PATH), "Repository: an absolute path, or a path below one of JOB_REPOSITORIES."] = ""
    base_branch: Annotated[
        str, text(MAX_BRANCH), "Branch or commit to start from (default: the current branch of the repository)."
    ] = ""
    branch: Annotated[str, text(MAX_BRANCH), "Name of the branch (default: `job/<short id>-<title>`)."] = ""
    create_branch: Annotated[bool, FLAG, "Whether to create the branch, or use an existing one."] = True
    priority: Annotated[PriorityWord, Written(ChoiceType(get_args(PriorityWord)))] = "normal"
    labels: Annotated[list[str], Written(ListType(TextType(), max_items=MAX_LABELS))] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome(RequestBody):
    """Result of a completed task job."""

    outcome: Annotated[OutcomeWord, Written(ChoiceType(get_args(OutcomeWord)))] = "completed"
    summary: Annotated[str, text(MAX_SUMMARY)] = ""
    exit_code: Annotated[int | None, Written(IntegerType(0, 255), nullable=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList:
    """Branches, at most 200 per repository."""

    items: list[TaskBranch]
