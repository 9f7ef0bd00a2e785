"""The language of conditions: what it says, and that nothing of Python is in it."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.expressions.expression import Expression, ExpressionError, ExpressionScope
from tocsin.core.expressions.parser import Vocabulary, parse_expression


@dataclass
class Scope(ExpressionScope):
    """Values by name, and one file that exists."""

    values: dict[str, Any] = field(default_factory=dict)

    def value_of(self, path: str) -> Any:
        return self.values[path]

    def call(self, function: str, arguments: list[Any]) -> bool:
        return {"success": True, "failure": False, "exists": arguments == ["/there"]}[function]


WORDS = Vocabulary({"success": 0, "failure": 0, "exists": 1}, names=("item",))


def parse(text: str) -> Expression:
    return parse_expression(text, WORDS)


def holds(text: str, **values: Any) -> bool:
    return parse(text).holds(Scope({f"params.{name}": value for name, value in values.items()}))


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


def test_an_expression_names_the_values_and_tells_the_functions_that_it_uses():
    expression = parse("not (failure() or params.a in [item, steps.b.status])")
    assert list(expression.names()) == ["params.a", "item", "steps.b.status"]
    assert expression.calls(["failure"])
    assert not expression.calls(["success", "exists"])


def test_functions_and_names_of_one_kind_of_file_are_unknown_to_the_others():
    doors = Vocabulary({"recent": 1}, names=("door",))
    assert list(parse_expression("door == payload.alerts.0.name and recent(door)", doors).names()) == [
        "door",
        "payload.alerts.0.name",
        "door",
    ]
    for text in ("success()", "item == 1"):
        with pytest.raises(ExpressionError):
            parse_expression(text, doors)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a value at the end"),
        ("params.x ==", "expected a value at the end"),
        ("params.x params.y", "unexpected 'params.y'"),
        ("a == 1", "unknown name 'a'"),
        ("params.x && params.y", "write 'and'"),
        ("!params.x", "write 'not'"),
        ("params.x = 1", "write '=='"),
        ("1 < params.x < 3", "comparisons cannot be chained:"),
        ("succes()", "did you mean 'success'"),
        ("success", "write success()"),
        ("exists()", "exists() takes 1 arguments, found 0"),
        ("matches(params.x, '(')", "is not a valid pattern"),
        ("'open", "is not closed"),
        ("(params.x", "expected ')' at the end"),
        ("__import__('os')", "unknown function __import__()"),
        ("params.x.__class__()", "unknown function"),
        ("[1, 2", "expected ',' at the end"),
        ("${params.x}", "without ${ }"),
        ("(" * 200 + "1" + ")" * 200, "nested too deeply"),
        ("1 == 1 " * 500, "at most 2,000 characters"),
    ],
)
def test_what_is_not_an_expression_is_refused_with_a_sentence(text: str, problem: str):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert problem in str(caught.value)


def test_values_that_have_no_order_are_not_compared():
    with pytest.raises(ExpressionError, match="<"):
        holds("params.x < 3", x="many")
    with pytest.raises(ExpressionError, match="'in'"):
        holds("1 in params.x", x=3)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_raises_no_other_error(text: str):
    with suppress(ExpressionError):
        parse(text)
