"""The signatures of an event, and the body of one that carries a file. Source: docs/facts/standard-webhooks.md."""

import hmac
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterable
from hashlib import sha256

from tocsin.channels.attached import AttachedFile
from tocsin.channels.webhook.settings import key_of
from tocsin.core.http.bodies import StreamedBody


async def sign(secrets: Iterable[str], event_id: str, seconds: int, body: bytes | StreamedBody) -> dict[str, str]:
    """Return the headers with the signature of a body by each secret; a file is read once for all of them."""
    lead = f"{event_id}.{seconds}.".encode()
    made = [hmac.new(key_of(secret), lead, sha256) for secret in secrets]
    if isinstance(body, bytes):
        for each in made:
            each.update(body)
    else:
        async for block in body.blocks():
            for each in made:
                each.update(block)
    signatures = " ".join(f"v1,{b64encode(each.digest()).decode()}" for each in made)
    return {"webhook-id": event_id, "webhook-timestamp": str(seconds), "webhook-signature": signatures}


def with_content(event: str, file: AttachedFile) -> StreamedBody:
    """Return the JSON of an event, whose data end it, with the content of a file in blocks."""
    head, end = f'{event.removesuffix("}}")},"content":"'.encode(), b'"}}'

    async def blocks() -> AsyncGenerator[bytes]:
        yield head
        rest = b""
        async for block in file.blocks():
            rest += block
            whole = len(rest) - len(rest) % 3
            yield b64encode(rest[:whole])
            rest = rest[whole:]
        yield b64encode(rest) + end

    return StreamedBody(len(head) + -(-file.size // 3) * 4 + len(end), blocks, "application/json")
