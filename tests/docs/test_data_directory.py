"""The guide lists every file of the data directory, and none that there is not."""

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

from tests.cli.conftest import Cli, cli
from tests.docs.pages import ROOT

__all__ = ["cli"]

SOURCE = ROOT / "src"
# Made beside a file, or by a library.
DERIVED = {
    "tocsin.db-wal", "tocsin.db-shm", "audit.log.*", "audit.log.head", "poller-*.lock",
    "watchers.yaml.lock", "workflows.lock", "vault.lock",
}  # fmt: skip
# What only names a lock.
NO_FILES = {"vault"}


def test_the_guide_lists_every_file_of_the_data_directory_and_no_other():
    assert listed() == {*named_in_the_code(), *DERIVED} - NO_FILES


def test_no_command_leaves_a_file_that_the_guide_does_not_list(cli: Cli):
    cli("init")
    for line, stdin in (
        ("cron add nightly @daily true", b""),
        ("cron run nightly", b""),
        ("watchers new inbox --path . --command true", b""),
        ("workflows new hello", b""),
        ("workflows run hello", b""),
        ("vault init", b""),
        ("vault set API_KEY", b"a-value"),
        ("memory set wifi Lighthouse", b""),
        ("audit verify", b""),
        ("dashboard link", b""),
    ):
        assert cli(*line.split(), stdin=stdin).code == 0, line
    left = {path.name for path in cli.data_dir.iterdir()}
    assert {"tocsin.db", "vault.enc", "workflows.lock"} <= left
    assert [name for name in left if not any(fnmatch(name, pattern) for pattern in listed())] == []


def listed() -> set[str]:
    table = (
        (ROOT / "docs/guide.md")
        .read_text("utf-8")
        .partition("## Data directory")[2]
        .partition("\n\nOnly Tocsin's user")[0]
    )
    firsts = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return {name.replace("…", "*") for first in firsts for name in re.findall(r"`([^`]+)`", first)}


def named_in_the_code() -> set[str]:
    """Return what stands behind `data_dir /` in the source."""
    return {name for path in SOURCE.glob("tocsin/**/*.py") for name in names_in(path)}


def names_in(path: Path) -> Iterator[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    imported = {
        name.asname or name.name: each.module
        for each in nodes
        if isinstance(each, ast.ImportFrom) and each.module
        for name in each.names
    }
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_data_dir(node.left):
            yield from value_of(node.right, module, imported)


def is_data_dir(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.endswith("data_dir")


def value_of(node: ast.expr, module: str, imported: Mapping[str, str]) -> Iterator[str]:
    """Yield a name that is written there or in a constant, and none for a path that people give."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.Name | ast.Attribute):
        first, *rest = ast.unparse(node).split(".")
        found = getattr(import_module(module), first, None) or getattr(
            import_module(imported.get(first, module)), first, None
        )
        for part in rest:
            found = getattr(found, part, None)
        if isinstance(found, str):
            yield found
