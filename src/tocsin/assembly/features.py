"""Opens features on demand, and gives each one its context with the abilities that other features provide."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.core.config.core_variables import CORE_VARIABLES
from tocsin.core.errors import TocsinError
from tocsin.core.lazy import lazily
from tocsin.features.contract import Feature, LiveTopic, load_module, run_kinds
from tocsin.features.hooks import (
    FeatureHooks,
    FeatureMetrics,
    WorkHooks,
    load_hooks,
    load_metrics,
    load_work_hooks,
)

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundMessage
    from tocsin.core.config.settings import Settings, Values
    from tocsin.core.metrics import Sample
    from tocsin.features.abilities import Notices, RunStarter
    from tocsin.features.context import Abilities, FeatureContext, ProfileUse
    from tocsin.features.front_door import FrontDoor
    from tocsin.messaging.inbound.handling import Handler, MessageHandler
    from tocsin.runs.control import StartRequest
    from tocsin.runs.engine.active_run import ActiveRun
    from tocsin.runs.engine.run_type import RunType

log = logging.getLogger(__name__)

T = TypeVar("T")


class OpenFeatures:
    """The features of one program; each is opened at its first use."""

    def __init__(
        self, features: Sequence[Feature], settings: "Settings", make_context: "Callable[[], FeatureContext]"
    ) -> None:
        """`make_context` is called when the first feature is opened."""
        self.known = {feature.name: feature for feature in features}
        self._settings = settings
        self._make_context = make_context
        self._shared: FeatureContext | None = None
        self._hooks: dict[str, FeatureHooks[Any]] = {}
        self._work_hooks: dict[str, WorkHooks[Any]] = {}
        self._broken: set[tuple[str, str]] = set()  # features and their modules that cannot be imported
        self._opened: dict[str, Any] = {}
        self._run_types: dict[str, list[RunType]] = {}
        self._interfaces: dict[str, Any] = {}  # by name in `Abilities`

    def replace_notices(self, notices: "Notices") -> None:
        """Send the notices of features to `notices` from now on."""
        self._interfaces["notices"] = notices

    def opened(self, name: str) -> Any:
        if name not in self._opened:
            context = replace(self._context(), settings=self._view(self.known[name]))
            self._opened[name] = self.hooks(name).open(context)
        return self._opened[name]

    def hooks(self, name: str) -> "FeatureHooks[Any]":
        """Return the hooks of a feature, imported at the first call."""
        if name not in self._hooks:
            self._hooks[name] = load_hooks(self.known[name])
        return self._hooks[name]

    def _work(self, name: str) -> WorkHooks[Any]:
        if name not in self._work_hooks:
            self._work_hooks[name] = load_work_hooks(self.known[name])
        return self._work_hooks[name]

    def _working(self, names: Iterable[str]) -> "Iterator[tuple[str, WorkHooks[Any]]]":
        """Yield the hooks of features, followed by those of their `work` modules."""
        for name, hooks in self._usable(names):
            if work := self._tried(name, "work", partial(self._work, name)):
                yield name, hooks
                yield name, work

    def _usable(self, names: Iterable[str]) -> "Iterator[tuple[str, FeatureHooks[Any]]]":
        """Yield the hooks of the features whose module can be imported."""
        for name in names:
            if hooks := self._tried(name, "hooks", partial(self.hooks, name)):
                yield name, hooks

    def _tried(self, name: str, module: str, imported: Callable[[], T]) -> T | None:
        """Return the result of `imported`, or log its error once per module and return None."""
        if (name, module) in self._broken:
            return None
        try:
            return imported()
        except Exception:  # it may be a plug-in, with any bug: the others are used
            self._broken.add((name, module))
            log.exception("a feature cannot be used", extra={"feature": name, "part": module})
            return None

    async def aclose(self) -> None:
        """Close the opened features in reverse order; an error is logged and does not stop the others."""
        async with AsyncExitStack() as stack:
            for name, service in self._opened.items():
                stack.push_async_callback(_close, name, service)
        self._opened.clear()

    @property
    def abilities(self) -> "Abilities":
        """The abilities of the program and its features."""
        return self._context().abilities

    @property
    def run_kinds(self) -> list[str]:
        """The names of all kinds of run."""
        return run_kinds(self.known.values())

    def run_type(self, kind: str, params: "Mapping[str, Any]") -> "RunType | None":
        """Return the type of a run; `None` if no feature has one."""
        if kind not in self._run_types:
            owners = self._working(self._owners(kind))
            types = [hooks.run_types[kind](self.opened(name)) for name, hooks in owners if kind in hooks.run_types]
            self._run_types[kind] = types
        return next((found for found in self._run_types[kind] if found.owns(params)), None)

    def handlers(self) -> "list[MessageHandler]":
        """Return the message handlers that precede the chat model."""
        return list(self._each(lambda hooks: hooks.handlers))

    def last_handlers(self) -> "list[Handler]":
        """Return the handlers of messages that no other handler accepted."""
        return list(self._each(lambda hooks: hooks.last_handlers))

    def bot_commands(self, *, without: str = "") -> "dict[str, tuple[str, Callable[[InboundMessage], Awaitable[str]]]]":
        """Return the bot commands of features by name, each with its line in `/help` and its function.

        Omits those of the feature that provides the ability `without`.
        """
        return {
            command.name: (command.help, hooks.bot_commands[command.name](self.opened(name)))
            for name, hooks in self._usable(name for name, each in self.known.items() if each.bot_commands)
            if without not in self.known[name].provides
            for command in self.known[name].bot_commands
        }

    def services(self) -> list[Any]:
        return list(self._each(lambda hooks: hooks.services))

    def schedulers(self) -> list[Any]:
        """Return the background services of processes that run schedules."""
        return list(self._each(lambda hooks: hooks.schedulers))

    def gateway_routes(self) -> list[Any]:
        return [route for routes in self._constants("gateway", "GATEWAY_ROUTES") for route in routes]

    async def need_front_door(self) -> bool:
        """Whether a feature has routes of the front door that can be called."""
        for name, hooks in self._usable(self.known):
            if hooks.needs_front_door and await hooks.needs_front_door(self.opened(name)):
                return True
        return False

    async def needed_files(self) -> frozenset[str]:
        """Return the hashes of files that features need; raises what one of them raises, since files would be lost."""
        found: set[str] = set()
        for name, hooks in self._usable(self.known):
            if hooks.needed_files:
                found.update(await hooks.needed_files(self.opened(name)))
        return frozenset(found)

    def front_doors(self) -> "list[tuple[FrontDoor[Any], Any]]":
        """Return what features add to the front door, each with the service of the feature."""
        found = {
            name: self._tried(name, "front", partial(load_module, each, "front")) for name, each in self.known.items()
        }
        return [(each.FRONT_DOOR, self.opened(name)) for name, each in found.items() if each]

    def dashboard_routes(self) -> list[Any]:
        return self._constants("routes", "OPERATIONS")

    def _constants(self, module: str, constant: str) -> list[Any]:
        found = {
            name: self._tried(name, module, partial(load_module, feature, module))
            for name, feature in self.known.items()
        }
        usable = [name for name, _ in self._usable(name for name, each in found.items() if each)]
        return [getattr(found[name], constant)(self.opened(name)) for name in usable]

    def metrics(self) -> "list[tuple[str, FeatureMetrics[Any]]]":
        """Return the metrics of features, by name."""
        found = {name: self._tried(name, "metrics", partial(load_metrics, each)) for name, each in self.known.items()}
        return [(name, metrics) for name, _ in self._usable(found) if (metrics := found[name])]

    async def read_metrics(self, feature: str, metrics: FeatureMetrics[Any]) -> "Iterable[Sample]":
        return await metrics.read(self.opened(feature))

    def live_topics(self) -> "list[tuple[LiveTopic, Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]]]":
        """Return the live topics of features, each with the function that returns records by ID."""
        return [
            (live, partial(self._live_records, feature.name, live.topic))
            for feature in self.known.values()
            for live in feature.live
        ]

    async def _live_records(self, feature: str, topic: str, ids: Sequence[str]) -> "Mapping[str, Any]":
        return await self.hooks(feature).live[topic](self.opened(feature), ids)

    async def status_lines(self) -> list[str]:
        """Return the lines that features without a subsystem add to the bot's `/status`.

        A feature that raises TocsinError is logged and omitted.
        """
        lines: list[str] = []
        for name, hooks in self._usable(name for name, feature in self.known.items() if not feature.subsystems):
            try:
                if hooks.status:
                    lines += await hooks.status(self.opened(name))
            except TocsinError as error:
                log.warning(
                    "the status of a feature is unavailable", extra={"feature": name, "reason": error.sentence()}
                )
        return lines

    async def profile_uses(self) -> "list[ProfileUse]":
        """Return the subjects that send to notification profiles."""
        found: list[ProfileUse] = []
        for name, hooks in self._usable(self.known):
            if hooks.profile_uses:
                found += await hooks.profile_uses(self.opened(name))
        return found

    async def start(self) -> None:
        """Call the `on_start` hooks."""
        await self._call_each(lambda hooks: hooks.on_start, "a feature did not start")

    async def each_hour(self) -> None:
        """Call the `hourly` hooks."""
        await self._call_each(lambda hooks: hooks.hourly, "the hourly work of a feature failed")

    async def _call_each(
        self, hook: "Callable[[FeatureHooks[Any]], Callable[[Any], Awaitable[None]] | None]", failed: str
    ) -> None:
        for name, hooks in self._usable(self.known):
            try:
                if work := hook(hooks):
                    await work(self.opened(name))
            except TocsinError as error:
                log.warning(failed, extra={"feature": name, "reason": error.sentence()})
            except Exception:  # it may be a plug-in: the work of the others, and the services, go on
                log.exception(failed, extra={"feature": name})

    def _each(self, parts: "Callable[[WorkHooks[Any]], Sequence[Callable[[Any], T]]]") -> "list[T]":
        return [part(self.opened(name)) for name, hooks in self._working(self.known) for part in parts(hooks)]

    def _context(self) -> "FeatureContext":
        if self._shared is None:
            own = self._make_context()
            providers = {name: [feature.name] for feature in self.known.values() for name in feature.provides}
            # A feature is opened when its interface is first used: those that need each other are opened in any order.
            interfaces: dict[str, Any] = {
                name: lazily(partial(self._interface, name, providers.get(name, ()), getattr(own.abilities, name)))
                for name in {*providers, "notices"}
            }
            interfaces["run_starter"] = FeatureRunStarter(self, own.abilities.run_starter)
            self._shared = replace(own, abilities=replace(own.abilities, **interfaces))
        return self._shared

    def _view(self, feature: Feature) -> "Values":
        """Return the settings of a feature and the non-secret settings of the core."""
        return self._settings.only([*(v for v in CORE_VARIABLES if not v.secret), *feature.variables])

    def _interface(self, name: str, providers: Sequence[str], otherwise: Any) -> Any:
        """Return the object that provides an interface, or `otherwise` if no feature does or its module is broken."""
        if name not in self._interfaces:
            usable = [getattr(hooks.provides, name)(self.opened(each)) for each, hooks in self._usable(providers)]
            self._interfaces[name] = usable[0] if usable else otherwise
        return self._interfaces[name]

    def owners(self, kind: str) -> "Iterator[tuple[str, FeatureHooks[Any]]]":
        """Yield the features that have a kind of run, and their hooks."""
        return self._usable(self._owners(kind))

    def _owners(self, kind: str) -> list[str]:
        return [name for name, feature in self.known.items() if kind in feature.run_kinds]


class FeatureRunStarter:
    """Starts runs of the kinds that features have: `RunStarter`."""

    def __init__(self, features: OpenFeatures, otherwise: "RunStarter") -> None:
        """`otherwise` handles kinds that no feature starts."""
        self._features = features
        self._otherwise = otherwise

    async def start(self, kind: str, subject: str, request: "StartRequest", /) -> "ActiveRun":
        for name, hooks in self._features.owners(kind):
            if start := hooks.starts.get(kind):
                return await start(self._features.opened(name), subject, request)
        return await self._otherwise.start(kind, subject, request)

    async def subjects(self, kind: str, /) -> "Sequence[str] | None":
        """Return the names that a run of a kind can start; None if its feature does not list them."""
        for name, hooks in self._features.owners(kind):
            if kind in hooks.starts:
                listed = hooks.subjects.get(kind)
                return await listed(self._features.opened(name)) if listed else None
        return await self._otherwise.subjects(kind)


async def _close(name: str, service: Any) -> None:
    if hasattr(service, "aclose"):
        try:
            await service.aclose()
        except Exception:  # it may be a plug-in
            log.exception("a feature could not be closed", extra={"feature": name})
