"""The operations on watchers."""

from typing import Any

from tocsin.features.watchers.model import WatcherRecord, WatcherWithEvents
from tocsin.features.watchers.service import Watchers
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf


class WatcherRoutes:
    """The operations on watchers."""

    def __init__(self, watchers: Watchers) -> None:
        self._watchers = watchers

    @operation("GET", "/api/watchers/rules", problems=("validation-failed",), answer=Page[WatcherRecord])
    async def list_watchers(self, paging: PagingOf) -> Any:
        """List the watchers by name."""
        found = sorted(await self._watchers.list_rules(), key=lambda each: each.rule.name)
        page, following = paging.cut(found, lambda each: each.rule.name)
        return paging.page(page, following, len(found))

    @operation("GET", "/api/watchers/rules/{name}", problems=("not-found",), answer=WatcherWithEvents)
    async def get_watcher(self, name: str) -> Any:
        """Get a watcher with its latest changes."""
        return await self._watchers.find_rule(name)


OPERATIONS = operations_of("watchers", WatcherRoutes)
