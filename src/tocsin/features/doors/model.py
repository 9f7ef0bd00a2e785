"""A door: its definition, a request to it, and the outcome of one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated, Any, ClassVar

from tocsin.core.errors import ConflictError, NotFoundError, TocsinError
from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.invalid import InvalidRecordError
from tocsin.core.reading.records import Written, record_type
from tocsin.core.records.marks import Flat, TextOrNull, Time

NAME_PATTERN = r"[a-z0-9][a-z0-9_-]{0,62}"
NAME_RULE = "not a valid name: use lower-case letters, digits, _ and -, at most 63"
DEFAULT_PROTOCOL = "webhook"
REQUESTS_PER_MINUTE = 600


class UnknownDoorError(NotFoundError):
    """No door has this name or ID."""


class DoorNameTakenError(TocsinError):
    """Another door has the name."""

    code: ClassVar[str] = "name-taken"


class DoorChangedError(ConflictError):
    """Another change of the door was faster."""


class InvalidDoorError(InvalidRecordError):
    """The definition of a door is wrong."""


class DoorSeverity(StrEnum):
    """Severity of a message."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class RequestState(StrEnum):
    """The outcome of a request."""

    STORED = "stored"  # answered, and not processed yet
    SENT = "sent"  # its messages are in the queue
    DROPPED = "dropped"  # nothing is sent: a rule says so, or it resolves nothing
    FAILED = "failed"  # no target took its message
    REFUSED = "refused"


def is_name(text: str) -> bool:
    """Whether a text can be the name of a door."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def _network(text: str) -> str:
    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise ValueError(f"{text[:60]!r} is not an IP address or network such as 10.0.0.0/8") from None


_NETWORKS = ListType(TextType(parse=_network, schema={"type": "string"}), max_items=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorDefinition:
    """The definition of a door."""

    protocol: Annotated[
        str, Written(TextType(pattern=r"[a-z0-9-]{1,30}", rule="not a protocol")), "How its senders speak"
    ] = DEFAULT_PROTOCOL
    preset: Annotated[
        TextOrNull,
        Written(TextType(pattern=r"[a-z0-9-]{1,40}", rule="not a preset"), inferred=True, nullable=True),
        "Rules for a product, shipped with Tocsin",
    ] = ""
    profile: Annotated[
        TextOrNull,
        Written(TextType(max_chars=100), inferred=True, nullable=True),
        "Profile to which its messages go, unless a rule names another one",
    ] = ""
    sources: Annotated[tuple[str, ...], Written(_NETWORKS), "Addresses and networks of its senders; empty: any"] = ()
    severity: Annotated[
        DoorSeverity, Written(ChoiceType(tuple(map(str, DoorSeverity)))), "Severity of messages that name none"
    ] = DoorSeverity.INFO
    rate: Annotated[int, Written(IntegerType(1, 1_000_000)), "Requests per minute"] = REQUESTS_PER_MINUTE
    secret_name: Annotated[
        TextOrNull,
        Written(
            TextType(pattern=r"[A-Za-z_][A-Za-z0-9_]{0,127}", rule="not the name of a secret of the vault"),
            inferred=True,
            nullable=True,
        ),
        "Secret of the vault with which its senders prove themselves",
    ] = ""


DEFINITION = record_type(DoorDefinition, "DoorDefinition")
FIELDS = tuple(each.name for each in fields(DoorDefinition))


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A door as it is stored."""

    id: str
    name: str
    definition: DoorDefinition
    secret: str = field(default="", repr=False)  # with which its senders prove themselves; may be in the vault instead
    created_at: float = 0.0
    updated_at: float = 0.0
    removed_at: float | None = None
    requests: int = 0
    last_at: float | None = None

    @property
    def has_secret(self) -> bool:
        """Whether its senders must prove themselves beyond the token."""
        return bool(self.secret or self.definition.secret_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorFile:
    """A file within the body of a request."""

    name: str
    type: str = ""
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRequest:
    """A request to a door. In a stored one, neither `path`, `query` nor `headers` has the token.

    A body in `multipart/form-data` is a form without files, which are in `files`.
    """

    method: str = "POST"
    route: str = ""  # the template of its path, such as `/in/{token}`
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # by lower-case name
    client: str = ""
    body: bytes = b""
    files: Sequence[Mapping[str, Any]] = ()  # items of `attach` of stored files; one without `hash` was left out
    at: float = 0.0  # when it was received, in Unix seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorMessage:
    """The part of a request that a protocol parsed: one message, or a payload from which rules make one."""

    payload: Any = None  # JSON values; `payload` of rules
    title: str = ""
    text: str = ""
    severity: DoorSeverity | None = None  # None: that of the door
    key: str = ""  # of a problem: later messages edit the first one, and `ok` ends the problem
    link: str = ""
    profile: str = ""  # that the sender names instead of that of the door
    parse_mode: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)  # further fields of docs/messages.md
    files: Sequence[DoorFile] = field(default_factory=tuple)  # beside those of the request
    tags: Sequence[frozenset[str]] = ()  # which targets of the profile get it: those with all tags of a set
    note: str = ""  # for `tocsin doors last`
    not_before: float | None = None  # when it is sent, in Unix seconds
    preset: str = ""  # rules that the request names; those of `doors.yaml` come first
    drop: bool = False  # nothing is sent; `note` says why
    takes_over: str = ""  # of an `ok` without a text of its own: the word before the title of the problem
    withdraw: bool = False  # the message of its key is withdrawn, and nothing is sent
    only_if_open: bool = False  # an `ok` is sent only if it ends an open problem
    only_changes: bool = False  # that, and a problem that is open already is not sent again
    expires_at: float | None = None  # when the problem counts as resolved without a further request

    @property
    def is_finished(self) -> bool:
        """Whether it needs no rules: the protocol has read a title or a text."""
        return bool(self.title or self.text)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DoorRecord:
    """Door, without its token."""

    id: str
    name: str
    definition: Flat[DoorDefinition]
    has_secret: Annotated[bool, "Whether its senders must prove themselves beyond the address."]
    requests: Annotated[int, "Number of accepted requests so far."]
    last_at: Annotated[Time | None, "When the last request was accepted."]
    created_at: Time
    updated_at: Time


