"""Watchers as people see and use them."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tocsin.core.audit.actions import AuditAction
from tocsin.core.errors import ConfigError
from tocsin.core.reading.value import shorten, suggestion
from tocsin.features.context import FeatureContext
from tocsin.features.watchers.feature import WATCHER_DISABLE, WATCHER_ENABLE
from tocsin.features.watchers.model import (
    KIND,
    SeenState,
    UnknownWatcherError,
    WatchedChange,
    WatcherRecord,
    WatcherRule,
    WatcherState,
    WatcherWithEvents,
    WatchEvent,
    change_of,
)
from tocsin.features.watchers.rules import FILE_NAME, WatcherRules
from tocsin.features.watchers.store import WatcherStore
from tocsin.runs.control import Retry, StartRequest
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Line, Run, RunResult, RunSpec, RunStatus, RunTrigger
from tocsin.runs.recorder import Work

# Lazy: showing watchers does not need what watches and acts.

DAY_S = 86_400.0
NOT_WATCHED = "no process is watching: start `tocsin up`"
STARTING = "its folder is not watched yet"


class Watchers:
    """The rules of the data directory."""

    def __init__(self, context: FeatureContext) -> None:
        self.context = context
        self.rules = WatcherRules(context.data_dir / FILE_NAME)
        self.store = WatcherStore(context.database)

    @property
    def problem(self) -> ConfigError | None:
        """Reason why the current file was rejected."""
        return self.rules.read()[1]

    async def all(self) -> Sequence[WatcherRule]:
        """Return the active rules; those that were enabled or disabled by a command have that state."""
        written = self.rules.read()[0]
        # Nothing was switched or seen without rules: asking would make the database.
        return await self.store.switched(written) if written else ()

    async def get(self, name: str) -> WatcherRule:
        """Return one rule; raises UnknownWatcherError."""
        rules = await self.all()
        for rule in rules:
            if rule.name == name:
                return rule
        if not rules and self.problem:
            raise self.problem
        names = [rule.name for rule in rules]
        listed = (
            "`tocsin watchers list` shows the watchers"
            if names
            else f"no watchers exist; add one to {self.rules.path.name}"
        )
        raise UnknownWatcherError(f"unknown watcher: {shorten(name)!r}{suggestion(name, names)}", hint=listed)

    async def list_rules(self) -> list[WatcherRecord]:
        """Return all rules with their states, in the order of the file."""
        rules = await self.all()
        states = await self.store.states() if rules else None
        return [await self._record(rule, states) for rule in rules]

    async def count_states(self) -> dict[str, int]:
        """Return how many rules are in each state."""
        rules = await self.all()
        states = await self.store.states() if rules else None
        found = [
            _state(rule, (states or {}).get(rule.name, SeenState()), is_watched=states is not None)[0] for rule in rules
        ]
        return {str(state): found.count(state) for state in WatcherState}

    async def find_rule(self, name: str) -> WatcherWithEvents:
        """Return one rule with its newest changes; raises UnknownWatcherError."""
        rule = await self.get(name)
        record = await self._record(rule, await self.store.states())
        return WatcherWithEvents(record, await self.store.recent(rule.name))

    async def enable(self, name: str, *, source: str) -> WatcherRule:
        """Let a rule act, whatever the file says until it is changed there."""
        return await self._switch(name, WATCHER_ENABLE, source, enabled=True)

    async def disable(self, name: str, *, source: str) -> WatcherRule:
        """Let a rule not act; changes meanwhile are not acted on later."""
        return await self._switch(name, WATCHER_DISABLE, source, enabled=False)

    async def run(
        self, name: str, change: WatchedChange, *, source: str, watch: Callable[[Line], None] | None = None
    ) -> Run:
        """Act on a file now to the end, in this process, also while the rule is disabled."""
        asked = StartRequest(source=source, cause=RunTrigger.MANUAL)
        running = await self._start(await self.get(name), change, asked, watch)
        return await running.wait_or_stop()

    async def retry_failed(
        self, name: str = "", *, source: str, watch: Callable[[Line], None] | None = None
    ) -> AsyncIterator[Run]:
        """Act again on each file whose last run failed, of one rule or of all; yield how each run ended.

        A file that is gone is skipped, and counts as failed no more. Raises UnknownWatcherError.
        """
        rules = {rule.name: rule for rule in ([await self.get(name)] if name else await self.all())}
        for failed in await self.failed(name):
            if (rule := rules.get(failed.subject_id)) is None:  # it was removed
                continue
            change = change_of(failed.params)
            asked = StartRequest(source=source, cause=RunTrigger.MANUAL, retry=Retry(failed))
            if change.type is not WatchEvent.DELETED and not await asyncio.to_thread(os.path.lexists, change.path):
                spec, _ = self._prepare(rule, change, asked)
                yield await self.context.runs().record(spec, RunResult(RunStatus.SKIPPED, "the file is gone"))
                continue
            running = await self._start(rule, change, asked, watch)
            yield await running.wait_or_stop()

    async def failed(self, name: str = "") -> list[Run]:
        """Return for each file whose last run failed that run, of one rule or of all, the oldest first."""
        found = await self.context.runs().store.several(await self.store.failed(name))
        return sorted(found, key=lambda run: run.id)

    async def forget_deleted(self) -> None:
        """Count files as failed no more whose runs were deleted."""
        noted = await self.store.failed()
        kept = {run.id for run in await self.failed()}
        if gone := [run_id for run_id in noted if run_id not in kept]:
            await self.store.forget_failed(gone)

    async def start(self, name: str, change: WatchedChange, asked: StartRequest) -> ActiveRun:
        """Act on a file now, and return as soon as that is recorded."""
        return await self._start(await self.get(name), change, asked)

    async def change(self, name: str, path: str, event: WatchEvent) -> WatchedChange:
        """Return the change of a file as a rule sees it; raises ConfigError for a file outside its folder."""
        rule = await self.get(name)
        # As the watcher has it: below its folder, whichever links lead there.
        found, folder = await asyncio.to_thread(lambda: (_real(path), _real(rule.path)))
        if not found.is_relative_to(folder) or found == folder:
            raise ConfigError(f"{shorten(path)} is not in the folder of {rule.name}", hint=f"use a file in {rule.path}")
        return WatchedChange(event, str(rule.path / found.relative_to(folder)))

    def concerns(self, rule: WatcherRule, change: WatchedChange) -> bool:
        """Whether a rule would act on a change by itself."""
        from tocsin.features.watchers.watching.matching import matches

        relative = str(Path(change.path).relative_to(rule.path))
        return change.type in rule.events and matches(rule, relative)

    async def last_run(self, name: str) -> Run | None:
        """Return the newest run of a rule."""
        return next(iter((await self.context.runs().search(KIND, name, limit=1)).items), None)

    async def _start(
        self,
        rule: WatcherRule,
        change: WatchedChange,
        asked: StartRequest,
        watch: Callable[[Line], None] | None = None,
    ) -> ActiveRun:
        spec, work = self._prepare(rule, change, asked)
        running = await self.context.runs().start(spec, work, watch=watch)
        await self.store.note_started(rule, change, running.run, self.context.clock.now())
        return running

    def _prepare(self, rule: WatcherRule, change: WatchedChange, asked: StartRequest) -> tuple[RunSpec, Work]:
        from tocsin.features.watchers.execution import WatcherExecution, make_spec

        spec = make_spec(
            rule,
            change,
            asked.cause,
            actor=asked.actor,
            parent_run_id=asked.parent_run_id,
            retry=asked.retry,
            source=asked.source,
        )
        return spec, WatcherExecution(self.context, rule, change).work

    async def _switch(self, name: str, action: AuditAction, source: str, *, enabled: bool) -> WatcherRule:
        rule = await self.get(name)
        written = next(each for each in self.rules.read()[0] if each.name == name)
        await self.store.switch(written, enabled=enabled, now=self.context.clock.now())
        self.context.audit.record(action, rule.name, source=source, metadata={"watcher": rule.name})
        return replace(rule, enabled=enabled)

    async def _record(self, rule: WatcherRule, states: dict[str, SeenState] | None) -> WatcherRecord:
        seen = (states or {}).get(rule.name, SeenState())
        state, error = _state(rule, seen, is_watched=states is not None)
        newest = next(iter(await self.store.recent(rule.name, 1)), None)
        count = await self.store.count(rule.name, self.context.clock.now() - DAY_S)
        return WatcherRecord(rule, state, error, seen.backend, newest, await self.last_run(rule.name), count)


def _state(rule: WatcherRule, seen: SeenState, *, is_watched: bool) -> tuple[WatcherState, str]:
    """Return how a rule is, and why it is not better."""
    if not rule.enabled:
        return WatcherState.PAUSED, ""
    if not is_watched:
        if not rule.path.is_dir():
            return WatcherState.ERROR, f"{rule.path} is not a folder: create it, or correct `path`"
        return WatcherState.PAUSED, NOT_WATCHED
    if seen.is_watching:
        return WatcherState.WATCHING, seen.error
    return (WatcherState.ERROR, seen.error) if seen.error else (WatcherState.PAUSED, STARTING)


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
