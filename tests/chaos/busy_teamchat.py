"""A teamchat with as many channels as asked for: `python busy_teamchat.py 2000`.

The first line of its output is its address; it ends on SIGTERM. It allows one message a second in a channel,
and short bursts.
"""

import asyncio
import signal
import sys

from tocsin_standins.teamchat.server import TeamChat, TeamchatConversation


def channel(number: int) -> str:
    """Return the ID of a channel."""
    return f"C0BUSY{number:05}"


async def main(channels: int) -> None:
    """Serve until told to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    places = [TeamchatConversation(channel(number), f"busy-{number}") for number in range(channels)]
    async with TeamChat(places=places, paced=True) as teamchat:
        sys.stdout.write(f"{teamchat.url}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
