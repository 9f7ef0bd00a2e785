"""Pings by the client `healthchecks-io`, which has an environment of its own: it needs an older HTTP client than ours.

    python healthchecks_client.py ADDRESS CODE KEY

Prints the kinds of the pings that must have been recorded, in order.
"""

import asyncio
import json
import sys
from contextlib import suppress

from healthchecks_io import AsyncClient, CheckNotFoundError, CheckTrap, Client


def report(address: str, code: str, key: str) -> list[str]:
    """Use everything by which the client reports; `uuid` and `slug` find the same heartbeat."""
    client = Client(ping_key=key, ping_url=address)
    for where in ({"uuid": code}, {"slug": "backup"}):
        assert client.start_ping(**where) == (True, "OK")
        assert client.success_ping(**where, data="3 files") == (True, "OK")
        assert client.fail_ping(**where, data="the disk is full") == (True, "OK")
        assert client.exit_code_ping(0, **where) == (True, "OK")
        assert client.exit_code_ping(3, **where) == (True, "OK")
    with CheckTrap(client, uuid=code) as trap:
        trap.add_log("it works")
    with suppress(ZeroDivisionError), CheckTrap(client, slug="backup"):
        raise ZeroDivisionError
    with suppress(CheckNotFoundError):
        client.success_ping(uuid="11111111-2222-4333-8444-555555555555")
        raise AssertionError("an unknown address was accepted")
    asyncio.run(report_asynchronously(address, code, key))
    each = ["start", "success", "fail", "success", "fail"]
    return [*each, *each, "start", "success", "start", "fail", "start", "success"]


async def report_asynchronously(address: str, code: str, key: str) -> None:
    """Report a start and an end by the asynchronous client."""
    async with AsyncClient(ping_key=key, ping_url=address) as client, CheckTrap(client, uuid=code):
        pass


if __name__ == "__main__":
    sys.stdout.write(json.dumps(report(*sys.argv[1:])))
