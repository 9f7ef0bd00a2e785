"""The operations on heartbeats."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import WithJsonSchema

from tocsin.core.reading.json_schema import patch_schema, record_schema, without_names
from tocsin.features.ability_records import ScheduledJob
from tocsin.features.heartbeats.model import (
    DEFINITION,
    NAME_PATTERN,
    Heartbeat,
    HeartbeatAddress,
    HeartbeatPing,
    HeartbeatRecord,
    HeartbeatState,
)
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.rest.callers import CallerOf
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.headers import JSON, MERGE_PATCH
from tocsin.rest.operations import OfferedTool, operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.refusals import pointing_out

_NAME = {"type": "string", "pattern": f"^{NAME_PATTERN}$", "description": "Name, which is part of an address"}


def _schema(schema: dict[str, Any], *required: str) -> dict[str, Any]:
    properties = {"name": _NAME, **schema["properties"]}
    return {**schema, "properties": properties, "required": [*required, *schema.get("required", [])]}


# Read by the feature's own rules, which are those of its file.
HeartbeatBody = Annotated[dict[str, Any], WithJsonSchema(_schema(record_schema(without_names(DEFINITION)), "name"))]
HeartbeatPatch = Annotated[dict[str, Any], WithJsonSchema(_schema(patch_schema(DEFINITION)))]
HeartbeatId = Annotated[str, Path(alias="id", description="ID or name of the heartbeat.")]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PingBody:
    """The content of a ping."""

    n: int
    body: Annotated[str, "Beginning and end of the body, with secrets masked."]


class HeartbeatRoutes:
    """The operations on heartbeats."""

    def __init__(self, heartbeats: Heartbeats) -> None:
        self._heartbeats = heartbeats

    @operation(
        "GET",
        "/api/heartbeats",
        extension=True,
        problems=("validation-failed",),
        answer=Page[HeartbeatRecord],
        tool=OfferedTool("list_heartbeats", read_only=True, idempotent=True),
    )
    async def list_heartbeats(
        self,
        paging: PagingOf,
        q: Annotated[str, Query(max_length=200, description="Text in the name or description.")] = "",
        state: Annotated[HeartbeatState | None, Query(description="State of the heartbeats.")] = None,
        tag: Annotated[str, Query(max_length=50, description="Tag of the heartbeats.")] = "",
    ) -> Any:
        """List heartbeats by name."""
        now, text = self._heartbeats.now(), q.casefold()
        found = [
            each
            for each in await self._heartbeats.all()
            if (state is None or each.state(now) is state)
            and (not tag or tag in each.definition.tags)
            and text in f"{each.name} {each.definition.description}".casefold()
        ]
        page, following = paging.cut(found, lambda each: each.name)
        return paging.page(await self._heartbeats.records(page), following, len(found))

    @operation(
        "POST",
        "/api/heartbeats",
        scope="admin",
        once=True,
        extension=True,
        problems=("validation-failed", "name-taken"),
        status=201,
        answer=HeartbeatRecord,
    )
    async def create_heartbeat(self, body: HeartbeatBody, response: Response, caller: CallerOf) -> Any:
        """Create a heartbeat; one of this name that was removed within 30 days gets its address and history back."""
        fields = dict(body)
        name = fields.pop("name", None)
        with pointing_out(body):
            found = await self._heartbeats.add(name, fields, caller)
        response.headers["Location"] = f"/api/heartbeats/{found.id}"
        return await self._record(response, found)

    @operation("GET", "/api/heartbeats/jobs", extension=True, answer=list[ScheduledJob])
    async def list_own_jobs(self) -> Any:
        """List the cron jobs of Tocsin itself by name, which need no heartbeat."""
        return await self._heartbeats.context.abilities.schedules.jobs()

    @operation("GET", "/api/heartbeats/{id}", extension=True, problems=("not-found",), answer=HeartbeatRecord)
    async def get_heartbeat(self, heartbeat_id: HeartbeatId, response: Response) -> Any:
        """Get a heartbeat by ID or name."""
        return await self._record(response, await self._heartbeats.get(heartbeat_id))

    @operation(
        "PATCH",
        "/api/heartbeats/{id}",
        scope="admin",
        extension=True,
        problems=("not-found", "conflict", "name-taken", "precondition-failed", "validation-failed"),
        answer=HeartbeatRecord,
        media=(JSON, MERGE_PATCH),
    )
    async def change_heartbeat(
        self, request: Request, heartbeat_id: HeartbeatId, body: HeartbeatPatch, response: Response, caller: CallerOf
    ) -> Any:
        """Change fields with a JSON Merge Patch, where null selects the default; `If-Match` is supported."""
        before = await self._heartbeats.get(heartbeat_id)
        check_unchanged(request, _version(before))
        with pointing_out(body):
            return await self._record(response, await self._heartbeats.edit(before.id, body, caller))

    @operation(
        "DELETE",
        "/api/heartbeats/{id}",
        scope="admin",
        extension=True,
        problems=("not-found", "conflict", "precondition-failed"),
    )
    async def delete_heartbeat(self, request: Request, heartbeat_id: HeartbeatId, caller: CallerOf) -> None:
        """Remove a heartbeat; its history and its address are kept for 30 days. `If-Match` is supported."""
        check_unchanged(request, _version(await self._heartbeats.get(heartbeat_id)))
        await self._heartbeats.remove(heartbeat_id, caller)

    @operation(
        "POST",
        "/api/heartbeats/{id}/pause",
        scope="run",
        extension=True,
        problems=("not-found",),
        answer=HeartbeatRecord,
    )
    async def pause_heartbeat(self, heartbeat_id: HeartbeatId, response: Response, caller: CallerOf) -> Any:
        """Stop watching a heartbeat until it is resumed; its pings are recorded."""
        return await self._record(response, await self._heartbeats.pause(heartbeat_id, caller))

    @operation(
        "POST",
        "/api/heartbeats/{id}/resume",
        scope="run",
        extension=True,
        problems=("not-found", "conflict"),
        answer=HeartbeatRecord,
    )
    async def resume_heartbeat(self, heartbeat_id: HeartbeatId, response: Response, caller: CallerOf) -> Any:
        """Watch a paused heartbeat again."""
        return await self._record(response, await self._heartbeats.resume(heartbeat_id, caller))

    @operation(
        "GET",
        "/api/heartbeats/{id}/pings",
        extension=True,
        problems=("not-found", "validation-failed"),
        answer=Page[HeartbeatPing],
    )
    async def list_pings(self, paging: PagingOf, heartbeat_id: HeartbeatId) -> Any:
        """List the pings of a heartbeat, the newest first."""
        start = paging.start_like(r"[0-9]{1,15}")
        found = await self._heartbeats.pings(heartbeat_id, paging.limit + 1, int(start) if start else None)
        page = found[: paging.limit]
        return paging.page(page, str(page[-1].n) if len(found) > paging.limit else None)

    @operation(
        "GET",
        "/api/heartbeats/{id}/pings/{n}/body",
        extension=True,
        problems=("not-found",),
        answer=PingBody,
    )
    async def get_ping_body(
        self, heartbeat_id: HeartbeatId, n: Annotated[str, Path(max_length=20, description="Number of the ping.")]
    ) -> Any:
        """Get what a ping reported, with secrets masked."""
        number = int(n) if n.isascii() and n.isdecimal() else 0
        return PingBody(number, await self._heartbeats.body(heartbeat_id, min(number, 2**53)))

    @operation(
        "GET",
        "/api/heartbeats/{id}/address",
        scope="admin",
        extension=True,
        problems=("not-found",),
        answer=HeartbeatAddress,
    )
    async def get_heartbeat_address(self, heartbeat_id: HeartbeatId) -> Any:
        """Get the addresses of a heartbeat, which are secrets."""
        return await self._heartbeats.addresses(await self._heartbeats.get(heartbeat_id))

    @operation(
        "POST",
        "/api/heartbeats/{id}/new-address",
        scope="admin",
        extension=True,
        problems=("not-found",),
        answer=HeartbeatAddress,
    )
    async def replace_heartbeat_address(self, heartbeat_id: HeartbeatId, caller: CallerOf) -> Any:
        """Replace the UUID of a heartbeat; its former address is refused from now on."""
        return await self._heartbeats.addresses(await self._heartbeats.new_address(heartbeat_id, caller))

    async def _record(self, response: Response, heartbeat: Heartbeat) -> Any:
        (found,) = await self._heartbeats.records([heartbeat])
        return tag(response, found, _version(heartbeat))


def _version(heartbeat: Heartbeat) -> object:
    return heartbeat.id, heartbeat.updated_at


OPERATIONS = operations_of("heartbeats", HeartbeatRoutes)
