"""A mail server that offers no STARTTLS, as one whose offer was cut out on the way; says what it was given.

The first line of its output is its port; when its standard input ends, it writes how many messages it took.
"""

import asyncio
import sys

from tocsin_standins.mail import MailServer


async def main() -> None:
    """Serve until standard input ends."""
    async with MailServer(mode="plain") as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        sys.stdout.write(f"{len(server.recorder)}\n")


if __name__ == "__main__":
    asyncio.run(main())
