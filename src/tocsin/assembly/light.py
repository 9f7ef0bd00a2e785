"""The parts of commands that only list: settings, channels and features. Nothing is opened."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tocsin.channels.contract import OutboundAdapter, Tools
from tocsin.channels.registry import ChannelState, Registry, discover
from tocsin.core.config.settings import LateLayer, Settings
from tocsin.features.contract import Feature
from tocsin.features.registry import find_features


class Installed(NamedTuple):
    """The installed channels and features, and a sentence for each plug-in that cannot be loaded."""

    channels: Sequence[type[OutboundAdapter]]
    features: Sequence[Feature] = ()
    problems: Sequence[str] = ()


def find_installed() -> Installed:
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

    Without `late`, the settings layers of features are not queried for unset secrets.
    """
    installed = find_installed()
    variables = [variable for channel in installed.channels for variable in channel.spec.variables]
    variables += [variable for feature in installed.features for variable in feature.variables]
    layers = late_layers(installed.features)
    settings = Settings.load(
        variables, environ=environ, data_dir=data_dir, env_file=env_file, late=layers, ask_late=late
    )
    return settings, installed


def late_layers(features: Sequence[Feature]) -> list[LateLayer]:
    """Return the settings layers of features, which are queried last."""
    return [LateLayer(each.name, each.settings_layer) for each in features if each.settings_layer]


def list_channels(settings: Settings, installed: Installed) -> list[ChannelState]:
    """Return the state of every channel; nothing is opened."""
    return Registry(installed.channels, settings, no_tools).states()


def no_tools() -> Tools:
    """Raise AssertionError."""
    raise AssertionError("a command that only lists needs no tools")
