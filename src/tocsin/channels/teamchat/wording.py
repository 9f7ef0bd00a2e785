"""The product's escapes and references: written, and read back into what a person wrote."""

import re
from collections.abc import Collection

# `<` and `>` that people type arrive escaped: these stand around references only.
_REFERENCE = re.compile(r"<([@#!]|[a-z][a-z0-9+.-]{1,20}:)([^<>|]*)(?:\|([^<>]*))?>", re.IGNORECASE)


def escape(text: str) -> str:
    """Escape the three characters that the provider reads as markup; this also disarms `<!channel>`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def without_mention(text: str, own_ids: Collection[str]) -> tuple[str, bool]:
    """Return the raw `text` without mentions of the bot, and whether there was one."""
    if not own_ids or "<@" not in text:
        return text.strip(), False
    names = "|".join(map(re.escape, own_ids))
    # The colon or comma of "@bot: do this" goes with the mention.
    rest, mentions = re.subn(rf"<@(?:{names})(?:\|[^<>]*)?>[:,]?[ \t]*", "", text)
    return rest.strip(), mentions > 0


def readable(text: str) -> str:
    """Return the raw `text` as its author saw it: references by their names, escapes undone."""
    if "<" in text:
        text = _REFERENCE.sub(_shown, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _shown(reference: re.Match[str]) -> str:
    sort, rest, label = reference[1], reference[2], reference[3] or ""
    if sort in {"@", "#"}:
        return f"{sort}{(label or rest).lstrip(sort)}"
    if sort == "!":
        return _shown_command(rest, label)
    address = f"{sort}{rest}"
    if not label or label == address:
        return address
    # The product makes links of what looks like one; then the label is what the person typed.
    typed = label in {rest, rest.removeprefix("//"), rest.removeprefix("//").removesuffix("/")}
    return label if typed else f"{label} ({address})"


def _shown_command(rest: str, label: str) -> str:
    """Return `<!here>` as `@here`, a group of people by its name, a date by the text that stands for it."""
    name, _, number = rest.partition("^")
    if name == "date":
        return label or rest
    return label if label.startswith("@") else f"@{label or number or name}"
