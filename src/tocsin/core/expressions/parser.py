"""Parser of conditions."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from tocsin.core.expressions.expression import (
    MATCHES,
    Call,
    Comparison,
    Expression,
    ExpressionError,
    Junction,
    ListNode,
    Literal,
    Name,
    Negation,
    Node,
)
from tocsin.core.expressions.patterns import compile_pattern
from tocsin.core.reading.value import did_you_mean, near_word

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


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that the conditions of one kind of file may use in addition to dotted names."""

    functions: Mapping[str, int | range] = field(default_factory=dict)  # with the number of arguments
    names: Collection[str] = ()  # without dots


def parse_expression(text: str, vocabulary: Vocabulary, check: Callable[[str], object] = compile_pattern) -> Expression:
    """Parse an expression; raise ExpressionError. `check` raises ValueError for an unusable pattern."""
    if len(text) > MAX_CHARS:
        raise ExpressionError(f"a condition can have at most {MAX_CHARS:,} characters")
    return Expression(text, _Parser(text, vocabulary, check).parse())


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


class _Parser:
    def __init__(self, text: str, vocabulary: Vocabulary, check: Callable[[str], object]) -> None:
        self._text = text
        self._functions = {**vocabulary.functions, MATCHES: 2}
        self._names = vocabulary.names
        self._check = check
        self._tokens = list(self._split())
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._either()
        if self._peek().kind != "end":
            self._fail(f"unexpected {self._peek().text!r}")
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
        rest = self._text[at:].lstrip(" \t\n\r\f\v")  # the ASCII characters of `\s`
        place = len(self._text) - len(rest) + 1
        for sign, word in _FOREIGN.items():
            if rest.startswith(sign):
                raise ExpressionError(f"{sign!r} at character {place}: write {word!r}", near=word)
        if rest.startswith("${"):
            inside = rest[2:].partition("}")[0]
            raise ExpressionError(f"names in a condition are written without ${{ }}: write {inside!r}", near=inside)
        if rest[0] in "'\"":
            raise ExpressionError(f"the text at character {place} is not closed")
        raise ExpressionError(f"unexpected {rest[0]!r} at character {place}")

    def _fail(self, detail: str) -> NoReturn:
        raise ExpressionError(f"{detail} (character {self._peek().at})")

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> str:
        """Consume and return the next sign or word if it is one of `texts`."""
        token = self._peek()
        if token.kind in {"sign", "name"} and token.text in texts:
            self._next += 1
            return token.text
        return ""

    def _expect(self, text: str) -> None:
        if not self._take(text):
            found = self._peek().text
            self._fail(f"expected {text!r} before {found!r}" if found else f"expected {text!r} at the end")

    def _either(self) -> Node:
        return self._joined("or", lambda: self._joined("and", self._negated))

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > 3 * MAX_DEPTH:
            self._fail("parentheses are nested too deeply")
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
            self._fail("comparisons cannot be chained: join them with 'and'")
        return Comparison(left, sign, right)

    def _single(self) -> Node:
        token = self._peek()
        if self._take("("):
            node = self._either()
            self._expect(")")
            return node
        if self._take("["):
            return ListNode(self._until("]"))
        self._next += 1
        match token.kind:
            case "text":
                return Literal(re.sub(r"\\(.)", r"\1", token.text[1:-1]))
            case "number":
                return Literal(float(token.text) if "." in token.text else int(token.text))
            case "name" if token.text not in {"and", "or", "in", "not"}:
                return self._named(token)
        self._next -= 1
        return self._fail(f"expected a value before {token.text!r}" if token.text else "expected a value at the end")

    def _named(self, token: _Token) -> Node:
        if token.text in _WORDS:
            return Literal(_WORDS[token.text])
        if not self._take("("):
            return self._name(token)
        arguments = self._until(")")
        if token.text not in self._functions:
            near = near_word(token.text, self._functions)
            raise ExpressionError(f"unknown function {token.text}(){did_you_mean(near)}", near=near)
        wanted = self._functions[token.text]
        if len(arguments) not in (wanted if isinstance(wanted, range) else (wanted,)):
            shown = f"{wanted[0]} to {wanted[-1]}" if isinstance(wanted, range) else wanted
            raise ExpressionError(f"{token.text}() takes {shown} arguments, found {len(arguments)}")
        if token.text == MATCHES and isinstance(arguments[1], Literal):
            self._check_pattern(str(arguments[1].value))
        return Call(token.text, arguments)

    def _check_pattern(self, pattern: str) -> None:
        """Raise ExpressionError for a literal pattern that is invalid."""
        try:
            self._check(pattern)
        except ValueError as error:
            raise ExpressionError(str(error)) from None

    def _name(self, token: _Token) -> Node:
        if token.text in self._functions:
            raise ExpressionError(f"{token.text} is a function: write {token.text}()", near=f"{token.text}()")
        if "." not in token.text and token.text not in self._names:
            raise ExpressionError(f"unknown name {token.text!r}; put text in quotes", near=f"'{token.text}'")
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
