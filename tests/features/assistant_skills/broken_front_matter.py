"""Kinds of broken front matter, each with the line that a mistake must name and a word that it must say."""

from collections.abc import Iterator
from typing import NamedTuple

PURPOSE = "Reviews every change for mistakes and says what is wrong with it."
GOOD = {
    "name": "name: reviewer",
    "description": f"description: {PURPOSE}",
    "trigger_keywords": "trigger_keywords: [review, code review]",
    "tools": "tools: [Read, Grep]",
    "model": "model: vendor-fast-4",
    "enabled": "enabled: true",
    "priority": "priority: high",
    "file_patterns": 'file_patterns: ["*.py", "src/**/*.js"]',
    "exclude_patterns": 'exclude_patterns: ["**/test_*"]',
    "coordination": "coordination: {invoke_agents: [{agent: tester, when: a test is missing, priority: deferred}]}",
}
KEYS = tuple(GOOD)


class Broken(NamedTuple):
    """One broken file: `line` is where the mistake stands, `says` is part of what is told."""

    title: str
    text: str
    line: int
    says: str


def file_of(lines: dict[str, str] = GOOD, *more: str) -> str:
    return "\n".join(("---", *lines.values(), *more, "---", "# How", ""))


def with_line(key: str, line: str, says: str, offset: int = 0) -> Broken:
    """Replace the line of one key; `offset` counts from it where the new text has several lines."""
    return Broken(f"{key}: {line!r}", file_of(GOOD | {key: line}), KEYS.index(key) + 2 + offset, says)


def cases() -> list[Broken]:
    found = [*wrong_types(), *wrong_values(), *keys(), *lists(), *nested(), *syntax(), *frames()]
    return list({case.text: case for case in found}.values())


def wrong_types() -> Iterator[Broken]:
    kinds = {
        "text": "soon",
        "a number": "7.5",
        "a list": "[a, b]",
        "a mapping": "{a: b}",
        "a switch": "true",
        "nothing": "",
    }
    wrong = {
        "name": ("a list", "a mapping", "a switch", "nothing"),
        "description": ("a list", "a mapping", "a switch", "nothing"),
        "trigger_keywords": ("text", "a number", "a mapping", "a switch", "nothing"),
        "tools": ("text", "a number", "a mapping", "a switch", "nothing"),
        "model": ("a list", "a mapping", "a switch", "nothing"),
        "enabled": ("text", "a number", "a list", "a mapping", "nothing"),
        "priority": ("a list", "a mapping", "a switch", "nothing"),
        "file_patterns": ("text", "a number", "a mapping", "a switch", "nothing"),
        "exclude_patterns": ("text", "a number", "a mapping", "a switch", "nothing"),
        "coordination": ("text", "a number", "a list", "a switch", "nothing"),
    }
    for key, bad in wrong.items():
        for kind in bad:
            yield with_line(key, f"{key}: {kinds[kind]}".rstrip(), "expected")


def wrong_values() -> Iterator[Broken]:
    for name, near in (
        ("Reviewer", "reviewer"), ("REVIEWER", "reviewer"), ("code_reviewer", "code-reviewer"),
        ("code reviewer", "code-reviewer"), ("-reviewer", "reviewer"), ("reviewer-", "reviewer"),
        ("code--reviewer", "code-reviewer"), ("code.reviewer", "code-reviewer"), ("CodeReviewer", "code-reviewer"),
        ("reviewer!", "reviewer"), ("code/reviewer", "code-reviewer"), ("r" * 65, "at most 64"),
        ("revièwer", "lower-case"), ('"re\\tviewer"', "lower-case"), ("other", "differs from the name of the folder"),
        ("reviewer2", "differs from the name of the folder"), ('" "', "only whitespace"), ('""', "only whitespace"),
    ):  # fmt: skip
        yield with_line("name", f"name: {name}", near)
    for text in ("x", "Reviews.", "r" * 49, "r" * 201, "r" * 1000, '" "', '""', "7"):
        yield with_line("description", f"description: {text}", "expected")
    for model in (
        "vendor-fast",
        "vendor-fast-5",
        "vendor-capable",
        "fast",
        "VENDOR-FAST-4",
        "gpt-5",
        '""',
        "vendor-fast-4 x",
    ):
        yield with_line("model", f"model: {model}", "expected text" if model == '""' else "vendor-capable-4")
    for word in ("yes", "no", "on", "off", "1", "0", '"true"', "truee", "tru", "Y"):
        yield with_line("enabled", f"enabled: {word}", "expected true or false")
    for word in ("High", "highest", "hi", "urgent", "0", "normal", "meduim", "LOW", '" "', "high low"):
        yield with_line("priority", f"priority: {word}", "expected text" if word == '" "' else "high, medium, low")


