"""Stand-in of Discord's REST API v10: messages, DMs, typing, reactions, interaction follow-ups."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.guildchat.answers import (
    SNOWFLAKE,
    UploadedAttachment,
    checked_content,
    invalid,
    read_json_object,
    read_message,
    refusal,
    refuse,
    shown,
    too_many_requests,
)
from tocsin_standins.pacing import SlidingWindow
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, parse_json

TOKEN = "MTAwMDAwMDAwMDAwMDAwMDAw.Gstand.InStandInStandInStandInStandInStandIn"  # noqa: S105  # opens nothing else
APPLICATION_ID, BOT_USER_ID = "200000000000000001", "200000000000000001"
GENERAL, OPS, ANNOUNCEMENTS = "100000000000000001", "100000000000000002", "100000000000000003"
HIDDEN, MUTED, ALICE, BOB = (
    "100000000000000004",
    "100000000000000005",
    "300000000000000001",
    "300000000000000002",
)
CLOSED_DMS = "300000000000000003"

NONCE_LIFE_S = 300.0  # "the past few minutes"
INTERACTION_LIFE_S = 900.0
MANY = 10**9
USER_AGENT = re.compile(r"DiscordBot \(\S+, \S+\)")
EPOCH_MS = 1_420_070_400_000


@dataclass(slots=True)
class Interaction:
    """An interaction after its first answer; `original` is empty while a deferred answer has no text."""

    until: float
    channel_id: str
    original: dict[str, Any]
    follow_ups_left: int


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel; `refusal` is the error code for posts to it, 0 for none."""

    id: str
    name: str = ""
    refusal: int = 0


CHANNELS = (
    Channel(GENERAL, "general"),
    Channel(OPS, "ops"),
    Channel(ANNOUNCEMENTS, "announcements"),
    Channel(HIDDEN, "hidden", 50001),
    Channel(MUTED, "muted", 50013),
)
USERS = {ALICE: "alice", BOB: "bob", CLOSED_DMS: "carol"}


