"""How the products that call our webhooks prove who they are, and what a forger would try instead."""

import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from nacl.signing import SigningKey
from tests.channels.guildchat import calls as guildchat
from tests.channels.teamchat import calls as teamchat

from tocsin_standins.botchat.server import TOKEN

Header = tuple[bytes, bytes]

# The order of the group that Ed25519 works in (RFC 8032, 5.1): a signature plus this is one that some accept, too.
_ORDER = 2**252 + 27742317777372353535851937790883648493


class Product(ABC):
    """One product: what it says, and how it proves that it does."""

    kind: ClassVar[str]
    env: ClassVar[Mapping[str, str]]
    secret: ClassVar[str]  # the setting without which nobody gets in
    families: ClassVar[tuple[tuple[bytes, ...], ...]]  # names of headers that mean the same
    signs_body: ClassVar[bool] = True

    @abstractmethod
    def says(self, number: int, random: Random) -> bytes:
        """Return the body of a call that concerns us; another number is another event."""

    @abstractmethod
    def proof(self, body: bytes, now: float, random: Random) -> tuple[Header, ...]:
        """Return the headers that prove `body`."""

    @abstractmethod
    def false_proofs(self, body: bytes, now: float) -> Sequence[tuple[Header, ...]]:
        """Return headers of the right shape, made by who has not the secret or not the rules."""

    def aliases(self, name: bytes) -> tuple[bytes, ...]:
        """Return all names of a header."""
        return next(names for names in self.families if name in names)


class Teamchat(Product):
    """An HMAC over timestamp and body."""

    kind = "teamchat"
    secret = "TEAMCHAT_SIGNING_SECRET"
    env: ClassVar[Mapping[str, str]] = {
        "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa",
        "TEAMCHAT_SIGNING_SECRET": "8f742231b10e8888abcd99eee0ff85a5",
    }
    families = (
        (b"x-teamchat-signature", b"x-slack-signature"),
        (b"x-teamchat-request-timestamp", b"x-teamchat-timestamp", b"x-slack-request-timestamp"),
    )

    def says(self, number: int, random: Random) -> bytes:
        """An event, a command, or a button."""
        trigger = f"{number}.1.a"
        chat = f"C0OPS{number % 50}"
        makers: list[Callable[[], bytes]] = [
            lambda: teamchat.event(number, channel=chat, text=f"hello <@U0BOT> &amp; {number}"),
            lambda: teamchat.event(number, channel=chat, type="app_mention", thread_ts="1700000000.000001"),
            lambda: teamchat.event(number, channel=f"D0{number % 50}", channel_type="im", files=teamchat.FILES),
            lambda: teamchat.slash(trigger_id=trigger, channel_id=chat),
            lambda: teamchat.interactive(trigger_id=trigger, actions=teamchat.MENU),
            lambda: teamchat.interactive(
                trigger_id=trigger, type="view_submission", view=teamchat.DIALOGUE, actions=[]
            ),
        ]
        return random.choice(makers)()

    def proof(self, body: bytes, now: float, random: Random) -> tuple[Header, ...]:
        """Either family of names, or a mixture; the timestamp is still good when other calls have been made first."""
        return self._sign(b"%d" % (now + random.randint(-150, 150)), body, random=random)

    def false_proofs(self, body: bytes, now: float) -> Sequence[tuple[Header, ...]]:
        """Stale, from the future, with another key, with no key, over a timestamp that is none."""
        stamp = b"%d" % now
        odd = (b"", b" " + stamp, b"+" + stamp, stamp + b".0", b"1e9", b"-1", b"9" * 12, b"9" * 13, b"0x1", b"\xd9\xa1")
        stale = [b"%d" % (now + off) for off in (-301, 400, -86400, 10**8)]
        return [
            *(self._sign(other, body) for other in (*odd, *stale)),
            self._sign(stamp, body, key=b""),
            self._sign(stamp, body, key=b"8f742231b10e8888abcd99eee0ff85a6"),
            self._sign(stamp, body, version=b"v1"),
            self._sign(stamp, body, version=b"v0=v0"),
            self._sign(stamp, b"", version=b"v0") if body else (),
        ]

    def _sign(
        self,
        stamp: bytes,
        body: bytes,
        *,
        key: bytes = env["TEAMCHAT_SIGNING_SECRET"].encode(),
        version: bytes = b"v0",
        random: Random | None = None,
    ) -> tuple[Header, ...]:
        digest = hmac.new(key, b"v0:" + stamp + b":" + body, "sha256").hexdigest().encode()
        first, second = (random.choice(names) if random else names[-1] for names in self.families)
        return (first, version + b"=" + digest), (second, stamp)


