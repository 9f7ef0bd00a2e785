"""The stand-ins on a thread of their own: plain tests wait for child processes meanwhile."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from tests.waiting import PATIENCE_S

from tocsin_standins import StandinCluster, open_standins
from tocsin_standins.serving import HttpStandIn


@contextmanager
def town_on_a_thread(further: Sequence[type[HttpStandIn]] = ()) -> Iterator[StandinCluster]:
    """Run the stand-ins until the end of the block; `further` are those that channels bring."""
    started: Future[tuple[StandinCluster, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stop = asyncio.Event()
        try:
            async with open_standins(further=further) as town:
                started.set_result((town, asyncio.get_running_loop(), stop))
                await stop.wait()
        except Exception as error:
            if not started.done():
                started.set_exception(error)
            raise

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="stand-ins")
    thread.start()
    town, loop, stop = started.result(timeout=PATIENCE_S)
    try:
        yield town
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=PATIENCE_S)


def reset(town: StandinCluster) -> None:
    """Forget what was received and every fault."""
    town.recorder.clear()
    for standin in (town.teamchat, town.botchat, town.guildchat, town.mail, town.chatmodel):
        standin.faults.clear()
    town.chatmodel.forget()
