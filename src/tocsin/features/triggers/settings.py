"""The settings of triggers."""

import re

from tocsin.core.config.variables import Variable

_PERSON = re.compile(r"[A-Za-z][A-Za-z0-9_-]*:[^\s,:]+")


def people(value: str) -> frozenset[str]:
    """Parse people as `channel:ID`, separated by commas or blanks."""
    found = value.replace(",", " ").split()
    if not all(map(_PERSON.fullmatch, found)):
        raise ValueError("people as channel:ID, separated by commas")
    return frozenset(found)


ACTION_PEOPLE: Variable[frozenset[str]] = Variable(
    "ACTION_PEOPLE",
    people,
    frozenset(),
    "People who may start jobs and workflows with buttons, as `channel:ID`; chats that the bot allows may, too.",
    shown_default="none",
)
