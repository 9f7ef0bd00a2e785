"""The expressions of `when`: a small language of its own, in which no Python is evaluated.

    success() and params.mode in ['full', 'night'] and not exists('/run/lock') and steps.dump.outputs.size > 0

From loose to tight: `or`, `and`, `not`, one comparison (`== != < <= > >= in`, `not in`), and values: texts in quotes,
numbers, `true`, `false`, `null`, lists in brackets, names with dots, functions.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias

from tocsin.core.errors import TocsinError
from tocsin.core.reading.value import did_you_mean, near_word
from tocsin.features.workflows.language.patterns import compile_pattern

STATES = ("success", "failure", "always")
FUNCTIONS: Mapping[str, int] = {**dict.fromkeys(STATES, 0), "matches": 2, "exists": 1}  # with the number of arguments
MAX_CHARS = 2_000
MAX_DEPTH = 40

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>-?[0-9]+(?:\.[0-9]+)?(?![\w.]))
    |(?P<name>[A-Za-z_][\w-]*(?:\.[\w-]+)*)
    |(?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)
    |(?P<end>\Z))""",
    re.VERBOSE | re.ASCII,
)
_FOREIGN = {"&&": "and", "||": "or", "!": "not", "=": "=="}
_WORDS = {"true": True, "false": False, "null": None}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class ExpressionError(TocsinError):
    """An expression cannot be read or evaluated; `near` is what was probably meant."""

    code = "bad-expression"

    def __init__(self, message: str, *, near: str = "") -> None:
        super().__init__(message)
        self.near = near


class ExpressionScope(Protocol):
    """What an expression is evaluated in."""

    def value_of(self, path: str) -> Any:
        """Return the value of a name such as `steps.dump.status`."""
        ...

    def state(self, name: str) -> bool:
        """Return what `success()`, `failure()` or `always()` is."""
        ...

    def ready(self) -> bool:
        """Whether a step without a condition would run."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""
        ...


class Literal(NamedTuple):
    """A value that is written out."""

    value: Any


class Name(NamedTuple):
    """A reference to a value."""

    path: str


class Listed(NamedTuple):
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
    """Values that `and` or `or` joins."""

    word: str
    values: "tuple[Node, ...]"


class Comparison(NamedTuple):
    """Two values and the sign between them; `not in` is one sign."""

    left: "Node"
    sign: str
    right: "Node"


Node: TypeAlias = Literal | Name | Listed | Call | Negation | Junction | Comparison


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition that was read; `text` is what the file has."""

    text: str
    root: Node

    def names(self) -> Iterator[str]:
        """Yield the names that it refers to."""
        yield from (node.path for node in _walk(self.root) if isinstance(node, Name))

    def asks_state(self) -> bool:
        """Whether it calls `success()`, `failure()` or `always()`."""
        return any(isinstance(node, Call) and node.function in STATES for node in _walk(self.root))

    def is_true(self) -> bool:
        """Whether a constant is true."""
        return _truth(_value(self.root, _NOWHERE))

    def is_constant(self) -> bool:
        """Whether nothing that happens can change its value."""
        return not any(isinstance(node, Name | Call) for node in _walk(self.root))

    def holds(self, scope: ExpressionScope) -> bool:
        """Whether the condition is met; without a call of a state function, the scope must be ready as well.

        Raises ExpressionError for values that cannot be compared.
        """
        if not self.asks_state() and not scope.ready():
            return False
        return _truth(_value(self.root, scope))


