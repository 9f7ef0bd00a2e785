"""One `tocsin up` as people run it, with products around it that are stand-ins."""

import asyncio
import json
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.e2e.test_demo import environment
from tests.http_calls import http_call, is_answered
from tests.ports import free_port
from tests.quick_start import TOCSIN, starter
from tests.town_thread import town_on_a_thread
from tests.waiting import PATIENCE_S, until

from tocsin_standins import StandinCluster
from tocsin_standins.guildchat import calls as guildchat_calls
from tocsin_standins.teamchat import calls as teamchat_calls

T = TypeVar("T")

WEBHOOK_SECRET = "a-secret-for-tests-000000"
TRIGGERS = r"""
- pattern: '^/?uptime (\w+)'
  command: 'echo "up $1"'
- pattern: '^cheer (\w+)'
  action: skill
  command: hello $1
- pattern: '^hold (\w+)'
  command: 'until [ -e "$HOME/gate" ]; do sleep 0.05; done; echo "done $1"'
"""
SKILL = """
name: hello
description: Say hello to whoever is named.
command: 'echo "hello ${1:-everybody}"; cat'
"""


class Station:
    """The running service, and what people do to it from outside."""

    def __init__(
        self, town: StandinCluster, home: Path, *, allowed: str, admin: str, triggers: str, **env: str
    ) -> None:
        self.town, self.home, self.data_dir = town, home, home / "data"
        self.port = free_port()
        self.env = environment(
            home,
            **town.environment(),
            TOCSIN_DATA_DIR=str(self.data_dir),
            GATEWAY_PORT=str(self.port),
            REDIS_URL="off",
            ALLOWED_CHAT_IDS=allowed,
            BOTCHAT_ADMIN_CHAT_ID=admin,
            BOTCHAT_WEBHOOK_SECRET=WEBHOOK_SECRET,
            **env,
        )
        self.log = home / "log"
        self._child: subprocess.Popen[bytes] | None = None
        (self.data_dir / "skills" / "hello").mkdir(parents=True)
        (self.data_dir / "triggers.yaml").write_text(triggers)
        (self.data_dir / "skills" / "hello" / "skill.yaml").write_text(SKILL)

    def start(self) -> None:
        """Start it; returns when it is healthy."""
        with self.log.open("ab") as log:
            self._child = starter(self.env)(
                [TOCSIN, "up"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env, cwd=self.home
            )
        until(self._is_healthy, "healthy")

    def ask_to_end(self) -> None:
        """Do what an init system does first."""
        assert self._child
        self._child.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ask it to end; it must end well."""
        self.ask_to_end()
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Return when it has ended, which must be well."""
        assert self._child
        assert self._child.wait(PATIENCE_S) == 0, self.log.read_text()

    def open_gate(self) -> None:
        """Let what the triggers hold go on."""
        (self.home / "gate").touch()

    def kill(self) -> None:
        """End whatever is left."""
        if self._child:
            self._child.kill()
            self._child.wait(PATIENCE_S)

    def _is_healthy(self) -> bool:
        assert self._child
        assert self._child.poll() is None, self.log.read_text()
        return is_answered(f"{self.url}/health")

    @property
    def url(self) -> str:
        """Where the gateway listens."""
        return f"http://127.0.0.1:{self.port}"

    def call(self, channel: str, body: bytes, **headers: str) -> int:
        """Call a webhook with any body; return the status."""
        named = {"Content-Type": "application/json", **headers}
        return http_call(f"{self.url}/webhook/{channel}", body=body, **named).status

    def stored(self) -> list[str]:
        """Return the states of all received events, in their order."""
        return self._column("SELECT status FROM inbox ORDER BY seq")

    def last_cause(self) -> str:
        """Return why the latest run ran."""
        return self._column("SELECT triggered_by FROM runs ORDER BY id DESC LIMIT 1")[0]

    def wait_until_quiet(self) -> None:
        """Return when all that was received is worked off, and all that came of it is sent."""
        updates = self.town.botchat.updates
        until(lambda: not updates.queue, "all updates are fetched")
        until(lambda: not self._column("SELECT id FROM inbox WHERE finished_at IS NULL"), "all is worked off")
        until(lambda: not self._column("SELECT id FROM deliveries WHERE finished_at IS NULL"), "all is sent")

    def _column(self, sql: str) -> list[str]:
        with closing(sqlite3.connect(self.data_dir / "tocsin.db", timeout=PATIENCE_S)) as connection:
            return [value for (value,) in connection.execute(sql)]

    def audited(self, action: str) -> list[dict[str, Any]]:
        """Return the audit entries of one action, the oldest first."""
        log = self.data_dir / "audit.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [entry for line in lines if (entry := json.loads(line))["action"] == action]

    # --- the workplace chat

    def teamchat(self, act: Callable[[teamchat_calls.TeamchatCaller], Coroutine[Any, Any, T]]) -> T:
        """Let the product call the webhook."""
        return asyncio.run(act(teamchat_calls.TeamchatCaller(self.town.teamchat, f"{self.url}/webhook/teamchat")))

    # --- the community chat

    def guildchat(self, act: Callable[[guildchat_calls.GuildchatCaller], Coroutine[Any, Any, T]]) -> T:
        """Let the product call the webhook."""
        return asyncio.run(act(guildchat_calls.GuildchatCaller(self.town.guildchat, f"{self.url}/webhook/guildchat")))

    # --- the chat with the bot

    def say(self, chat: int, text: str = "", **fields: Any) -> dict[str, Any]:
        """Let a person write to the bot; return the update."""
        return self._control("say", chat_id=chat, text=text, **fields)

    def press(self, message: dict[str, Any], label: str) -> dict[str, Any]:
        """Let a person press the button of a message that goes by `label`."""
        buttons = [button for row in message["reply_markup"]["inline_keyboard"] for button in row]
        (data,) = [button["callback_data"] for button in buttons if button["text"] == label]
        return self._control("press", chat_id=message["chat"]["id"], message_id=message["message_id"], data=data)

    def shown(self, chat: int) -> list[dict[str, Any]]:
        """Return what the bot has written in a chat, as people see it now, edits included."""
        messages = list(self.town.botchat.world.messages.values())
        return [m for m in messages if m["chat"]["id"] == chat and m["from"]["is_bot"]]

    def wait_for(self, chat: int, words: str) -> dict[str, Any]:
        """Return the message of the bot that has these words, once it is there."""
        return (
            until(
                lambda: next((message for message in self.shown(chat) if words in message["text"]), None),
                f"{words!r} in {chat}",
            )
            or {}
        )

    def _control(self, what: str, **arguments: Any) -> dict[str, Any]:
        # The stand-in belongs to another thread: it is told over the network, like by anybody else.
        return dict(http_call(f"{self.town.botchat.url}/_standin/{what}", arguments).accepted().json())


@contextmanager
def open_station(home: Path, *, allowed: str, admin: str, triggers: str = TRIGGERS, **env: str) -> Iterator[Station]:
    """Run the products and the service; at the end it must stop well and have had no bug."""
    with town_on_a_thread() as town:
        station = Station(town, home, allowed=allowed, admin=admin, triggers=triggers, **env)
        try:
            station.start()
            yield station
            station.stop()
        finally:
            station.kill()
    log = [json.loads(line) for line in station.log.read_text().splitlines()]
    assert [line for line in log if line["level"] in {"error", "critical"}] == []
