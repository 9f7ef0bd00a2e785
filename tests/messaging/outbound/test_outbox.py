"""Queueing, the record of direct sends, and one audit entry for each change."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.audit_entries import check_audit_log
from tests.facts import mentions

from tocsin.channels.contract import COMMONMARK, PLAIN, ChannelSpec, OutboundAdapter, Part, Receipt, Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import (
    ChannelError,
    ConfigError,
    FailureKind,
    TooManyPartsError,
    UnknownChannelError,
    UnknownProfileError,
)
from tocsin.core.storage.database import Database, DatabaseError
from tocsin.delivery.model import AttemptOutcome, Delivery, DeliveryStatus, Policy
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter, TransitionError, UnknownDeliveryError
from tocsin.messaging.inbound.handling import Reply
from tocsin.messaging.outbound.messenger import Caller, Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.profiles import Profiles
from tocsin.testing.fakes import FakeClock, ScriptedTransport, settings_of

TEST = Caller("test", {"actor": "tester", "request_id": "r1"})


class Bell(OutboundAdapter):
    """Rings; what is wrong with a target stands in its name."""

    spec = ChannelSpec(kind="bell", label="Bell", product="a bell", aliases=("dingdong",), chunk_at=10)

    def check_target(self, target: str) -> str:
        match target:
            case "nowhere":
                raise ChannelError("there is no such tower", hint="build one")
            case "bug":
                raise ZeroDivisionError("xoxb-secret")
        return target.upper()

    async def deliver(self, part: Part) -> str:
        failures = {"UNHEARD": FailureKind.AMBIGUOUS, "BUSY": FailureKind.RATE_LIMITED, "DOWN": FailureKind.TRANSIENT}
        if part.target in failures:
            raise ChannelError("it did not ring", kind=failures[part.target], retry_after_s=1000)
        return f"rang {part.target}"

    async def probe(self) -> str:
        return "the belfry"


class Card(Bell):
    """Takes a few words at a time."""

    spec = ChannelSpec(kind="card", label="Card", product="a postcard", chunk_at=20)


class Letter(Bell):
    """Rather lost than twice."""

    spec = ChannelSpec(kind="letter", label="Letter", product="a letter", at_most_once=True)


PROFILES = """\
mixed:
  - {channel: bell, target: tower}
  - {channel: bell, target: nowhere}
  - {channel: siren, target: roof}
  - {channel: dingdong, target: gate}
  - {channel: bell, target: bug}
good:
  - {channel: bell, target: tower}
  - {channel: letter, target: home}
bad:
  - {channel: bell, target: nowhere}
