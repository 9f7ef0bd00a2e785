"""The context that a feature receives, and the records that it reports its state with.

Most commands import this module but not the types in its annotations: import those under `TYPE_CHECKING`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.records.marks import Private, Time

if TYPE_CHECKING:
    from tocsin.channels.contract import OutboundAdapter
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.config.settings import Values
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient
    from tocsin.core.text.redaction import Redactor
    from tocsin.core.time.clock import Clock
    from tocsin.features import abilities
    from tocsin.messaging.outbound.messenger import Messenger
    from tocsin.messaging.outbound.output_routing import OutputRouter
    from tocsin.runs.service import Runs


class AbilityMissingError(TocsinError):
    """No feature of this installation provides the requested ability."""

    code = "ability-missing"


class NoticeLevel(StrEnum):
    """The urgency of a notice."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the operator."""

    title: str
    body: str = ""
    level: NoticeLevel = NoticeLevel.WARNING
    category: str = "system"  # such as cron, workflow, vault, ssh, messaging, security, system
    source: str = ""  # the feature or object that reports it
    link: str = ""  # the page of the dashboard, such as `#/cron/…`
    dedupe_key: str = ""  # notices with the same key within a day are merged
    # The run with a step that waits for approval, or one that failed and can be repeated; `chat:` and the ID of a chat
    # that asks for access, whose `step` is `access`.
    run_id: str = ""
    step: str = ""
    output: str = ""  # where the same message was already sent: a profile, or `<channel>:<target>`
    once: bool = False  # a repeated notice with this key is ignored, not counted
    closed: bool = False  # replaces the earlier notice with this key, which needs no action any more


class SubsystemState(StrEnum):
    """The state of a subsystem, from best to worst."""

    DISABLED = "disabled"  # not installed or switched off
    UNCONFIGURED = "unconfigured"
    OK = "ok"
    DEGRADED = "degraded"
    ERROR = "error"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionItem:
    """Something that needs a person, such as a failing job or an expiring secret."""

    schema_name: ClassVar[str] = "AttentionRecord"

    severity: NoticeLevel
    message: str  # one sentence without a full stop
    link: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NextRun:
    """A run that is due next."""

    schema_name: ClassVar[str] = "NextRunRecord"

    job_id: str
    name: str
    at: Time


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SubsystemStatus:
    """The state of a subsystem, as measured by its checks."""

    schema_name: ClassVar[str] = "SubsystemRecord"

    status: SubsystemState
    summary: str  # such as `12 jobs, 1 failing`
    counts: Mapping[str, int] = field(default_factory=dict)
    last_event_at: Time | None = None
    link: str = ""  # the page of the dashboard; if empty, the page of the subsystem
    attention: Private[Sequence[AttentionItem]] = ()
    next_runs: Private[Sequence[NextRun]] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GatewayRoute:
    """A route of the gateway. `handler` is called with the ASGI scope and receive, and returns a response."""

    method: str
    path: str
    handler: Callable[[Any, Any], Awaitable[Any]]
    protected: bool = True  # requires the gateway's token, if one is set


class ProfileUse(NamedTuple):
    """A subject that sends to a notification profile."""

    profile: str
    kind: str  # such as cron or workflow
    name: str


# `Abilities` and `FeatureContext` are never compared or printed: omitting `__eq__` and `__repr__` halves the time to
# create the classes.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Abilities:
    """The interfaces of `abilities.py`, with one object for each.

    The feature that provides an object is opened when a method of the object is first used: keep a reference to the
    object, or to this class, not to a method.
    """

    models: "abilities.Models"
    skills: "abilities.RunnableSkills"
    assistants: "abilities.Assistants"
    notices: "abilities.Notices"
    operator_chats: "abilities.OperatorChats"
    secrets: "abilities.Secrets"
    files: "abilities.Files"
    run_starter: "abilities.RunStarter"
    schedules: "abilities.Schedules"
    chat_notes: "abilities.ChatNotes"
    bot: "abilities.BotView"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FeatureContext:
    """The context of one feature. Unless noted otherwise, all features of the program share a value."""

    settings: "Values"  # the settings of the feature and of the core, without the core's secrets
    data_dir: Path
    settings_file: Path  # the `.env` file to which changed settings are written
    clock: "Clock"
    audit: "AuditTrail"
    database: "Database"
    adapter: "Callable[[str], OutboundAdapter]"  # of a configured channel; raises UnknownChannelError
    messenger: "Messenger"
    output: "OutputRouter"  # queues texts for a channel and target, or for a profile
    runs: "Callable[[], Runs]"
    redact: "Redactor"
    environment: Callable[[], Mapping[str, str]]  # the environment of started programs: without Tocsin's secrets
    abilities: Abilities
    shared_redis: "Callable[[], RedisClient | None]" = lambda: None  # that of STORE=redis, which hosts share
