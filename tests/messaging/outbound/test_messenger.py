"""Everything that leaves goes through the messenger, which writes one entry a call."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.audit_entries import check_audit_log
from tests.facts import mentions
from tests.waiting import PATIENCE_S

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Receipt, Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditEntry, AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, text
from tocsin.core.errors import ChannelError, ConfigError, FailureKind, UnknownProfileError
from tocsin.core.http.departure import note_departure
from tocsin.core.storage.database import Database
from tocsin.delivery.model import Delivery
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.outbound.channel_watch import ChannelWatch
from tocsin.messaging.outbound.messenger import Caller, Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.profiles import Profiles
from tocsin.testing.fakes import FakeClock, ScriptedTransport, settings_of

TEST = Caller("test", {"actor": "tester", "request_id": "r1"})


class Bell(OutboundAdapter):
    """Rings at once; the target `broken` never works, `stuck` never ends."""

    spec = ChannelSpec(kind="bell", label="Bell", product="a bell", aliases=("dingdong",), parse_modes=("chime",))
    rung: ClassVar[list[str]] = []
    modes: ClassVar[list[str]] = []
    heard = asyncio.Event()

    async def deliver(self, part: Part) -> str:
        match part.target:
            case "broken":
                raise ChannelError("the clapper is off", hint="mount it", kind=FailureKind.TRANSIENT)
            case "bug":
                raise ZeroDivisionError
            case "stuck":
                await asyncio.Event().wait()
        self.rung.append(part.target)
        self.modes.append(part.parse_mode)
        if len(self.rung) == 2:
            self.heard.set()
        return f"rang {part.target}"

    async def probe(self) -> str:
        return "the belfry"


class Horn(OutboundAdapter):
    """Waits for the one beside it: both only sound when they are blown at the same time."""

    spec = ChannelSpec(kind="horn", label="Horn", product="two horns")
    both = asyncio.Barrier(2)

    async def deliver(self, part: Part) -> str:
        async with asyncio.timeout(PATIENCE_S):
            await self.both.wait()
        return f"blew {part.target}"

    async def probe(self) -> str:
        raise ChannelError("no breath", hint="rest")


class Siren(OutboundAdapter):
    """Needs a value that nobody set."""

    spec = ChannelSpec(
        kind="siren",
        label="Siren",
        product="a siren",
        secrets=(Variable("SIREN_TOKEN", text, "", "Token.", secret=True, required=True),),
    )

    async def deliver(self, part: Part) -> str:
        raise AssertionError

    async def probe(self) -> str:
        raise AssertionError


class Broken(Bell):
    """A plug-in whose constructor has a bug."""

    spec = ChannelSpec(kind="broken", label="Broken", product="a plug-in")

    def __init__(self, config: Values, tools: Tools) -> None:
        raise KeyError("oops")


PROFILES = """\
pair:
  - {channel: horn, target: left}
  - {channel: horn, target: right}
mixed:
  - {channel: bell, target: tower}
  - {channel: bell, target: broken}
  - {channel: siren, target: roof}
  - {channel: dingdong, target: gate}
  - {channel: bell, target: bug}
good:
  - {channel: bell, target: tower}
with-a-hanging-one:
  - {channel: bell, target: stuck}
  - {channel: bell, target: tower}
  - {channel: bell, target: gate}
with-a-broken-plugin:
  - {channel: broken, target: x}
  - {channel: bell, target: tower}