"""


@dataclass(frozen=True, slots=True)
class Office:
    outbox: Outbox
    messenger: Messenger
    database: Database
    log: AuditLog
    clock: FakeClock
    seen: list[Receipt]

    def entries(self, action: str = "") -> list[AuditEntry]:
        """Return the audit entries, the oldest first."""
        check_audit_log(self.log)
        return [entry for entry in reversed(self.log.tail(100)) if action in ("", entry.action)]

    async def deliveries(self) -> list[Delivery]:
        """Return what is recorded, the oldest first."""
        return list((await self.outbox.store.search(DeliveryFilter())).items)[::-1]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    classes = [Bell, Letter, Card]
    settings = settings_of(classes, {"TOCSIN_DATA_DIR": str(tmp_path)})
    clock = FakeClock()
    registry = Registry(classes, settings, lambda: Tools(ScriptedTransport(), clock))
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    profiles = Profiles(tmp_path / "profiles.yaml", registry.known_kind)
    log = AuditLog(tmp_path / "audit.log")
    trail = AuditTrail(log)
    database = Database(tmp_path / "tocsin.db", {"delivery": MIGRATIONS})
    seen: list[Receipt] = []
    outbox = Outbox(SqliteStore(database, clock), registry, trail, clock, observers=[seen.append])
    yield Office(outbox, Messenger(registry, lambda: profiles, trail, outbox), database, log, clock, seen)
    await database.aclose()


# --- preparing


def test_what_is_prepared_is_what_would_be_sent(office: Office):
    new = office.outbox.prepare(" DingDong ", " tower\u00a0", "fire\r\n\0\ud800", "cron")
    assert (new.channel, new.target, new.message, new.source) == ("bell", "TOWER", "fire\n\ufffd", "cron")
    assert (new.policy, new.idempotency_key) == (Policy.AT_LEAST_ONCE, None)


def test_the_policy_is_the_callers_or_else_the_channels(office: Office):
    prepare = office.outbox.prepare
    assert prepare("letter", "home", "x", "test").policy is Policy.AT_MOST_ONCE
    assert prepare("letter", "home", "x", "test", "at_least_once").policy is Policy.AT_LEAST_ONCE
    assert prepare("bell", "tower", "x", "test", "at_most_once").policy is Policy.AT_MOST_ONCE
    with pytest.raises(ConfigError, match="sometimes") as raised:
        prepare("bell", "tower", "x", "test", "sometimes")
    assert "at_least_once" in raised.value.hint


@pytest.mark.parametrize(
    ("channel", "target", "message", "error"),
    [
        ("siren", "roof", "x", UnknownChannelError),
        ("bell", "nowhere", "x", ChannelError),
        ("bell", "", "x", ChannelError),
        ("bell", "a\nb", "x", ChannelError),
        ("bell", "tower", "", ChannelError),
        ("bell", "tower", None, ChannelError),
        ("bell", None, "x", ChannelError),
    ],
)
def test_what_could_never_be_sent_is_not_prepared(
    office: Office, channel: str, target: str, message: str, error: type[Exception]
):
    with pytest.raises(error):
        office.outbox.prepare(channel, target, message, "test")


def test_a_bug_of_a_channel_is_a_refusal_that_tells_nothing(office: Office, caplog: pytest.LogCaptureFixture):
    with pytest.raises(ChannelError, match="unexpected ZeroDivisionError") as raised:
        office.outbox.prepare("bell", "bug", "x", "test")
    assert "xoxb-secret" not in raised.value.sentence()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


# --- queueing


async def test_each_queued_message_has_one_entry_without_its_text(office: Office):
    new = [office.outbox.prepare("bell", target, "fire", "test") for target in ("tower", "gate")]
    accepted = await office.outbox.enqueue(new, TEST)
    entries = office.entries()
    assert [entry.metadata["delivery"] for entry in entries] == [delivery.id for delivery in accepted]
    assert {(entry.action, entry.source) for entry in entries} == {("msg.queue", "test")}
    assert [entry.metadata["target"] for entry in entries] == ["TOWER", "GATE"]
    assert {entry.metadata["actor"] for entry in entries} == {"tester"}
    assert "fire" not in str(entries)


async def test_a_known_key_brings_back_the_first_delivery_and_no_entry(office: Office):
    new = office.outbox.prepare("bell", "tower", "fire", "test").with_terms(None, None, "k")
    [first] = await office.outbox.enqueue([new], TEST)
    [second] = await office.outbox.enqueue([new], TEST)
    assert first == second
    assert len(office.entries()) == 1


async def test_a_key_that_comes_at_the_same_time_and_in_one_call_has_one_entry(office: Office):
    new = office.outbox.prepare("bell", "tower", "fire", "test").with_terms(None, None, "k")
    accepted = await asyncio.gather(*(office.outbox.enqueue([new, new], TEST) for _ in range(5)))
    assert len({delivery.id for pair in accepted for delivery in pair}) == 1
    assert len(office.entries()) == 1


async def test_what_cannot_be_stored_is_an_error_without_an_entry(office: Office):
    woken: list[bool] = []
    office.outbox.on_queued(lambda: woken.append(True))
    new = office.outbox.prepare("bell", "tower", "fire", "test")
    await office.database.aclose()
    with pytest.raises(DatabaseError):
        await office.outbox.enqueue([new], TEST)
    assert (office.entries(), woken) == ([], [])


async def test_whoever_sends_is_woken_by_all_that_changes_the_queue(office: Office):
    woken: list[str] = []
    office.outbox.on_queued(lambda: woken.append("now"))
    [delivery] = await office.outbox.enqueue([office.outbox.prepare("bell", "tower", "x", "test")], TEST)
    await office.outbox.cancel(delivery.id, TEST)
    await office.outbox.replay(delivery.id, TEST)
    assert len(woken) == 3


# --- replay and cancel


async def test_cancelling_and_replaying_write_one_entry_each(office: Office):
    [delivery] = await office.outbox.enqueue([office.outbox.prepare("bell", "tower", "fire", "test")], TEST)
    assert (await office.outbox.cancel(delivery.id, TEST)).status is DeliveryStatus.CANCELLED
    assert (await office.outbox.replay(delivery.id, TEST)).status is DeliveryStatus.QUEUED
    queued, cancelled, replayed = office.entries()
    assert (queued.action, cancelled.action, replayed.action) == ("msg.queue", "msg.cancel", "msg.replay")
    assert cancelled.metadata["delivery"] == replayed.metadata["delivery"] == delivery.id
    assert cancelled.metadata["request_id"] == "r1"
    assert "fire" not in str(office.entries())


async def test_a_change_that_is_refused_writes_no_entry(office: Office):
    for change in (office.outbox.cancel, office.outbox.replay):
        with pytest.raises(UnknownDeliveryError):
            await change("nobody", TEST)
    [delivery] = await office.outbox.enqueue([office.outbox.prepare("bell", "tower", "x", "test")], TEST)
    with pytest.raises(TransitionError):
        await office.outbox.replay(delivery.id, TEST)
    assert [entry.action for entry in office.entries()] == ["msg.queue"]


# --- the tries of the queue


async def test_a_try_is_counted_and_only_the_end_of_a_delivery_has_an_entry(office: Office):
    seen = office.seen
    [delivery] = await office.outbox.enqueue([office.outbox.prepare("bell", "tower", "fire", "test")], TEST)
    down = await office.messenger.send("bell", "down", "fire", TEST)
    sent = await office.messenger.send("bell", "tower", "fire", TEST)
    before = len(office.entries())
    office.outbox.record_attempt(
        replace(delivery, attempts=1), down, AttemptOutcome(DeliveryStatus.RETRY_WAIT, error="down")
    )
    office.outbox.record_attempt(replace(delivery, attempts=2), sent, AttemptOutcome(DeliveryStatus.SENT))
    assert seen == [down, sent]
    (entry,) = office.entries()[before:]
    assert (entry.action, entry.source) == ("msg.send", "queue")
    assert (entry.metadata["delivery"], entry.metadata["ok"], entry.metadata["attempts"]) == (delivery.id, True, 2)
    assert "fire" not in str(entry)


@pytest.mark.parametrize("status", [DeliveryStatus.DEAD, DeliveryStatus.UNCERTAIN])
async def test_a_delivery_that_ends_unsent_has_one_entry_that_says_how(office: Office, status: DeliveryStatus):
    [delivery] = await office.outbox.enqueue([office.outbox.prepare("bell", "down", "fire", "test")], TEST)
    receipt = await office.messenger.send("bell", "down", "fire", TEST)
    before = len(office.entries())
    office.outbox.record_attempt(delivery, receipt, AttemptOutcome(status, error="it did not ring"))
    (entry,) = office.entries()[before:]
    assert (entry.metadata["ok"], entry.metadata["status"]) == (False, status.value)
    assert "ring" in entry.detail


# --- the record of direct sends


@pytest.mark.parametrize(
    ("target", "status", "error_class", "parts", "attempts"),
    [
        ("tower", DeliveryStatus.SENT, "", (3, 3), 3),
        ("nowhere", DeliveryStatus.DEAD, "permanent", (0, 0), 0),
        ("unheard", DeliveryStatus.UNCERTAIN, "ambiguous", (0, 3), 1),
        ("busy", DeliveryStatus.DEAD, "rate_limited", (0, 3), 1),
        ("down", DeliveryStatus.DEAD, "transient", (0, 3), 1),
    ],
)
async def test_a_direct_send_is_recorded_with_its_outcome(
    office: Office, target: str, status: DeliveryStatus, error_class: str, parts: tuple[int, int], attempts: int
):
    result = (await office.messenger.send("bell", target, "one two three four five", TEST)).result
    (delivery,) = await office.deliveries()
    assert (delivery.status, delivery.error_class, delivery.attempts) == (status, error_class, attempts)
    assert (delivery.parts_sent, delivery.parts_total) == parts
    assert (delivery.provider_id, delivery.error) == (result.message.removesuffix(" (3 parts)"), result.error)
    assert (delivery.channel, delivery.source, delivery.message) == ("bell", "test", "one two three four five")
    assert delivery.finished_at == office.clock.now()


async def test_a_fan_out_records_every_target(office: Office):
    await office.messenger.notify("mixed", "fire", TEST)
    assert sorted((d.target, d.status.value) for d in await office.deliveries()) == [
        ("bug", "dead"),
        ("gate", "sent"),
        ("nowhere", "dead"),
        ("tower", "sent"),
    ]


async def test_a_direct_send_that_certainly_failed_can_be_replayed(office: Office):
    await office.messenger.send("bell", "down", "fire", TEST)
    (delivery,) = await office.deliveries()
    assert (await office.outbox.replay(delivery.id, TEST)).status is DeliveryStatus.QUEUED


async def test_a_failed_direct_send_needs_no_person_because_its_caller_saw_the_failure(office: Office):
    await office.messenger.send("bell", "down", "fire", TEST)
    await office.messenger.send("bell", "tower", "fire", TEST)
    assert [(str(one.status), one.dismissed) for one in await office.deliveries()] == [
        ("dead", True),
        ("sent", False),
    ]


async def test_a_record_that_fails_is_logged_and_fails_no_send(office: Office, caplog: pytest.LogCaptureFixture):
    await office.database.aclose()
    assert (await office.messenger.send("bell", "tower", "fire", TEST)).result.ok
    assert "could not be recorded" in caplog.text
    assert "fire" not in caplog.text
    assert [entry.action for entry in office.entries()] == ["msg.send"]


@pytest.mark.parametrize("message", [None, 7, b"fire"])
async def test_a_text_that_is_none_is_a_failed_result_and_no_error_of_the_record(office: Office, message: str):
    result = (await office.messenger.send("bell", "tower", message, TEST)).result
    assert not result.ok
    assert not (await office.messenger.notify("good", message, TEST)).ok


@pytest.mark.parametrize("message", ["a\0b", "\ud800", "x" * 500_000])
async def test_any_text_is_recorded(office: Office, message: str):
    await office.messenger.send("letter", "\ud800home\0", message, TEST)
    await office.messenger.send("letter", "home", message, TEST)
    refused, _ = await office.deliveries()
    (refused.target + refused.message).encode()


# --- profiles by the queue


async def test_a_profile_is_queued_for_those_who_can_be_reached_and_tells_of_the_others(office: Office):
    outcome = await office.messenger.notify_by_queue("mixed", "fire", TEST)
    assert [(r.channel, r.target, r.ok) for r in outcome.results] == [
        ("bell", "TOWER", True),
        ("bell", "nowhere", False),
        ("siren", "roof", False),
        ("bell", "GATE", True),
        ("bell", "bug", False),
    ]
    assert (outcome.ok, outcome.sent, outcome.failed) == (False, 2, 3)
    assert "tower" in outcome.results[1].error
    assert "mixed[2].channel: Unknown channel: siren" in outcome.results[2].error
    queued = await office.deliveries()
    assert [f"delivery={d.id}" for d in queued] == [r.message for r in outcome.results if r.ok]
    assert [entry.action for entry in office.entries()] == ["msg.queue"] * 2
    assert {d.status for d in queued} == {DeliveryStatus.QUEUED}


async def test_every_target_is_queued_with_the_policy_of_its_channel(office: Office):
    assert (await office.messenger.notify_by_queue("good", "fire", TEST)).ok
    assert [d.policy.value for d in await office.deliveries()] == ["at_least_once", "at_most_once"]


async def test_a_profile_of_which_nothing_can_be_queued_fails_for_every_target(office: Office):
    outcome = await office.messenger.notify_by_queue("bad", "fire", TEST)
    assert (outcome.ok, outcome.sent, outcome.failed) == (False, 0, 1)
    assert await office.deliveries() == []


async def test_an_unknown_profile_and_a_store_that_is_away_are_errors(office: Office):
    with pytest.raises(UnknownProfileError):
        await office.messenger.notify_by_queue("god", "x", TEST)
    await office.database.aclose()
    with pytest.raises(DatabaseError):
        await office.messenger.notify_by_queue("good", "x", TEST)
    assert office.entries() == []


@pytest.mark.parametrize("content", [{"key": "disk"}, {"thread": "alerts"}])
async def test_a_message_that_needs_a_store_that_is_away_may_be_sent_again(office: Office, content: dict[str, str]):
    await office.database.aclose()
    receipt = await office.messenger.send("bell", "tower", "x", TEST, content=content)
    assert receipt.failure
    assert receipt.failure.kind is FailureKind.TRANSIENT


# --- replies


async def test_replies_are_queued_once_for_their_key_with_one_entry_each(office: Office):
    replies = [Reply("one", ""), Reply("two", "")]
    first, again = [await office.outbox.queue_replies("dingdong", "tower", replies, "event:1", TEST) for _ in range(2)]
    assert [delivery.id for delivery in first] == [delivery.id for delivery in again]
    assert [(d.channel, d.target, d.message, d.source) for d in await office.deliveries()] == [
        ("bell", "TOWER", "one", "test"),
        ("bell", "TOWER", "two", "test"),
    ]
    assert [entry.action for entry in office.entries()] == ["msg.queue"] * 2


@pytest.mark.parametrize("mode", ["", PLAIN, COMMONMARK])
async def test_a_reply_of_too_many_messages_is_cut_and_says_so(office: Office, mode: str):
    (delivery,) = await office.outbox.queue_replies("card", "home", [Reply("word " * 4_000, mode)], "event:1", TEST)
    assert delivery.message.startswith("word word")
    assert mentions(delivery.message, "1,000 messages", "100", "MAX_PARTS)]")
    assert 60 < office.outbox.count_parts("card", "home", delivery.message) <= 100


async def test_a_text_of_too_many_messages_is_queued_nowhere(office: Office):
    with pytest.raises(TooManyPartsError) as raised:
        office.outbox.prepare("card", "home", "word " * 4_000, "bus")
    assert (raised.value.parts, raised.value.limit) == (1_000, 100)
    receipt = await office.messenger.send("card", "home", "word " * 4_000, TEST)
    assert isinstance(receipt.failure, TooManyPartsError)
    assert mentions(receipt.result.error, "1,000 messages", "limit 100")
    assert receipt.attempts == 0


async def test_of_replies_of_which_one_cannot_be_sent_none_is_queued(office: Office):
    with pytest.raises(ChannelError):
        await office.outbox.queue_replies("bell", "tower", [Reply("one", ""), Reply(" ", "")], "event:1", TEST)
    assert await office.deliveries() == []
