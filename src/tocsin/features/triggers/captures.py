"""Captures as `$1`: put into prompts and arguments of skills, and looked at where a shell will do it."""

import re
from collections.abc import Iterator, Sequence

# As in a shell: `$10` is `$1` and a 0, `${10}` the tenth.
_CAPTURE = re.compile(r"\$(?:([0-9])|\{([0-9]|[1-9][0-9])\})")
# What a shell would replace by the stranger's words.
_STRANGERS = re.compile(r"\$(?:[1-9@*]|\{(?:[1-9@*]|TRIGGER_MESSAGE)|TRIGGER_MESSAGE\b)")
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
    """Return advice on a shell command that is careless with words of strangers; it still runs as written."""
    quotes = set(_quotes_around(command))
    notes = []
    if "" in quotes:
        notes.append('$1 without double quotes is split at blanks, and * in it becomes file names: write "$1"')
    if "'" in quotes:
        notes.append("$1 within single quotes is not replaced: use double quotes")
    if quotes and _READS_AGAIN.search(command):
        notes.append("eval, sh -c and ssh read their words as code once more: never put $1 or $TRIGGER_MESSAGE there")
    return tuple(notes)


def _quotes_around(command: str) -> Iterator[str]:
    """Yield for every use of a capture the quote it stands in: `"`, `'` or none.

    Follows quotes, backslashes and `$(…)`; comments and here-documents are taken for code.
    """
    inside = [""]
    at = 0
    while at < len(command):
        char, quote = command[at], inside[-1]
        if quote == "'":
            closing = command.find("'", at)
            closing = len(command) if closing < 0 else closing
            yield from ("'" for _ in _STRANGERS.finditer(command, at, closing))
            inside.pop()
            at = closing
        elif char == "\\":
            at += 1
        elif command.startswith("$(", at):
            inside.append("")
            at += 1
        elif _STRANGERS.match(command, at):
            yield quote
        elif char == '"' and quote == '"':
            inside.pop()
        elif char == '"' or (char == "'" and not quote):
            inside.append(char)
        elif char == ")" and not quote and len(inside) > 1:
            inside.pop()
        at += 1
