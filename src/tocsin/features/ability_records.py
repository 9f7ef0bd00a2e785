"""The records that the interfaces of `abilities.py` accept and return. Listing commands load it, so keep it light."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from tocsin.core.records.marks import TextOrNull, Time

if TYPE_CHECKING:
    from tocsin.features.skill_records import SkillFinding
    from tocsin.runs.control import Retry
    from tocsin.runs.model import Line, Run


@dataclass(frozen=True, slots=True)
class SkillInfo:
    """An installed skill."""

    name: str
    description: str = ""
    reason: str = ""  # why it cannot be run now; empty if it can
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantRequest:
    """A request to run an assistant skill. `source` is the source of the audit entry."""

    source: str
    cause: str
    actor: str | None = None
    folder: Path | None = None  # the working directory of the caller; None is the first watched folder
    files: Sequence[str] = ()  # files and folders relative to `folder`; if empty, `folder` itself
    input: str = ""  # the request of a person
    is_typed: bool = False  # `files` are typed words: the input starts at the first word that is not a file
    watch: "Callable[[Line], None] | None" = None  # called with each line of output
    parent_run_id: str | None = None
    audited: bool = True  # False: the caller writes the audit entry, unless the run is cut off
    retry: "Retry | None" = None  # an earlier run that is executed again with the same input


@dataclass(frozen=True, slots=True)
class AssistantRun:
    """The ended run of an assistant skill, with its findings and its proposed change."""

    run: "Run"
    findings: "Sequence[SkillFinding]" = ()
    patch: str = ""  # a unified diff; empty if no change is proposed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScheduledJob:
    """A job that Tocsin itself runs on a schedule."""

    id: str
    name: str
    state: Annotated[str, "As the list of these jobs shows it."]
    schedule_text: TextOrNull
    next_run_at: Time | None
    last_status: Annotated[TextOrNull, "State of the last run."]
    last_run_at: Time | None
    link: Annotated[str, "Page of the dashboard."]


class AskedChat(NamedTuple):
    """A chat of the bot."""

    channel: str
    chat_id: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.chat_id}"


class RecalledEntry(NamedTuple):
    """An entry that is stored for a chat."""

    key: str
    text: str


class BotWindow(NamedTuple):
    """The window of one chat of the bot: turns of role (`user` or `assistant`) and text, the oldest first."""

    id: str
    channel: str
    turns: Sequence[tuple[str, str]]
    title: str = ""


class BotWindowList(NamedTuple):
    """The chats of the bot that this process can show; `notice` explains why the list may be incomplete."""

    chats: Sequence[BotWindow] = ()
    notice: str = ""
