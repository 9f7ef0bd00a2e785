"""The folder of skills: every folder in it with a `skill.yaml` or a `SKILL.md` is one."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tocsin.core.errors import ConfigError
from tocsin.core.reading.front_matter import NAME_RULE, SkillDefinition, is_name, read_definition
from tocsin.core.reading.value import shorten, suggestion
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import TOP, YamlError, YamlIssue
from tocsin.core.storage.files import read_limited, refuse_others
from tocsin.features.skill_records import Kind
from tocsin.features.skills.model import (
    INSTRUCTIONS,
    MANIFEST,
    Manifest,
    Skill,
    SkillProblem,
    UnknownSkillError,
    read_manifest,
)

T = TypeVar("T")


class SkillFolder:
    """Reads the skills of one folder at every call; an invalid one does not affect the others."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> tuple[Skill, ...]:
        """Return all skills by name, invalid ones included."""
        return tuple(skill for path in self._folders() if (skill := read_skill(path)))

    def find(self, name: str) -> Skill | None:
        """Return one skill, valid or not; `None` if there is none."""
        return read_skill(self.path / name) if is_name(name) else None

    def get(self, name: str) -> Skill:
        """Return one skill, valid or not; raises UnknownSkillError."""
        if skill := self.find(name):
            return skill
        names = [skill.name for skill in self.all()]
        none = "put its folder into the folder skills of the data directory"  # whose path is not for chats
        hint = f"choose from {', '.join(names)}{suggestion(name, names)}" if names else none
        raise UnknownSkillError(f"unknown skill: {shorten(name)!r}", hint=hint)

    def _folders(self) -> Iterator[Path]:
        try:
            found = sorted(self.path.iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConfigError(f"cannot read {self.path}: {error.strerror}", hint="check its permissions") from None
        yield from (path for path in found if not path.name.startswith("."))


def read_skill(path: Path) -> Skill | None:
    """Return the skill in a folder, or `None`."""
    manifest, instructions = path / MANIFEST, path / INSTRUCTIONS
    try:
        if not path.is_dir() or not (_is_there(manifest) or _is_there(instructions)):
            return None
        kind = Kind.RUNNABLE if _is_there(manifest) else Kind.ASSISTANT
    except OSError as error:
        return _invalid(path, Kind.RUNNABLE, f"the folder cannot be read: {error.strerror}")
    if not is_name(path.name):
        return _invalid(path, kind, f"{shorten(path.name)!r} is not a valid name of a skill: use {NAME_RULE}")
    if path.is_symlink():  # the sandbox would open to wherever it points
        return _invalid(path, kind, "the folder is a symbolic link; put the folder itself here")
    errors = [_whole(path, reason)] if (reason := _open_to_others(path)) else []
    read = _tried(_manifest, manifest, errors) if kind is Kind.RUNNABLE else None
    definition = _tried(_definition, instructions, errors) if _is_there(instructions) else None
    described = read if kind is Kind.RUNNABLE else definition
    return Skill(
        path.name,
        kind,
        described.description if described else "",
        path,
        read,
        definition,
        tuple(errors),
        tuple(SkillProblem(instructions, hint) for hint in definition.hints) if definition else (),
    )


def _open_to_others(folder: Path) -> str:
    """Return an error if other users may change a file or folder of the skill; else an empty text."""
    try:
        refuse_others(folder.parent)
        for place, _, files in os.walk(folder):
            for name in ("", *files):
                path = Path(place, name)
                if path.is_dir() or path.is_file():  # no link to nowhere, no pipe
                    refuse_others(path)
    except FileNotFoundError:  # deleted meanwhile; what is left is read anew the next time
        return ""
    except ConfigError as error:
        return error.sentence()
    except OSError as error:
        return f"the folder cannot be read: {error.strerror}"
    return ""


def _tried(read: Callable[[Path], T], file: Path, errors: list[SkillProblem]) -> T | None:
    """Return the content of a file; `None` if it has errors, which are added to `errors`."""
    try:
        return read(file)
    except YamlError as error:
        errors += [SkillProblem(file, problem) for problem in error.problems]
    except ConfigError as error:
        errors.append(_whole(file, str(error)))
    return None


def _manifest(file: Path) -> Manifest:
    return parse_yaml(_content(file), file, lambda node: read_manifest(node, file.parent.name))


def _definition(file: Path) -> SkillDefinition:
    return read_definition(_content(file), file, file.parent.name)


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _content(path: Path) -> bytes:
    """Read a file of a skill, which a sandboxed run may have put there."""
    if path.is_symlink():
        raise ConfigError(f"{path.name} is a symbolic link; replace it by the file itself")
    return read_limited(path)


def _invalid(path: Path, kind: Kind, detail: str) -> Skill:
    file = path / (MANIFEST if kind is Kind.RUNNABLE else INSTRUCTIONS)
    return Skill(path.name, kind, "", path, errors=(_whole(file, detail),))


def _whole(file: Path, detail: str) -> SkillProblem:
    return SkillProblem(file, YamlIssue(TOP.line, TOP.column, "", detail))
