"""Folders of backups: how old their newest files are, and runs that check it."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.features.context import FeatureContext
from tocsin.runs.control import StartRequest, as_retry
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run, RunResult, RunSpec, RunStatus
from tocsin.runs.recorder import RunHandle
from tocsin_freshness.feature import FOLDERS, BackupFolder

KIND = "freshness"


class UnknownFolderError(ConfigError):
    """No folder of FRESHNESS_FOLDERS has this name."""

    code = "not-found"


@dataclass(frozen=True, slots=True)
class FolderState:
    """A folder as it is now; times are Unix seconds."""

    folder: BackupFolder
    newest: str = ""  # the path of its newest file, from the folder
    newest_at: float | None = None
    problem: str = ""  # why it is not fresh


class Freshness:
    """Looks at folders, and starts runs that do."""

    def __init__(self, context: FeatureContext) -> None:
        self.context = context
        self.folders: Sequence[BackupFolder] = context.settings[FOLDERS]

    def find(self, name: str) -> BackupFolder:
        """Return a folder by name; raise UnknownFolderError."""
        for folder in self.folders:
            if folder.name == name:
                return folder
        raise UnknownFolderError(f"there is no folder {name}", hint=f"{FOLDERS.name} names the folders")

    async def look(self, folder: BackupFolder) -> FolderState:
        """Return how a folder is."""
        return await asyncio.to_thread(_look, folder, self.context.clock.now())

    async def last_runs(self) -> dict[str, Run]:
        """Return the newest run of each folder by its name."""
        found = {folder.name: await self.context.runs().search(KIND, folder.name, limit=1) for folder in self.folders}
        return {name: page.items[0] for name, page in found.items() if page.items}

    async def start(self, name: str, request: StartRequest) -> ActiveRun:
        """Start a run that checks a folder."""
        folder = self.find(name)
        order = RunSpec(
            KIND,
            name,
            name,
            request.cause,
            request.actor,
            params={"path": str(folder.path), "hours": folder.hours},
            parent_run_id=request.parent_run_id,
            source=request.source,
        )

        async def work(handle: RunHandle) -> RunResult:
            state = await self.look(folder)
            handle.write("stdout", f"newest file: {state.newest or 'none'}\n")
            if state.problem:
                return RunResult(RunStatus.FAILED, state.problem)
            return RunResult(RunStatus.SUCCEEDED)

        return await self.context.runs().start(as_retry(order, request.retry), work)


def _look(folder: BackupFolder, now: float) -> FolderState:
    if not folder.path.is_dir():
        return FolderState(folder, problem=f"{folder.path} is not a folder")
    files = [Path(parent) / name for parent, _, names in os.walk(folder.path) for name in names]
    times = {path: path.stat().st_mtime for path in files if path.is_file()}
    if not times:
        return FolderState(folder, problem="it has no files")
    newest = max(times, key=lambda path: times[path])
    age_h = (now - times[newest]) / 3600
    late = f"its newest file is {age_h:.0f} h old, and {folder.hours:g} h are allowed" if age_h > folder.hours else ""
    return FolderState(folder, str(newest.relative_to(folder.path)), times[newest], late)
