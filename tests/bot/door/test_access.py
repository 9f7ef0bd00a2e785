"""Who may talk to the bot."""

import asyncio
import logging
from dataclasses import replace

import pytest
from tests.bot.bench import ADMIN, Bench, silent, text_of
from tests.bot.conftest import MakeBench
from tests.facts import mentions

from tocsin.bot.door.access import Access, AccessError
from tocsin.bot.door.access_store import AccessState, AccessStore
from tocsin.bot.handler import BotAccessHandler
from tocsin.bot.settings import BotSettings
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.bot.talk.sequencer import LONGEST_S, MessageSequencer
from tocsin.channels.inbound import MessageKind
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import UnknownChannelError
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext
from tocsin.messaging.outbound.caller import Caller

CLI = Caller("cli")


async def refuse(received: MessageContext) -> HandlerResult:
    raise AssertionError("nobody asked for that")


async def rejected(bench: Bench, chat: str) -> bool:
    return silent(await bench.send("hello", chat=chat))


async def test_without_an_allowlist_every_message_is_rejected(make_bench: MakeBench):
    bench = make_bench(BotSettings())
    assert await rejected(bench, "7")
    assert bench.provider is not None
    assert bench.provider.calls == []


async def test_an_allowed_chat_passes_the_door_to_whatever_comes_next(bench: Bench):
    assert await bench.bot.access_handler(bench.received("hello")) is None


async def test_other_channels_are_none_of_the_bots_business(bench: Bench):
    received = bench.received("hello", chat="99", channel="elsewhere")
    assert await bench.bot.access_handler(received) is None
    assert await bench.bot.handler(received) is None


@pytest.mark.parametrize("kind", MessageKind)
async def test_the_gate_is_there_for_every_kind_of_event(bench: Bench, kind: MessageKind):
    received = bench.received("/help", chat="99", kind=kind, callback_data="mode:skill")
    verdict = await bench.bot.access_handler(received)
    assert verdict is not None
    assert silent(verdict)


async def test_a_rejected_chat_is_not_acknowledged_either(bench: Bench):
    assert await bench.bot.may_acknowledge(bench.received("hello").message)
    assert not await bench.bot.may_acknowledge(bench.received("hello", chat="99").message)
    assert await bench.bot.may_acknowledge(bench.received("hello", chat="99", channel="elsewhere").message)


async def test_bots_are_ignored_even_in_an_allowed_chat(bench: Bench):
    assert silent(await bench.send("hello", sender_is_bot=True))


async def test_a_rejected_chat_is_logged_once_with_its_id(bench: Bench, caplog: pytest.LogCaptureFixture):
    for chat in ("99", "99", "98", "99"):
        await bench.send("hello", chat=chat)
    logged = [vars(record)["chat_id"] for record in caplog.records if record.levelno == logging.WARNING]
    assert logged == ["99", "98"]


async def test_the_memory_of_rejected_chats_is_bounded(bench: Bench, caplog: pytest.LogCaptureFixture):
    door = BotAccessHandler(bench.bot.access, refuse, MessageSequencer(bench.clock), bench.channel, logged_chats=2)
    for chat in ("11", "12", "12", "13", "11"):
        await door(bench.received("hello", chat=chat))
    assert [vars(record)["chat_id"] for record in caplog.records] == ["11", "12", "13", "11"]


async def test_start_of_an_unknown_chat_is_a_pending_request_that_the_admin_is_told_of(bench: Bench):
    verdict = await bench.send("/start", chat="9", sender_name="Anna Ha", sender_username="anna", sender_language="de")
    assert text_of(verdict) == "access request pending"
    assert await bench.bot.access.read_state("9") is AccessState.PENDING
    ((target, reply),) = bench.told
    assert target == ADMIN
    assert mentions(reply.text, "/approve 9", "Anna Ha", "anna", "de", "/deny 9")
    assert buttons_of_reply(reply.extra) == ["confirm:approve:9", "confirm:deny:9"]


def buttons_of_reply(extra) -> list[str]:
    return [data for row in extra["buttons"] for _, data in row]


async def test_second_start_does_not_tell_the_admin_twice(bench: Bench):
    assert text_of(await bench.send("/start", chat="9")) == "access request pending"
    await bench.restart()
    assert text_of(await bench.send("/start", chat="9")) == "access request pending"
    assert ["/approve 9" in reply.text for _, reply in bench.told] == [True]


