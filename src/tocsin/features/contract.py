"""What a feature is, as data: everything that the rest of the program iterates over.

A feature is one folder whose `feature.py` defines `FEATURE`. Every start of the command imports that module, so
it imports this one, `core/config/variables`, `core/audit/actions` and modules that hold only text. Whatever does
the work is named as `"package.module:attribute"` and imported when it is needed.

`open` makes the feature's service from a `FeatureContext`; all other functions that are named here get what `open`
returned, or the context where a feature has no `open`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.terminal.command_table import AUTOMATION

if TYPE_CHECKING:
    from tocsin.core.audit.actions import AuditAction, AuditSource
    from tocsin.core.config.variables import Variable

Name = str  # "package.module:attribute"


class FeatureCommand(NamedTuple):
    """A command of `tocsin`.

    `configure` gets the argument parser. What it sets as `run` is called with the arguments, the console and a
    `Program` (`terminal/program.py`), and returns the exit code.
    """

    name: str
    help: str  # what `tocsin --help` says: a lower-case phrase
    configure: Name
    under: str = ""  # a command of another feature that has subcommands: then it is one more of them
    group: str = AUTOMATION  # of `tocsin --help`; see `terminal/command_table.py`

    @property
    def words(self) -> str:
        """How it is typed, without `tocsin`."""
        return f"{self.under} {self.name}".strip()


class FeatureCheck(NamedTuple):
    """A check of `tocsin doctor`: `find` returns an asynchronous iterator of `Finding`."""

    find: Name
    at_start: bool = False  # also made when services start: for files that people wrote


class BotCommand(NamedTuple):
    """A command of the bot, besides the bot's own.

    `answer` returns an async function that gets the message and returns the reply's text; a TocsinError that it
    raises is told in a sentence.
    """

    name: str  # lower-case letters
    help: str  # what `/help` says: a lower-case phrase
    answer: Name


class LiveTopic(NamedTuple):
    """Records whose changes the dashboard tells at once.

    Changes reach it through the table of changes: a migration has the triggers that
    `tocsin.core.storage.changes.recorded` returns.
    """

    topic: str  # of the changes
    event: str  # events are called after it: `job` is told as `job.updated` and `job.deleted`
    records: Name  # async: gets IDs as well, returns by ID the records that exist, as lists of the dashboard show them
    tells_new: bool = False  # a new one is told as `job.created`, else as an update, too


# Every start makes this class: without `__eq__`, `__repr__` and slots that takes half as long.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Feature:
    """One feature."""

    name: str  # of the folder, a Python identifier
    summary: str  # a sentence without a full stop
    page: str = ""  # its page below docs/, or the address of one
    package: str = ""  # of its modules; the registry fills it in
    variables: "tuple[Variable[Any], ...]" = ()
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by component: the migrations in order
    audit_actions: "tuple[AuditAction, ...]" = ()
    audit_sources: "tuple[AuditSource, ...]" = ()
    commands: tuple[FeatureCommand, ...] = ()

    # Sets secret settings that no other place sets, and those alone; all its values are masked. Gets the data directory
    # and the settings so far, returns a `SecretStore`. Called at every start: it takes no time where it has none.
    settings_layer: Name = ""

    open: Name = ""  # returns the feature's service; closed with the program where that has an `aclose`
    checks: tuple[FeatureCheck, ...] = ()
    status: Name = ""  # async: returns lines for `/status` of the bot
    subsystems: Mapping[str, Name] = field(default_factory=dict)  # by subsystem, such as cron: a `SubsystemStatus`
    services: tuple[Name, ...] = ()  # each returns a `Service`: it runs beside the others until it is told to stop
    schedulers: tuple[Name, ...] = ()  # the same, only where schedules are kept: in `up` and the dashboard
    on_start: Name = ""  # async: called once when services start, beside them
    hourly: Name = ""  # async: called once an hour in processes that run services, such as to prune
    handlers: tuple[Name, ...] = ()  # each returns a `MessageHandler`: asked before the chat model is
    last_handlers: tuple[Name, ...] = ()  # each returns a `Handler`: asked where no other took the message
    bot_commands: tuple[BotCommand, ...] = ()
    gateway_routes: Name = ""  # returns `GatewayRoute`s
    dashboard_routes: Name = ""  # returns a router of the dashboard's web framework
    live: tuple[LiveTopic, ...] = ()
    provides: Mapping[str, Name] = field(default_factory=dict)  # by ability (`Abilities`): returns the function
    starts: Mapping[str, Name] = field(default_factory=dict)  # by kind of run: async, starts it; see `StartRun`
    run_types: Mapping[str, Name] = field(default_factory=dict)  # by kind of run: returns its `RunType`
    subjects: Mapping[str, Name] = field(default_factory=dict)  # by kind of run: async, lists what can be started
    profile_uses: Name = ""  # async: lists what sends to notification profiles, as `ProfileUse`s

    @property
    def label(self) -> str:
        """What headings call it."""
        return self.name.replace("_", " ").capitalize()


def run_kinds(features: Iterable[Feature]) -> list[str]:
    """Return the kinds of run that features have, by name."""
    return sorted({kind for feature in features for kind in feature.run_types})


def load(name: Name) -> Any:
    """Import what a feature names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
