"""The webhook is registered and looked after (docs/facts/botchat.md)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from tests.waiting import PATIENCE_S, eventually
from tests.web_server import web_server

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.botchat.api import BotApi
from tocsin.channels.botchat.receiving.liveness import ReceiveStatus
from tocsin.channels.botchat.receiving.webhook import Hook, WebhookRegistration, read_hook
from tocsin.core.config.settings import Settings, Values
from tocsin.core.errors import ConfigError
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import FakeClock, ScriptedTransport
from tocsin_standins.botchat.server import TOKEN, BotChat
from tocsin_standins.faults import Fault

URL = "http://127.0.0.1:9/webhook/botchat"
SECRET = "a-secret"


class Stopping(FakeClock):
    """Stands still after so many waits."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self.waits = waits

    async def sleep(self, seconds: float) -> None:
        if len(self.slept) >= self.waits:
            self.slept.append(seconds)
            await asyncio.Event().wait()
        await super().sleep(seconds)


class Fast(FakeClock):
    """Ten thousand times as fast as time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 10_000)
        await super().sleep(seconds)


class Bench:
    """A registration at a stand-in; its clock stands still after the waits that a test wants."""

    def __init__(self, api: BotApi) -> None:
        self.api = api
        self.admin: list[str] = []

    async def tell(self, text: str) -> None:
        self.admin.append(text)

    @asynccontextmanager
    async def running(self, waits: int = 0, url: str = URL) -> AsyncIterator[tuple[WebhookRegistration, Stopping]]:
        clock = Stopping(waits)
        registration = WebhookRegistration(self.api, Hook(url, SECRET), clock, self.tell)
        task = asyncio.create_task(registration.run())
        try:
            await eventually(lambda: len(clock.slept) > waits)
            yield registration, clock
        finally:
            registration.stop()
            async with asyncio.timeout(PATIENCE_S):
                await task


@pytest.fixture
async def botchat() -> AsyncIterator[BotChat]:
    async with BotChat(clock=lambda: 1_700_000_000.0, webhook_retry_s=0.01) as botchat:
        yield botchat


@pytest.fixture
async def gateway() -> AsyncIterator[SimpleNamespace]:
    """A web server in the place of our gateway: `status` is what it answers."""

    async def take(request: web.Request) -> web.Response:
        gateway.seen.append((await request.json())["message"]["text"])
        return web.json_response({}, status=gateway.status)

    gateway = SimpleNamespace(seen=[], status=200)
    async with web_server(web.post("/webhook/botchat", take)) as url:
        gateway.url = f"{url}/webhook/botchat"
        yield gateway


@pytest.fixture
async def http() -> AsyncIterator[DirectTransport]:
    http = DirectTransport()
    yield http
    await http.aclose()


@pytest.fixture
def bench(botchat: BotChat, http: DirectTransport) -> Bench:
    return Bench(BotApi(http, botchat.api_url, TOKEN))


def config(**env: str) -> Values:
    loaded = Settings.load(BotchatAdapter.spec.variables, environ={"TOCSIN_DATA_DIR": "/nonexistent", **env})
    return loaded.only(BotchatAdapter.spec.variables)


# Settings


def test_the_webhook_is_the_address_and_the_secret():
    address = "https://example.org/webhook/botchat"
    hook = read_hook(config(BOTCHAT_WEBHOOK_URL=address, BOTCHAT_WEBHOOK_SECRET=SECRET))
    assert hook == Hook(address, SECRET)
    assert SECRET not in repr(hook)


@pytest.mark.parametrize(
    ("env", "missing"),
    [
        ({}, "BOTCHAT_WEBHOOK_URL and BOTCHAT_WEBHOOK_SECRET; set them"),
        ({"BOTCHAT_WEBHOOK_SECRET": SECRET}, "BOTCHAT_WEBHOOK_URL; set it"),
        ({"BOTCHAT_WEBHOOK_URL": "https://example.org/x"}, "BOTCHAT_WEBHOOK_SECRET; set it"),
    ],
)
def test_without_one_of_them_the_start_is_refused(env: dict[str, str], missing: str):
    with pytest.raises(ConfigError) as caught:
        read_hook(config(**env))
    assert caught.value.sentence().replace(": ", "; ", 1).startswith(f"BOTCHAT_MODE=webhook needs {missing}")


# Registration


async def test_the_webhook_is_registered_and_what_waited_is_delivered(
    bench: Bench, botchat: BotChat, gateway: SimpleNamespace
):
    botchat.say(1001, "waiting since before")
    async with bench.running(url=gateway.url) as (registration, clock):
        assert (registration.state.status, registration.state.mode) == (ReceiveStatus.OK, "webhook")
        assert clock.slept == [300]
        assert botchat.updates.webhook["secret"] == SECRET
        await eventually(lambda: gateway.seen)
    assert gateway.seen == ["waiting since before"]
    assert botchat.updates.webhook["url"] == gateway.url  # it stays after the end
    assert registration.state.status is ReceiveStatus.STOPPED


async def test_a_gateway_that_does_not_take_updates_is_told(http: DirectTransport, gateway: SimpleNamespace):
    clock = Fast()
    gateway.status = 401
    async with BotChat(clock=clock.now, webhook_retry_s=0.01) as botchat:
        bench = Bench(BotApi(http, botchat.api_url, TOKEN))
        registration = WebhookRegistration(bench.api, Hook(gateway.url, SECRET), clock, bench.tell)
        botchat.say(1001, "hi")
        task = asyncio.create_task(registration.run())
        await eventually(lambda: registration.state.status is ReceiveStatus.FAILING)
        assert "Wrong response from the webhook: 401 Unauthorized" in registration.state.problem
        assert registration.state.pending == 1
        gateway.status = 200
        await eventually(lambda: registration.state.status is ReceiveStatus.OK)
        registration.stop()
        await task
    assert set(gateway.seen) == {"hi"}


async def test_the_call_is_that_of_the_published_interface():
    http = ScriptedTransport().will_answer({"ok": True, "result": True})
    http.will_answer({"ok": True, "result": {"url": URL, "pending_update_count": 0}})
    async with Bench(BotApi(http, "https://x", TOKEN)).running():
        pass
    assert json.loads(http.sent[0].body) == {
        "url": URL,
        "secret_token": SECRET,
        "allowed_updates": ["message", "edited_message", "callback_query", "my_chat_member"],
        "max_connections": 40,
        "drop_pending_updates": False,
    }
    assert [sent.url.rsplit("/", 1)[-1] for sent in http.sent] == ["setWebhook", "getWebhookInfo"]


async def test_the_provider_is_given_the_time_it_asks_for(bench: Bench, botchat: BotChat):
    botchat.faults.push(Fault.rate_limited(2).only("setWebhook"))
    async with bench.running(waits=1) as (registration, clock):
        assert clock.slept == [2, 300]
        assert registration.state.status is ReceiveStatus.OK


async def test_an_outage_at_the_start_is_waited_out(bench: Bench, botchat: BotChat):
    botchat.faults.push(*[Fault.status(502)] * 3)
    async with bench.running(waits=3) as (registration, clock):
        assert registration.state.status is ReceiveStatus.OK
        assert sum(clock.slept[:3]) < 6


async def test_an_address_that_the_provider_refuses_is_told(bench: Bench, botchat: BotChat):
    botchat.insecure_webhooks = False
    async with bench.running() as (registration, clock):
        assert registration.state.status is ReceiveStatus.FAILING
        assert "An HTTPS URL must be provided for webhook" in registration.state.problem
        assert clock.slept[0] >= 60


async def test_a_bad_token_is_told(bench: Bench, botchat: BotChat):
    botchat.token = "7000000001:AAnew"
    async with bench.running() as (registration, _):
        assert registration.state.status is ReceiveStatus.STOPPED
        assert "invalid token" in registration.state.problem
        assert TOKEN not in registration.state.problem


# Looking after


async def test_a_webhook_that_somebody_changed_is_registered_again_at_the_next_look(caplog: pytest.LogCaptureFixture):
    http = Answers({"url": URL}, {"url": ""}, {"url": URL})
    async with Bench(BotApi(http, "https://x", TOKEN)).running(waits=2) as (registration, clock):
        assert registration.state.status is ReceiveStatus.OK
        assert clock.slept == [300, 1, 300]
    assert http.methods == ["setWebhook", "getWebhookInfo", "getWebhookInfo", "setWebhook", "getWebhookInfo"]
    messages = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(messages) == 1


async def test_a_webhook_that_is_taken_away_at_once_is_a_conflict_and_no_fight():
    http = Answers({"url": "https://other.example/x"})
    async with Bench(BotApi(http, "https://x", TOKEN)).running() as (registration, clock):
        assert registration.state.status is ReceiveStatus.CONFLICT
        assert "token" in registration.state.problem
        assert "other.example" not in registration.state.problem  # its path may be its secret
        assert clock.slept == [30]


async def test_what_the_provider_cannot_deliver_is_told_and_looked_at_soon():
    info = {
        "url": URL,
        "pending_update_count": 3,
        "last_error_date": 1_700_000_000 - 60,
        "last_error_message": "Wrong response from the webhook: 401 Unauthorized",
    }
    async with Bench(BotApi(Answers(info), "https://x", TOKEN)).running() as (registration, clock):
        assert registration.state.status is ReceiveStatus.FAILING
        assert "Wrong response from the webhook: 401 Unauthorized; check that BOTCHAT_WEBHOOK_URL" in (
            registration.state.problem
        )
        assert registration.state.pending == 3
        assert clock.slept == [30]


@pytest.mark.parametrize("change", [{"pending_update_count": 0}, {"last_error_date": 1_699_990_000}])
async def test_an_error_of_the_past_is_none(change: dict[str, Any]):
    info = {
        "url": URL,
        "pending_update_count": 3,
        "last_error_date": 1_700_000_000 - 60,
        "last_error_message": "Connection refused",
    }
    async with Bench(BotApi(Answers(info | change), "https://x", TOKEN)).running() as (registration, _):
        assert (registration.state.status, registration.state.problem) == (ReceiveStatus.OK, "")


async def test_the_state_is_json():
    http = Answers({"url": URL, "pending_update_count": 2})
    async with Bench(BotApi(http, "https://x", TOKEN)).running() as (registration, _):
        assert json.loads(json.dumps(registration.state.as_dict())) == {
            "mode": "webhook",
            "status": "ok",
            "problem": "",
            "age_s": 0.0,
            "pending": 2,
        }


class Answers(ScriptedTransport):
    """Says yes to everything, and gives one description of the webhook after the other; the last one repeats."""

    def __init__(self, *infos: dict[str, Any]) -> None:
        super().__init__()
        self.infos = list(infos)

    async def request(self, method: str, url: str, **call: Any) -> Any:
        result: object = True
        if url.endswith("/getWebhookInfo"):
            result = self.infos.pop(0) if len(self.infos) > 1 else self.infos[0]
        self.script = []
        self.will_answer({"ok": True, "result": result})
        return await super().request(method, url, **call)

    @property
    def methods(self) -> list[str]:
        return [sent.url.rsplit("/", 1)[-1] for sent in self.sent]


@pytest.mark.parametrize(
    ("answer", "status"),
    [({"ok": False, "error_code": 404, "description": "Not Found"}, 404), ({"ok": True, "result": True}, 200)],
)
async def test_a_server_that_cannot_tell_what_it_knows_of_the_webhook_is_believed(answer: dict[str, Any], status: int):
    http = ScriptedTransport().will_answer({"ok": True, "result": True}).will_answer(answer, status)
    bench = Bench(BotApi(http, "https://x", TOKEN))
    async with bench.running() as (registration, clock):
        assert registration.state.status is ReceiveStatus.OK
    assert [request.url.rsplit("/", 1)[-1] for request in http.sent] == ["setWebhook", "getWebhookInfo"]
    assert clock.slept == [300.0]
