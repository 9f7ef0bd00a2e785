"""Patterns of files in a front matter; what else it may say is tried where skills are read."""

import itertools
import subprocess
import sys
from pathlib import Path

import pathspec

import tocsin.features.assistant_skills

BUILT_IN = Path(tocsin.features.assistant_skills.__file__).parent / "builtin"
SCRIPT = """
import sys
from pathlib import Path
from tocsin.core.reading.front_matter import read_definition
read = [read_definition(f.read_bytes(), f, f.parent.name) for f in Path(sys.argv[1]).glob("*/SKILL.md")]
print(len(read), "pathspec" in sys.modules, "re2" in sys.modules)
"""


def test_a_pattern_of_plain_letters_is_one_of_gitignore():
    for length in range(1, 5):
        for letters in itertools.product("a.*/-", repeat=length):
            assert len(pathspec.GitIgnoreSpec.from_lines(["".join(letters)])) == 1


def test_the_skills_of_the_program_are_read_without_what_compiles_patterns():
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, BUILT_IN], env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(len(list(BUILT_IN.iterdir()))), "False", "False"]
