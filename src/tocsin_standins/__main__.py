"""Run the stand-ins as a separate process: `python -m tocsin_standins --page-port 8300`.

The first line on standard output is JSON: `environment` for Tocsin, `control` with one base URL per stand-in.
Ends on SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Mapping

from tocsin_standins.cluster import open_standins

NAMES = ("teamchat", "botchat", "guildchat", "email", "chatmodel", "page")


async def run(ports: Mapping[str, int], *, paced: bool) -> None:
    """Serve until told to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_standins(ports=ports, paced=paced) as cluster:
        sys.stdout.write(json.dumps({"environment": cluster.environment(), "control": cluster.control()}) + "\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    """Read the ports and serve."""
    parser = argparse.ArgumentParser(prog="python -m tocsin_standins", description=__doc__)
    for name in NAMES:
        parser.add_argument(f"--{name}-port", type=int, default=0, help="0, the default, chooses a free one")
    parser.add_argument("--paced", action="store_true", help="enforce the products' rate limits")
    given = parser.parse_args()
    ports = {name: getattr(given, f"{name}_port") for name in NAMES}
    asyncio.run(run(ports, paced=given.paced))


if __name__ == "__main__":
    main()
