"""Write and read the product's escapes and references."""

import re
from collections.abc import Collection

# Typed `<` and `>` arrive escaped, so that unescaped ones enclose references only.
_REFERENCE = r"(?i)<([@#!]|[a-z][a-z0-9+.-]{1,20}:)([^<>|]*)(?:\|([^<>]*))?>"


def escape(text: str) -> str:
    """Escape the three special characters, which also disarms `<!channel>`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def without_mention(text: str, own_ids: Collection[str]) -> tuple[str, bool]:
    """Return the raw `text` without mentions of the bot, and whether there was one."""
    if not own_ids or "<@" not in text:
        return text.strip(), False
    names = "|".join(map(re.escape, own_ids))
    # The colon or comma of "@bot: do this" goes with the mention.
    rest, mentions = re.subn(rf"<@(?:{names})(?:\|[^<>]*)?>[:,]?[ \t]*", "", text)
    return rest.strip(), mentions > 0


def plain_text(text: str) -> str:
    """Return the raw `text` as its author saw it: references as names, escapes decoded."""
    if "<" in text:
        text = re.sub(_REFERENCE, _shown, text)
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
    # The product links text that looks like an address; then the label is what the person typed.
    typed = label in {rest, rest.removeprefix("//"), rest.removeprefix("//").removesuffix("/")}
    return label if typed else f"{label} ({address})"


def _shown_command(rest: str, label: str) -> str:
    """Return `<!here>` as `@here`, a user group as its name, a date as its fallback text."""
    name, _, number = rest.partition("^")
    if name == "date":
        return label or rest
    return label if label.startswith("@") else f"@{label or number or name}"
