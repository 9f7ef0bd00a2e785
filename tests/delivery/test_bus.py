"""The bus against real Redis servers: what comes in is queued once, whatever happens to anybody."""

import asyncio
import json
import logging
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S, rate_of
from tests.waiting import eventually as until

from tocsin.core.errors import ChannelError, ConfigError, StoreUnavailableError, UnknownChannelError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.delivery.bus.bus import BRIDGE, Bus, BusTimings, publish
from tocsin.delivery.bus.entry import GROUP, MAX_BYTES, MAX_REJECTED, REJECTED, BusEntry, rejected
from tocsin.delivery.files.folder import FolderFiles
from tocsin.delivery.files.intake import FileIntake
from tocsin.delivery.model import Delivery, DeliveryStatus, NewDelivery, Policy
from tocsin.testing.fakes import FakeClock

KINDS = {"email": "email", "teamchat": "teamchat", "slack": "teamchat", "botchat": "botchat", "guildchat": "guildchat"}
# What tests wait for comes sooner; those of the promises in seconds run at the usual pace.
SWIFT = BusTimings(lease_s=1.0, renew_s=0.3, silence_s=1.5, block_s=0.05, sweep_s=0.1, abandoned_s=0.5)


class Queue:
    """A queue that knows keys, as the stores do, and can be away."""

    def __init__(self) -> None:
        self.accepted: list[NewDelivery] = []
        self.calls = 0
        self.failure: Exception | None = None
        self._known: dict[str, Delivery] = {}

    async def enqueue(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        self.calls += 1
        if self.failure:
            raise self.failure
        await asyncio.sleep(0)
        for delivery in new:
            key = delivery.idempotency_key or ""
            if key not in self._known:
                facts = (new_id(), delivery.channel, delivery.target, delivery.message, delivery.source)
                self._known[key] = Delivery(
                    *facts, DeliveryStatus.QUEUED, delivery.policy, created_at=0.0, idempotency_key=key
                )
                self.accepted.append(delivery)
        return [self._known[delivery.idempotency_key or ""] for delivery in new]

    @property
    def messages(self) -> list[str]:
        return [delivery.message for delivery in self.accepted]


def prepare(channel: str, entry: BusEntry) -> NewDelivery:
    """Do what the outbox does: resolve aliases, refuse what cannot be sent."""
    kind = KINDS.get(channel.strip().lower())
    if kind is None:
        raise UnknownChannelError(f"Unknown channel: {channel}")
    if kind == "email" and "@" not in entry.target:
        raise ChannelError("the target is no address")
    return NewDelivery(kind, entry.target, entry.message, "bus", Policy(entry.policy or "at_least_once"))


@asynccontextmanager
async def buses(
    url: str, queue: Queue, count: int = 1, *, name: str = "worker", answer_timeout_s: float = 5.0, **changes: Any
) -> AsyncIterator[list[Bus]]:
    """Run buses, each with connections of its own; stop them at the end."""
    clients = [open_redis(url, answer_timeout_s=answer_timeout_s) for _ in range(count)]
    parts = {"names": lambda: list(KINDS), "prepare": prepare, "enqueue": queue.enqueue, "pace": SWIFT, **changes}
    made = [Bus(client, f"{name}-{number}", **parts) for number, client in enumerate(clients)]
    try:
        async with asyncio.TaskGroup() as group:
            for bus in made:
                group.create_task(bus.run())
            try:
                yield made
            finally:
                for bus in made:
                    bus.stop()
    finally:
        for client in clients:
            await client.aclose()


@pytest.fixture
async def url(request: pytest.FixtureRequest) -> str:
    """Return the address of the test's own server when it has one, else of an empty database of the common one."""
    if "private_redis" in request.fixturenames:
        return str(request.getfixturevalue("private_redis").url)
    address = f"{request.getfixturevalue('redis_server').url}?db=9"
    opened = patient_redis(address)
    await opened.command("FLUSHDB")
    await opened.aclose()
    return address


@pytest.fixture
async def client(url: str) -> AsyncIterator[RedisClient]:
    opened = patient_redis(url)
    yield opened
    await opened.aclose()


async def _value(result: object) -> object:
    return await result if isinstance(result, Awaitable) else result


async def until_led(made: Sequence[Bus]) -> Bus:
    await until(lambda: any(bus.leads for bus in made))
    return next(bus for bus in made if bus.leads)


async def publish_text(client: RedisClient, topic: str, message: str, target: str = "a@b.c") -> None:
    await client.command("PUBLISH", topic, json.dumps({"target": target, "message": message}))


async def fill(client: RedisClient, count: int) -> None:
    """Put numbered messages on the stream of a channel, in one step."""
    text = "for n = 0, ARGV[1] - 1 do redis.call('XADD', KEYS[1], '*', 'target', 'a@b.c', 'message', n) end"
    await client.command("EVAL", text, 1, "outbound:email", count)


# --- what comes in


async def test_redis_cli_publish_queues_a_message(private_redis: RedisServer, url: str):
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        command = ["redis-cli", "-s", str(private_redis.socket), "PUBLISH", "outbound:email"]
        subprocess.run([*command, '{"target":"a@b.c","message":"hi"}'], check=True, capture_output=True)
        await until(lambda: queue.accepted)
    [delivery] = queue.accepted
    assert (delivery.channel, delivery.target, delivery.message) == ("email", "a@b.c", "hi")


@pytest.mark.parametrize("as_json", [False, True], ids=["fields", "json"])
async def test_a_stream_entry_carries_all_terms_as_fields_or_json(url: str, client: RedisClient, *, as_json: bool):
    terms = {"id": "alert-7", "policy": "at_most_once", "not_before": "5", "expires_at": "2026-11-20T08:00:00Z"}
    fields = {"target": "a@b.c", "message": "hi", **terms}
    queue = Queue()
    async with buses(url, queue):
        await publish(client, "email", {"data": json.dumps(fields)} if as_json else fields)
        await until(lambda: queue.accepted)
    assert queue.accepted == [
        NewDelivery("email", "a@b.c", "hi", "bus", Policy.AT_MOST_ONCE, "", 5.0, 1795161600.0, "bus:alert-7")
    ]


async def test_files_of_an_entry_are_stored_and_one_whose_content_is_gone_is_rejected(
    url: str, client: RedisClient, tmp_path: Path
):
    store = FolderFiles(tmp_path, 2**20, FakeClock())
    seen: list[BusEntry] = []

    def keep(channel: str, entry: BusEntry) -> NewDelivery:
        seen.append(entry)
        return prepare(channel, entry)

    queue, take_files = Queue(), FileIntake(lambda: store, 2**20).take
    async with buses(url, queue, prepare=keep, take_files=take_files):
        for file in ({"hash": "0" * 64}, {"content": "bGluZQ=="}):
            whole = {"target": "a@b.c", "message": "hi", "attach": [{"name": "a.log", **file}]}
            await publish(client, "email", {"data": json.dumps(whole)})
        await until(lambda: queue.accepted)
        await until_empty(client, "outbound:email")
    [attached] = seen[0].content["attach"]
    assert (attached["size"], await store.hashes()) == (4, {attached["hash"]})
    assert "the content of a file is gone" in (await rejected(client, 1))[0]["reason"]


async def test_the_key_is_the_entry_s_id_when_none_is_given(url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue):
        entry = await publish(client, "email", {"target": "a@b.c", "message": "hi"})
        await until(lambda: queue.accepted)
    assert queue.accepted[0].idempotency_key == f"bus-entry:outbound:email:{entry}"


async def test_entries_from_before_the_first_start_are_queued_and_leave_the_stream(url: str, client: RedisClient):
    await fill(client, 250)
    queue = Queue()
    async with buses(url, queue):
        await until(lambda: len(queue.accepted) == 250)
        await until_empty(client, "outbound:email")
    assert queue.messages == [str(number) for number in range(250)]


async def until_length(client: RedisClient, stream: str, length: int) -> None:
    async def reached() -> bool:
        return bool(await client.command("XLEN", stream) == length)

    await until(reached)


async def until_empty(client: RedisClient, *streams: str) -> None:
    async def empty() -> bool:
        lengths = [await client.command("XLEN", stream) for stream in streams]
        pending = [await client.command("EVAL", _PENDING, 1, stream, GROUP) for stream in streams]
        return not any(lengths) and not any(pending)

    await until(empty)


_PENDING = "return redis.call('XPENDING', KEYS[1], ARGV[1])[1]"


async def test_an_alias_resolves_to_its_channel_by_both_ways(url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        await publish(client, "slack", {"target": "C1", "message": "stream"})
        await publish_text(client, "outbound:slack", "topic")
        await publish_text(client, "outbound:Slack", "topic in capitals")
        await until(lambda: len(queue.accepted) == 3)
    assert {delivery.channel for delivery in queue.accepted} == {"teamchat"}


@pytest.mark.parametrize("count", [1, 2, 4, 8])
async def test_one_publish_is_one_delivery_however_many_processes_run(url: str, client: RedisClient, count: int):
    queue = Queue()
    async with buses(url, queue, count) as made:
        await until_led(made)
        for number in range(100):
            await publish_text(client, "outbound:email", f"topic {number}")
            await publish(client, "teamchat", {"target": "C1", "message": f"stream {number}"})
        await until(lambda: len(queue.accepted) >= 200)
        await until(lambda: sum(bus.leads for bus in made) == 1)  # two, or none, while another one takes over
    assert sorted(queue.messages) == sorted(f"{way} {n}" for way in ("topic", "stream") for n in range(100))


async def test_large_messages_in_a_burst_all_arrive(url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        for number in range(20):
            await publish_text(client, "outbound:email", f"{number}:" + "x" * (MAX_BYTES - 100))
            await publish(client, "teamchat", {"target": "C1", "message": f"{number}." + "x" * (MAX_BYTES - 100)})
        await until(lambda: len(queue.accepted) == 40)
    assert len(set(queue.messages)) == 40
    assert await rejected(client, 10) == []


# --- what is given an id


async def test_an_id_that_comes_twice_is_queued_once(url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        fields = {"target": "a@b.c", "message": "hi", "id": "7"}
        await publish(client, "email", fields)
        await publish(client, "email", fields)
        await client.command("PUBLISH", "outbound:email", json.dumps(fields))
        await publish(client, "email", {"target": "a@b.c", "message": "last"})
        await until(lambda: "last" in queue.messages)
        await until_empty(client, "outbound:email")
    assert queue.messages == ["hi", "last"]
    assert await rejected(client, 10) == []


async def test_an_id_that_comes_again_with_another_message_is_rejected(url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue):
        await publish(client, "email", {"target": "a@b.c", "message": "one", "id": "7"})
        await publish(client, "email", {"target": "a@b.c", "message": "two", "id": "7"})
        await until_rejected(client, 1)
    [record] = await rejected(client, 10)
    assert "message" in record["reason"]
    assert "two" in record["entry"]


# --- what is rejected


async def until_rejected(client: RedisClient, count: int) -> None:
    async def enough() -> bool:
        return len(await rejected(client, 1000)) >= count

    await until(enough)


MALFORMED = {
    "not JSON": ("email", "hello", "not valid JSON"),
    "no object": ("email", "[]", "not a JSON object"),
    "missing field": ("email", '{"target": "a@b.c"}', "key 'message' is missing"),
    "unknown field": ("email", '{"target": "a@b.c", "message": "x", "html": "y"}', "unknown key 'html'"),
    "wrong type": ("email", '{"target": "a@b.c", "message": 7}', "message: expected text, found a number"),
    "not UTF-8": ("email", b'{"target": "a@b.c", "message": "\xff"}', "not UTF-8"),
    "too long": ("email", '{"target": "a@b.c", "message": "' + "x" * MAX_BYTES + '"}', "larger than 1 MiB"),
    "bad target": ("email", '{"target": "nobody", "message": "x"}', "the target is no address"),
    "unknown channel": ("pigeon", '{"target": "a@b.c", "message": "x"}', "Unknown channel: pigeon"),
    "no channel": ("", '{"target": "a@b.c", "message": "x"}', "Unknown channel"),
}


async def test_what_is_malformed_is_kept_with_its_reason_and_stops_nothing(
    url: str, client: RedisClient, caplog: pytest.LogCaptureFixture
):
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        for channel, raw, _ in MALFORMED.values():
            await client.command("XADD", f"outbound:{channel}", "*", "data", raw)
            await publish_text(client, "outbound:email", "good")
        await until_rejected(client, len(MALFORMED))
        for channel, raw, _ in MALFORMED.values():
            await client.command("PUBLISH", f"outbound:{channel}", raw)
            await publish(client, "email", {"target": "a@b.c", "message": "good"})
        await until_rejected(client, 2 * len(MALFORMED))
        await until(lambda: len(queue.accepted) == 2 * len(MALFORMED))
        assert made[0].problem == ""
    assert set(queue.messages) == {"good"}
    records = await rejected(client, 1000)
    for channel, raw, reason in MALFORMED.values():
        shown = (raw if isinstance(raw, str) else raw.decode(errors="replace"))[:4000]
        found = [r for r in records if r["topic"] == f"outbound:{channel}" and r["entry"] == shown]
        assert len(found) == 2, (channel, shown[:50])
        assert all(reason in r["reason"] for r in found)
        assert all(1_700_000_000 < r["at"] < 5_000_000_000 for r in found)  # seconds since 1970
    logged = [record for record in caplog.records if "rejected" in record.message]
    assert len(logged) == 2 * len(MALFORMED)
    assert await client.command("KEYS", "outbound:pigeon") == []


async def test_an_entry_where_the_list_of_the_rejected_belongs_is_rejected_too(url: str, client: RedisClient):
    await publish(client, "rejected", {"target": "a@b.c", "message": "x"})
    async with buses(url, Queue()):
        await publish_text(client, "outbound:rejected", "y")
        await publish(client, "email", {"target": "a@b.c"})
        await until_rejected(client, 2)
    assert "Unknown channel" in " ".join(record["reason"] for record in await rejected(client, 10))


async def test_the_list_of_the_rejected_is_bounded_and_read_newest_first(url: str, client: RedisClient):
    await client.command("RPUSH", REJECTED, *["not ours"] * MAX_REJECTED)
    async with buses(url, Queue()):
        await publish(client, "email", {"target": "a@b.c"})
        await publish(client, "email", {"message": "b"})

        async def came() -> bool:
            return "key 'target' is missing" in (await rejected(client, 1))[0]["reason"]

        await until(came)
    assert await client.command("LLEN", REJECTED) == MAX_REJECTED
    records = await rejected(client, 3)
    assert [record["entry"] for record in records] == ['{"message": "b"}', '{"target": "a@b.c"}', "not ours"]
    assert await rejected(client, 0) == []


@pytest.mark.parametrize("error", [ConfigError("plain http"), RuntimeError("boom"), UnicodeError("x")], ids=repr)
async def test_a_channel_that_cannot_even_look_at_a_message_rejects_it(url: str, client: RedisClient, error: Exception):
    def picky(channel: str, entry: BusEntry) -> NewDelivery:
        if entry.message == "bad":
            raise error
        return prepare(channel, entry)

    queue = Queue()
    async with buses(url, queue, prepare=picky):
        for message in ("bad", "good"):
            await publish(client, "email", {"target": "a@b.c", "message": message})
        await until(lambda: queue.accepted)
        await until_rejected(client, 1)
    assert queue.messages == ["good"]


async def test_an_entry_that_the_queue_chokes_on_is_rejected_alone(url: str, client: RedisClient):
    queue = Queue()

    async def choking(new: Sequence[NewDelivery]) -> list[Delivery]:
        if any(delivery.message == "bad" for delivery in new):
            raise ValueError("surrogates not allowed")
        return await queue.enqueue(new)

    for message in ("one", "bad", "two"):
        await publish(client, "email", {"target": "a@b.c", "message": message})
    async with buses(url, queue, enqueue=choking):
        await until(lambda: queue.messages == ["one", "two"])
        await until_rejected(client, 1)


async def test_a_key_that_is_no_stream_stops_no_other_and_is_reported(url: str, client: RedisClient):
    await client.command("SET", "outbound:teamchat", "mine")
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        await publish(client, "email", {"target": "a@b.c", "message": "other"})
        await until(lambda: queue.accepted)
        assert "outbound:teamchat" in made[0].problem
        await publish_text(client, "outbound:teamchat", "lost?")
        await until_rejected(client, 1)
        await client.command("DEL", "outbound:teamchat")
        await publish(client, "teamchat", {"target": "C1", "message": "again"})
        await until(lambda: "again" in queue.messages)
        await client.command("DEL", "outbound:email")
        await client.command("SET", "outbound:email", "mine")
        await publish(client, "slack", {"target": "C1", "message": "still"})
        await until(lambda: "still" in queue.messages)
        assert "outbound:email" in made[0].problem


async def test_streams_of_others_are_left_alone(url: str, client: RedisClient):
    await client.command("XGROUP", "CREATE", "outbound:devicemsg", GROUP, "0", "MKSTREAM")  # another host serves it
    queue = Queue()
    async with buses(url, queue) as made:
        await until_led(made)
        await publish_text(client, "outbound:devicemsg", "for the other host")
        await publish(client, "pigeon", {"target": "a", "message": "b"})
        await until_rejected(client, 1)
    assert [record["topic"] for record in await rejected(client, 10)] == ["outbound:pigeon"]
    assert await client.command("XLEN", "outbound:devicemsg") == 1


# --- outages


async def test_what_cannot_be_queued_now_is_queued_later_without_a_busy_loop(
    url: str, client: RedisClient, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "tocsin.delivery")
    queue = Queue()
    queue.failure = StoreUnavailableError("the queue is away")
    async with buses(url, queue, 2) as made:
        await until_led(made)
        await fill(client, 150)
        await publish_text(client, "outbound:email", "topic")
        await publish(client, "email", {"target": "a@b.c"})
        await until(lambda: all("queue" in bus.problem for bus in made))
        await until_length(client, "outbound:email", 152)
        assert await rate_of(lambda: queue.calls, over_s=1) <= 2 * 4
        queue.failure = None
        await until(lambda: len(queue.accepted) == 151)
        await until_empty(client, "outbound:email")
        await until(lambda: not any(bus.problem for bus in made))
    assert Counter(queue.messages) == Counter(["topic", *map(str, range(150))])
    assert Counter(record.message for record in caplog.records if record.message.startswith("the bus")) == {
        "the bus uses Redis": 2,
        "the bus is unavailable": 2,  # one a process
        "the bus has recovered": 2,
    }


async def test_flushall_makes_the_groups_anew(private_redis: RedisServer, url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue, 2) as made:
        await until_led(made)
        for number in range(3):
            private_redis.ask("FLUSHALL")
            await publish(client, "email", {"target": "a@b.c", "message": f"stream {number}"})
            await until(lambda n=number: f"stream {n}" in queue.messages)
            await publish_text(client, "outbound:teamchat", f"topic {number}")
            await until(lambda n=number: f"topic {n}" in queue.messages)
        await until(lambda: not any(bus.problem for bus in made))
    assert max(Counter(queue.messages).values()) == 1


async def test_a_restart_and_a_pause_of_redis_lose_and_repeat_nothing(private_redis: RedisServer, url: str):
    queue = Queue()
    stopping = asyncio.Event()
    count = 0

    async def load() -> None:
        nonlocal count
        client = open_redis(url)
        while not stopping.is_set():
            # The id makes it safe to write an entry again whose answer was lost.
            fields = {"target": "a@b.c", "message": str(count), "id": str(count)}
            with suppress(StoreUnavailableError):
                await publish(client, "email", fields)
                count += 1
            await asyncio.sleep(0.002)
        await client.aclose()

    async with buses(url, queue, 3) as made, asyncio.TaskGroup() as group:
        await until_led(made)
        group.create_task(load())
        for _ in range(2):
            before = count + 100
            await until(lambda least=before: count > least)
            private_redis.restart()
            before = count
            await until(lambda least=before: str(least) in queue.messages)
        private_redis.pause()
        await asyncio.sleep(3)
        private_redis.resume()
        before = count
        await until(lambda least=before: str(least) in queue.messages)
        await until_led(made)
        stopping.set()
        await until(lambda: len(queue.accepted) >= count)
    assert Counter(queue.messages) == Counter(map(str, range(count)))


async def test_an_absent_redis_is_one_problem_and_one_line_until_it_comes(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "tocsin.delivery")
    queue = Queue()
    with tempfile.TemporaryDirectory(prefix="redis-") as directory:
        server = RedisServer(Path(directory), requirepass="right")
        async with buses(f"unix://:wrong@{server.socket}", queue) as made:
            await until(lambda: "cannot connect" in made[0].problem)
            await asyncio.sleep(0.5)  # for more attempts, that tell nothing new
            server.start()
            await until(lambda: "password" in made[0].problem)
            assert not made[0].leads
            server.ask("CONFIG", "SET", "requirepass", "wrong")
            server.password = "wrong"
            await until(lambda: not made[0].problem)
            assert await until_led(made)
        server.stop()
    lines = [record.message for record in caplog.records]
    assert lines == ["the bus is unavailable", "the bus uses Redis"]


async def test_an_idle_process_asks_redis_seldom(private_redis: RedisServer, url: str, client: RedisClient):
    async with buses(url, Queue(), pace=BusTimings()) as made:
        await until_led(made)
        per_second = await rate_of(lambda: commands(client), over_s=2)
    assert per_second < 13  # looking back every 3 s adds less than 2


async def commands(client: RedisClient) -> int:
    answer = await client.command("EVAL", "return redis.call('INFO', 'commandstats')", 0)
    lines = [line for line in answer.decode().splitlines() if line.startswith("cmdstat_")]
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines)


# --- coming and going


@pytest.mark.parametrize("state", ["idle", "loaded", "redis paused", "queue away"])
async def test_a_stop_waits_for_no_server_and_loses_nothing_that_was_taken(
    private_redis: RedisServer, url: str, client: RedisClient, state: str
):
    queue = Queue()
    await fill(client, 5000 if state == "loaded" else 0)
    async with buses(url, queue, answer_timeout_s=86_400) as made:
        await until_led(made)
        if state == "redis paused":
            private_redis.pause()
        if state == "queue away":
            queue.failure = StoreUnavailableError("away")
            await publish(client, "email", {"target": "a@b.c", "message": "0"})
            await until(lambda: made[0].problem)
    private_redis.resume()
    queue.failure = None
    async with buses(url, queue):
        await until_empty(client, "outbound:email")
    assert Counter(queue.messages) == Counter(map(str, range({"loaded": 5000, "queue away": 1}.get(state, 0))))


async def test_processes_that_are_replaced_one_by_one_lose_no_published_message(url: str, client: RedisClient):
    queue, sent = Queue(), 0
    # No leader leaves before its successor leads, however slow the machine is.
    patient = dict.fromkeys(("lease_s", "silence_s", "hand_over_s", "stop_s"), PATIENCE_S)
    async with buses(url, queue, 4, pace=replace(SWIFT, **patient)) as made:
        running = list(made)
        while running:
            leader = await until_led(running)
            running.remove(leader)
            for step in range(100):
                await publish_text(client, "outbound:email", str(sent))
                sent += 1
                if step == 50 and running:
                    leader.stop()
        await until(lambda: len(queue.accepted) >= sent)
    assert Counter(queue.messages) == Counter(map(str, range(sent)))


async def test_a_subscription_that_is_cut_off_is_made_anew(private_redis: RedisServer, url: str, client: RedisClient):
    queue = Queue()
    async with buses(url, queue, 2) as made:
        await until_led(made)
        await client.command("CLIENT", "KILL", "TYPE", "pubsub")
        await until(lambda: not any(bus.leads for bus in made))
        await until_led(made)
        await publish_text(client, "outbound:email", "hi")
        await until(lambda: queue.accepted)
    assert queue.messages == ["hi"]


async def test_a_dead_leader_whose_lease_does_not_end_is_replaced(url: str, client: RedisClient):
    await client.command("SET", BRIDGE, "dead", "PX", 3_600_000)  # the server's clock was set back by an hour
    queue = Queue()
    async with buses(url, queue, 2) as made:
        await until_led(made)
        for number in range(10):
            await publish_text(client, "outbound:email", str(number))
        await until(lambda: len(queue.accepted) == 10)


async def test_installations_in_two_databases_do_not_depose_each_other(
    private_redis: RedisServer, url: str, client: RedisClient
):
    first, second = Queue(), Queue()
    steady = replace(SWIFT, lease_s=PATIENCE_S, silence_s=PATIENCE_S)  # no leader may be late here
    async with (
        buses(url, first, pace=steady) as [one],
        buses(f"{url}?db=1", second, name="other", pace=steady) as [two],
    ):
        await until_led([one])
        await until_led([two])
        for number in range(20):  # longer than a leader needs to announce itself again
            await publish_text(client, "outbound:email", str(number))
            await asyncio.sleep(0.03)
            assert one.leads
            assert two.leads
        await until(lambda: len(first.accepted) == len(second.accepted) == 20)


async def test_consumers_that_are_long_dead_are_forgotten_unless_they_hold_entries(url: str, client: RedisClient):
    await client.command("XGROUP", "CREATE", "outbound:email", GROUP, "$", "MKSTREAM")
    await client.command("XGROUP", "CREATECONSUMER", "outbound:email", GROUP, "dead")
    await publish(client, "email", {"target": "a@b.c", "message": "held"})
    await client.command("XREADGROUP", "GROUP", GROUP, "holder", "STREAMS", "outbound:email", ">")
    queue = Queue()
    async with buses(url, queue, pace=replace(SWIFT, abandoned_s=3_600.0, forget_s=0.3)):
        await until(lambda: is_forgotten(client, "dead"))
        assert not await is_forgotten(client, "holder")
        assert not queue.accepted
    async with buses(url, queue, pace=replace(SWIFT, abandoned_s=0.3, forget_s=0.3)):
        await until(lambda: queue.accepted)
        await until_consumers(client, {"worker-0"})
    await until_consumers(client, set())


async def consumers(client: RedisClient) -> set[str]:
    return {consumer[1].decode() for consumer in await client.command("XINFO CONSUMERS", "outbound:email", GROUP)}


async def is_forgotten(client: RedisClient, name: str) -> bool:
    return name not in await consumers(client)


async def until_consumers(client: RedisClient, names: set[str]) -> None:
    async def match() -> bool:
        return await consumers(client) == names

    await until(match)


# --- real processes

CHILD = """
import asyncio, sys
from tocsin.core.storage.redis_client import Script, open_redis
from tocsin.delivery.bus.bus import Bus, BusTimings
from tocsin.delivery.model import Delivery, DeliveryStatus, NewDelivery

url, record_url, record, pace, name = sys.argv[1:]
keep = Script("if redis.call('HSETNX', KEYS[1], ARGV[1], '') == 1 then redis.call('RPUSH', KEYS[2], ARGV[2]) end")

async def main():
    records = open_redis(record_url)
    async def enqueue(new):
        for one in new:
            await records.run(keep, [record + ":keys", record], [one.idempotency_key, one.message])
        return [
            Delivery("", n.channel, n.target, n.message, "", DeliveryStatus.QUEUED, n.policy, created_at=0.0)
            for n in new
        ]
    def prepare(channel, entry):
        return NewDelivery(channel, entry.target, entry.message, "bus")
    await Bus(open_redis(url), name, lambda: ["email", "teamchat"], prepare, enqueue, eval(pace)).run()

asyncio.run(main())
"""


class Children:
    """Processes that each run a bus and write what they queued into another Redis."""

    def __init__(self, url: str, records: RedisServer, pace: BusTimings) -> None:
        self._words = [url, records.url, f"bus-{new_id()}", repr(pace)]
        self.records = patient_redis(records.url)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        name = f"child-{new_id()[-8:]}"
        self.running[name] = subprocess.Popen([sys.executable, "-c", CHILD, *self._words, name])

    def kill(self, name: str) -> None:
        child = self.running.pop(name)
        child.kill()
        child.wait()

    async def queued(self, prefix: str = "") -> list[str]:
        texts = [text.decode() for text in await self.records.command("LRANGE", self._words[2], 0, -1)]
        return [text for text in texts if text.startswith(prefix)]


@asynccontextmanager
async def children(url: str, records: RedisServer, count: int, pace: BusTimings) -> AsyncIterator[Children]:
    made = Children(url, records, pace)
    try:
        with ended(made.running):
            for _ in range(count):
                made.start()
            yield made
    finally:
        await made.records.aclose()


@contextmanager
def ended(processes: Mapping[str, subprocess.Popen[bytes]]) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


async def until_heard(client: RedisClient, made: Children) -> None:
    """Publish until a message is queued: somebody listens."""
    probe = f"probe {new_id()}"

    async def heard() -> bool:
        await publish_text(client, "outbound:email", f"{probe}:{new_id()}")
        await asyncio.sleep(0.05)
        return bool(await made.queued(probe))

    await until(heard)


async def leader(client: RedisClient) -> str:
    return ((await client.command("GET", BRIDGE)) or b"").decode()


async def leading_of(client: RedisClient, names: Mapping[str, object]) -> str:
    """Return which of `names` leads, once one does: on a busy machine a lease expires between two questions."""

    async def led() -> str:
        name = await leader(client)
        return name if name in names else ""

    return str(await until(led))


async def test_processes_killed_at_random_lose_no_entry_and_repeat_none(
    private_redis: RedisServer, url: str, redis_server: RedisServer, client: RedisClient, chance: Random
):
    async with children(url, redis_server, 3, SWIFT) as made:
        await until_heard(client, made)
        for number in range(450):
            await publish(client, "email", {"target": "a@b.c", "message": f"stream {number}"})
            await publish_text(client, "outbound:teamchat", f"topic {number}")
            if number % 150 == 149:
                made.kill(chance.choice(sorted(made.running)))
                made.start()
        made.kill(await leading_of(client, made.running))
        await until_heard(client, made)

        async def complete() -> bool:
            return len(await made.queued("stream")) >= 450

        await until(complete)
        await until_empty(client, "outbound:email", "outbound:teamchat")
        assert Counter(await made.queued("stream")) == Counter(f"stream {number}" for number in range(450))
        assert max(Counter(await made.queued()).values()) == 1


async def test_a_leader_that_slept_forwards_nothing_that_its_successor_heard(
    private_redis: RedisServer, url: str, redis_server: RedisServer, client: RedisClient
):
    async with children(url, redis_server, 2, BusTimings()) as made:
        await until_heard(client, made)
        sleeper = await leading_of(client, made.running)
        made.running[sleeper].send_signal(signal.SIGSTOP)
        sent = 0

        async def heard() -> bool:
            nonlocal sent
            await publish_text(client, "outbound:email", f"topic {sent}")
            sent += 1
            await asyncio.sleep(0.01)
            return bool(await made.queued("topic"))

        await until(heard)
        assert await leader(client) != sleeper
        for _ in range(100):
            await publish_text(client, "outbound:email", f"topic {sent}")
            sent += 1
        made.running[sleeper].send_signal(signal.SIGCONT)

        async def complete() -> bool:
            return len(await made.queued("topic")) >= sent

        await until(complete)
        await until_heard(client, made)
        # What nobody else heard while it slept, it forwarded late; so nothing is lost either.
        assert Counter(await made.queued("topic")) == Counter(f"topic {number}" for number in range(sent))
