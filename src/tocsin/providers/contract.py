"""What a chat provider is: it answers a conversation, in one piece or as it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from tocsin.core.errors import RemoteError

T = TypeVar("T")


class ProviderError(RemoteError):
    """The chat provider refused, failed, or ended in the middle of an answer; never names a key."""

    code = "provider-failed"

    def __init__(self, message: str, *, needs_operator: bool = False, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.needs_operator = needs_operator  # a key, an account or a setting is wrong: asking again cannot help


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that belongs to a turn."""

    media_type: str  # image/jpeg, image/png, image/gif, image/webp
    data: bytes


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said."""

    role: Literal["user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation whose last turn is the user's, and how it is to be answered."""

    turns: tuple[Turn, ...]
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer."""

    text: str
    model: str
    provider: str
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False  # the model reached its length limit, or was stopped by its provider's filter


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
        """Return the answer; `on_text` gets it piece by piece as it is written.

        Raises ProviderError; an answer that was cut off in the middle is one. An answer that fails before
        its first piece is asked for again where that may help, at this provider or at the fallback. Once a
        piece was shown that happens only with `on_restart`: it is called first, and means that all pieces
        so far are void and the answer begins anew.
        """
        ...

    async def extract(self, question: Question, shape: type[T]) -> T:
        """Return what the model finds in the conversation, as a pydantic model; raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