def keys() -> Iterator[Broken]:
    misspelt = {
        "name": ("nmae", "Name", "names"), "description": ("desciption", "descriptoin"),
        "trigger_keywords": ("trigger_keyword", "trigger-keywords", "triggerkeywords"), "tools": ("tool", "toools"),
        "model": ("modle", "models"), "enabled": ("enable", "enabld"), "priority": ("priorty", "prioritiy"),
        "file_patterns": ("file_pattern", "file-patterns", "filepatterns"),
        "exclude_patterns": ("exclude_pattern", "excluded_patterns"), "coordination": ("cordination", "coordinations"),
    }  # fmt: skip
    for key, words in misspelt.items():
        for word in words:
            line = GOOD[key].replace(key, word, 1)
            yield with_line(key, line, f"did you mean '{key}'?")
    for word in ("version", "author", "temperature", "max_tokens", "x"):
        lines = GOOD | {"priority": f"priority: high\n{word}: 1"}
        yield Broken(f"unknown key {word}", file_of(lines), KEYS.index("priority") + 3, "unknown key")
    for key in KEYS:
        lines = GOOD | {"coordination": f"{GOOD['coordination']}\n{GOOD[key]}"}
        yield Broken(f"{key} twice", file_of(lines), len(KEYS) + 2, "duplicate key")
    for key in ("name", "description", "tools"):
        lines = {name: line for name, line in GOOD.items() if name != key}
        yield Broken(f"no {key}", file_of(lines), 2, f"key '{key}' is missing")
    for key in ("true", "null", "~", "false"):
        yield Broken(f"key {key}", file_of(GOOD | {"model": f"{key}: x"}), KEYS.index("model") + 2, "in quotes")


def lists() -> Iterator[Broken]:
    for tool in ("Bash", "Task"):
        yield with_line("tools", f"tools: [Read, {tool}]", "is not allowed")
        yield with_line("tools", f"tools:\n  - Read\n  - {tool}", "is not allowed", 2)
    for tool, near in (
        ("read", "'Read'"),
        ("Raed", "'Read'"),
        ("grep", "'Grep'"),
        ("Glb", "'Glob'"),
        ("edits", "Edit"),
        ("Wirte", "'Write'"),
    ):
        yield with_line("tools", f"tools: [{tool}]", near)
        yield with_line("tools", f"tools:\n  - Grep\n  - {tool}", near, 2)
    for tool in ("WebFetch", "Shell", "*", "all", "LS", "7"):
        yield with_line("tools", f'tools: [Read, "{tool}"]', "is not one of: Read, Write, Edit, Grep, Glob")
    for value in ("[a]", "{a: b}", "true", "null", '""'):
        yield with_line("tools", f"tools:\n  - Read\n  - {value}", "expected text", 2)
    for key in ("trigger_keywords", "file_patterns", "exclude_patterns"):
        for value in ("[a]", "{a: b}", "true", "null", '" "'):
            yield with_line(key, f"{key}:\n  - fine\n  - {value}", "expected text", 2)
    for key in ("file_patterns", "exclude_patterns"):
        for pattern, says in (
            ("#notes", "is a comment"), ("../x", "matches no file"), ("a/../b", "matches no file"),
            ("./x", "matches no file"), ("!", "not a valid pattern"), ("/", "matches no file"),
            ("//", "matches no file"), ("a\\", "not a valid pattern"),
        ):  # fmt: skip
            yield with_line(key, f"{key}: ['{pattern}']", says)
        yield with_line(key, f"{key}:\n  - fine\n  - '#x'\n  - fine", "is a comment", 2)


