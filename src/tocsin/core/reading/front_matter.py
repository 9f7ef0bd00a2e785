"""The front matter of a `SKILL.md`: our schema, and files of the public Agent Skills convention.

A file with a key that only our schema has, such as `tools`, must satisfy all of our schema. Any other file follows the
convention (https://agentskills.io/specification); there, further requirements of our schema are hints.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tocsin.core.reading.fields import (
    AnyType,
    BooleanType,
    ChoiceType,
    Field,
    ListType,
    RecordType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.json_schema import either_schema
from tocsin.core.reading.path_patterns import is_pattern
from tocsin.core.reading.value import did_you_mean, shorten, suggestion
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import TOP, Node, YamlError, YamlIssue

NAME_RULE = "lower-case letters and digits, in words joined by single dashes, at most 64 characters"
TOOLS = ("Read", "Write", "Edit", "Grep", "Glob")
FORBIDDEN_TOOLS = ("Bash", "Task")
PUBLIC_TOOLS = ("Read", "Grep", "Glob")  # the tools of a file that names none: they are read-only
MODELS = ("vendor-fast-4", "vendor-capable-4")
PRIORITIES = ("high", "medium", "low")
INVOCATIONS = ("immediate", "deferred", "background")
SHORTEST, LONGEST = 50, 200  # characters of a description
LONGEST_PUBLIC = 1024

_ALLOWED_TOOLS = "allowed-tools"

_NAME = r"(?!.{65})[a-z0-9]+(-[a-z0-9]+)*"
# For names of these characters, every text except slashes only is a valid .gitignore pattern.
_PLAIN_PATTERN = r"[\w.*/-]+"
_MARK = rb"---[ \t]*\r?\n"
_FRONT_MATTER = re.compile(rb"\A(?:\xef\xbb\xbf)?" + _MARK + rb"((?:.*?\n)??)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_BEGINNING = re.compile(rb"\A(?:\xef\xbb\xbf)?" + _MARK)


@dataclass(frozen=True, slots=True)
class Invocation:
    """Another skill, and `when` to invoke it, in words for the model, with its urgency."""

    agent: str
    when: str
    priority: str


@dataclass(frozen=True, slots=True)
class SkillDefinition:
    """The definition in a `SKILL.md`; `hints` are requirements of our schema that the file may ignore."""

    name: str
    description: str
    trigger_keywords: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    model: str = MODELS[0]
    enabled: bool = True
    priority: str = "medium"
    file_patterns: tuple[str, ...] = ()  # empty: all files
    exclude_patterns: tuple[str, ...] = ()
    invoke_agents: tuple[Invocation, ...] = ()
    hints: tuple[YamlIssue, ...] = field(default=(), compare=False)


def is_name(text: str) -> bool:
    """Whether a text is a valid skill name."""
    return bool(re.fullmatch(_NAME, text))


def _name(text: str) -> str:
    if not is_name(text):
        near = did_you_mean(_as_name(text))
        raise ValueError(f"{shorten(text)!r} is not a valid skill name: use {NAME_RULE}{near}")
    return text


def _as_name(text: str) -> str:
    """Return the suggested name, or an empty text."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return name if is_name(name) else ""


def _description(text: str) -> str:
    if detail := _length(text.strip()):
        raise ValueError(detail)
    return text.strip()


def _length(description: str) -> str:
    if SHORTEST <= len(description) <= LONGEST:
        return ""
    return f"expected {SHORTEST} to {LONGEST} characters, found {len(description)}"


def _public_description(text: str) -> str:
    description = text.strip()
    if len(description) > LONGEST_PUBLIC:
        raise ValueError(f"expected at most {LONGEST_PUBLIC} characters, found {len(description)}")
    return description


def _tool(name: str) -> str:
    if name in FORBIDDEN_TOOLS:
        raise ValueError(f"tool {name} is not allowed; allowed tools: {', '.join(TOOLS)}")
    if name not in TOOLS:
        raise ValueError(f"{shorten(name)!r} is not one of: {', '.join(TOOLS)}{suggestion(name, TOOLS)}")
    return name


