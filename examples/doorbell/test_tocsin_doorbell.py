"""The inbound side keeps the contract; `pytest` in this directory runs it."""
# ruff: noqa: RUF012, S105  # the attributes of a suite are read, never changed; the secret is a name

import hmac

from tocsin_doorbell import DoorbellAdapter

from tocsin.channels.inbound import WebhookRequest
from tocsin.testing.inbound_contract import InboundContract

ENV = {"DOORBELL_URL": "https://bell.example", "DOORBELL_SECRET": "made-up"}


class TestDoorbell(InboundContract):
    """Every promise of a channel that receives."""

    adapter = DoorbellAdapter
    env = ENV
    secret = "DOORBELL_SECRET"
    messages = {"a visitor": b'{"ring": "r1", "visitor": "Ada", "text": "hello"}'}
    ignored = {"the battery is full": b'{"battery": 100}'}

    def signed(self, body: bytes, now: float) -> WebhookRequest:
        """Sign as the bell does."""
        proof = hmac.new(ENV["DOORBELL_SECRET"].encode(), body, "sha256").hexdigest()
        return WebhookRequest((("x-doorbell-proof", proof),), body)
