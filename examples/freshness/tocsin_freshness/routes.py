"""The operations on folders of backups."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Request

from tocsin.core.records.as_json import to_json
from tocsin.core.records.marks import Time
from tocsin.core.time.timestamps import timestamp
from tocsin.rest.callers import CallerOf, find_trigger
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.preferences import RUN_STARTED, answer_run
from tocsin.runs.control import StartRequest
from tocsin.runs.model import Run, RunSummary
from tocsin_freshness.service import Freshness


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRecord:
    """A folder of backups."""

    name: str
    path: str
    hours: Annotated[float, "How old its newest file may be."]
    newest: str
    newest_at: Time | None
    state: Annotated[str, "`ok`, or `failing` without a fresh backup."]
    problem: str
    last_run: RunSummary | None


class FreshnessRoutes:
    """The operations."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness

    @operation("GET", "/api/freshness/folders", answer=Page[FolderRecord])
    async def list_backup_folders(self, paging: PagingOf) -> Any:
        """List the folders by name."""
        folders, following = paging.cut(sorted(self._freshness.folders), lambda folder: folder.name)
        runs = await self._freshness.last_runs()
        items = [await self._record(folder.name, runs) for folder in folders]
        return paging.page(items, following, len(self._freshness.folders))

    @operation(
        "POST",
        "/api/freshness/folders/{name}/run",
        scope="run",
        once=True,
        problems=("not-found",),
        status=202,
        answer=Run,
        responses=RUN_STARTED,
    )
    async def check_backup_folder(self, request: Request, name: str, caller: CallerOf) -> Any:
        """Check a folder now."""
        asked = StartRequest(source=caller.source, cause=find_trigger(request), actor=caller.actor)
        return await answer_run(request, await self._freshness.start(name, asked))

    async def _record(self, name: str, runs: dict[str, Any]) -> dict[str, Any]:
        state = await self._freshness.look(self._freshness.find(name))
        return {
            "name": name,
            "path": str(state.folder.path),
            "hours": state.folder.hours,
            "newest": state.newest,
            "newest_at": timestamp(state.newest_at),
            "state": "failing" if state.problem else "ok",
            "problem": state.problem,
            "last_run": to_json(runs[name], RunSummary) if name in runs else None,
        }


OPERATIONS = operations_of("freshness", FreshnessRoutes)
