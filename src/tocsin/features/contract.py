"""The description of a feature as data: everything that the rest of the program iterates over.

A feature is one folder whose `feature.py` defines `FEATURE`. Every command imports that module at start, so it
imports only this module, `core/config/variables`, `core/audit/actions` and modules that hold text. The behaviour of
the feature is in other modules of the folder, under names that `hooks.py` lists; they are imported when they are
needed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tocsin.terminal.command_table import AUTOMATION

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path
    from types import ModuleType

    from tocsin.core.audit.actions import AuditAction, AuditSource
    from tocsin.core.config.settings import SecretStore, Values
    from tocsin.core.config.variables import Variable


# Keyed by the words of the command, such as `skills why`. Each function configures the argument parser and sets
# `run`, which is called with the arguments, the console and a `Program` (`terminal/program.py`) and returns the exit
# code.
Commands: TypeAlias = "Mapping[str, Callable[[ArgumentParser], None]]"

# By path in the feature's folder: returns the text of a file that `make docs` writes.
GeneratedFiles: TypeAlias = "Mapping[str, Callable[[], str]]"


class FeatureCommand(NamedTuple):
    """A command of `tocsin`. `COMMANDS` of the module `commands` has the function that adds its arguments."""

    name: str
    help: str  # shown by `tocsin --help`: a lower-case phrase
    under: str = ""  # the parent: a command of another feature that has subcommands
    group: str = AUTOMATION  # the group in `tocsin --help`; see `terminal/command_table.py`

    @property
    def words(self) -> str:
        """The words of the command, without `tocsin`."""
        return f"{self.under} {self.name}".strip()


class BotCommand(NamedTuple):
    """A command of the bot that a feature adds."""

    name: str  # lower-case letters
    help: str  # shown by `/help`: a lower-case phrase


class Subsystem(NamedTuple):
    """A part of Tocsin with its own state on Home and in `tocsin status`."""

    name: str
    title: str
    place: int = 9999  # position among the subsystems: the lowest comes first
    page: str = ""  # its page in the dashboard, without `#/`
    optional: bool = False  # shown only once it is in use


class WrittenFile(NamedTuple):
    """A kind of YAML file that people write, from whose declaration its JSON Schema is made."""

    name: str  # the name of the schema
    place: str  # below the data directory; may have `*`: `cron.d/*.yaml`
    summary: str  # a lower-case phrase
    # `module:NAME` of the type that reads it, or of a function that returns that type or the schema.
    declaration: str


PROFILES = WrittenFile(  # of the core, which is no feature
    "profiles",
    "profiles.yaml",
    "notification profiles: named lists of targets",
    "tocsin.messaging.outbound.profiles:PROFILES",
)


TARGETS = WrittenFile(
    "targets",
    "targets.yaml",
    "addresses and secrets behind the names that some channels have as targets",
    "tocsin.channels.registry:targets_type",
)
CORE_FILES = (PROFILES, TARGETS)


class LiveTopic(NamedTuple):
    """Records whose changes the dashboard shows live.

    The changes are read from the table of changes: add the triggers that `tocsin.core.storage.changes.recorded`
    returns in a migration.
    """

    topic: str  # topic of the changes
    event: str  # prefix of the events: `job` gives `job.updated` and `job.deleted`
    tells_new: bool = False  # send `job.created` for a new record; by default it is sent as an update


# Every command creates this class: omitting `__eq__`, `__repr__` and slots halves the time that takes.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Feature:
    """The description of one feature."""

    name: str  # the name of the folder, a Python identifier
    title: str = ""  # in headings, where the name with a capital letter is not right
    package: str | None = None  # the package of its modules: `__package__` of `feature.py`
    summary: str  # a sentence without a full stop
    page: str = ""  # its page below docs/, or a URL
    variables: "tuple[Variable[Any], ...]" = ()
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)  # migrations in order, by component
    audit_actions: "tuple[AuditAction, ...]" = ()
    audit_sources: "tuple[AuditSource, ...]" = ()
    commands: tuple[FeatureCommand, ...] = ()

    # Returns values for secret settings that have no value elsewhere, and only those; all are masked. It is called
    # with the data directory and the settings read so far, at every start: it must be fast if it has no values.
    settings_layer: "Callable[[Path, Values], SecretStore] | None" = None

    files: tuple[WrittenFile, ...] = ()  # that people write, in YAML
    subsystems: tuple[Subsystem, ...] = ()  # whose state it reports; of one of the core, its part
    bot_commands: tuple[BotCommand, ...] = ()
    live: tuple[LiveTopic, ...] = ()
    provides: tuple[str, ...] = ()  # the names of the `Abilities` that it provides to other features
    run_kinds: tuple[str, ...] = ()  # kinds of run, such as `cron`

    @property
    def label(self) -> str:
        """The name of the feature in headings."""
        return self.title or self.name.replace("_", " ").capitalize()


def run_kinds(features: Iterable[Feature]) -> list[str]:
    """Return the kinds of run of all features, sorted."""
    return sorted({kind for feature in features for kind in feature.run_kinds})


def load_module(feature: Feature, name: str) -> "ModuleType | None":
    """Import a module of a feature's package; `None` if it does not exist."""
    full = f"{feature.package}.{name}"
    return import_module(full) if feature.package and find_spec(full) else None


def load_commands(feature: Feature) -> Commands:
    module = load_module(feature, "commands")
    commands: Commands = module.COMMANDS if module else {}
    return commands
