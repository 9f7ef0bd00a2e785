"""teamchat keeps the contract of everything that receives, for every kind of call the product makes."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import json
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

from tests.channels.teamchat.calls import DIALOGUE, FILES, MENU, SECRET, event, interactive, signed, slash

from tocsin.channels.inbound import WebhookRequest
from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.testing.inbound_bench import HOSTILE_VALUES, deformed
from tocsin.testing.inbound_contract import InboundContract


class TestTeamchatReceives(InboundContract):
    adapter = TeamchatAdapter
    env = {
        "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example",
        "TEAMCHAT_SIGNING_SECRET": SECRET,
        "TEAMCHAT_HEAR_BOTS": "true",
    }
    secret = "TEAMCHAT_SIGNING_SECRET"
    messages = {
        "in a channel": event(1, client_msg_id="8a2b9f30-1111-2222-3333-444455556666"),
        "direct": event(2, channel="D0ANNA", channel_type="im", thread_ts="1700000000.000001"),
        "with a file": event(3, subtype="file_share", files=FILES, user_profile={"display_name": "Anna"}),
        "a mention": event(4, type="app_mention", text="<@U0BOT> /status <https://a.example|a.example>"),
        "another bot": event(5, bot_id="B0OTHER", bot_profile={"app_id": "A0OTHER", "name": "ci"}),
        "a command": slash(),
        "a button": interactive(),
        "a menu": interactive(trigger_id="2.2", actions=MENU),
        "a shortcut": interactive(trigger_id="3.3", type="message_action", callback_id="keep", actions=None),
        "a dialogue": interactive(trigger_id="4.4", type="view_submission", view=DIALOGUE, actions=None, channel=None),
    }
    ignored = {
        "an edit": event(6, subtype="message_changed", message={"text": "new"}),
        "own message": event(7, user="U0BOT", bot_id="B0BOT", thread_ts="1700000000.000001"),
        "a reaction": event(8, type="reaction_added"),
        "too many events": b'{"type":"app_rate_limited","minute_rate_limited":1518467820}',
        "an unknown interaction": interactive(trigger_id="5.5", type="workflow_step_edit"),
    }
    handshakes = {
        "the address is checked": b'{"type":"url_verification","token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV"}',
        "the certificate is checked": b"ssl_check=1&token=x",
        "a menu asks for its options": interactive(type="block_suggestion"),
    }

    def press(self, token: str) -> bytes:
        return interactive(actions=[{"action_id": token, "block_id": "b", "value": token, "type": "button"}])

    def signed(self, body: bytes, now: float) -> WebhookRequest:
        return signed(body, now)

    def variants(self, body: bytes) -> Iterator[bytes]:
        if body.startswith(b"{"):
            yield from super().variants(body)
            return
        fields = dict(parse_qsl(body.decode()))
        for name, value in fields.items():
            for other in filter(lambda hostile: isinstance(hostile, str), HOSTILE_VALUES):
                yield urlencode({**fields, name: other.replace("\ud800", "")}).encode()
            yield urlencode({key: kept for key, kept in fields.items() if key != name}).encode()
            if name == "payload":
                yield from (urlencode({"payload": json.dumps(p)}).encode() for p in deformed(json.loads(value)))
