"""Jobs as files: each `cron.d/*.yaml` of the data directory is one job. What stands there wins over every door.

The last valid version of each is kept in the database and stays active while the file has mistakes. Whether a job is
enabled is kept in the database, too.
"""

import logging
import time
from asyncio import sleep, to_thread
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ConfigError
from tocsin.core.ids import new_id
from tocsin.core.reading.yaml_file import load_yaml
from tocsin.core.reading.yaml_node import Node
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.files import QUIET_NS, refuse_others
from tocsin.core.time.clock import Clock
from tocsin.features.cron.definitions.job_fields import read_definition
from tocsin.features.cron.feature import CRON, CRON_ADD, CRON_EDIT, CRON_REMOVE
from tocsin.features.cron.model import CronJob, JobConflictError, JobDefinition, JobSource
from tocsin.features.cron.store import JobStore

log = logging.getLogger(__name__)

FOLDER = "cron.d"
MAX_FILES = 10_000
GONE_AFTER_S = 2.0  # editors that replace a file leave it away for milliseconds
_LOOK_S, _LOOKS = 0.05, 20


class _Stamp(NamedTuple):
    modified_ns: int
    changed_ns: int
    size: int
    inode: int


class _Read(NamedTuple):
    """The present content of a file: its definition, or its errors."""

    definition: JobDefinition | None
    problem: str


