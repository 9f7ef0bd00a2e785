"""A module is named after what it does, and one public class name means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src"
SOURCE = ROOT / "tocsin"
NAMES_THAT_SAY_NOTHING = {
    "utils",
    "util",
    "helpers",
    "helper",
    "manager",
    "managers",
    "base",
    "misc",
    "common",
}
# The bot has its own until it takes the one that features are handed; no name is added here.
NAMES_WITH_TWO_MEANINGS = {"RunSkill"}


def test_no_module_has_a_name_that_says_nothing():
    paths = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]
    assert [str(path) for path in paths if words(path) & NAMES_THAT_SAY_NOTHING] == []


def test_no_public_class_name_exists_twice():
    places = defaultdict(list)
    for path in SOURCE.parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE.parent)))
    assert {
        name: paths for name, paths in places.items() if len(paths) > 1 and name not in NAMES_WITH_TWO_MEANINGS
    } == {}


def words(path: Path) -> set[str]:
    return {word for part in path.with_suffix("").parts for word in part.split("_")}
