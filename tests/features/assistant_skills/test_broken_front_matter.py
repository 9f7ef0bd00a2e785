"""Two hundred kinds of broken front matter: each is told with its line and what to do."""

from pathlib import Path

import pytest
from tests.features.assistant_skills.broken_front_matter import GOOD, Broken, cases, file_of

from tocsin.core.reading.front_matter import read_definition
from tocsin.core.reading.yaml_node import YamlError

CASES = cases()


def test_there_are_two_hundred_kinds():
    assert len(CASES) >= 200


def test_the_file_they_are_made_of_is_good():
    assert read_definition(file_of().encode(), Path("SKILL.md"), "reviewer").tools == ("Read", "Grep")
    assert len(GOOD) == 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title[:60])
def test_a_broken_front_matter_is_told_with_its_line_and_what_to_do(case: Broken):
    with pytest.raises(YamlError) as told:
        read_definition(case.text.encode(), Path("SKILL.md"), "reviewer")
    problems = told.value.problems
    # A misspelt key is told in its line, and that the right one is missing in the first.
    at = [problem.line for problem in problems if not problem.detail.startswith("key '") or "is missing" in case.says]
    assert at[:1] == [case.line], told.value
    assert any(case.says in problem.detail for problem in problems if problem.line == case.line), told.value
    assert all(problem.column >= 1 and problem.detail for problem in problems)
