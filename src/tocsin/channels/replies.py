"""What an HTTP answer means for a message, where every provider agrees."""

from typing import TYPE_CHECKING

from tocsin.core.errors import ChannelError, FailureKind

if TYPE_CHECKING:
    from tocsin.core.http import Reply


def rate_limited(seconds: float | None, code: str = "ratelimited", *, whole_account: bool = False) -> ChannelError:
    """Return the failure of a provider that asks to wait; `seconds` is nothing when it did not say how long."""
    told = f"the provider asks to wait {seconds:g} s" if seconds is not None else "the provider asks to slow down"
    return ChannelError(
        f"{code}: {told}",
        hint="send again later",
        kind=FailureKind.RATE_LIMITED,
        provider_code=code,
        retry_after_s=seconds,
        whole_account=whole_account,
    )


def refused(code: str, advice: str = "", *, kind: FailureKind = FailureKind.PERMANENT) -> ChannelError:
    """Return the failure that the provider names by `code`."""
    return ChannelError(code, hint=advice, kind=kind, provider_code=code)


def unusable(reply: "Reply", url_variable: str) -> ChannelError:
    """Return the failure of an answer without the provider's own JSON: judged by its status alone."""
    status = reply.status
    if status == 429:
        return rate_limited(reply.retry_after_s(), "HTTP 429")
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
