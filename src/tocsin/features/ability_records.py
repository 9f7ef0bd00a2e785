"""What the interfaces of `abilities.py` accept and return. Listing commands load this module, so it imports little."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tocsin.runs.control import Retry
    from tocsin.runs.model import Line, Run


@dataclass(frozen=True, slots=True)
class SkillInfo:
    """One skill that is installed."""

    name: str
    description: str = ""
    reason: str = ""  # why it cannot be run now; empty if it can
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantRequest:
    """On what, for whom and why an assistant skill is run. `source` is what asks, as the audit log has it."""

    source: str
    cause: str
    actor: str | None = None
    folder: Path | None = None  # the working directory of who asks; None is the first folder that is watched
    files: Sequence[str] = ()  # files and folders, from there; without any, the folder itself
    input: str = ""  # what a person asks for
    is_typed: bool = False  # `files` are words of a person: from the first that is not a file on, they are the input
    watch: "Callable[[Line], None] | None" = None  # gets each line as it comes
    parent_run_id: str | None = None
    audited: bool = True  # False: the entry of its parent is the only one
    retry: "Retry | None" = None  # an earlier run, which is executed again on what it was about


@dataclass(frozen=True, slots=True)
class AssistantRun:
    """The ended run of an assistant skill, and what it found and proposes."""

    run: "Run"
    findings: Sequence[Mapping[str, Any]] = ()
    patch: str = ""  # a unified diff; empty where it proposes no change


class AskedChat(NamedTuple):
    """A chat of the bot."""

    channel: str
    chat_id: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.chat_id}"


class RecalledEntry(NamedTuple):
    """An entry that was stored for a chat."""

    key: str
    text: str


class BotWindow(NamedTuple):
    """The window of one chat of the bot; turns are roles, `user` and `assistant`, and texts, the oldest first."""

    id: str
    channel: str
    turns: Sequence[tuple[str, str]]
    title: str = ""


class BotWindowList(NamedTuple):
    """The chats of the bot that this process can show; `notice` says why there may be others."""

    chats: Sequence[BotWindow] = ()
    notice: str = ""
