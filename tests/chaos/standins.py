"""The stand-ins of the real providers as a process, seen from outside."""

import json
import sys
from typing import Any
from urllib.parse import urlsplit

from tests.chaos.processes import Town, ask


class StandIns:
    """All stand-ins; from now on the town's processes send to them."""

    def __init__(self, town: Town, *, paced: bool = False) -> None:
        command = [sys.executable, "-m", "tocsin_standins", *(["--paced"] if paced else [])]
        ready = json.loads(town.run(command, "standins", pipes=True).first_line())
        town.environment |= ready["environment"]
        self._control: dict[str, str] = ready["control"]

    def script(self, channel: str, fault: dict[str, Any] | None, *, held: bool = False) -> None:
        """Let the next request to a channel meet a fault, or every one until it is lifted by None."""
        place = "page" if channel == "email" else channel
        path = "/_standin/email/faults" if channel == "email" else "/_standin/faults"
        document = {"hold": fault} if held else {"faults": [fault]}
        status, answer = ask(self._port(place), "POST", path, document, {})
        assert status == 201, answer

    def received(self, channel: str) -> list[dict[str, Any]]:
        """Return what the provider of a channel has taken in, repeats that it refused not counted."""
        _, document = ask(self._port("page"), "GET", "/received.json", None, {})
        return [item for item in document["received"] if item["channel"] == channel and item["kind"] == "message"]

    def open_direct_messages(self, token: str, users: list[str]) -> list[str]:
        """Open guildchat channels to users; return their ids."""
        headers = {"Authorization": f"Bot {token}", "User-Agent": "DiscordBot (https://example.org, 1)"}
        path = "/api/v10/users/@me/channels"
        port = self._port("guildchat")
        return [str(ask(port, "POST", path, {"recipient_id": user}, headers)[1]["id"]) for user in users]

    def _port(self, name: str) -> int:
        port = urlsplit(self._control[name]).port
        assert port is not None
        return port
