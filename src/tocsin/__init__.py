"""Tocsin: one dependable place to send and receive messages.

async with tocsin.open() as t:
    result = await t.send("email", "ops@example.org", "Backup done")

tocsin.send("teamchat", "#ops", "Backup done")   # blocking; returns the same result
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["NotifyResult", "SendResult", "Tocsin", "__version__", "notify", "open", "send"]

if TYPE_CHECKING:
    from tocsin.api import NotifyResult, SendResult, Tocsin, notify, open, send  # noqa: A004  # see api.py


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Import the interface on first use: every command starts by importing this package.
    if name not in __all__:
        raise AttributeError(f"module 'tocsin' has no attribute {name!r}")
    from tocsin import api

    return getattr(api, name)
