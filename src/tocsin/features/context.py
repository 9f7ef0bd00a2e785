"""The context that a feature gets, and what it reports about itself.

Most commands import this module, and few need what its types come from: that is imported for type checking alone.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.core.errors import TocsinError

if TYPE_CHECKING:
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.config.settings import Values
    from tocsin.core.storage.database import Database
    from tocsin.core.text.redaction import Redactor
    from tocsin.core.time.clock import Clock
    from tocsin.features import abilities
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.output_routing import OutputRouter
    from tocsin.runs.service import Runs


class AbilityMissingError(TocsinError):
    """No feature of this installation provides what was asked for."""

    code = "ability-missing"


class NoticeLevel(StrEnum):
    """How urgent a notice is."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Notice:
    """Notification for the operator."""

    title: str
    body: str = ""
    level: NoticeLevel = NoticeLevel.WARNING
    category: str = "system"  # such as cron, workflow, vault, ssh, messaging, security, system
    source: str = ""  # which feature or object tells it
    link: str = ""  # the page of the dashboard, such as `#/cron/…`
    dedupe_key: str = ""  # notices of one key within a day are one
    run_id: str = ""  # the run of which a step waits for approval
    step: str = ""
    output: str = ""  # where a message that says the same was sent: a profile, or `<channel>:<target>`
    once: bool = False  # a second notice of its key is the same one, and is not counted
    closed: bool = False  # replaces the earlier notice of its key, which needs no person any more


class SubsystemState(StrEnum):
    """How a subsystem is; the worst comes last."""

    DISABLED = "disabled"  # it is not installed, or switched off
    UNCONFIGURED = "unconfigured"
    OK = "ok"
    DEGRADED = "degraded"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """Something that needs a person, such as a failing job or an expiring secret."""

    severity: NoticeLevel
    message: str  # one sentence without a full stop
    link: str = ""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that is due next; `at` is Unix seconds."""

    job_id: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class SubsystemStatus:
    """The state of a subsystem, from real checks."""

    state: SubsystemState
    summary: str  # such as `12 jobs, 1 failing`
    counts: Mapping[str, int] = field(default_factory=dict)
    last_event_at: float | None = None  # Unix seconds
    link: str = ""  # the page of the dashboard; empty: that of the subsystem
    attention: Sequence[AttentionItem] = ()
    next_runs: Sequence[NextRun] = ()


@dataclass(frozen=True, slots=True)
class GatewayRoute:
    """A route of the gateway; `handler` gets ASGI scope and receive and returns a response."""

    method: str
    path: str
    handler: Callable[[Any, Any], Awaitable[Any]]
    protected: bool = True  # needs the gateway's token where one is set


class ProfileUse(NamedTuple):
    """Something that sends to a notification profile."""

    profile: str
    kind: str  # such as cron or workflow
    name: str


# The two are never compared or printed: without `__eq__` and `__repr__` they take half as long to make.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Abilities:
    """What features may use of the rest of the program: one object for each interface of `abilities.py`.

    A feature that provides one is opened when a method of it is first used, not before: keep the object, or this one,
    rather than a method.
    """

    models: "abilities.Models"
    skills: "abilities.RunnableSkills"
    assistants: "abilities.Assistants"
    notices: "abilities.Notices"
    operator_chats: "abilities.OperatorChats"
    secrets: "abilities.Secrets"
    run_starter: "abilities.RunStarter"
    schedules: "abilities.Schedules"
    chat_notes: "abilities.ChatNotes"
    bot: "abilities.BotView"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FeatureContext:
    """The parts that one feature receives; all features of the program share a value unless it says otherwise."""

    settings: "Values"  # the feature's own and those of the core, without the secrets of the core
    data_dir: Path
    clock: "Clock"
    audit: "AuditTrail"
    database: "Database"
    messenger: "Messenger"
    output: "OutputRouter"  # queues texts for a channel and target, or for a profile
    runs: "Callable[[], Runs]"
    redact: "Redactor"
    environment: Callable[[], Mapping[str, str]]  # that a started program may have: ours without our secrets
    abilities: Abilities
