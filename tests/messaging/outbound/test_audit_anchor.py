"""The end of the audit chain, noted elsewhere."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.messaging.outbound.test_outbox import Bell

from tocsin.channels.contract import Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.reader import Anchor
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.storage.database import Database
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.outbound.audit_anchor import AuditAnchor, read_anchors
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.testing.fakes import FakeClock, ScriptedTransport, settings_of


class Anchored:
    """An audit log with what anchors it."""

    def __init__(self, place: Path, database: Database) -> None:
        self.log = AuditLog(place / "audit.log")
        settings, clock = settings_of([Bell], {"TOCSIN_DATA_DIR": str(place)}), FakeClock()
        registry = Registry([Bell], settings, lambda: Tools(ScriptedTransport(), clock))
        self.outbox = Outbox(SqliteStore(database, clock), registry, AuditTrail(self.log), clock)

    def write(self, count: int) -> None:
        for _ in range(count):
            self.log.append("msg.send", "sent", source="cli")

    def anchor(self, destination: object, every: int = 10) -> AuditAnchor:
        return AuditAnchor(str(destination), every, self.log, self.outbox)

    async def queued(self) -> list[str]:
        return [delivery.message for delivery in (await self.outbox.store.search(DeliveryFilter())).items][::-1]


@pytest.fixture
async def anchored(tmp_path: Path) -> AsyncIterator[Anchored]:
    database = Database(tmp_path / "tocsin.db", {"delivery": MIGRATIONS})
    yield Anchored(tmp_path, database)
    await database.aclose()


async def test_the_end_of_the_chain_goes_into_a_file_every_so_many_entries(anchored: Anchored, tmp_path: Path):
    anchor = anchored.anchor(tmp_path / "elsewhere")
    expected = {}
    for count in (9, 1, 9, 1, 35):
        anchored.write(count)
        await anchor.note_if_due()
        seq, digest = anchored.log.tip()
        if count != 9:
            expected[seq] = digest.encode()
    noted = read_anchors(tmp_path / "elsewhere")
    assert {anchor.seq: anchor.hash for anchor in noted} == expected
    assert [anchor.seq for anchor in noted] == [10, 20, 55]
    assert anchored.log.verify(anchors=noted).ok


async def test_the_end_of_the_chain_goes_to_a_channel_once(anchored: Anchored):
    anchored.write(10)
    seq, digest = anchored.log.tip()
    await asyncio.gather(*(anchored.anchor("dingdong:tower").note_if_due() for _ in range(3)))
    await anchored.anchor("dingdong:tower").note_if_due()
    (message,) = await anchored.queued()
    assert mentions(message, seq, digest, "--anchor")


async def test_an_anchor_that_cannot_be_noted_is_noted_later_and_told_once(
    anchored: Anchored, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    anchored.write(10)
    anchor = anchored.anchor(tmp_path / "not-mounted" / "elsewhere")
    await anchor.note_if_due()
    await anchor.note_if_due()
    assert ["AUDIT_ANCHOR" in record.getMessage() for record in caplog.records] == [True]
    (tmp_path / "not-mounted").mkdir()
    await anchor.note_if_due()
    assert [anchor.seq for anchor in read_anchors(tmp_path / "not-mounted" / "elsewhere")] == [10]


@pytest.mark.parametrize("broken", ["audit.anchored", "audit.log.head"])
async def test_a_file_that_is_a_directory_ends_nothing(
    anchored: Anchored, tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
):
    anchored.write(10)
    (tmp_path / broken).unlink(missing_ok=True)
    (tmp_path / broken).mkdir()
    await anchored.anchor(tmp_path / "elsewhere").note_if_due()
    assert ["AUDIT_ANCHOR" in record.getMessage() for record in caplog.records] == [True]


async def test_what_is_no_anchor_in_the_file_is_passed_over(tmp_path: Path):
    (tmp_path / "anchors").write_text("hello\n2026-01-01T00:00:00Z 7 " + "a" * 64 + "\n2026-01-01T00:00:00Z 8 abc\n")
    assert read_anchors(tmp_path / "anchors") == [Anchor(7, b"a" * 64, "2026-01-01T00:00:00Z")]


async def test_a_later_line_for_the_same_entry_overwrites_no_anchor(anchored: Anchored, tmp_path: Path):
    anchored.write(10)
    await anchored.anchor(tmp_path / "elsewhere").note_if_due()
    true = read_anchors(tmp_path / "elsewhere")
    with (tmp_path / "elsewhere").open("a") as file:
        file.write(f"2026-01-01T00:00:00Z 10 {'0' * 64}\n")
    noted = read_anchors(tmp_path / "elsewhere")
    assert noted[:1] == true
    found = anchored.log.verify(anchors=noted).problems
    assert ["number 10" in issue.reason for issue in found] == [True]


@pytest.mark.parametrize("umask", [0o000, 0o277])
async def test_new_files_of_anchors_are_for_their_owner_whatever_the_umask(
    anchored: Anchored, tmp_path: Path, umask: int
):
    anchored.write(10)
    before = os.umask(umask)
    try:
        await anchored.anchor(tmp_path / "elsewhere").note_if_due()
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("audit.anchored", "elsewhere")]
    assert modes == [0o600, 0o600]


async def test_a_pipe_in_the_place_of_the_anchors_is_told_and_not_waited_for(
    anchored: Anchored, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    anchored.write(10)
    os.mkfifo(tmp_path / "elsewhere")
    await anchored.anchor(tmp_path / "elsewhere").note_if_due()
    assert ["AUDIT_ANCHOR" in record.getMessage() for record in caplog.records] == [True]
    with pytest.raises(OSError, match="regular"):
        read_anchors(tmp_path / "elsewhere")
