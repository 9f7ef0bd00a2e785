"""The rules of `triggers.yaml`: a pattern, and the action for messages that match.

A list of rules, each with `pattern`, or `on: action` and `name`, and `action`, `command` and `reply`. The first that
matches wins.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Annotated, ClassVar

from tocsin.core.expressions.template import placeholder_problem
from tocsin.core.reading.fields import BooleanType, ChoiceType, Field, ListType, RecordType, RecordValues, TextType
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.records.marks import Converted, Private, after
from tocsin.core.storage.files import WatchedFile
from tocsin.core.text.shell import MAX_COMMAND, read_command
from tocsin.features.triggers.captures import notes_on, substitute
from tocsin.features.triggers.patterns import Pattern, PatternError, searchable

FILE_NAME = "triggers.yaml"


class TriggerEvent(StrEnum):
    """The kind of event for which rules are evaluated."""

    MESSAGE = "message"
    ACTION = "action"  # a pressed button


class TriggerAction(StrEnum):
    """The kind of action of a rule."""

    SHELL = "shell"
    CLAUDE = "claude"  # the chat provider, whichever is configured
    SKILL = "skill"


@dataclass(frozen=True, slots=True)
class Rule:
    """Trigger rule; `words` are a skill's name and its arguments."""

    schema_name: ClassVar[str] = "RuleRecord"

    number: Annotated[int, "Position in the file, starting at 1."]
    line: int
    pattern: Annotated[
        Pattern, "Pattern of the message, or of the name of a pressed action.", Converted(attrgetter("source"), str)
    ]
    action: TriggerAction
    command: str
    reply: bool = True
    on: TriggerEvent = TriggerEvent.MESSAGE
    repeat: Private[bool] = True
    words: Private[tuple[str, ...]] = field(default=(), repr=False)

    @property
    def id(self) -> str:
        """The ID of the rule in the records of its runs: its number, and a digest of its pattern."""
        digest = sha256(self.pattern.source.encode()).hexdigest()
        return f"{self.number}-{digest[:8]}"

    @property
    @after("reply")
    def notes(self) -> Sequence[str]:
        """Warnings about its command."""
        return notes_on(self.command) if self.action is TriggerAction.SHELL else ()


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that matches, the matched text, and its groups."""

    rule: Rule
    found: str
    groups: tuple[str, ...]

    @property
    def captures(self) -> tuple[str, ...]:
        """The values of `$0`, `$1`, … in a prompt or the arguments of a skill."""
        return (self.found, *self.groups)

    @property
    def would_run(self) -> str:
        """The command, with captures inserted; a shell gets its command unchanged, and the captures as arguments."""
        if self.rule.action is TriggerAction.SHELL:
            return self.rule.command
        return substitute(self.rule.command, self.captures)


class MatchStatus(StrEnum):
    """The result of evaluating a rule for a message."""

    FIRES = "fires"
    COVERED = "covered"  # by an earlier rule
    NO_MATCH = "no-match"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RuleOutcome:
    """Result of one rule for a text."""

    number: int
    pattern: str
    outcome: Annotated[MatchStatus, "`fires`, `covered` by an earlier rule, or `no-match`."]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RuleTest:
    """Matching rule, and what it would run."""

    matched: bool
    rule: Rule | None
    groups: Sequence[str]
    would_run: str | None
    rules: Sequence[RuleOutcome]


class Triggers(WatchedFile[tuple[Rule, ...]]):
    """The rules of one file, read again when it changes; while one is invalid, the last valid file remains active."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, lambda content: parse_yaml(content, path, _read), (), is_run=True, rests=True)

    def all(self) -> tuple[Rule, ...]:
        """Return the active rules, in the order of the file."""
        return self.value

    def match(self, text: str, on: TriggerEvent = TriggerEvent.MESSAGE) -> Match | None:
        """Return the first rule for messages, or for pressed actions, whose pattern is found in the text."""
        return _first(self.all(), searchable(text), on)

    def explain(self, text: str, on: TriggerEvent = TriggerEvent.MESSAGE) -> RuleTest:
        """Return the rule that fires, and for each rule of this event whether it matches."""
        rules, content = [rule for rule in self.all() if rule.on is on], searchable(text)
        match = _first(rules, content, on)
        outcomes = []
        for rule in rules:
            if match is not None and rule is match.rule:
                outcome = MatchStatus.FIRES
            else:
                outcome = MatchStatus.NO_MATCH if rule.pattern.find(content) is None else MatchStatus.COVERED
            outcomes.append(RuleOutcome(rule.number, rule.pattern.source, outcome))
        if match is None:
            return RuleTest(False, None, (), None, outcomes)
        return RuleTest(True, match.rule, match.groups, match.would_run, outcomes)


