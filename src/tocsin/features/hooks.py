"""The behaviour of a feature as typed functions: the constants that the modules of a feature's folder define.

| Module | Constant |
|---|---|
| `hooks` | `HOOKS: FeatureHooks[…]`, which opens the feature and is called while the program runs |
| `work` | `WORK: WorkHooks[…]`, the services, handlers and kinds of run that load too much for `hooks` |
| `commands` | `COMMANDS: Commands` (`features/contract.py`), the functions that add the arguments of each command |
| `checks` | `CHECKS: Checks[…]`, the checks of `tocsin doctor` |
| `routes` | `OPERATIONS: OperationsOf[…]`, the operations of the REST API |
| `gateway` | `GATEWAY_ROUTES: GatewayRoutesOf[…]`, the routes of the gateway |
| `front` | `FRONT_DOOR: FrontDoor[…]` (`features/front_door.py`), the routes of the front door |
| `metrics` | `METRICS: FeatureMetrics[…]`, metrics for Prometheus |
| `ui` | `PAGE: PageSpec` (`features/pages.py`) |
| `generated` | `GENERATED: GeneratedFiles` (`features/contract.py`), files of the folder that `make docs` writes |

A feature defines only the modules that it needs; each is imported when it is first used. The type argument is the
return type of `FeatureHooks.open`; every other function is called with that object.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from tocsin.features.contract import Feature, load_module

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundMessage
    from tocsin.core.metrics import Metric, Sample
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
    at_start: bool = False  # also run when services start: for files that people write


Checks: TypeAlias = tuple[FeatureCheck[S], ...]


@dataclass(frozen=True, eq=False, repr=False)
class FeatureMetrics(Generic[S]):
    """The metrics of a feature. They begin with `tocsin_` and the name of the feature, also in the singular."""

    metrics: "Sequence[Metric]"
    read: "Callable[[S], Awaitable[Iterable[Sample]]]"  # called every few seconds: it must be cheap


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProvidedAbilities(Generic[S]):
    """The interfaces that a feature provides: each function returns the object that implements the interface."""

    skills: "Callable[[S], abilities.RunnableSkills] | None" = None
    assistants: "Callable[[S], abilities.Assistants] | None" = None
    notices: "Callable[[S], abilities.Notices] | None" = None
    secrets: "Callable[[S], abilities.Secrets] | None" = None
    schedules: "Callable[[S], abilities.Schedules] | None" = None
    chat_notes: "Callable[[S], abilities.ChatNotes] | None" = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WorkHooks(Generic[S]):
    """The functions of an open feature for processes that receive messages or run something."""

    services: "Sequence[Callable[[S], BackgroundService]]" = ()
    schedulers: "Sequence[Callable[[S], BackgroundService]]" = ()  # only where schedules run: `up`, the dashboard
    handlers: "Sequence[Callable[[S], MessageHandler]]" = ()  # called for each message before the chat model
    last_handlers: "Sequence[Callable[[S], Handler]]" = ()  # called if no other handler accepted the message
    run_types: "Mapping[str, Callable[[S], RunType]]" = field(default_factory=dict)  # by kind of run


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FeatureHooks(WorkHooks[S]):
    """The functions of an open feature that the rest of the program calls.

    Those of `WorkHooks` stand in the module `work` if they load much: listing commands do not import it.
    """

    open: "Callable[[FeatureContext], S]"  # its result is closed with the program if it has an `aclose`
    status: "Callable[[S], Awaitable[Sequence[str]]] | None" = None  # lines for `/status` of the bot
    subsystems: "Mapping[str, Callable[[S], Awaitable[SubsystemStatus]]]" = field(default_factory=dict)
    on_start: "Callable[[S], Awaitable[None]] | None" = None  # called once when services start, without blocking them
    hourly: "Callable[[S], Awaitable[None]] | None" = None  # in processes that run services, for example to prune
    bot_commands: Mapping[str, Callable[[S], Answer]] = field(default_factory=dict)  # a TocsinError is sent as text
    # By topic of `Feature.live`: called with IDs, and returns the existing records by ID in the form of the
    # dashboard's lists.
    live: Mapping[str, Callable[[S, Sequence[str]], Awaitable[Mapping[str, Any]]]] = field(default_factory=dict)
    needs_front_door: "Callable[[S], Awaitable[bool]] | None" = None  # asked until True: then the front door opens
    provides: ProvidedAbilities[S] = field(default_factory=ProvidedAbilities)
    starts: "Mapping[str, Callable[[S, str, StartRequest], Awaitable[ActiveRun]]]" = field(default_factory=dict)
    subjects: Mapping[str, Callable[[S], Awaitable[Sequence[str]]]] = field(default_factory=dict)  # that can be started
    needed_files: "Callable[[S], Awaitable[Collection[str]]] | None" = None  # hashes of files that wait for a message
    profile_uses: "Callable[[S], Awaitable[Sequence[ProfileUse]]] | None" = None  # the subjects that send to profiles


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenedNothing:
    """The opened form of a feature without a `hooks` module."""

    context: "FeatureContext"


NO_HOOKS = FeatureHooks[OpenedNothing](open=OpenedNothing)


def load_hooks(feature: Feature) -> FeatureHooks[Any]:
    module = load_module(feature, "hooks")
    hooks: FeatureHooks[Any] = module.HOOKS if module else NO_HOOKS
    return hooks


def load_work_hooks(feature: Feature) -> WorkHooks[Any]:
    """Import the functions of a feature for processes that receive messages or run something."""
    module = load_module(feature, "work")
    hooks: WorkHooks[Any] = module.WORK if module else WorkHooks()
    return hooks


def load_checks(feature: Feature) -> Checks[Any]:
    module = load_module(feature, "checks")
    checks: Checks[Any] = module.CHECKS if module else ()
    return checks


def load_metrics(feature: Feature) -> FeatureMetrics[Any] | None:
    """Import the metrics of a feature; raises ValueError if a name could be that of another feature's metric."""
    module = load_module(feature, "metrics")
    metrics: FeatureMetrics[Any] | None = module.METRICS if module else None
    begin = f"tocsin_{feature.name.removesuffix('s')}"
    if wrong := [each.name for each in metrics.metrics if not each.name.startswith(begin)] if metrics else []:
        raise ValueError(f"metrics of {feature.name} must begin with tocsin_{feature.name}: {', '.join(wrong)}")
    return metrics
