"""What an HTTP answer means for a message, where every provider agrees."""

from typing import TYPE_CHECKING

from tocsin.core.errors import LONGEST_TOLD_S, ChannelError, FailureKind

if TYPE_CHECKING:
    from tocsin.core.http.transport import HttpResponse


def rate_limited(seconds: float | None, code: str = "ratelimited", *, whole_account: bool = False) -> ChannelError:
    """Return the failure of a provider that asks to wait; `seconds` is nothing when it did not say how long."""
    return throttled(f"{code}: the provider asks to {wait_of(seconds)}", seconds, code, whole_account=whole_account)


def still_throttled(seconds: float, code: str, *, whole_account: bool) -> ChannelError:
    """Return the failure of a message that is not even offered: the provider asked to wait before, and it is early."""
    whom = "account" if whole_account else "channel"
    told = f"{code}: not sent, because the provider asked this {whom} to wait, for {seconds:g} s more"
    return throttled(told, seconds, code, whole_account=whole_account)


def wait_of(seconds: float | None) -> str:
    """Return what a provider asks for, after `asks to`."""
    if seconds is None:
        return "slow down"
    return f"wait {seconds:g} s" if seconds < LONGEST_TOLD_S else f"wait {LONGEST_TOLD_S:g} s or more"


def throttled(sentence: str, seconds: float | None, code: str, *, whole_account: bool = False) -> ChannelError:
    """Return the failure that `sentence` tells, for `seconds` to wait."""
    return ChannelError(
        sentence,
        hint="send again later",
        kind=FailureKind.RATE_LIMITED,
        provider_code=code,
        retry_after_s=seconds,
        whole_account=whole_account,
    )


def refused(code: str, advice: str = "", *, kind: FailureKind = FailureKind.PERMANENT) -> ChannelError:
    """Return the failure that the provider names by `code`."""
    return ChannelError(code, hint=advice, kind=kind, provider_code=code)


def unusable(reply: "HttpResponse", url_variable: str, *, whole_account: bool = False) -> ChannelError:
    """Return the failure of an answer without the provider's own JSON: judged by its status alone.

    `whole_account` says whom a 429 concerns.
    """
    status = reply.status
    if status == 429:
        return rate_limited(reply.retry_after_s(), "HTTP 429", whole_account=whole_account)
    if status >= 500:
        return ChannelError(
            f"HTTP {status}",
            hint="the provider has trouble; try again later",
            kind=FailureKind.TRANSIENT,
            provider_code=f"HTTP {status}",
            retry_after_s=reply.retry_after_s(),
        )
    if 300 <= status < 400:
        return refused(f"HTTP {status}", f"a redirect, which is never followed; correct {url_variable}")
    if 200 <= status < 300:
        return ChannelError(
            f"outcome unknown: HTTP {status} with an unreadable body",
            hint=f"check there before sending again, and that {url_variable} is the provider",
            kind=FailureKind.AMBIGUOUS,
            provider_code=f"HTTP {status}",
        )
    return refused(f"HTTP {status}", f"not an answer of the provider; check {url_variable}")
