"""The Bot API methods that the stand-in implements, one function each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tocsin_standins.botchat.markup import Entity, units
from tocsin_standins.botchat.world import (
    BOT_USERNAME,
    MAX_TEXT,
    ME,
    Chat,
    check_keyboard,
    decoded,
    formatted,
    integer,
    refuse,
)
from tocsin_standins.serving import parse_json

if TYPE_CHECKING:
    from tocsin_standins.botchat.server import BotChat

Arguments = dict[str, Any]

GENERAL_TOPIC = 1
MAX_ANSWER = 200  # answerCallbackQuery: text
MAX_COMMANDS = 100
MAX_DOWNLOAD_BYTES = 20 * 2**20  # getFile on the cloud server
ACTIONS = frozenset(
    (
        "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
        "upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note",
    )
)  # fmt: skip
REACTIONS = frozenset(
    "❤👍👎🔥🥰👏😁🤔🤯😱🤬😢🎉🤩🤮💩🙏👌🕊🤡🥱🥴😍🐳🌚🌭💯🤣⚡🍌🏆💔🤨😐🍓🍾💋🖕😈😴😭🤓👻👀"
    "🎃🙈😇😨🤝✍🤗🫡🎅🎄☃💅🤪🗿🆒💘🙉🦄😘💊🙊😎👾🤷😡"
) | {"❤‍🔥", "👨‍💻", "🤷‍♂", "🤷‍♀"}
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the "
    "same as a current content and reply markup of the message"
)

DELETABLE_S = 48 * 3600.0  # deleteMessage


async def arguments(request: web.Request) -> Arguments:
    """Read the parameters from query, form or JSON."""
    found: Arguments = dict(request.query)
    if not request.body_exists:
        return found
    if request.content_type == "application/json":
        try:
            body = parse_json(await request.read())
        except ValueError:
            raise refuse("Bad Request: can't parse JSON object") from None
        if not isinstance(body, dict):
            raise refuse("Bad Request: object expected")
        return found | body
    return found | dict(await request.post())


async def control(request: web.Request, act: Callable[..., dict[str, Any]]) -> web.Response:
    """Call `act` with the request's JSON object as keywords; 400 with the reason if they do not fit."""
    try:
        made = act(**await request.json())
    except (ValueError, TypeError) as error:
        return web.json_response({"error": str(error)}, status=400)
    return web.json_response(made, status=201)


def build_sender(chat: Chat, sender_id: int, name: str, *, is_bot: bool) -> dict[str, Any]:
    """Return the Bot API's User of the person who writes in the chat."""
    default = chat.id if chat.type == "private" else 1001
    username = re.sub(r"\W", "", name).lower()
    return {"id": sender_id or default, "is_bot": is_bot, "first_name": name, "username": username}


def detected(text: str) -> list[Entity]:
    """Return the entities that the server adds itself: commands, mentions, links."""
    patterns = {
        "bot_command": r"(?<![\w/<>])/[A-Za-z0-9_]{1,32}(?:@\w+)?(?![\w/<>])",
        "mention": r"(?<!\w)@[A-Za-z]\w{3,31}",
        "url": r"https?://\S+",
    }
    found = [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}
        for kind, pattern in patterns.items()
        for match in re.finditer(pattern, text)
    ]
    return sorted(found, key=lambda entity: entity["offset"])


def send_message(bot: BotChat, request: web.Request, args: Arguments) -> dict[str, Any]:
    """Validate and store a message."""
    text, entities = formatted(args, max_chars=MAX_TEXT, utf16=bot.utf16_limit, strict=bot.strict_entities)
    chat = bot.world.chat(args.get("chat_id"))
    thread = thread_of(chat, args)
    original = replied(bot, chat, args)
    keyboard = check_keyboard(args.get("reply_markup"))
    bot.check_pace(chat)
    parts: dict[str, Any] = {"text": text, "entities": entities, "reply_markup": keyboard}
    if thread:
        parts |= {"message_thread_id": thread, "is_topic_message": True}
    if original:
        parts["reply_to_message"] = {k: v for k, v in original.items() if k != "reply_to_message"}
    message = bot.world.add_message(chat, ME, bot.clock(), **parts)
    record(bot, request, args, message)
    return message


