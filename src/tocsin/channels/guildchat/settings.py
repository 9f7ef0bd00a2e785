"""Settings of the receiver."""

from tocsin.core.config.variables import Variable


def _public_key(value: str) -> str:
    """Read an Ed25519 public key."""
    digits = value.strip().lower()
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise ValueError("the application's public key: 64 hexadecimal digits (Developer Portal, General Information)")
    return digits


PUBLIC_KEY = Variable(
    "GUILDCHAT_PUBLIC_KEY",
    _public_key,
    "",
    "Public key of the application, 64 hexadecimal digits; without it, all webhook requests are rejected.",
)
