"""A file has at most 400 lines, a function at most 60, a room at most 14 modules."""

import ast
from collections import Counter
from collections.abc import Iterator

from tests.house.source import SOURCE, Definition, definitions

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_MODULES = 14


def test_no_file_is_longer_than_its_ceiling():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert lengths, f"no source below {SOURCE}"
    assert [f"{path}: {n} lines" for path, n in lengths.items() if n > MAX_FILE_LINES] == []


def test_no_function_is_longer_than_its_ceiling():
    too_long = [
        f"{found.path}:{found.line} {found.name}: {found.lines} lines"
        for found in functions()
        if found.lines > MAX_FUNCTION_LINES
    ]
    assert too_long == []


def test_no_room_holds_more_modules_than_its_ceiling():
    rooms = Counter(path.parent for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    assert [f"{room}: {n} modules" for room, n in rooms.items() if n > MAX_MODULES] == []


def functions() -> Iterator[Definition]:
    return (found for found in definitions() if found.kind is not ast.ClassDef)
