"""Heartbeats as people see and change them."""

import uuid
import zlib
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import replace
from sqlite3 import Connection
from typing import Any, NamedTuple

from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.security import front_door_url
from tocsin.core.errors import ConfigError
from tocsin.core.ids import new_id
from tocsin.features.context import FeatureContext
from tocsin.features.heartbeats.definitions import (
    FIELDS,
    FILE_NAME,
    DefinitionReader,
    HeartbeatFile,
    as_given,
    changed_fields,
)
from tocsin.features.heartbeats.door.relay import PingRelay
from tocsin.features.heartbeats.feature import (
    HEARTBEAT_ADDRESS,
    HEARTBEAT_CREATE,
    HEARTBEAT_DELETE,
    HEARTBEAT_EDIT,
    HEARTBEAT_PAUSE,
    HEARTBEAT_RESUME,
    HEARTBEATS,
)
from tocsin.features.heartbeats.ledger import rows
from tocsin.features.heartbeats.ledger.rules import begin
from tocsin.features.heartbeats.model import (
    Heartbeat,
    HeartbeatAddress,
    HeartbeatChangedError,
    HeartbeatConflictError,
    HeartbeatDefinition,
    HeartbeatNameTakenError,
    HeartbeatPing,
    HeartbeatRecord,
    HeartbeatRun,
    HeartbeatSource,
    HeartbeatState,
    UnknownHeartbeatError,
    Watched,
)
from tocsin.features.heartbeats.store import BADGE_KEY, HOST, PING_KEY, HeartbeatStore, Ledger
from tocsin.messaging.outbound.caller import Caller
from tocsin.scheduling.zones import default_zone

_TIMING = frozenset({"period", "schedule", "timezone"})
_REMOVED = "It was removed while it was down."


class _FileChange(NamedTuple):
    action: AuditAction
    name: str
    fields: Sequence[str] = ()