class Guildchat(Product):
    """Ed25519 over timestamp and body."""

    kind = "guildchat"
    secret = "GUILDCHAT_PUBLIC_KEY"
    env: ClassVar[Mapping[str, str]] = {
        "GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample",
        "GUILDCHAT_PUBLIC_KEY": guildchat.PUBLIC_KEY,
    }
    families = ((b"x-signature-ed25519",), (b"x-signature-timestamp",))

    def says(self, number: int, random: Random) -> bytes:
        """A command, a button, a dialogue, or an event."""
        chat = str(int(guildchat.CHANNEL_ID) + number % 50)
        message = {"id": str(number), "content": "hello", "channel_id": chat, "author": guildchat.ANNA}
        makers: list[Callable[[], bytes]] = [
            lambda: guildchat.interaction(number, 2, guildchat.ASK, channel_id=chat),
            lambda: guildchat.interaction(number, 2, guildchat.SAVE, channel_id=chat),
            lambda: guildchat.interaction(number, 3, {"custom_id": "go"}, channel_id=chat, message={"id": "9"}),
            lambda: guildchat.interaction(number, 5, guildchat.FORM, channel_id=chat),
            lambda: guildchat.event("LOBBY_MESSAGE_CREATE", lobby_id="4", **message),
        ]
        return random.choice(makers)()

    def proof(self, body: bytes, now: float, random: Random) -> tuple[Header, ...]:
        """As the product does it."""
        return self._sign(b"%d" % now, body)

    def false_proofs(self, body: bytes, now: float) -> Sequence[tuple[Header, ...]]:
        """With another key, over other bytes, over a timestamp that is none, and the twin of a signature."""
        stamp = b"%d" % now
        (name, good), time = self._sign(stamp, body)
        raw = bytes.fromhex(good.decode())
        twin = (int.from_bytes(raw[32:], "little") + _ORDER).to_bytes(32, "little")
        odd = (b"", b"abc", stamp + b".0", b"-1", b"1" * 21, b" " + stamp, stamp + b"{")
        return [
            *(self._sign(other, body) for other in odd),
            self._sign(stamp, body, key=SigningKey(b"\1" * 32)),
            ((name, good), (time[0], b"%d" % (now + 1))),
            ((name, good), (time[0], b"0" + stamp)),
            ((name, (raw[:32] + twin).hex().encode()), time),
            ((name, (b"\1" + bytes(63)).hex().encode()), time),
            ((name, b"0" * 128), time),
        ]

    def _sign(self, stamp: bytes, body: bytes, *, key: SigningKey = guildchat.KEY) -> tuple[Header, ...]:
        names = (names[0] for names in self.families)
        return tuple(zip(names, (key.sign(stamp + body).signature.hex().encode(), stamp), strict=True))


class Botchat(Product):
    """A shared secret in a header; it proves nothing about the body."""

    kind = "botchat"
    secret = "BOTCHAT_WEBHOOK_SECRET"
    signs_body = False
    env: ClassVar[Mapping[str, str]] = {
        "BOTCHAT_BOT_TOKEN": TOKEN,
        "BOTCHAT_MODE": "webhook",
        "BOTCHAT_WEBHOOK_URL": "https://example.org/webhook/botchat",
        "BOTCHAT_WEBHOOK_SECRET": "a-Secret_0123456789",
    }
    families = ((b"x-botchat-bot-api-secret-token", b"x-telegram-bot-api-secret-token"),)

    def says(self, number: int, random: Random) -> bytes:
        """A text, a command in a topic, a photo, an edit, a button, a group that moves."""
        person = {"id": 1001, "is_bot": False, "first_name": "Ann", "username": "ann", "language_code": "de"}
        group = {"id": -1000 - number % 50, "type": "supergroup", "title": "ops", "is_forum": True}
        private = {"id": 1000 + number % 50, "type": "private", "first_name": "Ann"}
        message = {"message_id": number, "from": person, "chat": private, "date": 1_700_000_000, "text": "hello 😀"}
        mention = {"type": "mention", "offset": 0, "length": 7}
        in_topic = {"chat": group, "is_topic_message": True, "message_thread_id": 9, "entities": [mention]}
        query = {"id": str(number), "from": person, "data": "mode:chat", "message": message}
        photo = [{"file_id": "f", "width": 1, "height": 2, "file_size": 3}]
        said: dict[str, Any] = random.choice([
            {"message": message},
            {"message": {**message, **in_topic, "text": "@helper /run x"}},
            {"message": {**message, "photo": photo, "caption": "see", "media_group_id": "7"}},
            {"message": {**message, "voice": {"file_id": "v", "duration": 2}, "reply_to_message": message}},
            {"edited_message": {**message, "edit_date": 1_700_000_001}},
            {"callback_query": query},
        ])  # fmt: skip
        return json.dumps({"update_id": number, **said}).encode()

    def proof(self, body: bytes, now: float, random: Random) -> tuple[Header, ...]:
        """Either name."""
        return ((random.choice(self.families[0]), self.env[self.secret].encode()),)

    def false_proofs(self, body: bytes, now: float) -> Sequence[tuple[Header, ...]]:
        """Almost the secret."""
        secret = self.env[self.secret].encode()
        odd = (secret.lower(), secret.swapcase(), secret[::-1], secret * 2, secret.hex().encode(), b'"' + secret + b'"')
        return [((self.families[0][0], other),) for other in odd]


PRODUCTS: Mapping[str, Product] = {product.kind: product for product in (Teamchat(), Guildchat(), Botchat())}
