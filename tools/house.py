"""Print the figures of the architecture: `make house`. The tests in `tests/house/` enforce the limits.

Lines are those of the file as it is, blank lines and comments included.
"""

import ast
import statistics
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.house import test_ceilings, test_cycles, test_late_imports  # noqa: E402  # they hold the rules
from tests.house.source import definitions  # noqa: E402  # what they and this read

SOURCE = ROOT / "src"


def main() -> int:
    """Print one row for each figure: what it is, its value, its limit."""
    rows = figures()
    width = max(len(what) for what, _, _ in rows)
    for what, value, limit in rows:
        print(f"{what:<{width}}  {value:>8}  {limit}")
    return 0


def figures() -> list[tuple[str, str, str]]:
    """Return what is measured, the figure, and its limit."""
    files = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(SOURCE.rglob("*.py"))}
    rooms = Counter(path.parent for path in files if path.name != "__init__.py")
    room, most = rooms.most_common(1)[0]
    functions = [function.lines for function in test_ceilings.functions()]
    defined = [found.name for found in definitions() if found.at_top and found.kind is ast.ClassDef]
    names = Counter(name for name in defined if not name.startswith("_"))
    own = sum(count for path, count in files.items() if "tocsin_standins" not in path.parts)
    return [
        ("lines of src/tocsin", f"{own:,}", ""),
        ("lines of src/tocsin_standins", f"{sum(files.values()) - own:,}", ""),
        ("files", f"{len(files):,}", ""),
        ("longest file, lines", f"{max(files.values())}", f"at most {test_ceilings.MAX_FILE_LINES}"),
        (f"modules of the fullest room, {room.name}/", f"{most}", f"at most {test_ceilings.MAX_MODULES}"),
        ("functions", f"{len(functions):,}", ""),
        ("median function, lines", f"{statistics.median(functions):g}", ""),
        ("longest function, lines", f"{max(functions)}", f"at most {test_ceilings.MAX_FUNCTION_LINES}"),
        ("public class names used twice", f"{sum(count > 1 for count in names.values())}", "none"),
        (
            "late imports of our own modules",
            f"{len(test_late_imports.late_imports())}",
            f"at most {test_late_imports.MAX_LATE}",
        ),
        ("files on an import cycle", f"{len(set(test_cycles.cycle_in(test_cycles.graph_of_source())))}", "none"),
    ]


if __name__ == "__main__":
    sys.exit(main())
