"""No floor and no tool names a feature: what a feature is to others, it declares in its own folder."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tocsin.features.hooks import load_hooks, load_work_hooks
from tocsin.features.registry import find_features

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tocsin"
FLOORS = ("web", "runs", "status", "assembly", "rest", "scheduling", "delivery", "messaging", "terminal", "core")
FEATURES = find_features().features
HOOKS = [hooks for feature in FEATURES for hooks in (load_hooks(feature), load_work_hooks(feature))]
KINDS = {kind for hooks in HOOKS for kind in hooks.run_types}
# Words with another meaning there, too: a chat of a product, a cause of a run, a field of an audit entry, an extra
# package of the distribution.
COMMON = {"chat", "trigger", "skill", "job"}
NAMES = ({feature.name for feature in FEATURES} | KINDS) - COMMON
# What is documented under a name of its own, and happens to be a feature's.
KEPT = {
    ("core/audit/actions.py", "notifications"): "the audit source of every notice",
    ("core/expressions/template.py", "vault"): "the prefix of a secret in a text",
    ("core/process/git.py", "ssh"): "the transport of git",
    ("rest/refusals.py", "vault"): "the code of an error",
    ("tools/bootstrap.py", "ssh"): "the program",
    ("tools/chaos.py", "vault"): "a scenario of the proofs, which lies with the tests of the feature",
    ("tools/ops_proof.py", "watchers"): "a part of the benchmarks",
    ("web/dashboard/operations/settings.py", "vault"): "where a setting was found",
    ("web/dashboard/operations/stream.py", "/api/jobs/stream/updates"): "the address of the stream of all changes",
    ("web/ui/lib/stream.js", "/api/jobs/stream/updates?topics="): "the address of the stream of all changes",
    ("web/ui/manifest.py", "notifications"): "the audit source of every notice",
    ("web/ui/pages/settings_tokens.js", "vault"): "a padlock",
    ("web/ui/strings/settings.js", "vault"): "where a setting was found",
}


def named(text: str) -> bool:
    """Whether a text is the name of a feature or a kind of run, or an address or a module of one."""
    found = re.match(r"(?:#/|/api/|tocsin\.features\.)?(\w+)", text)
    return bool(found) and (text in NAMES or (found[0] != found[1] and found[1] in NAMES | COMMON))


def python_names(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def script_names(path: Path) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/|^\s*//[^\n]*$", "", path.read_text("utf-8"), flags=re.S | re.M)
    yield from re.findall(r'"([^"\n]+)"', text)


def test_no_floor_and_no_tool_names_a_feature():
    paths = [(path, python_names(path)) for floor in FLOORS for path in (SOURCE / floor).rglob("*.py")]
    ui = [path for path in (SOURCE / "web" / "ui").rglob("*.js") if not {"vendor", "types"} & set(path.parts)]
    paths += [(path, script_names(path)) for path in ui]
    paths += [(path, python_names(path)) for path in (ROOT / "tools").glob("*.py")]
    found = {
        (path.relative_to(SOURCE if SOURCE in path.parents else ROOT).as_posix(), text)
        for path, texts in paths
        for text in texts
        if named(text)
    }
    assert found - KEPT.keys() == set()
    assert KEPT.keys() - found == set()
