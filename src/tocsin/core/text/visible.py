"""Make untrusted text safe to print: it cannot control a terminal or imitate our own lines."""

import re

# Characters that break or disguise a line on a terminal: controls except tab and newline, line separators, directions.
_UNSAFE = "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
# The first alternative matches only at the start of a run of blanks: tried at each of them, it would take quadratic
# time.
_GAPS = r"(?<![ \t])[ \t]*+[\r\n]\s*+|\t"

# Terminal escape sequences: colours and cursor (CSI), titles and links (OSC), and the short ones. ECMA-48, 5.4.
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-Z\\^-~])|\x9b[0-?]*[ -/]*[@-~]"
)

_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


def without_sequences(text: str) -> str:
    """Return `text` without the escape sequences that set colours or move the cursor of a terminal."""
    return _SEQUENCE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def visible(text: str) -> str:
    """Return `text` with control characters escaped; tabs and line ends are kept."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return re.sub(_UNSAFE, lambda found: f"\\u{ord(found[0]):04x}", text)


def coloured(text: str) -> str:
    """Return `text` safe to print with its colours, which are reset at its end; other escape sequences are removed."""
    pieces = _COLOUR.split(text)
    kept = [piece if n % 2 else visible(without_sequences(piece)) for n, piece in enumerate(pieces)]
    return "".join(kept) + ("\x1b[0m" if len(pieces) > 1 else "")


def one_line(text: str) -> str:
    """Return `text` with control characters escaped, and blanks for tabs and line breaks."""
    return text if text.isprintable() else visible(re.sub(_GAPS, " ", text))