def nested() -> Iterator[Broken]:
    entry = {"agent": "agent: tester", "when": "when: a test is missing", "priority": "priority: deferred"}

    def block(lines: dict[str, str]) -> str:
        first, *rest = lines.values()
        return "\n".join(("coordination:", "  invoke_agents:", f"    - {first}", *(f"      {line}" for line in rest)))

    for at, key in enumerate(entry):
        gone = {name: line for name, line in entry.items() if name != key}
        yield with_line("coordination", block(gone), f"key '{key}' is missing", 2)
        for value in ("[a]", "{a: b}", "true", "null", '" "'):
            yield with_line("coordination", block(entry | {key: f"{key}: {value}"}), "expected text", 2 + at)
        yield with_line(
            "coordination", block({**entry, key: f"x{key}: {entry[key].partition(': ')[2]}"}), "unknown key", 2 + at
        )
    for word in ("Immediate", "now", "later", "backgruond", "high"):
        yield with_line(
            "coordination", block(entry | {"priority": f"priority: {word}"}), "immediate, deferred, background", 4
        )
    for name in ("Tester", "test writer", "tester!"):
        yield with_line("coordination", block(entry | {"agent": f"agent: {name}"}), "not a valid skill name", 2)
    for line in (
        "coordination: {invoke: []}",
        "coordination: {invoke_agents: tester}",
        "coordination: {invoke_agents: [tester]}",
    ):
        yield with_line("coordination", line, "")

    yield with_line("coordination", "coordination: {}", "is missing")


def syntax() -> Iterator[Broken]:
    for key in ("name", "description", "model"):
        yield with_line(key, f"{key}: 'open", "quote is not closed")
        plain = GOOD | {"file_patterns": "file_patterns: []", "exclude_patterns": "exclude_patterns: []"}
        opened = file_of(plain | {key: f'{key}: "open'})
        yield Broken(f"{key}: a double quote", opened, KEYS.index(key) + 2, "quote is not closed")
        yield with_line(key, f"{key}: *alias", "alias")
        yield with_line(key, f"{key}: &anchor text", "anchor")
        yield with_line(key, f"{key}: !tag text", "tag")
        yield with_line(key, f"{key}: @text", "in quotes")
        yield with_line(key, f"{key}: `text`", "in quotes")
        yield with_line(key, f"{key}: a: b", "a colon and a space in quotes")
        yield with_line(key, f'{key}: "\\q"', "not a valid escape")
    yield with_line("tools", "tools: [Read, Grep", "missing")
    yield with_line("tools", "tools: Read]", "")
    yield with_line("enabled", "\tenabled: true", "tab")
    yield with_line("enabled", "  enabled: true", "")
    yield with_line("enabled", "enabled true", "")
    yield with_line("enabled", "<<: {a: b}", "merge key")
    yield with_line("enabled", "enabled: true\n...", "a second document", 2)
    yield with_line("priority", "priority: \x01", "not allowed")


def frames() -> Iterator[Broken]:
    body = "\n".join(GOOD.values())
    for title, text in {
        "nothing at all": "",
        "only text": "# How\n",
        "no first mark": f"{body}\n---\n",
        "a blank line first": f"\n---\n{body}\n---\n",
        "a blank first": f" ---\n{body}\n---\n",
        "four dashes": f"----\n{body}\n---\n",
        "two dashes": f"--\n{body}\n--\n",
        "plus signs": f"+++\n{body}\n+++\n",
    }.items():
        yield Broken(title, text, 1, "the front matter is missing: start")
    for title, text in (
        ("no last mark", f"---\n{body}\n# How\n"),
        ("an indented last mark", f"---\n{body}\n ---\n"),
        ("only a mark", "---\n"),
    ):
        yield Broken(title, text, 1, "is not closed")
    yield Broken("empty", "---\n---\n# How\n", 1, "the front matter is empty")
    yield Broken("a comment alone", "---\n# nothing\n---\n", 1, "the front matter is empty")
    yield Broken("a list", "---\n- name\n---\n", 2, "expected a mapping")
    yield Broken("a text", "---\nreviewer\n---\n", 2, "expected a mapping")
