"""Convert runs to documents in Redis, and compute the sorted sets that contain them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tocsin.runs.columns import (
    part_kind,
    part_name,
    read_part,
    read_record,
    read_task,
    read_wait,
    write_mapping,
    write_part,
    write_record,
    write_task,
    write_wait,
)
from tocsin.runs.engine.metrics import RunTotal, duration_bound, duration_s
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import (
    ACTIVE,
    FAILING,
    HostResult,
    OutputDeliveryStatus,
    Run,
    RunStatus,
    RunTrigger,
    StepRun,
)
from tocsin.runs.queue import ActiveRow, QueuedRow
from tocsin.runs.stored_run import StoredRun, unknown_run

_ONCE = frozenset({RunTrigger.SCHEDULE, RunTrigger.CATCHUP})
_SEPARATOR = "\x1f"  # separates words in the names of keys; subjects' names never contain it

Place = tuple[str, str, str]  # the name of a sorted set, score and member


class VersionedRun(NamedTuple):
    """A record with the version at which it was read."""

    version: str
    record: StoredRun


def read_stored(row: Sequence[Any]) -> VersionedRun | None:
    """Return the run of a row of `load.lua` or `active.lua`; `None` if there is none."""
    if not row:
        return None
    found = json.loads(row[1])
    task = None if found["task"] is None else read_task(found["task"])
    record = read_record(found["run"], task, map(read_wait, found["waits"]))
    run = replace(record.run, home=found["home"]).with_parts(_read_parts(row[2:]))
    return VersionedRun(bytes(row[0]).decode(), replace(record, run=run))


def _read_parts(words: Sequence[Any]) -> Iterator[StepRun | HostResult]:
    placed = []
    for name, value in zip(words[::2], words[1::2], strict=True):
        position, _, text = bytes(value).decode().partition(":")
        placed.append((int(position), bytes(name).decode().split(":")[1], text))
    return (read_part(kind, text) for _, kind, text in sorted(placed))


def write_document(record: StoredRun) -> str:
    """Return a record as JSON, without steps and hosts."""
    return json.dumps(
        {
            "run": write_record(record),
            "home": record.run.home,
            "task": None if record.task is None else write_task(record.task),
            "waits": [write_wait(record.run.id, wait) for wait in record.waits],
        }
    )


def write_parts(parts: Sequence[StepRun | HostResult]) -> list[list[str]]:
    """Return steps or hosts as pairs of a field and JSON."""
    return [[f"p:{part_kind(part)}:{part_name(part)}", write_part(part)] for part in parts]


def key_name(*words: str) -> str:
    """Return the name of a set that is identified by several words."""
    return _SEPARATOR.join(words)


def instant_key(run: Run) -> str:
    """Return the key of a run's scheduled instant, which only one run may have; empty for other runs."""
    if run.scheduled_for is None or run.retry_of is not None or run.trigger not in _ONCE:
        return ""
    return key_name(run.kind, run.subject_id, repr(float(run.scheduled_for)))


def places(record: StoredRun) -> list[Place]:
    """Return the sorted sets that contain a run."""
    run = record.run
    names = ["all", f"kind:{run.kind}", f"status:{run.status}", key_name("subject", run.kind, run.subject_id)]
    names += [f"retry:{run.retry_of}"] if run.retry_of else []
    names += [f"parent:{run.parent_run_id}"] if run.parent_run_id else []
    names += ["open", f"active:{run.kind}"] if run.status in ACTIVE else []
    names += ["unsettled"] if record.task and run.finished_at is not None else []
    names += [f"delivery:{run.delivery.status}"] if run.delivery.status is not OutputDeliveryStatus.NONE else []
    names += [f"question:{wait.question.id}" for wait in record.open_waits if wait.question.id]
    if run.started_at is not None and run.finished_at is not None and run.status is not RunStatus.CANCELLED:
        names.append(key_name("ended", run.kind, run.subject_id))
    found: list[Place] = [(name, "0", run.id) for name in names]
    found += [(f"{name}:times", repr(run.queued_at), run.id) for name in names[2:4]]
    found.append(("tails", "0", f"{run.id[24:]}:{run.id}"))
    if run.status in ACTIVE and not record.owner:
        found.append(("released", "0", " ".join((run.id, run.kind, run.status))))
    return found


def sets_for(query: RunFilter) -> list[str]:
    """Return the names of small sets that together contain every matching run, and no run twice."""
    if query.retry_of:
        return [f"retry:{query.retry_of}"]
    if query.parent:
        return [f"parent:{query.parent}"]
    if query.kind and query.subject:
        return [key_name("subject", query.kind, query.subject)]
    if query.status and (not query.kind or set(query.status) <= ACTIVE):
        return [f"status:{status}" for status in sorted(set(query.status))]
    return [f"kind:{query.kind}"] if query.kind else ["all"]


