"""Call a webhook as Slack does: signed events with retries, slash commands, interactions."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from tocsin_standins.calling import DEADLINE_S, Headers, Sleep, WebhookAttempt, call
from tocsin_standins.teamchat.server import APP_ID, BOT_NAME, BOT_USER_ID, TEAM_ID, TeamChat

RETRIES_S = (0.0, 60.0, 300.0)  # immediately, after 1 and after 5 minutes
_TYPES = {"D": "im", "G": "group"}


class TeamchatCaller:
    """Calls one webhook as Slack does; `calls` lists every attempt.

    `family` is the prefix of the header names.
    """

    def __init__(
        self,
        teamchat: TeamChat,
        url: str,
        *,
        family: str = "Slack",
        deadline_s: float = DEADLINE_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.calls: list[WebhookAttempt] = []
        self._teamchat = teamchat
        self._url, self._family = url, family
        self._deadline_s, self._sleep = deadline_s, sleep

    async def check_address(self) -> bool:
        """Verify the address as the app's settings page does: it must return the challenge."""
        challenge = secrets.token_urlsafe(32)
        made = await self.post(json.dumps({"type": "url_verification", "token": "", "challenge": challenge}).encode())
        answer = made[-1].body
        return made[-1].ok and (answer == challenge.encode() or json.loads(answer or b"{}") == {"challenge": challenge})

    async def message(
        self, text: str, channel: str = "C0GENERAL", user: str = "U00ALICE1", **event: Any
    ) -> tuple[str, list[WebhookAttempt]]:
        """Deliver a message of a person; return its timestamp and the attempts.

        A mention of the bot in a channel is delivered as two events with one timestamp.
        """
        raw = escape(text).replace(f"@{BOT_NAME}", f"<@{BOT_USER_ID}>")
        ts = str(event.pop("ts", "")) or self._teamchat.next_ts()
        said = {"type": "message", "user": user, "text": raw, "ts": ts, "channel": channel, "event_ts": ts}
        said |= {"client_msg_id": secrets.token_hex(16), "team": TEAM_ID}
        in_channel = {"channel_type": _TYPES.get(channel[0], "channel")}
        made = await self.event({**said, **in_channel, **event})
        if raw != escape(text) and in_channel["channel_type"] != "im":
            made += await self.event({**said, **event, "type": "app_mention"})
        return ts, made

    async def event(self, event: Mapping[str, Any], *, event_id: str = "") -> list[WebhookAttempt]:
        """Deliver an event, with retries immediately, after one and after five minutes."""
        envelope = {
            "token": "deprecated", "team_id": TEAM_ID, "api_app_id": APP_ID, "type": "event_callback",
            "event_id": event_id or f"Ev{secrets.token_hex(5).upper()}", "event_time": int(self._teamchat.clock()),
            "authorizations": [
                {"enterprise_id": None, "team_id": TEAM_ID, "user_id": BOT_USER_ID, "is_bot": True}
            ],
            "is_ext_shared_channel": False, "event": dict(event),
        }  # fmt: skip
        return await self.post(json.dumps(envelope).encode(), retried=True)

    async def slash(
        self, command: str, text: str = "", channel: str = "C0GENERAL", user: str = "U00ALICE1", **fields: str
    ) -> tuple[str, list[WebhookAttempt]]:
        """Deliver a slash command; return its `response_url` and the attempt."""
        url = self._teamchat.open_response_url()
        form = {
            "token": "deprecated", "team_id": TEAM_ID, "team_domain": "standin", "channel_id": channel,
            "channel_name": "directmessage" if channel[0] == "D" else "general", "user_id": user,
            "user_name": self._teamchat.name_of(user), "command": command, "text": escape(text),
            "api_app_id": APP_ID, "is_enterprise_install": "false", "response_url": url, "trigger_id": _trigger(),
        }  # fmt: skip
        return url, await self.post(urlencode({**form, **fields}).encode(), form=True)

    async def press(
        self, value: str, message_ts: str, channel: str = "C0GENERAL", user: str = "U00ALICE1", **payload: Any
    ) -> tuple[str, list[WebhookAttempt]]:
        """Deliver the press of a button; return its `response_url` and the attempt."""
        url = self._teamchat.open_response_url()
        given = {
            "type": "block_actions", "api_app_id": APP_ID, "token": "deprecated", "trigger_id": _trigger(),
            "user": {"id": user, "username": self._teamchat.name_of(user), "team_id": TEAM_ID},
            "team": {"id": TEAM_ID, "domain": "standin"}, "channel": {"id": channel, "name": "general"},
            "container": {"type": "message", "message_ts": message_ts, "channel_id": channel, "is_ephemeral": False},
            "message": {"type": "message", "user": BOT_USER_ID, "ts": message_ts, "text": "Choose"},
            "actions": [{"action_id": "choice", "block_id": "b", "type": "button", "value": value}],
            "response_url": url,
        }  # fmt: skip
        return url, await self.post(urlencode({"payload": json.dumps({**given, **payload})}).encode(), form=True)

    async def post(self, body: bytes, *, form: bool = False, retried: bool = False) -> list[WebhookAttempt]:
        """Call with any body, signed anew at every attempt."""
        made = await call(
            self._url,
            body,
            self._headers(body, form=form),
            waits_s=RETRIES_S if retried else (),
            deadline_s=self._deadline_s,
            sleep=self._sleep,
        )
        self.calls += made
        return made

    def _headers(self, body: bytes, *, form: bool) -> Headers:
        def headers(attempt: int, failure: str) -> Mapping[str, str]:
            timestamp = str(int(self._teamchat.clock()))
            key = self._teamchat.signing_secret.encode()
            digest = hmac.new(key, b"v0:" + timestamp.encode() + b":" + body, "sha256").hexdigest()
            retry = {"Retry-Num": str(attempt), "Retry-Reason": failure} if attempt else {}
            named = {"Signature": f"v0={digest}", "Request-Timestamp": timestamp, **retry}
            sort = "application/x-www-form-urlencoded" if form else "application/json"
            return {f"X-{self._family}-{name}": value for name, value in named.items()} | {"Content-Type": sort}

        return headers


def escape(text: str) -> str:
    """Escape a person's text as Slack delivers it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _trigger() -> str:
    return f"{secrets.randbelow(10**12)}.{secrets.randbelow(10**11)}.{secrets.token_hex(16)}"
