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
# Words of other things in the names of the code: random access memory, browsers, the front door, `VAULT_NAME`.
ORDINARY = {"browser", "cron", "doors", "jobs", "memory", "notifications", "ssh", "vault"}
# A command, an address, a module or a file of a feature, anywhere in a text.
PLACE = re.compile(r"(?:\btocsin |/?\bapi/|#/|\bfeatures[./])(\w+)|\b(\w+)(?:\.yaml\b|\.d/)")
# What is documented under a name of its own, and happens to be a feature's.
KEPT = {
    ("core/audit/actions.py", "notifications"): "the audit source of every notice",
    ("assembly/abilities.py", "NoSkills"): "the null object of an interface",
    ("assembly/abilities.py", "skills"): "an interface that features provide",
    ("assembly/full/receiving.py", "skills"): "an interface that features provide",
    ("core/expressions/template.py", "vault"): "the prefix of a secret in a text",
    ("core/process/git.py", "ssh"): "the transport of git",
    ("core/watching/folder_watcher.py", "FolderWatcher"): "watches a folder for several features",
    ("rest/problems.py", "tocsin workflows"): "the advice of a problem type, all of which are in one table",
    ("rest/refusals.py", "vault"): "the code of an error",
    ("tools/bootstrap.py", "ssh"): "the program",
    ("tools/chaos.py", "vault"): "a scenario of the proofs, which lies with the tests of the feature",
    ("tools/ops_proof.py", "validate_workflow"): "a scenario of the proofs",
    ("tools/ops_proof.py", "watchers"): "a part of the benchmarks",
    ("web/dashboard/operations/settings.py", "vault"): "where a setting was found",
    ("web/dashboard/operations/stream.py", "/api/jobs"): "the address of the stream of all changes",
    ("web/installed/service_worker.js", "api/devices"): "browsers register it for the whole site",
    ("web/ui/lib/stream.js", "/api/jobs"): "the address of the stream of all changes",
    ("web/ui/manifest.py", "notifications"): "the audit source of every notice",
    ("web/ui/pages/settings_tokens.js", "vault"): "a padlock",
    ("web/ui/strings/settings.js", "vault"): "where a setting was found",
}


def names_in_text(text: str) -> Iterator[str]:
    """Yield what a text names: it is the name of a feature or a kind of run, or has a place of one in it."""
    if text in NAMES:
        yield text
    yield from (found[0] for found in PLACE.finditer(text) if {found[1], found[2]} & (NAMES | COMMON))


def names_in_identifier(name: str) -> bool:
    words = {word.lower() for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}
    return bool(words & (NAMES - ORDINARY))


def python_names(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from names_in_text(node.value)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tocsin."):  # tools use tests, too
            yield from names_in_text(str(node.module))
        name = next((getattr(node, field) for field in ("id", "attr", "name", "arg") if hasattr(node, field)), None)
        if isinstance(name, str) and names_in_identifier(name.rpartition(".")[2]):
            yield name


def script_names(path: Path) -> Iterator[str]:
    text = re.sub(r"/\*.*?\*/|^\s*//[^\n]*$", "", path.read_text("utf-8"), flags=re.S | re.M)
    for string in (*re.findall(r'"([^"\n]+)"', text), *re.findall(r"`([^`]+)`", text)):
        yield from names_in_text(string)
    yield from (key for key in re.findall(r"(?:[{,]\s*|^\s*)(\w+):", text) if key in NAMES)


def test_no_floor_and_no_tool_names_a_feature():
    paths = [(path, python_names(path)) for floor in FLOORS for path in (SOURCE / floor).rglob("*.py")]
    scripts = [path for path in (SOURCE / "web").rglob("*.js") if not {"vendor", "types"} & set(path.parts)]
    paths += [(path, script_names(path)) for path in scripts]
    paths += [(path, python_names(path)) for path in (ROOT / "tools").glob("*.py")]
    found = {
        (path.relative_to(SOURCE if SOURCE in path.parents else ROOT).as_posix(), text)
        for path, texts in paths
        for text in texts
    }
    assert found - KEPT.keys() == set()
    assert KEPT.keys() - found == set()


def test_a_name_is_found_as_a_command_an_address_a_file_a_module_and_a_part_of_a_name():
    texts = ("watchers", "see `tocsin watchers list`", "/api/watchers/{id}", "#/watchers", "a cron.d/*")
    assert [len(list(names_in_text(text))) for text in (*texts, "features.cron.work", "watchers.yaml")] == [1] * 7
    assert [*names_in_text("a watcher"), *names_in_text("crontab"), *names_in_text("an #/overview")] == []
    assert [names_in_identifier(name) for name in ("open_watchers", "WatcherRule", "unread", "memory_kib")] == [
        True, True, False, False,
    ]  # fmt: skip
