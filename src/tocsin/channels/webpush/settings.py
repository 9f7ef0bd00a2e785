"""Settings of the channel, and which push services are called."""

import re
from collections.abc import Sequence

from tocsin.core.config.variables import Variable
from tocsin.core.errors import ChannelError

# Of Chrome and Edge on Android, Firefox, Safari, and Edge on Windows; `.` in front stands for every host below.
KNOWN_HOSTS = (
    "fcm.googleapis.com",
    "updates.push.services.mozilla.com",
    ".push.services.mozilla.com",
    "web.push.apple.com",
    ".push.apple.com",
    ".notify.windows.com",
)
_HOST = r"(?=.{1,253}(?::|$))[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
_MAIL = r"mailto:[^\s<>@]+@([^\s<>@/]+)"
_PAGE = r"https://([^\s<>/?#@:]+)[^\s<>]*"
NAME = r"[a-z0-9][a-z0-9._-]{0,63}"
NAME_RULE = "1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first"


def contact(value: str) -> str:
    """Parse the address that push services get; Apple's refuses names that only a local network knows."""
    stripped = value.strip()
    found = re.fullmatch(_MAIL, stripped) or re.fullmatch(_PAGE, stripped)
    host = found[1].lower() if found and stripped.isascii() else ""
    if "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan")):
        raise ValueError("`mailto:` with a mail address, or an https address, of a name that the Internet knows")
    return stripped


def push_hosts(value: str) -> tuple[str, ...]:
    """Parse the origins of further push services: `host`, `https://host:port`, or `http://host:port`."""
    origins = [each if "://" in each else f"https://{each}" for each in value.lower().replace(",", " ").split()]
    if not all(re.fullmatch(rf"https?://{_HOST}(?::[0-9]{{1,5}})?", each) for each in origins):
        raise ValueError("host names, or origins such as https://push.example.org, separated by commas")
    return tuple(dict.fromkeys(origins))


CONTACT = Variable(
    "WEBPUSH_CONTACT",
    contact,
    "",
    "Address at which push services reach you, `mailto:you@example.org` or an https page; they see it.",
    required=True,
)
HOSTS: Variable[Sequence[str]] = Variable(
    "WEBPUSH_HOSTS",
    push_hosts,
    (),
    "Further push services, besides those of Google, Mozilla, Apple and Microsoft; these may be on private addresses.",
)


def check_name(name: str) -> str:
    """Return the name of a device; raise ChannelError if it is malformed."""
    if not re.fullmatch(NAME, name):
        raise ChannelError(f"{name[:100]!r} is not the name of a device", hint=f"use {NAME_RULE}")
    return name


def is_known_service(origin: str) -> bool:
    """Whether an origin is that of a push service of a browser's vendor."""
    scheme, _, host = origin.partition("://")
    return scheme == "https" and any(
        host == known or (known.startswith(".") and host.endswith(known)) for known in KNOWN_HOSTS
    )
