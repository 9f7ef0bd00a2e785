"""Call an endpoint as Discord does: interactions and events, signed with Ed25519."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tocsin_standins.calling import DEADLINE_S, Headers, Sleep, WebhookAttempt, call
from tocsin_standins.guildchat.server import ALICE, APPLICATION_ID, GENERAL, MANY, GuildChat

SEED = bytes(range(32))  # of a key used only here
PUBLIC_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
EVENT_RETRIES_S = (1.0, 5.0, 30.0, 120.0, 444.0)  # up to ten minutes
GUILD_ID = "500000000000000001"

Document = dict[str, Any]


class GuildchatCaller:
    """Calls one endpoint as Discord does; `calls` lists every attempt.

    An interaction's token is valid from its first answer on. `follow_ups` is how many messages it may post.
    """

    def __init__(
        self,
        guildchat: GuildChat,
        url: str,
        *,
        seed: bytes = SEED,
        follow_ups: int = MANY,
        deadline_s: float = DEADLINE_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        from nacl.signing import SigningKey

        self.calls: list[WebhookAttempt] = []
        self._guildchat, self._url = guildchat, url
        self._key = SigningKey(seed)
        self._follow_ups, self._deadline_s, self._sleep = follow_ups, deadline_s, sleep

    async def check_address(self) -> bool:
        """Verify the endpoint as the developer portal does: one PING, and one with a wrong signature."""
        ping = json.dumps(self._interaction(1, {}, GENERAL, ALICE)).encode()
        good, forged = await self.post(ping), await self.post(ping, forged=True)
        return good[-1].ok and json.loads(good[-1].body) == {"type": 1} and forged[-1].status == 401

    async def check_event_address(self) -> bool:
        """Verify the address of events: the same two PINGs; the good one expects an empty 204."""
        ping = json.dumps({"version": 1, "application_id": APPLICATION_ID, "type": 0}).encode()
        good, forged = await self.post(ping), await self.post(ping, forged=True)
        return (good[-1].status, good[-1].body, forged[-1].status) == (204, b"", 401)

    async def slash(
        self, name: str, channel: str = GENERAL, user: str = ALICE, **options: str | int | float | bool
    ) -> tuple[str, WebhookAttempt]:
        """Deliver a command with these options; return the interaction's token and the attempt."""
        sorts = {bool: 5, int: 4, float: 10, str: 3}
        given = [{"name": key, "type": sorts[type(value)], "value": value} for key, value in options.items()]
        data = {"id": "600000000000000001", "name": name, "type": 1, "options": given}
        return await self.interact(2, data, channel, user)

    async def press(self, custom_id: str, message: Document, user: str = ALICE) -> tuple[str, WebhookAttempt]:
        """Deliver the press of a button of `message`; return the interaction's token and the attempt."""
        data = {"custom_id": custom_id, "component_type": 2, "id": 1}
        return await self.interact(3, data, message["channel_id"], user, message=message)

    async def interact(
        self, sort: int, data: Document, channel: str = GENERAL, user: str = ALICE, **fields: Any
    ) -> tuple[str, WebhookAttempt]:
        """Deliver an interaction of any type, once, and apply the answer."""
        document = self._interaction(sort, data, channel, user) | fields
        [made] = await self.post(json.dumps(document).encode())
        self._take_answer(document, made)
        return document["token"], made

    async def event(self, sort: str, data: Document) -> list[WebhookAttempt]:
        """Deliver an event, with retries over ten minutes."""
        at = datetime.fromtimestamp(self._guildchat.clock(), UTC).isoformat()
        document = {"version": 1, "application_id": APPLICATION_ID, "type": 1}
        document["event"] = {"type": sort, "timestamp": at, "data": data}
        return await self.post(json.dumps(document).encode(), retried=True)

    async def post(self, body: bytes, *, forged: bool = False, retried: bool = False) -> list[WebhookAttempt]:
        """Call with any body, signed anew at every attempt, or with a wrong signature."""
        made = await call(
            self._url,
            body,
            self._headers(body, forged=forged),
            waits_s=EVENT_RETRIES_S if retried else (),
            deadline_s=self._deadline_s,
            sleep=self._sleep,
        )
        self.calls += made
        return made

    def _interaction(self, sort: int, data: Document, channel: str, user: str) -> Document:
        person = self._guildchat.user(user)
        return {
            "id": self._guildchat.snowflake(), "application_id": APPLICATION_ID, "type": sort, "version": 1,
            "token": secrets.token_urlsafe(96), "guild_id": GUILD_ID, "channel_id": channel, "context": 0,
            "channel": {"id": channel, "type": 0, "guild_id": GUILD_ID}, "locale": "en-US", "entitlements": [],
            "member": {"user": person, "nick": None, "roles": [], "permissions": "0"}, "data": data,
        }  # fmt: skip

    def _take_answer(self, document: Document, made: WebhookAttempt) -> None:
        """Activate the token as the first answer says: deferred, a message, or the button's own message."""
        answer = json.loads(made.body) if made.ok and made.body else {}
        channel_id, original = document["channel_id"], {}
        match answer.get("type"):
            case 4:
                original = self._guildchat.put(channel_id, answer.get("data", {}).get("content", ""))
            case 6:
                original = document.get("message", {})
            case 5:
                pass
            case _:
                return
        self._guildchat.open_interaction(
            channel_id, token=document["token"], original=original, follow_ups=self._follow_ups
        )

    def _headers(self, body: bytes, *, forged: bool) -> Headers:
        def headers(attempt: int, failure: str) -> Mapping[str, str]:
            timestamp = str(int(self._guildchat.clock()))
            signature = self._key.sign(timestamp.encode() + body).signature
            if forged:
                signature = signature[:-1] + bytes([signature[-1] ^ 1])
            return {
                "X-Signature-Ed25519": signature.hex(), "X-Signature-Timestamp": timestamp,
                "Content-Type": "application/json", "User-Agent": "Discord-Interactions/1.0 (+https://discord.com)",
            }  # fmt: skip

        return headers
