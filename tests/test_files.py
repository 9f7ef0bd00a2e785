"""Files from a caller to the product: stored, queued, sent, kept and removed (docs/messages.md, "Files")."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.facts import mentions

import tocsin
from tocsin.api import Tocsin
from tocsin.assembly.program import App
from tocsin.core.errors import ChannelError
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.dispatcher import Dispatcher
from tocsin.delivery.model import Delivery, DeliveryStatus
from tocsin.messaging.outbound.caller import Caller
from tocsin_standins import StandinCluster, open_standins
from tocsin_standins.faults import Fault

CHAT = "1001"
CALLER = Caller("test")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10"


class Bench:
    """An open Tocsin whose channels are played by the stand-ins."""

    def __init__(self, tocsin: Tocsin, app: App, town: StandinCluster, folder: Path) -> None:
        self.tocsin = tocsin
        self.app = app
        self.town = town
        self.folder = folder

    def write(self, name: str, data: bytes = b"line\n") -> Path:
        """Write a file that a message can have."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    async def ended(self, delivery: Delivery) -> Delivery:
        """Run the queue until it has made one more attempt."""
        dispatcher = Dispatcher(self.app.outbox.store, self.app.registry, SystemClock())
        run = asyncio.create_task(dispatcher.run())
        try:
            while True:
                found = await self.app.outbox.get(delivery.id)
                if found.attempts > delivery.attempts and found.status is not DeliveryStatus.SENDING:
                    return found
                await asyncio.sleep(0.01)
        finally:
            dispatcher.stop()
            await run

    def contents(self) -> set[bytes]:
        """Return the files that the chat has received."""
        return {data for _, data, _ in self.town.botchat.world.files.values()}

    def stored(self) -> list[Path]:
        """Return the stored contents."""
        return sorted((self.folder / "data" / "files").glob("[0-9a-f][0-9a-f]/*"))


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    async with open_bench(tmp_path, monkeypatch) as bench:
        yield bench


@asynccontextmanager
async def open_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **env: str) -> AsyncIterator[Bench]:
    monkeypatch.chdir(tmp_path)
    async with open_standins() as town:
        for name, value in {**town.environment(), "TOCSIN_DATA_DIR": str(tmp_path / "data"), **env}.items():
            monkeypatch.setenv(name, value)
        async with tocsin.open() as opened:
            yield Bench(opened, opened._app, town, tmp_path)  # noqa: SLF001  # the queue is not part of the interface


async def test_a_file_is_sent_with_its_text_as_caption(bench: Bench):
    result = await bench.tocsin.send("botchat", CHAT, "The *log*", attach=[bench.write("web1.log")])
    assert result.ok, result.error
    (message,) = bench.town.recorder.of("botchat")
    assert (message.text, message.body["caption"]) == ("The log", "The *log*")
    assert bench.contents() == {b"line\n"}


async def test_a_queued_file_is_stored_before_it_is_sent_and_its_path_is_not_needed(bench: Bench):
    path = bench.write("graph.png", PNG)
    delivery = await bench.tocsin.enqueue("botchat", CHAT, "Load", attach=str(path))
    path.unlink()
    assert [each.read_bytes() for each in bench.stored()] == [PNG]
    found = await bench.ended(delivery)
    assert found.status is DeliveryStatus.SENT
    assert found.content["attach"] == [
        {"name": "graph.png", "type": "image/png", "hash": bench.stored()[0].name, "size": len(PNG)}
    ]
    assert bench.contents() == {PNG}


@pytest.mark.parametrize(("attach", "stored"), [({}, None), ({"attach": []}, [])])
async def test_an_edit_says_whether_it_removes_the_files_of_its_message(
    bench: Bench, attach: dict[str, Any], stored: list[object] | None
):
    delivery = await bench.tocsin.enqueue("botchat", CHAT, "full", key="disk", **attach)
    assert delivery.content.get("attach") == stored


