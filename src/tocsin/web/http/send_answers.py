"""The responses to sends: their status tells a program whether to retry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf

from tocsin.channels.contract import Receipt, SendResult
from tocsin.core.errors import FailureKind, RemoteError, TocsinError, UnknownChannelError
from tocsin.delivery.model import SCHEDULE_S
from tocsin.messaging.outbound.messenger import NotifyResult
from tocsin.messaging.outbound.outbox import may_be_out
from tocsin.web.http.responses import JsonResponse

# Clients retry after any 5xx: only failures that may succeed on a retry have one.
STATUSES = {
    FailureKind.PERMANENT: 422,
    FailureKind.TRANSIENT: 502,
    FailureKind.RATE_LIMITED: 503,
    FailureKind.AMBIGUOUS: 504,
}
USUAL_WAIT_S = SCHEDULE_S[0]  # if a provider rejects temporarily without Retry-After


@dataclass(frozen=True, slots=True)
class SendResponse:
    """The response to a request; with `keep`, a repeated request must get the same response."""

    document: Mapping[str, object]
    status: int
    keep: bool
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> JsonResponse:
        return JsonResponse(self.document, self.status, self.headers)


def response_to_send(result: SendResult, failure: TocsinError | None) -> SendResponse:
    """Return the response to a finished send; its status tells a client whether to retry."""
    if failure is None:
        return SendResponse(result.as_dict(), 200, keep=True)
    if isinstance(failure, UnknownChannelError):
        return SendResponse(result.as_dict(), 404, keep=False)
    # A failure without a provider, such as a wrong setting, is the same on a retry.
    kind = failure.kind if isinstance(failure, RemoteError) else FailureKind.PERMANENT
    headers = {"Retry-After": str(_wait_s(failure))} if kind is FailureKind.RATE_LIMITED else {}
    return SendResponse(result.as_dict(), STATUSES[kind], keep=kind is FailureKind.AMBIGUOUS, headers=headers)


def partial_response(receipt: Receipt) -> SendResponse:
    """Return the response to a partial send: a repeated request would send the first parts again."""
    result, known = receipt.result, f"/deliveries/{receipt.delivery}"
    if receipt.delivery:
        # The next part may have been sent as well: a replay would begin with it.
        next_step = f"see GET {known}" if may_be_out(receipt) else f"send the remaining parts with POST {known}/replay"
        result = replace(result, error=f"{result.error}; {next_step}")
    # A file that the provider refuses for good is refused again; the text has arrived.
    refused = receipt.text_sent and receipt.failure is not None and receipt.failure.kind is FailureKind.PERMANENT
    return SendResponse(
        result.as_dict(), STATUSES[FailureKind.PERMANENT if refused else FailureKind.AMBIGUOUS], keep=True
    )


def response_to_fan_out(found: NotifyResult) -> SendResponse:
    """Return the response to a direct send to a profile: a result per target."""
    unknown = any(failure and failure.kind is FailureKind.AMBIGUOUS for failure in found.failures)
    document = {"ok": found.ok, "profile": found.profile, "results": [each.as_dict() for each in found.results]}
    return SendResponse(document, fan_out_status(found), keep=bool(found.sent) or unknown)


def fan_out_status(found: NotifyResult) -> int:
    """Return the status of a direct send to a profile: 207 if some targets received it, else whether a retry helps."""
    if found.ok:
        return 200
    if found.sent:
        return 207
    may_work = {failure.kind for failure in found.failures if failure} - {FailureKind.PERMANENT}
    return 502 if may_work else STATUSES[FailureKind.PERMANENT]


def _wait_s(failure: TocsinError) -> int:
    told_s = failure.retry_after_s if isinstance(failure, RemoteError) else None
    return ceil(told_s if told_s is not None and 0 <= told_s < inf else USUAL_WAIT_S)
