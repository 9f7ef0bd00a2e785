"""The front matter of a `SKILL.md`: our schema, and files of the public Agent Skills convention.

A file with a key that only our schema has, such as `tools`, must satisfy all of our schema. Any other file follows the
convention (https://agentskills.io/specification); there, further requirements of our schema are hints.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

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

_OURS_ALONE = (
    "trigger_keywords", "tools", "enabled", "priority", "file_patterns", "exclude_patterns", "coordination",
)  # fmt: skip
_OURS = (*_OURS_ALONE, "model")  # other programs also use the key `model`
_ALLOWED_TOOLS = "allowed-tools"
_PUBLIC = ("license", "compatibility", "metadata", _ALLOWED_TOOLS)

_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")
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
    return bool(_NAME.fullmatch(text))


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
    if any(key in present for key in _OURS_ALONE):
        return _read_ours(node.fields(("name", "description", "tools"), (*_OURS, *_PUBLIC)), folder)
    fields = node.fields(("name", "description"), (*_OURS, *_PUBLIC, *present))
    return _read_public(
        fields, folder, [key for key in present if key not in ("name", "description", *_OURS, *_PUBLIC)]
    )


def _read_ours(fields: dict[str, Node], folder: str) -> SkillDefinition:
    description = _description(fields["description"])
    if description and not SHORTEST <= len(description) <= LONGEST:
        fields["description"].refuse(_length(description))
    return SkillDefinition(
        name=_name(fields["name"], folder),
        description=description,
        trigger_keywords=_texts(fields["trigger_keywords"]),
        tools=tuple(dict.fromkeys(filter(None, map(_tool, fields["tools"].items())))),
        model=fields["model"].choice(MODELS[0], MODELS),
        enabled=fields["enabled"].boolean(True),
        priority=fields["priority"].choice("medium", PRIORITIES),
        file_patterns=_patterns(fields["file_patterns"]),
        exclude_patterns=_patterns(fields["exclude_patterns"]),
        invoke_agents=_invocations(fields["coordination"]),
    )


def _read_public(fields: dict[str, Node], folder: str, unknown: Iterable[str]) -> SkillDefinition:
    description, hints = _description(fields["description"]), []
    if len(description) > LONGEST_PUBLIC:
        fields["description"].refuse(f"expected at most {LONGEST_PUBLIC} characters, found {len(description)}")
    elif description and not SHORTEST <= len(description) <= LONGEST:
        hints.append(fields["description"].problem(_length(description)))
    hints += [fields[key].key_problem(f"unknown key {shorten(key)!r}{suggestion(key, _OURS)}") for key in unknown]
    model = fields["model"].text(MODELS[0])
    if model not in MODELS:
        hints.append(fields["model"].problem(f"{shorten(model)!r} is not one of: {', '.join(MODELS)}"))
        model = MODELS[0]
    hints.append(fields["tools"].problem(f"key 'tools' is missing: the skill gets {', '.join(PUBLIC_TOOLS)}"))
    if not fields[_ALLOWED_TOOLS].absent:
        hints.append(fields[_ALLOWED_TOOLS].key_problem(f"{_ALLOWED_TOOLS} is ignored: use tools"))
    name = _name(fields["name"], folder)
    return SkillDefinition(name, description, tools=PUBLIC_TOOLS, model=model, hints=tuple(hints))


def _name(node: Node, folder: str) -> str:
    name = node.text()
    if name and not is_name(name):
        node.refuse(f"{shorten(name)!r} is not a valid skill name: use {NAME_RULE}{did_you_mean(_as_name(name))}")
    elif name and name != folder:
        node.refuse(f"{shorten(name)!r} differs from the name of the folder, {folder!r}")
    return name


def _as_name(text: str) -> str:
    """Return the suggested name, or an empty text."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return name if is_name(name) else ""


def _description(node: Node) -> str:
    return node.text().strip()


def _length(description: str) -> str:
    return f"expected {SHORTEST} to {LONGEST} characters, found {len(description)}"


def _tool(node: Node) -> str:
    name = node.text()
    if name not in FORBIDDEN_TOOLS:
        return node.choice("", TOOLS)
    node.refuse(f"tool {name} is not allowed; allowed tools: {', '.join(TOOLS)}")
    return ""


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(item.text() for item in node.items())


def _patterns(node: Node) -> tuple[str, ...]:
    """Return patterns in the format of `.gitignore`; one that cannot match any file is an error."""
    items = node.items()
    for item in items:
        if detail := _unusable(item.as_text() or ""):
            item.refuse(detail)
    return tuple(item.text() for item in items)


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


def _invocations(node: Node) -> tuple[Invocation, ...]:
    if node.absent:
        return ()
    return tuple(_invocation(item) for item in node.fields(required=("invoke_agents",))["invoke_agents"].items())


def _invocation(node: Node) -> Invocation:
    fields = node.fields(required=("agent", "when", "priority"))
    agent = fields["agent"].text()
    if agent and not is_name(agent):
        fields["agent"].refuse(f"{shorten(agent)!r} is not a valid skill name: use {NAME_RULE}")
    return Invocation(agent, fields["when"].text(), fields["priority"].choice("", INVOCATIONS))
