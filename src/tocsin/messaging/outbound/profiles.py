"""Notification profiles: named lists of targets, stored in `profiles.yaml`.

The file maps each name to entries with `channel` (a kind or an alias) and `target`, and with defaults and limits of
messages to that target; or to `targets`, which are such entries, and `defaults` of messages to all of them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tocsin.channels.content import CONTENT, PRIORITIES, USUAL
from tocsin.core.errors import ConfigError, TocsinError, UnknownChannelError, UnknownProfileError
from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    IntegerType,
    ListOrRecordType,
    ListType,
    MappingType,
    RecordType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node, YamlIssue
from tocsin.core.storage.files import WatchedFile, write_atomically

FILE_NAME = "profiles.yaml"
ALL_TAGS = "all"  # of Apprise: every target has it

# Fields of a message that a profile or an entry may set for messages that leave them out.
_DEFAULTS = ("title", "priority", "type", "click", "mention", "silent", "thread", "if_gone", "unable")
_OTHER_NAMES = {"files": "attach"}
_WITHOUT = (*(each.name for each in CONTENT.fields), *_OTHER_NAMES)
_DEFAULT_FIELDS = tuple(replace(each, default=None) for each in CONTENT.fields if each.name in _DEFAULTS)
_PRIORITY = IntegerType(1, 5, words=PRIORITIES)
_ENTRY = RecordType(
    (
        Field("channel", TextType(), required=True, doc="Channel, or an alias"),
        Field("target", TextType(), required=True, doc="Target on the channel"),
        *_DEFAULT_FIELDS,
        Field("min_priority", _PRIORITY, doc="Messages of a lower priority are not sent to this target"),
        Field("silent_below", _PRIORITY, doc="Messages of a lower priority make no sound"),
        Field("tags", ListType(TextType(max_chars=64)), doc="Tags by which senders of Apprise choose targets"),
        Field("without", ListType(ChoiceType(_WITHOUT)), doc="Fields to leave out"),
        Field("degrade", BooleanType(), doc="Leave out the fields that the channel cannot send, such as files"),
        Field(
            "on_resolve",
            ChoiceType(("message", "edit")),
            doc="What the end of a problem does: a new message, or an edit of the first one",
        ),
    )
)
_ENTRIES = ListType(_ENTRY, allow_empty=False)
_PROFILE = RecordType(
    (
        Field("defaults", RecordType(_DEFAULT_FIELDS), doc="Fields of messages that leave them out"),
        Field("targets", _ENTRIES, required=True, doc="The targets, whose own fields come first"),
    )
)
PROFILES = MappingType(
    ListOrRecordType(_ENTRIES, _PROFILE),
    key_pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    key_rule="not a valid profile name: use 1 to 100 letters, digits, '.', '_' or '-', starting with a letter or digit",
)


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One target of a profile; `channel` is the kind, even if the file has an alias."""

    channel: str
    target: str
    problem: YamlIssue | None = None  # the reason why it cannot be used
    options: Mapping[str, Any] = field(default_factory=dict)  # what the file says beside channel and target
    given: Mapping[str, Node] = field(default_factory=dict, repr=False, compare=False)  # its fields in the file

    @property
    def tags(self) -> frozenset[str]:
        """The tags of the target."""
        return frozenset(self.options.get("tags", ()))

    def checked(self, check: Callable[[str, str], object]) -> "ProfileEntry":
        """Return the entry with the problem that `check` raises as a TocsinError for its kind and target, if any."""
        if self.problem is not None:
            return self
        try:
            check(self.channel, self.target)
        except TocsinError as error:
            wrong = self.given["channel" if isinstance(error, UnknownChannelError) else "target"]
            return replace(self, problem=wrong.problem(error.sentence()))
        return self

    def lacks_tags(self, wanted: Sequence[Collection[str]]) -> str:
        """Return why a message with tags is not sent to this target; empty if it has all tags of one of the sets."""
        own = self.tags | {ALL_TAGS}
        return "skipped: it has none of the tags" if wanted and not any(own.issuperset(each) for each in wanted) else ""

    def skips(self, content: Mapping[str, Any]) -> str:
        """Return why a message is not sent to this target; empty if it is."""
        priority, least = self._priority(content), self.options.get("min_priority", 1)
        return f"skipped: priority {priority} is below min_priority {least}" if priority < least else ""

    def adapt(self, content: Mapping[str, Any], resolution: str = "") -> Mapping[str, Any]:
        """Return the content of a message as this target gets it.

        The end of a problem has a `resolution`: `edit` or `message`, for entries without `on_resolve`.
        """
        if not self.options and not resolution:
            return content
        adapted = {**{name: self.options[name] for name in _DEFAULTS if name in self.options}, **content}
        if self._priority(content) < self.options.get("silent_below", 1):
            adapted["silent"] = True
        for name in self.options.get("without", ()):
            adapted.pop(_OTHER_NAMES.get(name, name), None)
        if resolution and self.options.get("on_resolve", resolution) == "message":
            adapted.pop("key", None)
        return adapted

    def _priority(self, content: Mapping[str, Any]) -> int:
        given = content.get("priority", self.options.get("priority", USUAL))
        return PRIORITIES.get(given, USUAL) if isinstance(given, str) else given


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of the file; `problems` are mistakes that do not affect other profiles."""

    name: str
    entries: tuple[ProfileEntry, ...]

    @property
    def problems(self) -> tuple[YamlIssue, ...]:
        """The mistakes in its entries."""
        return tuple(entry.problem for entry in self.entries if entry.problem)

    @property
    def valid(self) -> bool:
        """Whether no entry has a problem."""
        return not self.problems

    def as_record(self) -> dict[str, object]:
        """Return the profile as `tocsin profiles --json` shows it."""
        return {
            "name": self.name,
            "entries": [{"channel": entry.channel, "target": entry.target} for entry in self.entries],
            "valid": self.valid,
            "errors": [problem.as_dict() for problem in self.problems],
        }


class Profiles(WatchedFile[Mapping[str, Profile]]):
    """The profiles of one file, which is re-read when it changes."""

    def __init__(
        self, path: Path, known_kind: Callable[[str], str], refused: Callable[[str], Collection[str]] = lambda _: ()
    ) -> None:
        """Read profiles from `path`.

        `known_kind` resolves kinds and aliases and raises UnknownChannelError; `refused` returns the fields of a
        message with which the channels of a kind cannot send it.
        """
        super().__init__(path, self.parse, {})
        self._known_kind = known_kind
        self._refused = refused

    def all(self) -> tuple[Profile, ...]:
        """Return the profiles in effect, in the order of the file."""
        return tuple(self.value.values())

    def checked(self, check: Callable[[str, str], object]) -> tuple[Profile, ...]:
        """Return the profiles in effect, whose entries have the problems that `check` finds."""
        return tuple(
            replace(each, entries=tuple(entry.checked(check) for entry in each.entries)) for each in self.all()
        )

    def get(self, name: str) -> Profile:
        """Return one profile.

        Raises UnknownProfileError, or ConfigError if the present file is broken and may define it.
        """
        known, problem = self.read()
        if name in known:
            return known[name]
        if problem is not None:
            raise problem
        # Without the path of the file: the hint is also sent to callers over HTTP and in chats.
        none = "no profiles exist, `tocsin profiles` says where to create them"
        names = f"choose from {', '.join(known)}" if known else none
        raise UnknownProfileError(f"Unknown profile: {shorten(name)}", hint=names + suggestion(name, known))

    def parse(self, content: bytes) -> Mapping[str, Profile]:
        """Return the profiles of a text by name; raises ConfigError."""
        return parse_yaml(content, self.path, self._read)

    def add(self, name: str, channel: str, target: str) -> None:
        """Add a target to a profile, which is created if there is none; the rest of the file is kept.

        A target that the profile has already is ignored. Raises ConfigError or WriteError; then nothing has changed.
        """
        try:
            before = self.path.read_text("utf-8") if self.path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            sentence = f"cannot change {self.path}: {reason}"
            raise ConfigError(sentence, hint="check the file and its directory") from None
        had = _targets(self.parse(before.encode()), name)
        if (channel, target) in had:
            return
        after = _with_entry(before, name, channel, target)
        try:
            made = _targets(self.parse(after.encode()), name)
        except ConfigError:
            made = []
        if made != [(channel, target), *had]:  # the text has another form than the one that is edited here
            raise ConfigError(
                f"cannot add a target to the profile {name} in {self.path}",
                hint=f"add {{channel: {channel}, target: {json.dumps(target)}}} to it in an editor",
            )
        write_atomically(self.path, after)

    def place(self, entry: ProfileEntry) -> str:
        """Return the position of an entry's mistake, as a prefix of the reason; empty for a valid entry."""
        problem = entry.problem
        return f"{self.path}:{problem.line}:{problem.column}: {problem.key}: " if problem else ""

    def _read(self, root: Node) -> dict[str, Profile]:
        return {name: Profile(name, tuple(self._entries(read))) for name, read in PROFILES.read(root).items()}

    def _entries(self, read: RecordValues[Node] | Sequence[RecordValues[Node]]) -> Iterator[ProfileEntry]:
        defaults = read["defaults"] if isinstance(read, RecordValues) else None
        entries = read["targets"] or () if isinstance(read, RecordValues) else read
        for entry in entries:
            yield self._entry(entry, defaults.values if defaults else {})

    def _entry(self, read: RecordValues[Node], defaults: Mapping[str, Any]) -> ProfileEntry:
        kind, target = read["channel"], read["target"]
        own = {name: value for name, value in read.values.items() if name not in {"channel", "target"}}
        options = {**defaults, **own}
        if not (kind and target):
            return ProfileEntry(kind, target)  # the file is refused
        try:
            kind = self._known_kind(kind)
        except UnknownChannelError as error:
            return ProfileEntry(kind, target, read.given["channel"].problem(error.sentence()))
        if options.pop("degrade", False):
            options["without"] = (*options.get("without", ()), *self._refused(kind))
        return ProfileEntry(kind, target, options=options, given=read.given)


def _targets(profiles: Mapping[str, Profile], name: str) -> list[tuple[str, str]]:
    return [(entry.channel, entry.target) for entry in profiles[name].entries] if name in profiles else []


def _with_entry(text: str, name: str, channel: str, target: str) -> str:
    """Return the text of the file with one more entry: the first one of an existing profile."""
    quoted = json.dumps(target, ensure_ascii=False)
    head = re.search(rf"^{re.escape(name)}:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*(?=([ \t]*)-[ \t])", text, re.MULTILINE)
    if head:
        indent = head[1]
        entry = f"{indent}- channel: {channel}\n{indent}  target: {quoted}\n"
        return text[: head.end()] + entry + text[head.end() :]
    start = f"{text.rstrip()}\n\n" if text.strip() else ""
    return f"{start}{name}:\n  - channel: {channel}\n    target: {quoted}\n"
