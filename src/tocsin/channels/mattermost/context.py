"""The context of a button, which the server keeps to itself and sends with a press: the proof of an unsigned call.

Source: docs/facts/mattermost.md, "Buttons".
"""

import hmac
from collections.abc import Mapping

from tocsin.channels.mattermost.api import TOKEN
from tocsin.core.config.settings import Values


def signed_context(config: Values, token: str) -> dict[str, str]:
    """Return the context for the token of a button."""
    return {"token": token, "signature": _signature(config, token)}


def is_signed(config: Values, context: Mapping[str, object]) -> bool:
    """Whether a context was signed with the bot's current access token."""
    token, given = context.get("token"), context.get("signature")
    if not (isinstance(token, str) and isinstance(given, str) and config[TOKEN]):
        return False
    return hmac.compare_digest(_signature(config, token).encode(), given.encode("utf-8", "replace"))


def _signature(config: Values, token: str) -> str:
    # A key of its own, so that no signature says anything about the access token's other uses.
    key = hmac.digest(config[TOKEN].encode(), b"tocsin button", "sha256")
    return hmac.digest(key, token.encode(), "sha256").hex()
