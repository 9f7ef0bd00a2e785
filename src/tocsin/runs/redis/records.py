"""The records of runs in Redis: documents that are replaced only if they have not changed since they were read."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.change_stream import KEPT, RedisChangeStream
from tocsin.core.storage.redis_client import Argument, RedisClient, Script, for_each, load_script
from tocsin.runs.engine.metrics import RunFigures, count_active
from tocsin.runs.filters import RunFilter, matches
from tocsin.runs.model import ACTIVE, FAILING, TERMINAL, HostResult, OutputDeliveryStatus, Run, RunStatus, StepRun
from tocsin.runs.queue import RecentRun, RunQueue, SubjectPast
from tocsin.runs.records import ReleasedRun
from tocsin.runs.redis.documents import (
    Commit,
    DocumentQueue,
    VersionedRun,
    find_outdated,
    key_name,
    read_stored,
    read_total,
    sets_for,
    write_parts,
)
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import RunExistsError, StoredRun, instant_taken_error, unknown_question, unknown_run

T = TypeVar("T")

FORMAT = 1
_AT_ONCE = 200  # runs per call, so that other hosts wait only a few milliseconds
_TRIES, _PAUSE_S = 50, 0.01
_CHANGED = b"changed"
_NEVER_RAN = frozenset({RunStatus.MISSED, RunStatus.SKIPPED})

_LUA = Path(__file__).parent / "lua"
_COMMIT = load_script(_LUA, "commit", "runs", KEPT=KEPT)
_LOAD = load_script(_LUA, "load", "runs", KEPT=KEPT)
_ACTIVE = load_script(_LUA, "active", "runs", KEPT=KEPT)
_SAVE_PARTS = load_script(_LUA, "save_parts", "runs", KEPT=KEPT)
_FORGET = load_script(_LUA, "forget", "runs", KEPT=KEPT)


def redis_runs(client: RedisClient, home: str, *, prefix: str = "tocsin") -> RunStore:
    """Return the store of runs shared by all hosts of a Redis; `home` is the name of this data directory."""
    return RunStore(RedisRunRecords(client, home, prefix=prefix))


class RedisRunRecords:
    """The runs of all processes that share a Redis."""

    def __init__(self, client: RedisClient, home: str, *, prefix: str = "tocsin") -> None:
        self.home = home
        self._client = client
        self._prefix = f"{{{prefix}:runs}}:"
        self._is_known = False

    def changes(self) -> RedisChangeStream:
        return RedisChangeStream(self._client, f"{self._prefix}changes")

    async def add(self, record: StoredRun) -> None:
        record, commit = self._with_home(record, None), Commit()
        commit.put(record)
        answer = await self._run(_COMMIT, commit.as_json())
        if answer == _CHANGED and not await self._has(record):
            raise RunExistsError(f"the run {record.run.id} is already recorded")
        if answer not in {b"", _CHANGED} and bytes(answer).decode() != record.run.id:
            raise instant_taken_error(record.run)

    async def _has(self, record: StoredRun) -> bool:
        """Whether an earlier call, whose answer was lost, stored this run."""
        stored = await self._load_one(record.run.id)
        return stored is not None and stored.record.owner == record.owner

    async def enqueue(self, records: Sequence[StoredRun]) -> list[Run]:
        answers = await for_each(self._enqueue, [self._with_home(record, None) for record in records])
        return [record.run for record, is_new in zip(records, answers, strict=True) if is_new]

    async def _enqueue(self, record: StoredRun) -> bool:
        commit = Commit()
        commit.put(record)
        answer = bytes(await self._run(_COMMIT, commit.as_json())).decode()
        if not answer:
            return True
        earlier = await self._load_one(answer)
        if earlier is None or earlier.record.run.status not in _NEVER_RAN or earlier.record.run.id == record.run.id:
            return False
        commit.removes = [answer]
        return not await self._run(_COMMIT, commit.as_json())

    async def get(self, run_id: str) -> StoredRun:
        stored = await self._load_one(run_id, parts=True)
        if stored is None:
            raise unknown_run(run_id)
        return stored.record

    async def change(
        self,
        run_id: str,
        edit: Callable[[StoredRun], StoredRun],
        *,
        parts: bool = False,
        also: StoredRun | None = None,
    ) -> StoredRun:
        async for _ in _attempts():
            before = await self._load_one(run_id, parts=parts)
            if before is None:
                raise unknown_run(run_id)
            after = self._with_home(edit(before.record), before.record)
            if after == before.record and also is None:
                return after
            commit = Commit()
            commit.put(after, before)
            if also is not None:
                commit.put(self._with_home(also, None))
            if await self._run(_COMMIT, commit.as_json()) != _CHANGED:
                return after
        raise AssertionError("unreachable: the last try raises")

    async def save_parts(self, run_id: str, parts: Sequence[StepRun] | Sequence[HostResult]) -> None:
        words = [word for pair in write_parts(parts) for word in pair]
        if not await self._run(_SAVE_PARTS, run_id, *words):
            raise unknown_run(run_id)

    async def decide(self, kind: str, choose: Callable[[RunQueue], T]) -> T:
        async for _ in _attempts():
            number, stored = await self._active(kind)
            queue = DocumentQueue(stored, self.home, self._with_home)
            chosen = choose(queue)
            if not queue.changed:
                return chosen
            commit = Commit(kinds={kind: number})
            for run_id, after in queue.changed.items():
                commit.put(after, stored.get(run_id))
            if await self._run(_COMMIT, commit.as_json()) != _CHANGED:
                return chosen
        raise AssertionError("unreachable: the last try raises")

    async def look(self, kind: str, see: Callable[[RunQueue], T]) -> T:
        _, stored = await self._active(kind)
        return see(DocumentQueue(stored, self.home, self._with_home))

    async def _active(self, kind: str) -> tuple[str, dict[str, VersionedRun]]:
        number, *rows = await self._run(_ACTIVE, kind)
        found = [stored for row in rows if (stored := read_stored(row))]
        return bytes(number).decode(), {stored.record.run.id: stored for stored in found}

    async def several(self, run_ids: Sequence[str]) -> list[Run]:
        return [stored.record.run for stored in await self._load(run_ids)]

    async def search(self, query: RunFilter) -> list[Run]:
        found: list[Run] = []
        async for run in self._matching(query):
            found.append(run)
            if len(found) == query.limit:
                break
        return found

    async def counts(self, queries: Sequence[RunFilter]) -> list[int]:
        return [await self._count(query) for query in queries]

    async def _count(self, query: RunFilter) -> int:
        names = sets_for(query)
        only = RunFilter(query.kind, query.subject, query.status, query.limit, since=query.since)
        exact = only == query and bool(query.status) == names[0].startswith("status:")
        if exact and (not query.kind or query.subject) and names[0] != "all":
            low = "-inf" if query.since is None else repr(query.since)
            return sum([int(await self._set("ZCOUNT", f"{name}:times", low, "+inf")) for name in names])
        return len([run async for run in self._matching(query)])

    async def _matching(self, query: RunFilter) -> AsyncIterator[Run]:
        """Yield the matching runs in the order of their IDs."""
        at, names, number = query.cursor, sets_for(query), min(query.limit, _AT_ONCE)
        while ids := await self._page(names, at, number, newest=not query.oldest_first):
            number = min(2 * number, _AT_ONCE)
            for stored in await self._load(ids, parts=query.parts):
                if matches(query, stored.record.run):
                    yield stored.record.run
            at = ids[-1]

    async def _page(self, names: Sequence[str], at: str, number: int, *, newest: bool) -> list[str]:
        """Return the next `number` IDs after `at` in several sets."""
        ids: list[str] = []
        for name in names:
            if newest:
                words = ("ZREVRANGEBYLEX", f"({at}" if at else "+", "-")
            else:
                words = ("ZRANGEBYLEX", f"({at}" if at else "-", "+")
            ids += _texts(await self._set(words[0], name, *words[1:], "LIMIT", 0, number))
        return sorted(ids, reverse=newest)[:number]

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        return [await self._short_for(text, limit) for text in texts]

    async def _short_for(self, text: str, limit: int) -> list[str]:
        found: list[str] = []
        for name in ("all", "tails"):
            words = (f"[{text}", f"[{text}~", "LIMIT", 0, limit)  # a tilde sorts after every character of an ID
            found += [member.rpartition(":")[2] for member in _texts(await self._set("ZRANGEBYLEX", name, *words))]
        return list(dict.fromkeys(found))[:limit]

    async def active(self, status: Collection[RunStatus]) -> list[StoredRun]:
        return [stored.record for each in status for stored in await self._load(await self._ids(f"status:{each}"))]

    async def released(self) -> list[ReleasedRun]:
        return [ReleasedRun(*member.split(" ")) for member in await self._ids("released")]

    async def unsettled(self) -> list[StoredRun]:
        return [stored.record for stored in await self._load(await self._ids("unsettled"))]

    async def delivering(self, status: Collection[OutputDeliveryStatus], limit: int, *, newest: bool) -> list[Run]:
        ids = sorted([id_ for each in status for id_ in await self._ids(f"delivery:{each}")], reverse=newest)
        return await self.several(ids[:limit])

    async def asked(self, question: str) -> str:
        found = await self._ids(f"question:{question}") if question else []
        if not found:
            raise unknown_question()
        return found[0]

    async def last_failed(self, kind: str) -> list[Run]:
        subjects = [subject for known, subject in await self._subjects() if known == kind]
        newest = await for_each(lambda subject: self._newest_ended(kind, subject), subjects)
        runs = await self.several([run_id for run_id in newest if run_id])
        return sorted((run for run in runs if run.status in FAILING), key=lambda run: run.id)

    async def _newest_ended(self, kind: str, subject: str) -> str:
        found = _texts(await self._set("ZREVRANGE", key_name("ended", kind, subject), 0, 0))
        return found[0] if found else ""

    async def pasts(self, kind: str, subjects: Sequence[str], limit: int) -> list[SubjectPast]:
        async def past(subject: str) -> SubjectPast:
            runs = await self.search(RunFilter(kind, subject, limit=limit))
            return SubjectPast(runs[0] if runs else None, list(map(_to_recent, runs)))

        return await for_each(past, subjects)

    async def prune(self, now: float, keep_days: float, keep: int, keep_failed: int) -> list[Run]:
        gone: list[Run] = []
        for kind, subject in await self._subjects():
            runs = [run async for run in self._matching(RunFilter(kind, subject, tuple(TERMINAL)))]
            old = find_outdated(runs, now, keep_days, keep, keep_failed)
            await self.remove([run.id for run in old])
            gone += old
            if not await self._set("ZCARD", key_name("subject", kind, subject)):
                await self._client.command("SREM", f"{self._prefix}subjects", key_name(kind, subject))
        return gone

    async def figures(self, now: float) -> RunFigures:
        found: dict[bytes, dict[str, float]] = {}
        stored = await self._client.command("HGETALL", f"{self._prefix}totals")
        for name, value in stored.items():
            total, _, figure = bytes(name).rpartition(key_name("", "").encode())
            found.setdefault(total, {})[figure.decode()] = float(value)
        totals = [read_total(name.decode(), figures) for name, figures in found.items()]
        active = [(each.run, each.task.not_before if each.task else None) for each in await self.active(ACTIVE)]
        return RunFigures(totals, count_active(active, now))

    async def remove(self, run_ids: Sequence[str]) -> None:
        for start in range(0, len(run_ids), _AT_ONCE):
            await self._run(_FORGET, *run_ids[start : start + _AT_ONCE])

    def _with_home(self, after: StoredRun, before: StoredRun | None) -> StoredRun:
        """Record the data directory of a run: the one that began or continues it."""
        is_taken = bool(after.owner) and (before is None or not before.owner)
        if is_taken or (before is None and not after.run.home):
            return replace(after, run=replace(after.run, home=self.home))
        return after

    async def _subjects(self) -> list[tuple[str, str]]:
        names = _texts(await self._client.command("SMEMBERS", f"{self._prefix}subjects"))
        return sorted((kind, subject) for kind, subject in (name.split(key_name("", ""), 1) for name in names))

    async def _ids(self, name: str) -> list[str]:
        return _texts(await self._set("ZRANGE", name, 0, -1))

    async def _set(self, command: str, name: str, *words: Argument) -> Any:
        return await self._client.command(command, f"{self._prefix}i:{name}", *words)

    async def _load_one(self, run_id: str, *, parts: bool = False) -> VersionedRun | None:
        return next(iter(await self._load([run_id], parts=parts)), None)

    async def _load(self, run_ids: Sequence[str], *, parts: bool = False) -> list[VersionedRun]:
        found: list[VersionedRun] = []
        for start in range(0, len(run_ids), _AT_ONCE):
            rows = await self._run(_LOAD, int(parts), *run_ids[start : start + _AT_ONCE])
            found += [stored for row in rows if (stored := read_stored(row))]
        return found

    async def _run(self, script: Script, *args: Argument) -> Any:
        if not self._is_known:
            await self._check_format()
        return await self._client.run(script, [self._prefix], args)

    async def _check_format(self) -> None:
        """Raise StoreUnavailableError if a newer version has written data that this one cannot read."""
        known = await self._client.command("SET", f"{self._prefix}format", FORMAT, "NX", "GET")
        if known is not None and int(known) > FORMAT:
            raise StoreUnavailableError(
                f"the runs in Redis at {self._client.where} were written by a newer version of this program"
                f" (format {int(known)}, known here: {FORMAT})",
                hint="install that version again, or restore the backup made before the upgrade",
            )
        self._is_known = True


async def _attempts() -> AsyncIterator[int]:
    """Yield attempts at a change that other processes may outrun, until their limit."""
    for attempt in range(_TRIES):
        yield attempt
        await asyncio.sleep(_PAUSE_S * min(attempt, 10))
    raise StoreUnavailableError("the record of a run changes too often", hint="try again")


def _texts(words: Iterable[bytes]) -> list[str]:
    return [bytes(word).decode() for word in words]


def _to_recent(run: Run) -> RecentRun:
    return RecentRun(run.id, run.status, run.queued_at, run.started_at, run.finished_at, run.retry_of)
