"""The notification profiles of a data directory."""

from typing import TYPE_CHECKING

from tocsin.assembly.light import Installed, no_tools
from tocsin.channels.registry import Registry
from tocsin.core.config.settings import Settings
from tocsin.messaging.outbound.output_routing import OutputRouter
from tocsin.messaging.outbound.profiles import FILE_NAME, Profile, Profiles

if TYPE_CHECKING:
    from tocsin.assembly.program import App


def read_profiles(settings: Settings, installed: Installed) -> Profiles:
    """Return the notification profiles; nothing is opened for sending."""
    registry = Registry(installed.channels, settings, no_tools)
    path = settings.data_dir / FILE_NAME
    return Profiles(path, registry.known_kind, lambda kind: registry.spec(kind).refused)


def open_output(app: "App") -> OutputRouter:
    return OutputRouter(app.outbox, app.profiles)


def checked_profiles(app: "App") -> tuple[Profile, ...]:
    """Return the notification profiles in effect, each target checked as a send would; nothing is sent."""

    def check(channel: str, target: str) -> None:
        app.outbox.prepare(channel, target, "a text", "cli")

    return app.profiles().checked(check)
