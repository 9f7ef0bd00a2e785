"""Imports of our own modules stand at the top of a file, unless a command starts without what they load.

The border is in `assembly/`: `light` has what a command needs that only lists, `program` and `storage` what one needs
that sends. They import all else, such as `full/`, in the functions that use it. Elsewhere a function imports a module
of ours only where `tocsin send`, `channels`, `status` or listing would be slower without that: below channels (what a
message needs), in hooks and services of features (what a run needs), and where an error is explained.
"""

import ast
from functools import cache

from tests.house.source import SOURCE

# To be lowered, never raised.
MAX_LATE = 78


@cache
def late_imports() -> list[str]:
    """Return where functions import modules of ours."""
    return [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in own_nodes(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tocsin")
    ]


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """Return what stands in a function and in none within it, which is counted for itself."""
    found: list[ast.AST] = []
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [node, *own_nodes(node)]
    return found


def test_there_are_no_more_late_imports_than_before():
    assert len(late_imports()) <= MAX_LATE, late_imports()


def test_the_light_side_of_the_assembly_imports_the_full_one_in_functions_alone():
    light = [path for path in (SOURCE / "tocsin" / "assembly").glob("*.py") if path.name != "status.py"]
    found = [
        f"{path.name}: {node.module}"
        for path in light
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tocsin.assembly.full")
    ]
    assert found == []
    assert len(light) > 5


def test_the_full_side_of_the_assembly_imports_at_the_top():
    full = "tocsin/assembly/full/"
    allowed = {"open_dashboard", "RedisSessions"}  # a gateway loads no dashboard, a bot without Redis no sessions of it
    names = set()
    for place in late_imports():
        if place.startswith(full):
            path, line = place.split(":")
            [node] = [
                node
                for node in ast.walk(ast.parse((SOURCE / path).read_text("utf-8")))
                if isinstance(node, ast.ImportFrom) and node.lineno == int(line)
            ]
            names |= {alias.name for alias in node.names}
    assert names == allowed
