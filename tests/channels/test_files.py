"""Files on the products, played by the stand-ins, which refuse what the products refuse (docs/messages.md, "Files")."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.limits import small_disk, why_no_small_disk
from tests.facts import mentions

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import KeyedMessage, MessageOperation, OutboundAdapter, Outgoing, Tools
from tocsin.channels.devicemsg import DevicemsgAdapter
from tocsin.channels.email import EmailAdapter
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.core.config.settings import Settings
from tocsin.core.errors import FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.time.clock import SystemClock
from tocsin_standins import StandinCluster, open_standins
from tocsin_standins.faults import Fault

KINDS: dict[str, tuple[type[OutboundAdapter], str]] = {
    "botchat": (BotchatAdapter, "1001"),
    "teamchat": (TeamchatAdapter, "#ops"),
    "guildchat": (GuildchatAdapter, "100000000000000002"),
    "email": (EmailAdapter, "ops@example.org"),
}
EVERY = sorted(KINDS)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10"
MIB = 2**20


class Contents:
    """Contents of files by their hash, which are read in blocks."""

    def __init__(self) -> None:
        self.made: dict[str, Callable[[], Iterator[bytes]]] = {}

    def file(self, name: str, data: bytes, kind: str = "text/plain", **fields: Any) -> dict[str, Any]:
        """Keep a content, and return the file as a message has it."""
        digest = hashlib.sha256(data).hexdigest()
        self.made[digest] = lambda: iter([data[at : at + 65_536] for at in range(0, len(data), 65_536)])
        return {"name": name, "type": kind, "hash": digest, "size": len(data), **fields}

    def large(self, mib: int) -> dict[str, Any]:
        """Return a file whose content is made while it is read."""
        self.made["0" * 64] = lambda: iter([b"x" * 65_536] * (mib * 16))
        return {"name": "large.log", "type": "text/plain", "hash": "0" * 64, "size": mib * MIB}

    async def read(self, hash_: str) -> AsyncGenerator[bytes]:
        for block in self.made[hash_]():
            yield block


@asynccontextmanager
async def opened(kind: str, contents: Contents) -> AsyncIterator[tuple[StandinCluster, OutboundAdapter]]:
    async with open_standins() as town:
        http = DirectTransport()
        adapter = KINDS[kind][0]
        settings = Settings.load(adapter.spec.variables, environ={"TOCSIN_DATA_DIR": "/none", **town.environment()})
        tools = Tools(http, SystemClock(), read_file=contents.read)
        try:
            yield town, adapter(settings.only(adapter.spec.variables), tools)
        finally:
            await http.aclose()


def received(kind: str, town: StandinCluster) -> list[bytes]:
    """Return the contents that have arrived."""
    match kind:
        case "botchat":
            return [data for _, data, _ in town.botchat.world.files.values()]
        case "teamchat":
            return list(town.teamchat.files.values())
        case "guildchat":
            return list(town.guildchat.files.values())
    mails = [message_from_bytes(_raw(record), policy=policy.default) for record in town.recorder.of("email")]
    return [
        part.get_content() if part.get_content_maintype() != "text" else part.get_payload(decode=True)
        for mail in mails
        for part in mail.iter_attachments()
    ]  # type: ignore[union-attr]


def _raw(record: Any) -> bytes:
    return str(record.body).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("kind", EVERY)
async def test_a_text_with_a_picture_and_a_file_arrives_whole(kind: str):
    contents = Contents()
    files = [
        contents.file("graph.png", PNG, "image/png", alt="Load"),
        contents.file("df \u00e4.log", b".\r\n.x\r\n" * 50),
    ]
    async with opened(kind, contents) as (town, adapter):
        found = await adapter.transmit(Outgoing(KINDS[kind][1], "Root is full", content={"attach": files}))
        assert found.result.ok, found.result.error
        assert sorted(received(kind, town)) == sorted([PNG, b".\r\n.x\r\n" * 50])
        assert "Root is full" in town.recorder.of(kind)[0].text


@pytest.mark.parametrize("kind", EVERY)
async def test_a_file_without_a_text_arrives(kind: str):
    contents = Contents()
    async with opened(kind, contents) as (town, adapter):
        content = {"attach": [contents.file("a.log", b"line")]}
        found = await adapter.transmit(Outgoing(KINDS[kind][1], "", content=content))
        assert found.result.ok, found.result.error
        assert received(kind, town) == [b"line"]


@pytest.mark.parametrize("kind", EVERY)
async def test_files_go_with_title_colour_and_buttons(kind: str):
    contents = Contents()
    action = {"label": "Run book", "url": "https://wiki.example/run"}
    content = {"attach": [contents.file("a.log", b"line")], "title": "web1", "type": "failure", "actions": [action]}
    async with opened(kind, contents) as (town, adapter):
        found = await adapter.transmit(Outgoing(KINDS[kind][1], "91 %", content=content))
        assert found.result.ok, found.result.error
        assert received(kind, town) == [b"line"]


@pytest.mark.parametrize("kind", ["botchat", "teamchat", "guildchat"])
async def test_an_edit_of_a_message_with_files_edits_its_text(kind: str):
    contents = Contents()
    content = {"key": "disk", "attach": [contents.file("a.log", b"line")]}
    first = Outgoing(KINDS[kind][1], "firing", content=content, keyed=KeyedMessage("disk"))
    async with opened(kind, contents) as (town, adapter):
        sent = await adapter.transmit(first)
        assert sent.result.ok, sent.result.error
        edit = KeyedMessage("disk", MessageOperation.EDIT, sent.ref)
        done = await adapter.transmit(Outgoing(KINDS[kind][1], "resolved", content={"key": "disk"}, keyed=edit))
        assert done.result.ok, done.result.error
        (record,) = town.recorder.of(kind, kind="edit")
    assert record.text == "resolved"
    assert received(kind, town) == [b"line"]


@pytest.mark.parametrize("kind", ["botchat", "teamchat", "guildchat"])
async def test_eleven_files_are_refused_before_anything_is_sent(kind: str):
    contents = Contents()
    async with opened(kind, contents) as (town, adapter):
        content = {"attach": [contents.file(f"{n}.log", b"line") for n in range(11)]}
        found = await adapter.transmit(Outgoing(KINDS[kind][1], "hello", content=content))
        assert not found.result.ok
        assert town.recorder.of(kind, kind="") == []


@pytest.mark.parametrize(("kind", "mib", "said"), [("guildchat", 11, "10 MiB"), ("botchat", 51, "50 MiB")])
async def test_a_file_above_the_limit_of_the_product_is_refused_before_anything_is_sent(kind: str, mib: int, said: str):
    contents = Contents()
    async with opened(kind, contents) as (town, adapter):
        found = await adapter.transmit(Outgoing(KINDS[kind][1], "hello", content={"attach": [contents.large(mib)]}))
        assert mentions(found.result.error, f"has {mib}.0 MiB", said)
        assert town.recorder.of(kind, kind="") == []


async def test_a_mail_above_the_size_that_the_server_announces_is_refused_with_both_numbers():
    contents = Contents()
    async with opened("email", contents) as (town, adapter):
        content = {"attach": [contents.large(30)]}  # 41 MiB in Base64; the server takes 32
        found = await adapter.transmit(Outgoing("ops@example.org", "hello", content=content))
        assert mentions(found.result.error, "the mail has 41.1 MiB", "takes 32 MiB")
        assert found.failure is not None
        assert found.failure.kind is FailureKind.PERMANENT
        assert town.recorder.of("email") == []


async def test_files_on_slack_hang_below_their_message():
    contents = Contents()
    async with opened("teamchat", contents) as (town, adapter):
        found = await adapter.transmit(Outgoing("#ops", "hello", content={"attach": [contents.file("a.log", b"x")]}))
        [message], [file] = town.recorder.of("teamchat"), town.recorder.of("teamchat", kind="file")
    assert (file.thread, file.target, found.ref["ts"]) == (message.id, "C00000OPS", message.id)


REFUSED = {
    "file_uploads_disabled": "ask an admin",
    "file_type_not_allowed": "ask an admin",
    "storage_limit_reached": "ask an admin",
    "missing_scope": "add the scope files:write",
}


@pytest.mark.parametrize("code", REFUSED)
async def test_slack_refuses_the_files_and_the_error_says_that_the_text_was_sent(code: str):
    contents = Contents()
    async with opened("teamchat", contents) as (town, adapter):
        town.teamchat.faults.push(Fault.error(code, "files:write").only("files.getUploadURLExternal"))
        found = await adapter.transmit(Outgoing("#ops", "hello", content={"attach": [contents.file("a.log", b"x")]}))
        assert len(town.recorder.of("teamchat")) == 1
    assert mentions(found.result.error, "the text was sent, but not every file", code, REFUSED[code])
    assert (found.parts_sent, found.parts_total, found.text_sent) == (1, 2, True)


async def test_an_upload_to_slack_whose_answer_was_lost_can_be_repeated():
    contents = Contents()
    outgoing = Outgoing("#ops", "hello", content={"attach": [contents.file("a.log", b"x")]})
    async with opened("teamchat", contents) as (town, adapter):
        town.teamchat.faults.push(Fault.reset_after_accept().only("files.getUploadURLExternal"))
        found = await adapter.transmit(outgoing)
        assert found.failure is not None
        assert found.failure.kind is FailureKind.TRANSIENT
        rest = Outgoing("#ops", "hello", parts_sent=1, parts_total=2, content=outgoing.content, ref=dict(found.ref))
        again = await adapter.transmit(rest)
        assert again.result.ok, again.result.error
        assert len(town.recorder.of("teamchat")) == 1
        assert received("teamchat", town) == [b"x"]


async def test_messages_get_copies_of_files_where_the_sandbox_of_messages_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "osascript"
    script.write_text('#!/bin/sh\ncat >> "$HOME/scripts"\nprintf "%s\\n" "$5" >> "$HOME/said"\n')
    script.chmod(0o755)
    contents = Contents()
    env = {"DEVICEMSG_PLATFORM": "darwin", "DEVICEMSG_OSASCRIPT": str(script), "TOCSIN_DATA_DIR": "/none"}
    settings = Settings.load(DevicemsgAdapter.spec.variables, environ=env)
    tools = Tools(DirectTransport(), SystemClock(), read_file=contents.read)
    adapter = DevicemsgAdapter(settings.only(DevicemsgAdapter.spec.variables), tools)
    files = [contents.file("a.log", b"line"), contents.file("b.png", PNG, "image/png")]
    found = await adapter.transmit(Outgoing("+15551234567", "hello", content={"attach": files}))
    assert found.result.ok, found.result.error
    text, *paths = (tmp_path / "said").read_text().splitlines()
    assert text == "hello"
    assert [Path(path).read_bytes() for path in paths] == [b"line", PNG]
    assert all(Path(path).is_relative_to(tmp_path / "Library/Messages/Attachments") for path in paths)
    assert "POSIX file" in (tmp_path / "scripts").read_text()


async def test_a_full_disk_refuses_the_copy_for_messages_and_leaves_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if reason := why_no_small_disk(tmp_path):
        pytest.skip(reason)
    monkeypatch.setenv("HOME", str(tmp_path))
    contents = Contents()
    env = {"DEVICEMSG_PLATFORM": "darwin", "DEVICEMSG_OSASCRIPT": "/bin/true", "TOCSIN_DATA_DIR": "/none"}
    settings = Settings.load(DevicemsgAdapter.spec.variables, environ=env)
    tools = Tools(DirectTransport(), SystemClock(), read_file=contents.read)
    adapter = DevicemsgAdapter(settings.only(DevicemsgAdapter.spec.variables), tools)
    with small_disk(tmp_path / "Library", "256k"):
        found = await adapter.transmit(Outgoing("+15551234567", "hello", content={"attach": [contents.large(1)]}))
        assert mentions(found.result.error, "cannot be copied", "No space left on device", "free space")
        assert list((tmp_path / "Library/Messages/Attachments").iterdir()) == []


async def test_telegram_gets_the_id_of_a_file_that_it_has_instead_of_the_file():
    contents = Contents()
    files = [contents.file("a.log", b"one"), contents.file("b.log", b"two"), contents.file("g.png", PNG, "image/png")]
    async with opened("botchat", contents) as (town, adapter):
        for chat in ("1001", "1002"):
            found = await adapter.transmit(Outgoing(chat, "hello", content={"attach": files}))
            assert found.result.ok, found.result.error
        assert sorted(received("botchat", town)) == sorted([b"one", b"two", PNG])
        named = [each for each in town.botchat.world.messages.values() if "document" in each or "photo" in each]
        assert len(named) == 6
        # The same content with another name is uploaded, because the product shows the name of the first upload.
        other = {**files[0], "name": "c.log"}
        assert (await adapter.transmit(Outgoing("1001", "", content={"attach": [other]}))).result.ok
        assert received("botchat", town).count(b"one") == 2


async def test_a_file_whose_id_telegram_does_not_know_any_more_is_uploaded_again():
    contents = Contents()
    outgoing = Outgoing("1001", "hello", content={"attach": [contents.file("a.log", b"one")]})
    async with opened("botchat", contents) as (town, adapter):
        assert (await adapter.transmit(outgoing)).result.ok
        town.botchat.sent_files.clear()
        found = await adapter.transmit(outgoing)
        assert found.result.ok, found.result.error
        assert received("botchat", town) == [b"one", b"one"]


async def test_files_of_telegram_that_are_too_old_to_delete_stay_and_the_note_says_so():
    contents = Contents()
    content = {"key": "disk", "attach": [contents.file("a.log", b"line")]}
    async with opened("botchat", contents) as (town, adapter):
        sent = await adapter.transmit(Outgoing("1001", "firing", content=content, keyed=KeyedMessage("disk")))
        town.botchat.faults.push(
            Fault.error(400, "Bad Request: message can't be deleted for everyone").only("deletemessage")
        )
        edit = KeyedMessage("disk", MessageOperation.EDIT, sent.ref)
        done = await adapter.transmit(Outgoing("1001", "resolved", content={"key": "disk", "attach": []}, keyed=edit))
        assert done.result.ok, done.result.error
    assert "its files are too old to delete" in done.result.message


async def test_an_edit_of_a_deleted_message_is_sent_anew_with_its_files():
    contents = Contents()
    content = {"key": "disk", "attach": [contents.file("a.log", b"line")]}
    async with opened("guildchat", contents) as (town, adapter):
        first = Outgoing(KINDS["guildchat"][1], "firing", content=content, keyed=KeyedMessage("disk"))
        sent = await adapter.transmit(first)
        gone = KeyedMessage("disk", MessageOperation.WITHDRAW, sent.ref)
        assert (await adapter.transmit(replace(first, keyed=gone))).result.ok
        edit = KeyedMessage("disk", MessageOperation.EDIT, sent.ref, same_files=True)
        done = await adapter.transmit(replace(first, text="resolved", keyed=edit))
        assert done.result.ok, done.result.error
        assert done.ref["id"] != sent.ref["id"]
        assert received("guildchat", town) == [b"line", b"line"]
