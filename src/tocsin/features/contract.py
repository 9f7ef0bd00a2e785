"""What a feature is, as data: everything that the rest of the program iterates over.

A feature is one folder whose `feature.py` defines `FEATURE`. Every start of the command imports that module, so
it imports this one, `core/config/variables`, `core/audit/actions` and modules that hold only text. What the feature
does is in other modules of the folder, under names that `hooks.py` lists; they are imported when they are needed.
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


# By the words of the command, such as `skills why`. Each gets the argument parser and sets `run`, which is called with
# the arguments, the console and a `Program` (`terminal/program.py`), and returns the exit code.
Commands: TypeAlias = "Mapping[str, Callable[[ArgumentParser], None]]"


class FeatureCommand(NamedTuple):
    """A command of `tocsin`; `COMMANDS` of the module `commands` has what adds its arguments."""

    name: str
    help: str  # what `tocsin --help` says: a lower-case phrase
    under: str = ""  # a command of another feature that has subcommands: then it is one more of them
    group: str = AUTOMATION  # of `tocsin --help`; see `terminal/command_table.py`

    @property
    def words(self) -> str:
        """How it is typed, without `tocsin`."""
        return f"{self.under} {self.name}".strip()


class BotCommand(NamedTuple):
    """A command of the bot, besides the bot's own."""

    name: str  # lower-case letters
    help: str  # what `/help` says: a lower-case phrase


class Subsystem(NamedTuple):
    """A part of Tocsin with a state of its own, on Home and in `tocsin status`."""

    name: str
    title: str
    place: int = 9999  # among the others: the lowest comes first
    page: str = ""  # of the dashboard, without `#/`


class LiveTopic(NamedTuple):
    """Records whose changes the dashboard tells at once.

    Changes reach it through the table of changes: a migration has the triggers that
    `tocsin.core.storage.changes.recorded` returns.
    """

    topic: str  # of the changes
    event: str  # events are called after it: `job` is told as `job.updated` and `job.deleted`
    tells_new: bool = False  # a new one is told as `job.created`, else as an update, too


# Every start makes this class: without `__eq__`, `__repr__` and slots that takes half as long.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Feature:
    """One feature."""

    name: str  # of the folder, a Python identifier
    package: str | None = None  # that holds its modules: `__package__` of `feature.py`
    summary: str  # a sentence without a full stop
    page: str = ""  # its page below docs/, or the address of one
    variables: "tuple[Variable[Any], ...]" = ()
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by component: the migrations in order
    audit_actions: "tuple[AuditAction, ...]" = ()
    audit_sources: "tuple[AuditSource, ...]" = ()
    commands: tuple[FeatureCommand, ...] = ()

    # Sets secret settings that no other place sets, and those alone; all its values are masked. It gets the data
    # directory and the settings so far. Called at every start: it takes no time where it has none.
    settings_layer: "Callable[[Path, Values], SecretStore] | None" = None

    subsystems: tuple[Subsystem, ...] = ()  # whose state it tells; of one of the core, its part
    bot_commands: tuple[BotCommand, ...] = ()
    live: tuple[LiveTopic, ...] = ()
    provides: tuple[str, ...] = ()  # abilities (`Abilities`) that it gives to the others
    run_kinds: tuple[str, ...] = ()  # kinds of run, such as `cron`

    @property
    def label(self) -> str:
        """What headings call it."""
        return self.name.replace("_", " ").capitalize()


def run_kinds(features: Iterable[Feature]) -> list[str]:
    """Return the kinds of run that features have, by name."""
    return sorted({kind for feature in features for kind in feature.run_kinds})


def module_of(feature: Feature, name: str) -> "ModuleType | None":
    """Import a module of a feature's folder; `None` where it has none of this name."""
    full = f"{feature.package}.{name}"
    return import_module(full) if feature.package and find_spec(full) else None


def commands_of(feature: Feature) -> Commands:
    """Import the commands of a feature."""
    module = module_of(feature, "commands")
    commands: Commands = module.COMMANDS if module else {}
    return commands
