"""Addresses of recipients: `profile[+token][.severity]@anything`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tocsin.features.doors.severity import severity_of


class MailAddress(NamedTuple):
    """A recipient; the domain has no meaning."""

    name: str  # of a profile, or of a door
    severity: str = ""
    token: str = ""  # as it was written


class MailTarget(NamedTuple):
    """The profile and severity in a recipient address; an empty profile is that of the door."""

    profile: str
    severity: str = ""


def parse_address(address: str, is_name: Callable[[str], bool]) -> MailAddress:
    """Read an address; `is_name` knows names, which may have dots, too."""
    local = (address.rpartition("@")[0] or address).strip('<>"')
    name, plus, token = local.partition("+")
    if plus:
        token, _, severity = token.partition(".")
        return MailAddress(name, severity if severity_of(severity) else "", token)
    before, _, last = name.rpartition(".")
    if before and severity_of(last) and not is_name(name):
        return MailAddress(before, last)
    return MailAddress(name)


def written_targets(targets: Iterable[MailTarget]) -> str:
    """Return targets as they are stored with a mail."""
    return " ".join(f"{profile}/{severity}" for profile, severity in targets)


def read_targets(written: str) -> list[MailTarget]:
    """Return the targets of a stored mail, at least that of the door."""
    return [MailTarget(*each.split("/", 1)) for each in written.split()] or [MailTarget("")]
