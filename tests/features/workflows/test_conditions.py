"""The language of `when`: what it says, and that nothing of Python is in it."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.features.workflows.conditions.expression import ExpressionError
from tocsin.features.workflows.conditions.parser import parse_expression


@dataclass
class Scope:
    """Values by name, and whether steps before have failed."""

    values: dict[str, Any] = field(default_factory=dict)
    failed: bool = False

    def value_of(self, path: str) -> Any:
        return self.values[path]

    def state(self, name: str) -> bool:
        return {"success": not self.failed, "failure": self.failed, "always": True}[name]

    def ready(self) -> bool:
        return not self.failed

    def exists(self, path: str) -> bool:
        return path == "/there"


def holds(text: str, failed: bool = False, **values: Any) -> bool:
    return parse_expression(text).holds(Scope({f"params.{name}": value for name, value in values.items()}, failed))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("params.n == 3", True),
        ("params.n == '3'", True),
        ("params.n != 3.0", False),
        ("params.s > 9", True),
        ("params.s > '9'", True),
        ("params.t < 'b'", True),
        ("params.t in ['a', 'b']", True),
        ("params.t not in ['a', 'b']", False),
        ("'a' in params.t", True),
        ("params.yes", True),
        ("params.no", False),
        ("not params.no", True),
        ("not not params.yes", True),
        ("params.no or params.yes and params.yes", True),
        ("(params.yes or params.yes) and params.no", False),
        ("params.none == null", True),
        ("params.none == ''", False),
        ("matches(params.t, '^[a-c]$')", True),
        ("matches(params.n, '4')", False),
        ("exists('/there') and not exists('/elsewhere')", True),
        ("'it\\'s' == \"it's\"", True),
        ("params.n >= 3 and params.n <= 3", True),
    ],
)
def test_an_expression_has_the_value_that_it_says(text: str, expected: bool):
    assert holds(text, n=3, s="10", t="a", yes=True, no="false", none=None) is expected


def test_a_condition_without_a_state_function_holds_only_where_nothing_before_failed():
    assert [holds("1 == 1", failed=failed) for failed in (False, True)] == [True, False]
    assert [holds("failure()", failed=failed) for failed in (False, True)] == [False, True]
    assert [holds("always()", failed=failed) for failed in (False, True)] == [True, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a value is missing at the end"),
        ("params.x ==", "a value is missing at the end"),
        ("params.x params.y", "'params.y' is not expected here"),
        ("a == 1", "'a' is not known"),
        ("params.x && params.y", "write 'and'"),
        ("!params.x", "write 'not'"),
        ("params.x = 1", "write '=='"),
        ("1 < params.x < 3", "comparisons are not chained"),
        ("succes()", "did you mean 'success'"),
        ("success", "write success()"),
        ("exists()", "exists() takes 1 arguments, found 0"),
        ("matches(params.x, '(')", "is not a pattern"),
        ("'open", "is never closed"),
        ("(params.x", "')' is missing at the end"),
        ("__import__('os')", "there is no function __import__()"),
        ("params.x.__class__()", "there is no function"),
        ("[1, 2", "',' is missing at the end"),
        ("${params.x}", "names without ${ }"),
        ("(" * 200 + "1" + ")" * 200, "too many parentheses"),
        ("1 == 1 " * 500, "at most 2,000 characters"),
    ],
)
def test_what_is_not_an_expression_is_refused_with_a_sentence(text: str, problem: str):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert problem in str(caught.value)


def test_values_that_have_no_order_are_not_compared():
    with pytest.raises(ExpressionError, match="cannot be compared by <"):
        holds("params.x < 3", x="many")
    with pytest.raises(ExpressionError, match="write a list or a text after 'in'"):
        holds("1 in params.x", x=3)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_raises_no_other_error(text: str):
    with suppress(ExpressionError):
        parse_expression(text)