def parse_expression(text: str) -> Expression:
    """Read an expression; raises ExpressionError."""
    if len(text) > MAX_CHARS:
        raise ExpressionError(f"a condition has at most {MAX_CHARS:,} characters")
    return Expression(text, _Parser(text).parse())


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._either()
        if self._peek().kind != "end":
            self._fail(f"{self._peek().text!r} is not expected here")
        return node

    def _split(self) -> Iterator[_Token]:
        at = 0
        while True:
            found = _TOKEN.match(self._text, at)
            if found is None:
                self._fail_at(at)
            kind = found.lastgroup or "end"
            yield _Token(kind, found[kind], found.start(kind) + 1)
            if kind == "end":
                return
            at = found.end()

    def _fail_at(self, at: int) -> NoReturn:
        rest = self._text[at:].lstrip()
        place = len(self._text) - len(rest) + 1
        for sign, word in _FOREIGN.items():
            if rest.startswith(sign):
                raise ExpressionError(f"{sign!r} at character {place}: write {word!r}", near=word)
        if rest.startswith("${"):
            inside = rest[2:].partition("}")[0]
            raise ExpressionError(f"a condition has names without ${{ }}: write {inside!r}", near=inside)
        if rest[0] in "'\"":
            raise ExpressionError(f"the text at character {place} is never closed")
        raise ExpressionError(f"{rest[0]!r} at character {place} is not expected")

    def _fail(self, detail: str, near: str = "") -> NoReturn:
        at = self._peek().at
        raise ExpressionError(f"{detail} (character {at})", near=near)

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> str:
        """Return the next sign or word if it is one of `texts`, and go on behind it."""
        token = self._peek()
        if token.kind in {"sign", "name"} and token.text in texts:
            self._next += 1
            return token.text
        return ""

    def _expect(self, text: str) -> None:
        if not self._take(text):
            found = self._peek().text
            self._fail(f"{text!r} is missing before {found!r}" if found else f"{text!r} is missing at the end")

    def _either(self) -> Node:
        return self._joined("or", lambda: self._joined("and", self._negated))

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > 3 * MAX_DEPTH:
            self._fail("too many parentheses inside each other")
        values = [part()]
        while self._take(word):
            values.append(part())
        self._depth -= 1
        return values[0] if len(values) == 1 else Junction(word, tuple(values))

    def _negated(self) -> Node:
        count = 0
        while self._take("not"):
            count += 1
        node = self._compared()
        return Negation(node) if count % 2 else node

    def _compared(self) -> Node:
        left = self._single()
        sign = self._take(*_COMPARISONS, "in") or (self._take("not") and "not in")
        if not sign:
            return left
        if sign == "not in":
            self._expect("in")
        right = self._single()
        if self._peek().text in _COMPARISONS:
            self._fail("comparisons are not chained: join them with 'and'")
        return Comparison(left, sign, right)

    def _single(self) -> Node:
        token = self._peek()
        if self._take("("):
            node = self._either()
            self._expect(")")
            return node
        if self._take("["):
            return Listed(self._until("]"))
        self._next += 1
        match token.kind:
            case "text":
                return Literal(re.sub(r"\\(.)", r"\1", token.text[1:-1]))
            case "number":
                return Literal(float(token.text) if "." in token.text else int(token.text))
            case "name" if token.text not in {"and", "or", "in", "not"}:
                return self._named(token)
        self._next -= 1
        return self._fail(
            f"a value is expected before {token.text!r}" if token.text else "a value is missing at the end"
        )

    def _named(self, token: _Token) -> Node:
        if token.text in _WORDS:
            return Literal(_WORDS[token.text])
        if not self._take("("):
            return self._name(token)
        arguments = self._until(")")
        if token.text not in FUNCTIONS:
            near = near_word(token.text, FUNCTIONS)
            raise ExpressionError(f"there is no function {token.text}(){did_you_mean(near)}", near=near)
        wanted = FUNCTIONS[token.text]
        if len(arguments) != wanted:
            raise ExpressionError(f"{token.text}() takes {wanted} arguments, found {len(arguments)}")
        _check_pattern(token.text, arguments)
        return Call(token.text, arguments)

    def _name(self, token: _Token) -> Node:
        if token.text in FUNCTIONS:
            raise ExpressionError(f"{token.text} is a function: write {token.text}()", near=f"{token.text}()")
        if "." not in token.text and token.text != "item":
            raise ExpressionError(f"{token.text!r} is not known; a text needs quotes", near=f"'{token.text}'")
        return Name(token.text)

    def _until(self, end: str) -> "tuple[Node, ...]":
        found: list[Node] = []
        if self._take(end):
            return ()
        while True:
            found.append(self._either())
            if self._take(end):
                return tuple(found)
            self._expect(",")


