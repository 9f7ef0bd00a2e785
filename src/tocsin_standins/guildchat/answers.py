"""Read the bodies of the Discord stand-in's requests, and make its refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tocsin_standins.serving import RefusalError, parse_json, whole_seconds

MAX_CONTENT = 2000
MAX_NONCE = 25
MAX_FILES, MAX_FILE_BYTES, MAX_REQUEST_BYTES = 10, 10 * 2**20, 25 * 2**20
SNOWFLAKE = re.compile(r"\d{17,20}")

MEANINGS = {
    0: (401, "401: Unauthorized"),
    10003: (404, "Unknown Channel"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    20016: (429, "This action cannot be performed due to slowmode rate limit"),
    20028: (429, "The write action you are performing on the channel has hit the write rate limit"),
    40005: (413, "Request entity too large"),
    40333: (403, "internal network error"),
    40058: (400, "Cannot message this thread until after the post author has sent an initial message"),
    40094: (403, "This interaction has reached the maximum number of follow up messages"),
    40060: (400, "Interaction has already been acknowledged"),
    50001: (403, "Missing Access"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50027: (401, "Invalid Webhook Token"),
    50035: (400, "Invalid Form Body"),
    50046: (400, "Invalid file uploaded"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    200000: (400, "Message was blocked by automatic moderation"),
}


async def read_json_object(request: web.Request) -> dict[str, Any]:
    """Return the body's JSON object, or refuse."""
    try:
        body = parse_json(await request.read())
    except ValueError:
        raise refuse(50109) from None
    if request.content_type != "application/json" or not isinstance(body, dict):
        raise refuse(50035)
    return body


@dataclass(frozen=True, slots=True)
class UploadedAttachment:
    """A file of a request."""

    name: str
    type: str
    data: bytes


async def read_message(request: web.Request) -> tuple[dict[str, Any], list[UploadedAttachment]]:
    """Return the fields of a message and its files, which come as multipart; refuse what does not fit together."""
    if request.content_type != "multipart/form-data":
        return await read_json_object(request), []
    form = await request.post()
    try:
        args = parse_json(str(form.get("payload_json", "")).encode())
    except ValueError:
        raise refuse(50109) from None
    given = {name: each for name, each in form.items() if isinstance(each, web.FileField)}
    listed = args.get("attachments") or []
    if {name for name in form if name != "payload_json"} != set(given):
        raise refuse(50035)
    if {f"files[{each.get('id')}]" for each in listed} != set(given) or len(given) > MAX_FILES:
        raise invalid("attachments", "ATTACHMENT_NOT_FOUND", "The attachments do not match the files.")
    files = [UploadedAttachment(each.filename, each.content_type, each.file.read()) for each in given.values()]
    sizes = [len(file.data) for file in files]
    if max(sizes) > MAX_FILE_BYTES or sum(sizes) > MAX_REQUEST_BYTES:
        raise refuse(40005)
    if not min(sizes):
        raise refuse(50046)
    return args, files


def checked_content(args: Mapping[str, Any], files: Sequence[UploadedAttachment] = ()) -> str:
    """Check a message's fields and return its content."""
    content, nonce, flags = args.get("content") or "", args.get("nonce"), args.get("flags") or 0
    if not isinstance(content, str):
        raise invalid("content", "STRING_TYPE_CONVERT", "Could not interpret as string.")
    if len(content) > MAX_CONTENT:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", f"Must be {MAX_CONTENT} or fewer in length.")
    if nonce is not None and len(str(nonce)) > MAX_NONCE:
        raise invalid("nonce", "BASE_TYPE_MAX_LENGTH", f"Must be {MAX_NONCE} or fewer in length.")
    if not isinstance(flags, int):
        raise invalid("flags", "NUMBER_TYPE_COERCE", f'Value "{flags}" is not int.')
    allowed = args.get("allowed_mentions") or {}
    if not isinstance(allowed, dict) or not set(allowed.get("parse", [])) <= {"everyone", "users", "roles"}:
        raise invalid("allowed_mentions", "BASE_TYPE_CHOICES", "Value must be one of ('everyone', 'users', 'roles').")
    if not content.strip() and not args.get("embeds") and not args.get("components") and not files:
        raise refuse(50006)
    return content


def invalid(name: str, code: str, message: str) -> RefusalError:
    """Return a 50035 that names the field."""
    errors: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for part in reversed(name.split(".")):
        errors = {part: errors}
    return RefusalError(
        web.json_response({"message": "Invalid Form Body", "code": 50035, "errors": errors}, status=400)
    )


def refuse(code: int) -> RefusalError:
    return RefusalError(refusal(code))


def refusal(code: int, text: str = "", *, status: int = 0) -> web.Response:
    """Return the answer with this code; text and status default to the product's."""
    usual_status, usual_text = MEANINGS.get(code, (400, "Error"))
    return web.json_response({"message": text or usual_text, "code": code}, status=status or usual_status)


def too_many_requests(seconds: float, scope: str) -> web.Response:
    """Return the 429: a fraction of seconds in the body, rounded up in the header."""
    headers = {"Retry-After": whole_seconds(seconds), "X-RateLimit-Scope": scope or "user"}
    if scope == "global":
        headers["X-RateLimit-Global"] = "true"
    message = "You are being rate limited."
    body = {"message": message, "retry_after": round(float(seconds), 3), "global": scope == "global"}
    return web.json_response(body, status=429, headers=headers)


def shown(content: str, args: Mapping[str, Any]) -> str:
    """Return what a reader sees of a message: its content, and title and description of its embeds."""
    embeds = [embed.get(name, "") for embed in args.get("embeds") or () for name in ("title", "description")]
    return "\n".join(filter(None, [content, *embeds]))
