"""The front matter of a SKILL.md: every field of our schema, and files of the public Agent Skills convention."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.core.reading.front_matter import PUBLIC_TOOLS, Invocation, SkillDefinition
from tocsin.features.skills.model import Kind, Skill
from tocsin.features.skills.store import SkillFolder

PURPOSE = "Reviews every change for mistakes and says what is wrong with it."
LINES = {
    "name": "name: reviewer",
    "description": f"description: {PURPOSE}",
    "trigger_keywords": "trigger_keywords: [review, code review]",
    "tools": "tools: [Read, Grep, Glob, Read]",
    "model": "model: vendor-capable-4",
    "enabled": "enabled: false",
    "priority": "priority: high",
    "file_patterns": 'file_patterns: ["*.py", "src/**/*.js"]',
    "exclude_patterns": 'exclude_patterns: ["**/test_*"]',
    "coordination": "coordination: {invoke_agents: [{agent: tester, when: a test is missing, priority: deferred}]}",
}
MANIFEST = "name: reviewer\ndescription: Reviews.\ncommand: echo\n"

Put = Callable[..., Skill]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a SKILL.md with these lines, or exactly this text, and read the skill."""

    def put(*lines: str, text: str = "", manifest: str = "") -> Skill:
        folder = tmp_path / "reviewer"
        folder.mkdir()
        (folder / "SKILL.md").write_text(text or "\n".join(("---", *lines, "---", "# How", "")))
        if manifest:
            (folder / "skill.yaml").write_text(manifest)
        return SkillFolder(tmp_path).get("reviewer")

    return put


def changed(**lines: str) -> list[str]:
    """Return the good lines with some replaced; an empty one is left out."""
    return [line for line in (LINES | lines).values() if line]


def told(skill: Skill) -> list[str]:
    return [str(error.problem) for error in skill.errors]


def hinted(skill: Skill) -> list[str]:
    return [str(hint.problem) for hint in skill.hints]


def test_every_field_is_read(put: Put):
    skill = put(*changed())
    assert (told(skill), hinted(skill), skill.kind, skill.runnable) == ([], [], Kind.ASSISTANT, False)
    assert skill.definition == SkillDefinition(
        name="reviewer",
        description=PURPOSE,
        trigger_keywords=("review", "code review"),
        tools=("Read", "Grep", "Glob"),
        model="vendor-capable-4",
        enabled=False,
        priority="high",
        file_patterns=("*.py", "src/**/*.js"),
        exclude_patterns=("**/test_*",),
        invoke_agents=(Invocation("tester", "a test is missing", "deferred"),),
    )


def test_what_is_left_out_has_its_default(put: Put):
    skill = put(LINES["name"], LINES["description"], "tools: [Read]")
    assert skill.definition == SkillDefinition("reviewer", PURPOSE, tools=("Read",))
    definition = skill.definition
    assert definition is not None
    assert (definition.model, definition.enabled, definition.priority) == ("vendor-fast-4", True, "medium")
    assert (definition.file_patterns, definition.exclude_patterns, definition.invoke_agents) == ((), (), ())


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ("name: Reviewer", "2:7: name: 'Reviewer' is not a valid skill name: use lower-case letters and digits"),
        ("name: code_reviewer", "2:7: name: 'code_reviewer' is not a valid skill name"),
        ("name: other", "2:7: name: 'other' differs from the name of the folder, 'reviewer'"),
        ("name: [a]", "2:7: name: expected text, found a list"),
        ("description: Too short.", "3:14: description: expected 50 to 200 characters, found 10"),
        (f"description: {'x' * 201}", "3:14: description: expected 50 to 200 characters, found 201"),
        ("trigger_keywords: review", "4:19: trigger_keywords: expected a list, found text"),
        ("trigger_keywords: ['']", "4:20: trigger_keywords[0]: expected text, found only whitespace"),
        ("tools: [Read, Bash]", "5:15: tools[1]: tool Bash is not allowed; allowed tools: Read, Write, Edit, Grep"),
        ("tools: [Task]", "5:9: tools[0]: tool Task is not allowed"),
        ("tools: [read]", "5:9: tools[0]: 'read' is not one of: Read, Write, Edit, Grep, Glob (did you mean 'Read'?)"),
        ("tools: Read, Grep", "5:8: tools: expected a list, found text"),
        ("model: vendor-fast", "6:8: model: 'vendor-fast' is not one of: vendor-fast-4, vendor-capable-4"),
        ("enabled: yes", "7:10: enabled: expected true or false, found text"),
        ("priority: urgent", "8:11: priority: 'urgent' is not one of: high, medium, low"),
        (
            "file_patterns: *.py",
            "9:16: file_patterns: aliases are not supported; put a value that starts with * in quotes",
        ),
        ("file_patterns: [3, {a: b}]", "9:20: file_patterns[1]: expected text, found a mapping"),
        ("exclude_patterns: '*.py'", "10:19: exclude_patterns: expected a list, found text"),
        ("coordination: [a]", "11:15: coordination: expected a mapping, found a list"),
        ("coordination: {}", "11:15: coordination: key 'invoke_agents' is missing"),
        ("coordination: {invoke_agent: []}", "11:16: coordination: unknown key 'invoke_agent'"),
        (
            "coordination: {invoke_agents: [{agent: a, when: b, priority: now}]}",
            "11:62: coordination.invoke_agents[0].priority: 'now' is not one of: immediate, deferred, background",
        ),
        (
            "coordination: {invoke_agents: [{agent: a, priority: deferred}]}",
            "11:32: coordination.invoke_agents[0]: key 'when' is missing",
        ),
        (
            "coordination: {invoke_agents: [{agent: A B, when: b, priority: deferred}]}",
            "11:40: coordination.invoke_agents[0].agent: 'A B' is not a valid skill name",
        ),
    ],
)
def test_a_mistake_has_its_line_in_the_file_and_its_reason(put: Put, change: str, mistake: str):
    skill = put(*changed(**{change.partition(":")[0]: change}))
    assert not skill.valid
    assert [one for one in told(skill) if one.startswith(mistake)], told(skill)


