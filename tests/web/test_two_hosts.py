"""Two programs with data directories of their own share one Redis, and behave as one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.web.asgi_client import Client
from tests.web.conftest import SCHEMAS, TEAMCHAT, accepted, make_app, parts_of

from tocsin.assembly.full.bot import open_access
from tocsin.assembly.full.notices import CoreNotices, read_notice
from tocsin.assembly.program import App
from tocsin.bot.door.access import Access
from tocsin.bot.door.access_store import AccessState
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.storage.database import Database
from tocsin.core.storage.shared_limits import SharedBuckets, SharedLimiter
from tocsin.core.time.ratelimit import RateLimiter
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.context import Notice
from tocsin.messaging.inbound.redis.shared_loop_guard import SharedLoopGuard
from tocsin.messaging.outbound.audit_actions import MSG_SEND
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.gateway.app import build_gateway

BOT = {"BOTCHAT_BOT_TOKEN": "123456:test-000000-aaaaaaaaaaaaaaaaaaaaaaaa", "BOTCHAT_ADMIN_CHAT_ID": "900"}
STRANGER = "198.51.100.7"
# As good as never: a busy machine may take longer than a request would wait.
PATIENT_S = 60.0


@pytest.fixture
async def apps(unsaved_redis: RedisServer, tmp_path: Path) -> AsyncIterator[list[App]]:
    """Two hosts whose clocks are five minutes apart."""
    unsaved_redis.ask("FLUSHALL")
    env = {**TEAMCHAT, **BOT, "STORE": "redis", "REDIS_URL": unsaved_redis.url, "RATE_LIMIT_PER_IP": "3"}
    async with AsyncExitStack() as stack:
        made = []
        for number in range(2):
            directory = tmp_path / str(number)
            directory.mkdir()
            database = Database(directory / "tocsin.db", SCHEMAS)
            clock = FakeClock(1_700_000_000.0 + 300.0 * number)
            app = make_app(directory, env, ScriptedTransport([accepted()]), clock, database)
            for close in (database.aclose, app.redis.aclose, app.stores.buckets.aclose):
                stack.push_async_callback(close)
            made.append(app)
        yield made
        assert [app.settings.data_dir for app in made if (app.settings.data_dir / "tocsin.db").exists()] == []


def access_of(app: App) -> Access:
    access, _ = open_access(app, Caller("bot"), app.stores.bot().access)
    return access


def asking(chat: str) -> InboundMessage:
    return InboundMessage("botchat", MessageKind.COMMAND, "1", ("k1",), chat, "/start", sender_name="Anna")


async def test_a_request_that_reaches_both_hosts_is_told_to_the_admin_once(apps: list[App]):
    doors = [access_of(app) for app in apps]
    states = await asyncio.gather(*(doors[n % 2].request(asking("7")) for n in range(6)))
    assert states == [AccessState.PENDING] * 6
    told = (await apps[0].outbox.store.search(DeliveryFilter())).items
    assert [(delivery.target, delivery.message.splitlines()[0]) for delivery in told] == [
        ("900", "Access requested by chat 7: /approve 7")
    ]


async def test_a_decision_of_one_host_holds_on_the_other_at_once_and_is_told_once(apps: list[App]):
    first, second = (access_of(app) for app in apps)
    await first.request(asking("7"))
    await asyncio.gather(first.approve("7", Caller("bot")), second.approve("7", Caller("bot")))
    assert [await door.read_state("7") for door in (first, second)] == [AccessState.ALLOWED] * 2
    told = (await apps[1].outbox.store.search(DeliveryFilter(target="7"))).items
    assert [delivery.message.partition(".")[0] for delivery in told] == ["Access granted"]
    noted = [entry.action for app in apps for entry in app.audit.log.tail(10) if entry.action == "bot.approve"]
    assert noted == ["bot.approve"]
    await second.remove("7", Caller("bot"))
    assert await first.read_state("7") is AccessState.UNKNOWN


async def test_an_address_has_the_requests_of_one_gateway_at_two(apps: list[App]):
    def patient(app: App) -> Client:
        assert isinstance(app.stores.limiter("gateway-address", 3), SharedLimiter)
        buckets = SharedBuckets(app.redis(), app.clock, wait_s=PATIENT_S)
        own = app.clock.monotonic
        parts = replace(
            parts_of(app, app.clock),
            limiter=lambda name, per_minute: SharedLimiter(name, RateLimiter(per_minute, own), buckets),
        )
        return Client(build_gateway(parts), STRANGER)

    clients = [patient(app) for app in apps]
    found = [(await clients[n % 2].get("/channels")).status for n in range(6)]
    assert found == [200] * 3 + [429] * 3


def test_loops_are_counted_over_both(apps: list[App]):
    assert all(isinstance(app.stores.loop_guard(60), SharedLoopGuard) for app in apps)


async def test_what_a_host_without_a_database_has_to_tell_waits_for_one_that_keeps_notices(apps: list[App]):
    carries = CoreNotices(apps[0], keeps=False)
    facts = {"channel": "email", "target": "ops@example.org", "ok": False, "status": "dead", "attempts": 9}
    apps[0].audit.record(MSG_SEND, "dead", source="queue", metadata={**facts, "delivery": "d1"})
    await carries.step()
    waiting = apps[1].stores.notices()
    assert waiting is not None
    left = await waiting.oldest()
    assert left is not None
    assert "delivered" in read_notice(left).title
    assert read_notice(left).dedupe_key == "undelivered:email:ops@example.org"
    await waiting.drop(left)
    assert await waiting.oldest() is None


async def test_what_features_tell_on_a_host_without_a_dashboard_reaches_the_one_that_has_it(apps: list[App]):
    carries = CoreNotices(apps[0], keeps=False)
    await apps[0].features.abilities.notices.notify(
        Notice("The vault cannot be opened", "told by a feature", source="vault")
    )
    await carries.step()
    waiting = apps[1].stores.notices()
    assert waiting is not None
    told = []
    while (left := await waiting.oldest()) is not None:
        told.append(read_notice(left).title)
        await waiting.drop(left)
    assert "The vault cannot be opened" in told
