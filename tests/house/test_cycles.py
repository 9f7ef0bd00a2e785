"""No file imports another that leads back to it, however lazily; imports for type checkers do not count."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def test_no_file_imports_another_that_leads_back_to_it():
    modules = {module_name(path): path for path in SOURCE.rglob("*.py")}
    assert modules, f"no source below {SOURCE}"
    assert cycle_in({name: imports_of(name, path, modules) for name, path in modules.items()}) == []


def test_a_cycle_of_lazy_imports_is_found(tmp_path: Path):
    (tmp_path / "one.py").write_text("import two\n")
    (tmp_path / "two.py").write_text("def late():\n    import one\n")
    assert set(cycle_in(graph_of(tmp_path))) == {"one", "two"}


def test_an_import_for_type_checkers_makes_no_cycle(tmp_path: Path):
    (tmp_path / "one.py").write_text("import two\n")
    (tmp_path / "two.py").write_text("if TYPE_CHECKING:\n    import one\n")
    assert cycle_in(graph_of(tmp_path)) == []


def graph_of(folder: Path) -> dict[str, set[str]]:
    modules = {path.stem: path for path in folder.glob("*.py")}
    return {name: imports_of(name, path, modules) for name, path in modules.items()}


def cycle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the names along one cycle, the first one again at its end; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(name: str, path: Path, modules: Mapping[str, Path]) -> set[str]:
    """Return the modules that the file imports: `from a import b` counts as `a.b` where that is a file, else as `a`."""
    found = set()
    for node in imports_in(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {inner[alias] if inner[alias] in modules else str(node.module) for alias in inner}
    return (found & modules.keys()) - {name}


def imports_in(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from imports_in(child)
