"""Prose is written in the field's words: `make check` refuses a dialect that needs two readings."""

import re
from pathlib import Path

import pytest

# Rewrite the whole sentence: name the subject, and use the field's verb.
ROOT = Path(__file__).parents[2]
REFUSED = re.compile(
    r"\b(whoever|nobody(?! git clone)|somebody|everybody|anybody|so many|so often|comes by|comes to|is told of|tells of"
    r"|do without|does without|patiently|anyone|is handed|are handed|tell of(?! told)|told of|from then on"
    r"|of then|becomes? of|became of)\b|what is none|where it is none|for what is no",
    re.IGNORECASE,
)
PLACES = ("src", "docs", "tools", "examples", "benchmarks")
FILES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
KINDS = {".py", ".js", ".md", ".html", ".yaml"}
_VENDOR = ROOT / "src/tocsin/web/ui/vendor"
_COMMENT = re.compile(r"\n\s*(#|//|\*)?\s*")  # a sentence may go on in the next line


# A docstring names its subject: "The outcome of a request", not "What happened to a request".
_OPENS_WITH_A_PRONOUN = re.compile(r'"""(?:What|Which|Who|Where) .*')


def _texts() -> list[Path]:
    found = [path for place in PLACES for path in (ROOT / place).rglob("*") if path.suffix in KINDS]
    return [path for path in [*found, *(ROOT / name for name in FILES)] if not path.is_relative_to(_VENDOR)]


def refused_in(text: str) -> list[str]:
    """Return the refused words of a text, each with what stands around it."""
    joined = _COMMENT.sub(" ", text)
    return [joined[max(0, found.start() - 40) : found.end() + 40] for found in REFUSED.finditer(joined)]


def test_no_text_uses_a_refused_word():
    found = {str(path.relative_to(ROOT)): words for path in _texts() if (words := refused_in(path.read_text()))}
    assert found == {}


@pytest.mark.parametrize(
    "text", ["# asked by\n    # whoever waits", "/** None is\n * told of it, so\n * often. */", "Nobody."]
)
def test_a_refused_word_is_found_across_lines_and_in_any_case(text: str):
    assert refused_in(text)


def test_no_docstring_begins_with_a_pronoun():
    found = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "src").rglob("*.py")
        if (lines := _OPENS_WITH_A_PRONOUN.findall(path.read_text()))
    }
    assert found == {}
