"""One module starts git: nothing else would keep a repository from starting programs of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import SOURCE

THE_ONE = Path("tocsin/core/process/git.py")


def test_only_one_module_starts_git():
    found = {path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if any(_commands(path))}
    assert found == {THE_ONE}


def _commands(path: Path) -> Iterator[ast.expr]:
    """Yield command lines of git: lists, tuples and texts that begin with its name."""
    text = path.read_text("utf-8")
    if "git" not in text:  # most files, which need no parser
        return
    tree = ast.parse(text)
    prefixes = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith"
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple) and node.elts and id(node) not in prefixes:
            first = node.elts[0]
            if isinstance(first, ast.Constant) and str(first.value).rpartition("/")[2] == "git":
                yield node
        elif isinstance(node, ast.Constant) and str(node.value).startswith("git -"):
            yield node
