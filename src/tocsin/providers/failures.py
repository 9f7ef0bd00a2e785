"""Convert exceptions of the SDKs to one sentence with a remedy, without keys and raw bodies.

Imported together with the SDKs, in a thread.
"""

import logging
import ssl
from collections.abc import Callable

import httpx2
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
)

from tocsin.core.errors import FailureKind, walk_causes
from tocsin.core.http.transport import describe_os_error, displayed_host
from tocsin.providers.contract import ProviderError
from tocsin.providers.endpoint import ModelEndpoint, refused_key_error

MAX_QUOTED_CHARS = 200
LATER = "try again in a few minutes"
# The meaning of a status, and the remedy. Sources: https://docs.claude.com/en/api/errors and
# https://platform.openai.com/docs/guides/error-codes
_MEANINGS = {
    400: ("rejects the question", "change it; see the provider's message"),
    402: ("has no credit left for this account", "add credit, or set CHAT_FALLBACK_PROVIDER"),
    403: ("denies access", "check the permissions of the key in {key}"),
    404: ("does not know the model {model}", "correct {setting} or {url}"),
    413: ("rejects the question as too large", "send fewer or smaller pictures, or start a new conversation"),
    422: ("rejects the question", "change it; see the provider's message"),
    429: ("received too many requests", "wait a little, or raise the account's limit"),
    529: ("is overloaded", LATER),
}

# The key, the account, the model's name or the address is wrong; another question fails too.
_OPERATORS = frozenset({401, 402, 403, 404, 405, 410})
# Anthropic's message with status 400 for an account without credit, where others answer 402.
_NO_CREDIT = "credit balance is too low"

log = logging.getLogger(__name__)


def to_provider_error(error: Exception, endpoint: ModelEndpoint, redact: Callable[[str], str]) -> ProviderError:
    if own := next((cause for cause in walk_causes(error) if isinstance(cause, ProviderError)), None):
        return own
    if isinstance(error, ModelHTTPError):
        return _refusal(error, endpoint, redact)
    if lost := _transport_failure(error, endpoint):
        return lost
    if isinstance(error, ContentFilterError):
        return declined_error(endpoint)
    if isinstance(error, OutputTokenLimitExceeded):
        sentence = f"{endpoint.label} reached its length limit before the answer was complete"
        return ProviderError(sentence, hint="ask for a shorter answer", provider_code="length")
    if isinstance(error, ModelAPIError) and error.in_stream:
        said = _quoted(error.body, redact)
        return answer_error(endpoint, "broken", f"reports an error in its response{said}", LATER)
    if not isinstance(error, ModelAPIError | UnexpectedModelBehavior | httpx2.HTTPError):
        # A malformed answer makes the SDKs raise many exceptions, as would a bug here. Their text repeats the
        # answer, which is private.
        log.warning("the response of a chat provider cannot be read", extra={"error": type(error).__name__})
        log.debug("the response of a chat provider cannot be read", exc_info=error)
    return unreadable_error(endpoint)


def answer_error(endpoint: ModelEndpoint, code: str, what: str, hint: str = "") -> ProviderError:
    """Return the error for a missing or incomplete answer; a later retry may help."""
    return ProviderError(f"{endpoint.label} {what}", hint=hint, kind=FailureKind.TRANSIENT, provider_code=code)


def unreadable_error(endpoint: ModelEndpoint) -> ProviderError:
    """Return the error for a response that is not a chat model's."""
    return answer_error(
        endpoint, "unreadable", "sent an unreadable response", f"check {endpoint.url_setting}, or {LATER}"
    )


def declined_error(endpoint: ModelEndpoint) -> ProviderError:
    """Return the error for a question that the provider's filter stopped."""
    return ProviderError(f"{endpoint.label} declined to answer", hint="rephrase the question", provider_code="declined")


def status_error(
    status: int, endpoint: ModelEndpoint, *, means: int = 0, said: str = "", retry_after_s: float | None = None
) -> ProviderError:
    """Return the error for an HTTP status; `means` is a status that describes the problem better."""
    means = means or status
    what, hint = _meaning(means)
    names = {"key": endpoint.key_setting, "url": endpoint.url_setting}
    names |= {"model": endpoint.model, "setting": endpoint.model_setting}
    return ProviderError(
        f"{endpoint.label} {what.format(**names)} ({status}){said}",
        hint=hint.format(**names),
        kind=_kind(means),
        provider_code=str(status),
        retry_after_s=retry_after_s,
        needs_operator=means in _OPERATORS or 300 <= means < 400,
    )


def _refusal(error: ModelHTTPError, endpoint: ModelEndpoint, redact: Callable[[str], str]) -> ProviderError:
    status = error.status_code
    if status == 401:
        return refused_key_error(endpoint)
    if isinstance(error, ModelContextWindowExceededError):
        sentence = f"the conversation is too long for {endpoint.model}"
        return ProviderError(sentence, hint="start a new one, or shorten it", provider_code="too-long")
    no_credit = _NO_CREDIT in _quoted(error.body, redact).casefold()
    quota, overloaded = isinstance(error, ModelQuotaExceededError) or no_credit, isinstance(error, ModelOverloadedError)
    means = 402 if quota else 529 if overloaded else status
    said = _quoted(error.body, redact) if means in {400, 403, 422} else ""
    return status_error(status, endpoint, means=means, said=said, retry_after_s=error.retry_after)


def _meaning(status: int) -> tuple[str, str]:
    if 300 <= status < 400:
        return "responds with a redirect, which is not followed", "correct {url}"
    if status >= 500:
        return _MEANINGS.get(status, ("fails", LATER))
    return _MEANINGS.get(status, ("refuses", "correct {url} or {setting}"))


def _kind(status: int) -> FailureKind:
    if status == 429:
        return FailureKind.RATE_LIMITED
    return FailureKind.TRANSIENT if status >= 500 else FailureKind.PERMANENT


def _transport_failure(error: Exception, endpoint: ModelEndpoint) -> ProviderError | None:
    """Return the error of the connection, or `None` if the connection did not fail."""
    causes = list(walk_causes(error))
    if any(isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout) for cause in causes):
        host, reason = displayed_host(endpoint.base_url), _reason(causes)
        return ProviderError(
            f"could not connect to {host}: {reason}",
            hint=f"check the network and {endpoint.url_setting}",
            kind=FailureKind.TRANSIENT,
            provider_code="connect",
        )
    if any(isinstance(cause, httpx2.TimeoutException) for cause in causes):
        return answer_error(endpoint, "stalled", "stopped sending", LATER)
    if any(isinstance(cause, httpx2.TransportError | httpx2.StreamError) for cause in causes):
        return answer_error(endpoint, "lost", "closed the connection before the answer was complete", LATER)
    return None


def _reason(causes: list[BaseException]) -> str:
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate could not be verified ({cause.verify_message})"
    said = (cause for cause in causes if isinstance(cause, OSError) and (cause.errno or cause.strerror))
    found = next(said, None)
    if found is not None:
        return describe_os_error(found)
    return "no response in time" if any(isinstance(cause, httpx2.TimeoutException) for cause in causes) else "it failed"


def _quoted(body: object, redact: Callable[[str], str]) -> str:
    """Return the message of the provider's error object, shortened to one line; `""` for any other body."""
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if not isinstance(message, str) or not message.strip():
        return ""
    line = "".join(c if c.isprintable() else " " for c in redact(message))
    line = " ".join(line.split())
    return f": {line if len(line) <= MAX_QUOTED_CHARS else line[: MAX_QUOTED_CHARS - 1] + '…'}"
