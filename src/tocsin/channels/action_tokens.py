"""The tokens of `call` buttons, which a press sends back.

A token names a delivery, the number of one of its actions, and a secret of the delivery. It has 48 bytes; Telegram, the
strictest product, takes 64.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from tocsin.channels.model import Outgoing

# The key of `Outgoing.extra` with the secret of the tokens of a message.
SECRET = "press_secret"  # noqa: S105  # the name of a field
# How the keys of messages begin that have a `call` button and no key of their own: a press edits the message.
OWN_KEY = "call:"
LINK_PATH = "/a/"  # below PUBLIC_URL: the pages that stand for buttons where a product has none

_TOKEN = re.compile(r"a:([A-Za-z0-9_-]{22})([0-9])\.([A-Za-z0-9_-]{22})")
_NO_ID, _NO_SECRET = str(UUID(int=0)), "0" * 22  # of a message that is only checked or planned


@dataclass(frozen=True, slots=True)
class ActionToken:
    """The data that a pressed button sends: the delivery, the position of the action, and the secret."""

    delivery: str
    number: int
    secret: str = field(repr=False)

    def __str__(self) -> str:
        """Return the token as a button carries it."""
        packed = urlsafe_b64encode(UUID(self.delivery).bytes).decode().rstrip("=")
        return f"a:{packed}{self.number}.{self.secret}"

    def is_of(self, extra: Mapping[str, Any]) -> bool:
        """Whether the secret is that of the delivery with these extras."""
        own = extra.get(SECRET)
        return isinstance(own, str) and bool(own) and hmac.compare_digest(own.encode(), self.secret.encode())


def read_token(data: str | None) -> ActionToken | None:
    """Return the token that a press sent; `None` for the data of another button."""
    found = _TOKEN.fullmatch(data or "")
    if found is None:
        return None
    return ActionToken(str(UUID(bytes=urlsafe_b64decode(f"{found[1]}=="))), int(found[2]), found[3])


def make_token(outgoing: Outgoing, number: int) -> str:
    """Return the token of an action of a message."""
    return str(ActionToken(outgoing.key or _NO_ID, number, outgoing.extra.get(SECRET) or _NO_SECRET))


def with_secret(outgoing: Outgoing) -> Outgoing:
    """Return a message whose `call` buttons have a secret, and which has a key; its content may be invalid."""
    actions = outgoing.content.get("actions") if outgoing.content else None
    if not isinstance(actions, list | tuple) or SECRET in outgoing.extra:
        return outgoing
    if not any(isinstance(each, Mapping) and each.get("action") == "call" for each in actions):
        return outgoing
    secret = token_urlsafe(16)  # never a part of the key, which readers of deliveries see
    key = outgoing.content.get("key") or f"{OWN_KEY}{token_urlsafe(16)}"
    content = {**outgoing.content, "key": key}
    return replace(outgoing, content=content, extra={**outgoing.extra, SECRET: secret})


def given_key(key: str) -> str:
    """Return the key of a message as its caller gave it: empty for one that `with_secret` added."""
    return "" if key.startswith(OWN_KEY) else key


def comparable(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of a message as its caller gave it."""
    added = content.get("key") and not given_key(str(content["key"]))
    return {name: value for name, value in content.items() if name != "key"} if added else content
