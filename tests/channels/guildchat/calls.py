"""Calls as Discord makes them."""

import json
from typing import Any

from nacl.signing import SigningKey

from tocsin.channels.inbound import WebhookRequest

KEY = SigningKey(bytes(range(32)))
PUBLIC_KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
APPLICATION_ID = "200000000000000001"
CHANNEL_ID = "100000000000000001"
ANNA = {"id": "300000000000000001", "username": "anna", "global_name": "Anna", "discriminator": "0"}


def interaction(number: int, sort: int, data: dict[str, Any] | None = None, **fields: Any) -> bytes:
    given = {
        "id": str(1_170_000_000_000_000_000 + number),
        "application_id": APPLICATION_ID,
        "type": sort,
        "token": "aW50ZXJhY3Rpb246bWFkZXVw",
        "version": 1,
        "guild_id": "400000000000000001",
        "channel_id": CHANNEL_ID,
        "channel": {"id": CHANNEL_ID, "type": 0},
        "member": {"nick": "Änn", "user": ANNA},
        "data": data or {},
    }
    return json.dumps({**given, **fields}).encode()


def event(sort: str, **data: Any) -> bytes:
    given = {"type": sort, "timestamp": "2023-11-14T22:13:20+00:00", "data": data}
    return json.dumps({"version": 1, "application_id": APPLICATION_ID, "type": 1, "event": given}).encode()


ASK = {"id": "1", "name": "ask", "type": 1, "options": [{"name": "question", "type": 3, "value": "what now?"}]}
UPLOAD = {
    "name": "upload",
    "options": [{"name": "file", "type": 11, "value": "7"}],
    "resolved": {
        "attachments": {"7": {"id": "7", "filename": "a.ogg", "content_type": "audio/ogg", "duration_secs": 1.5}}
    },
}
SAVE = {"name": "Save This", "type": 3, "target_id": "5", "resolved": {"messages": {"5": {"content": "worth it"}}}}
FORM = {
    "custom_id": "feedback",
    "components": [
        {"type": 1, "components": [{"type": 4, "custom_id": "a", "value": "good"}]},
        {"type": 18, "component": {"type": 3, "custom_id": "b", "values": ["x"]}},
    ],
}


def signed(body: bytes, now: float, key: SigningKey = KEY) -> WebhookRequest:
    """Sign as the product does."""
    timestamp = f"{now:.0f}"
    signature = key.sign(timestamp.encode() + body).signature.hex()
    return WebhookRequest((("x-signature-ed25519", signature), ("x-signature-timestamp", timestamp)), body)
