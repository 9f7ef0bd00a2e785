"""Subject and body of a text that becomes a mail."""

import re

from tocsin.core.text.strings import normalise

GENERIC_SUBJECT = "Notification from Tocsin"
MAX_SUBJECT_CHARS = 200
# Everything that Python's own header code takes for a line end is in here.
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"


def split_subject(text: str) -> tuple[str, str]:
    """Return subject and body: what stands before and after the first newline.

    Without a newline, or with nothing visible before it, the subject is a fixed one. A line that is
    too long for a subject is cut, and stays whole in the body.
    """
    line, newline, rest = normalise(text).partition("\n")
    if not newline:
        return GENERIC_SUBJECT, line
    subject = re.sub(_CONTROL, "", line.replace("\t", " ")).strip()
    if len(subject) > MAX_SUBJECT_CHARS:
        return subject[: MAX_SUBJECT_CHARS - 1] + "…", f"{line}\n{rest}"
    return subject or GENERIC_SUBJECT, rest
