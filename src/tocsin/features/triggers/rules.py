"""Trigger rules: a pattern and what runs when a message matches, kept in `triggers.yaml`.

A list of rules, each with `pattern`, `action`, `command` and `reply`. The first that matches wins.
"""

import shlex
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.triggers.patterns import Pattern, PatternError, searchable

FILE_NAME = "triggers.yaml"
MAX_COMMAND = 10_000  # characters; longer is a script, which belongs in a file


class Action(StrEnum):
    """What a rule runs."""

    SHELL = "shell"
    CLAUDE = "claude"  # the chat provider, whichever is configured
    SKILL = "skill"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `number` is its place in the file from 1, `words` a skill's name and its arguments."""

    number: int
    line: int
    pattern: Pattern
    action: Action
    command: str
    reply: bool = True
    words: tuple[str, ...] = field(default=(), repr=False)

    @property
    def id(self) -> str:
        """What names the rule in the records of its runs, also after others were moved around it."""
        digest = sha256(self.pattern.source.encode()).hexdigest()
        return f"{self.number}-{digest[:8]}"


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that matches, what it found in the text, and what its groups captured."""

    rule: Rule
    found: str
    groups: tuple[str, ...]

    @property
    def captures(self) -> tuple[str, ...]:
        """What `$0`, `$1`, … stand for in a prompt or the arguments of a skill."""
        return (self.found, *self.groups)


class MatchStatus(StrEnum):
    """What a rule has to say about a message."""

    FIRES = "fires"
    COVERED = "matches, but an earlier rule fires"
    NO_MATCH = "does not match"


@dataclass(frozen=True, slots=True)
class RuleEvaluation:
    """One rule looked at for one message."""

    rule: Rule
    outcome: MatchStatus


class Triggers:
    """The rules of one file, read again whenever it changes; one bad rule leaves the last good file in force."""

    def __init__(self, path: Path) -> None:
        empty: tuple[Rule, ...] = ()
        self._file: WatchedFile[tuple[Rule, ...]] = WatchedFile(
            path, lambda content: parse_yaml(content, path, _read), empty, is_run=True
        )

    @property
    def path(self) -> Path:
        """Where the rules are kept."""
        return self._file.path

    @property
    def problem(self) -> ConfigError | None:
        """Why the present file is not in force; the last good one is, if there was one."""
        return self._file.problem

    def all(self) -> tuple[Rule, ...]:
        """Return the rules in force, in the order of the file."""
        return self._file.value

    def match(self, text: str) -> Match | None:
        """Return the first rule whose pattern is found in the text."""
        return _first(self.all(), searchable(text))

    def explain(self, text: str) -> tuple[Match | None, tuple[RuleEvaluation, ...]]:
        """Return what `match` does, and of every rule whether it fires and why not."""
        rules, content = self.all(), searchable(text)
        first = _first(rules, content)
        findings = []
        for rule in rules:
            if first is not None and rule is first.rule:
                outcome = MatchStatus.FIRES
            else:
                outcome = MatchStatus.NO_MATCH if rule.pattern.find(content) is None else MatchStatus.COVERED
            findings.append(RuleEvaluation(rule, outcome))
        return first, tuple(findings)


def _first(rules: tuple[Rule, ...], content: bytes) -> Match | None:
    for rule in rules:
        found = rule.pattern.find(content)
        if found is not None:
            return Match(rule, found[0], found[1:])
    return None


def _read(root: Node) -> tuple[Rule, ...]:
    found = [_read_rule(number, node) for number, node in enumerate(root.items(), 1)]
    return tuple(rule for rule in found if rule is not None)


def _read_rule(number: int, node: Node) -> Rule | None:
    """Return a rule; nothing for one with a mistake, which the file's document has recorded."""
    fields = node.fields(required=("pattern", "command"), optional=("action", "reply"))
    pattern = _read_pattern(fields["pattern"])
    action = Action(fields["action"].choice(Action.SHELL.value, [action.value for action in Action]))
    command = _read_command(fields["command"])
    words = _read_words(fields["command"], command) if action is Action.SKILL and command else ()
    reply = fields["reply"].boolean(True)
    if pattern is None:
        return None
    return Rule(number, node.place.line, pattern, action, command, reply, words)


def _read_pattern(node: Node) -> Pattern | None:
    source = node.text()
    if not source.strip():
        return None
    try:
        return Pattern.compile(source)
    except PatternError as error:
        node.refuse(f"this pattern cannot be used: {error}")
        return None


def _read_command(node: Node) -> str:
    command = node.text()
    if "\0" in command:
        node.refuse("a command cannot have a NUL character")
    if len(command) > MAX_COMMAND:
        node.refuse(f"a command has at most {MAX_COMMAND:,} characters; put a longer one into a file and run that")
    return command


def _read_words(node: Node, command: str) -> tuple[str, ...]:
    """Return the words of a skill's command, quoted as in a shell."""
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        node.refuse("a quote is never closed")
        return ()
    if not words or not words[0] or "$" in words[0]:
        node.refuse("expected the name of a skill first; it cannot come from the message")
    return words
