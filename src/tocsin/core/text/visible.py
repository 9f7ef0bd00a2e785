"""Make untrusted text safe to print: it can neither control a terminal nor imitate a line of ours."""

import re

# What would break or disguise a line on a terminal: controls but tab and newline, line separators, directions.
_UNSAFE = "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
# The first alternative begins where a run of blanks does: tried at each of them, it would take their square.
_GAPS = r"(?<![ \t])[ \t]*+[\r\n]\s*+|\t"

# Escape sequences of terminals: colours and cursor (CSI), titles and links (OSC), and the short ones. ECMA-48, 5.4.
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-Z\\^-~])|\x9b[0-?]*[ -/]*[@-~]"
)

_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


def without_sequences(text: str) -> str:
    """Return `text` without the escape sequences that colour it or move the cursor of a terminal."""
    return _SEQUENCE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def visible(text: str) -> str:
    """Return `text` with control characters as escapes; tabs and line ends stay."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub(_UNSAFE, lambda found: f"\\u{ord(found[0]):04x}", text)


def coloured(text: str) -> str:
    """Return `text` safe to print with its colours, which end with it; every other escape sequence is left out."""
    pieces = _COLOUR.split(text)
    kept = [piece if n % 2 else visible(without_sequences(piece)) for n, piece in enumerate(pieces)]
    return "".join(kept) + ("\x1b[0m" if len(pieces) > 1 else "")


def one_line(text: str) -> str:
    """Return `text` with control characters as escapes, and a blank where it has a tab or begins a new line."""
    return text if text.isprintable() else visible(re.sub(_GAPS, " ", text))
