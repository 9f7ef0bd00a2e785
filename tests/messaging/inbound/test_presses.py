"""Pressed buttons over a real store: which press wins, what is still offered, and how the message changes."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.clocks import SteppedClock
from tests.messaging.inbound.inbox_hall import SCHEMAS, Bell

from tocsin.bot.schema import SCHEMAS as BOT_SCHEMAS
from tocsin.bot.storage.stores import sqlite_bot_stores
from tocsin.channels.action_tokens import ActionToken, read_token
from tocsin.channels.contract import Part, Sent, Tools
from tocsin.channels.model import PRESS, ChannelSpec, native
from tocsin.channels.presses import press_event
from tocsin.channels.registry import Registry
from tocsin.channels.webhook import WebhookAdapter
from tocsin.channels.webhook.standin import SECRET
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.delivery.model import AttemptOutcome, Delivery, DeliveryStatus
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import ChannelRules, DeliveryFilter
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, PressedAction
from tocsin.messaging.inbound.presses.buttons import EXPIRED, NOT_OFFERED, UNKNOWN, PressedButtons
from tocsin.messaging.inbound.presses.forwarding import PressForwarder
from tocsin.messaging.inbound.presses.handler import ActionHandler
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.messenger import Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.profiles import Profiles
from tocsin.testing.fakes import ScriptedTransport, settings_of

DAY_S = 86_400.0
ACK = {"action": "call", "label": "Acknowledge", "name": "ack", "value": "web1"}
NOTE = {"action": "call", "label": "Note", "name": "note", "once": False}
GRAPH = {"action": "view", "label": "Graph", "url": "https://graphs.example/1"}


class Chime(Bell):
    """A bell with buttons, whose messages can be edited; `shown` has the tokens of each message."""

    spec = ChannelSpec(
        "bell",
        "Bell",
        "a bell",
        inbound=("webhook",),
        abilities={"call": native(), "key": native(), "actions": native()},
    )
    shown: list[list[str]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.shown = []

    async def deliver(self, part: Part) -> Sent:  # type: ignore[override]  # it returns a reference, too
        self.shown.append([each.token for each in part.content.actions] if part.content else [])
        return Sent("rang", {"id": str(len(self.shown))})

    async def edit(self, part: Part, ref: Mapping[str, str]) -> str:
        self.shown.append([each.token for each in part.content.actions] if part.content else [])
        return "rang again"


@dataclass
class Board:
    """Buttons over a database, and a handler that notes what was pressed."""

    outbox: Outbox
    messenger: Messenger
    registry: Registry
    buttons: PressedButtons
    audit: AuditTrail
    clock: SteppedClock
    pressed: list[PressedAction] = field(default_factory=list)
    result: HandlerResult | None = field(default_factory=lambda: HandlerResult(HandlingStatus.ANSWERED))
    begins: bool = True
    tokens: list[str] = field(default_factory=list)

    async def send(self, *actions: Mapping[str, Any], **content: Any) -> list[str]:
        """Send a message with these buttons; return their tokens."""
        given = {"actions": list(actions), **content} if actions else content
        receipt = await self.messenger.send("bell", "tower", "Disk is full", Caller("test"), content=given)
        assert receipt.result.ok, receipt.result.error
        adapter: Any = self.registry.adapter("bell")
        tokens: list[str] = adapter.shown[-1]
        return tokens

    async def press(self, token: str, by: str = "Ada", event: str = "") -> str:
        """Press a button; return the hint, or an empty text if the press had an effect."""

        async def handle(received: MessageContext) -> HandlerResult | None:
            assert received.press
            if self.begins:
                await received.begin()
            if self.result is not None:
                self.pressed.append(received.press)
            return self.result

        message = press_event(
            "bell", token, event_id=new_id(), chat_id="tower", sender_id=by, sender_name=by, now=self.clock.now()
        )
        handler = ActionHandler(self.buttons, [handle], self.audit)
        result = await handler(MessageContext(event or new_id(), message))
        assert result is not None
        return result.hint

    async def queued(self) -> list[Delivery]:
        """Return the deliveries that wait, the oldest first."""
        found = (await self.outbox.store.search(DeliveryFilter(channel="bell"))).items
        return [each for each in found if each.finished_at is None][::-1]


@pytest.fixture
async def board(tmp_path: Path) -> AsyncIterator[Board]:
    clock = SteppedClock()
    database = Database(tmp_path / "tocsin.db", {**SCHEMAS, **BOT_SCHEMAS})
    settings = settings_of([], {"TOCSIN_DATA_DIR": str(tmp_path)})
    (tmp_path / "targets.yaml").write_text(f"webhook: {{ci: {{url: 'https://ci.example', secret: {SECRET}}}}}\n")
    registry = Registry([Chime, WebhookAdapter], settings, lambda: Tools(ScriptedTransport(), clock))
    audit = AuditTrail(AuditLog(tmp_path / "audit.log"))
    outbox = Outbox(SqliteStore(database, clock), registry, audit, clock)
    profiles = Profiles(tmp_path / "profiles.yaml", registry.known_kind)
    messenger = Messenger(registry, lambda: profiles, audit, outbox)
    buttons = PressedButtons(outbox, sqlite_bot_stores(database, clock).presses, clock)
    yield Board(outbox, messenger, registry, buttons, audit, clock)
    await messenger.aclose()
    audit.log.close()
    await database.aclose()


async def test_the_first_press_wins_and_later_ones_are_told_who_was_first(board: Board):
    (token,) = await board.send(ACK)
    assert await board.press(token, "Ada") == ""
    assert await board.press(token, "Bob") == "Already done: Acknowledge, by Ada."
    (made,) = board.pressed
    assert (made.name, made.value, made.label, made.by, made.target) == ("ack", "web1", "Acknowledge", "Ada", "tower")
    assert (made.key, made.text) == ("", "Disk is full")


async def test_one_press_uses_up_all_buttons_of_a_message_that_may_be_pressed_once(board: Board):
    approve, reject = await board.send(ACK, {**ACK, "label": "Reject", "name": "reject"})
    assert await board.press(reject) == ""
    assert await board.press(approve) == "Already done: Reject, by Ada."


async def test_the_same_event_wins_again_after_a_crash(board: Board):
    (token,) = await board.send(ACK)
    assert await board.press(token, event="e1") == ""
    assert await board.press(token, event="e1") == ""
    assert len(await board.queued()) == 1


async def test_a_press_removes_the_buttons_but_not_links_and_buttons_that_stay(board: Board):
    token, _, _ = await board.send(ACK, NOTE, GRAPH)
    await board.press(token)
    (edit,) = await board.queued()
    assert [each["label"] for each in edit.content["actions"]] == ["Note", "Graph"]
    assert edit.message == "Disk is full"


async def test_a_button_that_stays_can_be_pressed_again_also_on_the_edited_message(board: Board):
    token, stays = await board.send(ACK, NOTE)
    assert [await board.press(stays), await board.press(stays)] == ["", ""]
    assert await board.queued() == []
    await board.press(token)
    assert await board.press(stays) == ""


async def test_a_press_that_nothing_handles_is_told_so_and_uses_up_nothing(board: Board):
    (token,) = await board.send(ACK)
    board.result, board.begins = None, False
    assert "Nothing is set up" in await board.press(token)
    board.result, board.begins = HandlerResult(HandlingStatus.ANSWERED), True
    assert await board.press(token) == ""


@pytest.mark.parametrize("begins", [True, False])
async def test_a_press_that_is_refused_uses_up_nothing(board: Board, *, begins: bool):
    (token,) = await board.send(ACK)
    refused = HandlerResult(HandlingStatus.IGNORED, reason="no", hint="You may not.")
    board.result, board.begins = refused, begins
    assert await board.press(token) == "You may not."
    board.result, board.begins = HandlerResult(HandlingStatus.ANSWERED), True
    assert await board.press(token, "Bob") == ""


async def test_a_button_works_for_a_week_and_a_second_press_after_days_is_still_one(board: Board):
    (token,) = await board.send(ACK)
    (later,) = await board.send({**ACK, "value": "web2"})
    board.clock.advance(2 * DAY_S)
    assert await board.press(token) == ""
    board.clock.advance(2 * DAY_S)
    assert await board.press(token, "Bob") == "Already done: Acknowledge, by Ada."
    board.clock.advance(3 * DAY_S + 1)
    assert await board.press(later) == EXPIRED


async def test_an_old_copy_counts_while_its_message_still_offers_the_same(board: Board):
    (old,) = await board.send(ACK, key="disk")
    (new,) = await board.send({**ACK, "label": "Ack"}, key="disk", title="Disk")
    assert await board.press(old) == ""
    assert await board.press(new, "Bob") == "Already done: Acknowledge, by Ada."


async def test_an_old_copy_is_told_who_pressed_the_new_one(board: Board):
    (old,) = await board.send(ACK, key="disk")
    (new,) = await board.send({**ACK, "value": "web2"}, key="disk")
    assert await board.press(new) == ""
    (edit,) = await board.outbox.store.claim_due("worker", 1, {"bell": ChannelRules()})
    await board.outbox.store.finish("worker", edit.id, AttemptOutcome(DeliveryStatus.SENT, ref='{"id": "1"}'))
    assert await board.press(old, "Bob") == "Already done: Acknowledge, by Ada."


async def test_an_old_copy_is_told_that_its_message_offers_it_no_longer(board: Board):
    (token,) = await board.send(ACK, key="disk")
    await board.send(key="disk", type="success")
    assert await board.press(token) == NOT_OFFERED
    assert board.pressed == []


async def test_the_edit_does_not_take_the_place_of_a_newer_revision_that_waits(board: Board):
    (token,) = await board.send(ACK, key="disk")
    await board.outbox.enqueue(
        [board.outbox.prepare("bell", "tower", "x", "test", content={"key": "disk"})], Caller("t")
    )
    assert await board.press(token) == ""
    (waiting,) = await board.queued()
    assert waiting.message == "x"


async def test_a_guessed_or_foreign_token_is_unknown(board: Board):
    token, _ = await board.send(ACK, GRAPH)
    found = read_token(token)
    assert found
    guesses = [
        ActionToken(found.delivery, 0, "x" * 22),
        ActionToken(found.delivery, 1, found.secret),  # a link
        ActionToken(found.delivery, 7, found.secret),
        ActionToken("00000000-0000-7000-8000-000000000000", 0, found.secret),
    ]
    assert [await board.press(str(guess)) for guess in guesses] == [UNKNOWN] * 4
    assert board.pressed == []


async def test_a_press_that_overtakes_the_record_of_its_message_waits_for_it(board: Board):
    token = str(ActionToken(new_id(), 0, "x" * 22))
    made_at = (UUID(new_id()).int >> 80) / 1_000
    board.clock.advance(made_at - board.clock.now())
    with pytest.raises(StoreUnavailableError):
        await board.press(token)
    board.clock.advance(61)
    assert await board.press(token) == UNKNOWN


async def test_other_buttons_are_left_to_other_handlers(board: Board):
    handler = ActionHandler(board.buttons, [], board.audit)
    message = press_event("bell", "confirm:7", event_id="1", chat_id="tower", now=0.0)
    assert await handler(MessageContext("e", message)) is None


async def test_the_audit_log_says_who_pressed_what_and_never_its_value(board: Board):
    (token,) = await board.send(ACK)
    await board.press(token)
    (entry,) = [each for each in board.audit.log.tail(50) if each.action == "msg.press"]
    assert (entry.metadata["button"], entry.metadata["sender"], entry.metadata["target"]) == ("ack", "Ada", "tower")
    assert "web1" not in str(entry)


# --- buttons that forward their press


async def forwarded(board: Board, name: str, event: str) -> HandlerResult:
    """Press a button of this name once more, with the forwarder as the only handler."""
    if not board.tokens:
        board.tokens = await board.send({**ACK, "name": name}, key="disk")
    press = press_event(
        "bell",
        board.tokens[0],
        event_id=event,
        chat_id="tower",
        sender_id="7",
        sender_name="Ada",
        now=board.clock.now(),
    )
    handler = ActionHandler(board.buttons, [PressForwarder(board.registry, board.outbox)], board.audit)
    result = await handler(MessageContext(event, press))
    assert result is not None
    return result


async def test_a_press_is_forwarded_to_the_target_that_the_button_names_once(board: Board):
    for _ in range(2):  # the second one repeats an event whose process was killed
        assert (await forwarded(board, "webhook:ci", "e1")).ending is HandlingStatus.ANSWERED
    (queued,) = (await board.outbox.store.search(DeliveryFilter(channel="webhook"))).items
    assert (queued.target, queued.message) == ("ci", "Acknowledge")
    assert queued.extra[PRESS] == {
        "event": "e1", "name": "webhook:ci", "value": "web1", "label": "Acknowledge", "by": "Ada", "by_link": False,
        "channel": "bell", "chat": "tower", "key": "disk", "message": "Disk is full",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["bell:tower", "webhook:", "ack", "nothing:ci"])
async def test_only_channels_that_take_presses_get_them(board: Board, name: str):
    assert (await forwarded(board, name, "e1")).ending is HandlingStatus.FAILED
    assert (await board.outbox.store.search(DeliveryFilter(channel="webhook"))).items == []


async def test_a_press_for_a_target_that_does_not_exist_uses_up_no_button(board: Board):
    for event in ("e1", "e2"):
        result = await forwarded(board, "webhook:cd", event)
        assert (result.ending, "'cd' is not a target of Webhook" in result.hint) == (HandlingStatus.FAILED, True)
