"""A stand-in that stops, while clients connect."""

import asyncio
import socket

from tests.waiting import PATIENCE_S

from tocsin_standins.chatmodel.server import ChatModel


async def test_a_stand_in_that_stops_closes_what_it_has_just_accepted():
    model = ChatModel()
    await model.start()
    host, _, port = model.url.removeprefix("http://").partition(":")
    clients = [socket.create_connection((host, int(port)), PATIENCE_S) for _ in range(5)]
    for _ in range(2):  # they are accepted, and none is a connection of the server yet
        await asyncio.sleep(0)

    await model.stop()

    for client in clients:
        assert await asyncio.to_thread(client.recv, 1) == b""
        client.close()
