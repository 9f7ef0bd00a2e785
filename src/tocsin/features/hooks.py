"""What a feature does, as functions that mypy checks: the constants that modules of a feature's folder define.

| Module | Constant |
|---|---|
| `hooks` | `HOOKS: FeatureHooks[…]`, which opens the feature and is asked while the program runs |
| `commands` | `COMMANDS: Commands` (`features/contract.py`), what adds the arguments of each command |
| `checks` | `CHECKS: Checks[…]`, what `tocsin doctor` looks at |
| `routes` | `OPERATIONS: OperationsOf[…]`, the operations of the REST API |
| `gateway` | `GATEWAY_ROUTES: GatewayRoutesOf[…]`, the routes of the gateway |
| `ui` | `PAGE: PageSpec` (`features/pages.py`) |

A feature has those of the modules that it needs; none is imported before it is used. The type argument is what
`FeatureHooks.open` returns, and every other function is called with that.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from tocsin.features.contract import Feature, module_of

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundMessage
    from tocsin.core.service import BackgroundService
    from tocsin.features import abilities
    from tocsin.features.context import FeatureContext, GatewayRoute, ProfileUse, SubsystemStatus
    from tocsin.messaging.inbound.handling import Handler, MessageHandler
    from tocsin.rest.operations import Operations
    from tocsin.runs.control import StartRequest
    from tocsin.runs.engine.active_run import ActiveRun
    from tocsin.runs.engine.run_type import RunType
    from tocsin.terminal.findings import Finding

S = TypeVar("S")

Answer: TypeAlias = "Callable[[InboundMessage], Awaitable[str]]"
OperationsOf: TypeAlias = Callable[[S], "Operations"]
GatewayRoutesOf: TypeAlias = Callable[[S], "Sequence[GatewayRoute]"]


class FeatureCheck(NamedTuple, Generic[S]):
    """A check of `tocsin doctor`."""

    find: "Callable[[S], AsyncIterator[Finding]]"
    at_start: bool = False  # also made when services start: for files that people wrote


Checks: TypeAlias = tuple[FeatureCheck[S], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ProvidedAbilities(Generic[S]):
    """The interfaces that a feature provides to the others: each function returns the object that has their methods."""

    skills: "Callable[[S], abilities.RunnableSkills] | None" = None
    assistants: "Callable[[S], abilities.Assistants] | None" = None
    notices: "Callable[[S], abilities.Notices] | None" = None
    secrets: "Callable[[S], abilities.Secrets] | None" = None
    schedules: "Callable[[S], abilities.Schedules] | None" = None
    chat_notes: "Callable[[S], abilities.ChatNotes] | None" = None


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureHooks(Generic[S]):
    """What an open feature does for the rest of the program."""

    open: "Callable[[FeatureContext], S]"  # what it returns is closed with the program where it has an `aclose`
    status: "Callable[[S], Awaitable[Sequence[str]]] | None" = None  # lines for `/status` of the bot
    subsystems: "Mapping[str, Callable[[S], Awaitable[SubsystemStatus]]]" = field(default_factory=dict)
    services: "Sequence[Callable[[S], BackgroundService]]" = ()
    schedulers: "Sequence[Callable[[S], BackgroundService]]" = ()  # only where schedules are kept: `up`, the dashboard
    on_start: "Callable[[S], Awaitable[None]] | None" = None  # called once when services start, beside them
    hourly: "Callable[[S], Awaitable[None]] | None" = None  # in processes that run services, such as to prune
    handlers: "Sequence[Callable[[S], MessageHandler]]" = ()  # asked about a message before the chat model is
    last_handlers: "Sequence[Callable[[S], Handler]]" = ()  # asked where no other took the message
    bot_commands: Mapping[str, Callable[[S], Answer]] = field(default_factory=dict)  # a TocsinError is told as it says
    # By topic of `Feature.live`: gets IDs, and returns by ID the records that exist, as lists of the dashboard do.
    live: Mapping[str, Callable[[S, Sequence[str]], Awaitable[Mapping[str, Any]]]] = field(default_factory=dict)
    provides: ProvidedAbilities[S] = field(default_factory=ProvidedAbilities)
    run_types: "Mapping[str, Callable[[S], RunType]]" = field(default_factory=dict)  # by kind of run
    starts: "Mapping[str, Callable[[S, str, StartRequest], Awaitable[ActiveRun]]]" = field(default_factory=dict)
    subjects: Mapping[str, Callable[[S], Awaitable[Sequence[str]]]] = field(default_factory=dict)  # what can be started
    profile_uses: "Callable[[S], Awaitable[Sequence[ProfileUse]]] | None" = None  # what sends to profiles


@dataclass(frozen=True, slots=True)
class OpenedNothing:
    """What a feature without a module `hooks` is opened as."""

    context: "FeatureContext"


NO_HOOKS = FeatureHooks[OpenedNothing](open=OpenedNothing)


def hooks_of(feature: Feature) -> FeatureHooks[Any]:
    """Import what a feature does while the program runs."""
    module = module_of(feature, "hooks")
    hooks: FeatureHooks[Any] = module.HOOKS if module else NO_HOOKS
    return hooks


def checks_of(feature: Feature) -> Checks[Any]:
    """Import the checks of a feature."""
    module = module_of(feature, "checks")
    checks: Checks[Any] = module.CHECKS if module else ()
    return checks
