"""sendPhoto, sendDocument and sendMediaGroup: files by multipart, as strict as the product."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tocsin_standins.botchat.files import build_fields
from tocsin_standins.botchat.methods import Arguments, record, replied, thread_of
from tocsin_standins.botchat.world import ME, check_keyboard, decoded, formatted, refuse

if TYPE_CHECKING:
    from tocsin_standins.botchat.server import BotChat

MAX_CAPTION = 1_024
MAX_BYTES = {"photo": 10 * 2**20, "document": 50 * 2**20}
MAX_SIDES = 10_000  # width and height of a photo together


def send_photo(bot: BotChat, request: web.Request, args: Arguments) -> dict[str, Any]:
    """Validate and store a picture with a caption."""
    return _send_one(bot, request, args, "photo")


def send_document(bot: BotChat, request: web.Request, args: Arguments) -> dict[str, Any]:
    """Validate and store a file with a caption."""
    return _send_one(bot, request, args, "document")


def send_media_group(bot: BotChat, request: web.Request, args: Arguments) -> list[dict[str, Any]]:
    """Validate and store an album."""
    media = decoded(args.get("media"), "media")
    if not isinstance(media, list) or not 2 <= len(media) <= 10:
        raise refuse("Bad Request: wrong number of media: an album has 2 to 10")
    if "reply_markup" in args:
        raise refuse("Bad Request: reply_markup is not allowed in an album")
    kinds = [str(item.get("type")) for item in media]
    if not set(kinds) <= set(MAX_BYTES) or len(set(kinds)) > 1:
        raise refuse("Bad Request: documents can be grouped only with documents")
    names = [str(item.get("media", "")).removeprefix("attach://") for item in media]
    given = {**{name: name for name in names}, **args}  # what is not attached is the ID of a file
    files = [_file(bot, given, name, kind) for name, kind in zip(names, kinds, strict=True)]
    if unused := {name for name, each in args.items() if isinstance(each, web.FileField)} - set(names):
        raise refuse(f"Bad Request: unused files: {sorted(unused)}")
    return [_store(bot, request, args, {**file, "media_group_id": str(next(bot.world.ids))}) for file in files]


def _send_one(bot: BotChat, request: web.Request, args: Arguments, kind: str) -> dict[str, Any]:
    return _store(bot, request, args, _file(bot, args, kind, kind))


def _file(bot: BotChat, args: Arguments, name: str, kind: str) -> dict[str, Any]:
    given = args.get(name)
    if isinstance(given, str) and given in bot.sent_files:
        return bot.sent_files[given]
    if isinstance(given, str):
        raise refuse("Bad Request: wrong file identifier/HTTP URL specified")
    if not isinstance(given, web.FileField):
        raise refuse(f"Bad Request: there is no {kind} in the request")
    data = given.file.read()
    if not data:
        raise refuse("Bad Request: file must be non-empty")
    if len(data) > MAX_BYTES[kind]:
        raise refuse("Request Entity Too Large" if kind == "document" else "Bad Request: photo is too big")
    if kind == "photo" and sum(_sides(data)) > MAX_SIDES:
        raise refuse("Bad Request: PHOTO_INVALID_DIMENSIONS")
    file_id = bot.add_file(data, path=f"{kind}s/file_{len(bot.world.files) + 1}")
    bot.sent_files[file_id] = build_fields(kind, file_id, given.filename, given.content_type, len(data))
    return bot.sent_files[file_id]


def _sides(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG; pictures of other types count as small."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith((b"\xff\xd8\xff", b"RIFF")):
        return 1, 1
    raise refuse("Bad Request: IMAGE_PROCESS_FAILED")


def _store(bot: BotChat, request: web.Request, args: Arguments, fields: dict[str, Any]) -> dict[str, Any]:
    if args.get("caption"):
        words = {
            "text": args["caption"],
            "entities": args.get("caption_entities"),
            "parse_mode": args.get("parse_mode"),
        }
        text, entities = formatted(words, max_chars=MAX_CAPTION, utf16=bot.utf16_limit, strict=bot.strict_entities)
        fields |= {"caption": text, "caption_entities": entities}
    chat = bot.world.chat(args.get("chat_id"))
    if thread := thread_of(chat, args):
        fields |= {"message_thread_id": thread, "is_topic_message": True}
    if original := replied(bot, chat, args):
        fields["reply_to_message"] = {k: v for k, v in original.items() if k != "reply_to_message"}
    keyboard = check_keyboard(args.get("reply_markup"))
    bot.check_pace(chat)
    message = bot.world.add_message(chat, ME, bot.clock(), reply_markup=keyboard, **fields)
    shown = {name: value for name, value in args.items() if not isinstance(value, web.FileField)}
    record(bot, request, shown, message, text=message.get("caption", ""))
    return message
