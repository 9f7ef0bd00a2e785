"""The model of watcher rules, changes and states."""

import os
import pwd
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tocsin.core.errors import NotFoundError
from tocsin.core.reading.fields import BooleanType, ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.path_patterns import PathPatterns
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Converted, Flat, Private, TextOrNull, Time
from tocsin.core.text.shell import MAX_COMMAND, read_command
from tocsin.runs.model import RunSummary

KIND = "watcher"
DEBOUNCE_MS, MAX_DEBOUNCE_MS = 500, 60_000
MAX_COOLDOWN_S = 86_400
# Who writes to a file for a minute without a pause does so for long: a log, not an upload.
LONGEST_WAIT_S = 60.0
MAX_WAITING = 100_000  # changes of one rule that wait for their turn
SHOWN_EVENTS = 50
KEPT_S = 86_400.0


class UnknownWatcherError(NotFoundError):
    """There is no rule of that name."""


class WatchEvent(StrEnum):
    """The kind of change of a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    MOVED = "moved"


class WatcherAction(StrEnum):
    """The action of a rule."""

    SHELL = "shell"
    SKILL = "skill"
    WORKFLOW = "workflow"
    NOTIFY = "notify"


class WatcherState(StrEnum):
    """The state of a rule."""

    WATCHING = "watching"
    PAUSED = "paused"
    ERROR = "error"


def _path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("a path must not contain a NUL character")
    path = Path(text)
    if text == "~" or text.startswith("~/"):
        path = Path(pwd.getpwuid(os.geteuid()).pw_dir) / text[2:]
    if not path.is_absolute():
        raise ValueError("expected the absolute path of a folder, or a path that starts with ~/")
    return Path(os.path.normpath(path))


def _pattern(text: str) -> str:
    PathPatterns([text])  # raises ValueError
    if not text.strip() or text.startswith("#"):
        raise ValueError("this pattern matches no file; put \\ before a # at its beginning")
    return text


def _shown_path(path: Path) -> str:
    return shown(str(path))


_NAME = TextType(
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    rule="not a valid watcher name: use letters, digits and . _ -, at most 100",
)
_PATTERNS = ListType(TextType(parse=_pattern, schema={"pattern": "^[^#]"}))
_PATH = TextType(parse=_path, schema={"type": "string", "pattern": "^(/|~/|~$)"})
_COMMAND_TYPE = TextType(parse=read_command, schema={"maxLength": MAX_COMMAND})
_EVENTS = ListType(ChoiceType(tuple(map(str, WatchEvent))), allow_empty=False)
_ACTION = ChoiceType(tuple(map(str, WatcherAction)))
_COMMAND = "Command, name of a skill or workflow, or text"
_OUTPUT = "Destination of the output: `<channel>:<target>` or a profile"


@dataclass(frozen=True, slots=True)
class WatcherRule:
    """One rule of `watchers.yaml`."""

    name: Annotated[str, Written(_NAME), "Name of the watcher"]
    path: Annotated[Path, Written(_PATH), Converted(_shown_path, str), "The folder"]
    command: Annotated[str, Written(_COMMAND_TYPE, inferred=True), _COMMAND] = ""
    action: Annotated[WatcherAction, Written(_ACTION), "Type of action"] = WatcherAction.SHELL
    recursive: Annotated[bool, Written(BooleanType()), "Whether subfolders are watched"] = True
    patterns: Annotated[
        tuple[str, ...], Written(_PATTERNS), "Files to include, in the syntax of `.gitignore` (default: all)"
    ] = ()
    exclude_patterns: Annotated[tuple[str, ...], Written(_PATTERNS), "Files to exclude"] = ()
    events: Annotated[tuple[WatchEvent, ...], Written(_EVENTS), "Events that run the action"] = (
        WatchEvent.CREATED,
        WatchEvent.MODIFIED,
        WatchEvent.MOVED,
    )
    debounce_ms: Annotated[
        int, Written(IntegerType(0, MAX_DEBOUNCE_MS)), "Time without changes before a file is processed"
    ] = DEBOUNCE_MS
    cooldown_seconds: Annotated[int, Written(IntegerType(0, MAX_COOLDOWN_S)), "Minimum time between two runs"] = 0
    enabled: Annotated[bool, Written(BooleanType()), "Whether the watcher is enabled"] = True
    output: Annotated[TextOrNull, Written(TextType(), nullable=True, inferred=True), _OUTPUT] = ""
    line: Private[int] = 0


@dataclass(frozen=True, slots=True)
class WatchedChange:
    """A change that concerns a rule; paths are absolute and may have bytes that are no text."""

    type: WatchEvent
    path: str
    old_path: str = ""

    def params(self) -> dict[str, str]:
        """Return the fields of the change for the record of a run."""
        moved = {"old_path": shown(self.old_path)} if self.old_path else {}
        return {"event": str(self.type), "path": shown(self.path), **moved}


@dataclass(frozen=True, slots=True)
class FileEvent:
    """Change of a file."""

    at: Time
    type: WatchEvent
    path: str


@dataclass(frozen=True, slots=True)
class SeenEvent(FileEvent):
    """Change of a file, and the action that followed."""

    schema_name: ClassVar[str] = "WatcherEvent"

    run_id: str | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WatcherRecord:
    """Watcher rule with its state."""

    rule: Flat[WatcherRule]
    state: WatcherState
    error: TextOrNull
    backend: Annotated[TextOrNull, "How changes are detected: `inotify`, `fsevents` or `polling`."]
    last_event: FileEvent | None
    last_run: RunSummary | None
    events_24h: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WatcherWithEvents:
    """Watcher rule with its latest changes."""

    record: Flat[WatcherRecord]
    recent: Annotated[Sequence[SeenEvent], "Newest 50 changes."]


@dataclass(frozen=True, slots=True)
class SeenState:
    """The state of a rule in the process that watches."""

    backend: str = ""
    is_watching: bool = False
    error: str = ""


def merged(before: WatchEvent, after: WatchEvent) -> WatchEvent | None:
    """Merge two changes of one file; return `None` if they cancel each other."""
    if after is WatchEvent.DELETED:
        return None if before is WatchEvent.CREATED else WatchEvent.DELETED
    if before is WatchEvent.DELETED:
        return WatchEvent.MODIFIED  # another file has taken its place
    return before


def shown(path: str) -> str:
    """Return a path as text, with U+FFFD for invalid bytes."""
    return os.fsencode(path).decode("utf-8", "replace")


def change_of(params: Mapping[str, Any]) -> WatchedChange:
    """Return the change that the record of a run names."""
    return WatchedChange(WatchEvent(params["event"]), str(params["path"]), str(params.get("old_path", "")))
