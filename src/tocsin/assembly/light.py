"""What a command that only lists needs: settings, channels and features. It opens nothing and loads little."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.channels.contract import OutboundAdapter, Tools
from tocsin.channels.registry import ChannelState, Registry, discover
from tocsin.core.config.settings import LateLayer, Settings
from tocsin.features.registry import find_features

if TYPE_CHECKING:
    from tocsin.features.contract import Feature


class Installed(NamedTuple):
    """The channels and features there are, and a sentence for every plug-in that cannot be used."""

    channels: Sequence[type[OutboundAdapter]]
    features: "Sequence[Feature]" = ()
    problems: Sequence[str] = ()


def find_installed() -> Installed:
    """Find every channel and feature."""
    channels, features = discover(), find_features()
    return Installed(channels.classes, features.features, [*channels.problems, *features.problems])


def load_settings(
    *,
    data_dir: Path | None = None,
    env_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    late: bool = True,
) -> tuple[Settings, Installed]:
    """Read the settings of the core and of every channel and feature; `environ` replaces the environment.

    Without `late`, no feature is asked for the secrets that are not set.
    """
    installed = find_installed()
    variables = [variable for channel in installed.channels for variable in channel.spec.variables]
    variables += [variable for feature in installed.features for variable in feature.variables]
    layers = late_layers(installed.features)
    settings = Settings.load(
        variables, environ=environ, data_dir=data_dir, env_file=env_file, late=layers, ask_late=late
    )
    return settings, installed


def late_layers(features: "Sequence[Feature]") -> list[LateLayer]:
    """Return where settings are looked up last: the stores of secrets that features have."""
    return [LateLayer(each.name, each.settings_layer) for each in features if each.settings_layer]


def list_channels(settings: Settings, installed: Installed) -> list[ChannelState]:
    """Return the state of every channel; nothing is opened."""
    return Registry(installed.channels, settings, no_tools).states()


def no_tools() -> Tools:
    """Raise: a command that only lists needs no tools."""
    raise AssertionError("a command that only lists needs no tools")