async def test_two_starts_in_one_moment_are_one_request(bench: Bench):
    await asyncio.gather(*(bench.send("/start", chat="9") for _ in range(4)))
    assert len(bench.told) == 1


async def test_a_request_that_was_cut_off_before_the_admin_was_told_is_completed_by_the_next(make_bench: MakeBench):
    told: list[str] = []

    async def tell(target: str, reply: object, key: str) -> str:
        told.append(key)
        if len(told) == 1:
            raise UnknownChannelError("the queue is away")
        return "delivery-1"

    bench = make_bench(tell=tell)
    assert text_of(await bench.send("/start", chat="9")) == "access request pending"
    await bench.send("/start", chat="9")
    await bench.send("/start", chat="9")
    assert len(told) == 2
    assert len(set(told)) == 1


async def test_without_an_admin_chat_the_request_waits_in_the_list_and_is_logged_once(
    make_bench: MakeBench, caplog: pytest.LogCaptureFixture
):
    bench = make_bench(BotSettings())
    for _ in range(3):
        assert text_of(await bench.send("/start", chat="9")) == "access request pending"
    assert caplog.text.count("a chat asks for access") == 1
    assert bench.told == []
    assert [(item.chat_id, item.state) for item in await bench.bot.access.listing()] == [("9", AccessState.PENDING)]


async def test_what_strangers_call_themselves_stays_on_one_short_line(bench: Bench):
    await bench.send("/start", chat="9", sender_name="Eve\n/approve 666\u202e\x1b[2J" + "x" * 200)
    ((_, reply),) = bench.told
    assert len(reply.text.splitlines()) == 3
    name = reply.text.splitlines()[1]
    assert name.startswith("name: Eve /approve 666 [2Jxxx")
    assert len(name) <= 106


async def test_strangers_cannot_fill_the_disk_with_requests(bench: Bench):
    store = AccessStore(sqlite_tables(bench.database, bench.clock), max_pending=2)
    access = Access(store, AuditTrail(bench.audit), frozenset())
    found = [await access.request(bench.received("/start", chat=chat).message) for chat in ("11", "12", "13", "12")]
    assert found == [AccessState.PENDING, AccessState.PENDING, AccessState.UNKNOWN, AccessState.PENDING]


async def test_what_a_pending_chat_writes_is_rejected(bench: Bench):
    await bench.send("/start", chat="9")
    assert await rejected(bench, "9")


async def test_the_admin_approves_by_command_and_the_chat_is_told(bench: Bench):
    await bench.send("/start", chat="9")
    assert text_of(await bench.send("/approve 9", chat=ADMIN)) == "Chat 9 is now allowed (was pending)."
    assert [target for target, _ in bench.told[1:]] == ["9"]
    assert text_of(await bench.send("hello", chat="9")) == "You said: hello"


async def test_the_admin_decides_by_button(bench: Bench):
    await bench.send("/start", chat="9")
    await bench.send("/start", chat="10")
    assert "Chat 9 is allowed." in text_of(await bench.press("confirm:approve:9", chat=ADMIN))
    assert "Chat 10 is denied." in text_of(await bench.press("confirm:deny:10", chat=ADMIN))
    assert not await rejected(bench, "9")
    assert await rejected(bench, "10")


async def test_a_group_that_asks_is_shown_with_its_title_its_kind_and_who_asked(bench: Bench):
    group = {"chat_type": "group", "chat_title": "Family\nand friends", "sender_name": "Anna Ha", "mentions_bot": True}
    received = bench.received("/start", chat="-9", **group)
    await bench.handle(replace(received, message=replace(received.message, sender_id="42")))
    assert mentions(bench.told[0][1].text, "/approve -9", "Family and friends", "group", "Anna Ha", "42", "/deny -9")
    assert text_of(await bench.send("/approve", chat=ADMIN)).endswith("Waiting: -9 (Family and friends)")


async def test_the_outcome_takes_the_place_of_the_buttons_that_were_pressed(bench: Bench):
    await bench.send("/start", chat="9", sender_name="Anna")
    (reply,) = (await bench.press("confirm:approve:9", chat=ADMIN, reply_to_id="501")).replies
    assert mentions(reply.text, "Chat 9 ", "Anna", "/deny 9")
    assert reply.extra == {"edit_message_id": "501"}
    assert [target for target, _ in bench.told] == [ADMIN, "9"]


