"""Text as the product reads it: its Markdown is close to CommonMark. Source: docs/facts/mattermost.md, "Text"."""

import re

# An invisible border after the sign keeps it from being a mention, also in texts that no one escaped.
_BORDER = "\u2060"
_MENTION = re.compile(r"(https?://[A-Za-z0-9][^\s<>()\[\]]*)|(?<![\w@])@(?=\w)")
_ACTING = re.compile(r"[\\`*\[\]~|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<![\w&])#(?=\w)")
_ACTING_AT_LINE_START = re.compile(r"^([^\S\n]*)(#{1,6}(?=\s)|>|[-+](?=\s)|\d+(?=[.)]\s)|-{3,}$|={3,}$)", re.MULTILINE)


def without_mentions(text: str) -> str:
    """Return `text` with an invisible character in each mention, so that it stays a text."""
    return _MENTION.sub(lambda found: found[1] or f"@{_BORDER}", text)


def escape(text: str) -> str:
    """Escape characters that would act as markup."""
    return _ACTING_AT_LINE_START.sub(_escaped_line_start, _ACTING.sub(r"\\\g<0>", text))


def _escaped_line_start(found: re.Match[str]) -> str:
    blanks, marks = found.groups()
    return f"{blanks}{marks}\\" if marks.isdigit() else f"{blanks}\\{marks}"
