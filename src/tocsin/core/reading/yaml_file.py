"""Read YAML 1.2 files without aliases, anchors, tags, merge keys and multiple documents."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from tocsin.core.reading.fields import RecordValues
from tocsin.core.reading.value import DUPLICATE, shorten
from tocsin.core.reading.yaml_node import (
    SYNTAX,
    TOO_LARGE,
    TOP,
    Content,
    Document,
    Node,
    Scalar,
    SourcePosition,
    YamlIssue,
    describe_kind,
)
from tocsin.core.storage.files import read_limited

T = TypeVar("T")

MAX_DEPTH = 32  # nested lists and mappings; no file of ours needs 8

_SURROGATE = re.compile("[\ud800-\udfff]")
# YAML 1.2, section 5.1 (c-printable).
_FORBIDDEN = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def load_yaml(path: Path, read: Callable[[Node], T]) -> T:
    """Read a file with `read`; raise ConfigError with all errors in the file."""
    return parse_yaml(read_limited(path), path, read)


class Bounds(NamedTuple):
    """Limits for untrusted YAML, and a callback that cancels reading."""

    max_values: int = 0  # keys and values; 0: no limit
    is_cancelled: Callable[[], bool] = lambda: False


UNBOUNDED = Bounds()


class ReadCancelledError(Exception):
    """`Bounds.is_cancelled` returned true."""


def parse_yaml(content: bytes, path: Path, read: Callable[[Node], T], bounds: Bounds = UNBOUNDED) -> T:
    """Read YAML with `read`; `path` is its name in errors. An empty file has an absent root.

    Raises YamlError with all errors, and ReadCancelledError.
    """
    document = Document(path, _decode(content, path))
    value = read(_Composer(document, bounds).compose())
    document.check()
    return value


class _Composer:
    """Builds nodes from the parser's events, without recursion and without constructing other objects."""

    def __init__(self, document: Document, bounds: Bounds) -> None:
        self._document = document
        self._bounds = bounds
        self._values = 0
        self._root = Node(document, None, TOP)
        self._open: list[_Level] = []
        self._documents = 0

    def compose(self) -> Node:
        """Return the root; it is absent if the file contains only comments."""
        # 35 ms to import: commands that read no such file avoid it.
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        try:
            for event in YAML(typ="safe", pure=True).parse(self._document.text):
                self._take(event)
        except MarkedYAMLError as error:
            problem = error.problem or error.context or ""
            if (last := error.problem_mark or error.context_mark) and (cut := self._comment_in_brackets(last.line)):
                self._document.stop(cut, "", "put a value that starts with # in quotes")
            # The parser reports an unclosed bracket at the end of the file; the error must name its opening.
            is_open = "end of stream" in problem or "<stream end>" in problem or self._left_open(problem, error)
            mark = (is_open and error.context_mark) or error.problem_mark or error.context_mark
            self._document.stop(_place(mark), "", _explain(problem))
        except (YAMLError, ValueError, OverflowError) as error:  # the last two: impossible \U escapes
            self._document.stop(TOP, "", _explain(str(error)))
        return self._root

    def _comment_in_brackets(self, last_line: int) -> SourcePosition | None:
        """Return where the nearest value within brackets starts with a # without quotes, which makes it a comment."""
        lines = self._document.text.splitlines()[: last_line + 1]
        for number, line in reversed(list(enumerate(lines, start=1))):
            before, _, after = line.partition("#")
            is_value = before.rstrip().endswith((":", ",", "[", "{")) and after[:1].strip("#").strip()
            is_quoted = before.count('"') % 2 or before.count("'") % 2
            if is_value and not is_quoted and ("[" in before or "{" in before):
                return SourcePosition(number, len(before) + 1)
        return None

    def _left_open(self, problem: str, error: Any) -> bool:
        """Whether a bracket is open before the next key, or a key has no colon: both are above the reported line."""
        opened, found = error.context_mark, error.problem_mark
        if opened is None or found is None or found.line <= opened.line:
            return False
        if "could not find expected ':'" in problem:
            return True
        lines = self._document.text.splitlines()
        indents = [len(lines[mark.line]) - len(lines[mark.line].lstrip()) for mark in (opened, found)]
        return "expected ',' or" in problem and indents[1] <= indents[0]

    def _take(self, event: Any) -> None:
        from ruamel.yaml import events

        if isinstance(event, events.NodeEvent):
            self._count(event)
        match event:
            case events.AliasEvent():
                node = self._add(event, None)
                node.refuse("aliases are not supported; put a value that starts with * in quotes", SYNTAX)
            case events.ScalarEvent() if self._key_comes_next():
                self._take_key(event)
            case events.ScalarEvent():
                self._add(event, Scalar(_characters(event, self._document), quoted=bool(event.style)))
            case events.SequenceStartEvent():
                self._add(event, [])
            case events.MappingStartEvent():
                self._add(event, {})
            case events.CollectionEndEvent():
                self._open.pop()
            case events.DocumentStartEvent():
                self._start_document(event)

    def _count(self, event: Any) -> None:
        """Count a key or value: each takes the parser about 20 µs, however short it is."""
        self._values += 1
        most, is_cancelled = self._bounds
        if self._values > most > 0:
            self._document.stop(_place(event.start_mark), "", f"more than {most:,} keys and values", TOO_LARGE)
        if is_cancelled():
            raise ReadCancelledError

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop(event, "the file contains a second document; only one is allowed")
        if event.version not in {None, (1, 2)}:
            self._stop(event, "only YAML 1.2 is supported; remove the %YAML line")

    def _key_comes_next(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].content, dict) and self._open[-1].key is None

    def _take_key(self, event: Any) -> None:
        key = Scalar(_characters(event, self._document), quoted=bool(event.style))
        level = self._open[-1]
        level.key, level.key_place = key.spelling, _place(event.start_mark)
        mistakes = list(_decorations(event))
        if key == ("<<", False):
            mistakes.append("merge keys are not supported")
        elif describe_kind(key) in {"nothing", "a switch"}:
            mistakes.append(f"keys must be text, found {key.spelling or 'an empty key'}: put it in quotes")
        for detail in mistakes:
            place, steps = level.key_place, (*level.node.steps, key.spelling)
            self._document.refuse(YamlIssue(place.line, place.column, level.node.key, detail, SYNTAX, steps=steps))

    def _add(self, event: Any, content: Content) -> Node:
        """Add a node to the innermost open list or mapping, and open it if it is one."""
        place = _place(event.start_mark)
        if self._open:
            node = self._attach(self._open[-1], content, place)
        else:
            nothing = content == ("", False)  # after a lone `---`
            node = self._root = Node(self._document, None if nothing else content, place)
        for detail in _decorations(event) if content is not None else ():
            node.refuse(detail, SYNTAX)
        if isinstance(content, list | dict):
            if len(self._open) >= MAX_DEPTH:
                self._stop(event, f"lists and mappings are nested more than {MAX_DEPTH} levels deep")
            self._open.append(_Level(node, content))
        return node

    def _attach(self, level: "_Level", content: Content, place: SourcePosition) -> Node:
        if isinstance(level.content, list):
            node = Node(self._document, content, place, parent=level.node, step=len(level.content))
            level.content.append(node)
            return node
        if level.key is None:
            self._document.stop(place, level.node.key, "keys must be text")
        key, key_place, level.key = level.key, level.key_place, None
        if content == ("", False):
            place = key_place  # the parser places a missing value somewhere after its line
        node = Node(self._document, content, place, parent=level.node, step=key, key_place=key_place)
        if first := level.content.get(key):
            node.refuse_key(f"duplicate key {shorten(key)!r} (first in line {first.key_place.line})", DUPLICATE)
        level.content.setdefault(key, node)
        return node

    def _stop(self, event: Any, detail: str) -> NoReturn:
        self._document.stop(_place(event.start_mark), self._open[-1].node.key if self._open else "", detail)


