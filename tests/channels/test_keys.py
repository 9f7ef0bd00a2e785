"""Editing and withdrawing on the products, played by the stand-ins (docs/messages.md, "Keys: edit and withdraw")."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import KeyedMessage, MessageOperation, OutboundAdapter, Outgoing, Receipt
from tocsin.channels.email import EmailAdapter
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.model import MessageThread
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import build_adapter
from tocsin_standins import StandinCluster, open_standins
from tocsin_standins.faults import Fault

KINDS: dict[str, tuple[type[OutboundAdapter], str]] = {
    "teamchat": (TeamchatAdapter, "#ops"),
    "botchat": (BotchatAdapter, "1001"),
    "guildchat": (GuildchatAdapter, "100000000000000002"),
}
EDITING = sorted(KINDS)
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}


@asynccontextmanager
async def opened(kind: str, **env: str) -> AsyncIterator[tuple[StandinCluster, OutboundAdapter]]:
    """Open the stand-ins and the adapter of one of them."""
    async with open_standins() as town:
        http = DirectTransport()
        try:
            yield town, build_adapter(KINDS[kind][0], {**town.environment(), **env}, http=http)
        finally:
            await http.aclose()


def said(kind: str, text: str, **content: Any) -> Outgoing:
    return Outgoing(KINDS[kind][1], text, content={"key": "disk", **content}, keyed=KeyedMessage("disk"))


def change(outgoing: Outgoing, operation: MessageOperation, ref: Mapping[str, str], *, drop: bool = False) -> Outgoing:
    return replace(outgoing, keyed=KeyedMessage("disk", operation, ref, drop_if_gone=drop))


async def good(adapter: OutboundAdapter, outgoing: Outgoing) -> Receipt:
    receipt = await adapter.transmit(outgoing)
    assert receipt.result.ok, receipt.result.error
    return receipt


@pytest.mark.parametrize("kind", EDITING)
async def test_a_message_is_replaced_with_its_buttons_and_then_deleted(kind: str):
    async with opened(kind) as (town, adapter):
        first = await good(adapter, said(kind, "firing", title="web1", type="failure", actions=[RUN_BOOK]))
        edit = change(said(kind, "resolved", title="web1", type="success"), MessageOperation.EDIT, first.ref)
        second = await good(adapter, edit)
        gone = await good(adapter, change(edit, MessageOperation.WITHDRAW, second.ref))
        records = town.recorder.of(kind, kind="")
    assert [record.kind for record in records] == ["message", "edit", "deletion"]
    assert len({record.id for record in records}) == 1
    assert "resolved" in records[1].text
    assert first.ref == second.ref
    assert gone.result.message.startswith("withdrew")


@pytest.mark.parametrize("kind", EDITING)
async def test_an_edit_removes_what_the_new_message_lacks(kind: str):
    async with opened(kind) as (town, adapter):
        first = await good(adapter, said(kind, "firing", title="web1", type="failure", actions=[RUN_BOOK]))
        await good(adapter, change(said(kind, "resolved"), MessageOperation.EDIT, first.ref))
        body: Any = town.recorder.of(kind, kind="")[-1].body
    assert not [
        body[name] for name in ("blocks", "attachments", "embeds", "components", "reply_markup") if body.get(name)
    ]


@pytest.mark.parametrize("kind", EDITING)
async def test_an_edit_of_a_deleted_message_is_sent_anew_or_dropped(kind: str):
    async with opened(kind) as (town, adapter):
        first = await good(adapter, said(kind, "firing"))
        await good(adapter, change(said(kind, "x"), MessageOperation.WITHDRAW, first.ref))
        edit = said(kind, "resolved")
        await good(adapter, change(edit, MessageOperation.EDIT, first.ref, drop=True))
        anew = await good(adapter, change(edit, MessageOperation.EDIT, first.ref))
        kinds = [record.kind for record in town.recorder.of(kind, kind="")]
    assert kinds == ["message", "deletion", "message"]
    assert anew.ref != first.ref


@pytest.mark.parametrize("kind", EDITING)
async def test_withdrawing_a_missing_message_succeeds(kind: str):
    async with opened(kind) as (_, adapter):
        first = await good(adapter, said(kind, "firing"))
        for _ in range(2):
            await good(adapter, change(said(kind, "x"), MessageOperation.WITHDRAW, first.ref))


@pytest.mark.parametrize("kind", ["teamchat", "botchat"])
async def test_a_text_longer_than_an_edit_is_cut_when_it_has_a_key(kind: str):
    async with opened(kind) as (town, adapter):
        await good(adapter, said(kind, "word " * 1_000))
        first = town.recorder.of(kind)[0]
    assert len(first.text) <= 4_000
    assert first.text.endswith("(the whole text is in message.txt)")


async def test_a_message_of_telegram_too_old_to_delete_loses_its_text():
    async with opened("botchat") as (town, adapter):
        first = await good(adapter, said("botchat", "firing"))
        town.botchat.faults.push(
            Fault.error(400, "Bad Request: message can't be deleted for everyone").only("deletemessage")
        )
        gone = await good(adapter, change(said("botchat", "x"), MessageOperation.WITHDRAW, first.ref))
        records = town.recorder.of("botchat", kind="")
    assert "too old" in gone.result.message
    assert (records[-1].kind, "firing" in records[-1].text) == ("edit", False)


async def test_mails_with_one_key_are_a_thread_with_one_subject():
    async with open_standins() as town:
        adapter = build_adapter(EmailAdapter, town.environment(), http=DirectTransport())
        first = await good(adapter, said_by_mail("91 %", title="Disk full"))
        later = KeyedMessage("disk", ref=first.ref, follows=True)
        await good(adapter, replace(said_by_mail("12 %", title="Disk fine"), keyed=later))
        one, two = town.recorder.of("email")
    assert two.headers["In-Reply-To"] == two.headers["References"] == one.headers["Message-ID"]
    assert two.headers["Message-ID"] != one.headers["Message-ID"]
    assert (one.subject, two.subject) == ("Disk full", "Disk full")
    assert two.text.split("\n", 1)[0] == "Disk fine"


def said_by_mail(text: str, **content: Any) -> Outgoing:
    return Outgoing("ops@example.org", text, "d1", content={"key": "disk", **content}, keyed=KeyedMessage("disk"))


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("teamchat", lambda body, ref: body["thread_ts"] == ref["ts"]),
        ("botchat", lambda body, ref: body["reply_parameters"]["message_id"] == int(ref["id"])),
        ("guildchat", lambda body, ref: body["message_reference"]["message_id"] == ref["id"]),
    ],
)
async def test_a_later_message_of_a_thread_is_below_the_first(kind: str, shown: Any):
    async with opened(kind) as (town, adapter):
        first = await good(adapter, Outgoing(KINDS[kind][1], "one", thread=MessageThread("alerts")))
        await good(adapter, Outgoing(KINDS[kind][1], "two", thread=MessageThread("alerts", first.ref)))
        body: Any = town.recorder.of(kind)[-1].body
    assert shown(body, first.ref)


async def test_mails_of_one_thread_have_one_subject_and_refer_to_the_first():
    async with open_standins() as town:
        adapter = build_adapter(EmailAdapter, town.environment(), http=DirectTransport())
        title = {"title": "Backup"}
        first = await good(adapter, Outgoing("ops@example.org", "a", content=title, thread=MessageThread("alerts")))
        later = MessageThread("alerts", first.ref)
        await good(adapter, Outgoing("ops@example.org", "b", content={"title": "Disk"}, thread=later))
        one, two = town.recorder.of("email")
    assert (two.headers["References"], two.subject) == (one.headers["Message-ID"], "Backup")
