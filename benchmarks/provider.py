"""A provider that answers at once, so that the programs in front of it are what is measured.

Speaks enough of the teamchat interface for Tocsin and accepts any other POST; `GET /count` tells how
many messages it was given.
"""

import asyncio
import sys

import httptools
import uvloop

OK = b'{"ok":true,"channel":"C1","ts":"1503435956.000247"}'


class Provider(asyncio.Protocol):
    """One connection."""

    messages = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start parsing."""
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Answer."""
        body = OK
        if self.parser.get_method() == b"POST":
            Provider.messages += 1
        else:
            body = str(Provider.messages).encode()
        self.transport.write(  # type: ignore[attr-defined]
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )


async def main() -> None:
    """Serve on a free port, whose number is the first line of the output, until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Provider, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(main())
