"""Thirty services: an address of each, the host it calls, and how it says yes, no and later."""

import json
from dataclasses import dataclass
from typing import Any

Reply = tuple[int, bytes]


def told(code: int, /, **fields: Any) -> Reply:
    """Return an answer in JSON."""
    return code, json.dumps(fields).encode()


@dataclass(frozen=True)
class Service:
    """A service with its answers; `host` is the end of the host's name."""

    url: str
    host: str
    accepts: Reply = (200, b"ok")
    refuses: Reply = (401, b"Unauthorized")
    throttles: Reply = (429, b"Too Many Requests")


_KEY = "4f1e9c7b2a8d6053e1c4f7a92b8d6e05"
_UUID = "3b241101-e2bb-4255-8caf-4136c566a962"
SERVICES = {
    "Pushover": Service(
        f"pover://{_KEY[:30]}@{_KEY[2:]}",
        "api.pushover.net",
        told(200, status=1, request="r"),
        told(400, status=0, errors=["application token is invalid"]),
        told(429, status=0, errors=["application is over its quota"]),
    ),
    "Discord": Service(
        f"discord://123456789012345678/{_KEY}abcdefgh",
        "discord.com",
        (204, b""),
        told(404, message="Unknown Webhook", code=10015),
        told(429, message="You are being rate limited.", retry_after=0.01),
    ),
    "Slack": Service(
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ops", "hooks.slack.com", refuses=(403, b"invalid_token")
    ),
    "Telegram": Service(
        f"tgram://123456789:AA{_KEY}x/987654321",
        "api.telegram.org",
        told(200, ok=True, result={"message_id": 1}),
        told(403, ok=False, error_code=403, description="Forbidden: bot was blocked by the user"),
        told(429, ok=False, error_code=429, description="Too Many Requests: retry after 5"),
    ),
    "Gotify": Service(
        "gotifys://push.example.org/AbCdEfGhIjKlMnO", "push.example.org", told(200, id=1), told(401, errorCode=401)
    ),
    "ntfy": Service(
        "ntfys://tk_abcdefghijklmnopqrstuvwxyz012@ntfy.example.org/alerts",
        "ntfy.example.org",
        told(200, id="x", event="message"),
        told(403, code=40301, http=403, error="forbidden"),
        told(429, code=42901, http=429, error="limit reached: too many requests"),
    ),
    "Mattermost": Service(
        f"mmosts://chat.example.org/{_KEY}",
        "chat.example.org",
        refuses=told(400, id="web.incoming_webhook.invalid.app_error", message="Invalid webhook"),
    ),
    "Rocket.Chat": Service(
        f"rockets://5e8b4f/{_KEY}@rocket.example.org/#ops?mode=webhook",
        "rocket.example.org",
        told(200, success=True),
        told(400, success=False, error="error-invalid-channel"),
    ),
    "Pushbullet": Service(f"pbul://o.{_KEY}", "api.pushbullet.com", told(200, active=True), told(401, error={})),
    "Join": Service(f"join://{_KEY}/{_KEY}", "joinjoaomgcd.appspot.com", told(200, success=True), (401, b"")),
    "IFTTT": Service(f"ifttt://{_KEY}@alarm", "maker.ifttt.com", refuses=told(401, errors=[])),
    "JSON": Service("jsons://ops:pa55word@hook.example.org/in", "hook.example.org"),
    "XML": Service("xmls://ops:pa55word@hook.example.org/in", "hook.example.org"),
    "Form": Service("forms://ops:pa55word@hook.example.org/in", "hook.example.org"),
    "Zulip": Service(
        f"zulip://bot@example/{_KEY}/ops",
        "example.zulipchat.com",
        told(200, result="success", id=1),
        told(401, result="error", msg="Invalid API key", code="UNAUTHORIZED"),
        told(429, result="error", code="RATE_LIMIT_HIT"),
    ),
    "Google Chat": Service(
        "gchat://spaceid/webhookkey123/webhooktoken456",
        "chat.googleapis.com",
        told(200, name="spaces/x/messages/y"),
        told(403, error={"status": "PERMISSION_DENIED"}),
        told(429, error={"status": "RESOURCE_EXHAUSTED"}),
    ),
    "Workflows": Service(
        f"workflows://prod-1.logic.azure.com:443/643e69f83c8944ab/{_KEY}abcdefg", "prod-1.logic.azure.com", (202, b"")
    ),
    "PagerDuty": Service(
        f"pagerduty://{_KEY}@{_KEY[:20]}/tocsin/web1",
        "events.pagerduty.com",
        told(202, status="success", dedup_key="k"),
        told(400, status="invalid event", errors=["'routing_key' is invalid"]),
    ),
    "Twilio": Service(
        "twilio://AC735c307c62944b5a:e29dfbcebf390dee9@15551234567/15557654321",
        "api.twilio.com",
        told(201, sid="SM1"),
        told(400, code=21211, message="The 'To' number is not a valid phone number."),
        told(429, code=20429, message="Too Many Requests"),
    ),
    "SendGrid": Service(
        f"sendgrid://{_KEY}:me@example.org/you@example.org", "api.sendgrid.com", (202, b""), told(403, errors=[])
    ),
    "Prowl": Service(f"prowl://{_KEY}abcdefgh", "api.prowlapp.com", refuses=(401, b"<prowl/>"), throttles=(406, b"")),
    "Simplepush": Service("spush://HuxgBB1", "api.simplepu.sh", told(200, status="OK"), told(400, status="ERROR")),
    "Home Assistant": Service(f"hassios://home.example.org/{_KEY}", "home.example.org", (200, b"[]")),
    "Nextcloud": Service("nclouds://admin:pa55word@cloud.example.org/anna", "cloud.example.org"),
    "Bark": Service("barks://bark.example.org/devicekey123", "bark.example.org", told(200, code=200), (400, b"")),
    "Signal": Service(
        "signals://signal.example.org/+15551234567/+15557654321",
        "signal.example.org",
        told(201, timestamp="1"),
        told(400, error="Unregistered user"),
    ),
    "Webex": Service(f"wxteams://{_KEY}{_KEY}abcdefghijklmnop", "api.ciscospark.com", (204, b""), told(404, errors=[])),
    "SIGNL4": Service("signl4://abcdefghij", "connect.signl4.com", told(201, eventId="e"), (400, b"")),
    "Flock": Service(f"flock://{_KEY[:24]}", "api.flock.com", refuses=told(400, error="InvalidToken")),
    "MessageBird": Service(
        f"msgbird://{_KEY[:25]}/15551234567/15557654321",
        "rest.messagebird.com",
        told(201, id="m"),
        told(422, errors=[{"code": 9, "description": "no (correct) recipients found"}]),
    ),
    "PagerTree": Service("pagertree://int_abcdefghijk", "api.pagertree.com", told(202, id="a"), told(404, error="x")),
}  # fmt: skip