def record(bot: BotChat, request: web.Request, args: Arguments, message: Mapping[str, Any], **fields: Any) -> None:
    """Record a call with the message that it made or changed."""
    thread = str(message.get("message_thread_id", ""))
    fields.setdefault("text", message.get("text", ""))
    fields.setdefault("id", str(message["message_id"]))
    bot.record(request, str(message["chat"]["id"]), account=BOT_USERNAME, thread=thread, body=dict(args), **fields)


def thread_of(chat: Chat, args: Arguments) -> int:
    """Return the forum topic of a call; 0 if it names none."""
    thread = integer(args.get("message_thread_id"))
    if thread is None or thread == 0:
        return 0
    # The General topic is addressed without a thread ID; 1 is refused.
    if thread == GENERAL_TOPIC or thread not in chat.topics:
        raise refuse("Bad Request: message thread not found")
    return thread


def replied(bot: BotChat, chat: Chat, args: Arguments) -> dict[str, Any] | None:
    """Return the message that a call replies to."""
    wanted = decoded(args.get("reply_parameters"), "reply parameters") or {}
    if "reply_to_message_id" in args:
        wanted = {"message_id": args["reply_to_message_id"], **args}
    message_id = integer(wanted.get("message_id"))
    if message_id is None:
        return None
    message = bot.world.messages.get((chat.id, message_id))
    if message is None and wanted.get("allow_sending_without_reply") not in (True, "true", "True"):
        raise refuse("Bad Request: message to be replied not found")
    return message


def _own_message(bot: BotChat, args: Arguments, missing: str) -> dict[str, Any]:
    chat = bot.world.chat(args.get("chat_id"))
    message = bot.world.messages.get((chat.id, integer(args.get("message_id")) or 0))
    if message is None:
        raise refuse(f"Bad Request: {missing}")
    return message


def edit_message_text(bot: BotChat, request: web.Request, args: Arguments) -> dict[str, Any]:
    """Replace text and keyboard of one of the bot's messages."""
    text, entities = formatted(args, max_chars=MAX_TEXT, utf16=bot.utf16_limit, strict=bot.strict_entities)
    keyboard = check_keyboard(args.get("reply_markup"))
    message = _own_message(bot, args, "message to edit not found")
    if message["from"]["id"] != ME["id"]:
        raise refuse("Bad Request: message can't be edited")
    if (text, entities, keyboard) == (
        message["text"],
        message.get("entities", []),
        message.get("reply_markup"),
    ):
        raise refuse(NOT_MODIFIED)
    message |= {"text": text, "entities": entities, "edit_date": int(bot.clock())}
    message.pop("reply_markup", None)
    if keyboard:
        message["reply_markup"] = keyboard
    record(bot, request, args, message, kind="edit")
    return message


def edit_message_reply_markup(bot: BotChat, request: web.Request, args: Arguments) -> dict[str, Any]:
    """Replace or remove the keyboard of one of the bot's messages."""
    message = _own_message(bot, args, "message to edit not found")
    given = {"text": message["text"], "entities": message.get("entities", []), "parse_mode": ""}
    return edit_message_text(bot, request, {**args, **given})


