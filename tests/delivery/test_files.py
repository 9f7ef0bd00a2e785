"""Both stores of files keep the promises of `FileStore`, and removal spares what a delivery may need."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis

from tocsin.core.errors import StoreUnavailableError
from tocsin.delivery.files.folder import FolderFiles
from tocsin.delivery.files.redis import RedisFiles
from tocsin.delivery.files.store import BLOCK_BYTES, GRACE_S, FileGoneError, FilesFullError, FileStore
from tocsin.delivery.model import NewDelivery
from tocsin.delivery.redis.store import RedisStore
from tocsin.testing import FakeClock

QUOTA = 2 * 2**20
LARGE = bytes(range(256)) * (BLOCK_BYTES // 256) * 2 + b"rest"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["folder", "redis"])
async def files(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[FileStore]:
    if request.param == "folder":
        yield FolderFiles(tmp_path / "files", QUOTA, clock)
        return
    client = patient_redis(request.getfixturevalue("private_redis").url)
    yield RedisFiles(client, QUOTA, clock)
    await client.aclose()


async def of(*blocks: bytes) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block


async def broken() -> AsyncIterator[bytes]:
    yield b"x" * BLOCK_BYTES
    raise StoreUnavailableError("the caller went away")


async def content(files: FileStore, hash_: str) -> bytes:
    return b"".join([block async for block in files.blocks(hash_)])


async def test_a_content_is_read_as_it_was_stored(files: FileStore):
    stored = await files.add(of(LARGE[:7], LARGE[7:]))
    assert stored.size == len(LARGE)
    assert await files.size_of(stored.hash) == len(LARGE)
    assert await content(files, stored.hash) == LARGE
    assert (await files.usage()).size == len(LARGE)


async def test_the_same_content_is_stored_once(files: FileStore):
    assert await files.add(of(LARGE)) == await files.add(of(LARGE))
    assert (await files.usage()).count == 1


async def test_a_content_that_is_not_stored_says_so(files: FileStore):
    assert await files.size_of("0" * 64) is None
    with pytest.raises(FileGoneError, match="is gone"):
        await content(files, "0" * 64)


async def test_a_content_that_breaks_off_leaves_nothing(files: FileStore):
    with pytest.raises(StoreUnavailableError, match="went away"):
        await files.add(broken())
    assert await files.hashes() == frozenset()


async def test_files_beyond_the_quota_are_refused_with_both_numbers(files: FileStore):
    await files.add(of(b"x" * (QUOTA // 2)))
    with pytest.raises(FilesFullError, match="2 MiB"):
        await files.add(of(b"y" * (QUOTA // 2), b"z"))
    assert len(await files.hashes()) == 1


async def test_pruning_removes_what_no_delivery_needs_after_the_grace_period(files: FileStore, clock: FakeClock):
    kept, lost = await files.add(of(b"kept")), await files.add(of(b"lost"))
    assert await files.prune(frozenset({kept.hash})) == 0  # their deliveries may not be stored yet
    clock.advance(GRACE_S + 1)
    assert await files.prune(frozenset({kept.hash})) == 1
    assert await files.hashes() == {kept.hash}
    assert await content(files, kept.hash) == b"kept"
    assert await files.size_of(lost.hash) is None


async def test_hosts_that_share_a_store_keep_the_file_of_a_record_that_they_do_not_know(
    private_redis: RedisServer, clock: FakeClock
):
    client = patient_redis(private_redis.url)
    one, other = (RedisFiles(client, QUOTA, clock) for _ in range(2))
    stored = await one.add(of(b"of a request"))
    await one.keep([stored.hash], 86_400.0)
    clock.advance(2 * GRACE_S)
    await one.add(of(b"of a request"))  # for a message, which does not shorten it
    clock.advance(2 * GRACE_S)
    assert await other.prune(frozenset()) == 0

    await one.keep([stored.hash], 0.0)
    assert await other.prune(frozenset()) == 0
    clock.advance(GRACE_S + 1)
    assert await other.prune(frozenset()) == 1
    await client.aclose()


async def test_a_content_that_is_stored_again_is_not_removed_before_its_new_delivery_is_there(
    files: FileStore, clock: FakeClock
):
    await files.add(of(b"again"))
    clock.advance(GRACE_S + 1)
    await files.add(of(b"again"))
    assert await files.prune(frozenset()) == 0


async def test_a_moved_content_is_removed_at_once(files: FileStore):
    stored = await files.add(of(b"moved"))
    await files.remove(stored.hash)
    assert await files.hashes() == frozenset()


async def test_pruning_removes_what_a_killed_process_left_in_the_folder(tmp_path: Path, clock: FakeClock):
    files = FolderFiles(tmp_path, QUOTA, clock)
    await files.add(of(b"kept"))
    left = tmp_path / "tmp" / "left"
    left.write_bytes(b"x")
    os.utime(left, (clock.now(), clock.now()))
    clock.advance(GRACE_S + 1)
    await files.prune(await files.hashes())
    assert not left.exists()


async def test_pruning_removes_what_a_killed_process_left_in_redis(private_redis: RedisServer, clock: FakeClock):
    client = patient_redis(private_redis.url)
    files = RedisFiles(client, QUOTA, clock)
    await client.command("ZADD", "{tocsin:files}:unfinished", clock.now(), "token")
    await client.command("SET", "{tocsin:file:token}:0", b"x")
    clock.advance(GRACE_S + 1)
    await files.prune(frozenset())
    assert await client.command("KEYS", "*") == []
    await client.aclose()


async def test_redis_at_its_memory_limit_refuses_a_file_and_keeps_no_part_of_it(
    private_redis: RedisServer, clock: FakeClock
):
    client = patient_redis(private_redis.url)
    files = RedisFiles(client, 64 * 2**20, clock)
    used = int((await client.info())["used_memory"])
    await client.command("CONFIG SET", "maxmemory", used + 2 * 2**20)
    with pytest.raises(StoreUnavailableError):
        await files.add(of(*[os.urandom(BLOCK_BYTES) for _ in range(20)]))
    assert await client.command("KEYS", "*file:*") == []
    await client.aclose()


async def test_redis_knows_which_files_its_deliveries_need(private_redis: RedisServer, clock: FakeClock):
    client = patient_redis(private_redis.url)
    store = RedisStore(client, clock)
    attach = [{"name": "a.log", "hash": "a" * 64, "size": 1}]
    message = NewDelivery("bell", "x", "text", "test", extra={"content": {"attach": attach}})
    delivery, _ = await store.enqueue_many([message, NewDelivery("bell", "x", "plain", "test")])
    assert await store.needed_files(clock.now()) == {"a" * 64}
    await store.cancel(delivery.id)
    assert await store.needed_files(clock.now() + 1) == frozenset()
    assert await store.needed_files(clock.now() - 10) == {"a" * 64}
    await client.aclose()
