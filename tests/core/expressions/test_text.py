"""Texts with values, loops and choices, and what bounds them."""

from typing import Any

import pytest

from tocsin.core.expressions.expression import ExpressionError
from tocsin.core.expressions.parser import Vocabulary
from tocsin.core.expressions.text import MAX_OUTPUT, Budget, TextScope, parse_text, render_text

WORDS = Vocabulary({"first": range(1, 9), "shout": 1}, names=("payload",))
ALERTS = {"alerts": [{"name": "disk", "on": True}, {"name": "cpu", "on": False}], "status": "firing", "n": 2.0}


def call(function: str, arguments: list[Any], scope: TextScope) -> Any:
    return next((each for each in arguments if each), None) if function == "first" else str(arguments[0]).upper()


def rendered(source: str, payload: Any = None, **limits: Any) -> str:
    scope = TextScope({"payload": ALERTS if payload is None else payload}, call, Budget(**limits))
    return render_text(parse_text(source, WORDS), scope)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain } $5 $name", "plain } $5 $name"),
        ("$${payload.status}", "${payload.status}"),
        ("${payload.status}: ${payload.n}", "firing: 2"),
        ("${payload.missing.deeper}|${payload.alerts.7.name}", "|"),
        ("${payload.alerts.1.name}", "cpu"),
        ("${first(payload.title, payload.status, 'none')}", "firing"),
        ("${shout('a } b')}", "A } B"),
        ("${payload.alerts.0}", '{"name": "disk", "on": true}'),
        ("${for a in payload.alerts}${a.name},${end}", "disk,cpu,"),
        ("${for a in payload.none}x${end}.", "."),
        ("${if payload.status == 'firing'}yes${else}no${end}", "yes"),
        ("${if payload.n > 5}many${else if payload.n > 1}some${else}few${end}", "some"),
        ("${for a in payload.alerts}${if a.on}${a.name}${end}${end}", "disk"),
        ("${for a in payload.alerts}${for b in payload.alerts}${a.name}${b.name} ${end}${end}", None),
    ],
)
def test_a_text_is_filled(source: str, text: str | None):
    assert rendered(source) == (text or "diskdisk diskcpu cpudisk cpucpu ")


def test_a_line_with_only_a_mark_leaves_no_line():
    source = "Alerts\n${for a in payload.alerts}\n  ${if a.on}\n- ${a.name}\n  ${end}\n${end}\nend"

    assert rendered(source) == "Alerts\n- disk\nend"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("${payload.a", "not closed"),
        ("${for a in payload.alerts}x", "not closed by ${end}"),
        ("${if payload.a}x", "not closed by ${end}"),
        ("x${end}", "without"),
        ("${else}", "without"),
        ("${for a in payload.b}${else}${end}", "without"),
        ("${for a payload.b}${end}", "for NAME in LIST"),
        ("${if payload.a}${else}${else}${end}", "after ${else}"),
        ("${payload.a ==}", "expected a value"),
        ("${frist(payload.a)}", "first"),
        ("${first()}", "takes 1 to 8"),
        ("${other}", "unknown name"),
        ("${for a in payload.b}${end}${a.x} ${a}", "unknown name"),
        ("x" * 8193, "at most 8,192"),
        ("${for a in payload.b}" * 9 + "${end}" * 9, "nested"),
        ("${__import__('os')}", "unknown function"),
    ],
)
def test_a_mistake_is_named(source: str, said: str):
    with pytest.raises(ExpressionError, match=said.replace("$", r"\$").replace("{", r"\{")):
        parse_text(source, WORDS)


LOOPS = "${for a in payload}${for b in payload}${for c in payload}${for d in payload}${end}${end}${end}${end}"
BIG = "x" * 200_000


@pytest.mark.parametrize(
    ("source", "payload"),
    [
        (LOOPS, list(range(1_000))),
        ("${for a in payload}${for b in payload}${a}${b}${end}${end}", ["x" * 100] * 300),
        ("${for a in payload.many}${payload.big}${end}", {"many": [1] * 100, "big": BIG}),
        ("${for a in payload.many}${if 'y' in payload.big}${end}${end}", {"many": [1] * 10_000, "big": BIG}),
        ("${for a in payload.many}${if matches(payload.big, 'x+y')}${end}${end}", {"many": [1] * 10_000, "big": BIG}),
        ("${for a in payload.many}${if 2 in payload.many}${end}${end}", {"many": [1] * 10_000}),
        ("${for a in payload.many}${if payload == payload.copy}${end}${end}", {"many": [[1]] * 9_000, "copy": {}}),
        ("${payload}", {"many": [1] * 10_000}),
    ],
)
def test_a_text_that_would_take_long_is_stopped(source: str, payload: Any):
    with pytest.raises(ExpressionError):  # without the bounds, most of these would take minutes
        rendered(source, payload)


def test_the_longest_text_is_allowed_and_one_more_character_is_not():
    assert len(rendered("${payload}", "x" * MAX_OUTPUT)) == MAX_OUTPUT
    with pytest.raises(ExpressionError, match="longer than"):
        rendered("${payload}.", "x" * MAX_OUTPUT)


def test_the_clock_stops_what_the_steps_allow():
    with pytest.raises(ExpressionError, match="too long"):
        rendered(LOOPS, list(range(1_000)), steps=10**12, cpu_s=0.0)


def test_no_attribute_of_python_can_be_read():
    assert rendered("${payload.__class__.__mro__}|${payload.status.upper}") == "|"
