"""The operations on watchers."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tocsin.core.records.marks import Flat, Time
from tocsin.features.hooks import OperationsOf
from tocsin.features.watchers.model import WatcherRule
from tocsin.features.watchers.service import Watchers
from tocsin.rest.operations import Operations, operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.runs.model import RunSummary

EventWord = Literal["created", "modified", "deleted", "moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvent:
    """Change of a file."""

    at: Time
    type: EventWord
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherEvent(FileEvent):
    """Change of a file, and the action that followed."""

    run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherRecord:
    """Watcher rule with its state."""

    rule: Flat[WatcherRule]
    events: list[EventWord]
    action: Literal["shell", "skill", "workflow", "notify"]
    state: Literal["watching", "paused", "error"]
    error: str | None
    backend: Annotated[str | None, "How changes are detected: `inotify`, `fsevents` or `polling`."]
    last_event: FileEvent | None
    last_run: RunSummary | None
    events_24h: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherWithEvents(WatcherRecord):
    """Watcher rule with its latest changes."""

    recent: Annotated[list[WatcherEvent], "Newest 50 changes."]


class WatcherRoutes:
    """The operations on watchers."""

    def __init__(self, watchers: Watchers) -> None:
        self._watchers = watchers

    @operation("GET", "/api/watchers/rules", problems=("validation-failed",), answer=Page[WatcherRecord])
    async def list_watchers(self, paging: PagingOf) -> Any:
        """List the watchers by name."""
        found = sorted(await self._watchers.list_rules(), key=_name)
        page, following = paging.cut(found, _name)
        return paging.page(page, following, len(found))

    @operation("GET", "/api/watchers/rules/{name}", problems=("not-found",), answer=WatcherWithEvents)
    async def get_watcher(self, name: str) -> Any:
        """Get a watcher with its latest changes."""
        return await self._watchers.find_rule(name)


def watcher_operations(watchers: Watchers) -> Operations:
    """Return the operations."""
    return Operations("watchers", WatcherRoutes(watchers))


def _name(record: dict[str, Any]) -> str:
    return str(record["name"])


OPERATIONS: OperationsOf[Watchers] = watcher_operations
