"""The folder of skills: every folder in it with a `skill.yaml` or a `SKILL.md` is one."""

import re
from collections.abc import Iterator
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.files import read_limited
from tocsin.core.yaml_file import parse_yaml
from tocsin.core.yaml_node import TOP, Node, Problem, YamlError, shorten, suggestion
from tocsin.features.skills.model import (
    INSTRUCTIONS,
    MANIFEST,
    NAME_RULE,
    Kind,
    Skill,
    UnknownSkillError,
    is_name,
    read_manifest,
)

_FRONT_MATTER = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


class SkillFolder:
    """Reads the skills of one folder, anew at every call; a broken one leaves the others alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> tuple[Skill, ...]:
        """Return all skills by name, invalid ones included."""
        return tuple(skill for path in self._folders() if (skill := _read(path)))

    def get(self, name: str) -> Skill:
        """Return one skill, valid or not; raises UnknownSkillError."""
        skill = _read(self.path / name) if is_name(name) else None
        if skill:
            return skill
        names = [skill.name for skill in self.all()]
        hint = f"there are: {', '.join(names)}{suggestion(name, names)}" if names else f"{self.path} has none"
        raise UnknownSkillError(f"there is no skill {shorten(name)!r}", hint=hint)

    def _folders(self) -> Iterator[Path]:
        try:
            found = sorted(self.path.iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}", hint="check its rights") from None
        yield from (path for path in found if not path.name.startswith("."))


def _read(path: Path) -> Skill | None:
    """Return the skill in a folder, or nothing where there is none."""
    manifest, instructions = path / MANIFEST, path / INSTRUCTIONS
    try:
        if not path.is_dir() or not (_is_there(manifest) or _is_there(instructions)):
            return None
        kind = Kind.RUNNABLE if _is_there(manifest) else Kind.ASSISTANT
    except OSError as error:
        return _invalid(path, Kind.RUNNABLE, f"the folder cannot be read: {error.strerror}")
    if not is_name(path.name):
        return _invalid(path, kind, f"{shorten(path.name)!r} is no name of a skill: use {NAME_RULE}")
    if path.is_symlink():  # the sandbox would open to wherever it points
        return _invalid(path, kind, "the folder is a symbolic link; put the folder itself here")
    try:
        return _runnable(path, manifest) if kind is Kind.RUNNABLE else _assistant(path, instructions)
    except YamlError as error:
        return Skill(path.name, kind, "", path, errors=error.problems)
    except ConfigError as error:
        return _invalid(path, kind, str(error))


def _runnable(path: Path, manifest: Path) -> Skill:
    read = parse_yaml(_content(manifest), manifest, lambda node: read_manifest(node, path.name))
    return Skill(path.name, Kind.RUNNABLE, read.description, path, read)


def _assistant(path: Path, instructions: Path) -> Skill:
    """Read name and description alone; what else is there is looked at when the skill is used."""
    found = _FRONT_MATTER.match(_content(instructions))
    description = parse_yaml(found[1], instructions, _description) if found else ""
    return Skill(path.name, Kind.ASSISTANT, description, path)


def _description(node: Node) -> str:
    field = node.mapping().get("description")
    return field.text() if field else ""


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _content(path: Path) -> bytes:
    """Read a file of a skill, which a sandboxed run may have put there."""
    if path.is_symlink():
        raise ConfigError(f"{path.name} is a symbolic link; put the file itself there")
    return read_limited(path)


def _invalid(path: Path, kind: Kind, detail: str) -> Skill:
    return Skill(path.name, kind, "", path, errors=(Problem(TOP.line, TOP.column, "", detail),))
