"""No file imports another that leads back to it, however lazily; imports for type checkers do not count."""

import ast
from collections.abc import Container, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.house.source import imports_that_run, source_files


def test_no_file_imports_another_that_leads_back_to_it():
    assert cycle_in(graph_of_source()) == []


def test_a_cycle_of_lazy_imports_is_found(tmp_path: Path):
    (tmp_path / "one.py").write_text("import two\n")
    (tmp_path / "two.py").write_text("def late():\n    import one\n")
    assert set(cycle_in(graph_of(tmp_path))) == {"one", "two"}


def test_an_import_for_type_checkers_makes_no_cycle(tmp_path: Path):
    (tmp_path / "one.py").write_text("import two\n")
    (tmp_path / "two.py").write_text("if TYPE_CHECKING:\n    import one\n")
    assert cycle_in(graph_of(tmp_path)) == []


def graph_of(folder: Path) -> dict[str, set[str]]:
    modules = {path.stem: ast.parse(path.read_text("utf-8")) for path in folder.glob("*.py")}
    return {
        name: imports_of(name, (node for node, _ in imports_that_run(tree)), modules) for name, tree in modules.items()
    }


def graph_of_source() -> dict[str, set[str]]:
    modules = {module_name(file.path): (*file.at_start, *file.late) for file in source_files()}
    return {name: imports_of(name, nodes, modules) for name, nodes in modules.items()}


def cycle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the names along one cycle, the first one again at its end; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(name: str, nodes: Iterable[ast.Import | ast.ImportFrom], modules: Container[str]) -> set[str]:
    """Return the modules that a file imports: `from a import b` counts as `a.b` where that is a file, else as `a`."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{name}:{node.lineno}: a relative import"
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {inner[alias] if inner[alias] in modules else str(node.module) for alias in inner}
    return {module for module in found if module in modules} - {name}