@dataclass(slots=True)
class _Level:
    """An open list or mapping, and for a mapping the key whose value is next."""

    node: Node
    content: list[Node] | dict[str, Node]
    key: str | None = None
    key_place: SourcePosition = TOP


def refuse_repeated(records: Iterable[RecordValues[Node]], key: str, sentence: str) -> None:
    """Record an error about each value of `key` that an earlier record has; `{}` in the sentence is that one's line."""
    first: dict[object, RecordValues[Node]] = {}
    for each in records:
        if not (value := each[key]):
            continue
        earlier = first.setdefault(value, each)
        if earlier is not each:
            each.given[key].refuse(sentence.format(earlier.source.place.line), DUPLICATE)


def _place(mark: Any) -> SourcePosition:
    return SourcePosition(mark.line + 1, mark.column + 1) if mark else TOP


def _decorations(event: Any) -> Iterator[str]:
    """Yield the errors before a value: anchors and tags."""
    if event.anchor is not None:
        yield "anchors are not supported; put a value that starts with & in quotes"
    if event.ctag is not None:
        yield "tags are not supported; put a value that starts with ! in quotes"


def _characters(event: Any, document: Document) -> str:
    """Return the text of a scalar, in which every character can be encoded as UTF-8."""
    text: str = event.value
    if _SURROGATE.search(text):
        document.stop(_place(event.start_mark), "", "an escape sequence encodes half of a surrogate pair")
    return text


def _explain(problem: str) -> str:
    """Return the parser's message, or a better one for a common error."""
    for pattern, words in _REASONS:
        if found := re.search(pattern, problem):
            return words.format(*found.groups())
    return f"invalid YAML: {' '.join(problem.split())}"


_MISALIGNED = "not indented like the lines it belongs to"
_REASONS = (
    (r"'\\t'", "tabs cannot be used for indentation; use spaces"),
    (r"character '(.)' that cannot start", "put a value that starts with {} in quotes"),
    (r"unknown escape character '(.)'", "\\{} is not a valid escape sequence in double quotes: use single quotes"),
    (
        r"expected escape sequence",
        "incomplete escape sequence in double quotes: use single quotes",
    ),
    (r"expected the node content, but found '<stream end>'", "a value or a closing bracket is missing"),
    (r"expected the node content, but found", "a value is missing here: put text with brackets or commas in quotes"),
    (
        r"mapping values are not allowed",
        "a key is not allowed here: put a value that contains a colon and a space in quotes, or check the indentation",
    ),
    (r"unexpected end of stream", "the quote is not closed"),
    (r"expected ',' or '(.)'", "a comma or a closing {} is missing; put text with brackets in quotes"),
    (
        r"expected <block end>, but found '<scalar>'",
        "unexpected text after a value: put the whole value in quotes, and double each single quote inside it",
    ),
    (r"expected <block end>", f"this line is {_MISALIGNED}"),
    (r"could not find expected ':'", f"the colon after a key is missing, or a line is {_MISALIGNED}"),
)


def _decode(content: bytes, path: Path) -> str:
    """Return the text of a file, with or without a byte order mark."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        Document(path, before).stop(_end_of(before), "", "not UTF-8 text")
    # Compiling the pattern takes 4 ms; most files are printable and do not need it.
    if not text.replace("\n", "").isprintable() and (found := re.search(_FORBIDDEN, text)):
        before = text[: found.start()]
        Document(path, text).stop(_end_of(before), "", f"the character {found[0]!a} is not allowed")
    return text


def _end_of(text: str) -> SourcePosition:
    return SourcePosition(text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1)
