"""A new rule is written behind those of the file; what people wrote stays as it is."""

import json
import re
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import make_directory, only_writer, read_limited, write_atomically
from tocsin.features.watchers.model import WatcherAction, WatcherRule
from tocsin.features.watchers.rules import read_rules

_HEAD = "# Rules for changed files: docs/watchers.md. Services read this file again when it changes.\n"
_ENTRY = re.compile(r"^( *)- ", re.MULTILINE)


def with_rule(path: Path, rule: WatcherRule) -> None:
    """Add a rule to a file; raises ConfigError where the rule or the file has a mistake, and changes nothing then."""
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