async def test_a_message_may_have_files_and_no_text(bench: Bench):
    result = await bench.tocsin.send("botchat", CHAT, "", attach=[bench.write("a.log"), bench.write("b.log", b"b")])
    assert result.ok, result.error
    assert bench.contents() == {b"line\n", b"b"}


async def test_files_of_several_kinds_follow_the_text_in_order(bench: Bench):
    files = [bench.write("a.png", PNG), bench.write("b.png", PNG + b"b"), bench.write("c.log")]
    result = await bench.tocsin.send("botchat", CHAT, "Three", attach=files)
    assert result.ok, result.error
    records = bench.town.recorder.of("botchat")
    assert [record.text for record in records] == ["Three", "", "", ""]
    replies = {record.body["reply_parameters"] for record in records[1:]}
    assert replies == {f'{{"message_id": {records[0].id}, "allow_sending_without_reply": true}}'}


async def test_a_picture_that_the_product_cannot_show_is_sent_as_a_file(bench: Bench):
    wide = PNG[:16] + (9_000).to_bytes(4, "big") * 2
    result = await bench.tocsin.send("botchat", CHAT, "wide", attach=[bench.write("wide.png", wide)])
    assert result.ok, result.error
    assert bench.contents() == {wide}


async def test_the_queue_repeats_only_the_files_that_did_not_arrive(bench: Bench):
    bench.town.botchat.faults.push(Fault.error("Bad Gateway", http_status=502).only("sendMediaGroup"))
    files = [bench.write("a.log"), bench.write("b.log", b"b")]
    delivery = await bench.tocsin.enqueue("botchat", CHAT, "Two logs", attach=files)
    waiting = await bench.ended(delivery)
    assert (waiting.status, waiting.parts_sent, waiting.parts_total) == (DeliveryStatus.RETRY_WAIT, 1, 2)
    assert mentions(waiting.error, "the text was sent, but not every file")
    found = await bench.ended(await bench.app.outbox.retry(delivery.id, CALLER))
    assert found.status is DeliveryStatus.SENT
    texts = [record.text for record in bench.town.recorder.of("botchat")]
    assert texts == ["Two logs", "", ""]
    assert "reply_parameters" in bench.town.recorder.of("botchat")[1].body


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _written(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


BAD: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "missing": (lambda folder: folder / "missing.log", ("cannot read", "No such file")),
    "empty": (lambda folder: _written(folder, "empty.log", b""), ("empty.log is empty",)),
    "a folder": (lambda folder: folder, ("is a folder", "attach a regular file")),
    "a pipe": (_pipe, ("is a pipe or a device",)),
    "too large": (lambda folder: _written(folder, "big", b"x" * (2**20 + 1)), ("MAX_FILES_MB is 1 MiB",)),
    "a name with a line break": (
        lambda folder: _written(folder, "a\nb.log", b"x"),
        ("attach", "not the name of a file"),
    ),
    "a name that turns the text": (
        lambda folder: _written(folder, "x\u202egpj.exe", b"x"),
        ("not the name of a file",),
    ),
    "eleven": (lambda folder: [_written(folder, f"{n}.log", b"x") for n in range(11)], ("at most 10 files, not 11",)),
    "no path": (lambda _: 7, ("must be a path or an object",)),
    "no Base64": (lambda _: {"name": "a.log", "content": "%"}, ("not Base64",)),
    "an unknown hash": (lambda _: {"name": "a.log", "hash": "0" * 64}, ("the content of a file is gone",)),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_file_that_cannot_be_attached_is_refused_and_nothing_is_sent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make, said = BAD[name]
    async with open_bench(tmp_path, monkeypatch, MAX_FILES_MB="1") as bench:
        given = make(tmp_path)
        result = await bench.tocsin.send("botchat", CHAT, "hello", attach=given if isinstance(given, list) else [given])
        assert not result.ok
        assert mentions(result.error, *said), result.error
        assert bench.town.recorder.of("botchat", kind="") == []


async def test_a_file_that_changes_while_it_is_read_is_refused(bench: Bench):
    path = bench.write("growing.log", b"x" * 600_000)
    task = asyncio.create_task(bench.app.files().take({"attach": [path]}, paths=True, dry_run=True))
    while not task.done():
        with path.open("ab") as file:
            file.write(b"more")
        await asyncio.sleep(0)
    with pytest.raises(ChannelError, match="changed while it was read"):
        task.result()


async def test_a_channel_without_files_refuses_them_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "targets.yaml").write_text("teams:\n  ops:\n    url: https://127.0.0.1:9/workflows/a\n")
    async with open_bench(tmp_path, monkeypatch) as bench:
        result = await bench.tocsin.send("teams", "ops", "hello", attach=[bench.write("a.log")])
        assert mentions(result.error, "cannot send a message with attach")