class Heartbeats:
    """The heartbeats of the data directory."""

    def __init__(self, context: FeatureContext) -> None:
        self.context = context
        self.zone = default_zone(context.settings)
        self.store = HeartbeatStore(context.database)
        self.file = HeartbeatFile(context.data_dir / FILE_NAME, self.zone)
        self.reader = DefinitionReader(context, self.zone)
        self.at_the_door: Any = None  # the `HeartbeatsAtTheDoor` of this process
        self._synced: Mapping[str, HeartbeatDefinition] | None = None
        self._relay: PingRelay | None = None

    @property
    def are_kept(self) -> bool:
        """Whether there may be heartbeats; asking for them would make the database."""
        return self.context.database.path.exists() or self.file.path.exists()

    @property
    def problem(self) -> ConfigError | None:
        """The error in the current file, if any."""
        return self.file.read()[1]

    def now(self) -> float:
        return self.context.clock.now()

    async def are_there(self) -> bool:
        """Whether there is a heartbeat, here or on a host that shares a Redis."""
        if self.are_kept:
            await self.sync()
            if await self.store.exist():
                return True
        relay = await self.relay()
        return relay is not None and await relay.is_used()

    async def relay(self) -> PingRelay | None:
        """Return the relay of pings between hosts; `None` unless they share a Redis."""
        client = self.context.shared_redis()
        if client is not None and (self._relay is None or (self.are_kept and not self._relay.host)):
            self._relay = PingRelay(client, self.store, await self.store.key(HOST, create=self.are_kept))
        return self._relay

    async def all(self) -> list[Heartbeat]:
        """Return all heartbeats by name, those of the file as it is now."""
        if not self.are_kept:
            return []
        await self.sync()
        return await self.store.all()

    async def get(self, name_or_id: str) -> Heartbeat:
        """Return one heartbeat; raises UnknownHeartbeatError."""
        await self.sync()
        return await self.store.get(name_or_id)

    async def sync(self) -> None:
        """Bring the file into the database, if it changed."""
        found, problem = await to_thread(self.file.read)  # ten thousand definitions take seconds
        if found is None or problem is not None or found is self._synced:
            return
        if not found and not self.context.database.path.exists():
            return
        changes: list[_FileChange] = await self.store.change_all(lambda c, known: self._synchronise(c, known, found))
        self._synced = found
        for change in changes:
            facts = {"heartbeat": change.name, **({"fields": change.fields} if change.fields else {})}
            detail = f"{change.name}, from {FILE_NAME}"
            self.context.audit.record(change.action, detail, source=HEARTBEATS.name, metadata=facts)

    def _synchronise(
        self, connection: Connection, known: Mapping[str, Heartbeat], found: Mapping[str, HeartbeatDefinition]
    ) -> list[_FileChange]:
        now, changes = self.now(), list[_FileChange]()
        for name, definition in found.items():
            before = known.get(name)
            if before is None:
                rows.insert(connection, made(name, definition, HeartbeatSource.FILE, now))
                changes.append(_FileChange(HEARTBEAT_CREATE, name))
            elif before.removed_at or before.source is not HeartbeatSource.FILE or before.definition != definition:
                fields = changed_fields(before.definition, definition)
                rows.save(connection, _redefined(replace(before, source=HeartbeatSource.FILE), definition, now))
                is_new = before.removed_at is not None
                changes.append(
                    _FileChange(HEARTBEAT_CREATE if is_new else HEARTBEAT_EDIT, name, () if is_new else fields)
                )
        for name, before in known.items():
            if before.source is HeartbeatSource.FILE and not before.removed_at and name not in found:
                rows.end_alarm(connection, before, _REMOVED)
                rows.save(connection, _removed(before, now))
                changes.append(_FileChange(HEARTBEAT_DELETE, name))
        return changes

    async def add(self, name: Any, fields: Mapping[str, Any], caller: Caller, code: str = "") -> Heartbeat:
        """Add a heartbeat; one that was removed within 30 days gets its address and its history back.

        `code` is the UUID of its address, by default a new one. Raises InvalidHeartbeatError, HeartbeatNameTakenError,
        and HeartbeatConflictError if another heartbeat has the UUID.
        """
        definition, now = self.reader.read(name, fields), self.now()
        await self.sync()

        def work(connection: Connection, known: Mapping[str, Heartbeat]) -> Heartbeat:
            before = known.get(name)
            if owner := next((each.name for each in known.values() if code and each.code == code), ""):
                raise HeartbeatConflictError(f"heartbeat {owner} has the same address", hint="remove it, or rename it")
            if before is None:
                added = made(name, definition, HeartbeatSource.API, now)
                added = replace(added, code=code or added.code)
                rows.insert(connection, added)
                return added
            if before.removed_at is None:
                raise HeartbeatNameTakenError(
                    f"heartbeat {name} already exists", hint="choose another name, or edit it"
                )
            added = _redefined(replace(before, source=HeartbeatSource.API), definition, now)
            rows.save(connection, added)
            return added

        heartbeat: Heartbeat = await self.store.change_all(work)
        self.record(HEARTBEAT_CREATE, heartbeat, caller)
        return heartbeat

    async def edit(self, name_or_id: str, changes: Mapping[str, Any], caller: Caller) -> Heartbeat:
        """Change fields of a heartbeat, or its `name`; `None` means the default. Raises like `add`."""
        before = await self.get(name_or_id)
        self._refuse_file(before)
        changes = dict(changes)
        name = before.name if changes.get("name") is None else changes["name"]
        changes.pop("name", None)
        given = {**as_given(before.definition), **changes}
        if "schedule" in changes and changes["schedule"] and "period" not in changes:
            given.pop("period", None)
        if "period" in changes and changes["period"] and "schedule" not in changes:
            given = {field: value for field, value in given.items() if field not in {"schedule", "timezone"}}
        definition = self.reader.read(
            name, {field: value for field, value in given.items() if value is not None or field not in FIELDS}
        )
        fields = [*(["name"] if name != before.name else []), *changed_fields(before.definition, definition)]
        if not fields:
            return before
        now = self.now()

        def edited(each: Heartbeat) -> Heartbeat:
            if each.updated_at != before.updated_at:
                raise HeartbeatChangedError(f"heartbeat {each.name} was changed concurrently", hint="read it again")
            return replace(_redefined(each, definition, now), name=name)

        after = await self.store.change(before.id, edited)
        self.record(HEARTBEAT_EDIT, after, caller, {"fields": fields})
        return after

    async def remove(self, name_or_id: str, caller: Caller) -> Heartbeat:
        """Remove a heartbeat; its address is refused from now on, its history is kept for 30 days."""
        found = await self.get(name_or_id)
        self._refuse_file(found)
        await self.store.change(found.id, lambda each: _removed(each, self.now()), ends=_REMOVED)
        self.record(HEARTBEAT_DELETE, found, caller)
        return found

    async def pause(self, name_or_id: str, caller: Caller) -> Heartbeat:
        """Stop watching a heartbeat until `resume`; its pings are recorded."""
        found, now = await self.get(name_or_id), self.now()

        def paused(each: Heartbeat) -> Heartbeat:
            due = each.watched.due_at if each.definition.schedule else None
            watched = replace(each.watched, state=HeartbeatState.PAUSED, since=now, due_at=due, reason="", runs=())
            return replace(each, watched=watched, updated_at=now, told="", quiet_until=None)

        if found.watched.state is HeartbeatState.PAUSED:
            return found
        after = await self.store.change(found.id, paused, ends="It was paused while it was down.")
        self.record(HEARTBEAT_PAUSE, after, caller)
        return after

    async def resume(self, name_or_id: str, caller: Caller) -> Heartbeat:
        """Watch a paused heartbeat again: the next ping is expected from now on."""
        found, now = await self.get(name_or_id), self.now()
        if found.watched.state is not HeartbeatState.PAUSED:
            raise HeartbeatConflictError(
                f"heartbeat {found.name} is not paused", hint="only a paused one can be resumed"
            )

        def resumed(each: Heartbeat) -> Heartbeat:
            state = HeartbeatState.UNKNOWN if each.pings else HeartbeatState.NEW
            watched = replace(each.watched, state=state, since=now)
            return replace(each, watched=begin(each.definition, watched, now), updated_at=now)

        after = await self.store.change(found.id, resumed)
        self.record(HEARTBEAT_RESUME, after, caller)
        return after

    async def new_address(self, name_or_id: str, caller: Caller) -> Heartbeat:
        """Replace the UUID of a heartbeat: its former address is refused from now on."""
        found = await self.get(name_or_id)
        after = await self.store.change(found.id, lambda each: replace(each, code=str(uuid.uuid4())))
        self.record(HEARTBEAT_ADDRESS, after, caller)
        return after

    async def new_key(self, purpose: str, caller: Caller) -> str:
        """Replace the ping key or the badge key; addresses with the former one are refused from now on."""
        key = await self.store.key(purpose, renew=True)
        facts = {"heartbeat": "*"}
        self.context.audit.record(HEARTBEAT_ADDRESS, f"a new {purpose} key", source=caller.source, metadata=facts)
        return key

    async def addresses(self, heartbeat: Heartbeat) -> HeartbeatAddress:
        """Return the addresses of a heartbeat, which are secrets."""
        base, key = front_door_url(self.context.settings), await self.store.key(PING_KEY, create=True)
        return HeartbeatAddress(
            f"{base}/ping/{heartbeat.code}",
            f"{base}/ping/{key}/{heartbeat.name}",
            f"{base}/api/push/{uuid.UUID(heartbeat.code).hex}",
            f"{base}/p/{key}/{heartbeat.name}",
        )

    async def badge_url(self, name: str) -> str:
        """Return the address of a badge; empty if no badge key was made."""
        key = await self.store.key(BADGE_KEY)
        return f"{front_door_url(self.context.settings)}/badge/{key}/{name}.svg" if key else ""

    async def records(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatRecord]:
        """Return heartbeats as people see them."""
        now = self.now()
        ledgers = await self.store.ledgers([each.id for each in heartbeats], now) if heartbeats else {}
        return [record(each, ledgers[each.id], now) for each in heartbeats]

    async def pings(self, name_or_id: str, limit: int, before: int | None = None) -> list[HeartbeatPing]:
        """Return the newest pings of a heartbeat."""
        return await self.store.pings((await self.get(name_or_id)).id, limit, before)

    async def body(self, name_or_id: str, n: int) -> str:
        """Return what a ping reported; raises UnknownHeartbeatError if it is not kept."""
        found = await self.get(name_or_id)
        kept = await self.store.body(found.id, n)
        if kept is None:
            hint = "the newest 10 of successes and of failures are kept"
            raise UnknownHeartbeatError(f"no body of ping {n} of {found.name} is kept", hint=hint)
        return (await to_thread(zlib.decompress, kept)).decode()

    async def prune(self) -> None:
        """Delete old rows."""
        if self.context.database.path.exists():
            await self.store.prune(self.now())

    def record(
        self,
        action: AuditAction,
        heartbeat: Heartbeat,
        caller: Caller,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Write the audit entry of a change."""
        metadata = {"heartbeat": heartbeat.name, **(facts or {})}
        self.context.audit.record(action, heartbeat.name, source=caller.source, metadata=metadata)

    def _refuse_file(self, heartbeat: Heartbeat) -> None:
        if heartbeat.source is HeartbeatSource.FILE:
            told = f"heartbeat {heartbeat.name} is defined in {FILE_NAME}"
            raise HeartbeatConflictError(told, hint=f"edit {self.file.path}")


def made(name: str, definition: HeartbeatDefinition, source: HeartbeatSource, now: float) -> Heartbeat:
    return Heartbeat(
        id=new_id(),
        name=name,
        code=str(uuid.uuid4()),
        source=source,
        definition=definition,
        created_at=now,
        updated_at=now,
        watched=Watched(since=now),
    )


def record(heartbeat: Heartbeat, ledger: Ledger, now: float) -> HeartbeatRecord:
    """Return the public record of a heartbeat."""
    watched, definition = heartbeat.watched, heartbeat.definition
    return HeartbeatRecord(
        id=heartbeat.id,
        name=heartbeat.name,
        source=heartbeat.source,
        state=heartbeat.state(now),
        since=watched.since,
        reason=watched.reason,
        definition=definition,
        schedule_text=definition.words(),
        next_due_at=watched.due_at,
        last_ping_at=watched.last_ping_at,
        last_kind=watched.last_kind,
        last_duration_s=watched.last_duration_s,
        running=[HeartbeatRun(run.rid, run.started_at, run.ends_by) for run in watched.runs],
        pings=heartbeat.pings,
        recent=ledger.recent,
        uptime_30d=ledger.uptime,
        created_at=heartbeat.created_at,
        updated_at=heartbeat.updated_at,
    )


def _redefined(heartbeat: Heartbeat, definition: HeartbeatDefinition, now: float) -> Heartbeat:
    """Return a heartbeat with another definition; a changed schedule applies from the next instant on."""
    watched = heartbeat.watched
    is_back = heartbeat.removed_at is not None
    if is_back and watched.state is not HeartbeatState.NEW:
        watched = replace(watched, state=HeartbeatState.UNKNOWN, since=now, reason="", runs=())
    if is_back or _TIMING & set(changed_fields(heartbeat.definition, definition)):
        is_paused = watched.state is HeartbeatState.PAUSED and not definition.schedule
        watched = replace(watched, due_at=None) if is_paused else begin(definition, watched, now)
    told = "" if is_back else heartbeat.told
    return replace(heartbeat, definition=definition, updated_at=now, removed_at=None, watched=watched, told=told)


def _removed(heartbeat: Heartbeat, now: float) -> Heartbeat:
    return replace(heartbeat, removed_at=now, quiet_until=None, told="")
