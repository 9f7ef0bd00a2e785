"""Discovery of features: the folders of this package and the `tocsin.features` entry points.

A feature is a folder with a `feature.py` that defines `FEATURE`, or an entry point of another distribution that
refers to one.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import tocsin.features
from tocsin.core.config.core_variables import CORE_VARIABLES
from tocsin.core.plugins import describe_error, modules_in, plugin_points
from tocsin.features.contract import CORE_FILES, Feature
from tocsin.terminal.command_table import COMMANDS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "tocsin.features"
# Prefixes of the core's tables, audit actions and settings.
RESERVED = frozenset((
    "access", "audit", "bot", "changes", "chat_work", "dashboard", "delivery", "documents", "gateway", "idempotency",
    "inbox", "intake", "leases", "migrations", "msg", "presence", "presses", "runs", "scheduling", "tocsin", "token",
    "web_access",
))  # fmt: skip


class FoundFeatures(NamedTuple):
    """The features that could be loaded, by name, and one sentence per plug-in that could not."""

    features: tuple[Feature, ...]
    problems: tuple[str, ...]


@lru_cache(maxsize=1)  # used by both the command line and the settings
def find_features() -> FoundFeatures:
    """Find all features; a broken plug-in is reported and does not prevent the others from loading."""
    folders = [name for name, is_package in modules_in(tocsin.features.__path__) if is_package]
    found: list[Feature] = [import_module(f"{tocsin.features.__name__}.{name}.feature").FEATURE for name in folders]
    problems = []
    for point in plugin_points(ENTRY_POINTS):
        told = f"feature plug-in {point.name} ({point.value})"
        try:
            feature = _load(point)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # code of strangers: it may raise anything at import
            problems.append(f"{told} cannot be loaded: {describe_error(error)}")
            continue
        if clash := next(clashes(feature, found), ""):
            problems.append(f"{told} is ignored: {clash}")
            continue
        found.append(feature)
    return FoundFeatures(tuple(sorted(found, key=lambda feature: feature.name)), tuple(problems))


def _load(point: "EntryPoint") -> Feature:
    feature = point.load()
    if not isinstance(feature, Feature):
        raise TypeError("not a tocsin.features.contract.Feature")
    return feature


def clashes(feature: Feature, known: Iterable[Feature]) -> Iterator[str]:
    """Yield one sentence per name of a plug-in that the core or another feature already has.

    Its settings, tables and audit actions must start with its name, so that names added later cannot clash.
    """
    name, known = feature.name, tuple(known)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in RESERVED:
        yield f"{name!r} is not a valid feature name: use lower-case letters, digits and _, and no reserved word"
        return
    if name in {other.name for other in known}:
        yield f"feature {name} already exists"
    taken = dict.fromkeys(COMMANDS, "the core")
    taken |= {command.words: f"the feature {other.name}" for other in known for command in other.commands}
    yield from (
        f"the command {c.words} already belongs to {taken[c.words]}" for c in feature.commands if c.words in taken
    )
    settings = {variable.name for variable in CORE_VARIABLES}
    settings |= {variable.name for other in known for variable in other.variables}
    yield from _misnamed("setting", [v.name for v in feature.variables], f"{name.upper()}_", settings)
    components = {component for other in known for component in other.tables}
    yield from _misnamed("component", feature.tables, name, components)
    yield from _misnamed("table", _created(feature), name, ())
    of_bot = {command.name: other.name for other in known for command in other.bot_commands}
    bot_names = [command.name for command in feature.bot_commands if command.name in of_bot]
    yield from (f"the bot command /{name} already belongs to the feature {of_bot[name]}" for name in bot_names)
    actions = {action.name for other in known for action in other.audit_actions}
    yield from _misnamed("audit action", [action.name for action in feature.audit_actions], f"{name}.", actions)
    files = {file.name for other in known for file in other.files} | {file.name for file in CORE_FILES}
    yield from _misnamed("schema", [file.name for file in feature.files], name, files)
    abilities = {ability: other.name for other in known for ability in other.provides}
    yield from (f"{abilities[a]} already provides {a}" for a in feature.provides if a in abilities)
    kinds = {kind: other.name for other in known for kind in other.run_kinds}
    yield from (f"{kinds[kind]} already has runs of the kind {kind}" for kind in feature.run_kinds if kind in kinds)


def _misnamed(what: str, names: Iterable[str], prefix: str, taken: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name in taken:
            yield f"the {what} {name} already belongs to another feature or to Tocsin"
        elif not name.startswith(prefix):
            yield f"the {what} {name} does not start with {prefix}"


def _created(feature: Feature) -> list[str]:
    """Return the names of the tables and indexes that a feature creates."""
    created = r"CREATE\s+(?:VIRTUAL\s+|UNIQUE\s+)*(?:TABLE|INDEX)\s+(?:IF\s+NOT\s+EXISTS\s+)?[\"'`\[]?(\w+)"
    scripts = [script for migrations in feature.tables.values() for script in migrations]
    return [name for script in scripts for name in re.findall(created, script, re.IGNORECASE)]
