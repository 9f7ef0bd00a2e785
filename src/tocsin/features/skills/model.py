"""The records of skills. A skill is a folder with a program and its manifest, with instructions, or with both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tocsin.core.errors import ConfigError, NotFoundError, TocsinError
from tocsin.core.reading.fields import ChoiceType, Field, IntegerType, ListType, RecordType, TextType
from tocsin.core.reading.front_matter import SkillDefinition
from tocsin.core.reading.value import shorten
from tocsin.core.reading.yaml_node import Node, YamlIssue
from tocsin.features.skill_records import Kind

MANIFEST, INSTRUCTIONS = "skill.yaml", "SKILL.md"
MAX_TIMEOUT_S = 300
MAX_KEPT_CHARS = 64 * 1024  # of arguments and input, for a retry


class UnknownSkillError(NotFoundError):
    """The skill does not exist, or cannot be run."""


class InvalidSkillError(ConfigError):
    """The manifest of a skill has mistakes; nothing was started."""


class SkillDisabledError(TocsinError):
    """A skill is switched off."""

    code = "disabled"


class DependencyMissingError(TocsinError):
    """Programs that a skill needs are not there."""

    code = "dependency-missing"

    def __init__(self, name: str, missing: Sequence[str]) -> None:
        programs = ", ".join(missing)
        super().__init__(
            f"skill {name} needs programs that are not installed: {programs}", hint="install them for all users"
        )
        self.missing = tuple(missing)


class ExecutionMode(StrEnum):
    """Execution mode of a skill."""

    STANDARD = "standard"
    SANDBOXED = "sandboxed"


class Permission(StrEnum):
    """A permission of a skill."""

    NETWORK = "network"  # the network, in the sandbox
    VAULT = "vault"  # the vault's secrets, and in the sandbox the full environment


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a `skill.yaml`."""

    name: str
    description: str
    command: str
    permissions: tuple[Permission, ...] = ()
    dependencies: tuple[str, ...] = ()
    timeout_s: int = MAX_TIMEOUT_S
    vault: tuple[str, ...] | None = None  # the secrets it gets with the permission `vault`; None is all of them


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
    definition: SkillDefinition | None = None
    errors: tuple[SkillProblem, ...] = ()
    hints: tuple[SkillProblem, ...] = ()

    @property
    def file(self) -> Path:
        """The file that defines the skill."""
        return self.path / (MANIFEST if self.kind is Kind.RUNNABLE else INSTRUCTIONS)

    @property
    def valid(self) -> bool:
        """Whether its files have no mistake."""
        return not self.errors

    @property
    def runnable(self) -> bool:
        """Whether it can be run."""
        return self.valid and self.manifest is not None


_PROGRAM = TextType(
    pattern=r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}",
    rule="not a program name: write it as you would type it, without a path",
)
_SECRET = TextType(pattern=r"[A-Za-z_][A-Za-z0-9_]{0,127}", rule="not a secret name: use letters, digits and _")
MANIFEST_FILE = RecordType(
    (
        Field("name", TextType(), required=True, doc="Name of the folder"),
        Field("description", TextType(), required=True, doc="Description"),
        Field("command", TextType(), required=True, doc="Command that is run with `/bin/sh -c`"),
        Field("permissions", ListType(ChoiceType(tuple(map(str, Permission)))), default=(), doc="Permissions"),
        Field("dependencies", ListType(_PROGRAM), default=(), doc="Required programs"),
        Field("timeout_seconds", IntegerType(1, MAX_TIMEOUT_S), default=MAX_TIMEOUT_S, doc="Time limit"),
        Field("vault", ListType(_SECRET), doc="Secrets to pass, instead of all"),
    )
)


def read_manifest(node: Node, folder: str) -> Manifest:
    """Read a `skill.yaml` in a folder of that name."""
    read = MANIFEST_FILE.read(node)
    if node.absent:
        node.refuse("the file is empty; it needs name, description and command")
    name = read["name"]
    if name and name != folder:
        read.given["name"].refuse(f"{shorten(name)!r} differs from the name of the folder, {folder!r}")
    secrets = read["vault"]
    if secrets is not None and Permission.VAULT not in read["permissions"]:
        read.given["vault"].refuse_key("`vault` requires the permission vault: add it to permissions")
    return Manifest(
        name=name,
        description=read["description"],
        command=read["command"],
        permissions=tuple(Permission(word) for word in dict.fromkeys(read["permissions"]) if word),
        dependencies=tuple(dict.fromkeys(read["dependencies"])),
        timeout_s=read["timeout_seconds"],
        vault=None if secrets is None else tuple(dict.fromkeys(secrets)),
    )


def is_assistant_run(params: Mapping[str, Any]) -> bool:
    """Return whether a run with these parameters was of an assistant skill, which looks at a folder."""
    return "folder" in params


def kept_call(
    mode: ExecutionMode, args: Sequence[str], text: str, timeout_s: float | None, redact: Callable[[str], str]
) -> dict[str, object] | None:
    """Return the call for a retry; `None` if it is long or contains a secret."""
    texts = [*args, text]
    if sum(map(len, texts)) > MAX_KEPT_CHARS or any(redact(kept) != kept for kept in texts):
        return None
    return {"mode": str(mode), "args": list(args), "input": text, "timeout_s": timeout_s}