def _pattern(pattern: str) -> str:
    """Return a pattern in the format of `.gitignore`; one that cannot match any file is an error."""
    if detail := _unusable(pattern):
        raise ValueError(detail)
    return pattern


def _unusable(pattern: str) -> str:
    """Return why a pattern cannot match any file and a replacement, or an empty text."""
    if pattern.startswith("#"):
        return f"{shorten(pattern)!r} is a comment and matches no file; for a name that starts with # write \\#"
    if set(pattern.split("/")) & {"..", "."}:
        return f"{shorten(pattern)!r} matches no file: remove . and ..; patterns start at the watched folder"
    if pattern and not pattern.strip("/"):
        return f"{shorten(pattern)!r} matches no file; * matches every file"
    if re.fullmatch(_PLAIN_PATTERN, pattern, re.ASCII):
        return ""
    # RE2 takes 4 MiB in every service; the bundled skills have plain patterns only.
    if not is_pattern(pattern):
        return f"{shorten(pattern)!r} is not a valid pattern: use the syntax of .gitignore, for example *.py or src/**"
    return ""


def _lasting(chars: int, most: int) -> dict[str, str]:
    return {"pattern": rf"^\s*[\s\S]{{{chars},{most}}}\s*$"}


_NAME_TYPE = TextType(parse=_name, schema={"pattern": f"^{_NAME}$"})
_TOOLS = ListType(TextType(parse=_tool, schema={"enum": list(TOOLS)}))
_PATTERNS = ListType(TextType(parse=_pattern, schema={"pattern": "^[^#]"}))
_INVOCATION = RecordType(
    (
        Field("agent", _NAME_TYPE, required=True, doc="Name of the skill"),
        Field("when", TextType(), required=True, doc="When the model should invoke it"),
        Field("priority", ChoiceType(INVOCATIONS), required=True, doc="How urgently it is invoked"),
    )
)
_COORDINATION = RecordType((Field("invoke_agents", ListType(_INVOCATION), required=True, doc="Skills to invoke"),))
_OURS_ALONE = (
    Field("tools", _TOOLS, required=True, doc="Tools that the skill may use"),
    Field("trigger_keywords", ListType(TextType()), default=(), doc="Words in commit messages and requests"),
    Field("enabled", BooleanType(), default=True, doc="Whether the skill is enabled"),
    Field("priority", ChoiceType(PRIORITIES), default="medium", doc="Priority among the skills"),
    Field("file_patterns", _PATTERNS, default=(), doc="Files to include, in the syntax of `.gitignore` (default: all)"),
    Field("exclude_patterns", _PATTERNS, default=(), doc="Files to exclude"),
    Field("coordination", _COORDINATION, doc="Other skills that the model may invoke"),
)
_PUBLIC_ALONE = tuple(
    Field(name, AnyType(), doc=doc)
    for name, doc in {
        "license": "Licence, for people",
        "compatibility": "Requirements, for people",
        "metadata": "Other keys, for other programs",
        _ALLOWED_TOOLS: "Ignored: use `tools`",
    }.items()
)
_OURS = RecordType(
    (
        Field("name", _NAME_TYPE, required=True, doc="Name of the folder"),
        Field(
            "description",
            TextType(parse=_description, schema=_lasting(SHORTEST, LONGEST)),
            required=True,
            doc="What the skill does, and when to use it",
        ),
        *_OURS_ALONE,
        Field("model", ChoiceType(MODELS), default=MODELS[0], doc="Model"),
        *_PUBLIC_ALONE,
    )
)
_PUBLIC = RecordType(
    (
        _OURS.fields[0],
        Field(
            "description",
            TextType(parse=_public_description, schema=_lasting(1, LONGEST_PUBLIC)),
            required=True,
            doc=_OURS.fields[1].doc,
        ),
        Field("model", TextType(), default=MODELS[0], doc="Model"),  # other programs also use this key
        *_PUBLIC_ALONE,
    ),
    closed=False,
)