def total_name(run: Run) -> str:
    """Return the name of the total that counts a run which has just ended."""
    return key_name(run.kind, run.status, repr(duration_bound(run)))


def read_total(name: str, figures: Mapping[str, float]) -> RunTotal:
    kind, status, bound = name.split(_SEPARATOR)
    return RunTotal(kind, status, float(bound), int(figures["runs"]), figures["seconds"], figures["at"])


def find_outdated(runs: Sequence[Run], now: float, keep_days: float, keep: int, keep_failed: int) -> list[Run]:
    """Return the ended runs of one subject, given newest first, that `RunStore.prune` deletes."""
    if not runs:
        return []
    at_most = keep if runs[0].history_limit is None else runs[0].history_limit
    days = keep_days if runs[0].history_days is None else runs[0].history_days
    counts, old = {True: 0, False: 0}, list[Run]()
    for run in runs:
        fails = run.status in FAILING
        counts[fails] += 1
        is_beyond = counts[fails] > (max(at_most, keep_failed) if fails else at_most)
        is_old = run.finished_at is not None and run.finished_at < now - days * 86_400
        if (is_beyond or is_old) and run.delivery.status is not OutputDeliveryStatus.PENDING:
            old.append(run)
    return old


@dataclass(slots=True)
class Commit:
    """The changes that one call of `commit.lua` stores."""

    kinds: dict[str, str] = field(default_factory=dict)
    puts: list[dict[str, Any]] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)

    def put(self, after: StoredRun, before: VersionedRun | None = None) -> None:
        """Store a new record, or replace the version that was read `before`."""
        run, known = after.run, before.record.run if before else None
        kept: list[StepRun | HostResult] = [*known.steps, *known.hosts] if known else []
        parts: list[StepRun | HostResult] = [*run.steps, *run.hosts]
        # A run that has started is new here only when it moves from another store: it was counted there.
        ends = run.finished_at is not None and (known.finished_at if known else run.started_at) is None
        is_active = run.status in ACTIVE or (known is not None and known.status in ACTIVE)
        self.puts.append(
            {
                "id": run.id,
                "version": before.version if before else "0",
                "doc": write_document(after),
                "places": json.dumps(places(after)),
                "subject": key_name(run.kind, run.subject_id),
                "instant": instant_key(run),
                "parts": write_parts([part for part in parts if part not in kept]),
                "active": run.kind if is_active else "",
                "total": total_name(run) if ends else "",
                "seconds": repr(duration_s(run)) if ends else "",
                "at": repr(run.finished_at),
            }
        )

    def as_json(self) -> str:
        """Return the argument of the script."""
        return json.dumps({"kinds": self.kinds, "puts": self.puts, "removes": self.removes})


class DocumentQueue:
    """The runs of one kind that have not ended, as they were read; collects changes."""

    def __init__(
        self, stored: Mapping[str, VersionedRun], home: str, place: Callable[[StoredRun, StoredRun | None], StoredRun]
    ) -> None:
        self.changed: dict[str, StoredRun] = {}
        self._stored = stored
        self._home = home
        self._place = place

    def at_work(self) -> list[ActiveRow]:
        return [
            ActiveRow(run.id, run.subject_id, run.started_at or run.queued_at, run.status is RunStatus.CANCELLING)
            for record in self._now()
            if (run := record.run).status in ACTIVE - {RunStatus.QUEUED}
        ]

    def queued(self) -> list[QueuedRow]:
        records = [record for record in self._now() if record.run.status is RunStatus.QUEUED]
        return sorted(map(self._row, records), key=lambda row: (row.due_at, row.id))

    def add(self, record: StoredRun) -> None:
        self.changed[record.run.id] = self._place(record, None)

    def change(self, run_id: str, edit: Callable[[StoredRun], StoredRun]) -> StoredRun:
        before = self.changed.get(run_id) or (self._stored[run_id].record if run_id in self._stored else None)
        if before is None:
            raise unknown_run(run_id)
        after = self._place(edit(before), before)
        if after != before:
            self.changed[run_id] = after
        return after

    def _now(self) -> list[StoredRun]:
        return list({**{run_id: found.record for run_id, found in self._stored.items()}, **self.changed}.values())

    def _row(self, record: StoredRun) -> QueuedRow:
        run = record.run
        return QueuedRow(
            run.id,
            run.subject_id,
            run.subject_name,
            run.trigger,
            write_mapping(run.snapshot),
            run.source,
            run.scheduled_for,
            run.retry_of,
            record.task.not_before if record.task else None,
            run.queued_at if run.scheduled_for is None else run.scheduled_for,
            run.home in {"", self._home},
            record.owner,
        )
