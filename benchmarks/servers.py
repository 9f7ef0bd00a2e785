"""What the gateway is compared with, as ASGI applications: `python servers.py floor|apprise PORT PROVIDER`.

`floor` is the least that a gateway can do: read the body, post it with a raw client, answer.
`apprise` puts Apprise's library behind the same server.
"""

import json
import sys
from typing import Any
from urllib.parse import quote

import uvicorn

OK = b'{"ok":true}'


async def read(receive: Any) -> bytes:
    """Return the whole body."""
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def answer(send: Any, status: int) -> None:
    """Answer with a fixed JSON body."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(OK)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": OK})


def floor(provider: str) -> Any:
    """Return the bare application: aiohttp alone."""
    import aiohttp

    sessions: list[aiohttp.ClientSession] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)))
        body = json.loads(await read(receive))
        async with sessions[0].post(f"{provider}/chat.postMessage", json={"text": body["message"]}) as response:
            result = await response.json()
        await answer(send, 200 if result["ok"] else 502)

    return app


def apprise(provider: str) -> Any:
    """Return the application that sends with Apprise."""
    from apprise import Apprise

    base = provider.replace("http://", "json://")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = json.loads(await read(receive))
        # As Apprise's own HTTP service does it: the request names the target, so each one gets its sender.
        sender = Apprise()
        sender.add(f"{base}/{quote(body['target'], safe='')}")
        await answer(send, 200 if await sender.async_notify(body=body["message"]) else 502)

    return app


if __name__ == "__main__":
    kind, port, provider_url = sys.argv[1:]
    uvicorn.run(
        {"floor": floor, "apprise": apprise}[kind](provider_url),
        port=int(port),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_level="warning",
        access_log=False,
    )