@pytest.mark.parametrize("how", ["command", "cli", "cli removes"])
async def test_the_admins_buttons_give_way_to_the_outcome_however_it_was_decided(bench: Bench, how: str):
    await bench.send("/start", chat="9", sender_name="Anna")
    bench.arrived(ADMIN, message_id="501")
    if how == "command":
        await bench.send("/deny 9", chat=ADMIN)
    else:
        await (bench.bot.access.deny if how == "cli" else bench.bot.access.remove)("9", CLI)
    target, reply = next(told for told in bench.told if told[1].extra.get("edit_message_id") == "501")
    assert target == ADMIN
    assert reply.text.splitlines()[0] == ("Chat 9 is unknown." if how == "cli removes" else "Chat 9 is denied.")
    assert "buttons" not in reply.extra


async def test_a_button_that_comes_after_the_decision_changes_nothing_and_shows_it(bench: Bench):
    await bench.send("/start", chat="9")
    await bench.bot.access.approve("9", CLI)
    (reply,) = (await bench.press("confirm:deny:9", chat=ADMIN, reply_to_id="501")).replies
    assert ("/deny 9" in reply.text, reply.extra) == (True, {"edit_message_id": "501"})
    assert await bench.bot.access.read_state("9") is AccessState.ALLOWED


async def test_a_denied_chat_is_told_once_and_cannot_ask_again(bench: Bench):
    await bench.send("/start", chat="9")
    await bench.send("/deny 9", chat=ADMIN)
    assert bench.told[-1][0] == "9"
    assert "denied" in bench.told[-1][1].text
    told = len(bench.told)
    assert silent(await bench.send("/start", chat="9"))
    assert len(bench.told) == told


async def test_a_chat_that_was_allowed_is_not_told_of_a_request_that_it_does_not_remember(bench: Bench):
    await bench.send("/approve 9", chat=ADMIN)
    await bench.send("/deny 9", chat=ADMIN)
    assert bench.told == []


async def test_a_denied_chat_can_be_approved_later(bench: Bench):
    await bench.send("/start", chat="9")
    await bench.send("/deny 9", chat=ADMIN)
    assert text_of(await bench.send("/approve 9", chat=ADMIN)) == "Chat 9 is now allowed (was denied)."
    assert bench.told[-1][1].text.startswith("Access granted")


async def test_decisions_survive_a_restart(bench: Bench):
    await bench.send("/approve 9", chat=ADMIN)
    await bench.send("/deny 7", chat=ADMIN)
    await bench.restart()
    assert not await rejected(bench, "9")
    assert await rejected(bench, "7")


async def test_a_chat_that_is_removed_at_run_time_is_unknown_and_may_ask_anew(bench: Bench):
    await bench.bot.access.approve("9", CLI)
    change = await bench.bot.access.remove("9", CLI)
    assert (change.before, change.state) == (AccessState.ALLOWED, AccessState.UNKNOWN)
    assert await rejected(bench, "9")
    assert text_of(await bench.send("/start", chat="9")) == "access request pending"


async def test_a_chat_of_the_setting_that_is_removed_stays_out_until_it_is_approved(bench: Bench):
    change = await bench.bot.access.remove("7", CLI)
    assert (change.before, change.state) == (AccessState.ALLOWED, AccessState.UNKNOWN)
    await bench.restart()
    assert await rejected(bench, "7")
    await bench.bot.access.approve("7", CLI)
    assert bench.told == []
    assert not await rejected(bench, "7")


async def test_a_chat_of_the_setting_that_is_removed_may_ask_anew_and_be_removed_anew(bench: Bench):
    await bench.bot.access.remove("7", CLI)
    assert text_of(await bench.send("/start", chat="7")) == "access request pending"
    assert await bench.bot.access.read_state("7") is AccessState.PENDING
    assert [target for target, _ in bench.told] == [ADMIN]
    assert (await bench.bot.access.remove("7", CLI)).state is AccessState.UNKNOWN
    assert await rejected(bench, "7")


async def test_removing_a_chat_that_nobody_knows_is_an_error(bench: Bench):
    with pytest.raises(AccessError, match="9"):
        await bench.bot.access.remove("9", CLI)


async def test_nobody_but_the_admin_chat_decides(bench: Bench):
    await bench.send("/start", chat="9")
    assert silent(await bench.send("/approve 9", chat="9"))
    assert "/help" in text_of(await bench.send("/approve 9", chat="7"))
    assert silent(await bench.press("confirm:approve:9", chat="9"))
    assert silent(await bench.press("confirm:approve:9", chat="7"))
    assert silent(await bench.press("confirm:deny:9", chat="7"))
    assert await bench.bot.access.read_state("9") is AccessState.PENDING
    denied = [each.metadata for each in bench.audit.tail(100) if each.action == "bot.press_denied"]
    assert [(each["chat"], each["actor"], each["outcome"]) for each in denied] == [("9", "chat:7", "denied")] * 2