def _check_pattern(function: str, arguments: "tuple[Node, ...]") -> None:
    """Raise ExpressionError for a pattern that is written out and cannot be read."""
    if function == "matches" and isinstance(arguments[1], Literal):
        _compiled(str(arguments[1].value))


def _compiled(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except ValueError as error:
        raise ExpressionError(str(error)) from None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Listed(children) | Call(_, children) | Junction(_, children):
            for child in children:
                yield from _walk(child)
        case Negation(value):
            yield from _walk(value)
        case Comparison(left, _, right):
            yield from _walk(left)
            yield from _walk(right)


def _value(node: Node, scope: ExpressionScope) -> Any:
    match node:
        case Literal(value):
            return value
        case Name(path):
            return scope.value_of(path)
        case Listed(items):
            return [_value(item, scope) for item in items]
        case Negation(value):
            return not _truth(_value(value, scope))
        case Junction("and", values):
            return all(_truth(_value(value, scope)) for value in values)
        case Junction(_, values):
            return any(_truth(_value(value, scope)) for value in values)
        case Comparison(left, sign, right):
            return _compare(_value(left, scope), sign, _value(right, scope))
        case Call(function, arguments):
            return _call(function, [_value(argument, scope) for argument in arguments], scope)


def _call(function: str, arguments: list[Any], scope: ExpressionScope) -> bool:
    if function in STATES:
        return scope.state(function)
    if function == "exists":
        return scope.exists(str(arguments[0]))
    return _compiled(str(arguments[1])).search(_spelled(arguments[0])) is not None


def _compare(left: Any, sign: str, right: Any) -> bool:
    if sign in {"in", "not in"}:
        if isinstance(right, str):
            inside = _spelled(left) in right
        elif isinstance(right, list):
            inside = any(_equal(left, each) for each in right)
        else:
            raise ExpressionError("behind 'in' stands a list or a text")
        return inside is (sign == "in")
    if sign in {"==", "!="}:
        return _equal(left, right) is (sign == "==")
    numbers = _number(left), _number(right)
    if numbers[0] is not None and numbers[1] is not None:
        return _ordered(numbers[0], sign, numbers[1])
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(left, sign, right)
    raise ExpressionError(f"{_spelled(left)!r} and {_spelled(right)!r} cannot be compared by {sign}")


def _ordered(left: Any, sign: str, right: Any) -> bool:
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are the same; what steps print is text, so a number equals its spelling."""
    if isinstance(left, int | float) != isinstance(right, int | float):
        numbers = _number(left), _number(right)
        if None not in numbers:
            return numbers[0] == numbers[1]
        return _spelled(left) == _spelled(right)
    return bool(left == right)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,300}(\.[0-9]+)?", value.strip(), re.ASCII):
        return float(value)
    return None


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _truth(value: Any) -> bool:
    """Whether a value counts as true: not `false`, `null`, 0, an empty text or list, nor the text `false`."""
    return bool(value) and value != "false"


class _Nowhere:
    """The scope of constants, which ask for nothing."""

    def value_of(self, path: str) -> Any:
        raise ExpressionError(f"{path} has no value here")

    def state(self, name: str) -> bool:
        raise ExpressionError(f"{name}() has no value here")

    def ready(self) -> bool:
        return True

    def exists(self, path: str) -> bool:
        raise ExpressionError(f"exists({path!r}) has no value here")


_NOWHERE = _Nowhere()
