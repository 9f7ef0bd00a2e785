"""A native channel sends in few lines, so that one can be read before it is trusted.

Lines are those of the file, with blank ones, comments and docstrings. What a message looks like (`dressing`, `card`,
`content`, `markup`, `notification`), records in the store, settings and stand-ins are modules that are not counted.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.source import SOURCE

CHANNELS = SOURCE / "tocsin" / "channels"
# The modules that a send runs through, from the part of a message to the meaning of the answer.
SENDING = {
    "ntfy": ("adapter", "api"),
    "matrix": ("adapter", "api", "rooms"),
    "mattermost": ("adapter", "api"),
    "webhook": ("adapter", "events", "sending", "signing"),
    "webpush": ("adapter", "sending", "encryption"),
    "teams": ("adapter",),
}
MAX_LINES = {name: 350 if name == "matrix" else 250 for name in SENDING}
# Functions of these modules for something else: edits, files, previews, presses, and `tocsin test`.
ELSE = {
    "edit", "withdraw", "_remove", "_check_there", "upload", "_upload", "largest_upload", "_media", "with_content",
    "layout_of", "lacks_presses", "probe", "check", "account", "devices", "make_keys",
}  # fmt: skip


@pytest.mark.parametrize("channel", SENDING)
def test_the_sending_of_a_native_channel_has_few_lines(channel: str):
    lines = {name: sending_lines(CHANNELS / channel / f"{name}.py") for name in SENDING[channel]}
    assert sum(lines.values()) <= MAX_LINES[channel], lines


def test_every_function_that_is_left_out_still_exists():
    modules = [CHANNELS / channel / f"{name}.py" for channel, names in SENDING.items() for name in names]
    assert ELSE - {function.name for path in modules for function in functions(path)} == set()


def sending_lines(path: Path) -> int:
    left_out = [each for each in functions(path) if each.name in ELSE]
    return len(path.read_text("utf-8").splitlines()) - sum(each.end_lineno - start(each) + 2 for each in left_out)


def start(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for found in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
            yield found