"""


@dataclass(frozen=True, slots=True)
class Office:
    messenger: Messenger
    log: AuditLog
    store: SqliteStore
    seen: list[Receipt] = field(default_factory=list)

    def only_entry(self) -> AuditEntry:
        check_audit_log(self.log)
        (entry,) = self.log.tail(10)
        return entry


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    classes = [Bell, Horn, Siren, Broken]
    Bell.rung.clear()
    Bell.heard = asyncio.Event()
    Horn.both = asyncio.Barrier(2)
    settings = settings_of(classes, {"TOCSIN_DATA_DIR": str(tmp_path)})
    registry = Registry(classes, settings, lambda: Tools(ScriptedTransport(), FakeClock()))
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    profiles = Profiles(tmp_path / "profiles.yaml", registry.known_kind)
    log = AuditLog(tmp_path / "audit.log")
    trail, clock = AuditTrail(log), FakeClock()
    database = Database(tmp_path / "tocsin.db", {"delivery": MIGRATIONS})
    store = SqliteStore(database, clock)
    outbox = Outbox(store, registry, trail, clock)
    seen: list[Receipt] = []
    yield Office(Messenger(registry, lambda: profiles, trail, outbox, observers=[seen.append]), log, store, seen)
    await database.aclose()


async def test_a_send_writes_one_msg_send_entry_with_the_facts_and_the_caller(office: Office):
    receipt = await office.messenger.send("dingdong", "tower", "fire", TEST)
    assert receipt.result.as_dict() == {
        "ok": True,
        "channel": "bell",
        "target": "tower",
        "message": "rang tower",
        "error": "",
    }
    entry = office.only_entry()
    assert (entry.action, entry.source) == ("msg.send", "test")
    assert "bell to tower" in entry.detail
    assert "fire" not in str(entry)
    facts = {key: entry.metadata[key] for key in ("channel", "target", "ok", "attempts", "actor", "request_id")}
    assert facts == {
        "channel": "bell",
        "target": "tower",
        "ok": True,
        "attempts": 1,
        "actor": "tester",
        "request_id": "r1",
    }


@pytest.mark.parametrize(
    ("channel", "target", "error", "kind"),
    [
        ("bell", "broken", "the clapper is off: mount it", "transient"),
        ("bell", "bug", "unexpected ZeroDivisionError", "permanent"),
        ("siren", "roof", "Unknown channel: siren (not configured: set SIREN_TOKEN)", "permanent"),
        ("gong", "x", "Unknown channel: gong", "permanent"),
    ],
)
async def test_a_send_that_fails_is_a_result_and_one_entry(
    office: Office, channel: str, target: str, error: str, kind: str
):
    result = (await office.messenger.send(channel, target, "fire", TEST)).result
    assert not result.ok
    assert (result.channel, result.target) == (channel, target)
    assert result.error.replace("; ", ": ").startswith(error)
    entry = office.only_entry()
    assert entry.metadata["ok"] is False
    assert entry.metadata["error_class"] == kind


async def test_observers_see_every_send_once(office: Office):
    await office.messenger.send("bell", "tower", "x", TEST)
    await office.messenger.send("gong", "x", "x", TEST)
    await office.messenger.notify("mixed", "x", TEST)
    seen = [receipt.result.target for receipt in office.seen]
    assert seen[:2] == ["tower", "x"]
    assert sorted(seen[2:]) == sorted(["tower", "broken", "roof", "gate", "bug"])


async def test_a_connection_test_writes_one_msg_test_entry_and_sends_nothing(office: Office):
    result = await office.messenger.test("dingdong", TEST)
    assert result.as_dict() == {
        "ok": True,
        "channel": "bell",
        "target": "",
        "message": "connected as the belfry",
        "error": "",
    }
    entry = office.only_entry()
    assert (entry.action, entry.metadata["ok"], entry.metadata["actor"]) == ("msg.test", True, "tester")
    assert Bell.rung == []
    assert office.seen == []


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("horn", "no breath: rest"),
        ("siren", "Unknown channel: siren (not configured; set SIREN_TOKEN)"),
        ("gong", "Unknown channel: gong"),
    ],
)
async def test_a_connection_test_that_fails_is_a_result_and_one_entry(office: Office, channel: str, error: str):
    result = await office.messenger.test(channel, TEST)
    assert not result.ok
    assert result.target == ""
    assert result.error.startswith(error)
    entry = office.only_entry()
    assert (entry.action, entry.metadata["ok"]) == ("msg.test", False)


async def test_a_fan_out_sends_to_all_targets_at_the_same_time(office: Office):
    outcome = await office.messenger.notify("pair", "x", TEST)
    assert [result.message for result in outcome.results] == ["blew left", "blew right"]


async def test_a_fan_out_gives_a_result_for_every_target_in_the_order_of_the_profile(office: Office):
    outcome = await office.messenger.notify("mixed", "x", TEST)
    assert [(r.channel, r.target, r.ok) for r in outcome.results] == [
        ("bell", "tower", True),
        ("bell", "broken", False),
        ("siren", "roof", False),
        ("bell", "gate", True),
        ("bell", "bug", False),
    ]
    assert (outcome.profile, outcome.sent, outcome.failed, outcome.ok) == ("mixed", 2, 3, False)
    assert (await office.messenger.notify("good", "x", TEST)).ok


async def test_a_parse_mode_counts_for_the_channels_of_a_profile_that_have_it(office: Office):
    Bell.modes.clear()
    assert (await office.messenger.notify("good", "x", TEST, parse_mode="chime")).ok
    assert set(Bell.modes) == {"chime"}
    assert (await office.messenger.notify("pair", "x", TEST, parse_mode="chime")).ok
    assert "chime" in office.messenger.parse_modes()


async def test_a_fan_out_writes_exactly_one_msg_notify_entry(office: Office):
    await office.messenger.notify("mixed", "fire", TEST)
    entry = office.only_entry()
    assert (entry.action, entry.source) == ("msg.notify", "test")
    assert mentions(entry.detail, "2 of", "5 targets")
    assert entry.metadata["profile"] == "mixed"
    assert entry.metadata["request_id"] == "r1"
    assert [(t["target"], t["ok"]) for t in entry.metadata["targets"]] == [
        ("tower", True),
        ("broken", False),
        ("roof", False),
        ("gate", True),
        ("bug", False),
    ]
    assert "fire" not in str(entry)


async def test_a_hanging_target_delays_no_other(office: Office):
    fan_out = asyncio.create_task(office.messenger.notify("with-a-hanging-one", "x", TEST))
    async with asyncio.timeout(PATIENCE_S):
        await Bell.heard.wait()
    assert sorted(Bell.rung) == ["gate", "tower"]
    assert not fan_out.done()
    fan_out.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fan_out


async def test_an_unknown_profile_is_an_error_that_names_those_there_are(office: Office):
    with pytest.raises(UnknownProfileError, match="Unknown profile: god") as raised:
        await office.messenger.notify("god", "x", TEST)
    assert "good" in raised.value.hint
    assert office.log.tail(10) == []
    assert office.seen == []


async def test_a_broken_profile_file_is_an_error_for_the_profiles_it_might_have(office: Office, tmp_path: Path):
    await office.messenger.notify("good", "x", TEST)
    (tmp_path / "profiles.yaml").write_text("good: [")
    assert (await office.messenger.notify("good", "x", TEST)).ok, "the last valid version remains active"
    with pytest.raises(ConfigError):
        await office.messenger.notify("new", "x", TEST)


async def test_a_plugin_whose_constructor_has_a_bug_is_a_result_too(office: Office):
    receipt = await office.messenger.send("broken", "x", "x", TEST)
    assert not receipt.result.ok
    assert office.only_entry().action == "msg.send"


async def test_a_plugin_whose_constructor_has_a_bug_does_not_break_a_fan_out(office: Office):
    outcome = await office.messenger.notify("with-a-broken-plugin", "x", TEST)
    assert [result.ok for result in outcome.results] == [False, True]
    assert office.only_entry().action == "msg.notify"


@pytest.mark.parametrize("action", ["msg.send", "msg.notify"])
async def test_a_send_that_is_cut_off_by_the_end_of_the_service_still_writes_its_entry(office: Office, action: str):
    messenger = office.messenger
    work = (
        messenger.send("bell", "stuck", "x", TEST)
        if action == "msg.send"
        else messenger.notify("with-a-hanging-one", "x", TEST)
    )
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert office.only_entry().action == action


class Post(OutboundAdapter):
    """Waits for ever, either before anything has left or after."""

    spec = ChannelSpec(kind="post", label="Post", product="a post office", aliases=("mailbox",), chunk_at=10)
    waiting = asyncio.Event()

    async def deliver(self, part: Part) -> str:
        if part.text.startswith("first"):
            return "posted"
        note_departure(possible=False)
        if part.target == "gone":
            note_departure(possible=True)
            note_departure(possible=False)  # a second connection does not call the first letter back
        self.waiting.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def probe(self) -> str:
        raise AssertionError


@dataclass(frozen=True, slots=True)
class PostOffice:
    messenger: Messenger
    log: AuditLog
    store: SqliteStore
    watch: ChannelWatch

    async def only_record(self) -> Delivery:
        (delivery,) = (await self.store.search(DeliveryFilter())).items
        return delivery


@pytest.fixture
async def post_office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    Post.waiting = asyncio.Event()
    settings = settings_of([Post], {"TOCSIN_DATA_DIR": str(tmp_path)})
    registry = Registry([Post], settings, lambda: Tools(ScriptedTransport(), FakeClock()))
    log, clock = AuditLog(tmp_path / "audit.log"), FakeClock()
    database = Database(tmp_path / "tocsin.db", {"delivery": MIGRATIONS})
    store = SqliteStore(database, clock)
    outbox = Outbox(store, registry, AuditTrail(log), clock)
    profiles = Profiles(tmp_path / "profiles.yaml", registry.kind_of)
    watch = ChannelWatch(clock)
    messenger = Messenger(registry, lambda: profiles, AuditTrail(log), outbox, observers=[watch.note])
    yield PostOffice(messenger, log, store, watch)
    await database.aclose()


@pytest.mark.parametrize(
    ("target", "text", "status", "parts", "sentence"),
    [
        (
            "gone",
            "x",
            "uncertain",
            (0, 1),
            ("perhaps sent on post to gone: outcome unknown: interrupted during the send"),
        ),
        ("here", "x", "dead", (0, 1), "not sent on post to here: interrupted before the send started"),
        ("here", "first\n\nsecond one", "dead", (1, 2), "not sent on post to here: sent 1 of 2 parts: interrupted"),
    ],
)
async def test_a_cancelled_send_leaves_a_record_of_what_is_certain_and_one_entry_with_the_kind(
    post_office: PostOffice, target: str, text: str, status: str, parts: tuple[int, int], sentence: str
):
    told: list[Receipt] = []
    task = asyncio.create_task(post_office.messenger.send("mailbox", target, text, TEST, on_cut_off=told.extend))
    await Post.waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    delivery = await post_office.only_record()
    assert (delivery.status, delivery.parts_sent, delivery.parts_total) == (status, *parts)
    (entry,) = post_office.log.tail(10)
    assert entry.detail.startswith(sentence)
    assert (entry.metadata["channel"], entry.metadata["delivery"]) == ("post", delivery.id)
    assert [receipt.delivery for receipt in told] == [delivery.id]


async def test_closing_cuts_off_what_still_runs_and_records_it(post_office: PostOffice):
    task = asyncio.create_task(post_office.messenger.send("post", "gone", "x", TEST))
    await Post.waiting.wait()
    await post_office.messenger.aclose()
    assert task.cancelled()
    assert (await post_office.only_record()).status == "uncertain"
    assert len(post_office.log.tail(10)) == 1


async def test_a_send_that_is_cancelled_while_it_is_recorded_is_recorded_as_sent(office: Office):
    Bell.rung.append("earlier")  # the second one is heard
    task = asyncio.create_task(office.messenger.send("bell", "tower", "x", TEST))
    await Bell.heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert office.only_entry().detail == "sent on bell to tower (rang tower)"
    assert [receipt.result.ok for receipt in office.seen] == [True]
    assert [delivery.status for delivery in (await office.store.search(DeliveryFilter())).items] == ["sent"]


async def test_a_send_that_nobody_cancels_makes_no_task_for_its_record(office: Office):
    made: list[str] = []

    def note(loop: asyncio.AbstractEventLoop, work: Any, **facts: Any) -> asyncio.Task[Any]:
        made.append(work.__qualname__)
        return asyncio.Task(work, loop=loop, **facts)

    asyncio.get_running_loop().set_task_factory(note)
    await office.messenger.send("bell", "tower", "x", TEST)
    assert [name for name in made if name.startswith("Messenger.")] == []


@pytest.mark.parametrize("target", ["gone", "here"])
async def test_a_send_that_we_cut_off_says_nothing_about_the_provider(
    post_office: PostOffice, caplog: pytest.LogCaptureFixture, target: str
):
    task = asyncio.create_task(post_office.messenger.send("post", target, "x", TEST))
    await Post.waiting.wait()
    await post_office.messenger.aclose()
    assert task.cancelled()
    assert post_office.watch.troubles().failing == {}
    assert [record.getMessage() for record in caplog.records] == []
