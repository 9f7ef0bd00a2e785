"""Events of runs and their output."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.core.time.clock import Clock
from tocsin.core.time.timestamps import timestamp
from tocsin.rest.event_stream import encode_event
from tocsin.runs.log_file import LogFollower, log_path
from tocsin.runs.model import ACTIVE, TERMINAL, Line, Run, RunSummary
from tocsin.runs.store import RunStore

RUNS = "runs"
# Each has its log open; the output of further runs is sent only after one of these has ended.
MAX_FOLLOWED = 200
MAX_TOLD = 1_000
# Of a run's output since the last read; a client that shows all lines fetches the earlier ones by number.
MAX_LINES = 500


class RunEvents:
    """The records of runs, and the output of active runs while there are listeners."""

    def __init__(self, store: RunStore, directory: Path, clock: Clock) -> None:
        """`directory` contains the logs of runs."""
        self._store = store
        self._directory = directory
        self._clock = clock
        self._followed: dict[str, LogFollower] = {}
        self._ended: set[str] = set()  # read once more
        self._told: deque[str] = deque(maxlen=MAX_TOLD)  # all their lines were sent
        self._since: float | None = None  # when following began

    async def begin(self) -> None:
        """Follow the currently active runs from now on."""
        if self._since is not None:
            return
        since = self._clock.now()
        active = [each.run for each in await self._store.records.active(ACTIVE)]
        self._since = since
        for run in active:
            self._follow(run)
        await asyncio.to_thread(self._read)

    def end(self) -> None:
        """Stop following runs."""
        for follower in self._followed.values():
            follower.close()
        self._followed.clear()
        self._ended.clear()
        self._told.clear()
        self._since = None

    async def records(self, run_ids: Sequence[str]) -> Mapping[str, Any]:
        """Return the existing records by ID, and send their output from now on."""
        runs = await self._store.several(run_ids)
        self._ended |= set(run_ids) - {run.id for run in runs if run.status not in TERMINAL}
        for run in runs:
            # Also follow a run that was started and ended since the last read.
            if run.status not in TERMINAL or (self._since and run.queued_at >= self._since):
                self._follow(run)
        return {run.id: to_json(run, RunSummary) for run in runs}

    async def log_events(self) -> list[tuple[str, bytes]]:
        """Return the output of followed runs since the last call."""
        if not self._followed:
            self._ended.clear()
            return []
        ended, self._ended = self._ended, set()
        printed = await asyncio.to_thread(self._read)
        for run_id in ended & self._followed.keys():
            self._followed.pop(run_id).close()
            self._told.append(run_id)
        return [(RUNS, _log_event(run_id, lines)) for run_id, lines in printed.items() if lines]

    def _follow(self, run: Run) -> None:
        known = run.id in self._followed or run.id in self._told
        if self._since is not None and not known and len(self._followed) < MAX_FOLLOWED:
            self._followed[run.id] = LogFollower(log_path(self._directory, run.id, run.queued_at))

    def _read(self) -> dict[str, list[Line]]:
        return {run_id: follower.read() for run_id, follower in self._followed.items()}


def _log_event(run_id: str, lines: Sequence[Line]) -> bytes:
    """Return an event without an ID: log lines are not in the feed of changes."""
    shown = [
        {"n": line.n, "ts": timestamp(line.ts), "stream": line.stream, "text": line.text} for line in lines[-MAX_LINES:]
    ]
    return encode_event("run.log", {"run_id": run_id, "lines": shown})
