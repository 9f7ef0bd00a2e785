"""What several tests of the architecture ask of the source; each file is parsed and searched once for all of them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src"
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # only these have statements in them


class Definition(NamedTuple):
    """A class or function, and whether its module has it at its top level."""

    path: Path
    kind: type[ast.stmt]
    name: str
    at_top: bool
    line: int
    lines: int


class SourceFile(NamedTuple):
    """What one file defines, imports and says; `imports` and `texts` with their lines.

    `at_start` and `late` are imports that run: in no function, and in one.
    """

    path: Path
    definitions: list[Definition]
    imports: list[tuple[int, str]]
    texts: list[tuple[int, str]]
    at_start: list[ast.Import | ast.ImportFrom]
    late: list[ast.Import | ast.ImportFrom]


@cache
def source_files() -> tuple[SourceFile, ...]:
    """Return all files of the source, their paths relative to it."""
    files = tuple(_read(path) for path in sorted(SOURCE.rglob("*.py")))
    assert files, f"no source below {SOURCE}"
    return files


def definitions() -> Iterator[Definition]:
    """Yield all classes and functions of the source."""
    return (definition for file in source_files() for definition in file.definitions)


def imports_that_run(node: ast.AST, *, late: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the imports in a node that are not for type checkers alone, and whether they stand in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, late
        elif isinstance(child, BLOCKS) and not _is_for_type_checkers(child):
            yield from imports_that_run(child, late=late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _read(path: Path) -> SourceFile:
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    at_top = set(tree.body)
    running = list(imports_that_run(tree))
    return SourceFile(
        (relative := path.relative_to(SOURCE)),
        [
            Definition(
                relative,
                type(node),
                node.name,
                node in at_top,
                node.lineno,
                (node.end_lineno or node.lineno) - node.lineno + 1,
            )
            for node in nodes
            if isinstance(node, DEFINITIONS)
        ],
        list(_imports(nodes)),
        list(_texts(nodes)),
        [node for node, late in running if not late],
        [node for node, late in running if late],
    )


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield every imported module; `from package import name` also as `package.name`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _texts(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield every string of the program, also the pieces of f-strings, but no docstring."""
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value
