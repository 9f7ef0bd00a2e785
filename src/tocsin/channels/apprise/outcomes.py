"""Maps answers of the child process to outcomes. Source: docs/facts/apprise.md, "Outcomes"."""

import re
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
_THROTTLED = re.compile(r"too many requests|rate.?limit|api limit", re.IGNORECASE)  # Prowl answers 406
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
    status = _status_of(number)
    code = f"HTTP {status}" if status else str(number)
    if status == 429 or (not 500 <= status < 600 and _THROTTLED.search(words)):
        return rate_limited(None, code)
    if 500 <= status < 600 or status in _TRY_LATER:
        hint = "the service has a problem; try again later"
        return ChannelError(words, hint=hint, kind=FailureKind.TRANSIENT, provider_code=code)
    if 300 <= status < 400:
        return refused(code, f"redirects are not followed; correct {_ADDRESS}")
    if 400 <= status < 500 or not status:
        return ChannelError(words, hint=ADVICE.get(code, "the service refuses the message"), provider_code=code)
    return unknown(words)  # an answer of success that the library could not read


def _status_of(number: int) -> int:
    """Return the status that a number is or contains; 0 for a number that only the service knows, which refuses."""
    if number < 1_000:
        return number
    if 400 <= number // 100 < 600:  # ntfy: 40301
        return number // 100
    return number % 1_000 if number // 1_000 == 20 and number % 1_000 >= 400 else 0  # Twilio: 20429, but 21211