@dataclass(frozen=True, slots=True)
class DoorAddress:
    """Address of a door, which is a secret: its holder can send messages."""

    name: str
    protocol: str
    profile: TextOrNull
    token: Annotated[str, "The token in the address; only its hash is stored."]
    url: Annotated[str, "The address to paste into the sender."]
    base_url: Annotated[str, "The address of the front door, for senders that add a path themselves."]
    services_url: Annotated[
        TextOrNull, "The same with a path of the form `/services/T…/B…/…`, for senders that check it."
    ] = ""
    apprise_url: Annotated[TextOrNull, "The address for senders that embed Apprise."] = ""


@dataclass(frozen=True, slots=True)
class DoorInstruction:
    """Instructions for one product, so that it reports at a door."""

    product: str
    text: Annotated[str, "A few lines to copy; they contain the address."]


@dataclass(frozen=True, slots=True)
class DoorSetUp:
    """Address of a door, which is a secret and is shown only once, with what to paste where."""

    address: Flat[DoorAddress]
    instructions: Sequence[DoorInstruction]
    local_only: Annotated[bool, "Whether only this machine can reach the address."]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DoorPreview:
    """The message that the current rules make of a request."""

    title: TextOrNull
    text: TextOrNull
    severity: TextOrNull
    key: TextOrNull
    link: TextOrNull
    profile: TextOrNull
    rule: Annotated[TextOrNull, "The rule that made it; null: the protocol, or the generic form."]
    drop: Annotated[bool, "Whether a rule drops it."]
    note: TextOrNull


@dataclass(frozen=True, slots=True)
class DoorSentTest:
    """A test message that was queued."""

    profile: str
    deliveries: Annotated[Sequence[str], "IDs of the queued messages."]
    note: TextOrNull


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule for requests such as one that was received."""

    rule: Annotated[str, "An entry of `doors.yaml`; its comments list what its texts may name."]
    written: Annotated[bool, "Whether it was added to `doors.yaml`."]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DoorRequestRecord:
    """A request to a door, and its outcome."""

    id: Annotated[int, "Number of the request."]
    at: Time
    client: str
    status: Annotated[int, "Status of the response."]
    state: RequestState
    payload: Annotated[str, "What was sent, with secrets masked; cut if it is long."]
    title: TextOrNull
    text: TextOrNull
    severity: TextOrNull
    key: TextOrNull
    link: TextOrNull
    profile: TextOrNull
    deliveries: Annotated[Sequence[str], "IDs of the queued messages."]
    note: Annotated[TextOrNull, "What deserves a look: a failed rule, a refused target, a problem that was not open."]


def as_record(door: Door) -> DoorRecord:
    """Return a door as people see it."""
    return DoorRecord(
        door.id,
        door.name,
        door.definition,
        door.has_secret,
        door.requests,
        door.last_at,
        door.created_at,
        door.updated_at,
    )
