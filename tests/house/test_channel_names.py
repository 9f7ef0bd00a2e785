"""What a channel is, is data: outside `channels/` and `standins/` no file names one."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "tocsin"
ROOMS_OF_CHANNELS = {"channels", "standins"}
CHANNEL_NAME = re.compile(
    r"teamchat|botchat|guildchat|devicemsg|e-?mail|slack|telegram|discord|smtp|imessage", re.IGNORECASE
)
# A phrase that may name a channel, and why. One that nothing uses any more fails the last test.
ALLOWED = {
    "tocsin send email": "an example in a help text is a command that a person can type",
    "tocsin publish email": "an example in a help text is a command that a person can type",
    "--channel email": "an example in a help text is a command that a person can type",
    "- channel: email": "an example of profiles.yaml shows a whole entry",
    "aiosmtpd": "the name of a package",
    "user.email": "a setting of git",
    "tocsin test email": "an example in a help text is a command that a person can type",
}


def test_no_text_outside_the_channels_names_a_channel():
    found = [
        f"{name}:{line}: {text!r}"
        for name, line, text in found_in_source(texts)
        if CHANNEL_NAME.search(without_allowed_phrases(text))
    ]
    assert found == []


def test_no_file_outside_the_channels_imports_one():
    found = [
        f"{name}:{line}: {module}"
        for name, line, module in found_in_source(imports)
        if module.startswith("tocsin.channels.") and CHANNEL_NAME.search(module)
    ]
    assert found == []


def test_every_allowed_phrase_is_still_used():
    everything = "\n".join(text for _, _, text in found_in_source(texts))
    assert [phrase for phrase in ALLOWED if phrase not in everything] == []


def without_allowed_phrases(text: str) -> str:
    for phrase in ALLOWED:
        text = text.replace(phrase, "")
    return text


@cache
def found_in_source(look: Callable[[ast.Module], Iterator[tuple[int, str]]]) -> tuple[tuple[str, int, str], ...]:
    """Return file, line and text of what `look` finds outside the channels."""
    names = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py"))]
    return tuple(
        (str(name), line, text)
        for name in names
        if name.parts[0] not in ROOMS_OF_CHANNELS
        for line, text in look(ast.parse((SOURCE / name).read_text(encoding="utf-8")))
    )


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every string of the program, also the pieces of f-strings, but no docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every imported module; `from package import name` also as `package.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