def delete_message(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    """Delete one of the bot's messages, at most 48 hours after it was sent."""
    message = _own_message(bot, args, "message to delete not found")
    if message["from"]["id"] != ME["id"] or bot.clock() - message["date"] > DELETABLE_S:
        raise refuse("Bad Request: message can't be deleted")
    del bot.world.messages[message["chat"]["id"], message["message_id"]]
    record(bot, request, args, message, kind="deletion", text="")
    return True


def send_chat_action(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    """Show a chat action for five seconds."""
    chat = bot.world.chat(args.get("chat_id"))
    thread_of(chat, args)
    if args.get("action") not in ACTIONS:
        raise refuse("Bad Request: wrong parameter action in request")
    bot.record(
        request, str(chat.id), args["action"], id="", account=BOT_USERNAME, kind="action", body=dict(args),
        thread=str(args.get("message_thread_id") or ""),
    )  # fmt: skip
    return True


def set_message_reaction(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    """Set or remove the one reaction of the bot to a message."""
    message = _own_message(bot, args, "message to react not found")
    reactions = decoded(args.get("reaction"), "reaction") or []
    if len(reactions) > 1:
        raise refuse("Bad Request: REACTIONS_TOO_MANY")
    emoji = str(reactions[0].get("emoji", "")) if reactions else ""
    if emoji and emoji not in REACTIONS:
        raise refuse("Bad Request: REACTION_INVALID")
    bot.world.reactions[message["chat"]["id"], message["message_id"]] = emoji
    record(bot, request, args, message, kind="reaction", text=emoji)
    return True


def answer_callback_query(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    """End the progress bar of a button, once per press."""
    callback_id, text = str(args.get("callback_query_id", "")), str(args.get("text") or "")
    if callback_id not in bot.world.callbacks:
        raise refuse("Bad Request: query is too old and response timeout expired or query ID is invalid")
    if len(text) > MAX_ANSWER:
        raise refuse("Bad Request: MESSAGE_TOO_LONG")
    bot.world.callbacks.discard(callback_id)
    bot.record(request, "", text, id=callback_id, account=BOT_USERNAME, kind="callback", body=dict(args))
    return True


def set_my_commands(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    commands = decoded(args.get("commands"), "commands")
    if not isinstance(commands, list):
        raise refuse("Bad Request: can't parse commands: expected an Array of BotCommand")
    if len(commands) > MAX_COMMANDS:
        raise refuse("Bad Request: BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not re.fullmatch(r"/?[a-z0-9_]{1,32}", str(command.get("command", ""))):
            raise refuse("Bad Request: BOT_COMMAND_INVALID")
        if not 1 <= len(str(command.get("description", ""))) <= 256:
            raise refuse("Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
    bot.commands = [{"command": c["command"].lstrip("/"), "description": c["description"]} for c in commands]
    return True


async def get_updates(bot: BotChat, request: web.Request, args: Arguments) -> list[dict[str, Any]]:
    """Return updates, waiting up to `timeout` seconds for the first."""
    allowed = decoded(args.get("allowed_updates"), "allowed updates")
    limit = integer(args.get("limit"))
    return await bot.updates.poll(
        integer(args.get("offset")) or 0,
        100 if limit is None else limit,
        integer(args.get("timeout")) or 0,
        allowed,
    )


def set_webhook(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    """Deliver updates to a URL from now on."""
    allowed = decoded(args.get("allowed_updates"), "allowed updates")
    bot.updates.set_webhook({**args, "allowed_updates": allowed}, insecure=bot.insecure_webhooks)
    return True


def delete_webhook(bot: BotChat, request: web.Request, args: Arguments) -> bool:
    """Deliver updates to polls again."""
    bot.updates.delete_webhook(drop_pending=args.get("drop_pending_updates") in (True, "true", "True"))
    return True


def get_file(bot: BotChat, request: web.Request, args: Arguments) -> dict[str, Any]:
    """Return where a file can be downloaded."""
    file_id = str(args.get("file_id", ""))
    if file_id not in bot.world.files:
        raise refuse("Bad Request: invalid file_id")
    path, _, size = bot.world.files[file_id]
    if size > MAX_DOWNLOAD_BYTES:
        raise refuse("Bad Request: file is too big")
    return {"file_id": file_id, "file_unique_id": file_id[-8:], "file_size": size, "file_path": path}
