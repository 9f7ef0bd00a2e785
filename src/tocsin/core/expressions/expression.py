"""Expressions of conditions such as `when`: a small language that does not evaluate Python.

From the lowest to the highest precedence: `or`, `and`, `not`, one comparison (`== != < <= > >= in`, `not in`), and
values: quoted texts, numbers, `true`, `false`, `null`, lists in brackets, dotted names, functions. An example is
`success() and params.mode in ['full', 'night'] and steps.dump.outputs.size > 0`.

`matches(text, pattern)` is part of the language; the files of a feature add functions and names
(`tocsin.core.expressions.parser.Vocabulary`). Texts with loops and choices around such values are in `text`.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from tocsin.core.errors import TocsinError
from tocsin.core.expressions.patterns import compile_pattern

MATCHES = "matches"
MAX_COMPARED = 1_000  # values of a list or object that is compared or spelled
_EXACT = 2**53  # beyond it, a float is not every whole number
_MAX_BITS = 1_024  # of a number that is spelled: it takes quadratic time
_COMPARED_AT_ONCE = 1_024  # characters
_NUMBER = r"-?[0-9]{1,300}(\.[0-9]+)?"


class ExpressionError(TocsinError):
    """An expression cannot be parsed or evaluated; `near` is the suggested word."""

    code = "bad-expression"

    def __init__(self, message: str, *, near: str = "") -> None:
        super().__init__(message)
        self.near = near


class ExpressionScope(Protocol):
    """The values and functions with which an expression is evaluated."""

    def value_of(self, path: str) -> Any:
        """Return the value of a name such as `steps.dump.status`."""

    def call(self, function: str, arguments: list[Any]) -> Any:
        """Return the result of a function of the vocabulary."""

    def spend(self, steps: int) -> None:
        """Count work before it is done; a scope with a limit raises ExpressionError."""
        return

    def search(self, pattern: str, text: str) -> Any:
        """Return the match of a pattern; raises ExpressionError for an invalid one."""
        return compiled(pattern).search(text)


class Literal(NamedTuple):
    """A literal value."""

    value: Any


class Name(NamedTuple):
    """A reference to a value."""

    path: str


class ListNode(NamedTuple):
    """A list of values."""

    items: "tuple[Node, ...]"


class Call(NamedTuple):
    """A function and its arguments."""

    function: str
    arguments: "tuple[Node, ...]"


class Negation(NamedTuple):
    """`not`."""

    value: "Node"


class Junction(NamedTuple):
    """Values joined by `and` or `or`."""

    word: str
    values: "tuple[Node, ...]"


class Comparison(NamedTuple):
    """Two values and a comparison operator; `not in` is one operator."""

    left: "Node"
    sign: str
    right: "Node"


Node: TypeAlias = Literal | Name | ListNode | Call | Negation | Junction | Comparison


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed condition; `text` is its source."""

    text: str
    root: Node

    def names(self) -> Iterator[str]:
        yield from (node.path for node in _walk(self.root) if isinstance(node, Name))

    def calls(self, functions: Collection[str]) -> bool:
        return any(isinstance(node, Call) and node.function in functions for node in _walk(self.root))

    def is_true(self) -> bool:
        return _truth(_value(self.root, _NOWHERE))

    def is_constant(self) -> bool:
        """Whether its value is always the same."""
        return not any(isinstance(node, Name | Call) for node in _walk(self.root))

    def holds(self, scope: ExpressionScope) -> bool:
        """Whether the condition is true; raises ExpressionError for values that cannot be compared."""
        return _truth(_value(self.root, scope))

    def value(self, scope: ExpressionScope) -> Any:
        """Return the value; raises ExpressionError like `holds`."""
        return _value(self.root, scope)


def spell(value: Any) -> str:
    """Return a value as text: nothing for null, JSON for lists and objects; raises ExpressionError for large ones."""
    if isinstance(value, list | dict):
        check_size(value)
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return _spelled(value)


