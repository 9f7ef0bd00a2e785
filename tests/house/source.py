"""What several tests of the architecture ask of the source; each file is parsed and searched once for all of them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src"
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Definition(NamedTuple):
    """A class or function, and whether its module has it at its top level."""

    path: Path
    kind: type[ast.stmt]
    name: str
    at_top: bool
    line: int
    lines: int


class SourceFile(NamedTuple):
    """What one file defines, imports and says; `imports` and `texts` with their lines."""

    path: Path
    definitions: list[Definition]
    imports: list[tuple[int, str]]
    texts: list[tuple[int, str]]


@cache
def source_files() -> tuple[SourceFile, ...]:
    """Return all files of the source, their paths relative to it."""
    files = tuple(_read(path) for path in sorted(SOURCE.rglob("*.py")))
    assert files, f"no source below {SOURCE}"
    return files


def definitions() -> Iterator[Definition]:
    """Yield all classes and functions of the source."""
    return (definition for file in source_files() for definition in file.definitions)


def _read(path: Path) -> SourceFile:
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    at_top = set(tree.body)
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
    docstrings = {
        node.body[0].value
        for node in nodes
        if isinstance(node, (ast.Module, *DEFINITIONS)) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.lineno, node.value
