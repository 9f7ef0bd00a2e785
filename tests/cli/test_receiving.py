"""Every serving process takes in what products report, and works off what is there."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.http_calls import http_call

from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.messaging.inbound.schema import MIGRATIONS
from tocsin.messaging.inbound.sqlite_store import SqliteInbox

SECRET = "a-secret-for-tests-000000"
UPDATE = {
    "update_id": 1,
    "message": {
        "message_id": 5,
        "date": 1_700_000_000,
        "text": "hello",
        "chat": {"id": 7, "type": "private", "first_name": "Ada"},
        "from": {"id": 7, "is_bot": False, "first_name": "Ada"},
    },
}


def report(port: int, secret: str, update: object = UPDATE) -> tuple[int, bytes]:
    answer = http_call(f"http://127.0.0.1:{port}/webhook/botchat", update, X_Telegram_Bot_Api_Secret_Token=secret)
    return answer.status, answer.body


def stored(cli: Cli) -> list[str]:
    """Return the states of the received events."""
    connection = sqlite3.connect(cli.data_dir / "tocsin.db")
    try:
        return [status for (status,) in connection.execute("SELECT status FROM inbox ORDER BY seq")]
    finally:
        connection.close()


def environment(port: int) -> dict[str, str]:
    return {"GATEWAY_PORT": str(port), "BOTCHAT_WEBHOOK_SECRET": SECRET, "REDIS_URL": "off"}


def ended(cli: Cli) -> bool:
    return bool(stored(cli)) and set(stored(cli)) <= {"answered", "ignored"}


@pytest.mark.parametrize("command", ["up", "gateway"])
def test_a_gateway_takes_in_what_is_signed_and_works_it_off(
    wired: Cli, free_port: int, until: Callable[..., Any], command: str
):
    with wired.running(command, env=environment(free_port)) as child:
        wait_until_it_listens(child)
        assert report(free_port, "forged")[0] == 401
        assert [report(free_port, SECRET) for _ in range(2)] == [(200, b"{}")] * 2
        until(lambda: ended(wired))
        assert end(child)[0] == 0
    assert len(stored(wired)) == 1
    actions = [entry["action"] for entry in wired.audit_log()]
    assert [action for action in actions if action.startswith("msg.re")] == ["msg.reject", "msg.receive"]


@pytest.mark.parametrize("command", ["up", "gateway", "worker"])
def test_what_a_process_had_accepted_that_is_dead_another_one_works_off(
    wired: Cli, free_port: int, until: Callable[..., Any], command: str
):
    tell = "from tocsin.core.process.identity import own_identity; print(own_identity())"
    dead = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True).stdout.strip()
    asyncio.run(leave_behind(wired, dead))
    with wired.running(command, env=environment(free_port)) as child:
        until(lambda: ended(wired))
        assert end(child)[0] == 0


async def leave_behind(cli: Cli, owner: str) -> None:
    """Store an event and begin the work on it, as `owner` did."""
    database = Database(cli.data_dir / "tocsin.db", {"inbox": MIGRATIONS})
    store = SqliteInbox(database, SystemClock())
    [ticket] = await store.accept([InboundMessage("botchat", MessageKind.MESSAGE, "1", ("k",), "7", "hello")], owner)
    assert ticket
    await store.claim([ticket.seq], owner)
    await database.aclose()
