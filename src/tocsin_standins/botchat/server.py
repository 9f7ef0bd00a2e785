"""Stand-in of the Telegram Bot API: `/bot{token}/{method}` and `/file/bot{token}/{path}`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from aiohttp import web

from tocsin_standins.botchat import methods, uploads
from tocsin_standins.botchat.files import FOLDERS, build_fields, choose_kind, file_label
from tocsin_standins.botchat.updates import Updates
from tocsin_standins.botchat.world import CHATS, ME, Chat, World, refusal, refuse, too_many_requests
from tocsin_standins.faults import Fault
from tocsin_standins.pacing import Bucket, SlidingWindow
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError

TOKEN = "7000000001:AAStandInStandInStandInStandInStandIn"  # noqa: S105  # opens nothing but this stand-in

Method = Callable[["BotChat", web.Request, dict[str, Any]], Awaitable[Any] | Any]


class BotChat(HttpStandIn):
    """The Bot API of one bot.

    `paced` enforces 30 messages per second, 1 per second per chat apart from short bursts, and 20 per minute per group.
    `utf16_limit` measures the limit of 4,096 in UTF-16 units. `insecure_webhooks` allows http URLs, as a
    self-hosted Bot API server does.
    """

    channel = "botchat"
    strict_entities = False  # refuse entities that the product would repair

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        token: str = TOKEN,
        chats: Iterable[Chat] = CHATS,
        open_world: bool = True,
        paced: bool = False,
        utf16_limit: bool = False,
        insecure_webhooks: bool = True,
        webhook_retry_s: float = 1.0,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.token = token
        self.world = World({chat.id: chat for chat in chats}, open_world)
        self.sent_files: dict[str, dict[str, Any]] = {}  # fields of messages by the ID of their file
        self.updates = Updates(retry_s=webhook_retry_s, clock=self.clock)
        self.commands: list[dict[str, str]] = []
        self.paced, self.utf16_limit, self.insecure_webhooks = paced, utf16_limit, insecure_webhooks
        self._paces: dict[str, SlidingWindow | Bucket] = {
            "bot": SlidingWindow(30, 1.0),
            "chat": Bucket(1.0),
            "group": SlidingWindow(20, 60.0),
        }

    @property
    def api_url(self) -> str:
        """The value for `BOTCHAT_API_URL`."""
        return self.url

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Serve the methods, the files and `POST /_standin/say`."""
        return [
            web.route("*", "/bot{token}/{method}", self._call),
            web.get("/file/bot{token}/{path:.+}", self._download),
            web.post("/_standin/say", self._say),
            web.post("/_standin/press", self._press),
        ]

    async def start(self) -> None:
        """Listen, and deliver to the webhook if one is set."""
        await super().start()
        deliveries = asyncio.create_task(self.updates.deliver(self.pause, self._closing), name="webhook")

        async def join() -> None:
            self.updates.end()
            await deliveries

        self._stack.push_async_callback(join)

    def refusal(self, fault: Fault) -> web.Response:
        """Return a refusal in the Bot API's form; `code` is a description, or a number with `text` as description."""
        if fault.kind == "rate_limited":
            return too_many_requests(fault.seconds)
        if fault.code.isdigit():
            return refusal(fault.text or "Bad Request", int(fault.code))
        return refusal(fault.code or "Bad Request", fault.http_status)

    def check_pace(self, chat: Chat) -> None:
        """Raise a 429 for a message that exceeds a rate limit, if `paced`."""
        if not self.paced:
            return
        group = chat.id if chat.id < 0 else None
        for name, key in (("bot", 0), ("chat", chat.id), ("group", group)):
            if key is not None and (wait_s := self._paces[name].take(key, self.clock())):
                raise RefusalError(too_many_requests(wait_s))

    def say(
        self,
        chat_id: int,
        text: str = "",
        *,
        sender_id: int = 0,
        sender_name: str = "Alice",
        is_bot: bool = False,
        thread_id: int = 0,
        reply_to: int = 0,
        edit_of: int = 0,
        **fields: Any,
    ) -> dict[str, Any]:
        """Queue a message from a person to the bot; return the update.

        `fields` are added to the message (`photo=[…]`, `voice={…}`). `edit_of` is the ID of the edited message.
        `sender_id` defaults to the chat's ID in private chats, else to 1001.
        """
        chat = self.world.chats.get(chat_id) or self.world.visitor(chat_id)
        sender = methods.build_sender(chat, sender_id, sender_name, is_bot=is_bot)
        fields |= {"text": text, "entities": fields.get("entities") or methods.detected(text)}
        label, caption = file_label(fields), str(fields.get("caption") or "")
        target, thread = str(chat_id), str(thread_id or "")
        self.recorder.add(
            self.channel,
            target,
            text or " ".join(part for part in (label and f"[{label}]", caption) if part),
            id="",
            kind="inbound",
            account=sender_name,
            thread=thread,
            body=dict(fields),
        )
        if thread_id:
            fields |= {"message_thread_id": thread_id, "is_topic_message": True}
        if reply_to:
            fields["reply_to_message"] = self.world.messages.get((chat.id, reply_to))
        if not edit_of:
            return self.updates.add(message=self.world.add_message(chat, sender, self.clock(), **fields))
        message = self.world.messages.get((chat.id, edit_of), {"message_id": edit_of, "chat": chat.as_json()})
        message |= {**fields, "from": sender, "edit_date": int(self.clock())}
        return self.updates.add(edited_message=message)

    def send_file(
        self,
        chat_id: int,
        data: bytes,
        *,
        name: str = "",
        mime: str = "",
        caption: str = "",
        sender_name: str = "Alice",
    ) -> dict[str, Any]:
        """Queue a file from a person, as an app sends it: photo, voice message, audio or document."""
        if not data:
            raise ValueError("the file is empty")
        kind, mime = choose_kind(name, mime)
        path = f"{FOLDERS[kind]}/file_{len(self.world.files) + 1}{Path(name).suffix}"
        file_id = self.add_file(data, path=path)
        fields = build_fields(kind, file_id, name, mime, len(data))
        entities = methods.detected(caption)
        return self.say(chat_id, sender_name=sender_name, caption=caption, caption_entities=entities, **fields)

    def press(
        self, chat_id: int, message_id: int, data: str, *, sender_id: int = 0, sender_name: str = "Alice"
    ) -> dict[str, Any]:
        """Queue the press of an inline button; return the update, without the message if that is unknown."""
        chat = self.world.chats.get(chat_id) or self.world.visitor(chat_id)
        callback_id = str(secrets.randbelow(10**18))
        self.world.callbacks.add(callback_id)
        query: dict[str, Any] = {
            "id": callback_id,
            "from": methods.build_sender(chat, sender_id, sender_name, is_bot=False),
            "chat_instance": str(chat_id),
            "data": data,
        }
        if message := self.world.messages.get((chat_id, message_id)):
            query["message"] = message
        return self.updates.add(callback_query=query)

    def add_file(self, data: bytes, *, path: str = "documents/file_1.bin", size: int = 0) -> str:
        """Offer a file for download and return its ID; `size` overrides the reported length."""
        file_id = f"file-{secrets.token_urlsafe(12)}"
        self.world.files[file_id] = (path, data, size or len(data))
        return file_id

    def _check_token(self, request: web.Request) -> None:
        given = request.match_info["token"].encode()
        if not secrets.compare_digest(given, self.token.encode()):
            raise refuse("Unauthorized")

    async def _call(self, request: web.Request) -> web.Response:
        self._check_token(request)
        method = METHODS.get(request.match_info["method"].casefold())
        if method is None:
            raise refuse("Not Found")
        result = method(self, request, await methods.arguments(request))
        if isinstance(result, Awaitable):
            result = await result
        return web.json_response({"ok": True, "result": result})

    async def _download(self, request: web.Request) -> web.Response:
        self._check_token(request)
        path = request.match_info["path"]
        for known, data, size in self.world.files.values():
            if known == path and size <= methods.MAX_DOWNLOAD_BYTES:
                return web.Response(body=data, content_type="application/octet-stream")
        raise refuse("Not Found")

    async def _say(self, request: web.Request) -> web.Response:
        return await methods.control(request, self.say)

    async def _press(self, request: web.Request) -> web.Response:
        return await methods.control(request, self.press)


METHODS: dict[str, Method] = {
    "getme": lambda *_: {
        **ME, "can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False,
    },
    "sendmessage": methods.send_message,
    "sendphoto": uploads.send_photo,
    "senddocument": uploads.send_document,
    "sendmediagroup": uploads.send_media_group,
    "editmessagetext": methods.edit_message_text,
    "deletemessage": methods.delete_message,
    "editmessagereplymarkup": methods.edit_message_reply_markup,
    "sendchataction": methods.send_chat_action,
    "setmessagereaction": methods.set_message_reaction,
    "answercallbackquery": methods.answer_callback_query,
    "setmycommands": methods.set_my_commands,
    "getmycommands": lambda bot, *_: bot.commands,
    "getupdates": methods.get_updates,
    "setwebhook": methods.set_webhook,
    "deletewebhook": methods.delete_webhook,
    "getwebhookinfo": lambda bot, *_: bot.updates.webhook_info(),
    "getfile": methods.get_file,
}  # fmt: skip