def front_matter_schema() -> dict[str, Any]:
    is_ours = {"anyOf": [{"required": [field.name]} for field in _OURS_ALONE]}
    return either_schema("SKILL.md of Tocsin", is_ours, _OURS, _PUBLIC)


def read_body(content: bytes) -> str:
    """Return the text after the front matter of a `SKILL.md`: the instructions."""
    found = _FRONT_MATTER.match(content)
    return content[found.end() :].decode("utf-8", "replace").strip() if found else ""


def read_definition(content: bytes, path: Path, folder: str) -> SkillDefinition:
    """Read the `SKILL.md` of the folder `folder`; raise YamlError with all errors of its front matter."""
    found = _FRONT_MATTER.match(content)
    if found is None:
        open_ended = "the front matter is not closed: add a line --- after it"
        missing = "the front matter is missing: start with a line ---, then name and description, then a line ---"
        detail = open_ended if _BEGINNING.match(content) else missing
        raise YamlError(path, [YamlIssue(TOP.line, TOP.column, "", detail)])
    # A line end replaces the first ---, so that line numbers are those of the file.
    return parse_yaml(b"\n" + found[1], path, lambda node: _read(node, folder))


def _read(node: Node, folder: str) -> SkillDefinition:
    present = node.mapping()
    if not present and node.absent:
        node.refuse("the front matter is empty; it needs name and description")
    is_ours = any(field.name in present for field in _OURS_ALONE)
    unknown = [] if is_ours else [key for key in present if key not in {field.name for field in _PUBLIC.fields}]
    record = _OURS if is_ours else RecordType((*_PUBLIC.fields, *(Field(key, AnyType()) for key in unknown)))
    read = record.read(node)
    if read["name"] and read["name"] != folder:
        read.given["name"].refuse(f"{shorten(read['name'])!r} differs from the name of the folder, {folder!r}")
    return _read_ours(read) if is_ours else _read_public(read, unknown)


def _read_ours(read: RecordValues[Node]) -> SkillDefinition:
    return SkillDefinition(
        name=read["name"] or "",
        description=read["description"] or "",
        trigger_keywords=tuple(read["trigger_keywords"]),
        tools=tuple(dict.fromkeys(read["tools"])),
        model=read["model"],
        enabled=read["enabled"],
        priority=read["priority"],
        file_patterns=tuple(read["file_patterns"]),
        exclude_patterns=tuple(read["exclude_patterns"]),
        invoke_agents=tuple(Invocation(**each.values) for each in _invocations(read["coordination"])),
    )


def _invocations(read: RecordValues[Node] | None) -> list[RecordValues[Node]]:
    found = read["invoke_agents"] if read else []
    return [each for each in found if len(each.values) == len(_INVOCATION.fields)]


def _read_public(read: RecordValues[Node], unknown: list[str]) -> SkillDefinition:
    given, description, model, hints = read.given, read["description"] or "", read["model"], list[YamlIssue]()
    if description and (detail := _length(description)):
        hints.append(given["description"].problem(detail))
    known = ["model", *(field.name for field in _OURS_ALONE)]
    hints += [given[key].key_problem(f"unknown key {shorten(key)!r}{suggestion(key, known)}") for key in unknown]
    if model not in MODELS:
        hints.append(given["model"].problem(f"{shorten(model)!r} is not one of: {', '.join(MODELS)}"))
        model = MODELS[0]
    missing = read.source.nothing("tools")
    hints.append(missing.problem(f"key 'tools' is missing: the skill gets {', '.join(PUBLIC_TOOLS)}"))
    if not given[_ALLOWED_TOOLS].absent:
        hints.append(given[_ALLOWED_TOOLS].key_problem(f"{_ALLOWED_TOOLS} is ignored: use tools"))
    return SkillDefinition(read["name"] or "", description, tools=PUBLIC_TOOLS, model=model, hints=tuple(hints))