def check_size(value: Any) -> int:
    """Return how many values a list or object has; raise ExpressionError for many: its use must not take long."""
    waiting, seen = [value], 0
    while waiting:
        each = waiting.pop()
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        seen += 1 + len(inner) + (len(each) // 100 if isinstance(each, str) else 0)
        if isinstance(each, dict) and seen <= MAX_COMPARED:
            seen += sum(map(len, each)) // 100
        if seen > MAX_COMPARED:
            raise ExpressionError(f"a list or object of more than {MAX_COMPARED:,} values cannot be used as a whole")
        waiting += inner
    return seen


def compiled(pattern: str) -> Any:
    """Compile a pattern; raise ExpressionError."""
    try:
        return compile_pattern(pattern)
    except ValueError as error:
        raise ExpressionError(str(error)) from None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case ListNode(children) | Call(_, children) | Junction(_, children):
            for child in children:
                yield from _walk(child)
        case Negation(value):
            yield from _walk(value)
        case Comparison(left, _, right):
            yield from _walk(left)
            yield from _walk(right)


def _value(node: Node, scope: ExpressionScope) -> Any:
    scope.spend(1)
    match node:
        case Literal(value):
            return value
        case Name(path):
            return scope.value_of(path)
        case ListNode(items):
            return [_value(item, scope) for item in items]
        case Negation(value):
            return not _truth(_value(value, scope))
        case Junction("and", values):
            return all(_truth(_value(value, scope)) for value in values)
        case Junction(_, values):
            return any(_truth(_value(value, scope)) for value in values)
        case Comparison(left, sign, right):
            return _compare(_value(left, scope), sign, _value(right, scope), scope)
        case Call(function, arguments):
            return _call(function, [_value(argument, scope) for argument in arguments], scope)


def _call(function: str, arguments: list[Any], scope: ExpressionScope) -> Any:
    if function != MATCHES:
        return scope.call(function, arguments)
    return scope.search(str(arguments[1]), _spelled(arguments[0])) is not None


def _compare(left: Any, sign: str, right: Any, scope: ExpressionScope) -> bool:
    scope.spend(_length(left))
    if sign in {"in", "not in"}:
        if isinstance(right, str):
            scope.spend(_length(right))
            inside = _spelled(left) in right
        elif isinstance(right, list):
            scope.spend(len(right) * (1 + _length(left) + _count(left)))
            inside = any(_equal(left, each) for each in right)
        else:
            raise ExpressionError("expected a list or text after 'in'")
        return inside is (sign == "in")
    if sign in {"==", "!="}:
        scope.spend(_count(left) if isinstance(right, list | dict) else 0)
        return _equal(left, right) is (sign == "==")
    numbers = _number(left), _number(right)
    if numbers[0] is not None and numbers[1] is not None:
        return _ordered(numbers[0], sign, numbers[1])
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(left, sign, right)
    shown = [repr(_spelled(each)[:200]) for each in (left, right)]
    raise ExpressionError(f"{shown[0]} and {shown[1]} cannot be compared with {sign}")


def _length(value: Any) -> int:
    """Return the steps of reading a text once."""
    return len(value) // _COMPARED_AT_ONCE if isinstance(value, str) else 0


def _count(value: Any) -> int:
    """Return the steps of comparing a list or object; raises ExpressionError for a large one."""
    return check_size(value) if isinstance(value, list | dict) else 0


def _ordered(left: Any, sign: str, right: Any) -> bool:
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are equal; outputs of steps are text, so a number equals its spelling."""
    if isinstance(left, int | float) != isinstance(right, int | float):
        if not isinstance(left, str) and not isinstance(right, str):
            return False
        numbers = _number(left), _number(right)
        if None not in numbers:
            return numbers[0] == numbers[1]
        return _spelled(left) == _spelled(right)
    return bool(left == right)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return float(value) if value.bit_length() < _MAX_BITS else None
    if isinstance(value, float):
        return value
    if isinstance(value, str) and len(value) < 400 and re.fullmatch(_NUMBER, value.strip(), re.ASCII):
        return float(value)
    return None


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        check_size(value)
    if isinstance(value, int) and value.bit_length() >= _MAX_BITS:
        raise ExpressionError("a number of more than 300 digits cannot be used as text")
    return "" if value is None else str(value)


def _truth(value: Any) -> bool:
    """Whether a value is true: not `false`, `null`, 0, an empty text or list, nor the text `false`."""
    return bool(value) and value != "false"


class _Nowhere(ExpressionScope):
    """The scope of constants, which reference nothing."""

    def value_of(self, path: str) -> Any:
        raise ExpressionError(f"{path} has no value here")

    def call(self, function: str, arguments: list[Any]) -> Any:
        raise ExpressionError(f"{function}() has no value here")


_NOWHERE = _Nowhere()
