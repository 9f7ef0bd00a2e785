"""Files against a real homeserver, Synapse, where one is installed: uploads, repeats, and their removal."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.channels.matrix.homeserver import Homeserver, homeserver, program
from tests.channels.test_files import PNG, Contents

from tocsin.channels.contract import KeyedMessage, MessageOperation, Outgoing
from tocsin.channels.matrix import MatrixAdapter
from tocsin.core.http.direct import DirectTransport
from tocsin.core.ids import new_id
from tocsin.core.time.clock import SystemClock
from tocsin.testing import build_adapter

pytestmark = pytest.mark.skipif(program() is None, reason="synapse_homeserver is not installed")


@pytest.fixture(scope="module")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homeserver]:
    place: Path = tmp_path_factory.mktemp("synapse")
    with homeserver(place) as server:
        yield server


async def test_files_are_shown_once_replaced_and_removed_on_a_real_homeserver(synapse: Homeserver):
    contents, http = Contents(), DirectTransport()
    token = await asyncio.to_thread(synapse.register, "files")
    room = await asyncio.to_thread(synapse.create_room, token)
    env = {"MATRIX_URL": synapse.url, "MATRIX_TOKEN": token}
    adapter = build_adapter(MatrixAdapter, env, http=http, clock=SystemClock(), read_file=contents.read)
    picture = contents.file("graph.png", PNG, "image/png", alt="Load")
    log = contents.file("df \u00e4.log", b"line\n" * 100_000)

    async def shown() -> list[dict[str, Any]]:
        events = await asyncio.to_thread(synapse.messages, token, room)
        return [event["content"] for event in events if event["content"].get("url")]

    content = {"key": "disk", "attach": [picture, log]}
    first = Outgoing(room, "firing", new_id(), content=content, keyed=KeyedMessage("disk"))
    sent = [await adapter.transmit(first) for _ in range(2)]  # the second one repeats the first
    assert [each.result.ok for each in sent] == [True, True], sent[0].result.error
    assert sent[0].ref == sent[1].ref
    assert [(each["msgtype"], each["filename"]) for each in await shown()] == [
        ("m.image", "graph.png"), ("m.file", "df \u00e4.log"),
    ]  # fmt: skip
    edit = KeyedMessage("disk", MessageOperation.EDIT, sent[0].ref)
    kept = await adapter.transmit(replace(first, text="still firing", key=new_id(), content={}, keyed=edit))
    assert len(await shown()) == 2
    done = await adapter.transmit(
        replace(first, text="resolved", key=new_id(), content={"attach": []}, keyed=replace(edit, ref=kept.ref))
    )
    assert done.result.ok, done.result.error
    assert await shown() == []
    await http.aclose()