@pytest.mark.parametrize("key", ["name", "description", "tools"])
def test_a_missing_field_is_named(put: Put, key: str):
    assert told(put(*changed(**{key: ""}))) == [f"2:1: key '{key}' is missing"]


def test_an_unknown_key_in_our_schema_is_a_mistake_with_the_likely_one(put: Put):
    skill = put(*changed(priority="prioriti: high"))
    assert [mentions(each, "8:1: ", "'prioriti'", "'priority'") for each in told(skill)] == [True]


def test_all_the_mistakes_of_a_file_are_told_at_once(put: Put):
    skill = put("name: other", "description: Short.", "tools: [Bash, Task]", "color: red")
    assert [error.problem.line for error in skill.errors] == [2, 3, 4, 4, 5]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "# How\n",
            ("1:1: the front matter is missing: start with a line ---, then name and description, then a line ---"),
        ),
        ("", "1:1: the front matter is missing"),
        ("---\nname: reviewer\n", "1:1: the front matter is not closed: add a line --- after it"),
        ("---\n---\n", "1:1: the front matter is empty; it needs name and description"),
        ("---\n# later\n---\n", "1:1: the front matter is empty; it needs name and description"),
        ("---\nname: reviewer\n\tx: 1\n---\n", "3:1: tabs cannot be used for indentation;"),
    ],
)
def test_a_front_matter_that_is_missing_or_broken_is_a_mistake(put: Put, text: str, mistake: str):
    (found,) = told(put(text=text or "\n"))
    assert found.startswith(mistake)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(put: Put, start: str, line_end: str):
    skill = put(text=start + line_end.join(["---", *changed(name="name: other"), "---", "# How"]))
    assert [mentions(each, "2:7: name: ", "'other'", "'reviewer'") for each in told(skill)] == [True]


# --- the public convention


PUBLIC = ("name: reviewer", f"description: {PURPOSE}")


def test_a_file_of_the_public_convention_loads_with_tools_that_only_read(put: Put):
    skill = put(*PUBLIC, "license: MIT", "compatibility: git", "metadata: {author: anna, version: '1'}")
    assert told(skill) == []
    assert [mentions(each, "2:1: tools: ", "Read, Grep, Glob") for each in hinted(skill)] == [True]
    assert skill.definition == SkillDefinition("reviewer", PURPOSE, tools=PUBLIC_TOOLS)


def test_what_a_public_file_has_beyond_our_schema_is_a_hint(put: Put):
    skill = put("name: reviewer", "description: Short.", "tool: [Bash]", "model: opus", "allowed-tools: Bash(git:*)")
    assert (skill.valid, skill.description) == (True, "Short.")
    description, tool, model, tools, allowed = hinted(skill)
    assert mentions(description, "3:14: description: ", "50", "200", "6")
    assert mentions(tool, "4:1: ", "'tool'", "'tools'")
    assert mentions(model, "5:8: model: ", "'opus'", "vendor-fast-4, vendor-capable-4")
    assert mentions(tools, "2:1: tools: ", "Read, Grep, Glob")
    assert mentions(allowed, "6:1: ", "allowed-tools")
    assert skill.definition is not None
    assert (skill.definition.tools, skill.definition.model) == (PUBLIC_TOOLS, "vendor-fast-4")


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        (("name: Reviewer", PUBLIC[1]), "2:7: name: 'Reviewer' is not a valid skill name"),
        (("name: other", PUBLIC[1]), "2:7: name: 'other' differs from the name of the folder"),
        (("name: reviewer",), "2:1: key 'description' is missing"),
        (("name: reviewer", f"description: {'x' * 1025}"), "3:14: description: expected at most 1024 characters"),
    ],
)
def test_what_the_convention_itself_asks_for_must_be_there(put: Put, lines: tuple[str, ...], mistake: str):
    (found,) = told(put(*lines))
    assert found.startswith(mistake)


# --- beside a manifest


def test_a_mistake_beside_a_manifest_makes_the_skill_invalid_and_names_the_file(put: Put, tmp_path: Path):
    skill = put(*changed(tools="tools: [Bash]"), manifest=MANIFEST)
    assert (skill.kind, skill.valid, skill.runnable) == (Kind.RUNNABLE, False, False)
    (error,) = skill.errors
    assert mentions(str(error), tmp_path, "/reviewer/SKILL.md:5:9", "tools[0]")


def test_the_mistakes_of_both_files_are_told(put: Put):
    skill = put(*changed(tools="tools: [Bash]"), manifest=MANIFEST.replace("command", "comand"))
    assert sorted({error.file.name for error in skill.errors}) == ["SKILL.md", "skill.yaml"]


def test_a_good_file_beside_a_manifest_leaves_the_skill_runnable(put: Put):
    skill = put(*changed(), manifest=MANIFEST)
    assert (skill.kind, skill.description, skill.runnable) == (Kind.RUNNABLE, "Reviews.", True)
    assert skill.definition is not None
