"""A module is named after what it does, and a class has a term of the field for its name, which no other class has."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.house.source import SOURCE as ROOT
from tests.house.source import definitions

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
    assert [d for d in definitions() if d.kind is ast.ClassDef and d.name.lstrip("_") in REMOVED_CLASSES] == []


def test_what_is_handed_to_a_class_is_called_its_dependencies():
    handed = [d for d in definitions() if d.kind is ast.ClassDef and d.name.endswith(("Parts", "Means", "Deps"))]
    assert handed == []


def test_no_picture_comes_back_as_the_name_of_a_function_or_a_module():
    functions = [d for d in definitions() if d.at_top and d.kind is not ast.ClassDef]
    assert [d for d in functions if d.name.lstrip("_") in REMOVED_FUNCTIONS] == []
    assert [str(path) for path in ROOT.rglob("*.py") if path.stem in REMOVED_MODULES] == []


def test_a_public_class_has_a_name_of_its_own():
    places = defaultdict(list)
    for definition in definitions():
        if definition.kind is ast.ClassDef and definition.at_top and not definition.name.startswith("_"):
            places[definition.name].append(str(definition.path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_name_of_a_test_has_at_most_90_characters():
    tests = Path(__file__).parents[1]
    found = [name for path in tests.rglob("*.py") for name in re.findall(r"def (test_\w{86,})\(", path.read_text())]
    assert found == []


def words(path: Path) -> set[str]:
    return {word for part in path.with_suffix("").parts for word in part.split("_")}
