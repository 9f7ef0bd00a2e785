"""The abilities that features ask of each other and of the program, as types, and what is given and returned.

An ability is a plain function that one feature, or the program, provides and any feature may call. Commands that only
list come by without this module: who annotates with a type of it imports it for type checking alone.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from tocsin.channels.conversation import Keyboard
from tocsin.channels.inbound import InboundMessage
from tocsin.features.context import Notice
from tocsin.providers.contract import ChatProvider, ModelTool, Question, WorkLimits, WorkReport
from tocsin.runs.control import Retry
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Line, Run

T = TypeVar("T")


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
    watch: Callable[[Line], None] | None = None  # gets each line as it comes
    parent_run_id: str | None = None
    audited: bool = True  # False: the entry of its parent is the only one
    retry: Retry | None = None  # an earlier run, which is executed again on what it was about


@dataclass(frozen=True, slots=True)
class AssistantRun:
    """The ended run of an assistant skill, and what it found and proposes."""

    run: Run
    findings: Sequence[Mapping[str, Any]] = ()
    patch: str = ""  # a unified diff; empty where it proposes no change


class StartAssistant(Protocol):
    """Starts an assistant skill; raises TocsinError for one that cannot be started."""

    async def __call__(self, name: str, request: AssistantRequest, *, dry_run: bool = False) -> ActiveRun | Run:
        """Return the run as soon as it is recorded; with `dry_run`, one that is neither executed nor recorded."""
        ...


class DescribeAssistant(Protocol):
    """Tells more of an assistant skill than its record."""

    async def __call__(self, name: str, file: str = "", /) -> Mapping[str, Any]:
        """Return its `body`, and `checks`: whether it acts on a file."""
        ...


class Ask(Protocol):
    """Asks the chat model; raises TocsinError where none answers."""

    async def __call__(
        self,
        prompt: str,
        message: str = "",
        /,
        *,
        system: str = "",
        model: str = "",
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> str:
        """Return the answer to `prompt`, which `message` follows unless the prompt quotes it.

        `system` are instructions, `model` is another model of the provider than CHAT_MODEL.
        """
        ...


class OpenModel(Protocol):
    """Lends a chat model to those who show its answer while it is written."""

    def __call__(self, model: str = "", /) -> AbstractAsyncContextManager[ChatProvider]:
        """Enter with another model of the provider than CHAT_MODEL where one is named.

        Raises ProviderError where no model is configured, ConfigError for one that cannot be used.
        """
        ...


class UseTools(Protocol):
    """Has the chat model call tools until it fills in a pydantic model; raises TocsinError where none answers."""

    async def __call__(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits, *, model: str = ""
    ) -> WorkReport[T]:
        """Return what the model filled in; `model` is a name, or an alias that skills use."""
        ...


class ListSkills(Protocol):
    """Lists skills by name: programs, and those for the assistant that have a folder to look at."""

    async def __call__(self, *, every: bool = False) -> Sequence[SkillInfo]:
        """Return those that can be run; with `every`, all that are installed."""
        ...


class RunSkill(Protocol):
    """Runs a skill in the sandbox to its end; raises TocsinError for one that cannot be started."""

    async def __call__(
        self,
        name: str,
        *,
        source: str,
        cause: str,
        actor: str | None = None,
        args: Sequence[str] = (),
        input: str = "",
        folder: Path | None = None,
        part_of: str | None = None,
    ) -> Run:
        """Return the ended run; with `part_of`, the audit entry of that run is the only one.

        `args` of a skill for the assistant are files of `folder`, by default of the first folder that is watched.
        Where a person typed them to the bot, those in front are files, and what follows them is what is asked for.
        `source` is that of its audit entry.
        """
        ...


class RevealSecret(Protocol):
    """Reads one secret of the vault; raises AbilityMissingError where there is no vault."""

    async def __call__(self, name: str, /, *, reader: str) -> str:
        """Return the value; `reader` is who reads it, for the audit log."""
        ...


class RevealSecrets(Protocol):
    """Reads several secrets of the vault, or all; that is one entry in the audit log."""

    async def __call__(self, names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
        """Return values by name; without `names` all of them, and none where there is no vault."""
        ...


class TellOperator(Protocol):
    """Queues a text for the chat of the operator: BOTCHAT_DEFAULT_CHAT_ID, else the admin chat."""

    async def __call__(self, text: str, /, *, key: str) -> bool:
        """Return False where there is no such chat; the same `key` queues a text once. Raises TocsinError."""
        ...


class AskedChat(NamedTuple):
    """A chat of the bot."""

    channel: str
    chat_id: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.chat_id}"


class FindChats(Protocol):
    """Finds chats of the bot that can be asked something."""

    def __call__(self, ids: Collection[str] = (), /) -> Sequence[AskedChat]:
        """Return the chats with these IDs, by default that of the operator; none where no bot is set up."""
        ...


class AskChat(Protocol):
    """Queues a text with buttons for a chat of the bot."""

    async def __call__(self, chat: AskedChat, text: str, /, *, key: str, buttons: Keyboard) -> None:
        """Queue it once for each `key`; what a button carries comes back to `handlers`. Raises TocsinError."""
        ...


class RecalledEntry(NamedTuple):
    """Something that was stored for a chat."""

    key: str
    text: str


class Recall(Protocol):
    """Finds what was stored for a chat."""

    async def __call__(self, chat_id: str, question: str, /) -> Sequence[RecalledEntry]:
        """Return the few entries that may help to answer `question`, the most relevant first; often none."""
        ...


class FollowChat(Protocol):
    """Lets what is kept for a chat follow it to another ID, as a group gets it that becomes a supergroup."""

    async def __call__(self, old_id: str, new_id: str, /) -> None:
        """Move what there is; may be called twice."""
        ...


class Remember(Protocol):
    """Stores what a chat model wants to be kept for one chat."""

    async def __call__(self, chat_id: str, text: str, /) -> str:
        """Return the key; raises TocsinError for what must not be stored, such as a secret."""
        ...


class ListSubjects(Protocol):
    """Lists what runs of a kind can be started with, such as the names of workflows."""

    async def __call__(self, kind: str, /) -> Sequence[str] | None:
        """Return the names, None where they are not known; raises AbilityMissingError where no feature starts them."""
        ...


class ListSchedules(Protocol):
    """Lists what starts things of a kind at times, such as the cron jobs of workflows."""

    async def __call__(self, kind: str, /) -> Mapping[str, Sequence[str]]:
        """Return the IDs of the jobs by the name of what they start; none where no feature keeps schedules."""
        ...


class SecretNames(Protocol):
    """Lists the names of the vault's secrets, never a value."""

    async def __call__(self) -> Sequence[str] | None:
        """Return the names; None where there is no vault, or where it cannot be read."""
        ...


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


class ListBotWindows(Protocol):
    """Returns the windows of the bot's chats, or that of the one chat that is named."""

    async def __call__(self, chat_id: str = "", /) -> BotWindowList:
        """Return them."""
        ...


Notify = Callable[[Notice], Awaitable[None]]  # never raises for a notice that cannot be delivered

UnreadNotices = Callable[[], Awaitable[int]]

ListAssistants = Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]  # the records of assistant skills, by name
AssistantNames = Callable[[], Awaitable[Collection[str]]]  # of assistant skills: no file of them is read

# Runs an assistant skill to its end; raises TocsinError for one that cannot be started.
RunAssistant = Callable[[str, AssistantRequest], Awaitable[AssistantRun]]

Indicate = Callable[[InboundMessage], AbstractAsyncContextManager[None]]

CauseOf = Callable[[InboundMessage], str]
