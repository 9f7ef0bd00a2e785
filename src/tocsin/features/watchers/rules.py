"""The rules of `watchers.yaml`: read again when the file changes; while it is invalid, the last valid ones apply."""

import json
import re
import shlex
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.expressions.template import placeholder_problem
from tocsin.core.reading.fields import ListType, RecordValues
from tocsin.core.reading.records import record_type
from tocsin.core.reading.yaml_file import parse_yaml, refuse_repeated
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile, make_directory, only_writer, read_limited, write_atomically
from tocsin.features.file_schemas import modeline
from tocsin.features.watchers.feature import WATCHERS_FILE
from tocsin.features.watchers.model import WatcherAction, WatcherRule, WatchEvent

FILE_NAME = "watchers.yaml"
RULES = ListType(record_type(WatcherRule))
_HEAD = (
    modeline(WATCHERS_FILE)
    + "# Rules for changed files: docs/watchers.md. Services read this file again when it changes.\n"
)
_ENTRY = re.compile(r"^( *)- ", re.MULTILINE)


class WatcherRules(WatchedFile[tuple[WatcherRule, ...]]):
    """The rules of one file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, lambda content: read_rules(content, path), (), is_run=True, rests=True)


def read_rules(content: bytes, path: Path) -> tuple[WatcherRule, ...]:
    """Return the rules that a file has; raises ConfigError with all its mistakes."""
    return parse_yaml(content, path, _read)


def _read(root: Node) -> tuple[WatcherRule, ...]:
    if root.absent or root.is_null:
        return ()
    records = RULES.read(root)
    refuse_repeated(records, "name", "the watcher in line {} already has this name")
    rules = [_rule(read, read.source.place.line) for read in records]
    return tuple(rule for rule in rules if rule is not None)


def _rule(read: RecordValues[Node], line: int) -> WatcherRule | None:
    """Return a rule; `None` if it is invalid, which the document of the file has recorded."""
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


def with_rule(path: Path, rule: WatcherRule) -> None:
    """Add a rule to a file; raises ConfigError, without a change, if the rule or the file is invalid."""
    make_directory(path.parent)
    with only_writer(path):
        write_atomically(path, _with_rule(path, rule))


def _with_rule(path: Path, rule: WatcherRule) -> str:
    before = read_limited(path).decode("utf-8", "replace") if path.exists() else _HEAD
    if path.exists():
        read_rules(before.encode(), path)
    found = _ENTRY.search(before)
    text = f"{before.rstrip()}\n\n{_written(rule, found[1] if found else '')}"
    try:
        read_rules(text.encode(), path)
    except ConfigError as error:
        raise ConfigError(f"the rule cannot be added: {error}", hint="correct it, or edit the file") from None
    return text


def _written(rule: WatcherRule, indent: str) -> str:
    # JSON in double quotes is YAML, whatever a text has in it.
    lines = [f"name: {rule.name}", f"path: {_quoted(str(rule.path))}"]
    if rule.patterns:
        lines.append(f"patterns: [{', '.join(map(_quoted, rule.patterns))}]")
    if rule.action is not WatcherAction.SHELL:
        lines.append(f"action: {rule.action}")
    if rule.command:
        lines.append(f"command: {_quoted(rule.command)}")
    if rule.output:
        lines.append(f"output: {_quoted(rule.output)}")
    return "".join(f"{indent}{'- ' if n == 0 else '  '}{line}\n" for n, line in enumerate(lines))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
