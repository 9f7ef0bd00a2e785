"""The rules of `watchers.yaml`: read again when the file changes; a broken edit leaves the last good ones in force."""

import os
import pwd
import shlex
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.expressions.template import placeholder_problem
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    IntegerType,
    ListType,
    RecordType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.path_patterns import PathPatterns
from tocsin.core.reading.value import DUPLICATE
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.watchers.model import (
    DEBOUNCE_MS,
    MAX_COOLDOWN_S,
    MAX_DEBOUNCE_MS,
    WatcherAction,
    WatcherRule,
    WatchEvent,
)

FILE_NAME = "watchers.yaml"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
NAME_RULE = "not a valid watcher name: use letters, digits and . _ -, at most 100"
MAX_COMMAND = 10_000  # characters; longer is a script, which belongs in a file


class WatcherRules:
    """The rules of one file."""

    def __init__(self, path: Path) -> None:
        empty: tuple[WatcherRule, ...] = ()
        self._file: WatchedFile[tuple[WatcherRule, ...]] = WatchedFile(
            path, lambda content: read_rules(content, path), empty, is_run=True, rests=True
        )

    @property
    def path(self) -> Path:
        """Where the rules are kept."""
        return self._file.path

    def read(self) -> tuple[tuple[WatcherRule, ...], ConfigError | None]:
        """Return the rules in force, and why the present file is not."""
        return self._file.read()


def read_rules(content: bytes, path: Path) -> tuple[WatcherRule, ...]:
    """Return the rules that a file has; raises ConfigError with all its mistakes."""
    return parse_yaml(content, path, _read)


def _path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("a path must not contain a NUL character")
    path = Path(text)
    if text == "~" or text.startswith("~/"):
        path = Path(pwd.getpwuid(os.geteuid()).pw_dir) / text[2:]
    if not path.is_absolute():
        raise ValueError("expected the absolute path of a folder, or a path that starts with ~/")
    return Path(os.path.normpath(path))


def _pattern(text: str) -> str:
    PathPatterns([text])  # raises ValueError
    if not text.strip() or text.startswith("#"):
        raise ValueError("this pattern matches no file; put \\ before a # at its beginning")
    return text


def _command(text: str) -> str:
    if "\0" in text:
        raise ValueError("a command must not contain a NUL character")
    if len(text) > MAX_COMMAND:
        raise ValueError(f"a command can have at most {MAX_COMMAND:,} characters; put longer commands into a file")
    return text


_PATTERNS = ListType(TextType(parse=_pattern))
RULE = RecordType(
    (
        Field("name", TextType(pattern=NAME, rule=NAME_RULE), required=True, doc="Name of the watcher"),
        Field("path", TextType(parse=_path), required=True, doc="The folder"),
        Field("recursive", BooleanType(), default=True, doc="Whether subfolders are watched"),
        Field("patterns", _PATTERNS, default=(), doc="Files to include, in the syntax of `.gitignore` (default: all)"),
        Field("exclude_patterns", _PATTERNS, default=(), doc="Files to exclude"),
        Field(
            "events",
            ListType(ChoiceType(tuple(map(str, WatchEvent))), allow_empty=False),
            default=("created", "modified", "moved"),
            doc="Events that run the action",
        ),
        Field("action", ChoiceType(tuple(map(str, WatcherAction))), default="shell", doc="Type of action"),
        Field("command", TextType(parse=_command), doc="Command, name of a skill or workflow, or text"),
        Field(
            "debounce_ms",
            IntegerType(0, MAX_DEBOUNCE_MS),
            default=DEBOUNCE_MS,
            doc="Time without changes before a file is processed",
        ),
        Field("cooldown_seconds", IntegerType(0, MAX_COOLDOWN_S), default=0, doc="Minimum time between two runs"),
        Field("enabled", BooleanType(), default=True, doc="Whether the watcher is enabled"),
        Field("output", TextType(), nullable=True, doc="Destination of the output: `<channel>:<target>` or a profile"),
    )
)
_RULES = ListType(RULE)


def _read(root: Node) -> tuple[WatcherRule, ...]:
    if root.absent or root.is_null:
        return ()
    found: list[WatcherRule] = []
    lines: dict[str, int] = {}
    for read in _RULES.read(root):
        line = read.source.place.line
        first = lines.setdefault(read["name"], line)
        if read["name"] and first != line:
            read.given["name"].refuse(f"the watcher in line {first} already has this name", DUPLICATE)
        rule = _rule(read, line)
        if rule is not None:
            found.append(rule)
    return tuple(found)


def _rule(read: RecordValues[Node], line: int) -> WatcherRule | None:
    """Return a rule; None for one with a mistake, which the file's document has recorded."""
    action, command = read["action"], read["command"]
    if not action or read["path"] is None:
        return None
    if command is None:
        given = read.given["command"]
        if given.absent and action != WatcherAction.NOTIFY:
            given.refuse_missing()
        command = ""
    elif action == WatcherAction.SKILL:
        _check_words(read.given["command"], command)
    elif action == WatcherAction.SHELL and (problem := placeholder_problem(command)):
        read.given["command"].refuse(problem)
    return WatcherRule(
        name=read["name"],
        path=read["path"],
        command=command.strip() if action == WatcherAction.WORKFLOW else command,
        action=WatcherAction(action),
        recursive=read["recursive"],
        patterns=tuple(each for each in read["patterns"] if each),
        exclude_patterns=tuple(each for each in read["exclude_patterns"] if each),
        events=tuple(WatchEvent(each) for each in dict.fromkeys(read["events"]) if each),
        debounce_ms=read["debounce_ms"],
        cooldown_seconds=read["cooldown_seconds"],
        enabled=read["enabled"],
        output=read["output"] or "",
        line=line,
    )


def _check_words(node: Node, command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError:
        node.refuse("a quote is not closed")
        return
    if not words:
        node.refuse("expected the name of a skill")
