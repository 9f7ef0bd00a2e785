"""The watching service: of several processes, the holder of a lease watches the folders and starts due runs."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from tocsin.core.errors import ConfigError, StoreUnavailableError, TocsinError
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.tasks import to_the_end
from tocsin.core.watching.folder_watcher import FileChange
from tocsin.features.context import FeatureContext, Notice, NoticeLevel
from tocsin.features.watchers.execution import WatcherExecution, make_spec
from tocsin.features.watchers.feature import WATCHER_ERROR, WATCHERS
from tocsin.features.watchers.model import SeenState, WatchedChange, WatcherRule
from tocsin.features.watchers.rules import WatcherRules
from tocsin.features.watchers.store import WatcherStore
from tocsin.features.watchers.watching.folders import RuleFolder
from tocsin.features.watchers.watching.matching import change_for, is_own
from tocsin.runs.model import Run
from tocsin.scheduling.lease import LOOK_S, Lease

log = logging.getLogger(__name__)

AT_ONCE = 16  # runs of all rules; those of one rule follow each other
DRAIN_S = 30.0  # for what runs when the program is stopped
STORE_RETRY_S = 1.0
_FILE = ""  # stands for the file with the rules among these: a rule has a name
_FolderKey = tuple[Path, bool]


class _TakenOverError(Exception):
    """Another process watches now, and acts on the change."""


class WatcherService:
    """Watches while this process holds the lease."""

    def __init__(
        self,
        context: FeatureContext,
        rules: WatcherRules,
        store: WatcherStore,
        lease: Lease,
        *,
        poll: bool | None = None,
    ) -> None:
        self._context = context
        self._clock = context.clock
        self._data_dir = context.data_dir.resolve()
        self._rules = rules
        self._store = store
        self._lease = lease
        self._poll = poll
        self._stop = StopEvent()
        self._loop = ServiceLoop("the watchers", self._step, context.clock, drain_s=DRAIN_S, stop=self._stop)
        self._folders: dict[_FolderKey, RuleFolder] = {}
        self._tasks: dict[_FolderKey, asyncio.Task[None]] = {}
        self._active: tuple[WatcherRule, ...] = ()
        self._busy = set[str]()
        self._noted: dict[str, SeenState] | None = None  # None: nothing is noted in this term
        self._problem: ConfigError | None = None  # of the file
        self._slots = asyncio.Semaphore(AT_ONCE)

    def stop(self) -> None:
        """Start no further runs; `run` returns when the active ones have ended or, after 30 s, were interrupted."""
        self._loop.stop()

    async def run(self) -> None:
        """Watch until `stop`; another process may take over at once, while runs of this one still end."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._loop.run())
                await self._stop.wait()
                await self._end()
        finally:
            await to_the_end(self._end())

    async def _step(self) -> float:
        if self._loop.stopping:
            return LOOK_S
        if not await self._lease.keep():
            await self._leave()
            return LOOK_S
        if self._noted is None:  # what another process has noted is not so any more
            await self._store.set_states({})
            await self._redo_lost()
        await self._sync()
        await self._tell_states()
        return await self._start_due()

    async def _sync(self) -> None:
        """Watch the folders of the rules that are enabled now, and no others."""
        rules, self._problem = self._rules.read()
        active = tuple(rule for rule in await self._store.switched(rules) if rule.enabled)
        if active != self._active or self._noted is None:
            if self._problem is None:
                await self._store.drop_waiting([rule.name for rule in active])
            self._active = active
        wanted: dict[_FolderKey, list[WatcherRule]] = {}
        for rule in active:
            wanted.setdefault((rule.path, rule.recursive), []).append(rule)
        for key in self._folders.keys() - wanted.keys():
            await self._forget(key)
        for key, own in wanted.items():
            if key not in self._folders:
                self._watch(key)
            self._folders[key].rules = tuple(own)
            if self._tasks[key].done():
                ended = self._tasks[key]
                self._watch(key)
                ended.result()  # raises what ended it; the loop reports it

    def _watch(self, key: _FolderKey) -> None:
        path, recursive = key
        folder = self._folders.setdefault(key, RuleFolder(path, recursive=recursive, take=self._take, poll=self._poll))
        self._tasks[key] = asyncio.create_task(folder.run(), name=f"watch {path}")

    async def _take(self, rules: Sequence[WatcherRule], batch: Sequence[FileChange]) -> None:
        """Store the changes that concern rules; while the database cannot be written, hold them back."""
        found = {rule: self._concerning(rule, batch) for rule in rules}
        while True:
            try:
                left_out = await self._store.note({r: c for r, c in found.items() if c}, self._clock.now())
                break
            except StoreUnavailableError as error:
                log.warning("changes are delayed", extra={"reason": error.sentence()})
                await asyncio.sleep(STORE_RETRY_S)
        if left_out:
            log.warning("too many changes are waiting", extra={"left_out": left_out})
        self._loop.wake()

    def _concerning(self, rule: WatcherRule, batch: Sequence[FileChange]) -> list[WatchedChange]:
        changes = [change_for(rule, change) for change in batch if not is_own(change, self._data_dir)]
        return [change for change in changes if change is not None]

    async def _start_due(self) -> float:
        """Start due runs, and return the seconds until the next one."""
        if self._loop.stopping:
            return LOOK_S
        idle = [rule for rule in self._active if rule.name not in self._busy]
        wait_s = LOOK_S
        for name, seconds in (await self._store.due(idle, self._clock.now())).items():
            if seconds > 0:
                wait_s = min(wait_s, seconds)
                continue
            self._busy.add(name)
            self._loop.start(self._work_off(name), name=f"watcher {name}")
        return wait_s

    async def _work_off(self, name: str) -> None:
        """Run a rule for one change after another until none is due."""
        try:
            while not self._loop.stopping and self._lease.held:
                rule = next((rule for rule in self._active if rule.name == name), None)
                async with self._slots:
                    if rule is None or not await self._run_next(rule):
                        return
        except TocsinError as error:
            log.warning("the action of a watcher failed", extra={"watcher": name, "reason": error.sentence()})
            await self._clock.sleep(STORE_RETRY_S)
        except Exception:  # let out, it would end the watchers, and the program with it
            log.exception("a watcher failed unexpectedly", extra={"watcher": name})
            await self._clock.sleep(STORE_RETRY_S)
        finally:
            self._busy.discard(name)

    async def _run_next(self, rule: WatcherRule) -> bool:
        taken = await self._store.take(rule, self._clock.now())
        if taken is None:
            return False
        spec = make_spec(rule, taken.change, id=taken.run_id)
        work = WatcherExecution(self._context, rule, taken.change).work

        async def confirm(_: Run) -> None:
            if not await self._store.began(taken):
                raise _TakenOverError

        try:
            running = await self._context.runs().start(spec, work, confirm=confirm)
        except _TakenOverError:
            return True
        except StoreUnavailableError as error:
            log.warning("a change is held back", extra={"watcher": rule.name, "reason": error.sentence()})
            await self._redo(taken.run_id)
            return True
        await running.wait()  # at a stop, it is released or interrupted with all runs of this process
        return True

    async def _redo(self, run_id: str) -> None:
        """Have a taken change wait again, as soon as the store can be written."""
        while True:
            await self._clock.sleep(STORE_RETRY_S)
            try:
                return await self._store.redo(run_id)
            except StoreUnavailableError:
                if self._loop.stopping:  # the next process finds it
                    raise

    async def _redo_lost(self) -> None:
        """Have changes acted on that an earlier process took, and whose runs it has not recorded."""
        for run_id in (taken := await self._store.taken()):
            if run_id in {run.id for run in await self._context.runs().store.several(taken)}:
                await self._store.settle_taken(run_id)
            else:
                await self._store.redo(run_id)

    async def _tell_states(self) -> None:
        states = {rule.name: folder.state() for folder in self._folders.values() for rule in folder.rules}
        states[_FILE] = SeenState(is_watching=not self._problem, error=str(self._problem or ""))
        if states == self._noted:
            return
        news = await self._store.set_states(states)
        self._noted = states  # not before they are noted: the next step tries again
        for name in news:
            if name == _FILE:  # the file itself has logged it
                await self._notify(f"{self._rules.path.name} has an error", states[name], "watchers-file")
            else:
                await self._tell_error(name, states[name])

    async def _tell_error(self, name: str, state: SeenState) -> None:
        log.warning("a watcher has a problem", extra={"watcher": name, "reason": state.error})
        if not state.is_watching:
            facts = {"watcher": name, "ok": False, "reason": state.error}
            self._context.audit.record(WATCHER_ERROR, f"{name}: {state.error}", source=WATCHERS.name, metadata=facts)
        title = f"Watcher {name} {'polls its folder' if state.is_watching else 'cannot watch its folder'}"
        await self._notify(title, state, f"watcher-{name}")

    async def _notify(self, title: str, state: SeenState, dedupe_key: str) -> None:
        level = NoticeLevel.WARNING if state.is_watching else NoticeLevel.ERROR
        await self._context.abilities.notices.notify(
            Notice(title, state.error, level, "system", "watchers", "#/watchers", dedupe_key)
        )

    async def _forget(self, key: _FolderKey) -> None:
        self._folders.pop(key)
        task = self._tasks.pop(key)
        task.cancel()
        await asyncio.wait([task])

    async def _leave(self) -> None:
        for key in list(self._folders):
            await self._forget(key)
        if self._noted is not None and self._lease.held:
            await self._store.set_states({})
        self._noted = None

    async def _end(self) -> None:
        try:
            await self._leave()
        except TocsinError as error:  # stale states are not shown once the lease has no holder
            log.warning("the states of watchers could not be cleared", extra={"reason": error.sentence()})
        await self._lease.release()
