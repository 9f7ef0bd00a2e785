"""Texts with values, loops and choices, for what strangers send.

`${payload.title}` is the value of any expression, `${for alert in payload.alerts}…${end}` repeats a text for each value
of a list, `${if payload.count > 1}…${else if …}…${else}…${end}` chooses one. `$${` is a literal `${`. A line with
nothing but `${for …}`, `${if …}`, `${else}` or `${end}` leaves no line in the result.

Nothing is assigned and no text grows from itself, so the work is bounded by the steps of loops and the sizes of values:
`render_text` counts each operation by the size of its values before it is done, so the same text is stopped at the same
place on every machine. A step takes up to 2 µs; the processor time is a second limit.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from tocsin.core.expressions.expression import Expression, ExpressionError, ExpressionScope, check_size, compiled, spell
from tocsin.core.expressions.parser import Vocabulary, parse_expression

MAX_SOURCE = 8 * 1024  # characters
MAX_OUTPUT = 64 * 1024
MAX_STEPS = 15_000
MAX_CPU_S = 0.05
MAX_NESTING = 8
MAX_READ = 64 * 1024  # characters of a text that functions and patterns read
_LOOKED_AFTER = 32  # steps between two looks at the clock

_MARK = re.compile(r"\$\$\{|\$\{")
_INSIDE = re.compile(r"""(?:[^'"}\\]|\\.|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*""", re.DOTALL)
_LOOP = re.compile(r"for\s+([A-Za-z_]\w*)\s+in\s+(.+)", re.ASCII | re.DOTALL)
_ALONE = re.compile(r"^[ \t]*(\$\{\s*(?:for\s[^\n]*|if\s[^\n]*|else|else\s+if\s[^\n]*|end)\s*\})[ \t]*\n", re.MULTILINE)


class Output(NamedTuple):
    """The value of an expression."""

    expression: Expression


class Loop(NamedTuple):
    """A text for each value of a list."""

    name: str
    values: Expression
    body: "tuple[TextNode, ...]"


class Branch(NamedTuple):
    """A text with its condition; without one, it is the last of its choice."""

    condition: Expression | None
    body: "tuple[TextNode, ...]"


class Choice(NamedTuple):
    """The text of the first branch whose condition holds."""

    branches: tuple[Branch, ...]


TextNode: TypeAlias = str | Output | Loop | Choice


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A parsed text."""

    source: str = ""
    nodes: tuple[TextNode, ...] = ()

    def expressions(self) -> Iterator[tuple[Expression, frozenset[str]]]:
        """Yield all expressions, with the names of the loops around each."""
        yield from _expressions(self.nodes, frozenset())


class Budget:
    """Steps and processor time that are left; `spend` raises ExpressionError when they are used up."""

    def __init__(self, steps: int = MAX_STEPS, cpu_s: float = MAX_CPU_S) -> None:
        self._left = steps
        self._look_at = steps - _LOOKED_AFTER
        self._until = time.thread_time() + cpu_s

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ExpressionError("it takes too many steps")
        if self._left < self._look_at:
            self._look_at = self._left - _LOOKED_AFTER
            if time.thread_time() > self._until:
                raise ExpressionError("it takes too long")


class TextScope(ExpressionScope):
    """The values with which a text is rendered, by root; each use is paid from a budget."""

    def __init__(
        self,
        roots: dict[str, Any],
        functions: "Callable[[str, list[Any], TextScope], Any]",
        budget: Budget,
    ) -> None:
        self.roots = roots
        self._functions = functions
        self._patterns: set[str] = set()
        self.spend = budget.spend  # type: ignore[method-assign]  # one call less for each step

    def value_of(self, path: str) -> Any:
        """Return the value at a path such as `payload.alerts.0.labels.job`; `None` if there is none."""
        root, *rest = path.split(".")
        self.spend(len(rest))
        value = self.roots.get(root)
        for step in rest:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
                value = value[int(step)]
            else:
                return None
        return value

    def call(self, function: str, arguments: list[Any]) -> Any:
        """Return the result of a function, which reads the beginning of long texts."""
        read = [each[:MAX_READ] if isinstance(each, str) else each for each in arguments]
        return self._functions(function, read, self)

    def search(self, pattern: str, text: str) -> Any:
        """Return the match of a pattern in the beginning of a text, paid as if RE2 had to take its slowest way."""
        if pattern not in self._patterns:
            self.spend(25 * len(pattern))  # to compile it
            self._patterns.add(pattern)
        found, read = compiled(pattern), text[:MAX_READ]
        size = len(read) if read.isascii() else 3 * len(read)
        self.spend(found.programsize * (size + 64) // 200)  # measured: 11 ns per instruction and byte
        return found.search(read)

    def spell(self, value: Any) -> str:
        if isinstance(value, list | dict):
            self.spend(check_size(value))
        return spell(value)


def parse_text(source: str, vocabulary: Vocabulary) -> TextTemplate:
    """Parse a text; raise ExpressionError."""
    if len(source) > MAX_SOURCE:
        raise ExpressionError(f"a text can have at most {MAX_SOURCE:,} characters")
    pieces = _Pieces(_ALONE.sub(r"\1", source), vocabulary)
    return TextTemplate(source, pieces.body(()))


def render_text(template: TextTemplate, scope: TextScope) -> str:
    """Return a text with its values; raise ExpressionError if it takes too long or becomes too long."""
    written = _Written()
    _render(template.nodes, scope, written)
    return "".join(written.parts)


@dataclass(slots=True)
class _Written:
    parts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        self.size += len(text)
        if self.size > MAX_OUTPUT:
            raise ExpressionError(f"the text becomes longer than {MAX_OUTPUT:,} characters")
        self.parts.append(text)


def _render(nodes: Sequence[TextNode], scope: TextScope, written: _Written) -> None:
    for node in nodes:
        scope.spend(1)
        match node:
            case str():
                written.add(node)
            case Output(expression):
                written.add(scope.spell(expression.value(scope)))
            case Choice(branches):
                for condition, body in branches:
                    if condition is None or condition.holds(scope):
                        _render(body, scope, written)
                        break
            case Loop(name, values, body):
                _repeat(name, values.value(scope), body, scope, written)


def _repeat(name: str, values: Any, body: Sequence[TextNode], scope: TextScope, written: _Written) -> None:
    if values is None:
        return
    if not isinstance(values, list):
        raise ExpressionError(f"`for {name}` needs a list, found {scope.spell(values)[:40]!r}")
    before = scope.roots
    for value in values:
        scope.spend(1)
        scope.roots = {**before, name: value}
        _render(body, scope, written)
    scope.roots = before


class _Pieces:
    """The pieces of a text, and the place that parsing has reached."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._at = 0
        self._ended = ""  # what ended the last body: `end`, `else`, or `else if …`

    def body(self, loops: tuple[str, ...], opened: str = "", depth: int = 0) -> tuple[TextNode, ...]:
        """Return the nodes up to the end of the text, or of the block that `opened` names."""
        if depth > MAX_NESTING:
            raise ExpressionError(f"loops and choices are nested more than {MAX_NESTING} levels deep")
        nodes: list[TextNode] = []
        while mark := _MARK.search(self._text, self._at):
            nodes.append(self._text[self._at : mark.start()])
            self._at = mark.end()
            if mark[0] == "$${":
                nodes.append("${")
                continue
            word = self._inside(mark.start())
            if word in {"end", "else"} or word.startswith("else "):
                if not opened or (opened == "for" and word != "end"):
                    raise ExpressionError(f"${{{word}}} without ${{{'if' if opened else 'for'} …}} before it")
                self._ended = word
                return _joined(nodes)
            nodes.append(self._node(word, loops, depth))
        if opened:
            raise ExpressionError(f"${{{opened} …}} is not closed by ${{end}}")
        nodes.append(self._text[self._at :])
        return _joined(nodes)

    def _inside(self, start: int) -> str:
        found = _INSIDE.match(self._text, self._at)
        end = found.end() if found else self._at
        if self._text[end : end + 1] != "}":
            raise ExpressionError(f"{self._text[start : start + 20]!r} is not closed by '}}'")
        inside = self._text[self._at : end].strip()
        self._at = end + 1
        return inside

    def _node(self, word: str, loops: tuple[str, ...], depth: int) -> TextNode:
        if word.startswith("for "):
            found = _LOOP.fullmatch(word)
            if found is None:
                raise ExpressionError(f"{word[:40]!r}: write 'for NAME in LIST'")
            return Loop(found[1], self._expression(found[2], loops), self.body((*loops, found[1]), "for", depth + 1))
        if not word.startswith("if "):
            return Output(self._expression(word, loops))
        branches: list[Branch] = []
        condition: Expression | None = self._expression(word.removeprefix("if "), loops)
        while True:
            branches.append(Branch(condition, self.body(loops, "if", depth + 1)))
            if self._ended == "end":
                return Choice(tuple(branches))
            if condition is None:
                raise ExpressionError(f"${{{self._ended}}} after ${{else}}")
            rest = self._ended.removeprefix("else").strip()
            if rest and not rest.startswith("if "):
                raise ExpressionError(f"{self._ended[:40]!r}: write 'else' or 'else if CONDITION'")
            condition = self._expression(rest.removeprefix("if "), loops) if rest else None

    def _expression(self, text: str, loops: tuple[str, ...]) -> Expression:
        known = replace(self._vocabulary, names=(*self._vocabulary.names, *loops))
        return parse_expression(text.strip(), known)


def _joined(nodes: Sequence[TextNode]) -> tuple[TextNode, ...]:
    return tuple(node for node in nodes if node != "")


def _expressions(nodes: Sequence[TextNode], loops: frozenset[str]) -> Iterator[tuple[Expression, frozenset[str]]]:
    for node in nodes:
        match node:
            case Output(expression):
                yield expression, loops
            case Choice(branches):
                for condition, body in branches:
                    if condition is not None:
                        yield condition, loops
                    yield from _expressions(body, loops)
            case Loop(name, values, body):
                yield values, loops
                yield from _expressions(body, loops | {name})
