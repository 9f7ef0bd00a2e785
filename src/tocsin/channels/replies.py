"""The meaning of HTTP answers that all providers share."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from tocsin.core.errors import LONGEST_TOLD_S, ChannelError, FailureKind, RemoteError
from tocsin.core.http.transport import HttpResponse

T = TypeVar("T")


def rate_limited(seconds: float | None, code: str = "ratelimited", *, whole_account: bool = False) -> ChannelError:
    """Return the failure for a provider that asks to wait; `seconds` is None if it did not say how long."""
    return throttled(
        f"{code}: the provider asks to {describe_wait(seconds)}", seconds, code, whole_account=whole_account
    )


def still_throttled(seconds: float, code: str, *, whole_account: bool) -> ChannelError:
    """Return the failure for a message that is not sent because an earlier wait of the provider is not over."""
    whom = "account" if whole_account else "channel"
    told = f"{code}: not sent, because the provider asked this {whom} to wait for another {seconds:g} s"
    return throttled(told, seconds, code, whole_account=whole_account)


def describe_wait(seconds: float | None) -> str:
    """Return the requested wait as words that follow `asks to`."""
    if seconds is None:
        return "slow down"
    return f"wait {seconds:g} s" if seconds < LONGEST_TOLD_S else f"wait {LONGEST_TOLD_S:g} s or more"


def throttled(sentence: str, seconds: float | None, code: str, *, whole_account: bool = False) -> ChannelError:
    """Return a throttling failure with this sentence and wait."""
    return ChannelError(
        sentence,
        hint="send again later",
        kind=FailureKind.RATE_LIMITED,
        provider_code=code,
        retry_after_s=seconds,
        whole_account=whole_account,
    )


def refused(code: str, advice: str = "", *, kind: FailureKind = FailureKind.PERMANENT) -> ChannelError:
    """Return the failure for the provider's error `code`."""
    return ChannelError(code, hint=advice, kind=kind, provider_code=code)


def unusable(reply: HttpResponse, url_variable: str, *, whole_account: bool = False) -> ChannelError:
    """Return the failure for an answer without the provider's JSON, by its status.

    `whole_account` says whether a 429 applies to the whole account.
    """
    status = reply.status
    if status == 429:
        return rate_limited(reply.retry_after_s(), "HTTP 429", whole_account=whole_account)
    if status >= 500:
        return ChannelError(
            f"HTTP {status}",
            hint="the provider has an internal problem; try again later",
            kind=FailureKind.TRANSIENT,
            provider_code=f"HTTP {status}",
            retry_after_s=reply.retry_after_s(),
        )
    if 300 <= status < 400:
        return refused(f"HTTP {status}", f"redirects are not followed; correct {url_variable}")
    if 200 <= status < 300:
        return ChannelError(
            f"outcome unknown: HTTP {status} with an unreadable body",
            hint=f"check the recipient's side before you send again, and check {url_variable}",
            kind=FailureKind.AMBIGUOUS,
            provider_code=f"HTTP {status}",
        )
    if status == 413:  # of a proxy in front of the provider
        return refused(
            "HTTP 413", "the message or its file is too large for the provider or a proxy before it; send less"
        )
    return refused(f"HTTP {status}", f"not a response of the provider; check {url_variable}")


def judge_status(
    reply: HttpResponse, address: str, advice: Mapping[str, str], *, said: str = "", otherwise: str = ""
) -> ChannelError:
    """Return the failure for an answer by its status alone, for products without errors of their own.

    `advice` has the remedies by status, such as `HTTP 404`, `otherwise` that of other refusals. `said` is the status
    with the product's words, `address` names what to correct after a redirect.
    """
    code = f"HTTP {reply.status}"
    if reply.status == 429:
        return rate_limited(reply.retry_after_s(), said or code)
    if reply.status in {408, 425}:
        return refused(said or code, "try again later", kind=FailureKind.TRANSIENT)
    if 400 <= reply.status < 500 and (hint := advice.get(code, otherwise)):
        return refused(said or code, hint)
    return unusable(reply, address)


def repeatable(failure: RemoteError, hint: str, what: str = "") -> RemoteError:
    """Return the failure of a call that sends nothing: without an answer it can be repeated.

    `what` begins the error for that case, `hint` is its remedy.
    """
    if failure.kind is not FailureKind.AMBIGUOUS:
        return failure
    said = str(failure).removeprefix("outcome unknown: ")
    said = f"{what}: {said}" if what else said
    return ChannelError(said, hint=hint, kind=FailureKind.TRANSIENT, provider_code=failure.provider_code)


async def invisibly(what: str, call: Awaitable[T]) -> T:
    """Await a call that no recipient notices: without an answer, nothing was sent, so that it can be repeated.

    `what` begins the error for that case. Raises RemoteError.
    """
    try:
        return await call
    except RemoteError as failure:
        raise repeatable(failure, "send again", what) from None


async def repeat_once(call: Callable[[], Awaitable[T]]) -> T:
    """Call, and repeat an unanswered call once; only for idempotent calls."""
    try:
        return await call()
    except RemoteError as failure:
        if failure.kind is not FailureKind.AMBIGUOUS:
            raise
        unanswered = failure
    try:
        return await call()
    except RemoteError as second:
        # Even if the second attempt failed to connect, the first may have arrived.
        raise second if second.kind is FailureKind.PERMANENT else unanswered from None
