"""The interfaces through which features use each other and the program.

One feature, or the program, provides an object that implements an interface; `Abilities` (`context.py`) holds one
object per interface. `null_abilities.py` has the fallbacks for interfaces that no feature provides, and
`ability_records.py` the records that the methods accept and return. Only annotations need this module: import it
under `TYPE_CHECKING`.
"""

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
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
    ScheduledJob,
    SkillInfo,
)
from tocsin.features.context import Notice
from tocsin.features.skill_records import ActivationCheck, SkillRecord
from tocsin.messaging.outbound.caller import Caller
from tocsin.providers.contract import ChatProvider, ModelTool, Question, WorkLimits, WorkReport
from tocsin.runs.control import StartRequest
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run

T = TypeVar("T")


class Models(Protocol):
    """The configured chat model. Every method raises TocsinError if no model answers."""

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
        """Return the answer to `prompt`, with `message` appended unless the prompt quotes it.

        `system` holds instructions; `model` is another model of the provider than CHAT_MODEL.
        """

    def open(self, model: str = "", /) -> AbstractAsyncContextManager[ChatProvider]:
        """Open CHAT_MODEL, or another model of the provider, for a caller that streams the answer.

        Entering the context raises ProviderError if no model is configured, and ConfigError if the model cannot be
        used.
        """

    async def use_tools(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits, *, model: str = ""
    ) -> WorkReport[T]:
        """Let a model call tools until it returns the pydantic model `shape`; `model` is a name or an alias."""


class RunnableSkills(Protocol):
    """The skills that can be run: programs, and assistant skills that have a folder to work on."""

    async def list(self, *, every: bool = False) -> "Sequence[SkillInfo]":
        """Return the runnable skills by name; with `every`, all installed skills."""

    async def is_assistant(self, name: str) -> bool:
        """Return whether a name means an assistant skill; if a program has the name, too, it means the program."""

    async def run(  # noqa: PLR0913  # each is a fact about the run
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
        audited: bool = True,
    ) -> Run:
        """Run a skill in the sandbox and return the ended run; raises TocsinError if it cannot be started.

        With `part_of`, only the audit entry of that run is written. If `audited` is false, the caller writes an entry
        unless the run is cut off (`CUT_OFF`). Otherwise the run has its own entry with the source `source`.

        For an assistant skill, `args` are files of `folder`, by default of the first watched folder. If a person typed
        them to the bot, the leading words that are files are the files, and the rest is the input.
        """


class Assistants(Protocol):
    """Assistant skills."""

    async def list(self) -> "Sequence[SkillRecord]":
        """Return the records of all skills by name."""

    async def names(self) -> Collection[str]:
        """Return the names of all skills, valid or not, without reading their files."""

    async def run(self, name: str, request: AssistantRequest) -> AssistantRun:
        """Run a skill to completion; raises TocsinError if it cannot be started."""

    async def start(self, name: str, request: AssistantRequest, *, dry_run: bool = False) -> ActiveRun | Run:
        """Start a skill and return the run once it is recorded; raises TocsinError if it cannot be started."""

    async def describe(self, name: str, file: str = "", /) -> "tuple[str | None, Sequence[ActivationCheck]]":
        """Return the instructions of a skill, and the checks whether it is active for a file."""


class Notices(Protocol):
    """The notices for the operator."""

    async def notify(self, notice: Notice) -> None:
        """Store or send a notice; never raises if it cannot be delivered."""

    async def unread_count(self) -> int:
        """Return the number of unread notices; 0 if no feature stores them."""

    async def direct_to(self, channel: str, target: str, *, source: str) -> str:
        """Send notices to a target, too; return the profile that it was added to. Raises TocsinError."""


class OperatorChats(Protocol):
    """The chats in which the bot sends messages and questions to the operator."""

    def find(self, ids: Collection[str] = (), /) -> Sequence[AskedChat]:
        """Return the chats with these IDs; by default BOTCHAT_DEFAULT_CHAT_ID, or the admin chat if that is empty.

        Empty if no bot is set up.
        """

    async def tell(self, text: str, /, *, key: str) -> bool:
        """Queue a text for the default chat, once per `key`; False if there is no such chat. Raises TocsinError."""

    async def ask(self, chat: AskedChat, text: str, /, *, key: str, buttons: Keyboard) -> None:
        """Queue a text with buttons, once per `key`. A pressed button reaches `handlers`. Raises TocsinError."""


