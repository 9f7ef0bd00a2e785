"""Which of its media types an operation answers with."""

import pytest

from tocsin.rest.preferences import match_accept

OFFERED = ("application/json", "text/plain", "text/csv")


@pytest.mark.parametrize(
    ("accept", "best"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/plain", "text/plain"),
        ("TEXT/PLAIN", "text/plain"),
        ("text/*", "text/plain"),
        ("text/plain;q=0.9, application/json;q=0.5", "text/plain"),
        ("application/json;q=0.1, text/csv", "text/csv"),
        ("text/csv, application/json", "text/csv"),
        ("*/*, text/csv", "text/csv"),
        ("text/csv;q=0, */*", "application/json"),
        ("text/plain;q=0, text/*", "text/csv"),
        ("application/json;q=0, text/plain; charset=utf-8; q=0.001", "text/plain"),
        ("text/csv;q=0", None),
        ("image/png", None),
        ("text/csv;q=much, text/plain;q=0.9", "text/csv"),
        (",, ;q=1", None),
    ],
)
def test_the_type_that_the_caller_likes_best_is_answered(accept: str, best: str | None):
    assert match_accept(accept, OFFERED) == best
