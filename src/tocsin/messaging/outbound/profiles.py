"""Notification profiles: named lists of targets, stored in `profiles.yaml`.

The file maps each name to entries with `channel` (a kind or an alias) and `target`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.errors import ConfigError, TocsinError, UnknownChannelError, UnknownProfileError
from tocsin.core.reading.fields import Field, ListType, MappingType, RecordType, RecordValues, TextType
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node, YamlIssue
from tocsin.core.storage.files import WatchedFile

FILE_NAME = "profiles.yaml"

_ENTRY = RecordType(
    (
        Field("channel", TextType(), required=True, doc="Channel, or an alias"),
        Field("target", TextType(), required=True, doc="Target on the channel"),
    )
)
PROFILES = MappingType(
    ListType(_ENTRY, allow_empty=False),
    key_pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    key_rule="not a valid profile name: use 1 to 100 letters, digits, '.', '_' or '-', starting with a letter or digit",
)


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One target of a profile; `channel` is the kind, even if the file has an alias."""

    channel: str
    target: str
    problem: YamlIssue | None = None  # the reason why it cannot be used


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of the file; `problems` are mistakes that do not affect other profiles."""

    name: str
    entries: tuple[ProfileEntry, ...]

    @property
    def problems(self) -> tuple[YamlIssue, ...]:
        """The problems of its entries."""
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


class Profiles:
    """The profiles of one file, which is re-read when it changes."""

    def __init__(
        self, path: Path, known_kind: Callable[[str], str], check: Callable[[str, str], object] = lambda *_: None
    ) -> None:
        """Read profiles from `path`.

        `known_kind` resolves kinds and aliases and raises UnknownChannelError; `check` is called with
        kind and target of each entry and raises TocsinError for an invalid target.
        """
        self._known_kind = known_kind
        self._check = check
        self._file: WatchedFile[Mapping[str, Profile]] = WatchedFile(
            path, lambda content: parse_yaml(content, path, self._read), {}
        )

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._file.path

    @property
    def problem(self) -> ConfigError | None:
        """Why the present file is not in effect; the last valid one is, if there was one."""
        return self._file.problem

    def all(self) -> tuple[Profile, ...]:
        """Return the profiles in effect, in the order of the file."""
        return tuple(self._file.value.values())

    def get(self, name: str) -> Profile:
        """Return one profile.

        Raises UnknownProfileError, or ConfigError if the present file is broken and may define it.
        """
        known, problem = self._file.read()
        if name in known:
            return known[name]
        if problem is not None:
            raise problem
        names = f"profiles: {', '.join(known)}" if known else f"{self.path} contains no profiles"
        raise UnknownProfileError(f"Unknown profile: {shorten(name)}", hint=names + suggestion(name, known))

    def place(self, entry: ProfileEntry) -> str:
        """Return the position of an entry's mistake, as a prefix of the reason; empty for a valid entry."""
        problem = entry.problem
        return f"{self.path}:{problem.line}:{problem.column}: {problem.key}: " if problem else ""

    def _read(self, root: Node) -> dict[str, Profile]:
        profiles = PROFILES.read(root)
        return {name: Profile(name, tuple(map(self._entry, entries))) for name, entries in profiles.items()}

    def _entry(self, read: RecordValues[Node]) -> ProfileEntry:
        kind, target = read["channel"], read["target"]
        if not (kind and target):
            return ProfileEntry(kind, target)  # the file is refused
        try:
            kind = self._known_kind(kind)
            self._check(kind, target)
        except UnknownChannelError as error:
            return ProfileEntry(kind, target, read.given["channel"].problem(error.sentence()))
        except TocsinError as error:
            return ProfileEntry(kind, target, read.given["target"].problem(error.sentence()))
        return ProfileEntry(kind, target)