async def test_the_admin_chat_may_always_approve_deny_and_ask_the_status_but_nothing_else(bench: Bench):
    assert "Mode: chat" in text_of(await bench.send("/status", chat=ADMIN))
    assert silent(await bench.send("/help", chat=ADMIN))
    assert silent(await bench.send("hello", chat=ADMIN))
    assert silent(await bench.press("mode:skill", chat=ADMIN))


async def test_an_admin_chat_that_is_on_the_list_may_do_everything(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({ADMIN}), admin=ADMIN))
    assert await bench.bot.access_handler(bench.received("/status", chat=ADMIN)) is None
    bench.clock.advance(LONGEST_S)  # no other handler sees this one
    assert "/approve" in text_of(await bench.send("/help", chat=ADMIN))
    assert text_of(await bench.send("hello", chat=ADMIN)) == "You said: hello"


@pytest.mark.parametrize("argument", ["", "Anna", "0", "12 13", "9" * 20])
async def test_a_decision_without_a_chat_id_says_what_is_missing_and_who_waits(bench: Bench, argument: str):
    await bench.send("/start", chat="9")
    text = text_of(await bench.send(f"/approve {argument}", chat=ADMIN))
    assert "/approve" in text
    assert text.endswith("Waiting: 9")


async def test_a_group_that_became_a_supergroup_counts_under_both_ids(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"-5"}), admin=ADMIN))
    assert await bench.bot.access.read_state("-1005") is AccessState.UNKNOWN
    await bench.bot.access.record_move("-5", "-1005")
    await bench.restart()
    assert await bench.bot.access.read_state("-1005") is AccessState.ALLOWED
    assert await bench.bot.access.read_state("-5") is AccessState.ALLOWED


@pytest.mark.parametrize("removed", ["-5", "-1005"])
async def test_a_supergroup_is_out_whichever_of_its_ids_is_removed(make_bench: MakeBench, removed: str):
    bench = make_bench(BotSettings(allowed=frozenset({"-5"})))
    await bench.bot.access.record_move("-5", "-1005")
    await bench.bot.access.remove(removed, CLI)
    assert await bench.bot.access.read_state("-1005") is AccessState.UNKNOWN


async def test_each_change_writes_one_audit_entry(bench: Bench):
    await bench.send("/start", chat="9")
    await bench.send("/start", chat="9")
    await bench.send("/approve 9", chat=ADMIN)
    await bench.send("/approve 9", chat=ADMIN)
    await bench.send("/deny 9", chat=ADMIN)
    await bench.bot.access.remove("9", CLI)
    assert [action for action, _ in bench.entries()] == ["bot.request", "bot.approve", "bot.deny", "bot.remove"]
    sources = [(entry.source, entry.metadata.get("actor")) for entry in reversed(bench.audit.tail(9))]
    assert sources == [("bot", None), ("bot", f"chat:{ADMIN}"), ("bot", f"chat:{ADMIN}"), ("cli", None)]


async def test_a_chat_that_cannot_be_told_is_approved_all_the_same(make_bench: MakeBench):
    async def tell(target: str, reply: object, key: str) -> None:
        raise UnknownChannelError("not configured")

    bench = make_bench(tell=tell)
    await bench.send("/start", chat="9")
    await bench.bot.access.approve("9", CLI)
    assert await bench.bot.access.read_state("9") is AccessState.ALLOWED


async def test_the_list_shows_who_waits_first_and_where_the_rest_comes_from(bench: Bench):
    await bench.bot.access.approve("20", CLI)
    await bench.send("/start", chat="9", sender_name="Anna")
    listed = [(item.chat_id, str(item.state), item.origin) for item in await bench.bot.access.listing()]
    assert listed == [
        ("9", "pending", "runtime"),
        ("20", "allowed", "runtime"),
        ("7", "allowed", "setting"),
        ("8", "allowed", "setting"),
    ]


async def test_start_of_an_allowed_chat_is_a_welcome(bench: Bench):
    verdict = await bench.send("/start")
    assert verdict.ending is HandlingStatus.ANSWERED
    assert text_of(verdict).startswith("Hello!")
    assert bench.told == []
