"""A message on its way, its outcome, and a channel as data."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tocsin.core.config.core_variables import MAX_PARTS
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ChannelError, FailureKind, RemoteError
from tocsin.core.text.measures import Measure, code_points
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.content import Content
    from tocsin.channels.targets import ChannelTargets
    from tocsin.core.http.transport import Transport
    from tocsin.core.storage.documents.document import ChannelDocument
    from tocsin.core.time.clock import Clock

# A parse mode of every channel: Markdown as models and people write it, rendered as well as the product allows.
COMMONMARK = "commonmark"
# A parse mode of every channel: text without markup, such as the output of a command.
PLAIN = "plain"

# The formats of every caller, and their parse modes; `native` is the channel's default.
FORMATS = {"plain": PLAIN, "markdown": COMMONMARK, "native": ""}


def parse_mode_of(format_: str, alias: str) -> str:
    """Return the parse mode for `format` and its alias `parse_mode`; raise ChannelError if they differ."""
    if format_ and alias and FORMATS.get(format_, format_) != FORMATS.get(alias, alias):
        raise ChannelError("format and parse_mode differ", hint="give one of them")
    given = format_ or alias
    return FORMATS.get(given, given)


# A message that is only text.
NO_CONTENT: Mapping[str, Any] = MappingProxyType({})
NO_REF: Mapping[str, str] = MappingProxyType({})
# The key of a reference with the files of a message that are messages of their own, divided by commas.
FILES = "files"
# … and this one is there if its text was cut: the whole is a file.
CUT = "cut"

# The key of `Outgoing.extra` with a press that is forwarded to a channel that takes presses.
PRESS = "press"

# Below the data directory: what the names stand for that some channels have as targets.
TARGETS_FILE = "targets.yaml"

# The text of a part, and its `markup`.
Shown = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SendResult:
    """The outcome of one message."""

    ok: bool
    channel: str
    target: str  # empty for connection tests
    message: str = ""  # delivery note, on success
    error: str = ""  # reason and remedy, on failure

    def as_dict(self) -> dict[str, object]:
        """Return the five fields by name, 20 times as fast as dataclasses.asdict."""
        return {
            "ok": self.ok,
            "channel": self.channel,
            "target": self.target,
            "message": self.message,
            "error": self.error,
        }


class MessageOperation(StrEnum):
    """The operation of a delivery on its message."""

    SEND = "send"
    EDIT = "edit"
    WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class Sent:
    """A part that was delivered: its note, and what the channel needs to change the message later."""

    note: str
    ref: Mapping[str, str] = field(default_factory=dict)  # at most 2 KiB as JSON


class MessageGoneError(ChannelError):
    """The message to edit was deleted on the provider's side, or cannot be edited any more."""


class HeldError(ChannelError):
    """Whether an earlier attempt sent the message cannot be found out, and the policy is to hold it then."""


@dataclass(frozen=True, slots=True)
class KeyedMessage:
    """The message of an earlier send with the same key, which this one edits, withdraws or follows."""

    key: str
    operation: MessageOperation = MessageOperation.SEND
    ref: Mapping[str, str] = field(default_factory=dict)  # of the message to edit or to withdraw
    follows: bool = False  # an earlier message has this key; the product cannot edit it
    same_files: bool = False  # the message has the files of this one already
    files: Sequence[Any] = ()  # that an edit without `attach` keeps, for a new message if that one was deleted there
    drop_if_gone: bool = False  # an edit of a message that was deleted there is dropped, instead of sent as a new one


