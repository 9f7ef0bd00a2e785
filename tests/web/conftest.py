"""A gateway around real adapters, with time and transport in the hand of the test."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.databases import copied_tables
from tests.web.asgi_client import Client

from tocsin.assembly.full.access import open_tokens
from tocsin.assembly.full.receiving import open_buttons, open_inbox
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, Monitoring, assemble
from tocsin.assembly.storage import schemas, stores_in
from tocsin.assembly.stores import lazy_redis
from tocsin.channels.contract import Tools
from tocsin.core.audit.log import AuditEntry
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import HttpResponse, Transport
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.features.registry import find_features
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.outbound.channel_watch import ChannelWatch
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.gateway.app import GatewayDependencies, StateReports, build_gateway
from tocsin.web.http.metrics import Metrics
from tocsin_standins import StandinCluster, open_standins

__all__ = ["copied_tables"]

TOKEN = "gateway-token-for-test-000000"
TEAMCHAT = {"TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa"}
GOOD = {"channel": "teamchat", "target": "#ops", "message": "hello"}
BEARER = ("Authorization", f"Bearer {TOKEN}")


def accepted() -> HttpResponse:
    return HttpResponse(200, {}, b'{"ok": true, "ts": "1503435956.000247"}')


@dataclass(frozen=True, slots=True)
class Gateway:
    """One gateway under test and the parts that the test turns."""

    client: Client
    app: App
    transport: ScriptedTransport
    clock: FakeClock

    def audit(self) -> list[AuditEntry]:
        return self.app.audit.log.tail(1000)


SCHEMAS = schemas(find_features().features)


def parts_of(
    app: App, clock: Clock, *, draining: Callable[[], bool] = lambda: False, inbox: Inbox | None = None
) -> GatewayDependencies:
    return GatewayDependencies(
        settings=app.settings,
        clock=clock,
        audit=app.audit,
        registry=app.registry,
        messenger=app.messenger,
        outbox=app.outbox,
        keys=app.stores.keys,
        files=app.files,
        limiter=app.stores.limiter,
        inbox=inbox or open_inbox(app, []),
        buttons=open_buttons(app),
        tokens=open_tokens(app),
        metrics=app.monitoring.metrics or Metrics(),
        reports=StateReports(draining=draining),
    )


MakeGateway = Callable[..., Gateway]


def make_app(
    data_dir: Path,
    env: Mapping[str, str],
    transport: Transport,
    clock: FakeClock,
    database: Database,
    metrics: Metrics | None = None,
) -> App:
    (data_dir / "empty.env").touch()
    settings, installed = load_settings(
        environ={"TOCSIN_DATA_DIR": str(data_dir), **env}, env_file=data_dir / "empty.env"
    )
    stores = stores_in(settings, database, lazy_redis(settings), clock)
    monitoring = Monitoring(ChannelWatch(clock), metrics or Metrics())
    tools = Tools(transport, clock, read_file=lambda hash_: app.files().read(hash_), document=stores.document)
    app = assemble(settings, installed, tools=lambda: tools, stores=stores, clock=clock, monitoring=monitoring)
    return app


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(tmp_path / "tocsin.db", SCHEMAS)
    yield made
    await made.aclose()


@pytest.fixture
def make_gateway(tmp_path: Path, database: Database) -> MakeGateway:
    def make(
        env: Mapping[str, str] | None = None,
        *,
        draining: bool = False,
        metrics: Metrics | None = None,
        clock: FakeClock | None = None,
    ) -> Gateway:
        transport, clock = ScriptedTransport([accepted()]), clock or FakeClock()
        app = make_app(tmp_path, {**TEAMCHAT, **(env or {})}, transport, clock, database, metrics)
        parts = parts_of(app, clock, draining=lambda: draining)
        return Gateway(Client(build_gateway(parts)), app, transport, clock)

    return make


@pytest.fixture
def gateway(make_gateway: MakeGateway) -> Gateway:
    return make_gateway()


@pytest.fixture
async def town() -> AsyncIterator[StandinCluster]:
    async with open_standins() as town:
        yield town


@pytest.fixture
async def live(town: StandinCluster, tmp_path: Path, database: Database) -> AsyncIterator[tuple[Client, App]]:
    """Open a gateway whose adapters talk to real servers over kept connections."""
    transport = DirectTransport()
    try:
        env = {**town.environment(), "RATE_LIMIT_PER_IP": "100000"}
        app = make_app(tmp_path, env, transport, FakeClock(), database)
        parts = parts_of(app, app.clock)
        yield Client(build_gateway(parts)), app
    finally:
        await transport.aclose()
