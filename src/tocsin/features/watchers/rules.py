"""The rules of `watchers.yaml`: read again when the file changes; a broken edit leaves the last good ones in force."""

import shlex
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.expressions.template import placeholder_problem
from tocsin.core.reading.fields import ListType, RecordValues
from tocsin.core.reading.records import record_type
from tocsin.core.reading.value import DUPLICATE
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.watchers.model import WatcherAction, WatcherRule, WatchEvent

FILE_NAME = "watchers.yaml"
_RULES = ListType(record_type(WatcherRule))


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
    own = {
        "command": command.strip() if action == WatcherAction.WORKFLOW else command,
        "action": WatcherAction(action),
        "patterns": tuple(each for each in read["patterns"] if each),
        "exclude_patterns": tuple(each for each in read["exclude_patterns"] if each),
        "events": tuple(WatchEvent(each) for each in dict.fromkeys(read["events"]) if each),
        "line": line,
    }
    return WatcherRule(**{**read.values, **own})


def _check_words(node: Node, command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError:
        node.refuse("a quote is not closed")
        return
    if not words:
        node.refuse("expected the name of a skill")
