"""Operations on the settings of channels: list them, and connect a channel from the browser."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from tocsin.channels.contract import ChannelSpec, Receipt
from tocsin.channels.registry import Registry
from tocsin.core.audit.actions import CHANNEL, OK, AuditAction, AuditField
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.env_file import change_env_file
from tocsin.core.config.settings import Settings
from tocsin.core.config.spelling import display_value
from tocsin.core.config.variables import Variable
from tocsin.core.errors import FailureKind, TocsinError
from tocsin.core.reading.fields import MappingType, TextType
from tocsin.core.reading.records import Written
from tocsin.rest.bodies import RequestBody
from tocsin.rest.callers import CallerOf
from tocsin.rest.operations import operation
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import as_detail

MAX_VALUE_CHARS = 4_096

_NAMES = AuditField("settings", "names of the settings")
CHANNEL_CONNECT = AuditAction(
    "channel.connect",
    "The settings of a channel were tested and, if the test succeeded, stored.",
    (CHANNEL, OK, _NAMES),
    note="The values are not recorded.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSetting:
    """Setting of a channel; the values of secrets are never shown."""

    key: str
    description: str
    required: bool
    secret: bool
    value: Annotated[str, "Value in effect; empty for secrets."]
    given: Annotated[bool, "Whether it has a value other than its default."]
    fixed_by: Annotated[str, "Source that takes precedence over the file of settings; empty if there is none."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """All settings of a channel, required ones first."""

    channel: str
    label: str
    docs: str
    target_format: str
    arrival: Annotated[list[str], "What to check if a message that was accepted does not arrive."]
    file: Annotated[str, "File to which changes are written."]
    items: list[ChannelSetting]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelConnection:
    """Channel whose credentials were verified and stored."""

    channel: str
    message: Annotated[str, "Result of the test."]
    file: str
    restart_required: Annotated[bool, "Whether receiving on the channel begins only after a restart."]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelValues(RequestBody):
    """Settings to change; others stay as they are."""

    settings: Annotated[
        dict[str, str], Written(MappingType(TextType(max_chars=MAX_VALUE_CHARS))), "Values by the name of the setting."
    ]


class ChannelSettingsRoutes:
    """The operations on the settings of channels."""

    def __init__(self, registry: Registry, audit: AuditTrail) -> None:
        self._registry = registry
        self._audit = audit
        self._changing = asyncio.Lock()

    @operation(
        "GET",
        "/api/settings/channels/{channel}",
        scope="admin",
        extension=True,
        problems=("not-found",),
        answer=ChannelSettings,
    )
    async def get_channel_settings(self, channel: str) -> Any:
        """List the settings of a channel, configured or not."""
        spec, settings = self._spec(channel), self._registry.settings
        ordered = sorted(spec.variables, key=lambda variable: (not variable.required, variable.secret))
        return ChannelSettings(
            channel=spec.kind,
            label=spec.label,
            docs=f"/docs/channels/{spec.kind}.html",
            target_format=spec.target_format,
            arrival=list(spec.arrival),
            file=str(settings.own_file),
            items=[_setting(settings, variable) for variable in ordered],
        )

    @operation(
        "POST",
        "/api/settings/channels/{channel}",
        scope="admin",
        extension=True,
        problems=("not-found", "validation-failed", "conflict", "delivery-failed", "not-ready"),
        answer=ChannelConnection,
    )
    async def connect_channel(self, channel: str, body: ChannelValues, caller: CallerOf) -> Any:
        """Verify new settings of a channel, store them in the file of settings, and send with them from now on.

        Nothing is stored if the credentials are refused. Receiving, and other processes, use them after a restart.
        """
        spec = self._spec(channel)
        async with self._changing:
            settings = self._registry.settings
            given = {name: value.strip() for name, value in body.settings.items()}
            if issues := list(_issues(spec, settings, given)):
                raise HttpProblemError("validation-failed", _count(issues), issues)
            changed = settings.with_values(given, settings.own_file)
            receipt = await self._try(spec, changed)
            facts = {"channel": spec.kind, "ok": receipt.result.ok, "settings": sorted(given)}
            outcome = receipt.result.message or f"failed: {receipt.result.error}"
            detail = f"{spec.kind}: {outcome}"
            if not receipt.result.ok:
                self._audit.record(CHANNEL_CONNECT, detail, source=caller.source, metadata={**facts, **caller.facts})
                _refuse(spec, receipt, given)
            try:
                await asyncio.to_thread(change_env_file, settings.own_file, given)
            except TocsinError as error:
                raise HttpProblemError("not-ready", as_detail(error.sentence())) from None
            self._registry.replace_settings(spec.kind, changed)
            self._audit.record(CHANNEL_CONNECT, detail, source=caller.source, metadata={**facts, **caller.facts})
        return ChannelConnection(
            channel=spec.kind,
            message=receipt.result.message,
            file=str(settings.own_file),
            restart_required=bool(spec.inbound),
        )

    def _spec(self, channel: str) -> ChannelSpec:
        try:
            return self._registry.spec(channel)
        except TocsinError as error:
            raise HttpProblemError("not-found", as_detail(error.sentence())) from None

    async def _try(self, spec: ChannelSpec, settings: Settings) -> Receipt:
        try:
            adapter = self._registry.with_settings(settings).adapter(spec.kind)
        except TocsinError as error:
            raise HttpProblemError("validation-failed", as_detail(error.sentence())) from None
        return await adapter.try_connection()


def _setting(settings: Settings, variable: Variable[Any]) -> ChannelSetting:
    return ChannelSetting(
        key=variable.name,
        description=variable.doc,
        required=variable.required,
        secret=variable.secret,
        value="" if variable.secret else settings.redact(display_value(settings, variable)),
        given=variable.name in settings.sources,
        fixed_by=_fixed_by(settings, variable.name),
    )


def _fixed_by(settings: Settings, name: str) -> str:
    """Return the source of a setting if it takes precedence over the file that is written."""
    source = settings.sources.get(name, "")
    return source if source.startswith("environment") or source.endswith("_FILE)") else ""


def _issues(spec: ChannelSpec, settings: Settings, given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    known = {variable.name: variable for variable in spec.variables}
    if not given:
        yield _issue("", "missing", "Specify at least one setting")
    for name, value in given.items():
        variable = known.get(name)
        if variable is None:
            yield _issue(name, "unknown-key", f"{spec.label} has no such setting")
        elif source := _fixed_by(settings, name):
            yield _issue(name, "conflict", f"It is set in {source}, which takes precedence; change it there")
        elif not value or not value.isprintable():
            yield _issue(name, "bad-value", "Expected one line of printable characters")
        else:
            try:
                variable.parse(value)
            except ValueError as error:
                yield _issue(name, "bad-value", f"Expected {error}")
    for name in settings.only(spec.variables).missing():
        if name not in given:
            yield _issue(name, "missing", "Required")


def _issue(name: str, code: str, detail: str) -> dict[str, str]:
    return {"pointer": f"#/settings/{name}" if name else "#/settings", "code": code, "detail": detail, "key": name}


def _count(issues: list[dict[str, str]]) -> str:
    return "1 setting needs attention" if len(issues) == 1 else f"{len(issues)} settings need attention"


def _refuse(spec: ChannelSpec, receipt: Receipt, given: Mapping[str, str]) -> NoReturn:
    """Raise the problem of settings with which the test failed."""
    error = receipt.result.error
    if receipt.failure is None or receipt.failure.kind is not FailureKind.PERMANENT:
        raise HttpProblemError("delivery-failed", f"The settings were not stored: {error}.")
    secrets = [variable.name for variable in spec.variables if variable.secret and variable.name in given]
    issues = [_issue(name, "refused", error) for name in secrets[:1]]
    raise HttpProblemError("validation-failed", f"The settings were not stored: {error}.", issues)
