"""What a provider asks of a whole channel is known to every host, and kept to by direct sends as by the queue."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from tests.facts import mentions
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Receipt, SendResult, Tools
from tocsin.channels.registry import Registry
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ChannelError, FailureKind, StoreUnavailableError
from tocsin.core.storage.database import Database
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus, NewDelivery
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.delivery.store import ChannelRules, DeliveryHold, DeliveryStore
from tocsin.messaging.outbound.account_holds import REFRESH_EVERY_S, AccountHolds
from tocsin.messaging.outbound.messenger import Caller, Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.messaging.outbound.profiles import Profiles
from tocsin.testing.fakes import FakeClock, ScriptedTransport, settings_of

TEST = Caller("test")
HOUR_S = 3600.0
APART_S = 300.0  # so far the clocks of two hosts may differ


class Gong(OutboundAdapter):
    """Rings unless its provider throttles the account, or the target alone."""

    spec = ChannelSpec(kind="gong", label="Gong", product="a gong")

    async def deliver(self, part: Part) -> str:
        if part.target in {"everybody", "shortly", "one"}:
            wait_s = 5.0 if part.target == "shortly" else HOUR_S
            everybody = part.target != "one"
            raise ChannelError(
                "slow down", kind=FailureKind.RATE_LIMITED, retry_after_s=wait_s, whole_account=everybody
            )
        return f"rang {part.target}"

    async def probe(self) -> str:
        return "the temple"


class Host:
    """What sends directly on one host."""

    def __init__(self, directory: Path, store: DeliveryStore, clock: FakeClock) -> None:
        tools = Tools(ScriptedTransport([]), clock)
        registry = Registry([Gong], settings_of([Gong], {"TOCSIN_DATA_DIR": "/nonexistent"}), lambda: tools)
        self.audit = AuditLog(directory / f"audit-{uuid4().hex}.log")
        trail = AuditTrail(self.audit)
        self.clock, self.store = clock, store
        profiles = Profiles(directory / "none.yaml", registry.known_kind)
        self.messenger = Messenger(registry, lambda: profiles, trail, Outbox(store, registry, trail, clock))

    async def send(self, target: str) -> str:
        receipt = await self.messenger.send("gong", target, "hello", TEST)
        return receipt.result.message or receipt.result.error


@pytest.fixture(params=["sqlite", "redis"])
async def hosts(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[Host]]:
    """Two openings of one store; on Redis, they are two hosts whose clocks are five minutes apart."""
    monkeypatch.setattr(AccountHolds, "store_timeout_s", PATIENCE_S)  # a send may not hear of a hold in time
    prefix = f"test{uuid4().hex}"
    async with AsyncExitStack() as stack:

        def open_store(clock: FakeClock) -> DeliveryStore:
            if request.param == "redis":
                client = patient_redis(request.getfixturevalue("unsaved_redis").url)
                stack.push_async_callback(client.aclose)
                return RedisStore(client, clock, prefix=prefix)
            database = Database(tmp_path / "tocsin.db", {"delivery": MIGRATIONS})
            stack.push_async_callback(database.aclose)
            return SqliteStore(database, clock)

        here = FakeClock()
        there = FakeClock(here.now() - APART_S) if request.param == "redis" else here
        made = [Host(tmp_path, open_store(clock), clock) for clock in (here, there)]
        yield made
        for host in made:
            host.audit.close()


async def test_an_hours_throttle_of_a_direct_send_is_known_to_the_other_host_within_a_second(hosts: list[Host]):
    first, second = hosts
    assert await second.send("tower") == "rang tower"
    assert "slow down" in await first.send("everybody")
    for clock in {id(host.clock): host.clock for host in hosts}.values():
        clock.advance(REFRESH_EVERY_S)
    told = await second.send("tower")
    assert mentions(told, "account", " 3")
    assert "slow down" in told
    assert "message" in told


async def test_a_refusal_says_for_how_long_and_is_recorded_as_not_sent(hosts: list[Host]):
    first, second = hosts
    await first.send("everybody")
    receipt = await second.messenger.send("gong", "tower", "hello", TEST)
    assert receipt.failure is not None
    assert receipt.failure.kind is FailureKind.RATE_LIMITED
    assert receipt.failure.retry_after_s == pytest.approx(HOUR_S, abs=60)
    record = await second.store.get(receipt.delivery)
    assert (record.status, record.target) == (DeliveryStatus.DEAD, "tower")


async def test_it_holds_the_queue_of_every_host_too(hosts: list[Host]):
    first, second = hosts
    await second.store.enqueue_many([NewDelivery("gong", "tower", "hello", "test")])
    await first.send("everybody")
    rules = {"gong": ChannelRules()}
    assert await second.store.claim_due("w1", 10, rules) == []
    second.clock.advance(HOUR_S + 60)
    assert len(await second.store.claim_due("w1", 10, rules)) == 1


async def test_a_target_that_a_direct_send_found_throttled_is_held_in_the_queue_of_every_host(hosts: list[Host]):
    first, second = hosts
    assert "slow down" in await first.send("one")
    wanted = [NewDelivery("gong", target, "hello", "test") for target in ("one", "another")]
    await second.store.enqueue_many(wanted)
    rules = {"gong": ChannelRules()}
    assert [due.target for due in await second.store.claim_due("w1", 10, rules)] == ["another"]
    second.clock.advance(HOUR_S + 60)
    assert [due.target for due in await second.store.claim_due("w1", 10, rules)][:1] == ["one"]


async def test_a_throttle_that_the_queue_met_is_kept_to_by_direct_sends_of_every_host(hosts: list[Host]):
    first, second = hosts
    await first.store.enqueue_many([NewDelivery("gong", "tower", "hello", "test")])
    (claimed,) = await first.store.claim_due("w1", 1, {"gong": ChannelRules()})
    throttled = AttemptOutcome(
        DeliveryStatus.RETRY_WAIT, wait_s=HOUR_S, throttled=True, throttles_account=True, error="429"
    )
    await first.store.finish("w1", claimed.id, throttled)
    assert "on hold" in await second.send("gate")


async def test_when_the_hold_is_over_direct_sends_go_out_again(hosts: list[Host]):
    first, second = hosts
    await first.send("everybody")
    assert "on hold" in await second.send("tower")
    second.clock.advance(HOUR_S + 60)
    assert await second.send("tower") == "rang tower"


async def test_the_end_of_a_hold_is_told_by_the_clock_of_who_asks(hosts: list[Host]):
    await hosts[0].send("everybody")
    for host in hosts:
        hold = (await host.store.account_holds(["gong"]))["gong"]
        assert hold.until - host.clock.now() == pytest.approx(HOUR_S, abs=60)


async def test_what_concerns_one_target_or_ends_soon_stops_no_other(hosts: list[Host]):
    first, second = hosts
    await first.send("one")
    assert await second.send("tower") == "rang tower"
    await first.send("shortly")
    assert await second.send("tower") == "rang tower", "it would wait that long if the provider said so"


class AwayStore:
    """A store that counts how often it is asked, and fails while it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.away = False
        self.holds: dict[str, DeliveryHold] = {}
        self.now: Callable[[], float] = lambda: 0.0

    async def account_holds(self, channels: list[str]) -> dict[str, DeliveryHold]:
        self.asked += 1
        if self.away:
            raise StoreUnavailableError("Redis is away")
        return dict(self.holds)

    async def hold_account(self, channel: str, wait_s: float, reason: str) -> None:
        if self.away:
            raise StoreUnavailableError("Redis is away")
        self.holds[channel] = DeliveryHold(self.now() + wait_s, reason)


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[tuple[Host, AwayStore, AccountHolds]]:
    clock, store = FakeClock(), AwayStore()
    store.now = clock.now
    host = Host(tmp_path, store, clock)  # type: ignore[arg-type]
    yield host, store, AccountHolds(store, clock)  # type: ignore[arg-type]
    host.audit.close()


async def test_the_store_is_asked_twice_a_second_at_most(lonely: tuple[Host, AwayStore, AccountHolds]):
    host, store, holds = lonely
    for _ in range(10):
        assert await holds.refusal("gong", 30.0) is None
        host.clock.advance(0.1)
    assert store.asked == 2


async def test_without_the_store_what_is_known_here_counts_and_is_told_when_it_is_back(
    lonely: tuple[Host, AwayStore, AccountHolds],
):
    host, store, holds = lonely
    store.away = True
    asked = ChannelError("slow down", kind=FailureKind.RATE_LIMITED, retry_after_s=HOUR_S, whole_account=True)
    receipt = Receipt(SendResult(False, "gong", "tower", error="slow down"), failure=asked)
    await holds.note(receipt)
    assert await holds.refusal("gong", 30.0) is not None
    store.away = False
    host.clock.advance(600.0)
    assert await holds.refusal("gong", 30.0) is not None
    assert store.holds["gong"].until == pytest.approx(host.clock.now() + HOUR_S - 600.0)
