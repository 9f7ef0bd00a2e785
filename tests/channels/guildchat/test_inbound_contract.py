"""guildchat keeps the contract of everything that receives, for every kind of call the product makes."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

from tests.channels.guildchat.calls import (
    ANNA,
    APPLICATION_ID,
    ASK,
    CHANNEL_ID,
    FORM,
    PUBLIC_KEY,
    SAVE,
    UPLOAD,
    event,
    interaction,
    signed,
)

from tocsin.channels.guildchat.adapter import GuildchatAdapter
from tocsin.channels.inbound import WebhookRequest
from tocsin.testing.inbound_contract import InboundContract


class TestGuildchatReceives(InboundContract):
    adapter = GuildchatAdapter
    env = {
        "GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample",
        "GUILDCHAT_PUBLIC_KEY": PUBLIC_KEY,
    }
    secret = "GUILDCHAT_PUBLIC_KEY"
    messages = {
        "a command": interaction(1, 2, ASK),
        "a command in private": interaction(2, 2, ASK, member=None, user=ANNA, guild_id=None, context=1),
        "a command with a file": interaction(3, 2, UPLOAD),
        "a message's menu": interaction(4, 2, SAVE),
        "a button": interaction(5, 3, {"custom_id": "deploy:yes", "component_type": 2}, message={"id": "9"}),
        "a menu": interaction(6, 3, {"custom_id": "pick", "component_type": 3, "values": ["a"]}, message={"id": "9"}),
        "a dialogue": interaction(7, 5, FORM),
        "a lobby's message": event(
            "LOBBY_MESSAGE_CREATE", id="8", content="hello", lobby_id="4", channel_id=CHANNEL_ID, author=ANNA
        ),
    }
    ignored = {
        "an installation": event("APPLICATION_AUTHORIZED", integration_type=1, scopes=[], user=ANNA),
        "own message": event(
            "LOBBY_MESSAGE_CREATE", id="9", content="x", channel_id=CHANNEL_ID, author={"id": APPLICATION_ID}
        ),
        "an unknown type": interaction(8, 99),
    }
    handshakes = {
        "PING": b'{"type":1}',
        "a whole PING": interaction(9, 1),
        "the event address is checked": b'{"version":1,"application_id":"200000000000000001","type":0}',
        "a suggestion is asked for": interaction(10, 4, ASK),
        "a command without a name": interaction(11, 2, {"id": "1"}),
    }

    def press(self, token: str) -> bytes:
        return interaction(12, 3, {"custom_id": token, "component_type": 2}, message={"id": "9"})

    def signed(self, body: bytes, now: float) -> WebhookRequest:
        return signed(body, now)
