"""A large file is read in blocks on the channels that bring their own stand-in, whose memory would count as ours."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from tests.channels.test_files import MIB, Contents

from tocsin.channels.contract import OutboundAdapter, Outgoing
from tocsin.channels.matrix import MatrixAdapter
from tocsin.channels.mattermost import MattermostAdapter
from tocsin.channels.ntfy import NtfyAdapter
from tocsin.channels.webhook import WebhookAdapter
from tocsin.channels.webhook.standin import SECRET
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.http.transport import HttpResponse
from tocsin.testing import build_adapter

ENV = {
    "NTFY_URL": "https://ntfy.example",
    "MATRIX_URL": "https://matrix.example",
    "MATRIX_TOKEN": "syt_exampleexampleexample",
    "MATTERMOST_URL": "https://chat.example",
    "MATTERMOST_TOKEN": "exampleexampleexampleexamp",
}
ANSWER = {"id": "m1", "event_id": "$e", "user_id": "@a:b", "device_id": "D", "content_uri": "mxc://a/b"}
ANSWERS = {**ANSWER, "file_infos": [{"id": "f1"}]}
RETRIES = 3


class Uploads:
    """A provider that reads uploads block by block; the first ones are cut off."""

    def __init__(self) -> None:
        self.whole: list[int] = []  # bytes of each upload

    def guarded(self, check_address: Callable[[str], None]) -> "Uploads":
        return self

    async def aclose(self) -> None: ...

    async def request(self, method: str, url: str, *, headers: Any, body: Any = b"", **given: Any) -> HttpResponse:
        if not isinstance(body, bytes):
            size = sum([len(block) async for block in body.blocks()])
            assert size == len(body)
            self.whole.append(size)
            if len(self.whole) <= RETRIES:
                raise RemoteError("cut off", kind=FailureKind.TRANSIENT)
        if url.endswith("m.room.encryption"):
            return HttpResponse(404, {}, b'{"errcode": "M_NOT_FOUND", "error": ""}')
        return HttpResponse(200, {}, json.dumps(ANSWERS).encode())


@pytest.mark.parametrize(
    ("adapter", "target", "mib"),
    [
        (NtfyAdapter, "ops", 20),
        (MatrixAdapter, "!ops:matrix.example", 20),
        (MattermostAdapter, "c" * 26, 20),
        (WebhookAdapter, "ci", 10),
    ],
)
async def test_a_large_file_and_three_retries_take_less_than_a_mebibyte(
    adapter: type[OutboundAdapter], target: str, mib: int
):
    contents, http = Contents(), Uploads()
    targets = {"ci": {"url": "https://ci.example", "secret": SECRET}} if adapter is WebhookAdapter else None
    channel = build_adapter(adapter, ENV, http=http, targets=targets, read_file=contents.read)
    outgoing = Outgoing(target, "hello", "d1", content={"attach": [contents.large(mib)]})
    channel.check(outgoing)  # loads what messages with fields need
    tracemalloc.start()
    try:
        receipts = [await channel.transmit(outgoing, patient=False) for _ in range(RETRIES + 1)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [receipt.result.ok for receipt in receipts] == [False] * RETRIES + [True], receipts[-1].result.error
    assert len(http.whole) == RETRIES + 1
    assert min(http.whole) >= mib * MIB
    assert peak < MIB
