"""Make untrusted text safe to print: it can neither control a terminal nor imitate a line of ours."""

import re

# What would break or disguise a line on a terminal: controls but tab and newline, line separators, directions.
_UNSAFE = "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_GAPS = r"[ \t]*[\r\n][\s]*|\t"


def visible(text: str) -> str:
    """Return `text` with control characters as escapes; tabs and line ends stay."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub(_UNSAFE, lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Return `text` with control characters as escapes, and a blank where it has a tab or begins a new line."""
    return visible(re.sub(_GAPS, " ", text))
