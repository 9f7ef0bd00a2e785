"""What an answer of the child process means. Source: docs/facts/apprise.md, "Outcomes"."""

from collections.abc import Mapping
from typing import Any

from tocsin.channels.replies import rate_limited, refused
from tocsin.core.errors import ChannelError, FailureKind

_ADDRESS = "the address in targets.yaml, or the secret in it"
# Remedies by status; other statuses are shown without one.
ADVICE = {
    "HTTP 400": f"the service does not accept the message or a part of the address; check {_ADDRESS}",
    "HTTP 401": f"the service refuses the credentials; make new ones, and put them into {_ADDRESS}",
    "HTTP 403": f"the account may not send there; give it the right, or correct {_ADDRESS}",
    "HTTP 404": f"the service does not know the recipient; check {_ADDRESS}",
    "HTTP 410": f"the recipient has gone; correct {_ADDRESS}",
    "HTTP 413": "the message or a file is larger than the service accepts; send less",
}
_TRY_LATER = {408, 425}  # beside those from 500 on
_UNKNOWN = "check the recipient's side before you send again"


def missing(package: str) -> ChannelError:
    """Return the failure for a package that is not installed."""
    return ChannelError(f"{package}: package not installed", hint='pip install "tocsin[apprise]"')


def unknown(reason: str) -> ChannelError:
    """Return the failure for a message that may have been sent."""
    return ChannelError(f"outcome unknown: {reason}", hint=_UNKNOWN, kind=FailureKind.AMBIGUOUS)


def not_started(reason: str) -> ChannelError:
    """Return the failure for a message that was not handed to the library."""
    return ChannelError(f"not sent: {reason}", hint="see docs/channels/apprise.md", kind=FailureKind.TRANSIENT)


def service_of(answer: Mapping[str, Any]) -> str:
    """Return the name of the service of a target; raise ChannelError if the address is unusable."""
    if package := answer.get("missing"):
        raise missing(package)
    if answer.get("unusable"):
        hint = f"compare {_ADDRESS} with its form in `tocsin channels --services`"
        raise ChannelError("the address is not one of a service that is supported here", hint=hint)
    if recipients := answer.get("recipients"):
        told = f"the address has {recipients} recipients, of which some could get the message twice"
        raise ChannelError(told, hint="make a target for each, and a profile for all of them")
    return str(answer["service"])


def check_sent(answer: Mapping[str, Any]) -> str:
    """Return the name of the service that has taken a message; raise ChannelError if it has not."""
    name = service_of(answer)
    if answer.get("sent"):
        return name
    if longest := answer.get("longest"):
        raise ChannelError(f"the text is too long for {name}, which takes {longest:,} characters", hint="shorten it")
    if answer.get("files") is False:
        raise ChannelError(f"{name} takes no files", hint="send the message without files")
    raise _failure(name, answer)


def _failure(name: str, answer: Mapping[str, Any]) -> ChannelError:
    words, codes = f"{name}: {answer['words'] or 'the library gives no reason'}", answer["codes"]
    if answer["left"] and answer["partial"]:
        return unknown(f"a part of the message may have been sent; {words}")
    if codes:
        return _by_status(words, codes[0])
    if answer["left"]:
        return unknown(words)
    if answer["tried"] or answer["broken"]:
        return ChannelError(
            f"not sent: {words}",
            hint="the service could not be reached; check the host in the address, and the network",
            kind=FailureKind.TRANSIENT,
        )
    return ChannelError(words, hint=f"the library has sent nothing; check {_ADDRESS}, and the message's type")


def _by_status(words: str, number: int) -> ChannelError:
    status = number // 100 if number >= 10_000 else number  # an error of ntfy begins with the status
    code = f"HTTP {status}"
    if status == 429:
        return rate_limited(None, code)
    if 500 <= status < 600 or status in _TRY_LATER:
        hint = "the service has a problem; try again later"
        return ChannelError(words, hint=hint, kind=FailureKind.TRANSIENT, provider_code=code)
    if 300 <= status < 400:
        return refused(code, f"redirects are not followed; correct {_ADDRESS}")
    if 400 <= status < 500:
        return ChannelError(words, hint=ADVICE.get(code, "the service refuses the message"), provider_code=code)
    return unknown(words)  # an answer of success that the library could not read, or a number of the service's own