def _first(rules: Sequence[Rule], content: bytes, on: TriggerEvent) -> Match | None:
    for rule in rules:
        if rule.on is not on:
            continue
        found = rule.pattern.find(content)
        if found is not None:
            return Match(rule, found[0], found[1:])
    return None


def _pattern(source: str) -> Pattern:
    try:
        return Pattern.compile(source)
    except PatternError as error:
        raise ValueError(f"invalid pattern: {error}") from None


def _name(source: str) -> Pattern:
    return replace(_pattern(rf"\A(?:{source})\z"), source=source)


RULES = ListType(
    RecordType(
        (
            Field("on", ChoiceType(tuple(map(str, TriggerEvent))), default=TriggerEvent.MESSAGE, doc="What it is for"),
            Field("pattern", TextType(parse=_pattern), doc="RE2 pattern that the message must match"),
            Field("name", TextType(parse=_name), doc="RE2 pattern of the whole name of the action, with `on: action`"),
            Field("action", ChoiceType(tuple(map(str, TriggerAction))), default=TriggerAction.SHELL, doc="What runs"),
            Field(
                "command",
                TextType(parse=read_command, schema={"maxLength": MAX_COMMAND}),
                required=True,
                doc="Command, prompt, or name of a skill",
            ),
            Field("reply", BooleanType(), default=True, doc="Whether the output is sent as a reply"),
            Field(
                "repeat",
                BooleanType(),
                doc="Whether it runs again after an interruption; without it, a message does and a press does not",
            ),
        )
    )
)


def _read(root: Node) -> tuple[Rule, ...]:
    found = [_rule(number, read) for number, read in enumerate(RULES.read(root), 1)]
    return tuple(rule for rule in found if rule is not None)


def _rule(number: int, read: RecordValues[Node]) -> Rule | None:
    """Return a rule; None for one with a mistake, which the file's document has recorded."""
    command, action, on = read["command"], read["action"], TriggerEvent(read["on"] or TriggerEvent.MESSAGE)
    pattern = _chosen_pattern(read, on)
    if command is None:
        return None
    words = _read_words(read.given["command"], command) if action == TriggerAction.SKILL else ()
    if action == TriggerAction.SHELL and (problem := placeholder_problem(command)):
        read.given["command"].refuse(problem)
    if pattern is None or not action:
        return None
    line, reply = read.source.place.line, read["reply"]
    repeat = on is TriggerEvent.MESSAGE if read.given["repeat"].absent else read["repeat"]
    return Rule(number, line, pattern, TriggerAction(action), command, reply, on, repeat, words)


def _chosen_pattern(read: RecordValues[Node], on: TriggerEvent) -> Pattern | None:
    """Return the pattern of a rule: of messages, or of the names of actions; without one, any name matches."""
    needed, other = ("pattern", "name") if on is TriggerEvent.MESSAGE else ("name", "pattern")
    if not read.given[other].absent:
        read.given[other].refuse_key(f"a rule with `on: {on}` has no key {other!r}; its key is {needed!r}")
        return None
    if read.given[needed].absent:
        if on is TriggerEvent.ACTION:
            return _name(".*")
        read.given["pattern"].refuse_missing()
    found: Pattern | None = read[needed]
    return found


def _read_words(node: Node, command: str) -> tuple[str, ...]:
    """Return the words of a skill's command, quoted as in a shell."""
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        node.refuse("a quote is not closed")
        return ()
    if not words or not words[0] or "$" in words[0]:
        node.refuse("expected the name of a skill first; it cannot be taken from the message")
    return words
