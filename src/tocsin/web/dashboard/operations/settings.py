"""Operations on settings: their values and sources, and the integrations."""

import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Query

from tocsin import __version__
from tocsin.core.config.core_variables import (
    DASHBOARD_HOST,
    DASHBOARD_PORT,
    ENVIRONMENT,
    GATEWAY_HOST,
    GATEWAY_PORT,
    RATE_LIMIT_PER_IP,
    RATE_LIMIT_PER_USER,
    WEBHOOK_RATE_LIMIT,
    WEBHOOK_REQUIRE_SIGNATURE,
)
from tocsin.core.config.security import validate_security
from tocsin.core.config.settings import Settings
from tocsin.core.config.spelling import display_value
from tocsin.core.config.variables import Variable
from tocsin.core.records.marks import TextOrNull, Time
from tocsin.core.tasks import run_concurrently
from tocsin.core.time.clock import Clock
from tocsin.rest.operations import operation
from tocsin.web.http.asgi import MAX_BODY_BYTES

CACHE_S = 30.0
SettingSource = Literal["env", "file", "dotenv", "vault", "default"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityWarning:
    """Warning about an insecure setting."""

    code: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityRecord:
    """Limits of the services."""

    force_https: bool
    webhook_require_signature: bool
    warnings: list[SecurityWarning]


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRecord:
    """Contents of the data directory."""

    bytes: int
    by_area: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRecord:
    """Setting; secrets are masked."""

    key: str
    value: str
    source: SettingSource
    restart_required: Annotated[bool, "Whether a change takes effect only after a restart."]
    description: str
    secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOverview:
    """Effective settings."""

    version: str
    python: str
    platform: str
    pid: int
    uptime_seconds: int
    environment: str
    data_dir: str
    timezone: str
    base_url: str
    dashboard_url: str
    security: SecurityRecord
    limits: dict[str, int]
    storage: StorageRecord
    values: list[SettingRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrationRecord:
    """External service that Tocsin uses."""

    id: str
    name: str
    kind: Annotated[str, "Category, for example `channel` or `chat_provider`, or a subsystem such as `ssh`."]
    configured: bool
    status: Literal["ok", "error", "disabled", "unconfigured"]
    missing: Sequence[str]
    docs: str
    latency_ms: int | None
    checked_at: Time | None
    error: TextOrNull


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrationList:
    """All external services that Tocsin can use."""

    items: list[IntegrationRecord]


class IntegrationCheck(NamedTuple):
    """The last check of an integration: its time, its duration and its error."""

    at: float  # Unix seconds
    error: str = ""
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """The configuration of one integration, and how to check it.

    `check` checks it at no cost and returns the error; `probe` does the same, but is only called for `refresh`, and
    `known` is the result otherwise.
    """

    id: str
    name: str
    kind: str
    missing: Sequence[str] = ()  # settings
    enabled: bool = True
    is_set_up: bool = True
    note: str = ""  # why it is not set up, if no setting is missing
    docs: str = ""
    check: Callable[[], Awaitable[str]] | None = None
    probe: Callable[[], Awaitable[str]] | None = None
    known: IntegrationCheck | None = None

    @property
    def configured(self) -> bool:
        """Whether all required settings are set."""
        return self.enabled and self.is_set_up and not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsDependencies:
    """The dependencies of the operations."""

    settings: Callable[[], Settings]  # a channel may get others while the dashboard runs
    clock: Clock
    timezone: str
    integrations: Callable[[], Awaitable[Sequence[Integration]]]


class SettingsRoutes:
    """The operations on settings."""

    def __init__(self, parts: SettingsDependencies) -> None:
        self._parts = parts
        self._started = parts.clock.monotonic()
        self._kept: tuple[float, IntegrationList] | None = None
        self._probed: dict[str, IntegrationCheck] = {}  # the last ones, by integration

    @operation("GET", "/api/settings/overview", scope="admin", answer=SettingsOverview)
    async def get_settings_overview(self) -> Any:
        """List all settings with their sources, warnings, limits and stored data."""
        settings = self._parts.settings()
        storage = await asyncio.to_thread(_storage, settings.data_dir)
        return SettingsOverview(
            version=__version__,
            python=platform.python_version(),
            platform=sys.platform,
            pid=os.getpid(),
            uptime_seconds=int(self._parts.clock.monotonic() - self._started),
            environment=settings[ENVIRONMENT],
            data_dir=str(settings.data_dir),
            timezone=self._parts.timezone,
            base_url=_url(settings[GATEWAY_HOST], settings[GATEWAY_PORT]),
            dashboard_url=_url(settings[DASHBOARD_HOST], settings[DASHBOARD_PORT]),
            security=SecurityRecord(
                force_https=settings.https_enforced,
                webhook_require_signature=settings[WEBHOOK_REQUIRE_SIGNATURE],
                warnings=[_warning(sentence) for sentence in validate_security(settings)],
            ),
            limits={
                "requests_per_minute_per_address": settings[RATE_LIMIT_PER_IP],
                "requests_per_minute_per_user": settings[RATE_LIMIT_PER_USER],
                "webhook_calls_per_minute": settings[WEBHOOK_RATE_LIMIT],
                "body_bytes": MAX_BODY_BYTES,
            },
            storage=storage,
            values=[self._setting(variable) for variable in settings.variables],
        )

    def _setting(self, variable: Variable[Any]) -> SettingRecord:
        settings = self._parts.settings()
        return SettingRecord(
            key=variable.name,
            value=settings.redact(display_value(settings, variable)),
            source=_source(settings.sources.get(variable.name, "")),
            restart_required=True,
            description=variable.doc,
            secret=variable.secret,
        )

    @operation("GET", "/api/settings/integrations", answer=IntegrationList)
    async def list_integrations(
        self, refresh: Annotated[bool, Query(description="Check again, including the credentials of channels.")] = False
    ) -> Any:
        """List the external services that Tocsin can use, with their state, up to 30 seconds old.

        For a channel, the state is the result of the last test, unless `refresh` is given.
        """
        now = self._parts.clock.monotonic()
        if refresh or self._kept is None or now - self._kept[0] >= CACHE_S:
            found = await self._parts.integrations()
            items = await run_concurrently(self._checked(each, refresh=refresh) for each in found)
            self._kept = (now, IntegrationList(items=items))
        return self._kept[1]

    async def _last_check(self, found: Integration, *, refresh: bool) -> IntegrationCheck | None:
        if not found.configured:
            return None
        ask = found.check or (found.probe if refresh else None)
        if ask is None:
            known = [each for each in (found.known, self._probed.get(found.id)) if each is not None]
            return max(known, key=lambda check: check.at, default=None)
        began = self._parts.clock.monotonic()
        error = await ask()
        latency_ms = round((self._parts.clock.monotonic() - began) * 1000)
        made = IntegrationCheck(self._parts.clock.now(), error, latency_ms)
        self._probed[found.id] = made
        return made

    async def _checked(self, found: Integration, *, refresh: bool) -> IntegrationRecord:
        last = await self._last_check(found, refresh=refresh)
        error = last.error if last else ""
        return IntegrationRecord(
            id=found.id,
            name=found.name,
            kind=found.kind,
            configured=found.configured,
            status="error" if error else "ok" if found.configured else "unconfigured" if found.enabled else "disabled",
            missing=found.missing,
            docs=found.docs,
            latency_ms=last.latency_ms if last else None,
            checked_at=last.at if last else None,
            error=error or found.note,
        )


def _url(host: str, port: int) -> str:
    url_host = f"[{host}]" if ":" in host else host
    return f"http://{url_host}:{port}"


def _source(source: str) -> SettingSource:
    if not source:
        return "default"
    if source in {"environment", "--data-dir"}:
        return "env"
    if source.endswith("_FILE)"):
        return "file"
    return "vault" if source == "vault" else "dotenv"


def _warning(sentence: str) -> SecurityWarning:
    message, _, fix = sentence.partition("; ")
    name = message.removeprefix("DANGER: ").partition(" ")[0].partition("=")[0].rstrip(":")
    return SecurityWarning(code=name.lower().replace("_", "-"), message=message, fix=fix)


def _storage(folder: Path) -> StorageRecord:
    """Return the size of the data directory and of its areas."""
    by_area: dict[str, int] = {}
    for parent, _, names in os.walk(folder):
        place = Path(parent).relative_to(folder).parts
        for name in names:
            try:
                size = (Path(parent) / name).lstat().st_size
            except OSError:  # it was deleted meanwhile
                continue
            area = place[0] if place else _area(name)
            by_area[area] = by_area.get(area, 0) + size
    return StorageRecord(bytes=sum(by_area.values()), by_area=dict(sorted(by_area.items())))


def _area(name: str) -> str:
    if name.startswith("tocsin.db"):
        return "database"
    return "audit" if name.startswith("audit") else "other"
