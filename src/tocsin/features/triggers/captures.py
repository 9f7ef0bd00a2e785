"""Captures such as `$1`: inserted into prompts and arguments of skills, and checked in shell commands."""

import re
from collections.abc import Sequence

from tocsin.core.text.shell_scan import COMPARE_AS_TEXT, evaluated_variables

# As in a shell: `$10` is `$1` and a 0, `${10}` the tenth.
_CAPTURE = re.compile(r"\$(?:([0-9])|\{([0-9]|[1-9][0-9])\})")
# What holds the words of strangers in a shell.
_STRANGERS = frozenset({*"123456789@*", "TRIGGER_MESSAGE", "ACTION_BY", "ACTION_VALUE"})
_USE = re.compile(r"\$\{?(?:[1-9@*]|(?:TRIGGER_MESSAGE|ACTION_BY|ACTION_VALUE)\b)")
_READS_AGAIN = re.compile(r"\beval\b|\b(?:ba|da|k|z)?sh\s+-\w*c\b|\bssh\b")


def substitute(text: str, captures: Sequence[str]) -> str:
    """Replace `$0` to `$9` and `${0}` to `${99}` by captures; `$0` is all that was found.

    A group that the pattern lacks is empty.
    """

    def capture(found: re.Match[str]) -> str:
        number = int(found[1] or found[2])
        return captures[number] if number < len(captures) else ""

    return _CAPTURE.sub(capture, text)


def notes_on(command: str) -> tuple[str, ...]:
    """Return advice on a shell command that may run words of strangers as code; it still runs as written."""
    notes = []
    if _USE.search(command) and _READS_AGAIN.search(command):
        notes.append(
            "eval, sh -c and ssh interpret their arguments as code again: do not pass $1 or $TRIGGER_MESSAGE to them"
        )
    for name, place in evaluated_variables(command, _STRANGERS).items():
        if place != "eval":
            notes.append(f"bash may execute ${name} as code in {place}: {COMPARE_AS_TEXT}")
    return tuple(notes)
