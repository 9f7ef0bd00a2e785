"""The answers to sends: their status tells a program whether to try again."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf

from tocsin.channels.contract import Receipt, SendResult
from tocsin.core.errors import FailureKind, RemoteError, TocsinError, UnknownChannelError
from tocsin.delivery.model import SCHEDULE_S
from tocsin.messaging.outbound.outbox import may_be_out
from tocsin.web.http.responses import JsonResponse

# Programs that repeat requests do so after any 5xx: only what may end otherwise the next time is one.
STATUSES = {
    FailureKind.PERMANENT: 422,
    FailureKind.TRANSIENT: 502,
    FailureKind.RATE_LIMITED: 503,
    FailureKind.AMBIGUOUS: 504,
}
USUAL_WAIT_S = SCHEDULE_S[0]  # where a provider refuses for now and does not say for how long


@dataclass(frozen=True, slots=True)
class SendResponse:
    """The response to a request; with `keep`, a repeated request must get the same response."""

    document: Mapping[str, object]
    status: int
    keep: bool
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> JsonResponse:
        """Return the HTTP response."""
        return JsonResponse(self.document, self.status, self.headers)


def outcome_of(result: SendResult, failure: TocsinError | None) -> SendResponse:
    """Return the response to a finished send; its status tells a client whether to retry."""
    if failure is None:
        return SendResponse(result.as_dict(), 200, keep=True)
    if isinstance(failure, UnknownChannelError):
        return SendResponse(result.as_dict(), 404, keep=False)
    # What is not from a provider, a setting for instance, is the same at the next try.
    kind = failure.kind if isinstance(failure, RemoteError) else FailureKind.PERMANENT
    headers = {"Retry-After": str(_wait_s(failure))} if kind is FailureKind.RATE_LIMITED else {}
    return SendResponse(result.as_dict(), STATUSES[kind], keep=kind is FailureKind.AMBIGUOUS, headers=headers)


def partly_sent(receipt: Receipt) -> SendResponse:
    """Return the response to a partial send: a repeated request would send the first parts again."""
    result, known = receipt.result, f"/deliveries/{receipt.delivery}"
    if receipt.delivery:
        # The next part may be out as well: a replay would begin with it.
        next_step = f"see GET {known}" if may_be_out(receipt) else f"send the remaining parts with POST {known}/replay"
        result = replace(result, error=f"{result.error}; {next_step}")
    return SendResponse(result.as_dict(), STATUSES[FailureKind.AMBIGUOUS], keep=True)


def _wait_s(failure: TocsinError) -> int:
    told_s = failure.retry_after_s if isinstance(failure, RemoteError) else None
    return ceil(told_s if told_s is not None and 0 <= told_s < inf else USUAL_WAIT_S)