async def test_a_dry_run_reads_the_files_and_stores_none(bench: Bench):
    content = await bench.app.files().take({"attach": [bench.write("a.log")]}, paths=True, dry_run=True)
    plan = bench.app.outbox.plan("botchat", CHAT, "hello", content=content)
    assert [(each.field, str(each.support)) for each in plan.fields] == [("attach", "native")]
    assert [(each.name, each.size) for each in plan.files] == [("a.log", 5)]
    assert bench.stored() == []


async def test_the_same_content_is_stored_once(bench: Bench):
    for name in ("a.log", "b.log"):
        await bench.tocsin.enqueue("botchat", CHAT, "hello", attach=[bench.write(name)])
    assert len(bench.stored()) == 1


async def test_a_file_is_kept_as_long_as_a_delivery_needs_it(bench: Bench):
    waiting = await bench.tocsin.enqueue("botchat", CHAT, "later", attach=[bench.write("a.log")])
    store = bench.app.outbox.store
    needed = await store.needed_files(SystemClock().now() + 3_600)
    assert needed == {each.name for each in bench.stored()}
    await bench.app.outbox.cancel(waiting.id, CALLER)
    assert await store.needed_files(SystemClock().now() + 3_600) == frozenset()


async def test_a_replay_after_the_content_was_removed_says_so(bench: Bench):
    delivery = await bench.tocsin.enqueue("botchat", CHAT, "later", attach=[bench.write("a.log")])
    for each in bench.stored():
        each.unlink()
    found = await bench.ended(delivery)
    assert found.status is DeliveryStatus.DEAD
    assert mentions(found.error, "the content of a file is gone", "FILES_KEEP_DAYS")
    assert bench.town.recorder.of("botchat") == []


async def test_a_text_that_is_too_long_for_its_key_is_cut_and_the_whole_is_a_file(bench: Bench):
    text = "word " * 2_000
    result = await bench.tocsin.send("botchat", CHAT, text, key="disk")
    assert result.ok, result.error
    first, file = bench.town.recorder.of("botchat")
    assert first.text.endswith("(the whole text is in message.txt)")
    assert len(first.text) <= 4_000
    assert bench.contents() == {text.encode()}
    assert "reply_parameters" in file.body


async def test_an_edit_with_the_same_files_sends_them_once(bench: Bench):
    path = bench.write("a.log")
    for text in ("firing", "resolved"):
        result = await bench.tocsin.send("botchat", CHAT, text, key="disk", attach=[path])
        assert result.ok, result.error
    kinds = [record.kind for record in bench.town.recorder.of("botchat", kind="")]
    assert kinds == ["message", "message", "edit"]


async def test_files_that_a_direct_edit_kept_are_not_sent_again(bench: Bench):
    path = bench.write("a.log")
    for text, files in (("firing", {"attach": [path]}), ("kept", {}), ("resolved", {"attach": [path]})):
        result = await bench.tocsin.send("botchat", CHAT, text, key="disk", **files)
        assert result.ok, result.error
    kinds = [record.kind for record in bench.town.recorder.of("botchat", kind="")]
    assert kinds == ["message", "message", "edit", "edit"]