@dataclass(frozen=True, slots=True)
class MessageThread:
    """The thread of a message; `ref` is that of its first message, empty for the first one."""

    name: str
    ref: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnknownAttempt:
    """An earlier attempt at a message, which may have sent the next part."""

    since: float  # Unix time; the part cannot have been sent before
    held: bool = False  # if the product does not answer, the message is held; else it is sent again


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to one target, as requested by the caller."""

    target: str
    text: str
    key: str = ""  # the same for every attempt, so that a provider can recognise repeats
    # One of the channel's `parse_modes`, `COMMONMARK` or `PLAIN`; empty is the channel's default.
    parse_mode: str = ""
    parts_sent: int = 0  # parts that an earlier attempt sent, which are not sent again
    parts_total: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # specific to the channel: a reply, buttons
    # Title, urgency, link, buttons and mentions, by the names of docs/messages.md, as in JSON.
    content: Mapping[str, Any] = field(default_factory=dict)
    keyed: KeyedMessage | None = None  # for a message with a key
    thread: MessageThread | None = None
    ref: Mapping[str, str] = field(default_factory=dict)  # of the first part, if an earlier attempt sent it
    unknown: UnknownAttempt | None = None  # for a channel that finds what it sent

    @property
    def leaves_files(self) -> bool:
        """Whether it is an edit that leaves the files of its message as they are."""
        keyed = self.keyed
        if keyed is None or keyed.operation is not MessageOperation.EDIT:
            return False
        return keyed.same_files or "attach" not in self.content

    def anew(self, keyed: KeyedMessage) -> "Outgoing":
        """Return an edit as a new message, because the one to edit was deleted there."""
        content = {**self.content, "attach": keyed.files} if keyed.files else self.content
        sent = replace(keyed, operation=MessageOperation.SEND, ref=NO_REF, files=())
        return replace(self, content=content, keyed=sent)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message within the provider's limit; its target is valid."""

    target: str
    text: str
    key: str
    parse_mode: str = ""
    markup: tuple[Any, ...] = ()  # the ranges of a channel that formats by ranges of the text
    extra: Mapping[str, Any] = field(default_factory=dict)  # of the whole message; buttons belong to its last part
    first: bool = True
    last: bool = True
    content: "Content | None" = None  # of the whole message: its title belongs to the first part, buttons to the last
    keyed: KeyedMessage | None = None  # for a message with a key, which has only one part with a text
    thread: MessageThread | None = None
    files: "tuple[AttachedFile, ...]" = ()  # of this part
    keeps_files: bool = True  # of an edit: the files of the message stay; else they give way to those of all parts
    message: Mapping[str, str] = field(
        default_factory=dict
    )  # for a later part: the reference of the first one, as far as it is known

    @property
    def edits(self) -> bool:
        """Whether it changes a message that is there, instead of being sent."""
        return self.keyed is not None and self.keyed.operation is MessageOperation.EDIT and self.first


@dataclass(frozen=True, slots=True)
class Receipt:
    """A send result and the facts behind it, for the queue, metrics and the audit log."""

    result: SendResult
    parts_sent: int = 0
    parts_total: int = 0
    attempts: int = 0
    duration_ms: int = 0
    failure: RemoteError | None = None
    delivery: str = ""  # the ID of the record of a direct send that failed, or is more than a text
    provider_id: str = ""  # of the first part; the result's note also says how many parts there are
    ref: Mapping[str, str] = field(default_factory=dict)  # to change the message later, or to reply to it
    text_sent: bool = False  # the whole text was sent, and a file was not


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often one direct send retries, and how long it waits at most; the durable queue has its own schedule."""

    transient: int = 0  # retries after a failure that certainly delivered nothing
    rate_limited: int = 1  # retries after "too many requests"
    longest_wait_s: float = 30.0

    def wait_s(self, failure: RemoteError, tries: int) -> float | None:
        """Return the wait after `tries` attempts, or `None` to give up."""
        allowed = {FailureKind.TRANSIENT: self.transient, FailureKind.RATE_LIMITED: self.rate_limited}
        if tries > allowed.get(failure.kind, 0):
            return None
        if failure.retry_after_s is not None:
            return failure.retry_after_s if failure.retry_after_s <= self.longest_wait_s else None
        # random costs 1 ms to import and a send that works never waits.
        from random import uniform

        return float(2 ** (tries - 1)) * uniform(1.0, 1.25)  # noqa: S311  # 1, 2, 4 s and jitter: docs/facts/calls.md


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How many files a message may have, and how many bytes; 0 is no limit."""

    count: int = 10
    each: int = 0
    together: int = 0
    apart: bool = False  # each file is a message of its own, after the text


class Support(StrEnum):
    """How a channel shows a field."""

    NATIVE = "native"
    DEGRADED = "degraded"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Ability:
    """How a channel shows one field of a message."""

    support: Support
    note: str = ""  # how it is degraded, or the limit
    limit: int | None = None  # the unit is that of the field: characters of a title, number of actions


def native(note: str = "", limit: int | None = None) -> Ability:
    """Return the ability of a channel whose product has the field."""
    return Ability(Support.NATIVE, note, limit)


def degraded(note: str) -> Ability:
    """Return the ability of a channel that shows the field by other means."""
    return Ability(Support.DEGRADED, note)


IGNORED = Ability(Support.IGNORED)
REFUSED = Ability(Support.REFUSED)

