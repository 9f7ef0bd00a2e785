"""Markdown that is still being written shows as it will."""

import pytest

from tocsin.channels.botchat.entities import Entities
from tocsin.core.text.markup import render
from tocsin.core.text.markup.unfinished import close_markup

WHOLE = [
    "A **bold** word, *italic* and _so_ is this, `code` and ``a ` b``, ~~gone~~ and [a link](https://example.org/x_y).",
    "***both*** and **bold with *italic* in it** and *italic with **bold** in it*",
    "snake_case and 2 * 3 = 6, ~5 minutes, 5*3, \\*not italic\\* and a_b_c",
    "# Headline\n\n- one **a**\n- two `b`\n\n1. first\n2. *second*\n\n> quoted **text**",
    "```python\ndef f(*args, **kwargs):\n    return `x`\n```\n\nAfter **that**.",
    "~~~\n**no style**\n~~~",
    "| a | **b** |\n|---|---|\n| 1 | `2` |",
]


@pytest.mark.parametrize("source", WHOLE)
def test_whole_markdown_comes_back_as_it_is(source: str):
    assert close_markup(source) == source


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("A **bol", "A **bol**"),
        ("A **bold*", "A **bold**"),
        ("A **", "A"),
        ("A **bold ", "A **bold**"),
        ("*a **b", "*a **b***"),
        ("***a", "***a***"),
        ("~~go", "~~go~~"),
        ("~~gone~", "~~gone~~"),
        ("run `ls -", "run `ls -`"),
        ("run `", "run"),
        ("run ``a ` b", "run ``a ` b``"),
        ("see [the do", "see the do"),
        ("see [the docs](https://exa", "see the docs"),
        ("see [**the** do", "see **the** do"),
        ("![a pict", "a pict"),
        ("**a** then\n\n**b", "**a** then\n\n**b**"),
        ("- **a\n- b `c", "- **a\n- b `c`"),
        ("Text\n---", "Text"),
        ("Text\n-", "Text"),
        ("Text\n\n#", "Text\n"),
        ("Text\n``", "Text"),
        ("```py\nx = '**", "```py\nx = '**\n```"),
        ("```py\nx\n``", "```py\nx\n```"),
    ],
)
def test_what_is_open_at_the_end_is_closed_or_left_out(source: str, shown: str):
    assert close_markup(source) == shown


def test_no_moment_of_an_answer_shows_its_marks():
    source = (
        "Use **the `ls` command** or *another*, ~~not this~~: see [its page](https://example.org/ls) and ***do*** it."
        "\n\n"
        "## Then\n\n- **First**: `a b`\n- __Second__: _c_\n\n```sh\nls -l\n```\n\nThat is **all**."
    )
    for end in range(1, len(source) + 1):
        for part in render(close_markup(source[:end]) or "-", Entities(4_000)):
            assert not set("*`_~[]#") & set(part.text.replace("ls -l", "")), (source[:end], part.text)


def test_many_open_marks_take_no_longer_than_so_much_text():
    opened, closing = " *a" * 50_000, " a_" * 50_000  # passing every open mark at each closing one would take minutes
    assert close_markup(opened + closing) == opened + closing + "*" * 50_000
