"""Doors as people see and change them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.security import front_door_url
from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.core.reading.fields import Field, RecordType, TextType
from tocsin.core.reading.json_value import JsonIssue, JsonIssues, JsonValue, to_members
from tocsin.core.reading.value import WRONG_VALUE, suggestion
from tocsin.features.context import FeatureContext
from tocsin.features.doors.feature import DOOR_CREATE, DOOR_DELETE, DOOR_EDIT, DOOR_ROTATE
from tocsin.features.doors.model import (
    DEFAULT_PROTOCOL,
    DEFINITION,
    FIELDS,
    NAME_PATTERN,
    NAME_RULE,
    Door,
    DoorAddress,
    DoorDefinition,
    DoorRequestRecord,
    DoorSeverity,
    InvalidDoorError,
)
from tocsin.features.doors.protocols.catalogue import PROTOCOLS
from tocsin.features.doors.rules.checking import RuleWarning, check_rules
from tocsin.features.doors.rules.file import FILE_NAME, RulesFile, preset_names
from tocsin.features.doors.store import KEPT, DoorStore, hash_of
from tocsin.messaging.outbound.caller import Caller

_NAME = Field("name", TextType(pattern=NAME_PATTERN, rule=NAME_RULE), required=True, doc="Name of the door")
NAMED = RecordType((_NAME, *DEFINITION.fields))


class Doors:
    """The doors of the data directory."""

    def __init__(self, context: FeatureContext) -> None:
        self.context = context
        self.store = DoorStore(context.database)
        self.rules = RulesFile(context.data_dir / FILE_NAME)
        self.refused_mail = Counter[str]()  # by reason, in this process
        self.at_the_door: Any = None  # the `DoorsAtTheDoor` of this process

    def now(self) -> float:
        """Return the present time."""
        return self.context.clock.now()

    async def are_there(self) -> bool:
        """Whether the front door has to listen."""
        return self.context.database.path.exists() and await self.store.exist()

    async def all(self) -> list[Door]:
        """Return all doors by name."""
        return await self.store.all() if self.context.database.path.exists() else []

    async def get(self, name_or_id: str) -> Door:
        """Return one door; raises UnknownDoorError."""
        return await self.store.get(name_or_id)

    async def add(self, name: Any, fields: Mapping[str, Any], caller: Caller, secret: str = "") -> DoorAddress:
        """Add a door, and return its address, which nothing shows again.

        `secret` proves its senders, beyond the address. Raises InvalidDoorError and DoorNameTakenError.
        """
        definition = self._definition(name, fields)
        _check_secret(definition, secret)
        now = self.now()
        door = Door(id=new_id(), name=name, definition=definition, secret=secret, created_at=now, updated_at=now)
        token = PROTOCOLS[definition.protocol].mint()
        await self.store.insert(door, token)
        self.record(DOOR_CREATE, door, caller)
        return self._address(door, token)

    async def edit(
        self, name_or_id: str, changes: Mapping[str, Any], caller: Caller, secret: str | None = None
    ) -> Door:
        """Change fields of a door, where `None` selects the default; its address stays.

        An empty `secret` removes the secret, also one of the vault; `None` keeps it. Raises UnknownDoorError,
        InvalidDoorError and DoorChangedError.
        """
        before = await self.get(name_or_id)
        fixed = {"name": before.name, "protocol": before.definition.protocol}
        if any(changes.get(field, value) != value for field, value in fixed.items()):
            raise InvalidDoorError("the name and the protocol of a door cannot be changed", hint="add another door")
        given = {**_as_given(before.definition), **changes}
        if secret is not None and "secret_name" not in changes:
            given["secret_name"] = None
        given = {field: value for field, value in given.items() if value is not None or field not in FIELDS}
        definition = self._definition(before.name, given)
        kept = before.secret if secret is None and not definition.secret_name else secret or ""
        _check_secret(definition, kept)
        fields = [name for name in FIELDS if getattr(definition, name) != getattr(before.definition, name)]
        fields += ["secret"] if kept != before.secret else []
        if not fields:
            return before
        after = await self.store.redefine(before, definition, kept, self.now())
        self.record(DOOR_EDIT, after, caller, {"fields": fields})
        return after

    async def rotate(self, name_or_id: str, caller: Caller) -> DoorAddress:
        """Replace the address of a door: the former one is refused from now on."""
        before = await self.get(name_or_id)
        token = PROTOCOLS[before.definition.protocol].mint()
        door = await self.store.change(before.id, "token_hash = ?, updated_at = ?", hash_of(token), self.now())
        self.record(DOOR_ROTATE, door, caller)
        return self._address(door, token)

    async def remove(self, name_or_id: str, caller: Caller) -> Door:
        """Remove a door: its address is refused from now on; what it accepted is still sent."""
        removed = await self.store.change(name_or_id, "removed_at = ?, secret = ''", self.now())
        self.record(DOOR_DELETE, removed, caller)
        return removed

    async def requests(self, name_or_id: str, limit: int = KEPT) -> list[DoorRequestRecord]:
        """Return the newest requests of a door."""
        return await self.store.requests((await self.get(name_or_id)).id, limit)

    async def waiting(self) -> int:
        """Return how many requests are not processed yet."""
        return await self.store.count_waiting() if self.context.database.path.exists() else 0

    async def needed_files(self) -> frozenset[str]:
        """Return the hashes of the files of requests that are not processed yet."""
        return await self.store.files_waiting() if self.context.database.path.exists() else frozenset()

    async def rule_warnings(self) -> list[RuleWarning]:
        """Return what is odd about the rules of `doors.yaml`."""
        rules = self.rules.read()[0]
        doors = {each.name: each for each in await self.all()}
        payloads = {name: [each.payload for each in await self.requests(name)] for name in rules if name in doors}
        return check_rules(rules, doors, payloads)

    async def secret_of(self, door: Door) -> str:
        """Return the secret of a door's senders; raises TocsinError if the vault cannot reveal it."""
        if not door.definition.secret_name:
            return door.secret
        return await self.context.abilities.secrets.reveal(door.definition.secret_name, reader=f"door {door.name}")

    async def prune(self) -> None:
        """Delete old rows."""
        if self.context.database.path.exists():
            await self.store.prune(self.now())

    def _address(self, door: Door, token: str) -> DoorAddress:
        definition, protocol = door.definition, PROTOCOLS[door.definition.protocol]
        base = protocol.base_url(self.context.settings) or front_door_url(self.context.settings)
        url, further = protocol.url(base, token, door.name), protocol.further_urls(base, token)
        return DoorAddress(door.name, definition.protocol, definition.profile, token, url, base, **further)

    def _definition(self, name: object, given: Mapping[str, Any]) -> DoorDefinition:
        """Return the definition that fields make; raises InvalidDoorError with all mistakes. `None` is no name."""
        issues = JsonIssues()
        named = dict(given) if name is None else {"name": name, **given}
        read = NAMED.read(JsonValue(to_members(named), issues))
        values = {field: value for field, value in read.values.items() if field != "name" and value is not None}
        values["severity"] = DoorSeverity(values.get("severity") or DoorSeverity.INFO)
        protocol = PROTOCOLS.get(values.get("protocol") or DEFAULT_PROTOCOL)
        values["preset"] = values.get("preset") or (protocol.preset if protocol else "")
        values["sources"] = tuple(values.get("sources") or ())
        definition = DoorDefinition(**values)
        checks: dict[str, Callable[[], None]] = {
            "protocol": lambda: _known("protocol", definition.protocol or DEFAULT_PROTOCOL, PROTOCOLS),
            "preset": lambda: _known("preset", definition.preset, ("", *preset_names())),
            "profile": lambda: self._check_profile(str(name), definition),
        }
        for field, check in checks.items():
            try:
                check()
            except TocsinError as error:
                issues.add(JsonIssue((field,), WRONG_VALUE, error.sentence()))
        if issues.count:
            said = "; ".join(map(str, issues.shown))
            hint = "see `tocsin doors add --help`"
            raise InvalidDoorError(said, hint=hint, issues=issues.shown, count=issues.count)
        return definition

    def _check_profile(self, name: str, definition: DoorDefinition) -> None:
        if definition.profile:
            self.context.messenger.check_profile(definition.profile)
        elif not any(placed.rule.profile for placed in self.rules.of(name, definition.preset)):
            raise InvalidDoorError("a door needs a profile, unless a rule names one")

    def record(
        self, action: AuditAction, door: Door, caller: Caller, facts: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Write the audit entry of a change."""
        self.context.audit.record(action, door.name, source=caller.source, metadata={"door": door.name, **facts})


def _as_given(definition: DoorDefinition) -> dict[str, Any]:
    """Return a definition as the fields of a request, for a change of some of them."""
    own = {"severity": str(definition.severity), "sources": list(definition.sources)}
    return {**{name: getattr(definition, name) or None for name in FIELDS}, **own}


def _check_secret(definition: DoorDefinition, secret: str) -> None:
    if secret and definition.secret_name:
        raise InvalidDoorError("give either a secret, or its name in the vault")
    if (secret or definition.secret_name) and not PROTOCOLS[definition.protocol].routes:
        raise InvalidDoorError(f"senders of {definition.protocol} prove themselves with the token alone")


def _known(kind: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        names = f"choose from {', '.join(sorted(filter(None, known)))}"
        raise InvalidDoorError(f"unknown {kind} {name[:60]!r}", hint=names + suggestion(name, known))
