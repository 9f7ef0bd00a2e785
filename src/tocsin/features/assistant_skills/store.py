"""The folders of assistant skills: those of the data directory replace included ones of the same name."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.reading.front_matter import NAME_RULE, is_name, read_body, read_definition
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.reading.yaml_node import TOP, YamlError, YamlIssue
from tocsin.core.storage.files import read_limited, refuse_others
from tocsin.features.assistant_skills.model import INSTRUCTIONS, AssistantSkill, UnknownAssistantError

BUILT_IN = Path(__file__).with_name("builtin")
_Stamps = tuple[tuple[int, ...], ...] | None


class AssistantFolders:
    """Reads skills when they have changed; an invalid one does not affect the others."""

    def __init__(self, own: Path) -> None:
        self._own = own
        self._read: dict[Path, tuple[_Stamps, AssistantSkill]] = {}  # by folder: stamps, and what was read then

    def all(self) -> tuple[AssistantSkill, ...]:
        """Return all skills in the order in which they act: by priority, then by name."""
        shipped = {path.name: self._get(path, built_in=True) for path in _folders(BUILT_IN)}
        own = {path.name: self._get(path, built_in=False) for path in _folders(self._own)}
        return tuple(sorted((shipped | own).values(), key=lambda skill: skill.rank))

    def names(self) -> frozenset[str]:
        """Return the names of all skills; no file is read."""
        return frozenset(path.name for folder in (BUILT_IN, self._own) for path in _folders(folder))

    def get(self, name: str) -> AssistantSkill:
        """Return one skill, valid or not; raises UnknownAssistantError."""
        for folder, built_in in ((self._own, False), (BUILT_IN, True)):
            if is_name(name) and _is_there(folder / name / INSTRUCTIONS):
                return self._get(folder / name, built_in=built_in)
        names = sorted(skill.name for skill in self.all())
        hint = f"choose from {', '.join(names)}{suggestion(name, names)}"
        raise UnknownAssistantError(f"unknown assistant skill: {shorten(name)!r}", hint=hint)

    def _get(self, path: Path, *, built_in: bool) -> AssistantSkill:
        """Return a skill; its file is read again only when it or its folder has changed."""
        stamps = _stamps(path)
        if built_in and stamps:
            return _included(path, stamps)
        before, skill = self._read.get(path, (None, None))
        if skill is None or stamps is None or stamps != before:
            skill = read_assistant(path, built_in=built_in)
            self._read[path] = stamps, skill
        return skill


def read_assistant(path: Path, *, built_in: bool) -> AssistantSkill:
    """Read the skill in a folder that has a `SKILL.md`."""
    file = path / INSTRUCTIONS
    if not is_name(path.name):
        return _invalid(path, built_in, f"{shorten(path.name)!r} is not a valid name of a skill: use {NAME_RULE}")
    if path.is_symlink() or file.is_symlink():
        return _invalid(path, built_in, "it is a symbolic link; put the folder and the file themselves here")
    try:
        for place in () if built_in else (path.parent, path, file):
            refuse_others(place)
        content = read_limited(file)
        definition = read_definition(content, file, path.name)
    except YamlError as error:
        return AssistantSkill(path.name, path, built_in, errors=error.problems)
    except ConfigError as error:
        return _invalid(path, built_in, error.sentence())
    except OSError as error:
        return _invalid(path, built_in, f"it cannot be read: {error.strerror}")
    return AssistantSkill(path.name, path, built_in, definition, read_body(content))


@cache
def _included(path: Path, _stamps: _Stamps) -> AssistantSkill:
    """Return an included skill: reading them all takes a tenth of a second, once in a process."""
    return read_assistant(path, built_in=True)


def _folders(path: Path) -> Iterator[Path]:
    try:
        found = sorted(entry.path for entry in os.scandir(path) if not entry.name.startswith("."))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from None
    yield from (Path(folder) for folder in found if _is_there(Path(folder, INSTRUCTIONS)))


def _stamps(path: Path) -> _Stamps:
    """Return the stamps that change with a skill; `None` if they cannot be read."""
    try:
        found = [place.lstat() for place in (path.parent, path, path / INSTRUCTIONS)]
    except OSError:
        return None
    return tuple(
        (each.st_ino, each.st_ctime_ns, each.st_mtime_ns, each.st_size, each.st_mode, each.st_uid) for each in found
    )


def _is_there(path: Path) -> bool:
    try:
        return path.is_symlink() or path.exists()
    except OSError:
        return False


def _invalid(path: Path, built_in: bool, detail: str) -> AssistantSkill:
    return AssistantSkill(path.name, path, built_in, errors=(YamlIssue(TOP.line, TOP.column, "", detail),))
