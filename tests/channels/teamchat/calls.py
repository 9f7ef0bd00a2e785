"""Calls as Slack makes them."""

import hmac
import json
from typing import Any
from urllib.parse import urlencode

from tocsin.channels.inbound import WebhookRequest

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
AUTHORIZED = [{"enterprise_id": None, "team_id": "T0ACME", "user_id": "U0BOT", "is_bot": True}]


def event(number: int, **event: Any) -> bytes:
    said = {"type": "message", "channel": "C0OPS", "user": "U0ANNA", "text": "hello", "ts": f"1700000000.00{number:04}"}
    envelope = {
        "type": "event_callback",
        "token": "deprecated",
        "team_id": "T0ACME",
        "api_app_id": "A0TOCSIN",
        "event_id": f"Ev{number:04}",
        "event_time": 1700000000,
        "authorizations": AUTHORIZED,
        "event": {**said, "channel_type": "channel", **event},
    }
    return json.dumps(envelope).encode()


def slash(**fields: str) -> bytes:
    given = {
        "team_id": "T0ACME",
        "channel_id": "C0OPS",
        "channel_name": "ops",
        "user_id": "U0ANNA",
        "user_name": "anna",
        "command": "/status",
        "text": "now please",
        "response_url": "https://hooks.slack.com/commands/T0ACME/1/abc",
        "trigger_id": "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
        "api_app_id": "A0TOCSIN",
    }
    return urlencode({**given, **fields}).encode()


def interactive(**payload: Any) -> bytes:
    given = {
        "type": "block_actions",
        "user": {"id": "U0ANNA", "username": "anna", "team_id": "T0ACME"},
        "api_app_id": "A0TOCSIN",
        "container": {"type": "message", "message_ts": "1700000000.000100", "channel_id": "C0OPS"},
        "trigger_id": "12466734323.1395872398",
        "team": {"id": "T0ACME", "domain": "acme"},
        "channel": {"id": "C0OPS", "name": "ops"},
        "message": {"type": "message", "ts": "1700000000.000100", "thread_ts": "1700000000.000001", "text": "Go?"},
        "response_url": "https://hooks.slack.com/actions/T0ACME/2/def",
        "actions": [{"action_id": "go", "block_id": "b", "value": "deploy:yes", "type": "button"}],
    }
    return urlencode({"payload": json.dumps({**given, **payload})}).encode()


FILES = [{"id": "F0ONE", "name": "a.png", "mimetype": "image/png", "size": 7, "original_w": 3, "original_h": 4}]
DIALOGUE = {"callback_id": "feedback", "state": {"values": {"b1": {"c1": {"type": "plain_text_input", "value": "ok"}}}}}
MENU = [{"action_id": "pick", "type": "static_select", "selected_option": {"text": {}, "value": "two"}}]


def signed(body: bytes, now: float, secret: str = SECRET, family: str = "slack") -> WebhookRequest:
    """Sign as the product does."""
    timestamp = f"{now:.0f}"
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, "sha256").hexdigest()
    return WebhookRequest(
        ((f"x-{family}-signature", f"v0={digest}"), (f"x-{family}-request-timestamp", timestamp)), body
    )
