"""Costly texts that strangers may send: each would take minutes if its time grew with the square of its length."""

from collections.abc import Callable

import pytest

from tocsin.bot.skill_mode.skill_matching import MAX_STEPS, match_steps
from tocsin.core.text.visible import one_line
from tocsin.features.ability_records import SkillInfo
from tocsin.features.assistant_skills.local.dependencies import audit_dependencies
from tocsin.features.memory.chats import may_be_secret
from tocsin.features.workflows.language.outputs import OutputRuleError, parse_output

MANY = 100_000
MANIFEST = '{"dependencies": {\n' + ",\n".join(f'"a{number}": "*"' for number in range(12_000)) + "}}"


def _refused(text: str) -> bool:
    try:
        parse_output(text)
    except OutputRuleError:
        return True
    return False


def _modules(text: str) -> list[str]:
    return [finding.message for finding in audit_dependencies("go.mod", text.encode(), lambda path: None)]


def _packages(text: str) -> list[int]:
    return [finding.line for finding in audit_dependencies("package.json", text.encode(), lambda path: None)]


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (one_line, f"a\x01{' ' * MANY}b", f"a\\u0001{' ' * MANY}b"),
        (one_line, "\t" * MANY, " " * MANY),
        (one_line, f"a {' ' * MANY}\n \n b", "a b"),
        (may_be_secret, "o/" * MANY, False),
        (may_be_secret, "a " * MANY + "ghp_" + "a1" * 20, True),
        (_refused, 'stdout "' + '\\"' * MANY, True),
        (_refused, f"stdout{' ' * MANY}x", True),
        (_packages, MANIFEST, [*range(2, 12_002)]),
        (_modules, "require " + "." * MANY, []),
        (
            _modules,
            "require " + "a.b/c" * 100 + " v1\nrequire a.b v1\nrequire a.b v2\n",
            ["a.b ==v2 contradicts line 2: ==v1"],
        ),
    ],
)
def test_a_long_text_is_read_in_linear_time(read: Callable[[str], object], text: str, found: object):
    assert read(text) == found


def test_a_message_of_many_parts_is_matched_with_skills_until_there_are_enough():
    skill = SkillInfo("backup", "Back up the web server")
    text = " " * MANY + "please backup web;" * MANY
    assert [step.skill for step in match_steps(text, [skill])] == ["backup"] * MAX_STEPS


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("backup web and then greet all", ["backup web", "greet all"]),
        ("backup web, then greet all. Afterwards rest", ["backup web", "greet all", "Afterwards rest"]),
        ("backup web \n then greet all;rest then\nsleep", ["backup web", "greet all", "rest", "sleep"]),
    ],
)
def test_a_message_is_divided_at_lines_sentences_and_words_for_what_follows(text: str, parts: list[str]):
    assert [step.requirement for step in match_steps(text, [])] == parts
