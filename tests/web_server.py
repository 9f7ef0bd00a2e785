"""A web server on loopback for routes of aiohttp, in the place of a provider, a receiver or our own gateway."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import TestServer


@asynccontextmanager
async def web_server(*routes: web.AbstractRouteDef, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve routes and return the address, without a slash at its end."""
    app = web.Application()
    app.add_routes(routes)
    server = TestServer(app)
    await server.start_server(ssl=tls, access_log=None, shutdown_timeout=0.1)
    async with server:
        yield str(server.make_url("/")).rstrip("/")
