"""A feature opened in a directory of its own, as the program opens it, with its audit entries and notices."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tocsin.assembly.abilities import make_context
from tocsin.assembly.checks import feature_findings
from tocsin.assembly.features import OpenFeatures
from tocsin.assembly.light import Installed, late_layers
from tocsin.assembly.program import App, assemble
from tocsin.assembly.storage import schemas, stores_in
from tocsin.assembly.stores import DATABASE_FILE, lazy_redis
from tocsin.assembly.subsystems import feature_subsystems
from tocsin.channels.contract import OutboundAdapter, Tools
from tocsin.core.audit.log import AuditEntry
from tocsin.core.config.core_variables import STORE
from tocsin.core.config.settings import Settings
from tocsin.core.http.transport import Transport
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.features.context import FeatureContext, Notice, SubsystemStatus
from tocsin.features.contract import Feature
from tocsin.features.null_abilities import NoOperatorChats
from tocsin.terminal.findings import Finding
from tocsin.testing.fakes import FakeClock, ScriptedTransport


@dataclass(frozen=True, slots=True)
class CollectedNotices:
    """Notices that are collected instead of delivered."""

    collected: list[Notice]

    async def notify(self, notice: Notice) -> None:
        """Collect a notice."""
        self.collected.append(notice)

    async def unread_count(self) -> int:
        """Return the number of collected notices."""
        return len(self.collected)

    async def direct_to(self, channel: str, target: str, *, source: str) -> str:  # of the interface
        """Return the name of a profile, which is not written."""
        return "notices"


@dataclass(frozen=True, slots=True)
class FeatureBench:
    """An open feature and its effects."""

    feature: Feature
    app: App
    features: OpenFeatures
    notices: list[Notice]

    @property
    def service(self) -> Any:
        """The result of the feature's `open`."""
        return self.features.opened(self.feature.name)

    def audit(self, action: str = "") -> list[AuditEntry]:
        """Return the audit entries of an action, or all of them, the oldest first."""
        return [entry for entry in self.app.audit.log.tail(1000)[::-1] if action in {"", entry.action}]

    async def subsystems(self) -> dict[str, list[SubsystemStatus]]:
        """Return the status of each subsystem."""
        return await feature_subsystems(self.features)

    async def findings(self) -> list[Finding]:
        """Return the findings of the feature's checks."""
        return await feature_findings(self.features)


@asynccontextmanager
async def open_feature(
    feature: Feature,
    data_dir: Path,
    env: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    abilities: Mapping[str, Any] | None = None,
    others: Sequence[Feature] = (),
    channels: Sequence[type[OutboundAdapter]] = (),
    transport: Transport | None = None,
) -> AsyncIterator[FeatureBench]:
    """Open `feature` beside `others`, with the settings in `env` alone.

    `abilities` replaces interfaces by name, such as `models`, if none of the features provides them. Notices are
    collected instead of delivered. `channels` are the channels for which messages can be queued, and `transport` is the
    transport that they use.
    """
    installed, clock = Installed(tuple(channels), (feature, *others)), clock or FakeClock()
    variables = [variable for one in installed.features for variable in one.variables]
    variables += [variable for channel in channels for variable in channel.spec.variables]
    # Time stands still here, so a rate limit would never recover.
    limits = {"RATE_LIMIT_PER_IP": "1000000", "RATE_LIMIT_PER_USER": "1000000"}
    environ = {"TOCSIN_DATA_DIR": str(data_dir), "REDIS_URL": "off", **limits, **(env or {})}
    late = late_layers(installed.features)
    settings = Settings.load(variables, environ=environ, env_file=Path("/dev/null"), late=late)
    carries = settings[STORE] == "redis"  # a host that only carries messages has no database
    database = Database(data_dir / DATABASE_FILE, lambda: schemas(installed.features), only_writes_make_it=carries)
    stores = stores_in(settings, database, lazy_redis(settings), clock)
    tools = Tools(transport or ScriptedTransport(), clock, document=stores.document)
    notices: list[Notice] = []

    def context(app: App) -> FeatureContext:
        usual = make_context(app)
        own = {"notices": CollectedNotices(notices), "operator_chats": NoOperatorChats()}
        return replace(usual, abilities=replace(usual.abilities, **{**own, **(abilities or {})}))

    app = assemble(settings, installed, tools=lambda: tools, stores=stores, clock=clock, make_context=context)
    try:
        yield FeatureBench(feature, app, app.features, notices)
    finally:
        for part in (app.runs, app.features, app.presence, app.messenger, database, stores.buckets, stores.redis):
            await part.aclose()
        app.audit.log.close()
