"""Notification profiles: a name for a list of targets, kept in `profiles.yaml` (spec 2.4).

A mapping from name to entries, each with `channel` (a kind or an alias) and `target`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tocsin.core.errors import ConfigError, UnknownProfileError
from tocsin.core.files import WatchedFile
from tocsin.core.yaml_file import parse_yaml
from tocsin.core.yaml_node import Node, Problem, shorten, suggestion

FILE_NAME = "profiles.yaml"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NAME_RULE = "use 1 to 100 letters, digits, '.', '_' or '-', the first one a letter or digit"


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One target of a profile; `channel` is a kind, whatever alias the file has."""

    channel: str
    target: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as the file has it; `problems` are mistakes that leave the other profiles usable."""

    name: str
    entries: tuple[ProfileEntry, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether every entry names a channel that exists, configured or not."""
        return not self.problems

    def as_record(self) -> dict[str, object]:
        """Return the profile as `tocsin profiles --json` and the API show it (decision 30)."""
        return {
            "name": self.name,
            "entries": [asdict(entry) for entry in self.entries],
            "valid": self.valid,
            "errors": [{"line": p.line, "key": p.key, "detail": p.detail} for p in self.problems],
        }


class Profiles:
    """The profiles of one file, read again whenever it changes."""

    def __init__(self, path: Path, kind_of: Callable[[str], str], kinds: Collection[str]) -> None:
        """Read profiles from `path`; `kind_of` resolves aliases, `kinds` are the channels there are."""
        self._kind_of = kind_of
        self._kinds = kinds
        self._file: WatchedFile[Mapping[str, Profile]] = WatchedFile(
            path, lambda content: parse_yaml(content, path, self._read), {}
        )

    @property
    def path(self) -> Path:
        """Where the profiles are kept."""
        return self._file.path

    @property
    def problem(self) -> ConfigError | None:
        """Why the present file is not in force; the last good one is, if there was one."""
        return self._file.problem

    def all(self) -> tuple[Profile, ...]:
        """Return the profiles in force, in the order of the file."""
        return tuple(self._file.value.values())

    def get(self, name: str) -> Profile:
        """Return one profile.

        Raises UnknownProfileError, or ConfigError when it is not known and the file that might
        have it is broken.
        """
        known, problem = self._file.read()
        if name in known:
            return known[name]
        if problem is not None:
            raise problem
        names = f"there are: {', '.join(known)}" if known else f"{self.path} has none"
        raise UnknownProfileError(f"Unknown profile: {shorten(name)}", hint=names + suggestion(name, known))

    def _read(self, root: Node) -> dict[str, Profile]:
        return {name: self._read_profile(name, node) for name, node in root.mapping().items()}

    def _read_profile(self, name: str, node: Node) -> Profile:
        if not _NAME.fullmatch(name):
            node.refuse_key(f"{shorten(name)!r} is no profile name: {_NAME_RULE}")
        problems: list[Problem] = []
        entries = tuple(self._read_entry(item, problems) for item in node.items(allow_empty=False))
        return Profile(name, entries, tuple(problems))

    def _read_entry(self, node: Node, problems: list[Problem]) -> ProfileEntry:
        field = node.fields(required=("channel", "target"))
        name = field["channel"].text()
        kind = self._kind_of(name)
        if kind not in self._kinds:
            near = suggestion(kind, self._kinds)
            problems.append(field["channel"].problem(f"unknown channel {shorten(name)!r}{near}"))
        return ProfileEntry(kind, field["target"].text())
