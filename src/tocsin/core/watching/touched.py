"""What a source of events says of a folder, and what every source can do."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from tocsin.core.errors import TocsinError


class WatchBackend(StrEnum):
    """How changes are noticed."""

    INOTIFY = "inotify"
    FSEVENTS = "fsevents"
    POLLING = "polling"  # looking again and again


class WatchLimitError(TocsinError):
    """The kernel watches no more folders for this user."""

    code: ClassVar[str] = "watch-limit"


@dataclass(slots=True)
class TouchedPaths:
    """Absolute paths that were touched; the value says whether the content was written."""

    paths: dict[str, bool] = field(default_factory=dict)
    everything: bool = False  # anything may have changed


class ChangeSource(Protocol):
    """Tells what was touched in the directories that were entered."""

    backend: WatchBackend

    def enter(self, directory: str) -> None:
        """Tell what happens in a directory from now on; raises WatchLimitError. In any thread."""
        ...

    async def wait(self) -> None:
        """Return when something was touched, and nothing more for a moment."""
        ...

    def collect(self) -> TouchedPaths:
        """Return what was touched since the last call. In any thread."""
        ...

    async def aclose(self) -> None:
        """Tell no more."""
        ...
