"""Find tests that depend on how fast the machine is: `python -m tools.timing`.

A test may not assert on what a real clock says, nor give up a wait after a few seconds. Figures of speed belong in
`benchmarks/` and in the full-size runs of `make chaos` and `make bot-proof`; time is injected (`FakeClock`); what must
be waited for is waited for with `tests/waiting.py`. A limit that is meant to run out is shorter than a second.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = ("tests", "src/tocsin/testing")
WAITING = ROOT / "tests/waiting.py"  # the one place that gives up by a clock
PATIENT_S, MEANT_TO_END_S = 60.0, 1.0

CLOCKS = frozenset(
    f"time.{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
) | {"os.times", "resource.getrusage", "datetime.now", "datetime.datetime.now"}
CLOCKS |= {f"{loop}.time" for loop in ("loop", "asyncio.get_running_loop()", "asyncio.get_event_loop()")}
# What these make of a time is a time; what any other call makes of one is something else.
TRANSPARENT = frozenset({"abs", "all", "any", "float", "int", "list", "max", "min", "round", "sorted", "sum", "tuple"})
# What bounds a wait, by the name of the call: the keyword, and the place where it has one.
BOUNDS: Mapping[str, tuple[str, int | None]] = {
    "ClientTimeout": ("total", 0),
    "HTTPConnection": ("timeout", None),
    "SMTP": ("timeout", None),
    "check_output": ("timeout", None),
    "communicate": ("timeout", None),
    "create_connection": ("timeout", 1),
    "join": ("timeout", None),
    "result": ("timeout", 0),
    "run": ("timeout", None),
    "settimeout": ("", 0),
    "timeout": ("delay", 0),
    "urlopen": ("timeout", None),
    "wait": ("timeout", 0),
    "wait_for": ("timeout", 1),
}
ENOUGH = "wait for PATIENCE_S (tests/waiting.py), or less than a second"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A line of a test, and what is wrong with it."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.line}: {self.what}"


def findings(source: str) -> list[Finding]:
    """Return the lines of a module that depend on the speed of the machine."""
    tree = ast.parse(source)
    return sorted({*_judgements(tree), *_impatience(tree)})


def _judgements(tree: ast.Module) -> Iterator[Finding]:
    times = Times(_imported(tree))
    times.learn(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Assert() if times.in_it(node.test):
                yield Finding(node.lineno, "asserts on a real clock")
            case ast.While() if times.in_it(node.test):
                yield Finding(node.lineno, "gives up by a real clock: see tests/waiting.py")
            case ast.If() if times.in_it(node.test) and any(map(_fails, node.body)):
                yield Finding(node.lineno, "fails by a real clock")


def _fails(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise():
            return True
        case ast.Expr(ast.Call(func)):
            return _last(func) == "fail"
    return False


@dataclass
class Times:
    """The expressions of a module that come from a real clock.

    Names count in the whole module: tests are short, and who calls a time and something else alike can choose.
    """

    imported: Mapping[str, str]
    names: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

    def learn(self, tree: ast.Module) -> None:
        """Find the names that hold times and the functions that return them, until there are no more."""
        known = -1
        while known < (known := len(self.names) + len(self.functions)):
            for node in ast.walk(tree):
                self._learn_from(node)

    def _learn_from(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target, _, value) | ast.AugAssign(target, _, value) | ast.NamedExpr(target, value):
                if value is not None and self.in_it(value):
                    self.names.add(ast.unparse(target))
            case ast.Call(ast.Attribute(holder, "append" | "add" | "extend"), arguments):
                if any(map(self.in_it, arguments)):
                    self.names.add(ast.unparse(holder))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value]
                if any(map(self.in_it, returned)):
                    self.functions.add(node.name)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, its in zip(target.elts, value.elts, strict=False):
                self._assign(one, its)
        elif self.in_it(value):
            self.names.add(ast.unparse(target))

    def in_it(self, node: ast.AST) -> bool:
        """Whether a time is in an expression, and not only handed to a call in it."""
        match node:
            case ast.Call(func, arguments):
                name = self._resolved(func)
                if name in CLOCKS or (_last(func) in self.functions and not isinstance(func, ast.Call)):
                    return True
                return name in TRANSPARENT and any(map(self.in_it, arguments))
            case ast.Name() | ast.Attribute():
                return ast.unparse(node) in self.names
            case ast.Lambda():
                return False
        return any(map(self.in_it, ast.iter_child_nodes(node)))

    def _resolved(self, func: ast.expr) -> str:
        head, dot, rest = ast.unparse(func).partition(".")
        return self.imported.get(head, head) + dot + rest


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the full name of each imported name."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                found |= {alias.asname: alias.name for alias in names if alias.asname}
            case ast.ImportFrom(module, names):
                found |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
    return found


def _impatience(tree: ast.Module) -> Iterator[Finding]:
    constants = dict(_constants(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (name := _last(node.func)) not in BOUNDS:
            continue
        keyword, place = BOUNDS[name]
        bounds = [given.value for given in node.keywords if given.arg == keyword]
        bounds += node.args[place : place + 1] if place is not None else []
        for bound in bounds:
            seconds = _number(bound, constants)
            if seconds is not None and MEANT_TO_END_S <= seconds < PATIENT_S:
                yield Finding(node.lineno, f"{name} gives up after {seconds:g} s: {ENOUGH}")


def _constants(tree: ast.Module) -> Iterator[tuple[str, float]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and (value := _number(node.value, {})) is not None:
            yield from ((ast.unparse(target), value) for target in node.targets)


def _number(node: ast.expr, constants: Mapping[str, float]) -> float | None:
    match node:
        case ast.Constant(bool()):
            return None
        case ast.Constant(int() | float() as value):
            return value
        case ast.Name(name):
            return constants.get(name)
    return None


def _last(func: ast.expr) -> str:
    return ast.unparse(func).rpartition(".")[2]


def files() -> Iterable[Path]:
    """Return every module that holds tests, or what they use."""
    return sorted(path for place in PLACES for path in (ROOT / place).rglob("*.py") if path != WAITING)


def told() -> list[str]:
    """Return what is found in all of them, each with its place."""
    return [
        f"{path.relative_to(ROOT)}:{found}" for path in files() for found in findings(path.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Print what is found; return the exit code."""
    lines = told()
    print("\n".join(lines) or "No test depends on the speed of the machine.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
