"""Every feature there is keeps the contract of features."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from tocsin.assembly.storage import schemas
from tocsin.features.context import Abilities
from tocsin.features.contract import Feature, load_commands
from tocsin.features.hooks import ProvidedAbilities, load_hooks, load_work_hooks
from tocsin.features.registry import RESERVED, find_features
from tocsin.terminal.command_table import COMMANDS

FEATURES = find_features().features
FOLDER = Path(__file__).parents[2] / "src" / "tocsin" / "features"
DOCS = Path(__file__).parents[2] / "docs"
EACH = pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
# What `feature.py` may import beside modules that hold only text.
LIGHT = {
    "tocsin.core.audit",
    "tocsin.core.audit.actions",
    "tocsin.core.config",
    "tocsin.core.config.variables",
    "tocsin.core.storage",
    "tocsin.core.storage.changes",
    "tocsin.features.contract",
}
PROBE = """
import json, sys
import tocsin.features.registry
before = set(sys.modules)
tocsin.features.registry.find_features()
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_every_folder_is_a_feature_of_its_name():
    assert [feature.name for feature in FEATURES] == sorted(path.parent.name for path in FOLDER.glob("*/feature.py"))
    assert [path.name for path in FOLDER.iterdir() if (path / "__init__.py").exists()] != []


@EACH
def test_the_bots_status_has_one_line_for_it_that_of_its_subsystem_or_its_own(feature: Feature):
    assert not (load_hooks(feature).status and feature.subsystems)


@EACH
def test_what_it_names_is_what_it_has_hooks_for(feature: Feature):
    hooks = load_hooks(feature)
    assert {each.name for each in feature.subsystems} == {*hooks.subsystems}
    run_types = {**hooks.run_types, **load_work_hooks(feature).run_types}
    assert {*feature.run_kinds} == {*run_types}
    assert {command.name for command in feature.bot_commands} == {*hooks.bot_commands}
    assert {live.topic for live in feature.live} == {*hooks.live}
    assert {command.words for command in feature.commands} == {*load_commands(feature)}
    provided = [each.name for each in fields(ProvidedAbilities) if getattr(hooks.provides, each.name)]
    assert sorted(feature.provides) == sorted(provided)
    assert hooks.subjects.keys() <= hooks.starts.keys() <= run_types.keys()


@EACH
def test_it_has_a_page(feature: Feature):
    assert (DOCS / feature.page).is_file()


@EACH
def test_what_it_provides_is_known(feature: Feature):
    assert {*feature.provides} <= {each.name for each in fields(ProvidedAbilities)} <= {*Abilities.__slots__}


def test_no_two_have_a_name_in_common():
    names = [variable.name for feature in FEATURES for variable in feature.variables]
    names += [f"tocsin {command.name}" for feature in FEATURES for command in feature.commands]
    names += [f"tocsin {name}" for name in COMMANDS]
    names += [action.name for feature in FEATURES for action in feature.audit_actions]
    names += [f"ability {ability}" for feature in FEATURES for ability in feature.provides]
    names += [f"runs {kind}" for feature in FEATURES for kind in load_hooks(feature).starts]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_no_two_components_create_the_same_table():
    everything = schemas(FEATURES)
    created = [
        name
        for migrations in everything.values()
        for name in set(re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", "".join(migrations)))
    ]
    assert [name for name, count in Counter(created).items() if count > 1] == []
    assert len(everything) == len(schemas(())) + sum(len(feature.tables) for feature in FEATURES)


def test_the_components_of_the_core_are_reserved():
    assert schemas(()).keys() - RESERVED == set()


def test_finding_features_imports_nothing_that_works():
    done = subprocess.run([sys.executable, "-I", "-c", PROBE], env={}, capture_output=True, text=True, check=True)
    loaded = {name for name in json.loads(done.stdout) if name.startswith("tocsin.")}
    allowed = re.compile(r"tocsin\.features\.\w+(\.(declarations|feature|schema|settings))?")
    assert [name for name in loaded - LIGHT if not allowed.fullmatch(name)] == []
