"""Divide a text into subject and body of a mail."""

import re

from tocsin.core.text.strings import normalise

GENERIC_SUBJECT = "Notification from Tocsin"
MAX_SUBJECT_CHARS = 200
# Includes every character that Python's header code treats as a line end.
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"


def split_subject(text: str) -> tuple[str, str]:
    """Return the text before the first newline as subject, and the rest as body.

    Without a newline, or with a blank first line, the subject is fixed. A line too long for a subject is cut, and kept
    complete in the body.
    """
    line, newline, rest = normalise(text).partition("\n")
    if not newline:
        return GENERIC_SUBJECT, line
    subject = re.sub(_CONTROL, "", line.replace("\t", " ")).strip()
    if len(subject) > MAX_SUBJECT_CHARS:
        return cut_subject(subject), f"{line}\n{rest}"
    return subject or GENERIC_SUBJECT, rest


def cut_subject(line: str) -> str:
    """Return a line as a subject, cut if it is too long."""
    return line if len(line) <= MAX_SUBJECT_CHARS else line[: MAX_SUBJECT_CHARS - 1] + "…"