class JobFiles:
    """Brings the jobs of a folder into the database."""

    def __init__(
        self,
        folder: Path,
        store: JobStore,
        audit: AuditTrail,
        clock: Clock,
        zone: str,
        *,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`zone` is the default time zone; `now_ns` is the clock of file times."""
        self.folder = folder
        self._store = store
        self._audit = audit
        self._clock = clock
        self._zone = zone
        self._now_ns = now_ns
        self._stamps: dict[str, _Stamp] | None = None  # of what was read last; None before the first look
        self._gone_since: dict[str, float] = {}
        self._refused: set[str] = set()  # files whose job has a name that another one has
        self.problem = ""  # why the folder cannot be read

    async def sync(self, *, waits: bool = False) -> None:
        """Apply changed files; a missing file counts as removed after two seconds.

        A file that is being written is left for the next time, or with `waits` waited for.
        """
        try:
            before, stamps = self._stamps or {}, await to_thread(self._look)
            for _ in range(_LOOKS if waits else 0):
                if not self._being_written(stamps):
                    break
                await sleep(_LOOK_S)
                stamps = await to_thread(self._look)
        except OSError as error:
            self._leave(f"cannot read {self.folder}: {error.strerror}")
            return
        self.problem = ""
        if stamps == self._stamps and not self._gone_since and not self._refused:
            return
        writing = self._being_written(stamps)
        known = {job.file: job for job in await self._store.all() if job.source is JobSource.FILE}
        for name, stamp in stamps.items():
            is_new = name not in known or name in self._refused or before.get(name) != stamp
            if name not in writing and is_new:
                await self._take(name, known.get(name), await to_thread(self._read, name))
        missing = known.keys() - stamps.keys()
        settled = bool(missing) and await to_thread(self._is_settled)
        for name in missing:
            await self._miss(known[name], for_long=settled)
        self._refused &= stamps.keys()
        self._gone_since = {name: at for name, at in self._gone_since.items() if name not in stamps}
        left = {name: before[name] for name in writing & before.keys()}
        self._stamps = {name: stamp for name, stamp in stamps.items() if name not in writing} | left

    def _being_written(self, stamps: Mapping[str, _Stamp]) -> set[str]:
        before, now = self._stamps or {}, self._now_ns()
        changed = {name: stamp for name, stamp in stamps.items() if before.get(name) != stamp}
        return {name for name, stamp in changed.items() if 0 <= now - stamp.changed_ns < QUIET_NS}

    def _leave(self, problem: str) -> None:
        """Leave all jobs as they are while the folder cannot be read, and say so once."""
        if problem != self.problem:
            log.warning("the jobs of a folder are unchanged: %s", problem)
        self.problem = problem

    def _look(self) -> dict[str, _Stamp]:
        """Return the stamps of the files; raises OSError if the folder exists and cannot be read."""
        stamps = {}
        try:
            found = sorted(path for path in self.folder.iterdir() if path.suffix == ".yaml")[:MAX_FILES]
        except FileNotFoundError:
            return {}
        for path in found:
            try:
                stat = path.lstat()
                with suppress(OSError):  # a link that leads nowhere is there, and cannot be read
                    stat = path.stat()
            except OSError:
                continue
            if not path.name.startswith("."):
                stamps[path.name] = _Stamp(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
        return stamps

    def _read(self, name: str) -> _Read:
        path = self.folder / name
        try:
            refuse_others(self.folder)
            refuse_others(path)
            definition = load_yaml(path, partial(self._read_root, usual_name=path.stem))
            return _Read(definition, "" if definition else f"{path} is empty: add a schedule and a command")
        except ConfigError as error:
            return _Read(None, error.sentence())
        except OSError as error:
            return _Read(None, f"cannot read {path}: {error.strerror}")

    def _read_root(self, root: Node, usual_name: str) -> JobDefinition | None:
        return None if root.absent else read_definition(root, self._zone, usual_name)

    async def _take(self, name: str, known: CronJob | None, read: _Read) -> None:
        try:
            if known is None:
                await self._add(name, read)
            else:
                await self._change(known, read)
        except JobConflictError as error:
            await self._refuse(name, known, error.sentence())
        else:
            self._refused.discard(name)

    async def _refuse(self, name: str, known: CronJob | None, problem: str) -> None:
        """Show the job of a file under the name of the file while its own is taken."""
        if name not in self._refused:
            log.warning("a file of cron.d was rejected: %s: %s", name, problem)
        self._refused.add(name)
        if known is not None:
            await self._store.change(known.id, lambda job: replace(job, problem=problem))
            return
        with suppress(JobConflictError):
            await self._add(name, _Read(None, problem), shown_as=name)

    async def _add(self, name: str, read: _Read, shown_as: str = "") -> None:
        now, definition = self._clock.now(), read.definition
        job = CronJob(
            id=new_id(),
            name=definition.name if definition else shown_as or Path(name).stem,
            source=JobSource.FILE,
            definition=definition,
            file=name,
            problem=read.problem,
            enabled=definition.enabled if definition else True,
            paused_until=definition.paused_until if definition else None,
            failures_since=now,
            anchor=now,
            cursor=now,
            created_at=now,
            updated_at=now,
            created_by="file",
        )
        await self._store.add(replace(job, next_at=job.next_due()))
        if definition:
            facts = {"job": job.id, "name": job.name, "type": definition.type, "file": name}
            self._audit.record(CRON_ADD, f"{job.name} from {name}", source=CRON.name, metadata=facts)

    async def _change(self, known: CronJob, read: _Read) -> None:
        now, definition = self._clock.now(), read.definition
        if definition is None:
            if read.problem != known.problem:
                log.warning("a file of cron.d was rejected: %s", read.problem)
            await self._store.change(known.id, lambda job: replace(job, problem=read.problem))
            return
        fields = changed_fields(known.definition, definition)
        if not fields and not known.problem:  # each process reads all files once
            return
        await self._store.change(known.id, lambda job: edited(replace(job, problem=""), definition, now))
        if fields:
            facts = {"job": known.id, "name": definition.name, "fields": fields, "file": known.file}
            detail = f"{definition.name}: {', '.join(fields)}"
            self._audit.record(CRON_EDIT, detail, source=CRON.name, metadata=facts)

    def _is_settled(self) -> bool:
        """Whether no file was added to the folder or removed from it within the last two seconds."""
        with suppress(OSError):
            return self._now_ns() - self.folder.stat().st_mtime_ns >= GONE_AFTER_S * 1e9
        return False

    async def _miss(self, job: CronJob, *, for_long: bool) -> None:
        """Remove the job of a missing file once it has been missing for two seconds.

        A command cannot wait for that; it sees only whether the file has been missing `for_long`.
        """
        since = self._gone_since.setdefault(job.file, self._clock.monotonic())
        if not for_long and self._clock.monotonic() - since < GONE_AFTER_S:
            return
        del self._gone_since[job.file]
        await self._store.remove(job.id)
        facts = {"job": job.id, "name": job.name, "file": job.file}
        self._audit.record(CRON_REMOVE, f"{job.name}: {job.file} was removed", source=CRON.name, metadata=facts)


def changed_fields(before: JobDefinition | None, after: JobDefinition) -> list[str]:
    old, new = to_json(before) if before else {}, to_json(after)
    return [name for name, value in new.items() if old.get(name) != value]


def edited(job: CronJob, definition: JobDefinition, now: float) -> CronJob:
    """Return a job with another definition, which applies from the next instant after `now`."""
    before = job.definition
    changed = before is None or any(
        getattr(before, name) != getattr(definition, name) for name in ("schedule", "timezone")
    )
    moved: dict[str, Any] = {"cursor": max(job.cursor, now), "anchor": now} if changed else {}
    if before is None or before.paused_until != definition.paused_until:
        moved["paused_until"] = definition.paused_until
    if before is None or before.enabled != definition.enabled:
        moved |= {"enabled": definition.enabled, "auto_disabled": False, "paused_reason": ""}
    return replace(job, name=definition.name, definition=definition, updated_at=now, **moved)


def switched(job: CronJob, *, enabled: bool, paused_until: float | None = None, paused_reason: str = "") -> CronJob:
    """Return a job that is enabled or not; a definition in the database says so, too."""
    definition = job.definition
    if definition is not None and job.source is JobSource.DATABASE:
        definition = replace(definition, enabled=enabled, paused_until=paused_until)
    return replace(job, enabled=enabled, definition=definition, paused_until=paused_until, paused_reason=paused_reason)
