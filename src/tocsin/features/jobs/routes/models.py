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
class BranchList:
    """Branches, at most 200 of a repository."""

    items: list[TaskBranch]
