"""The least that a worker can do: read a stream, make the HTTP call, acknowledge.

`python bare_consumer.py SOCKET STREAM URL PLACES` reads with a group, as many entries at once as it has places; it
keeps no record, knows no retries, and loses what it was sending when it is killed. It ends on SIGTERM.
"""

import asyncio
import sys
from typing import Any

import aiohttp
import uvloop
from redis.asyncio import Redis

GROUP = "bare"


async def main(socket: str, stream: str, url: str, places: int) -> None:
    """Send until killed."""
    client: Any = Redis(unix_socket_path=socket)
    sending: set[asyncio.Task[None]] = set()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)) as session:

        async def send(id_: bytes, fields: dict[bytes, bytes]) -> None:
            async with session.post(url, data=fields[b"body"]) as response:
                answer = await response.json()
                assert isinstance(answer["id"], int)
            await client.xack(stream, GROUP, id_)

        while True:
            if len(sending) == places:
                await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
            found = await client.xreadgroup(GROUP, "me", {stream: ">"}, count=places - len(sending), block=1000)
            for id_, fields in found[0][1] if found else []:
                task = asyncio.create_task(send(id_, fields))
                sending.add(task)
                task.add_done_callback(sending.discard)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:4], int(sys.argv[4])))
