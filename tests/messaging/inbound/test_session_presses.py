"""A press of a person who is signed in to the dashboard, from its request to what it starts or decides."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.facts import mentions

from tocsin.assembly.full.bot import open_access
from tocsin.assembly.full.notices import CoreNotices
from tocsin.assembly.full.receiving import open_receiving
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.channels.webpush.standin import CONTACT, Browser
from tocsin.delivery.model import Delivery
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.triggers.starting import StartingButtons
from tocsin.messaging.inbound.handling import MessageContext, PressedAction
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.presses.session import outcome_of
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import StartRequest
from tocsin.runs.model import RunTrigger
from tocsin.testing.dashboard import DashboardClient, open_dashboard

ENV = {
    "REDIS_URL": "off",
    "WEBPUSH_CONTACT": CONTACT,
    "NOTIFY_PROFILE": "phones",
    "NOTIFY_LEVEL": "info",
    "PUBLIC_URL": "https://tocsin.example",
    "BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example",
    "BOTCHAT_ADMIN_CHAT_ID": "1001",
}
ENDPOINT = "https://fcm.googleapis.com/fcm/send/canary-endpoint"
RULES = """
- {on: action, name: ack, command: 'echo "$ACTION_VALUE $ACTION_BY" >> "$HOME/acked"', reply: false}
"""
GATE = """
name: gate
steps:
- {name: ask, type: wait, approval: true}
- {name: go, type: shell, command: touch "$HOME/passed"}
"""
QUICK = 'name: quick\noverlap: parallel\nsteps:\n- {name: go, type: shell, command: "true"}\n'
BROKEN = "name: broken\nnotify_profile: phones\nsteps:\n- {name: fail, type: shell, command: exit 1}\n"
STRANGER = InboundMessage("botchat", MessageKind.COMMAND, "1", ("1",), "7", sender_id="7", command="start")
ACK = {"action": "call", "label": "Acknowledge", "name": "ack", "value": "web1"}
START = {"action": "call", "label": "Start", "name": "workflow:quick", "once": False}


@dataclass
class Desk:
    """A program with its inbox and dashboard, and a device."""

    app: App
    client: DashboardClient
    inbox: Inbox

    async def message(self, *actions: dict[str, Any]) -> Delivery:
        new = self.app.outbox.prepare("webpush", "phone", "91 %", "cli", content={"actions": list(actions)})
        [accepted] = await self.app.outbox.enqueue([new], Caller("cli"))
        return accepted

    async def press(self, sent: Delivery, label: str, *scopes: str) -> dict[str, Any]:
        """Press a button as a person with these scopes, and return what they are told."""
        number = [each["label"] for each in sent.content["actions"]].index(label)
        self.client.scopes, self.client.login, self.client.user = frozenset(scopes), "session", "ada"
        answer = await self.client.post(f"/api/deliveries/{sent.id}/press", {"button": number})
        assert answer.status == 200, answer.body
        return dict(answer.json())

    async def refuse(self, sent: Delivery, label: str, *scopes: str) -> str:
        """Press a button that does nothing, and return why; on a busy machine, the press is told to be received."""
        told = await self.press(sent, label, *scopes)
        if told["state"] == "received":
            [latest] = await SqliteInbox(self.app.database, self.app.clock).search(1)
            assert latest.message
            while (outcome := await outcome_of(self.inbox, latest.message.id)).state == "received":
                pass
            told = {"state": outcome.state, "detail": outcome.detail}
        assert told["state"] == "refused", told
        return str(told["detail"])

    async def with_button(self, label: str) -> Delivery:
        """Forward the waiting notices until a message has a button, and return it."""
        while True:
            await self.app.features.opened("notifications").forwarder.step()
            for each in (await self.app.outbox.store.search(DeliveryFilter(channel="webpush"))).items:
                if any(action["label"] == label for action in each.content.get("actions", ())):
                    return each
            await asyncio.sleep(0.02)

    async def succeeded(self, count: int) -> bool:
        """Whether there are this many runs of workflows, and all have succeeded."""
        runs = (await self.app.runs().search("workflow")).items
        return len(runs) == count and all(run.ok for run in runs)

    async def start(self, workflow: str) -> None:
        request = StartRequest(source="cli", cause=RunTrigger.MANUAL, actor="ada")
        await self.app.features.abilities.run_starter.start("workflow", workflow, request)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Desk]:
    (folder / "workflows").mkdir()
    (folder / "workflows" / "gate.yaml").write_text(GATE)
    (folder / "workflows" / "quick.yaml").write_text(QUICK)
    (folder / "workflows" / "broken.yaml").write_text(BROKEN)
    (folder / "triggers.yaml").write_text(RULES)
    (folder / "profiles.yaml").write_text("phones: [{channel: webpush, target: phone}]\n")
    environ = {"TOCSIN_DATA_DIR": str(folder), "HOME": str(folder), "PATH": "/usr/bin:/bin", **ENV}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app, open_dashboard(app) as client:
        device = {"name": "phone", "endpoint": ENDPOINT, **Browser("phone").keys}
        assert (await client.post("/api/devices", device)).status == 201
        inbox = (await open_receiving(app, fetch=False)).inbox
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(inbox.run())
            yield Desk(app, client, inbox)
            inbox.stop()


async def until(found: Callable[[], Awaitable[object]]) -> None:
    while True:
        if await found():
            return
        await asyncio.sleep(0.02)


async def exists(file: Path) -> None:
    async def look() -> bool:
        return file.exists()

    await until(look)


async def test_a_press_at_the_dashboard_runs_its_trigger_once(tmp_path: Path):
    async with opened(tmp_path) as desk:
        sent = await desk.message(ACK)
        await desk.press(sent, "Acknowledge", "answer")
        await exists(tmp_path / "acked")
        again = await desk.refuse(sent, "Acknowledge", "answer")
        assert again == "Already done: Acknowledge, by ada."
    assert (tmp_path / "acked").read_text() == "web1 ada\n"


async def test_a_press_at_the_dashboard_decides_an_approval(tmp_path: Path):
    async with opened(tmp_path) as desk:
        await desk.start("gate")
        await desk.press(await desk.with_button("Approve"), "Approve", "answer")
        await exists(tmp_path / "passed")


@pytest.mark.parametrize("scopes", [("answer",), ("answer", "run")], ids=",".join)
async def test_a_press_starts_something_only_with_the_scope_that_the_dashboard_requires(
    tmp_path: Path, scopes: tuple[str, ...]
):
    async with opened(tmp_path) as desk:
        sent = await desk.message(START)
        if "run" in scopes:
            await desk.press(sent, "Start", *scopes)
            await until(lambda: desk.succeeded(1))
        else:
            await desk.refuse(sent, "Start", *scopes)
            assert await desk.succeeded(0)


@pytest.mark.parametrize("scopes", [("answer", "run"), ("answer", "admin")], ids=",".join)
async def test_a_press_admits_a_chat_only_with_the_scope_of_the_access_page(tmp_path: Path, scopes: tuple[str, ...]):
    async with opened(tmp_path) as desk:
        core = CoreNotices(desk.app)
        access, _ = open_access(desk.app, Caller("bot"), desk.app.stores.bot().access)
        await access.request(STRANGER)
        await core.step()

        async def allowed() -> bool:
            return str(await access.read_state("7")) == "allowed"

        sent = await desk.with_button("Approve")
        if "admin" in scopes:
            await desk.press(sent, "Approve", *scopes)
            await until(allowed)
        else:
            await desk.refuse(sent, "Approve", *scopes)
            assert str(await access.read_state("7")) == "pending"


async def test_the_summary_of_a_failed_run_has_a_button_that_repeats_it(tmp_path: Path):
    async with opened(tmp_path) as desk:
        await desk.start("broken")
        sent = await desk.with_button("Retry")
        assert sent.source != "notifications"
        await desk.press(sent, "Retry", "answer", "run")

        async def repeated() -> bool:
            runs = (await desk.app.runs().search("workflow")).items
            return any(run.retry_of and run.finished_at for run in runs)

        await until(repeated)


async def test_a_message_of_a_sender_cannot_repeat_a_run(tmp_path: Path):
    async with opened(tmp_path) as desk:
        await desk.start("broken")
        value = (await desk.with_button("Retry")).content["actions"][0]["value"]
        forged = await desk.message({"action": "call", "label": "Photo", "name": "retry", "value": value})
        told = await desk.refuse(forged, "Photo", "answer", "run", "admin")
        assert mentions(told, "action retry")


async def test_two_quick_presses_of_a_button_that_stays_find_their_own_runs_after_a_crash(tmp_path: Path):
    async with opened(tmp_path) as desk:
        handler = StartingButtons(desk.app.features.opened("triggers").context)
        pressed = PressedAction(
            "workflow:quick", "", "Start", "d", "webpush", "phone", "", "", "cli", "ada", by_link=False
        )
        message = replace(STRANGER, channel="webpush", sender_id="ada", sender_scopes=("run",), received_at=1e9)
        contexts = [MessageContext(event, message, press=pressed) for event in ("one", "two")]
        told = [await handler(each) for each in contexts]
        again = [await handler(replace(each, attempt=2)) for each in reversed(contexts)]
        await until(lambda: desk.succeeded(2))
    assert again == told[::-1]
    assert told[0] != told[1]
