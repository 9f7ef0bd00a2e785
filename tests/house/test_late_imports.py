"""Imports of our own modules stand at the top of a file, unless a command starts without what they load.

The border is in `assembly/`: `light` has what a command needs that only lists, `program` and `storage` what one needs
that sends. They import all else, such as `full/`, in the functions that use it. Elsewhere a function imports a module
of ours only where `tocsin send`, `channels`, `status` or listing would be slower without that: below channels (what a
message needs), in hooks and services of features (what a run needs), and where an error is explained.
"""

import ast
from pathlib import Path
from typing import TypeGuard

from tests.house.source import SourceFile, source_files

# To be lowered, never raised.
MAX_LATE = 66


def late_imports() -> list[str]:
    """Return where functions import modules of ours."""
    return [f"{file.path}:{node.lineno}" for file, node in own_late_imports()]


def own_late_imports() -> list[tuple[SourceFile, ast.ImportFrom]]:
    return [(file, node) for file in source_files() for node in file.late if is_ours(node)]


def is_ours(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tocsin")


def test_there_are_no_more_late_imports_than_before():
    assert len(late_imports()) <= MAX_LATE, late_imports()


def test_the_light_side_of_the_assembly_imports_the_full_one_in_functions_alone():
    assembly = Path("tocsin/assembly")
    light = [file for file in source_files() if file.path.parent == assembly and file.path.name != "status.py"]
    found = [
        f"{file.path.name}: {node.module}"
        for file in light
        for node in file.at_start
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tocsin.assembly.full")
    ]
    assert found == []
    assert len(light) > 5


def test_the_full_side_of_the_assembly_imports_at_the_top():
    allowed = {"open_dashboard", "RedisSessions"}  # a gateway loads no dashboard, a bot without Redis no sessions of it
    full = Path("tocsin/assembly/full")
    late = [node for file, node in own_late_imports() if full in file.path.parents]
    assert {alias.name for node in late for alias in node.names} == allowed
