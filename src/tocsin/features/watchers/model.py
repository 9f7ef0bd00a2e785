"""A rule that acts when files change, what changed, and how the rule is."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

from tocsin.core.errors import TocsinError

KIND = "watcher"
DEBOUNCE_MS, MAX_DEBOUNCE_MS = 500, 60_000
MAX_COOLDOWN_S = 86_400
# Who writes to a file for a minute without a pause does so for long: a log, not an upload.
LONGEST_WAIT_S = 60.0
MAX_WAITING = 100_000  # changes of one rule that wait for their turn
SHOWN_EVENTS = 50
KEPT_S = 86_400.0


class UnknownWatcherError(TocsinError):
    """There is no rule of that name."""

    code: ClassVar[str] = "not-found"


class WatchEvent(StrEnum):
    """What happened to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    MOVED = "moved"


class WatcherAction(StrEnum):
    """What a rule does."""

    SHELL = "shell"
    SKILL = "skill"
    WORKFLOW = "workflow"
    NOTIFY = "notify"


class WatcherState(StrEnum):
    """How a rule is."""

    WATCHING = "watching"
    PAUSED = "paused"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class WatcherRule:
    """One rule of `watchers.yaml`."""

    name: str
    path: Path
    command: str = ""
    action: WatcherAction = WatcherAction.SHELL
    recursive: bool = True
    patterns: tuple[str, ...] = ()
    exclude_patterns: tuple[str, ...] = ()
    events: tuple[WatchEvent, ...] = (WatchEvent.CREATED, WatchEvent.MODIFIED, WatchEvent.MOVED)
    debounce_ms: int = DEBOUNCE_MS
    cooldown_seconds: int = 0
    enabled: bool = True
    output: str = ""
    line: int = 0

    def document(self) -> dict[str, Any]:
        """Return what the file says, in its public form."""
        return {
            "name": self.name,
            "path": shown(str(self.path)),
            "recursive": self.recursive,
            "patterns": list(self.patterns),
            "exclude_patterns": list(self.exclude_patterns),
            "events": [str(event) for event in self.events],
            "action": str(self.action),
            "command": self.command,
            "debounce_ms": self.debounce_ms,
            "cooldown_seconds": self.cooldown_seconds,
            "enabled": self.enabled,
            "output": self.output or None,
        }


@dataclass(frozen=True, slots=True)
class WatchedChange:
    """A change that concerns a rule; paths are absolute and may have bytes that are no text."""

    type: WatchEvent
    path: str
    old_path: str = ""

    def params(self) -> dict[str, str]:
        """Return what the record of a run has of it."""
        moved = {"old_path": shown(self.old_path)} if self.old_path else {}
        return {"event": str(self.type), "path": shown(self.path), **moved}


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """A change as it is listed."""

    at: float
    type: str
    path: str
    run_id: str | None


@dataclass(frozen=True, slots=True)
class SeenState:
    """How a rule is, as the process sees it that watches."""

    backend: str = ""
    is_watching: bool = False
    error: str = ""


def merged(before: WatchEvent, after: WatchEvent) -> WatchEvent | None:
    """Return what two changes of one file are together; None where nothing is left of them."""
    if after is WatchEvent.DELETED:
        return None if before is WatchEvent.CREATED else WatchEvent.DELETED
    if before is WatchEvent.DELETED:
        return WatchEvent.MODIFIED  # another file has taken its place
    return before


def shown(path: str) -> str:
    """Return a path as text, with U+FFFD for bytes that are none."""
    return os.fsencode(path).decode("utf-8", "replace")


def change_of(params: Mapping[str, Any]) -> WatchedChange:
    """Return the change that the record of a run names."""
    return WatchedChange(WatchEvent(params["event"]), str(params["path"]), str(params.get("old_path", "")))
