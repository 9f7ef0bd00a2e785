"""The error tree: every error carries one sentence, a hint for the next step and a stable code."""

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

# Cap Retry-After at one hour: a provider's mistake must not silence a target.
LONGEST_TOLD_S = 3600.0


class TocsinError(Exception):
    """Root of all errors that a person may see; `str(error)` is one sentence."""

    code: ClassVar[str] = "error"
    lacks_setting: ClassVar[bool] = False  # its hint names settings to set; commands add which files were read

    def __init__(self, message: str, *, hint: str = "", body_key: str = "") -> None:
        """`body_key` is the key of a request whose value is wrong, where it is one."""
        super().__init__(message)
        self.hint = hint
        self.body_key = body_key

    def sentence(self) -> str:
        """Return the message followed by the hint, as one line for a result or a log."""
        return _with_hint(str(self), self.hint)

    def in_result(self) -> str:
        """Return the sentence as the error of a send result."""
        return self.sentence()


class ConfigError(TocsinError):
    """A setting or a file of the operator is wrong; nothing was started or sent."""

    code = "invalid-config"


class MissingSettingError(ConfigError):
    """A setting that the operation needs is not set."""

    lacks_setting = True


class UnknownProfileError(TocsinError):
    """No notification profile has that name."""

    code = "unknown-profile"


class ProcessError(TocsinError):
    """A child process could not be started, or did not end in time."""

    code = "process-failed"


class StoreUnavailableError(TocsinError):
    """A store cannot be reached or refuses to work for now; asking again later may help."""

    code = "store-unavailable"


class FailureKind(StrEnum):
    """Meaning of a failed delivery for retries."""

    PERMANENT = "permanent"  # trying again cannot help
    TRANSIENT = "transient"  # certainly not delivered; a later try may work
    RATE_LIMITED = "rate_limited"  # refused; try again after `retry_after_s`
    AMBIGUOUS = "ambiguous"  # it may have been delivered: never resend blindly


def clamp_retry_after_s(seconds: float | None) -> float | None:
    """Clamp Retry-After to one hour; `None` if invalid."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return None
    return float(min(seconds, LONGEST_TOLD_S))


class RemoteError(TocsinError):
    """A remote service refused, failed or could not be reached; carries facts, not text to parse."""

    code = "remote-error"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        kind: FailureKind = FailureKind.PERMANENT,
        provider_code: str = "",
        retry_after_s: float | None = None,
        whole_account: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.provider_code = provider_code
        self.retry_after_s = clamp_retry_after_s(retry_after_s)
        self.whole_account = whole_account  # the wait concerns every target, not this one alone

    def shortened(self, error: str) -> str:
        """Return the error of a throttled send without its advice to wait, which callers give or follow themselves."""
        if self.kind is not FailureKind.RATE_LIMITED or not self.hint:
            return error
        return error.removesuffix(self.hint).rstrip(";: ")


class ChannelError(RemoteError):
    """A channel's provider, or the adapter before it, would not take a message."""

    code = "channel-error"


class TooManyPartsError(ChannelError):
    """The text would be split into more messages than MAX_PARTS."""

    code = "too-many-parts"

    def __init__(self, parts: int, limit: int) -> None:
        super().__init__(
            f"the text would be sent as {parts:,} messages, limit {limit:,}",
            hint="shorten it, send it as a file, or raise MAX_PARTS",
        )
        self.parts = parts
        self.limit = limit


class UnknownChannelError(ChannelError):
    """The channel does not exist here, or its credentials are not set."""

    code = "unknown-channel"

    def __init__(self, message: str, *, hint: str = "", missing: Sequence[str] = (), result: str = "") -> None:
        """`missing` are settings to set; `result` is what programs read in a send result, `Unknown channel: …`."""
        super().__init__(message, hint=hint)
        self.missing = missing
        self._result = result or message

    def in_result(self) -> str:
        """Return the sentence as the error of a send result."""
        return _with_hint(self._result, self.hint)


def _with_hint(sentence: str, hint: str) -> str:
    return f"{sentence}{'; ' if ': ' in sentence else ': '}{hint}" if hint else sentence
