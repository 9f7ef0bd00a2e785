"""A module is named after what it does, and a class has a term of the field for its name, which no other class has."""

import ast
from collections import defaultdict
from collections.abc import Iterator
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
# Pictures, and words so wide that a reader cannot tell what is meant; each was the name of something once.
REMOVED_CLASSES = {
    "Addressed",
    "Answer",
    "Arrivals",
    "AskedOnce",
    "BotParts",
    "Capture",
    "Confined",
    "Desk",
    "Dialect",
    "Duties",
    "Ended",
    "Ending",
    "Halt",
    "Intake",
    "Jobs",
    "Keys",
    "Known",
    "Means",
    "Memory",
    "Order",
    "Others",
    "Parts",
    "Patience",
    "People",
    "Place",
    "Reading",
    "Received",
    "Remark",
    "ReplyBrake",
    "Room",
    "Rules",
    "Seat",
    "Setback",
    "Showing",
    "Standing",
    "Survey",
    "Talk",
    "Ticket",
    "Town",
    "Verdict",
    "Work",
}
REMOVED_FUNCTIONS = {"keep_house", "nobody_home", "rest"}
REMOVED_MODULES = {"arrivals", "brake", "desk", "halt", "patience", "requirements", "showing", "talk", "town"}


def test_no_module_has_a_name_that_says_nothing():
    paths = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]
    assert [str(path) for path in paths if words(path) & NAMES_THAT_SAY_NOTHING] == []


def test_no_picture_comes_back_as_the_name_of_a_class():
    assert [f"{path}: {node.name}" for path, node in classes() if node.name.lstrip("_") in REMOVED_CLASSES] == []


def test_no_picture_comes_back_as_the_name_of_a_function_or_a_module():
    functions = [
        f"{path}: {node.name}"
        for path, tree in modules()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.lstrip("_") in REMOVED_FUNCTIONS
    ]
    assert functions == []
    assert [str(path) for path, _ in modules() if path.stem in REMOVED_MODULES] == []


def test_a_public_class_has_a_name_of_its_own():
    places = defaultdict(list)
    for path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path, tree in modules():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def words(path: Path) -> set[str]:
    return {word for part in path.with_suffix("").parts for word in part.split("_")}
