"""GET /health, /channels, /metrics and /openapi.json."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope
from tests.web.asgi_client import DOCUMENT, Client
from tests.web.conftest import BEARER, GOOD, TOKEN, Gateway, MakeGateway, make_app, parts_of
from tests.web.test_send import check_problem

from tocsin import __version__
from tocsin.core.config.data_dir import directory_id
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import HttpResponse
from tocsin.core.storage.database import Database
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus
from tocsin.delivery.store import ChannelRules
from tocsin.features.context import GatewayRoute
from tocsin.messaging.outbound.channel_watch import ChannelTroubles
from tocsin.testing.fakes import FakeClock
from tocsin.web.gateway.app import Gateway as GatewayHandlers
from tocsin.web.gateway.app import StateReports, build_gateway, routes
from tocsin.web.gateway.deliveries import QUERY
from tocsin.web.gateway.records import QUEUE_REQUEST, SEND_REQUEST
from tocsin_standins import StandinCluster


def audit_file(gateway: Gateway) -> Path:
    return gateway.app.settings.data_dir / "audit.log"


async def test_health_tells_the_states_of_queue_and_channels_and_nothing_else(gateway: Gateway):
    answer = await gateway.client.get("/health")
    assert answer.status == 200
    assert answer.json() == {
        "status": "ok",
        "version": __version__,
        "instance": directory_id(gateway.app.settings.data_dir),
        "queue": {"backend": "sqlite", "status": "ok"},
        "inbox": {"status": "ok", "open": 0},
        "bus": {"status": "off"},
        "channels": {
            "apprise": "unconfigured",
            "botchat": "unconfigured",
            "devicemsg": "unconfigured",
            "email": "unconfigured",
            "guildchat": "unconfigured",
            "matrix": "unconfigured",
            "mattermost": "unconfigured",
            "ntfy": "unconfigured",
            "teams": "unconfigured",
            "webhook": "unconfigured",
            "webpush": "unconfigured",
            "teamchat": "configured",
        },
    }
    assert gateway.transport.sent == [], "health must not call a provider"


async def test_health_of_a_process_that_receives_for_the_bot_is_documented_too(gateway: Gateway):
    state = {"mode": "polling", "status": "ok", "age_s": 2.6, "chat_model": "ok"}
    parts = replace(parts_of(gateway.app, gateway.clock), reports=StateReports(bot=lambda: state))
    answer = await Client(build_gateway(parts)).get("/health")
    assert answer.json()["bot"] == state
    assert DOCUMENT["components"]["schemas"]["Health"]["properties"]["bot"]["properties"].keys() == state.keys()


async def test_a_failing_or_throttling_provider_shows_in_health_and_metrics_without_a_503(
    gateway: Gateway,
):
    await gateway.client.send(GOOD, ("Prefer", "respond-async"))
    store = gateway.app.outbox.store
    (claimed,) = await store.claim_due("w1", 1, {"teamchat": ChannelRules()})
    throttled = AttemptOutcome(
        DeliveryStatus.RETRY_WAIT, error="slow down", wait_s=3600, throttled=True, throttles_account=True
    )
    await store.finish("w1", claimed.id, throttled)
    parts = parts_of(gateway.app, gateway.clock)
    client = Client(
        build_gateway(
            replace(
                parts, reports=StateReports(troubles=lambda: ChannelTroubles({"botchat": gateway.clock.now() - 60}))
            )
        )
    )
    health = await client.get("/health")
    assert (health.status, health.json()["status"]) == (200, "ok")
    assert health.json()["failing"] == {"botchat": "2023-11-14T22:12:20.000Z"}
    assert health.json()["throttled"] == {"teamchat": "2023-11-14T23:13:20.000Z"}
    metrics = (await client.get("/metrics")).body
    assert b'tocsin_channel_failing_seconds{channel="botchat"} 60.0' in metrics
    assert b'tocsin_channel_throttled_seconds{channel="teamchat"} 3600.0' in metrics
    gateway.clock.advance(3600)
    assert "throttled" not in (await client.get("/health")).json()
    assert b'channel="teamchat"} 3' not in (await client.get("/metrics")).body


async def test_health_answers_503_while_the_service_drains(make_gateway: MakeGateway):
    answer = await make_gateway(draining=True).client.get("/health")
    assert answer.status == 503
    assert answer.json()["status"] == "draining"


async def test_a_full_disk_under_the_audit_log_stops_no_send_shows_in_health_and_recovers(gateway: Gateway):
    audit_file(gateway).symlink_to("/dev/full")

    assert (await gateway.client.send(GOOD)).status == 200
    health = await gateway.client.get("/health")
    assert health.status == 503
    assert health.json()["status"] == "degraded"
    assert health.json()["problems"] == ["the audit log cannot be written; see the log"]

    audit_file(gateway).unlink()
    assert (await gateway.client.send(GOOD)).status == 200
    assert (await gateway.client.get("/health")).json()["status"] == "ok"
    lost, sent = gateway.app.audit.log.tail(3)
    assert (sent.action, lost.action, lost.metadata["lost"]) == ("msg.send", "audit.lost", 1)


async def test_health_recovers_after_a_full_disk_without_new_work(gateway: Gateway):
    audit_file(gateway).symlink_to("/dev/full")
    for _ in range(3):
        await gateway.client.send(GOOD)
    for _ in range(2):
        assert (await gateway.client.get("/health")).status == 503
    audit_file(gateway).unlink()
    for _ in range(2):
        assert (await gateway.client.get("/health")).status == 200
    (lost,) = gateway.app.audit.log.tail(2)
    assert (lost.action, lost.metadata["lost"]) == ("audit.lost", 3)


async def test_health_tells_a_stranger_no_path_of_this_machine(gateway: Gateway):
    audit_file(gateway).symlink_to("/dev/full")
    await gateway.client.send(GOOD)
    answer = await gateway.client.get("/health")
    assert answer.status == 503
    assert str(gateway.app.settings.data_dir).encode() not in answer.body
    assert b"/dev" not in answer.body


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_channels_lists_the_configured_kinds(make_gateway: MakeGateway, method: str):
    gateway = make_gateway({"DEVICEMSG_PLATFORM": "darwin"})
    answer = await gateway.client.request(method, "/channels")
    assert answer.status == 200
    assert answer.json() == ["devicemsg", "teamchat"]


async def test_channels_needs_no_token_but_metrics_does(make_gateway: MakeGateway):
    client = make_gateway({"GATEWAY_TOKEN": TOKEN}).client
    assert (await client.get("/channels")).status == 200
    assert (await client.get("/health")).status == 200
    check_problem(await client.get("/metrics"), 401, "unauthenticated")
    assert (await client.get("/metrics", BEARER)).status == 200


async def test_metrics_count_sends_by_channel_and_outcome(gateway: Gateway):
    await gateway.client.send(GOOD)
    gateway.transport.script = [HttpResponse(200, {}, b'{"ok": false, "error": "not_in_channel"}')]
    await gateway.client.send(GOOD)
    await gateway.client.send(GOOD)
    answer = await gateway.client.get("/metrics")
    assert answer.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.body.decode().splitlines()
    assert 'tocsin_sends_total{channel="teamchat",outcome="sent"} 1.0' in lines
    assert 'tocsin_sends_total{channel="teamchat",outcome="permanent"} 2.0' in lines
    assert 'tocsin_send_attempts_total{channel="teamchat"} 3.0' in lines
    assert 'tocsin_send_seconds_count{channel="teamchat"} 3.0' in lines
    assert 'tocsin_http_requests_total{route="/send",status="200"} 1.0' in lines
    assert 'tocsin_http_requests_total{route="/send",status="422"} 2.0' in lines


async def test_no_metric_has_a_label_that_a_stranger_chose(gateway: Gateway):
    before = (await gateway.client.get("/metrics")).body.count(b"\n")
    for number in range(50):
        mark = f"stranger{number}"
        await gateway.client.send({"channel": mark, "target": mark, "message": mark}, ("X-Request-Id", mark))
        await gateway.client.request("GET", f"/{mark}", ("Host", mark), ("User-Agent", mark))
        gateway.clock.advance(60)
    after = (await gateway.client.get("/metrics")).body
    assert b"stranger" not in after
    assert after.count(b"\n") - before <= 12


async def test_two_gateways_in_one_process_count_for_themselves(tmp_path: Path, make_gateway: MakeGateway):
    one, other = make_gateway(), make_gateway()
    await one.client.send(GOOD)
    assert b"tocsin_sends_total{" not in (await other.client.get("/metrics")).body


def test_the_openapi_document_names_the_real_routes_and_no_others(gateway: Gateway):
    app = gateway.app
    parts = parts_of(app, app.clock)
    real = {
        (route.path, method)
        for route in routes(parts, GatewayHandlers(parts))
        for method in route.methods or ()
        if method != "HEAD"  # comes with GET
    }
    assert real == {(path, method.upper()) for path, item in DOCUMENT["paths"].items() for method in item}


async def test_the_openapi_document_is_served_as_it_is_tested(gateway: Gateway):
    answer = await gateway.client.get("/openapi.json")
    assert answer.status == 200
    assert answer.json() == DOCUMENT
    assert DOCUMENT["openapi"].startswith("3.1.")


async def test_the_page_of_the_api_loads_only_files_of_the_gateway_under_a_strict_policy(gateway: Gateway):
    page = await gateway.client.get("/docs/api.html")
    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    assert "unsafe" not in page.header("content-security-policy")
    assert 'data-document="/openapi.json"' in page.body.decode()
    loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', page.body.decode())
    assert loaded
    for name in loaded:
        assert (await gateway.client.get(f"/docs/{name}")).status == 200, name


@pytest.mark.parametrize("name", ["guide.html", "..%2fpyproject.toml", "page.html"])
async def test_the_gateway_serves_no_other_file_than_those_of_its_page(gateway: Gateway, name: str):
    assert (await gateway.client.get(f"/docs/{name}")).status == 404


def test_every_reference_of_the_openapi_document_leads_somewhere():
    def references(node: object) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if "$ref" in node else set()
            return own.union(*(references(value) for value in node.values()))
        return set().union(*(references(item) for item in node)) if isinstance(node, list) else set()

    names = {reference.removeprefix("#/components/schemas/") for reference in references(DOCUMENT)}
    assert names == DOCUMENT["components"]["schemas"].keys()


async def test_an_adapter_is_made_once_and_its_connection_is_kept(
    town: StandinCluster, tmp_path: Path, database: Database
):
    connections: list[asyncio.Task[None]] = []
    port = int(town.teamchat.url.rpartition(":")[2])

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_reader, back_writer = await asyncio.open_connection("127.0.0.1", port)
        connections.append(asyncio.create_task(pump(reader, back_writer)))
        await pump(back_reader, writer)

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as counting:
        here = counting.sockets[0].getsockname()[1]
        env = town.environment() | {"TEAMCHAT_API_URL": town.teamchat.api_url.replace(str(port), str(here))}
        transport = DirectTransport()
        app = make_app(tmp_path, env, transport, FakeClock(), database)
        client = Client(build_gateway(parts_of(app, app.clock)))
        for number in range(20):
            answer = await client.send({"channel": "teamchat", "target": "#ops", "message": str(number)})
            assert answer.status == 200
        assert app.registry.adapter("teamchat") is app.registry.adapter("slack")
        await transport.aclose()
        await asyncio.gather(*connections)
    assert len(connections) == 1
    assert len(town.recorder.of("teamchat")) == 20


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def test_the_document_has_the_fields_that_requests_are_checked_against():
    described = {name: DOCUMENT["components"]["schemas"][name] for name in ("SendRequest", "QueueRequest")}
    for record in (SEND_REQUEST, QUEUE_REQUEST):
        schema = described[record.name]
        assert list(schema["properties"]) == [field.name for field in record.fields]
        assert set(schema["required"]) == record.required
    listed = {each["name"] for each in DOCUMENT["paths"]["/deliveries"]["get"]["parameters"]}
    assert listed == {field.name for field in QUERY.fields}


async def test_a_route_of_a_feature_is_served_and_needs_the_token_unless_it_says_otherwise(make_gateway: MakeGateway):
    async def ring(scope: Scope, receive: Receive) -> Response:
        return Response("bong")

    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    declared = [GatewayRoute("GET", "/bell", ring), GatewayRoute("GET", "/door", ring, protected=False)]
    client = Client(build_gateway(replace(parts_of(gateway.app, gateway.clock), features=declared)))
    assert [(await client.get(path)).status for path in ("/bell", "/door")] == [401, 200]
    assert (await client.get("/bell", BEARER)).body == b"bong"
