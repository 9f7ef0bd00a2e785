"""Find the channels: this package's modules and the `tocsin.channels` entry points.

A channel is a module that defines one OutboundAdapter, either here or named by an entry point of another distribution.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import tocsin.channels
from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Tools
from tocsin.channels.model import TARGETS_FILE
from tocsin.core.config.core_variables import ALLOW_INSECURE_API_URL, CORE_VARIABLES
from tocsin.core.config.settings import Settings, Values, platform
from tocsin.core.config.variables import base_url
from tocsin.core.errors import ChannelError, TocsinError, UnknownChannelError
from tocsin.core.http.addresses import refuse_clear_text
from tocsin.core.plugins import describe_error, load_class, modules_in, plugin_points
from tocsin.core.reading.value import did_you_mean, near_word, shorten

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tocsin.channels.inbound import InboundAdapter
    from tocsin.channels.targets import ChannelTargets, NamedTargets
    from tocsin.core.reading.fields import RecordType

ENTRY_POINTS = "tocsin.channels"
_SLIP = 0.8  # similarity of a word with letters exchanged or left out
_TARGETS = "tocsin.channels.targets:NamedTargets"
# Modules that are not channels, skipped because importing them at every start takes time.
_NO_CHANNELS = frozenset(
    {
        "action_tokens",
        "attempt",
        "content",
        "contract",
        "conversation",
        "dressing",
        "inbound",
        "layout",
        "presses",
        "registry",
        "replies",
        "targets",
    }
)


class ChannelState(NamedTuple):
    """Whether a channel can be used here, and what is missing."""

    spec: ChannelSpec
    missing: tuple[str, ...]
    available: bool  # False if the channel needs another platform

    @property
    def configured(self) -> bool:
        """Whether messages can be sent."""
        return self.available and not self.missing

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings in `missing`, which also has what is missing in `targets.yaml`."""
        return tuple(name for name in self.missing if not name.endswith(TARGETS_FILE))

    @property
    def remedy(self) -> str:
        """Instructions that complete its setup."""
        steps = [f"set {', '.join(self.settings)}"] if self.settings else []
        if self.settings != self.missing:
            steps.append(f"add a target below `{self.spec.kind}:` to {TARGETS_FILE} in the data directory")
        return ", and ".join(steps)

    @property
    def word(self) -> str:
        """The name that people type: the product's where that is an alias, else the kind."""
        label = self.spec.label.lower()
        return label if label in self.spec.aliases else self.spec.kind


