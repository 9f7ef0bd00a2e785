"""A webhook as the gateway serves it, without storing anything: verify, read, answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from tests.web_server import web_server

from tocsin.channels.inbound import Handshake, InboundAdapter, InboundMessage, RejectedError, WebhookRequest
from tocsin.core.time.clock import Clock


@dataclass(slots=True)
class Endpoint:
    """Where it is, what came in, and the status to answer with instead of the right one, each once."""

    url: str = ""
    messages: list[InboundMessage] = field(default_factory=list)
    troubles: list[int] = field(default_factory=list)
    retries: list[dict[str, str]] = field(default_factory=list)


@asynccontextmanager
async def webhook(receiver: InboundAdapter, clock: Clock) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()

    async def handle(request: web.Request) -> web.Response:
        endpoint.retries.append({name: value for name, value in request.headers.items() if "Retry" in name})
        if endpoint.troubles:
            return web.Response(status=endpoint.troubles.pop(0))
        headers = tuple((name.lower(), value) for name, value in request.headers.items())
        call = WebhookRequest(headers, await request.read())
        try:
            receiver.verify(call, clock.now())
        except RejectedError:
            return web.Response(status=401)
        found = await receiver.receive(call)
        if isinstance(found, InboundMessage):
            endpoint.messages.append(found)
        answer = found.answer if isinstance(found, Handshake) else receiver.answer_to(found)
        return web.Response(status=answer.status, body=answer.body, content_type=answer.content_type or None)

    async with web_server(web.post("/", handle)) as url:
        endpoint.url = f"{url}/"
        yield endpoint
