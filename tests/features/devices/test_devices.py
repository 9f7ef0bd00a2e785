"""Devices: added, renamed and removed over the API and the command line, and never shown with their secrets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis

from tocsin.channels.webpush import WebpushAdapter
from tocsin.channels.webpush.devices import Devices
from tocsin.channels.webpush.standin import CONTACT, Browser
from tocsin.core.storage.database import Database
from tocsin.core.storage.documents.document import MIGRATIONS, SqliteDocument
from tocsin.core.storage.documents.redis_document import RedisDocument
from tocsin.features.devices.feature import FEATURE
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.dashboard import DashboardClient, open_dashboard
from tocsin.testing.features import FeatureBench, open_feature

CANARY = "https://fcm.googleapis.com/fcm/send/canary-endpoint"


def subscription(name: str, endpoint: str = CANARY) -> dict[str, str]:
    return {"endpoint": f"{endpoint}-{name}", **Browser(name).keys}


@asynccontextmanager
async def opened(path: Path, **env: str) -> AsyncIterator[tuple[FeatureBench, DashboardClient]]:
    given = {"WEBPUSH_CONTACT": CONTACT, **env}
    async with (
        open_feature(FEATURE, path, given, channels=[WebpushAdapter]) as bench,
        open_dashboard(bench.app) as client,
    ):
        yield bench, client


async def test_a_browser_becomes_a_device_and_the_audit_has_neither_address_nor_keys(tmp_path: Path):
    async with opened(tmp_path) as (bench, client):
        given = subscription("phone")
        answer = await client.post("/api/devices", {"name": "phone", **given})
        assert (answer.status, answer.headers["location"]) == (201, "/api/devices/phone")
        await client.call("PATCH", "/api/devices/phone", {"name": "annas-phone"})
        listed = await client.get("/api/devices")
        [record] = listed.json()["items"]
        assert (record["name"], record["service"], record["user"]) == ("annas-phone", "fcm.googleapis.com", "admin")
        assert (await client.call("DELETE", "/api/devices/annas-phone")).status == 204
        entries = bench.audit()
        assert [entry.action for entry in entries] == ["device.add", "device.rename", "device.remove"]
        secrets = {*given.values(), (await bench.service._channel.devices.keys()).private}  # noqa: SLF001  # to look for it
        everything = f"{entries} {listed.body!r} {answer.body!r} {bench.service.__dict__}"
        assert [each for each in secrets if each in everything] == []


async def test_a_known_browser_is_renewed_instead_of_added_twice(tmp_path: Path):
    async with opened(tmp_path) as (_, client):
        await client.post("/api/devices", {"name": "phone", **subscription("a")})
        again = await client.post("/api/devices", {"name": "tablet", **subscription("a")})
        assert again.json()["name"] == "tablet"
        renewed = {**subscription("b"), "replaces": f"{CANARY}-a"}
        assert (await client.post("/api/devices", renewed)).json()["name"] == "tablet"
        assert (await client.get("/api/devices")).json()["total"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "phone", **subscription("x")}, 409),
        ({"name": "Two words", **subscription("x")}, 422),
        ({"name": "", **subscription("x")}, 404),
        ({"name": "x", **subscription("x", "https://evil.example/canary-endpoint")}, 422),
        ({"name": "x", **subscription("x", "https://10.0.0.1/canary-endpoint")}, 422),
        ({"name": "x", **subscription("x"), "auth": "AAAA"}, 422),
        ({"name": "x", "endpoint": CANARY}, 422),
    ],
)
async def test_a_wrong_subscription_is_refused_and_not_repeated(tmp_path: Path, body: dict[str, Any], status: int):
    async with opened(tmp_path) as (_, client):
        await client.post("/api/devices", {"name": "phone", **subscription("phone")})
        answer = await client.post("/api/devices", body)
        assert answer.status == status, answer.body
        assert b"canary-endpoint" not in answer.body
        assert (await client.get("/api/devices")).json()["total"] == 1


async def test_devices_are_changed_by_administrators_and_listed_by_readers(tmp_path: Path):
    async with opened(tmp_path) as (bench, _):
        for scopes, status in ((("send", "run", "answer", "read"), 403), (("admin",), 201)):
            async with open_dashboard(bench.app) as client:
                client.scopes, client.login = frozenset(scopes), "token"
                assert (await client.post("/api/devices", {"name": "x", **subscription("x")})).status == status


async def test_a_page_of_another_site_adds_no_device(tmp_path: Path):
    async with opened(tmp_path) as (_, client):
        client.login = "session"
        headers = {"sec-fetch-site": "cross-site"}
        answer = await client.call("POST", "/api/devices", {"name": "x", **subscription("x")}, headers=headers)
        assert (answer.status, answer.json()["code"]) == (403, "cross-site-request")


async def test_without_a_contact_the_setup_names_the_setting(tmp_path: Path):
    async with opened(tmp_path, WEBPUSH_CONTACT="") as (_, client):
        setup = (await client.get("/api/push-setup")).json()
        assert setup["public_key"] is None
        assert setup["problem"] == "Web Push is not configured: set WEBPUSH_CONTACT in .env, then restart"
        assert (await client.get("/api/devices")).json()["items"] == []
        assert (await client.post("/api/devices", {"name": "x", **subscription("x")})).status == 409


@pytest.mark.parametrize("store", ["sqlite", "redis"])
async def test_processes_that_need_keys_at_once_have_the_same(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
):
    if store == "sqlite":
        databases = [Database(tmp_path / "t.db", {"documents": MIGRATIONS}) for _ in range(4)]
        devices = [Devices(SqliteDocument(each, "webpush")) for each in databases]
        closing: list[Any] = databases
    else:
        server: RedisServer = request.getfixturevalue("unsaved_redis")
        clients, name = [patient_redis(server.url) for _ in range(4)], uuid4().hex
        devices, closing = [Devices(RedisDocument(each, name)) for each in clients], clients
    assert len(set(await asyncio.gather(*(each.keys() for each in devices)))) == 1
    for each in closing:
        await each.aclose()


async def test_the_database_is_readable_by_its_owner_alone(tmp_path: Path):
    async with opened(tmp_path) as (_, client):
        assert (await client.get("/api/push-setup")).json()["public_key"]
        assert (tmp_path / "tocsin.db").stat().st_mode & 0o077 == 0


async def test_a_message_can_be_pressed_by_who_is_signed_in_and_the_rest_is_refused(tmp_path: Path):
    async with opened(tmp_path) as (bench, client):
        await client.post("/api/devices", {"name": "phone", **subscription("phone")})
        call = {"action": "call", "label": "Clean up", "name": "cleanup"}
        new = bench.app.outbox.prepare("webpush", "phone", "91 %", "cli", content={"actions": [call]})
        [accepted] = await bench.app.outbox.enqueue([new], Caller("cli"))
        path = f"/api/deliveries/{accepted.id}/press"
        refused = (await client.post(path, {"button": 1})).json()
        assert (refused["state"], refused["detail"]) == ("refused", "This button is not known here any more.")
        client.scopes, client.login = frozenset({"admin", "send"}), "token"
        assert (await client.post(path, {"button": 0})).status == 403
        assert [entry.metadata["state"] for entry in bench.audit("msg.click")] == ["refused"]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", ["off: no device takes notifications"]),
        ("https://tocsin.example.org", ["off: no device takes notifications"]),
        ("http://localhost:8200", ["off: no device takes notifications"]),
        (
            "http://tocsin.example.org",
            ["warning: browsers take notifications from pages by https only", "off: no device"],
        ),
    ],
)
async def test_doctor_names_what_keeps_browsers_from_becoming_devices(tmp_path: Path, address: str, told: list[str]):
    async with opened(tmp_path, PUBLIC_URL=address) as (bench, client):
        found = [f"{each.state}: {each.detail}" for each in await bench.findings()]
        assert [text.startswith(start) for text, start in zip(found, told, strict=True)] == [True] * len(told)
        await client.post("/api/devices", {"name": "phone", **subscription("phone")})
        assert (await bench.findings())[-1].detail == "devices that take notifications: 1"


async def test_doctor_leaves_devices_out_while_the_channel_is_not_configured(tmp_path: Path):
    async with opened(tmp_path, WEBPUSH_CONTACT="") as (bench, _):
        assert await bench.findings() == []
