"""The lock files pin what pyproject.toml names, every package with its hashes."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests.house.source import source_files

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE: list[str] = PROJECT["project"]["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]
# What `make lock` puts into each file.
CONTENTS = {
    "build": GROUPS["build"],
    "core": CORE,
    "chat": [*CORE, *EXTRAS["chat"]],
    "voice": [*CORE, *EXTRAS["voice"]],
    "otel": [*CORE, *EXTRAS["otel"]],
    "demo": [*CORE, *EXTRAS["demo"], *EXTRAS["chat"], *GROUPS["build"]],
    "dev": [*CORE, *(line for lines in (*EXTRAS.values(), *GROUPS.values()) for line in lines)],
}
ENTRY = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.!+]+)( ; [^\\]+)?(?P<hashes>( --hash=sha256:[0-9a-f]{64})+)")


def entries(lock: str) -> dict[str, Version]:
    """Read a lock file strictly: pinned packages with hashes and comments, nothing else."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r" \\\n\s+", " ", "\n".join(lines)).splitlines()
    found = {line: ENTRY.fullmatch(line.strip()) for line in joined if line.strip()}
    assert [line for line, match in found.items() if match is None] == []
    return {canonicalize_name(m["name"]): Version(m["version"]) for m in found.values() if m}


@pytest.mark.parametrize("lock", CONTENTS)
def test_a_lock_pins_every_named_package_at_a_version_the_project_accepts(lock: str):
    pinned = entries(lock)
    wanted = {canonicalize_name(r.name): r.specifier for r in map(Requirement, CONTENTS[lock])}
    assert wanted.keys() - pinned.keys() == set(), "run `make lock`"
    assert [name for name, allowed in wanted.items() if pinned[name] not in allowed] == [], "run `make lock`"


@pytest.mark.parametrize("lock", CONTENTS)
def test_a_lock_holds_nothing_that_the_project_no_longer_names(lock: str):
    named, current = set(), ""
    for line in (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8").splitlines():
        if "==" in line and not line.startswith((" ", "#")):
            current = canonicalize_name(line.partition("==")[0])
        elif line.lstrip().startswith("#") and "tocsin (pyproject.toml" in line:
            named.add(current)
    assert named == {canonicalize_name(Requirement(line).name) for line in CONTENTS[lock]}, "run `make lock`"


@pytest.mark.parametrize(("small", "large"), [("build", "demo"), ("core", "demo"), ("demo", "dev")])
def test_a_larger_environment_holds_the_smaller_one_unchanged(small: str, large: str):
    assert entries(small).items() <= entries(large).items()


def test_every_dependency_has_a_lower_bound_and_ends_at_the_next_major_version():
    pinned = entries("dev")
    for line in (*CORE, *(line for lines in EXTRAS.values() for line in lines)):
        requirement = Requirement(line)
        bounds = {each.operator: Version(each.version) for each in requirement.specifier}
        assert bounds.keys() == {">=", "<"}, f"{line}: write a tested lower bound and the next major version"
        assert bounds["<"].release == (pinned[canonicalize_name(requirement.name)].major + 1,), line


def test_every_package_that_the_source_imports_is_declared():
    declared = {canonicalize_name(Requirement(line).name) for lines in (CORE, *EXTRAS.values()) for line in lines}
    providers = packages_distributions()
    imported = {name.partition(".")[0]: file.path for file in source_files() for _, name in file.imports}
    ours = {"tocsin", "tocsin_standins", *sys.stdlib_module_names}
    found = {
        f"{path}: {name}"
        for name, path in imported.items()
        if name not in ours and not declared & set(map(canonicalize_name, providers.get(name, ())))
    }
    assert found == set()
