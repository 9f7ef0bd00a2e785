"""What a channel declares as native arrives at its product: files, edits, withdrawals and presses, on every channel."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from typing import Any

import pytest
from tests.channels.test_files import PNG, Contents

from tocsin.channels.action_tokens import with_secret
from tocsin.channels.contract import KeyedMessage, MessageOperation, OutboundAdapter, Outgoing, Receipt
from tocsin.channels.devicemsg import DevicemsgAdapter
from tocsin.channels.registry import discover
from tocsin.core.http.direct import DirectTransport
from tocsin.core.ids import new_id
from tocsin.core.plugins import load_class
from tocsin.core.time.clock import SystemClock
from tocsin.testing import build_adapter
from tocsin.testing.fakes import MemoryDocument
from tocsin_standins import open_standins
from tocsin_standins.recorder import Recorder

# Messages are sent by a program of this machine: tests/channels/test_files.py and test_devicemsg.py.
CHANNELS = {each.spec.kind: each for each in discover().classes if each is not DevicemsgAdapter}
PROOFS = {"TEAMCHAT_SIGNING_SECRET": "8f742231b10e8888abcd99eee0ff85a5", "GUILDCHAT_PUBLIC_KEY": "ab" * 32}
PUBLIC_URL = "https://gate.example"


def declaring(field: str) -> list[str]:
    return sorted(kind for kind, each in CHANNELS.items() if each.spec.shows(field))


# The service that stands in for Apprise takes no files: tests/channels/apprise has one that does.
FILES, EDITS = [each for each in declaring("attach") if each != "apprise"], declaring("key")
BOTH = sorted({*FILES} & {*EDITS})


@dataclass(slots=True)
class Product:
    """A channel, and the stand-in of its product."""

    kind: str
    adapter: OutboundAdapter
    target: str
    server: Any
    recorder: Recorder
    contents: Contents

    async def send(self, text: str, keyed: KeyedMessage | None = None, **content: Any) -> Receipt:
        """Send a message, which the product takes."""
        outgoing = Outgoing(self.target, text, new_id(), content=content, keyed=keyed)
        receipt = await self.adapter.transmit(outgoing)
        assert receipt.result.ok, receipt.result.error
        return receipt

    async def edit(self, text: str, first: Receipt, **content: Any) -> Receipt:
        """Edit the message with the key `disk`."""
        return await self.send(text, KeyedMessage("disk", MessageOperation.EDIT, first.ref), key="disk", **content)

    def shown(self) -> list[bytes]:
        """Return the contents of the files that recipients see now."""
        return sorted(SHOWN[self.kind](self))

    def kinds(self) -> list[str]:
        """Return what happened to messages, in order; files that are messages of their own are left out."""
        found = [item.kind for item in self.recorder.of(self.kind, kind="")]
        return [kind for kind in found if kind in {"message", "edit", "deletion"}]


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[Product]:
    channel, contents, http = CHANNELS[kind], Contents(), DirectTransport()
    further = [load_class(channel.standin)] if channel.standin else []
    async with open_standins(further=further) as town:
        server = town.further[0] if further else getattr(town, kind, town.mail)
        targets = server.targets() if further else {}
        adapter = build_adapter(
            channel, {**town.environment(), **PROOFS}, http=http, clock=SystemClock(), targets=targets,
            read_file=contents.read, document=MemoryDocument(server.document()) if further else None,
        )  # fmt: skip
        adapter.public_url = PUBLIC_URL
        target = server.sample if further else town.samples()[kind]
        try:
            yield Product(kind, adapter, target, server, town.recorder, contents)
        finally:
            await http.aclose()


def _on_telegram(product: Product) -> list[bytes]:
    world = product.server.world
    fields = [
        file for each in world.messages.values() for file in (*each.get("photo", ()), each.get("document")) if file
    ]
    return [world.files[file["file_id"]][1] for file in fields]


def _on_matrix(product: Product) -> list[bytes]:
    events = [event["content"] for room in product.server.rooms.values() for event in room.events.values()]
    return [product.server.media[each["url"]][2] for each in events if "url" in each]


def _on_webhook(product: Product) -> list[bytes]:
    shown: list[bytes] = []
    for event_id, raw in product.server.seen.items():
        event = json.loads(raw)
        if event["type"] == "message.withdrawn" or event["data"].get("keeps_files") is False:
            shown = []
        shown += [product.server.files[event_id]] if event_id in product.server.files else []
    return shown


def _in_mails(product: Product) -> list[bytes]:
    raws = [str(item.body).encode("utf-8", "surrogateescape") for item in product.recorder.of("email")]
    parts = [part for raw in raws for part in message_from_bytes(raw, policy=policy.default).walk()]
    return [bytes(part.get_payload(decode=True)) for part in parts if part.get_filename()]  # type: ignore[arg-type]


SHOWN: dict[str, Callable[[Product], list[bytes]]] = {
    "botchat": _on_telegram,
    "teamchat": lambda product: list(product.server.files.values()),
    "guildchat": lambda product: list(product.server.attached()),
    "email": _in_mails,
    "matrix": _on_matrix,
    "mattermost": lambda product: [
        product.server.files[each][1] for post in product.server.posts.values() for each in post["file_ids"]
    ],
    "ntfy": lambda product: [
        product.server.files[each["attachment"]["url"]]
        for each in product.server.shown.values()
        if "attachment" in each
    ],
    "webhook": _on_webhook,
}


@pytest.mark.parametrize("kind", FILES)
async def test_the_files_of_a_message_arrive_whole(kind: str):
    async with opened(kind) as product:
        files = [product.contents.file("graph.png", PNG, "image/png", alt="Load")]
        if CHANNELS[kind].spec.files.count > 1:
            files.append(product.contents.file("df \u00e4.log", b".\r\n.x\r\n" * 30_000))
        await product.send("Root is full\nC:\\new", attach=files)
        whole = sorted([PNG, b".\r\n.x\r\n" * 30_000][: len(files)])
        assert product.shown() == whole
        found = product.recorder.of(kind)[0]
        assert "Root is full\nC:\\" in f"{found.subject}\n{found.text}"


@pytest.mark.parametrize("kind", FILES)
async def test_a_file_needs_no_text(kind: str):
    async with opened(kind) as product:
        await product.send("", attach=[product.contents.file("a.log", b"line")])
        assert product.shown() == [b"line"]


@pytest.mark.parametrize("kind", FILES)
async def test_more_files_than_the_product_takes_are_refused_before_anything_is_sent(kind: str):
    async with opened(kind) as product:
        files = [product.contents.file(f"{n}.log", b"line") for n in range(CHANNELS[kind].spec.files.count + 1)]
        refused = await product.adapter.transmit(Outgoing(product.target, "hello", content={"attach": files}))
        assert not refused.result.ok
        assert product.recorder.of(kind, kind="") == []


@pytest.mark.parametrize("kind", sorted({*CHANNELS} - {*declaring("attach")}))
async def test_a_channel_without_files_refuses_them_and_says_what_to_do(kind: str):
    async with opened(kind) as product:
        content = {"attach": [product.contents.file("a.log", b"line")]}
        refused = await product.adapter.transmit(Outgoing(product.target, "hello", content=content))
        assert "attach" in refused.result.error
        assert product.recorder.of(kind, kind="") == []


@pytest.mark.parametrize("kind", EDITS)
async def test_a_message_with_a_key_is_edited_and_withdrawn(kind: str):
    async with opened(kind) as product:
        first = await product.send("firing", KeyedMessage("disk"), key="disk", title="web1")
        second = await product.edit("resolved", first, title="web1")
        assert "resolved" in product.recorder.of(kind, kind="edit")[0].text
        if CHANNELS[kind].spec.shows("withdraw"):
            change = KeyedMessage("disk", MessageOperation.WITHDRAW, second.ref)
            await product.send("x", change, key="disk")
            assert product.kinds() == ["message", "edit", "deletion"]


@pytest.mark.parametrize("kind", BOTH)
async def test_an_edit_keeps_replaces_or_removes_the_files(kind: str):
    async with opened(kind) as product:
        one, two = (product.contents.file(f"{name}.log", name.encode()) for name in ("one", "two"))
        shown = await product.send("firing", KeyedMessage("disk"), key="disk", attach=[one])
        shown = await product.edit("still firing", shown)
        assert product.shown() == [b"one"]
        shown = await product.edit("other files", shown, attach=[two])
        assert product.shown() == [b"two"]
        shown = await product.edit("keeps them", shown)
        assert product.shown() == [b"two"]
        shown = await product.edit("no files", shown, attach=[])
        assert product.shown() == []
        assert product.recorder.of(kind, kind="edit")[-1].text.endswith("no files")


@pytest.mark.parametrize("kind", BOTH)
async def test_a_withdrawn_message_has_no_files_left(kind: str):
    async with opened(kind) as product:
        file = product.contents.file("a.log", b"line")
        shown = await product.send("firing", KeyedMessage("disk"), key="disk", attach=[file])
        await product.send("x", KeyedMessage("disk", MessageOperation.WITHDRAW, shown.ref), key="disk")
        assert product.shown() == []


@pytest.mark.parametrize("kind", BOTH)
async def test_a_text_that_is_cut_has_one_file_with_the_whole_after_each_edit(kind: str):
    async with opened(kind) as product:
        product.adapter.public_url = ""  # where a page of the delivery is known, ntfy shortens
        limit = CHANNELS[kind].spec.edit_length or product.adapter.chunk_at() or CHANNELS[kind].spec.max_length or 0
        texts = ["word " * (limit // 5 + 100), "line " * (limit // 5 + 100)]
        shown = await product.send(texts[0], KeyedMessage("disk"), key="disk")
        await product.edit(texts[1], shown)
        assert product.shown() == [texts[1].encode()]


@pytest.mark.parametrize("kind", sorted({*CHANNELS} - {"email"}))
async def test_a_button_that_calls_back_sends_its_token_or_its_page_and_neither_name_nor_value(kind: str):
    call = {"action": "call", "label": "Clean up", "name": "cleanup", "value": "top secret"}
    async with opened(kind) as product:
        outgoing = with_secret(Outgoing(product.target, "91 %", new_id(), content={"actions": [call]}))
        receipt = await product.adapter.transmit(outgoing)
        assert receipt.result.ok, receipt.result.error
        body = json.dumps(product.recorder.of(kind)[0].body)
    secret = str(outgoing.extra["press_secret"])
    assert (secret in body) is not CHANNELS[kind].spec.session_presses  # who is signed in needs no token
    assert "cleanup" not in body
    assert "top secret" not in body
    assert (f"{PUBLIC_URL}/a/" in body) is not CHANNELS[kind].spec.shows("call")
