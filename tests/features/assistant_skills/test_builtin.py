"""The eight skills that are shipped."""

import pytest

from tocsin.features.assistant_skills.activation import acts_on
from tocsin.features.assistant_skills.model import AssistantSkill
from tocsin.features.assistant_skills.store import BUILT_IN, AssistantFolders

SKILLS = {skill.name: skill for skill in AssistantFolders(BUILT_IN / "none").all()}
FAST, CAPABLE = "vendor-fast-4", "vendor-capable-4"
# As the definition of the built-in skills has them.
EXPECTED = {
    "code-reviewer": ("high", FAST),
    "test-generator": ("medium", FAST),
    "git-commit-helper": ("low", FAST),
    "security-auditor": ("high", CAPABLE),
    "secret-scanner": ("high", FAST),
    "dependency-auditor": ("high", FAST),
    "api-documenter": ("low", CAPABLE),
    "readme-updater": ("low", FAST),
}


def test_the_eight_skills_have_the_priorities_and_models_of_their_definition():
    found = {
        name: (skill.definition.priority, skill.definition.model) for name, skill in SKILLS.items() if skill.definition
    }
    assert found == EXPECTED


def test_they_stand_in_the_order_in_which_they_act():
    assert [skill.definition.priority for skill in SKILLS.values() if skill.definition] == (
        ["high"] * 4 + ["medium"] + ["low"] * 3
    )


@pytest.mark.parametrize("skill", SKILLS.values(), ids=SKILLS)
def test_a_shipped_skill_has_no_mistake_and_tells_what_to_look_for_report_and_leave_alone(skill: AssistantSkill):
    assert (skill.errors, skill.definition and skill.definition.hints) == ((), ())
    assert "Order of work" in skill.body
    assert "eport" in skill.body
    assert "Leave alone" in skill.body
    assert len(skill.body) < 2000, "a model reads it at every file"


@pytest.mark.parametrize("skill", SKILLS.values(), ids=SKILLS)
def test_a_shipped_skill_invokes_only_skills_that_are_there(skill: AssistantSkill):
    assert skill.definition
    assert {each.agent for each in skill.definition.invoke_agents} <= SKILLS.keys() - {skill.name}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("src/app.py", {"code-reviewer", "security-auditor", "secret-scanner", "test-generator"}),
        ("tests/test_app.py", {"code-reviewer", "secret-scanner"}),
        ("web/node_modules/x/package.json", set()),
        ("web/package.json", {"secret-scanner", "dependency-auditor", "readme-updater"}),
        ("requirements/dev.txt", {"secret-scanner", "dependency-auditor"}),
        (
            "api/routes/users.ts",
            {"code-reviewer", "security-auditor", "secret-scanner", "test-generator", "api-documenter"},
        ),
        (".git/COMMIT_EDITMSG", {"secret-scanner", "git-commit-helper"}),
        ("notes.md", {"secret-scanner"}),
    ],
)
def test_the_skills_that_act_on_a_file(path: str, names: set[str]):
    assert {skill.name for skill in SKILLS.values() if acts_on(skill, path)} == names
