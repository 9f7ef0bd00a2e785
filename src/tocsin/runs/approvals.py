"""Steps that wait for a decision: their questions, approvers and decisions."""

from dataclasses import dataclass, field
from secrets import token_hex
from typing import NamedTuple

from tocsin.core.errors import TocsinError

# Prefixes of chats and API tokens among the names of approvers and respondents; all other names are dashboard users.
CHAT, TOKEN = "chat:", "token:"


class NotWaitingError(TocsinError):
    """The run does not wait for this decision."""

    code = "invalid-transition"


class UnknownQuestionError(NotWaitingError):
    """No step waits for an answer to the question of this button."""


class NotApproverError(TocsinError):
    """The respondent is not an approver of this step."""

    code = "forbidden"


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """The question of a waiting step, and who may answer it."""

    step: str
    message: str = ""
    approvers: tuple[str, ...] = ()  # `chat:7`, `token:ci`, or a user of the dashboard
    asked_in: tuple[str, ...] = ()  # the chats that receive it, as `channel:chat`
    not_by_starter: bool = False
    id: str = field(default_factory=lambda: token_hex(16))  # unique; its buttons contain it


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A step that waits for a person."""

    run_id: str
    question: StepQuestion
    since: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a person about a waiting step."""

    run_id: str
    step: str
    approved: bool
    by: str | None  # as in `approvers`; None for the operator of this machine
    at: float
    comment: str = ""


class ButtonPress(NamedTuple):
    """The press of a question's button in a chat."""

    question: str  # the ID of the question
    asked_in: str  # `channel:chat`
    sender: str | None  # the ID of the person
    in_notice: bool = False  # the button of a notice, whose chat the operator chose


def refuse_others(
    question: StepQuestion, starter: str | None, by: str | None, press: ButtonPress | None = None
) -> None:
    """Raise NotApproverError unless `by` may answer; `starter` started the run. See docs/runs.md, "Who may answer"."""
    if by is None:
        return
    who = f"step {question.step} cannot be decided by {by}"
    was_asked = press is not None and (press.in_notice or press.asked_in in question.asked_in)
    if by.startswith(CHAT) and not was_asked:
        raise NotApproverError(f"{who}: this chat was not asked")
    if question.approvers and by not in question.approvers:
        raise NotApproverError(who, hint=f"ask one of: {', '.join(question.approvers)}")
    names = {by, *([f"{CHAT}{press.sender}"] if press else [])}  # a private chat has the same ID as its person
    if starter in names and (question.not_by_starter or by.startswith(TOKEN)):
        raise NotApproverError(f"{who}, who started the run", hint="another person must decide")
