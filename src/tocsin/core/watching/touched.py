"""The interface of event sources for a folder."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from tocsin.core.errors import TocsinError


class WatchBackend(StrEnum):
    """The method of detecting changes."""

    INOTIFY = "inotify"
    FSEVENTS = "fsevents"
    POLLING = "polling"  # repeated scans


class WatchLimitError(TocsinError):
    """The kernel's limit of watched folders is reached for this user."""

    code: ClassVar[str] = "watch-limit"


@dataclass(slots=True)
class TouchedPaths:
    """Absolute paths with events; the value is whether the content was written."""

    paths: dict[str, bool] = field(default_factory=dict)
    everything: bool = False  # anything may have changed


class ChangeSource(Protocol):
    """Reports events in the directories that were entered."""

    backend: WatchBackend

    def enter(self, directory: str) -> None:
        """Report events in a directory from now on; raises WatchLimitError. Thread-safe."""

    async def wait(self) -> None:
        """Wait for events, and until there are none for a moment."""

    def collect(self) -> TouchedPaths:
        """Return the events since the last call. Thread-safe."""

    async def aclose(self) -> None:
        """Stop reporting."""