class GuildChat(HttpStandIn):
    """The REST API of one bot; the base URL for adapters is `api_url`.

    `paced` enforces 5 messages in 5 seconds per channel and 50 requests per second in all.
    """

    channel = "guildchat"

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        token: str = TOKEN,
        channels: Iterable[Channel] = CHANNELS,
        paced: bool = False,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.token = token
        self.channels = {channel.id: channel for channel in channels}
        self.users = dict(USERS)
        self.paced = paced
        self.commands: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}  # contents by the ID of their attachment
        self._messages: dict[str, dict[str, dict[str, Any]]] = {}
        self._nonces: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
        self._interactions: dict[str, Interaction] = {}
        self._route = SlidingWindow(5, 5.0)
        self._global = SlidingWindow(50, 1.0)
        self._last_ms = 0

    @property
    def api_url(self) -> str:
        """The value for `GUILDCHAT_API_URL`."""
        return f"{self.url}/api/v10"

    def operation(self, request: web.Request) -> str:
        """Return a name such as `POST messages`, `GET @me` or `PUT reactions`."""
        parts = request.path.split("/")
        last = next((p for p in ("reactions", "@original", "typing", "webhooks") if p in parts), parts[-1])
        return f"{request.method} {last}"

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        v10 = "/api/v10"
        return [
            web.get(v10 + "/users/@me", self._me),
            web.post(v10 + "/users/@me/channels", self._open_dm),
            web.post(v10 + "/channels/{channel}/messages", self._post),
            web.get(v10 + "/channels/{channel}/messages", self._history),
            web.patch(v10 + "/channels/{channel}/messages/{message}", self._edit),
            web.delete(v10 + "/channels/{channel}/messages/{message}", self._delete),
            web.post(v10 + "/channels/{channel}/typing", self._type),
            web.put(v10 + "/channels/{channel}/messages/{message}/reactions/{emoji}/@me", self._react),
            web.post(v10 + "/webhooks/{application}/{token}", self._follow_up),
            web.patch(v10 + "/webhooks/{application}/{token}/messages/@original", self._edit_original),
            web.get(v10 + "/webhooks/{application}/{token}/messages/@original", self._get_original),
            web.delete(v10 + "/webhooks/{application}/{token}/messages/@original", self._delete_original),
            web.put(v10 + "/applications/{application}/commands", self._set_commands),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with a Discord error code, or its 429 with a float `retry_after`."""
        if fault.kind == "rate_limited":
            return too_many_requests(fault.seconds, fault.scope)
        code = int(fault.code) if fault.code.isdigit() else 0
        return refusal(code, fault.text, status=fault.http_status)

    def open_interaction(
        self,
        channel_id: str = GENERAL,
        *,
        token: str = "",
        original: dict[str, Any] | None = None,
        follow_ups: int = MANY,
    ) -> str:
        """Begin an interaction after its first answer; return its token, valid for 15 minutes.

        `original` is the message of a button, or the immediate answer. `follow_ups` is 5 for a user-installed app.
        """
        token = token or secrets.token_urlsafe(48)
        until = self.clock() + INTERACTION_LIFE_S
        self._interactions[token] = Interaction(until, channel_id, original or {}, follow_ups)
        return token

    def put(self, channel_id: str, content: str) -> dict[str, Any]:
        """Add a message of the bot without a call, such as one with buttons; return it."""
        message = self._message(channel_id, content, {})
        self._messages.setdefault(channel_id, {})[message["id"]] = message
        return message

    async def _me(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        extra = {"mfa_enabled": False, "locale": "en-US", "bot": True, "verified": True}
        return web.json_response(self._user(BOT_USER_ID, "tocsin") | extra)

    async def _open_dm(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        recipient = str((await read_json_object(request)).get("recipient_id", ""))
        if not SNOWFLAKE.fullmatch(recipient):
            raise invalid("recipient_id", "NUMBER_TYPE_COERCE", f'Value "{recipient}" is not snowflake.')
        if recipient not in self.users:
            raise refuse(10013)
        channel_id = "4" + recipient[1:]
        self.channels[channel_id] = Channel(channel_id, self.users[recipient], 50007 if recipient == CLOSED_DMS else 0)
        user = self.user(recipient)
        body = {"id": channel_id, "type": 1, "flags": 0, "last_message_id": None, "recipients": [user]}
        return web.json_response(body)

    async def _post(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        args, files = await read_message(request)
        channel = self._channel(request)
        content = checked_content(args, files)
        if earlier := self._same_nonce(channel.id, args):
            self.record(request, channel.id, content, id=earlier["id"], account="tocsin", kind="duplicate", body=args)
            return web.json_response(earlier)
        pace = self._pace(channel.id)
        message = self._accept(request, channel.id, content, args, attachments=self._attach(files))
        return web.json_response(message, headers=pace)

    def attached(self) -> list[bytes]:
        """Return the contents of the files that messages show now."""
        messages = [each for found in self._messages.values() for each in found.values()]
        return [self.files[file["id"]] for each in messages for file in each["attachments"]]

    def _attach(self, files: list[UploadedAttachment]) -> list[dict[str, Any]]:
        found = []
        for file in files:
            file_id = self.snowflake()
            self.files[file_id] = file.data
            found.append({"id": file_id, "filename": file.name, "size": len(file.data), "content_type": file.type})
        return found

    def _accept(
        self, request: web.Request, channel_id: str, content: str, args: Mapping[str, Any], **extra: Any
    ) -> dict[str, Any]:
        message = self._message(channel_id, content, args) | extra
        self._messages.setdefault(channel_id, {})[message["id"]] = message
        if args.get("enforce_nonce") and args.get("nonce") is not None:
            self._nonces[channel_id, str(args["nonce"])] = (self.clock(), message)
        self.record(request, channel_id, shown(content, args), id=message["id"], account="tocsin", body=dict(args))
        return message

    def _message(self, channel_id: str, content: str, args: Mapping[str, Any]) -> dict[str, Any]:
        parse = (args.get("allowed_mentions") or {}).get("parse", ["everyone", "users", "roles"])
        loud = "everyone" in parse and bool(re.search(r"@(everyone|here)\b", content))
        message: dict[str, Any] = {
            "id": self.snowflake(), "channel_id": channel_id, "type": 0, "content": content, "mentions": [],
            "mention_roles": [], "mention_everyone": loud, "attachments": [], "embeds": [], "components": [],
            "timestamp": datetime.fromtimestamp(self.clock(), UTC).isoformat(), "edited_timestamp": None,
            "flags": args.get("flags") or 0, "pinned": False, "tts": False,
            "author": self._user(BOT_USER_ID, "tocsin") | {"bot": True},
        }  # fmt: skip
        if args.get("nonce") is not None:
            message["nonce"] = args["nonce"]
        if args.get("message_reference"):
            message |= {"type": 19, "message_reference": args["message_reference"]}
        return message

    def _same_nonce(self, channel_id: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
        if not args.get("enforce_nonce"):
            return None
        at, message = self._nonces.get((channel_id, str(args.get("nonce"))), (0.0, None))
        return message if message and self.clock() - at < NONCE_LIFE_S else None

    async def _edit(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        message, (args, files) = self._own_message(request), await read_message(request)
        content = checked_content(args, files)
        if "attachments" in args:  # those that are not listed are removed
            message["attachments"] = self._attach(files)
        message |= {"content": content, "edited_timestamp": datetime.fromtimestamp(self.clock(), UTC).isoformat()}
        message |= {name: args[name] for name in ("embeds", "components") if name in args}
        channel_id = message["channel_id"]
        text = shown(content, args)
        self.record(request, channel_id, text, id=message["id"], account="tocsin", kind="edit", body=args)
        return web.json_response(message)

    async def _delete(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        message = self._own_message(request)
        del self._messages[message["channel_id"]][message["id"]]
        self.record(request, message["channel_id"], "", id=message["id"], account="tocsin", kind="deletion")
        return web.Response(status=204)

    def _own_message(self, request: web.Request) -> dict[str, Any]:
        message = self._messages.get(self._channel(request).id, {}).get(request.match_info["message"])
        if message is None:
            raise refuse(10008)
        return message

    async def _history(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        kept = self._messages.get(self._channel(request).id, {})
        after, limit = int(request.query.get("after", "0")), int(request.query.get("limit", "50"))
        # The oldest messages are selected, but returned newest first.
        chosen = [message for key, message in sorted(kept.items()) if int(key) > after]
        return web.json_response((chosen[:limit] if after else chosen[-limit:])[::-1])

    async def _type(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        channel = self._channel(request)
        self.record(request, channel.id, "typing", id="", account="tocsin", kind="action")
        return web.Response(status=204)

    async def _react(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        channel, message_id = self._channel(request), request.match_info["message"]
        if message_id not in self._messages.get(channel.id, {}):
            raise refuse(10008)
        emoji = request.match_info["emoji"]
        self.record(request, channel.id, emoji, id=message_id, account="tocsin", kind="reaction")
        return web.Response(status=204)

    async def _follow_up(self, request: web.Request) -> web.Response:
        interaction = self._interaction(request)
        args = await read_json_object(request)
        content = checked_content(args)
        if not interaction.follow_ups_left:
            raise refuse(40094)
        interaction.follow_ups_left -= 1
        message = self._accept(request, interaction.channel_id, content, args, webhook_id=APPLICATION_ID)
        return web.json_response(message)

    async def _edit_original(self, request: web.Request) -> web.Response:
        interaction = self._interaction(request)
        args = await read_json_object(request)
        content, channel_id = checked_content(args), interaction.channel_id
        if original := interaction.original:
            original |= {"content": content, "edited_timestamp": datetime.now(UTC).isoformat()}
            self.record(request, channel_id, content, id=original["id"], account="tocsin", kind="edit", body=args)
        else:
            interaction.original = self._accept(request, channel_id, content, args, webhook_id=APPLICATION_ID)
        return web.json_response(interaction.original)

    async def _get_original(self, request: web.Request) -> web.Response:
        interaction = self._interaction(request)
        if not interaction.original:
            raise refuse(10008)
        return web.json_response(interaction.original)

    async def _delete_original(self, request: web.Request) -> web.Response:
        interaction = self._interaction(request)
        original_id = interaction.original.get("id", "")
        self._messages.get(interaction.channel_id, {}).pop(original_id, None)
        interaction.original = {}
        self.record(request, interaction.channel_id, "", id=original_id, account="tocsin", kind="deletion")
        return web.Response(status=204)

    async def _set_commands(self, request: web.Request) -> web.Response:
        self._check_bot(request)
        commands = parse_json(await request.read())
        for number, command in enumerate(commands):
            name = str(command.get("name", ""))
            if not re.fullmatch(r"[-_'\w]{1,32}", name) or name != name.lower():
                raise invalid(f"{number}.name", "STRING_TYPE_REGEX", "String value did not match validation regex.")
            if not 1 <= len(str(command.get("description", ""))) <= 100:
                raise invalid(f"{number}.description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
        self.commands = [{**command, "id": self.snowflake(), "type": 1} for command in commands]
        return web.json_response(self.commands)

    def _check_bot(self, request: web.Request) -> None:
        if not USER_AGENT.match(request.headers.get("User-Agent", "")):
            raise refuse(40333)
        given = request.headers.get("Authorization", "").encode()
        if not secrets.compare_digest(given, f"Bot {self.token}".encode()):
            raise refuse(0)
        if self.paced and (wait_s := self._global.take("", self.clock())):
            raise RefusalError(too_many_requests(wait_s, "global"))

    def _channel(self, request: web.Request) -> Channel:
        channel_id = request.match_info["channel"]
        if not SNOWFLAKE.fullmatch(channel_id):
            raise invalid("channel_id", "NUMBER_TYPE_COERCE", f'Value "{channel_id}" is not snowflake.')
        if channel_id not in self.channels:
            raise refuse(10003)
        if code := self.channels[channel_id].refusal:
            raise refuse(code)
        return self.channels[channel_id]

    def _interaction(self, request: web.Request) -> Interaction:
        if not USER_AGENT.match(request.headers.get("User-Agent", "")):
            raise refuse(40333)
        interaction = self._interactions.get(request.match_info["token"])
        # An interaction's token is unknown until its first answer.
        if request.match_info["application"] != APPLICATION_ID or interaction is None:
            raise refuse(10015)
        if self.clock() > interaction.until:
            raise refuse(50027)
        return interaction

    def _pace(self, channel_id: str) -> dict[str, str]:
        """Return the bucket's headers; refuse if `paced` and the bucket is empty."""
        now, remaining, reset_after = self.clock(), 4, 1.0
        if self.paced:
            if wait_s := self._route.take(channel_id, now):
                raise RefusalError(too_many_requests(wait_s, "user"))
            remaining = self._route.remaining(channel_id, now)
            reset_after = self._route.reset_after(channel_id, now)
        return {
            "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": f"{now + reset_after:.3f}", "X-RateLimit-Reset-After": f"{reset_after:.3f}",
            "X-RateLimit-Bucket": "80c17d2f203122d936070c88c8d10f33",
        }  # fmt: skip

    def user(self, user_id: str) -> dict[str, Any]:
        return self._user(user_id, self.users[user_id])

    def _user(self, user_id: str, name: str) -> dict[str, Any]:
        return {
            "id": user_id, "username": name, "avatar": None, "discriminator": "0", "public_flags": 0,
            "flags": 0, "global_name": name.title(), "primary_guild": None,
        }  # fmt: skip

    def snowflake(self) -> str:
        """Return the next ID."""
        self._last_ms = max(self._last_ms + 1, int(self.clock() * 1000) - EPOCH_MS)
        return str(self._last_ms << 22)
