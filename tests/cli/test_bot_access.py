"""bot access list, approve, deny and remove."""

import asyncio
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions

from tocsin.assembly.stores import DATABASE_FILE
from tocsin.bot.door.access_store import AccessStore
from tocsin.bot.schema import SCHEMAS
from tocsin.bot.storage.sqlite_table import sqlite_tables
from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.model import Delivery, DeliveryStatus, Policy
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore

TOKEN = "123456:abcdefghijklmnopqrstuvwxyzABCDEFGHI"


@pytest.fixture
def bot(cli: Cli) -> Cli:
    """A data directory with one chat in the setting."""
    cli.env |= {"BOTCHAT_BOT_TOKEN": TOKEN, "ALLOWED_CHAT_IDS": "7"}
    return cli


def states(cli: Cli) -> dict[str, str]:
    return {chat["chat_id"]: chat["state"] for chat in cli("bot", "access", "list", "--json").json()}


def test_the_list_shows_the_chats_of_the_setting(bot: Cli):
    (chat,) = bot("bot", "access", "list", "--json").json()
    assert chat == {"chat_id": "7", "state": "allowed", "origin": "setting", "changed_at": None, "details": {}}
    assert bot.process("bot", "access", "list").out.splitlines()[1].split() == ["7", "allowed", "setting"]


def test_a_chat_is_approved_denied_and_removed(bot: Cli):
    assert bot("bot", "access", "approve", "-1001234567890").out == (
        "chat -1001234567890 is now allowed (was unknown)\n"
    )
    assert states(bot) == {"-1001234567890": "allowed", "7": "allowed"}
    assert bot("bot", "access", "deny", "-1001234567890", "--json").json() == {
        "chat_id": "-1001234567890",
        "before": "allowed",
        "state": "denied",
    }
    bot("bot", "access", "remove", "-1001234567890")
    assert states(bot) == {"7": "allowed"}


def test_a_chat_of_the_setting_that_is_removed_is_unknown(bot: Cli):
    assert bot("bot", "access", "remove", "7").out == "chat 7 is now unknown (was allowed)\n"
    assert states(bot) == {"7": "unknown"}


def test_a_change_writes_one_audit_entry(bot: Cli):
    bot("bot", "access", "approve", "9")
    bot("bot", "access", "approve", "9")
    (entry,) = bot.audit_log()
    assert (entry["action"], entry["source"], entry["metadata"]["chat"]) == ("bot.approve", "cli", "9")


def test_a_chat_that_nobody_knows_cannot_be_removed(bot: Cli):
    done = bot("bot", "access", "remove", "9")
    assert done.code == 1
    assert "chat 9" in done.err


@pytest.mark.parametrize("word", ["Anna", "0", "1.5"])
def test_what_is_no_chat_id_is_refused_with_an_example(bot: Cli, word: str):
    done = bot("bot", "access", "approve", word)
    assert done.code == 2
    assert "a chat ID, for example 123456789" in done.err


async def ask(directory: Path, details: dict[str, str] | None = None) -> None:
    """Store what the bot stores when chat 9 sends /start."""
    clock = SystemClock()
    database = Database(directory / DATABASE_FILE, SCHEMAS)
    await AccessStore(sqlite_tables(database, clock)).request("9", details or {"name": "Anna"})
    await database.aclose()


def test_a_chat_that_waits_is_told_of_its_approval(bot: Cli):
    asyncio.run(ask(bot.data_dir))
    (waiting, _) = bot("bot", "access", "list").out.splitlines()[1:]
    assert waiting.split()[:3] == ["9", "pending", "runtime"]
    assert waiting.endswith("name: Anna")
    assert bot("bot", "access", "approve", "9").out == "chat 9 is now allowed (was pending)\n"
    (delivery,) = bot("deliveries", "list", "--json").json()
    assert (delivery["target"], delivery["message"]) == ("9", "Access granted. /help lists the commands.")


def test_a_group_that_waits_is_listed_with_its_title_its_kind_and_who_asked(bot: Cli):
    asyncio.run(ask(bot.data_dir, {"title": "Family", "kind": "group", "name": "Anna", "user": "42"}))
    line = bot("bot", "access", "list").out.splitlines()[1]
    assert line.endswith("title: Family, kind: group, asked by: Anna, user: 42")


async def ask_admin(directory: Path) -> None:
    """Store what there is when the admin chat 900 has got the request of chat 9 as its message 17."""
    clock = SystemClock()
    database = Database(directory / DATABASE_FILE, {**SCHEMAS, "delivery": MIGRATIONS})
    notice = Delivery(
        new_id(), "botchat", "900", "Access requested by chat 9", "bot", DeliveryStatus.SENT, Policy.AT_LEAST_ONCE,
        created_at=clock.now(), provider_id="id=17", finished_at=clock.now(),
    )  # fmt: skip
    await SqliteStore(database, clock).record(notice)
    await AccessStore(sqlite_tables(database, clock)).record_admin_notice("9", notice.id)
    await database.aclose()


def test_the_admins_request_is_closed_in_its_place_when_it_is_decided_here(bot: Cli):
    asyncio.run(ask(bot.data_dir))
    asyncio.run(ask_admin(bot.data_dir))
    bot("bot", "access", "deny", "9")
    queued = [d for d in bot("deliveries", "list", "--json").json() if d["status"] == "queued"]
    (closing,) = [d for d in queued if d["target"] == "900"]
    assert mentions(closing["message"], "9", "Anna", "/approve 9")


def test_without_a_token_a_chat_is_approved_all_the_same(cli: Cli):
    asyncio.run(ask(cli.data_dir))
    assert cli("bot", "access", "approve", "9").code == 0
    assert states(cli) == {"9": "allowed"}
