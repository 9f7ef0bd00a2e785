"""The error hierarchy: every error has a one-sentence message, a hint for the next step, and a stable code."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import ClassVar

# Limit Retry-After to one hour: a provider's mistake must not block a target for longer.
LONGEST_TOLD_S = 3600.0


class TocsinError(Exception):
    """Base class of all errors that users may see; `str(error)` is one sentence."""

    code: ClassVar[str] = "error"
    lacks_setting: ClassVar[bool] = False  # the hint names settings to set; commands add which files were read

    def __init__(self, message: str, *, hint: str = "", body_key: str = "") -> None:
        """Store the message and the hint; `body_key` is the key of the request body whose value is invalid, if any."""
        super().__init__(message)
        self.hint = hint
        self.body_key = body_key

    def sentence(self) -> str:
        """Return the message followed by the hint, as one line."""
        return _with_hint(str(self), self.hint)

    def in_result(self) -> str:
        """Return the sentence as the `error` of a send result."""
        return self.sentence()


class ConfigError(TocsinError):
    """A setting or a file of the operator is invalid; nothing was started or sent."""

    code = "invalid-config"


class MissingSettingError(ConfigError):
    """A required setting is not set."""

    lacks_setting = True


class NotFoundError(TocsinError):
    """No record has this name or ID."""

    code = "not-found"


class ConflictError(TocsinError):
    """The state of a record does not allow this, or another record has the name or ID."""

    code = "conflict"


class UnknownProfileError(TocsinError):
    """No notification profile has this name."""

    code = "unknown-profile"


class ProcessError(TocsinError):
    """A child process could not be started, or did not end in time."""

    code = "process-failed"


class StoreUnavailableError(TocsinError):
    """A store is unreachable or unavailable for now; a retry may succeed."""

    code = "store-unavailable"


class FailureKind(StrEnum):
    """Whether a failed delivery may be retried."""

    PERMANENT = "permanent"  # a retry cannot succeed
    TRANSIENT = "transient"  # certainly not delivered; a retry may succeed
    RATE_LIMITED = "rate_limited"  # rejected; retry after `retry_after_s`
    AMBIGUOUS = "ambiguous"  # possibly delivered: never retry automatically


def clamp_retry_after_s(seconds: float | None) -> float | None:
    """Limit a wait in seconds to one hour; return `None` for an invalid one."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return None
    return float(min(seconds, LONGEST_TOLD_S))


class RemoteError(TocsinError):
    """A remote service rejected the request, failed, or was unreachable; its attributes are for programs."""

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
        self.whole_account = whole_account  # the wait concerns every target of the account, not only this one

    def shortened(self, error: str) -> str:
        """Return `error` without the hint to wait, if the send was throttled: callers wait or give their own hint."""
        if self.kind is not FailureKind.RATE_LIMITED or not self.hint:
            return error
        return error.removesuffix(self.hint).rstrip(";: ")


class ChannelError(RemoteError):
    """The channel's provider or adapter did not accept a message."""

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
    """The channel does not exist, or its credentials are not set."""

    code = "unknown-channel"

    def __init__(self, message: str, *, hint: str = "", missing: Sequence[str] = (), result: str = "") -> None:
        """Store the settings to set (`missing`) and the text for send results (`result`), `Unknown channel: …`."""
        super().__init__(message, hint=hint)
        self.missing = missing
        self._result = result or message

    def in_result(self) -> str:
        """Return the sentence as the `error` of a send result."""
        return _with_hint(self._result, self.hint)


def _with_hint(sentence: str, hint: str) -> str:
    return f"{sentence}{'; ' if ': ' in sentence else ': '}{hint}" if hint else sentence


def walk_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, the nearest first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
