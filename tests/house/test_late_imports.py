"""Imports of our own modules stand at the top of a file, unless a command starts without what they load."""

import ast

from tests.house.source import SOURCE

# To be lowered, never raised: what a command's start needs is decided in assembly/.
MAX_LATE = 205


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