class Secrets(Protocol):
    """The secrets of the vault. `reader` names the caller in the audit log."""

    async def reveal(self, name: str, /, *, reader: str) -> str:
        """Return the value of a secret; raises AbilityMissingError if no feature has a vault."""

    async def reveal_several(self, names: Collection[str] | None = None, /, *, reader: str) -> Mapping[str, str]:
        """Return values by name, with one audit entry: those of `names`, or all. Empty if there is no vault."""

    async def store(self, name: str, value: str, /, *, source: str) -> None:
        """Store a value, encrypted; raises AbilityMissingError if no feature has a vault, and VaultError."""
        ...

    async def names(self) -> Sequence[str] | None:
        """Return the names of all secrets; `None` if no feature has a vault or the vault cannot be read."""


class Files(Protocol):
    """The store of the files of messages."""

    @property
    def max_bytes(self) -> int:
        """The bytes that the files of one message may have together."""

    async def add_part(self, name: str, kind: str, blocks: AsyncGenerator[bytes], left: int, /) -> Mapping[str, Any]:
        """Store a file of at most `left` bytes durably; return its item of `attach`.

        It is kept for an hour, then as long as a message, or `needed_files` of a feature, has it. Raises ChannelError
        for one that is empty or too large, StoreUnavailableError, and what `blocks` raises.
        """

    async def keep(self, hashes: Iterable[str], keep_s: float, /) -> None:
        """Begin the hour only in `keep_s` seconds, on other hosts that share the store, too."""
        ...

    async def has_room(self, size: int, /) -> bool:
        """Whether files of this many bytes together fit in; raises StoreUnavailableError."""


class RunStarter(Protocol):
    """Starts runs of every kind that a feature provides; raises AbilityMissingError for an unknown kind."""

    async def start(self, kind: str, subject: str, request: StartRequest, /) -> ActiveRun:
        """Start a run and return it once it is recorded; raises TocsinError if it cannot be started."""

    async def subjects(self, kind: str, /) -> Sequence[str] | None:
        """Return the names of the subjects that runs of a kind can be started with; `None` if they are unknown."""


class Schedules(Protocol):
    """The schedules that start runs, such as cron jobs."""

    async def jobs(self) -> Sequence[ScheduledJob]:
        """Return all jobs by name."""

    async def jobs_by_subject(self, kind: str, /) -> Mapping[str, Sequence[str]]:
        """Return the IDs of the jobs that start runs of a kind, by the name of the run's subject."""


class ChatNotes(Protocol):
    """The notes that are stored per chat."""

    async def recall(self, chat_id: str, question: str, /) -> Sequence[RecalledEntry]:
        """Return the few entries that may help to answer `question`, the most relevant first; often empty."""

    async def remember(self, chat_id: str, text: str, /) -> str:
        """Store a text at the request of a chat model and return its key.

        Raises TocsinError for text that must not be stored, such as a secret.
        """

    async def follow(self, old_id: str, new_id: str, /) -> None:
        """Move the entries of a chat to its new ID, as when a group becomes a supergroup; idempotent."""


class BotView(Protocol):
    """The conversations of the bot, and the context of a received message."""

    async def windows(self, chat_id: str = "", /) -> BotWindowList:
        """Return the windows of all chats, or of one chat."""

    def indicate(self, message: InboundMessage, /) -> AbstractAsyncContextManager[None]:
        """Show a typing indicator in the chat of a message until the context is left."""

    def may_act(self, message: InboundMessage, /, scope: str = "run") -> bool:
        """Whether the sender of a handled message may start and decide things with buttons.

        Chats of the bot may, because its access rules have let them in; people who are signed in to the dashboard, if
        they have `scope`; elsewhere, the people of ACTION_PEOPLE.
        """

    def may_admit(self, message: InboundMessage, /) -> bool:
        """Whether the sender of a handled message may decide who may use the bot.

        The admin chat may, and who has the scope `admin` of the dashboard; elsewhere, the people of ACTION_PEOPLE.
        """

    async def admit(self, chat_id: str, caller: Caller, /, *, approved: bool) -> str:
        """Allow or deny a chat, and return the decision as a sentence."""

    def cause(self, message: InboundMessage, /) -> str:
        """Return the `RunTrigger` of a run that a message starts."""
