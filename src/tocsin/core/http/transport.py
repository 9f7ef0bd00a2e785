"""The interface of HTTP calls, with exchangeable implementations.

A call returns an `HttpResponse`, or raises RemoteError, which states whether the request can have reached the server.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from tocsin.core.errors import FailureKind, RemoteError, clamp_retry_after_s

if TYPE_CHECKING:
    from tocsin.core.http.bodies import StreamedBody

# Source of all four: docs/facts/calls.md, "Timeouts".
CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 15.0
CALL_TIMEOUT_S = 25.0
MAX_BODY_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response. Header names are lower-case; `complete` is false if the body was interrupted or cut."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool = True

    def json_object(self) -> dict[str, Any] | None:
        """Return the body as a JSON object, or `None` for anything else."""
        if not self.complete:
            return None
        import json

        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) else None

    def retry_after_s(self) -> float | None:
        """Return the seconds of the `Retry-After` header, one hour at most; also parses the date form."""
        value = self.headers.get("retry-after", "").strip()
        if not value:
            return None
        try:
            seconds = float(value)
        except ValueError:
            seconds_until = _seconds_until(value, self.headers.get("date", ""))
            return clamp_retry_after_s(seconds_until)
        return clamp_retry_after_s(seconds)


class Transport(Protocol):
    """Makes single HTTP calls: no redirects, verified certificates, limited time and size."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: "bytes | StreamedBody" = b"",
        timeout_s: float = CALL_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> HttpResponse:
        """Return the response, whatever its status; `timeout_s` limits the whole call.

        A body over `max_body_bytes` is cut there and not `complete`. Raises RemoteError: transient if no connection was
        made, ambiguous if the request was sent but no response was received.
        """

    def guarded(self, check_address: Callable[[str], None]) -> "Transport":
        """Return a transport that calls `check_address` with each address before it connects.

        `check_address` raises if the address is forbidden. The connections are closed with those of this transport.
        """

    async def aclose(self) -> None:
        """Close all connections."""


def connect_failed(url: str, reason: str, hint: str = "check the network and the address") -> RemoteError:
    """Return the error of a call that certainly did not reach the server."""
    return RemoteError(
        f"could not connect to {displayed_host(url)}: {reason}",
        hint=hint,
        kind=FailureKind.TRANSIENT,
        provider_code="connect",
    )


def certificate_refused(url: str, reason: str) -> RemoteError:
    """Return the error of a call whose server could not prove its identity."""
    return connect_failed(
        url, f"its certificate could not be verified ({reason})", "correct the address or the trusted root certificates"
    )


def outcome_unknown(url: str, reason: str) -> RemoteError:
    """Return the error of a call that may have taken effect."""
    return RemoteError(
        f"outcome unknown: {displayed_host(url)} {reason} after the request was sent",
        hint="check the recipient's side before you send again",
        kind=FailureKind.AMBIGUOUS,
        provider_code="no-answer",
    )


@lru_cache(maxsize=64)
def displayed_host(url: str) -> str:
    """Return host and port of `url`, the part that errors may show, because a path can contain a token."""
    from urllib.parse import urlsplit  # 3 ms, which a command that only lists avoids

    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
    return f"{host}:{parts.port}" if parts.port else host


def describe_os_error(error: OSError) -> str:
    """Return the system's message about a failed connection, without the address that it repeats."""
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__


def find_origin(url: str) -> str:
    """Return scheme and authority of `url`."""
    end = url.find("/", url.find("://") + 3)
    return url if end < 0 else url[:end]


def _seconds_until(date: str, now: str) -> float | None:
    """Return the seconds from `now`, the response's own `Date`, to `date`: independent of our clock.

    For a response without `Date`, our clock is used; then a time in the past is ignored.
    """
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(date)
        if now:
            return max(0.0, (until - parsedate_to_datetime(now)).total_seconds())
        left = until.timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return None
    return left if until.tzinfo and left > 0 else None
