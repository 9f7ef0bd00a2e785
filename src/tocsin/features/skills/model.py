"""What a skill is: a folder with a program and its manifest, with instructions for the assistant, or with both."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.yaml_node import Node, YamlIssue, shorten
from tocsin.features.skills.front_matter import Definition

MANIFEST, INSTRUCTIONS = "skill.yaml", "SKILL.md"
MAX_TIMEOUT_S = 300

_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")


class UnknownSkillError(TocsinError):
    """There is no skill of that name, or it cannot be run."""

    code = "not-found"


class InvalidSkillError(ConfigError):
    """The manifest of a skill has mistakes; nothing was started."""


class Kind(StrEnum):
    """Who uses a skill."""

    ASSISTANT = "assistant"  # instructions that a model reads
    RUNNABLE = "runnable"  # a program


class ExecutionMode(StrEnum):
    """How a skill is run."""

    STANDARD = "standard"
    SANDBOXED = "sandboxed"


class Permission(StrEnum):
    """What a skill may be given."""

    NETWORK = "network"  # the network, in the sandbox
    VAULT = "vault"  # the vault's secrets, and in the sandbox the full environment


@dataclass(frozen=True, slots=True)
class Manifest:
    """A `skill.yaml`: what runs, and what it needs."""

    name: str
    description: str
    command: str
    permissions: tuple[Permission, ...] = ()
    dependencies: tuple[str, ...] = ()
    timeout_s: int = MAX_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Dependency:
    """A program that a skill needs, and where it was found; an empty path is nowhere."""

    name: str
    path: str

    @property
    def found(self) -> bool:
        """Whether it is there."""
        return bool(self.path)


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """Something wrong in one of the files of a skill."""

    file: Path
    problem: YamlIssue

    def __str__(self) -> str:
        return f"{self.file}:{self.problem}"


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as its folder has it; one with `errors` is shown and never run."""

    name: str
    kind: Kind
    description: str
    path: Path
    manifest: Manifest | None = None
    definition: Definition | None = None
    errors: tuple[SkillProblem, ...] = ()
    hints: tuple[SkillProblem, ...] = ()

    @property
    def file(self) -> Path:
        """The file that says what it is."""
        return self.path / (MANIFEST if self.kind is Kind.RUNNABLE else INSTRUCTIONS)

    @property
    def valid(self) -> bool:
        """Whether its files have no mistake."""
        return not self.errors

    @property
    def runnable(self) -> bool:
        """Whether it can be run."""
        return self.valid and self.manifest is not None


def read_manifest(node: Node, folder: str) -> Manifest:
    """Read a `skill.yaml` in a folder of that name."""
    field = node.fields(("name", "description", "command"), ("permissions", "dependencies", "timeout_seconds"))
    if node.absent:
        node.refuse("the file is empty; it needs name, description and command")
    name = field["name"].text()
    if name and name != folder:
        field["name"].refuse(f"{shorten(name)!r} is not the name of the folder, {folder!r}")
    permissions = [item.choice("", map(str, Permission)) for item in field["permissions"].items()]
    return Manifest(
        name=name,
        description=field["description"].text(),
        command=field["command"].text(),
        permissions=tuple(Permission(word) for word in dict.fromkeys(permissions) if word),
        dependencies=tuple(dict.fromkeys(_program(item) for item in field["dependencies"].items())),
        timeout_s=field["timeout_seconds"].integer(MAX_TIMEOUT_S, 1, MAX_TIMEOUT_S),
    )


def _program(node: Node) -> str:
    name = node.text()
    if name and not _PROGRAM.fullmatch(name):
        node.refuse(f"{shorten(name)!r} is no name of a program: write it as you would type it, without a path")
    return name
