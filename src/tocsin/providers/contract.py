"""The contract of a chat provider: it answers a conversation, whole or streamed."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from tocsin.core.errors import RemoteError

T = TypeVar("T")


class ProviderError(RemoteError):
    """The chat provider refused, failed, or broke off its answer; the message never names a key."""

    code = "provider-failed"

    def __init__(self, message: str, *, needs_operator: bool = False, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.needs_operator = needs_operator  # a key, an account or a setting is wrong, so a retry cannot help


@dataclass(frozen=True, slots=True)
class Image:
    """An image that belongs to a turn."""

    media_type: str  # image/jpeg, image/png, image/gif, image/webp
    data: bytes


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation whose last turn is the user's, and instructions for the answer."""

    turns: tuple[Turn, ...]
    instructions: str = ""
    max_tokens: int | None = None  # of the answer; None: the model's maximum
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A complete answer."""

    text: str
    model: str
    provider: str
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False  # by the model's length limit or the provider's filter


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A function that a model may call; `call` returns the text for the model, and never raises."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object
    call: Callable[[Mapping[str, Any]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """The limits of a task with tools."""

    questions: int = 20  # to the model
    tool_calls: int = 60
    tokens: int = 200_000  # input and output of all questions
    whole_s: float = 300.0


@dataclass(frozen=True, slots=True)
class WorkReport(Generic[T]):
    """The result of a task with tools."""

    result: T
    questions: int
    input_tokens: int
    output_tokens: int


class ChatProvider(Protocol):
    """A configured chat model. Cancelling a call ends the request."""

    name: str
    model: str

    async def ask(
        self,
        question: Question,
        on_text: Callable[[str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> Completion:
        """Return the answer; `on_text` receives its pieces as they arrive.

        A call that fails before its first piece is retried where that may help, here or at the fallback. After
        the first piece it is retried only with `on_restart`, which is called first: all pieces so far are void.
        Raises ProviderError, also for an answer that broke off.
        """

    async def extract(self, question: Question, shape: type[T]) -> T:
        """Return what the model extracts from the conversation, as the pydantic model `shape`; raises ProviderError."""

    async def work(
        self, question: Question, tools: Sequence[ModelTool], shape: type[T], limits: WorkLimits
    ) -> WorkReport[T]:
        """Let the model call tools until it returns the pydantic model `shape`.

        Nothing is repeated once a tool was called. Raises ProviderError, with the code `limit` if a limit is reached.
        """

    async def aclose(self) -> None:
        """Close all connections."""
