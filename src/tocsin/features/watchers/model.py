"""A rule that acts when files change, what changed, and how the rule is."""

import os
import pwd
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tocsin.core.errors import TocsinError
from tocsin.core.reading.fields import BooleanType, ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.path_patterns import PathPatterns
from tocsin.core.reading.records import Written
from tocsin.core.records.marks import Converted, Flat, Private, TextOrNull, Time
from tocsin.runs.model import RunSummary

KIND = "watcher"
DEBOUNCE_MS, MAX_DEBOUNCE_MS = 500, 60_000
MAX_COOLDOWN_S = 86_400
MAX_COMMAND = 10_000  # characters; longer is a script, which belongs in a file
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


def _path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("a path cannot have a NUL character")
    path = Path(text)
    if text == "~" or text.startswith("~/"):
        path = Path(pwd.getpwuid(os.geteuid()).pw_dir) / text[2:]
    if not path.is_absolute():
        raise ValueError("expected the full path of a folder, or one that begins with ~/")
    return Path(os.path.normpath(path))


def _pattern(text: str) -> str:
    PathPatterns([text])  # raises ValueError
    if not text.strip() or text.startswith("#"):
        raise ValueError("this pattern matches nothing; put \\ before a # at its beginning")
    return text


def _command(text: str) -> str:
    if "\0" in text:
        raise ValueError("a command cannot have a NUL character")
    if len(text) > MAX_COMMAND:
        raise ValueError(f"a command has at most {MAX_COMMAND:,} characters; put a longer one into a file and run that")
    return text


def _shown_path(path: Path) -> str:
    return shown(str(path))


_NAME = TextType(
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    rule="not a name of a watcher: use letters, digits and . _ -, at most 100",
)
_PATTERNS = ListType(TextType(parse=_pattern))
_EVENTS = ListType(ChoiceType(tuple(map(str, WatchEvent))), allow_empty=False)
_ACTION = ChoiceType(tuple(map(str, WatcherAction)))
_COMMAND = "A command, the name of a skill or workflow, or a text"
_OUTPUT = "Where output goes: `<channel>:<target>` or a profile"


@dataclass(frozen=True, slots=True)
class WatcherRule:
    """One rule of `watchers.yaml`."""

    name: Annotated[str, Written(_NAME), "What the watcher is called"]
    path: Annotated[Path, Written(TextType(parse=_path)), Converted(_shown_path, str), "The folder"]
    command: Annotated[str, Written(TextType(parse=_command), inferred=True), _COMMAND] = ""
    action: Annotated[WatcherAction, Written(_ACTION), "What is done"] = WatcherAction.SHELL
    recursive: Annotated[bool, Written(BooleanType()), "Whether folders below it are watched, too"] = True
    patterns: Annotated[
        tuple[str, ...], Written(_PATTERNS), "Which files count, as in `.gitignore`; without any, all"
    ] = ()
    exclude_patterns: Annotated[tuple[str, ...], Written(_PATTERNS), "Which of them do not"] = ()
    events: Annotated[tuple[WatchEvent, ...], Written(_EVENTS), "What must happen to a file"] = (
        WatchEvent.CREATED,
        WatchEvent.MODIFIED,
        WatchEvent.MOVED,
    )
    debounce_ms: Annotated[int, Written(IntegerType(0, MAX_DEBOUNCE_MS)), "How long a file must rest"] = DEBOUNCE_MS
    cooldown_seconds: Annotated[int, Written(IntegerType(0, MAX_COOLDOWN_S)), "From one run to the next at least"] = 0
    enabled: Annotated[bool, Written(BooleanType()), "Whether it acts"] = True
    output: Annotated[TextOrNull, Written(TextType(), nullable=True, inferred=True), _OUTPUT] = ""
    line: Private[int] = 0


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
class FileEvent:
    """A change of a file."""

    at: Time
    type: WatchEvent
    path: str


@dataclass(frozen=True, slots=True)
class SeenEvent(FileEvent):
    """A change of a file, and the run that it started."""

    schema_name: ClassVar[str] = "WatcherEvent"

    run_id: str | None


@dataclass(frozen=True, slots=True)
class WatcherRecord:
    """A rule that acts when files in a folder change, and its state."""

    rule: Flat[WatcherRule]
    state: WatcherState
    error: TextOrNull
    backend: Annotated[TextOrNull, "How changes are seen: `inotify`, `fsevents` or `polling`."]
    last_event: FileEvent | None
    last_run: RunSummary | None
    events_24h: int


@dataclass(frozen=True, slots=True)
class WatcherWithEvents:
    """A rule, and the changes that it saw last."""

    record: Flat[WatcherRecord]
    recent: Annotated[Sequence[SeenEvent], "The newest 50 changes."]


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