# What happens to the fields that a channel does not declare.
BASE_ABILITIES: Mapping[str, Ability] = {
    "title": degraded("a line before the text"),
    "priority": IGNORED,
    "type": IGNORED,
    "click": degraded("a line after the text"),
    "actions": degraded("lines after the text"),
    "call": degraded("a link to a page that asks for the press"),
    "attach": REFUSED,
    "mention": IGNORED,
    "silent": IGNORED,
    "key": degraded("a later message with it is a new one"),
    "thread": IGNORED,
    "ttl": native(),
    "if_gone": IGNORED,
    "unable": IGNORED,
    "withdraw": REFUSED,
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # what a start does not need costs it 0.2 ms
class ChannelSpec:
    """A channel as data, read by command line, API, docs, settings and tests."""

    kind: str
    label: str
    product: str
    aliases: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()  # of its addresses in Apprise, where these are not its names
    secrets: tuple[Variable[Any], ...] = ()
    options: tuple[Variable[Any], ...] = ()
    receiving: tuple[Variable[Any], ...] = ()  # settings of the inbound side; never `required`
    proof: Variable[Any] | None = None  # of `receiving`: without it every webhook call is rejected
    target_format: str = ""
    # Where targets are names of `targets.yaml`: the RecordType of an entry, as `module:NAME`.
    targets: str = ""
    arrival: tuple[str, ...] = ()  # what to check if an accepted message does not arrive
    max_length: int | None = None  # in units of `measure`; None is no limit
    chunk_at: int | None = None  # texts are split at this length; None is never
    measure: Measure = code_points
    parse_modes: tuple[str, ...] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    inbound: tuple[str, ...] = ()  # of: polling, webhook
    inbound_mode: Variable[str] | None = None  # of `receiving`: which of several is used
    conversation: bool = False  # its receiver is a ConversationAdapter, so that the bot can use it
    # The rates of the durable queue: per target, per group, per account.
    target_rate: Rate | None = None
    group_rate: Rate | None = None
    group_prefix: str = ""  # the prefix of targets that are groups
    account_rate: Rate | None = None
    session_presses: bool = False  # who presses its buttons is signed in to the dashboard
    recognises_repeats: bool = False  # the provider drops a second message with the same key
    at_most_once: bool = False  # the default policy loses a message rather than sending it twice
    # How the channel shows the fields of a message, by name; what is missing is done by the base class.
    abilities: Mapping[str, Ability] = field(default_factory=dict)
    edit_length: int | None = None  # longest text of a message that may be edited, in units of `measure`
    takes_presses: bool = False  # presses of buttons with the name KIND:TARGET are forwarded to it
    files: FileLimits = FileLimits()  # where the ability `attach` is native
    packages: tuple[str, ...] = ()  # optional packages, by the names of their modules
    requirement: str = ""  # what installs them, for pip, such as `tocsin[push]`
    platform: str = ""  # the only platform identifier it runs on
    platform_variable: Variable[str] | None = None  # overrides the detected platform, for tests
    send_timeout_s: float = 60.0  # one attempt at one part, over the whole call
    test_timeout_s: float = 30.0

    def how_to_install(self, package: str) -> str:
        """Return the command that installs an optional package of the channel."""
        return f'pip install "{self.requirement}"' if self.requirement else f"pip install {package}"

    def ability(self, field: str) -> Ability:
        """Return how the channel shows a field of messages."""
        return self.abilities.get(field) or BASE_ABILITIES[field]

    def shows(self, field: str) -> bool:
        """Whether the product has a field of messages."""
        return self.ability(field).support is Support.NATIVE

    @property
    def refused(self) -> tuple[str, ...]:
        """The fields with which the channel cannot send a message."""
        return tuple(name for name in BASE_ABILITIES if self.ability(name).support is Support.REFUSED)

    @property
    def variables(self) -> tuple[Variable[Any], ...]:
        """All settings of the channel."""
        return (*self.secrets, *self.options, *self.receiving)

    @property
    def required(self) -> list[Variable[Any]]:
        """The settings without which nothing is sent, secrets last."""
        return sorted((v for v in self.variables if v.required), key=lambda v: v.secret)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tools:
    """The dependencies of every adapter, which tests replace."""

    http: "Transport"
    clock: "Clock"
    redact: Callable[[str], str] | None = None  # masks every secret of the program, not only the channel's
    max_parts: int = MAX_PARTS.default
    public_url: str = ""  # the address at which people reach the gateway, for signed links
    targets: "ChannelTargets | None" = None  # of a channel whose targets are names
    read_file: "Callable[[str], AsyncGenerator[bytes]] | None" = None  # opens a stored file by its hash
    document: "Callable[[str], ChannelDocument] | None" = None  # opens what a channel keeps in the store, by its kind


def with_key(outgoing: Outgoing) -> Outgoing:
    """Return the message as one with a key, if it has one: it must fit one message."""
    key = outgoing.content.get("key") if outgoing.content else None
    return replace(outgoing, keyed=KeyedMessage(key)) if key and isinstance(key, str) else outgoing