class Registry:
    """Knows every channel, and makes the adapter of a configured one at its first use.

    `tools` is called for the first adapter; listing channels does not need it.
    """

    def __init__(
        self, classes: Iterable[type[OutboundAdapter]], settings: Settings, tools: Callable[[], Tools]
    ) -> None:
        self._classes = {adapter.spec.kind: adapter for adapter in classes}
        self._names = {alias: kind for kind, adapter in self._classes.items() for alias in adapter.spec.aliases}
        self._settings = settings
        self._tools = tools
        self._adapters: dict[str, OutboundAdapter] = {}
        self._receivers: dict[str, InboundAdapter] = {}
        self.changes = 0  # how often the settings of a channel were replaced

    @property
    def settings(self) -> Settings:
        """The settings of the channels."""
        return self._settings

    @cached_property
    def targets(self) -> "NamedTargets":
        """The targets in `targets.yaml`, of the channels whose targets are names."""
        # Importing it takes as long as sending, and most channels need no such file.
        targets: NamedTargets = load_class(_TARGETS)(self._settings, [each.spec for each in self._classes.values()])
        return targets

    @property
    def services(self) -> "ChannelTargets | None":
        """The targets of the channel that reaches services by their addresses, if there is one."""
        kinds = (kind for kind, each in self._classes.items() if each.services and each.spec.targets)
        return next((self.targets.of(kind) for kind in kinds), None)

    def with_settings(self, settings: Settings) -> "Registry":
        """Return a registry of the same channels with other settings, such as to test them."""
        return Registry(self._classes.values(), settings, self._tools)

    def replace_settings(self, name: str, settings: Settings) -> None:
        """Use other settings of one channel from now on; sends in progress keep theirs."""
        kind = self.known_kind(name)
        self._settings = settings
        self._adapters.pop(kind, None)
        self._receivers.pop(kind, None)
        self.changes += 1

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of all channels, in the order in which they are shown."""
        return tuple(self._classes)

    def kind_of(self, name: str) -> str:
        """Return the kind for a kind or an alias; return unknown names unchanged."""
        word = str(name).strip().lower()
        return self._names.get(word, word)

    def kind_of_scheme(self, scheme: str) -> str:
        """Return the kind for a kind, an alias, or a scheme of Apprise; return unknown ones unchanged."""
        kinds = (kind for kind, adapter in self._classes.items() if scheme in adapter.spec.schemes)
        return next(kinds, self.kind_of(scheme))

    def known_kind(self, name: str) -> str:
        """Return the kind for a kind or an alias, configured or not; raise UnknownChannelError for any other name."""
        kind = self.kind_of(name)
        if kind not in self._classes:
            words = sorted(state.word for state in self.states())
            # People type the names of products: a kind that they do not see is suggested only for a slip in it.
            near = near_word(kind, self._classes, _SLIP) or near_word(kind, [*words, *self._names])
            raise UnknownChannelError(
                f"Unknown channel: {shorten(kind)}",
                hint=f"choose from {', '.join(words)}{did_you_mean(near)}",
            )
        return kind

    def spec(self, name: str) -> ChannelSpec:
        """Return the spec of a channel, configured or not; raise UnknownChannelError for any other name."""
        return self._classes[self.known_kind(name)].spec

    def label(self, name: str) -> str:
        """Return what people call a channel; return unknown names unchanged, such as that of a removed plug-in."""
        channel = self._classes.get(self.kind_of(name))
        return channel.spec.label if channel else name

    def states(self) -> list[ChannelState]:
        """Return the state of every channel."""
        return [self._state(adapter.spec) for adapter in self._classes.values()]

    def configured(self) -> list[str]:
        """Return the kinds that can send."""
        return [state.spec.kind for state in self.states() if state.configured]

    def configured_names(self) -> list[str]:
        """Return the kinds that can send, and their aliases."""
        return [name for s in self.states() if s.configured for name in (s.spec.kind, *s.spec.aliases)]

    def adapter(self, name: str) -> OutboundAdapter:
        """Return the adapter of a configured channel; raise UnknownChannelError otherwise."""
        kind = self.kind_of(name)
        if kind not in self._adapters:
            self._check_usable(self.known_kind(name), name)
            channel = self._classes[kind]
            config = self._settings.only(channel.spec.variables)
            self._check_addresses(channel.spec)
            tools = self._tools()
            if channel.spec.targets:
                tools = replace(tools, targets=self.targets.of(kind))
            self._adapters[kind] = _construct(channel, config, tools)
        return self._adapters[kind]

    def receiver(self, name: str) -> "InboundAdapter":
        """Return the inbound adapter of a channel that can receive; raise UnknownChannelError otherwise.

        It need not be configured: without its secret it rejects every call.
        """
        kind = self.kind_of(name)
        if kind not in self._receivers:
            channel = self._classes[self.known_kind(name)]
            receiver = channel.receiver()
            if receiver is None:
                raise UnknownChannelError(f"{channel.spec.label} cannot receive messages")
            self._check_addresses(channel.spec)
            self._receivers[kind] = receiver(self._settings.only(channel.spec.variables), self._tools())
        return self._receivers[kind]

    def bot_channel(self) -> ChannelState:
        """Return the channel that the bot uses: the first configured one that it can use, else the first one."""
        able = [state for state in self.states() if state.spec.conversation]
        return next((state for state in able if state.configured), able[0])

    def receiving(self) -> list[str]:
        """Return the kinds that can receive."""
        return [kind for kind, channel in self._classes.items() if channel.spec.inbound]

    def _state(self, spec: ChannelSpec) -> ChannelState:
        missing = tuple(self._settings.only(spec.variables).missing())
        if spec.targets and not self._has_targets(spec.kind):
            missing += (f"{spec.kind} in {TARGETS_FILE}",)
        return ChannelState(spec, missing, not spec.platform or spec.platform == self._platform(spec))

    def _has_targets(self, kind: str) -> bool:
        return (self._settings.data_dir / TARGETS_FILE).exists() and bool(self.targets.of(kind).names())

    def _platform(self, spec: ChannelSpec) -> str:
        return (spec.platform_variable and self._settings[spec.platform_variable]) or platform()

    def _check_usable(self, kind: str, name: str) -> None:
        state = self._state(self._classes[kind].spec)
        shown = state.spec.label if self.kind_of(name) == str(name) else str(name).strip()
        if not state.available:
            reason = f"(it requires the platform {state.spec.platform}, this is {self._platform(state.spec)})"
            raise UnknownChannelError(f"Unknown channel: {shown} {reason}", result=f"Unknown channel: {kind} {reason}")
        if state.missing:
            raise UnknownChannelError(
                f"Unknown channel: {shown} (not configured; {state.remedy})",
                hint=" · ".join(problem.sentence() for problem in self._settings.problems),
                missing=state.settings,
                result=f"Unknown channel: {kind} (not configured; {state.remedy})",
            )

    def _check_addresses(self, spec: ChannelSpec) -> None:
        """Refuse to send a token in clear over the Internet."""
        for variable in spec.variables:
            if variable.parse is not base_url or self._settings[ALLOW_INSECURE_API_URL]:
                continue
            refuse_clear_text(variable.name, str(self._settings[variable]))


class Discovery(NamedTuple):
    """The loaded channels, and a sentence for every plug-in that could not be loaded."""

    classes: list[type[OutboundAdapter]]
    problems: list[str]


def discover() -> Discovery:
    """Find every channel; a broken plug-in is reported and does not stop the others."""
    names = [name for name, _ in modules_in(tocsin.channels.__path__) if name not in _NO_CHANNELS]
    modules = [import_module(f"{tocsin.channels.__name__}.{name}") for name in names]
    classes = {adapter.spec.kind: adapter for module in modules for adapter in _adapters_in(module)}
    problems = []
    for point in plugin_points(ENTRY_POINTS):
        try:
            adapter = _load(point)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # code of strangers: it may raise anything at import
            problems.append(f"channel plug-in {point.name} ({point.value}) cannot be loaded: {describe_error(error)}")
            continue
        if clash := _clash(adapter.spec, [known.spec for known in classes.values()]):
            problems.append(f"channel plug-in {point.name} ({point.value}) is ignored: {clash}")
            continue
        classes[adapter.spec.kind] = adapter
    return Discovery([classes[kind] for kind in sorted(classes)], problems)


def targets_type() -> "RecordType":
    """Return the type of `targets.yaml`."""
    made: RecordType = load_class("tocsin.channels.targets:file_type")([each.spec for each in discover().classes])
    return made


def _load(point: "EntryPoint") -> type[OutboundAdapter]:
    adapter = point.load()
    if not (isinstance(adapter, type) and issubclass(adapter, OutboundAdapter)):
        raise TypeError("not a subclass of tocsin.channels.contract.OutboundAdapter")
    if not isinstance(getattr(adapter, "spec", None), ChannelSpec):
        raise TypeError("its `spec` is not a ChannelSpec")
    return adapter


def _clash(spec: ChannelSpec, known: Iterable[ChannelSpec]) -> str:
    """Return the name that `spec` shares with another channel or the core, in a sentence."""
    names = {spec.kind, *spec.aliases}
    for other in known:
        if spec.kind == other.kind:
            return f"the channel {other.kind} already exists"
        if taken := names & {other.kind, *other.aliases}:
            return f"the name {min(taken)} is already used by the channel {other.kind}"
    variables = {variable.name for other in known for variable in other.variables}
    variables |= {variable.name for variable in CORE_VARIABLES}
    taken = variables & {variable.name for variable in spec.variables}
    return f"the setting {min(taken)} is already used by another channel or by Tocsin" if taken else ""


def _construct(channel: type[OutboundAdapter], config: Values, tools: Tools) -> OutboundAdapter:
    try:
        return channel(config, tools)
    except TocsinError:
        raise
    except Exception as error:  # a plug-in's constructor may raise anything, and a send never raises
        raise ChannelError(
            f"{channel.spec.label} cannot be used: unexpected {type(error).__name__}",
            hint="this is a bug in the channel",
        ) from error


def _adapters_in(module: ModuleType) -> Iterator[type[OutboundAdapter]]:
    """Yield the adapters that a module, or package, of channels defines or re-exports."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, OutboundAdapter) and value is not OutboundAdapter:
            yield value
