"""An access request is a message with Approve and Reject, where the channel has buttons (docs/bot.md)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tocsin.assembly.full.bot import open_access
from tocsin.assembly.full.notices import CoreNotices
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.bot.door.access_store import AccessState
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.audit.actions import NOTICES
from tocsin.delivery.model import Delivery
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.notifications.forwarding.pressing import NoticeButtons
from tocsin.features.notifications.store import NotificationFilter
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, PressedAction
from tocsin.messaging.outbound.caller import Caller

ENV = {
    "REDIS_URL": "off",
    "NOTIFY_PROFILE": "oncall",
    "NOTIFY_LEVEL": "info",
    "PUBLIC_URL": "https://tocsin.example",
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example",
    "TEAMCHAT_SIGNING_SECRET": "00112233445566778899aabbccddeeff",
    "BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example",
    "BOTCHAT_ADMIN_CHAT_ID": "1001",
    "ACTION_PEOPLE": "slack:U0ADA",
}
STRANGER = InboundMessage("botchat", MessageKind.COMMAND, "1", ("1",), "7", sender_id="7", command="start")


@asynccontextmanager
async def asked(folder: Path) -> AsyncIterator[tuple[App, Delivery]]:
    """Open a program whose notices go to a channel, and which chat 7 has asked for access."""
    (folder / "profiles.yaml").write_text('oncall: [{channel: teamchat, target: "#ops"}]\n')
    settings, installed = load_settings(environ={"TOCSIN_DATA_DIR": str(folder), **ENV}, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        core = CoreNotices(app)
        access, _ = open_access(app, Caller("bot"), app.stores.bot().access)
        await access.request(STRANGER)
        yield app, await forwarded(app, core)


async def forwarded(app: App, core: CoreNotices) -> Delivery:
    """Forward the waiting notices, and return the newest delivery to the channel."""
    await core.step()
    await app.features.opened("notifications").forwarder.step()
    found = (await app.outbox.store.search(DeliveryFilter(channel="teamchat"))).items
    return max(found, key=lambda each: each.id)


async def press(app: App, sent: Delivery, label: str, sender: str, channel: str = "teamchat") -> HandlerResult | None:
    """Press a button of a message as the inbox reports it."""
    [action] = [each for each in sent.content["actions"] if each["label"] == label]
    pressed = PressedAction(
        action["name"], action["value"], label, sent.id, channel, "#ops", "", "", NOTICES.name, sender, by_link=False
    )
    message = replace(STRANGER, channel=channel, chat_id="C0OPS", sender_id=sender, command=None)
    handler = NoticeButtons(app.features.opened("notifications").context)
    return await handler(MessageContext("event", message, press=pressed))


async def state(app: App) -> AccessState:
    access, _ = open_access(app, Caller("test"), app.stores.bot().access)
    return await access.read_state("7")


async def test_an_access_request_has_title_type_link_and_buttons(tmp_path: Path):
    async with asked(tmp_path) as (_, sent):
        content = sent.content
    assert (content["title"], content["type"]) == ("Info: Chat 7 asks for access to the bot", "info")
    assert content["click"] == "https://tocsin.example/#/access"
    assert [(each["label"], each["url"]) for each in content["actions"]] == [
        ("Approve", "https://tocsin.example/#/access"),
        ("Reject", "https://tocsin.example/#/access"),
    ]


@pytest.mark.parametrize(("label", "decided"), [("Approve", AccessState.ALLOWED), ("Reject", AccessState.DENIED)])
async def test_a_press_decides_and_the_message_shows_the_decision(tmp_path: Path, label: str, decided: AccessState):
    async with asked(tmp_path) as (app, sent):
        core = CoreNotices(app)
        result = await press(app, sent, label, "U0ADA")
        assert result is not None
        assert (result.ending, result.replies[0].text) == (
            HandlingStatus.ANSWERED,
            f"chat 7 is now {decided} (was pending)",
        )
        assert await state(app) is decided
        edit = await forwarded(app, core)
    assert (edit.key, "actions" in edit.content) == (sent.key, False)
    assert edit.content["title"] == f"Info: Chat 7 was {decided}"


@pytest.mark.parametrize(("sender", "channel"), [("U0EVE", "teamchat"), ("55", "botchat")])
async def test_only_the_admin_and_named_people_decide(tmp_path: Path, sender: str, channel: str):
    async with asked(tmp_path) as (app, sent):
        result = await press(app, sent, "Approve", sender, channel)
        assert result is not None
        assert (result.ending, "ACTION_PEOPLE" in result.hint) == (HandlingStatus.IGNORED, True)
        assert await state(app) is AccessState.PENDING


async def test_an_access_request_is_no_decision_about_a_run(tmp_path: Path):
    async with asked(tmp_path) as (app, _):
        found = await app.features.opened("notifications").service.search(NotificationFilter())
    assert [each.approval for each in found.items] == [None]
