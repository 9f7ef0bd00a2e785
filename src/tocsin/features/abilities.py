"""The abilities that features use of each other and of the program, as interfaces.

One feature, or the program, provides an object that has the methods of an interface; `Abilities` (`context.py`) holds
one object for each. `null_abilities.py` has what is used if no feature provides one, `ability_records.py` what the
methods accept and return. Only annotations need this module: import it for type checking alone.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tocsin.channels.conversation import Keyboard
from tocsin.channels.inbound import InboundMessage
from tocsin.features.ability_records import (
    AskedChat,
    AssistantRequest,
    AssistantRun,
    BotWindowList,
    RecalledEntry,
    SkillInfo,
)
from tocsin.features.context import Notice
from tocsin.providers.contract import ChatProvider, ModelTool, Question, WorkLimits, WorkReport
from tocsin.runs.control import StartRequest
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run

T = TypeVar("T")


class Models(Protocol):
    """The configured chat model; each method raises TocsinError if none answers."""

    async def ask(
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

    def open(self, model: str = "", /) -> AbstractAsyncContextManager[ChatProvider]:
        """Lend CHAT_MODEL, or another model of the provider, to a caller that shows the answer as it is written.

        Entering raises ProviderError if no model is configured, ConfigError for one that cannot be used.
        """
        ...

    async def use_tools(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits, *, model: str = ""
    ) -> WorkReport[T]:
        """Let a model call tools until it returns the pydantic model `shape`; `model` is a name or an alias."""
        ...


class RunnableSkills(Protocol):
    """Skills that can be run: programs, and those for the assistant that have a folder to look at."""

    async def list(self, *, every: bool = False) -> "Sequence[SkillInfo]":
        """Return by name those that can be run; with `every`, all that are installed."""
        ...

    async def run(
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
        """Run a skill in the sandbox and return the ended run; raises TocsinError if it cannot be started.

        With `part_of`, the audit entry of that run is the only one; else the entry has the source `source`. `args` of
        a skill for the assistant are files of `folder`, by default of the first folder that is watched. If a person
        typed them to the bot, leading words are files, and the rest is the input.
        """
        ...


class Assistants(Protocol):
    """Assistant skills."""

    async def list(self) -> "Sequence[Mapping[str, Any]]":
        """Return their records by name."""
        ...

    async def names(self) -> Collection[str]:
        """Return their names, valid or not; no file of them is read."""
        ...

    async def run(self, name: str, request: AssistantRequest) -> AssistantRun:
        """Run one to its end; raises TocsinError if it cannot be started."""
        ...

    async def start(self, name: str, request: AssistantRequest, *, dry_run: bool = False) -> ActiveRun | Run:
        """Return the run as soon as it is recorded; raises TocsinError if it cannot be started.

        With `dry_run`, return a run that is neither executed nor recorded.
        """
        ...

    async def describe(self, name: str, file: str = "", /) -> Mapping[str, Any]:
        """Return the `body` of one, and `checks`: whether it acts on a file."""
        ...


class Notices(Protocol):
    """What the operator should know."""

    async def notify(self, notice: Notice) -> None:
        """Store or send a notice; never raises for one that cannot be delivered."""
        ...

    async def unread_count(self) -> int:
        """Return how many notices are unread; 0 if no feature stores them."""
        ...


class OperatorChats(Protocol):
    """Chats of the bot in which the operator is told and asked."""

    def find(self, ids: Collection[str] = (), /) -> Sequence[AskedChat]:
        """Return the chats with these IDs, by default BOTCHAT_DEFAULT_CHAT_ID, else the admin chat.

        Return none if no bot is set up.
        """
        ...

    async def tell(self, text: str, /, *, key: str) -> bool:
        """Queue a text for the default chat, once for each `key`; return False if there is none. Raises TocsinError."""
        ...

    async def ask(self, chat: AskedChat, text: str, /, *, key: str, buttons: Keyboard) -> None:
        """Queue a text with buttons, once for each `key`; a pressed button reaches `handlers`. Raises TocsinError."""
        ...


class Secrets(Protocol):
    """Secrets of the vault; `reader` names the caller in the audit log."""

    async def reveal(self, name: str, /, *, reader: str) -> str:
        """Return a value; raises AbilityMissingError if no feature has a vault."""
        ...

    async def reveal_several(self, names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
        """Return values by name, with one audit entry; without `names` all of them, and none if there is no vault."""
        ...

    async def names(self) -> Sequence[str] | None:
        """Return the names of all secrets; `None` if no feature has a vault or the vault cannot be read."""
        ...


class RunStarter(Protocol):
    """Starts runs of any kind that a feature has; raises AbilityMissingError if no feature starts runs of a kind."""

    async def start(self, kind: str, subject: str, request: StartRequest, /) -> ActiveRun:
        """Return the run as soon as it is recorded; raises TocsinError if it cannot be started."""
        ...

    async def subjects(self, kind: str, /) -> Sequence[str] | None:
        """Return the names of what runs of a kind can be started with; `None` if they are not known."""
        ...


class Schedules(Protocol):
    """What starts runs at times, such as cron jobs."""

    async def jobs_by_subject(self, kind: str, /) -> Mapping[str, Sequence[str]]:
        """Return the IDs of the jobs that start runs of a kind, by the name of what they start."""
        ...


class ChatNotes(Protocol):
    """What is stored for single chats."""

    async def recall(self, chat_id: str, question: str, /) -> Sequence[RecalledEntry]:
        """Return the few entries that may help to answer `question`, the most relevant first; often none."""
        ...

    async def remember(self, chat_id: str, text: str, /) -> str:
        """Store a text at the request of a chat model and return its key.

        Raises TocsinError for what must not be stored, such as a secret.
        """
        ...

    async def follow(self, old_id: str, new_id: str, /) -> None:
        """Move the entries of a chat that got another ID, as a group that becomes a supergroup; may be called twice."""
        ...


class BotView(Protocol):
    """The conversations of the bot, and what the program knows of a received message."""

    async def windows(self, chat_id: str = "", /) -> BotWindowList:
        """Return the windows of all chats, or that of one."""
        ...

    def indicate(self, message: InboundMessage, /) -> AbstractAsyncContextManager[None]:
        """Show in the chat of a message that it is being worked on, until the context is left."""
        ...

    def cause(self, message: InboundMessage, /) -> str:
        """Return the `RunTrigger` of a run that a message starts."""
        ...
