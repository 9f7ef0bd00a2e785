"""Confirmation by a person at the terminal before a long text is sent as many messages."""

from collections.abc import Sequence

from tocsin.assembly.program import App
from tocsin.core.errors import TocsinError
from tocsin.terminal.output import Console

ASK_ABOVE = 20  # messages for one target
_CERTAINLY_SHORT = 1_000  # characters; every known channel splits such a text into a few messages at most


async def may_send(app: App, out: Console, targets: Sequence[tuple[str, str]], message: str) -> bool:
    """Ask a person to confirm a text of many messages; return True for short texts and without a terminal."""
    if len(message) <= _CERTAINLY_SHORT:
        return True
    counts = [_count(app, channel, target, message) for channel, target in targets]
    if max(counts, default=0) <= ASK_ABOVE:
        return True
    where = f"on {targets[0][0]} to {targets[0][1]}" if len(targets) == 1 else f"for {len(targets)} targets"
    if await out.confirmed(f"The text will be sent as {sum(counts):,} messages {where}. Continue?"):
        return True
    out.error("no message was sent", "shorten the text, or add --yes to skip this question")
    return False


def _count(app: App, channel: str, target: str, message: str) -> int:
    try:
        return app.outbox.count_parts(channel, target, message)
    except TocsinError:  # the send itself reports the error
        return 0
