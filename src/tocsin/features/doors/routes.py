"""The operations on doors."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import WithJsonSchema

from tocsin.core.config.security import is_front_door_local
from tocsin.core.reading.fields import BooleanType, IntegerType, TextType
from tocsin.core.reading.json_schema import patch_schema, record_schema, without_names
from tocsin.core.reading.records import Written
from tocsin.features.doors.model import (
    DEFINITION,
    NAME_PATTERN,
    Door,
    DoorAddress,
    DoorInstruction,
    DoorPreview,
    DoorRecord,
    DoorRequestRecord,
    DoorSentTest,
    DoorSetUp,
    WrittenRule,
    as_record,
)
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.rules.file import preset_names
from tocsin.features.doors.service import Doors
from tocsin.features.doors.trying import make_rule, preview, send_test
from tocsin.rest.bodies import RequestBody
from tocsin.rest.callers import CallerOf
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.headers import JSON, MERGE_PATCH
from tocsin.rest.operations import operation, operations_of
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.refusals import pointing_out

_MAX_SECRET = 4_096
_MAX_PAYLOAD = 256 * 1024
_MAX_RULE = 64 * 1024


def _body_schema() -> dict[str, Any]:
    schema = record_schema(without_names(DEFINITION))
    name = {"type": "string", "pattern": f"^{NAME_PATTERN}$", "description": "Name of the door"}
    secret = {"type": "string", "maxLength": _MAX_SECRET, "description": "Secret with which senders prove themselves"}
    return {**schema, "properties": {"name": name, "secret": secret, **schema["properties"]}, "required": ["name"]}


def _changes_schema() -> dict[str, Any]:
    schema = patch_schema(without_names(DEFINITION))
    fields = {name: field for name, field in schema["properties"].items() if name != "protocol"}
    secret = {"type": ["string", "null"], "maxLength": _MAX_SECRET, "description": "Secret of its senders"}
    return {**schema, "properties": {"secret": secret, **fields}}


# Read by the rules that the command line has, too.
DoorPatch = Annotated[dict[str, Any], WithJsonSchema(_changes_schema())]
DoorBody = Annotated[dict[str, Any], WithJsonSchema(_body_schema())]
DoorId = Annotated[str, Path(alias="id", description="ID or name of the door.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewBody(RequestBody):
    """The request to preview: a payload, or a stored request, by default the newest."""

    payload: Annotated[
        str | None, Written(TextType(blank=True, max_chars=_MAX_PAYLOAD), nullable=True), "Text of a payload."
    ] = None
    request: Annotated[int | None, Written(IntegerType(1), nullable=True), "Number of a kept request."] = None
    rule: Annotated[
        str | None,
        Written(TextType(blank=True, max_chars=_MAX_RULE), nullable=True),
        "Rules, as in `doors.yaml`, that are tried before the active ones.",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBody(RequestBody):
    """The request from which a rule is made."""

    request: Annotated[
        int | None, Written(IntegerType(1), nullable=True), "Number of a stored request; null: the newest."
    ] = None
    rule: Annotated[
        str | None,
        Written(TextType(blank=True, max_chars=_MAX_RULE), nullable=True),
        "Text of the rule to add, as in `doors.yaml`; null: one is made from the request.",
    ] = None
    write: Annotated[bool, Written(BooleanType()), "Whether to add the rule to `doors.yaml`."] = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DoorProtocolRecord:
    """A protocol that a door may have."""

    name: str
    label: Annotated[str, "What it is called in texts."]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DoorKinds:
    """The protocols and presets that a door may have."""

    protocols: list[DoorProtocolRecord]
    presets: Annotated[list[str], "Names of presets."]


class DoorRoutes:
    """The operations on doors."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors

    @operation("GET", "/api/doors", extension=True, problems=("validation-failed",), answer=Page[DoorRecord])
    async def list_doors(
        self, paging: PagingOf, q: Annotated[str, Query(max_length=200, description="Text in the name.")] = ""
    ) -> Any:
        """List doors by name, without their addresses."""
        found = [each for each in await self._doors.all() if q.casefold() in each.name]
        page, following = paging.cut(found, lambda each: each.name)
        return paging.page([as_record(each) for each in page], following, len(found))

    @operation(
        "POST",
        "/api/doors",
        scope="admin",
        extension=True,
        problems=("validation-failed", "name-taken"),
        status=201,
        answer=DoorSetUp,
    )
    async def create_door(self, body: DoorBody, response: Response, caller: CallerOf) -> Any:
        """Add a door; its address is in this response alone."""
        fields = dict(body)
        name, secret = fields.pop("name", None), str(fields.pop("secret", "") or "")[:_MAX_SECRET]
        with pointing_out(body):
            added = await self._doors.add(name, fields, caller, secret)
        response.headers["Location"] = f"/api/doors/{added.name}"
        return set_up(self._doors, added)

    @operation("GET", "/api/doors/kinds", extension=True, answer=DoorKinds)
    async def list_door_kinds(self) -> Any:
        """List the protocols and presets that a door may have."""
        return DoorKinds([DoorProtocolRecord(each.name, each.label) for each in PROTOCOLS.values()], preset_names())

    @operation("GET", "/api/doors/{id}", extension=True, problems=("not-found",), answer=DoorRecord)
    async def get_door(self, door_id: DoorId, response: Response) -> Any:
        """Get a door by ID or name, without its address."""
        found = await self._doors.get(door_id)
        return tag(response, as_record(found), _version(found))

    @operation(
        "PATCH",
        "/api/doors/{id}",
        scope="admin",
        extension=True,
        problems=("not-found", "conflict", "precondition-failed", "validation-failed"),
        answer=DoorRecord,
        media=(JSON, MERGE_PATCH),
    )
    async def change_door(
        self, request: Request, door_id: DoorId, body: DoorPatch, response: Response, caller: CallerOf
    ) -> Any:
        """Change fields with a JSON Merge Patch, where null selects the default, or removes the secret.

        The address stays. `If-Match` is supported.
        """
        before = await self._doors.get(door_id)
        check_unchanged(request, _version(before))
        changes = dict(body)
        secret = str(changes.pop("secret") or "")[:_MAX_SECRET] if "secret" in changes else None
        with pointing_out(body):
            after = await self._doors.edit(before.id, changes, caller, secret)
        return tag(response, as_record(after), _version(after))

    @operation(
        "DELETE",
        "/api/doors/{id}",
        scope="admin",
        extension=True,
        problems=("not-found", "precondition-failed"),
    )
    async def delete_door(self, request: Request, door_id: DoorId, caller: CallerOf) -> None:
        """Remove a door: its address is refused at once; what it accepted is still sent. `If-Match` is supported."""
        check_unchanged(request, _version(await self._doors.get(door_id)))
        await self._doors.remove(door_id, caller)

    @operation(
        "POST",
        "/api/doors/{id}/rotate",
        scope="admin",
        extension=True,
        problems=("not-found",),
        answer=DoorSetUp,
    )
    async def rotate_door(self, door_id: DoorId, caller: CallerOf) -> Any:
        """Replace the address of a door; the new one is in this response alone."""
        rotated = await self._doors.rotate(door_id, caller)
        return set_up(self._doors, rotated)

    @operation(
        "GET", "/api/doors/{id}/requests", extension=True, problems=("not-found",), answer=list[DoorRequestRecord]
    )
    async def list_door_requests(self, door_id: DoorId) -> Any:
        """List the newest 20 requests of a door with their payloads, secrets masked, the newest first."""
        return await self._doors.requests(door_id)

    @operation(
        "POST",
        "/api/doors/{id}/test",
        scope="run",
        extension=True,
        problems=("not-found",),
        answer=DoorSentTest,
    )
    async def test_door(self, door_id: DoorId, caller: CallerOf) -> Any:
        """Send a test message to the profile of a door."""
        return await send_test(self._doors, door_id, caller)

    @operation(
        "POST",
        "/api/doors/{id}/preview",
        extension=True,
        problems=("not-found", "validation-failed"),
        answer=list[DoorPreview],
    )
    async def preview_door(self, door_id: DoorId, body: PreviewBody) -> Any:
        """Show what a payload, or a kept request, would become by the rules as they are now; nothing is sent."""
        with pointing_out({}):
            return await preview(self._doors, door_id, body.payload, body.request, body.rule)

    @operation(
        "POST",
        "/api/doors/{id}/rule",
        scope="admin",
        extension=True,
        problems=("not-found", "validation-failed"),
        answer=WrittenRule,
    )
    async def make_door_rule(self, door_id: DoorId, body: RuleBody, caller: CallerOf) -> Any:
        """Make a rule from a kept request, and add it, or the rule of the body, to `doors.yaml` if asked to."""
        with pointing_out({}):
            return await make_rule(self._doors, door_id, body.request, caller, rule=body.rule or "", write=body.write)


def set_up(doors: Doors, address: DoorAddress) -> DoorSetUp:
    """Return an address with what to paste where."""
    found = PROTOCOLS[address.protocol].instructions(address)
    instructions = [DoorInstruction(product, text) for product, text in found.items()]
    return DoorSetUp(address, instructions, is_front_door_local(doors.context.settings))


def _version(door: Door) -> object:
    return door.id, door.updated_at


OPERATIONS = operations_of("doors", DoorRoutes)
