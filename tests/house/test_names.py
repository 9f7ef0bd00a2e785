"""A module is named after what it does."""

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "tocsin"
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


def test_no_module_has_a_name_that_says_nothing():
    paths = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]
    assert [str(path) for path in paths if words(path) & NAMES_THAT_SAY_NOTHING] == []


def words(path: Path) -> set[str]:
    return {word for part in path.with_suffix("").parts for word in part.split("_")}
