"""The page about Python says what `enqueue` raises, and nothing that it does not raise."""

import re

from tests.docs.pages import ROOT

from tocsin.api import Tocsin

PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
QUEUE = PAGE.partition("\n## Queue\n")[2].partition("\n## ")[0]


def errors_in(text: str) -> set[str]:
    return set(re.findall(r"\b\w+Error\b", text))


def test_the_errors_of_enqueue_are_those_of_its_docstring():
    # With Redis it is an error of the store, and the page names what all have in common.
    assert errors_in(QUEUE) - {"StoreUnavailableError", "TocsinError"} == errors_in(Tocsin.enqueue.__doc__ or "")
