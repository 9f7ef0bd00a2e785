"""Store, read, fade, forget and undo."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.memory.conftest import CLI, DAY_S, MemoryBench

from tocsin.core.records.as_json import to_json
from tocsin.features.memory.model import (
    EntryDraft,
    EntryExistsError,
    EntrySource,
    EntryType,
    InvalidEntryError,
    UnknownEntryError,
    compute_strength,
)
from tocsin.features.memory.service import MemoryCaller
from tocsin.features.memory.tables.rows import EntryFilter


async def test_a_stored_entry_is_read_as_it_was_stored(kept: MemoryBench):
    await kept.store("dog", "Rex\nlikes walks", type=EntryType.FACT, tags=("pet", "pet"), importance=0.75)
    document = to_json(await kept.memory.get("dog"))
    at = "2023-11-14T22:13:20.000Z"
    assert document == {
        "key": "dog", "value": "Rex\nlikes walks", "type": "fact", "tags": ["pet"], "scope": "global", "source": "cli",
        "importance": 0.75, "pinned": False, "half_life_days": 30.0, "strength": 1.0, "access_count": 0,
        "last_accessed_at": at, "created_at": at, "updated_at": at, "expires_at": None,
    }  # fmt: skip


async def test_a_second_value_replaces_the_first_and_keeps_when_it_was_created(kept: MemoryBench):
    first = await kept.store("dog", "Rex")
    kept.passes(1)
    second = await kept.store("dog", "Bella")
    assert (second.value, second.created_at, second.updated_at) == ("Bella", first.created_at, kept.clock.now())
    assert await kept.found("Rex") == []
    assert await kept.keys() == ["dog"]


async def test_storing_if_absent_refuses_a_key_that_exists(kept: MemoryBench):
    await kept.store("dog", "Rex")
    with pytest.raises(EntryExistsError):
        await kept.memory.set(EntryDraft(key="dog", value="Bella"), CLI, if_absent=True)
    assert (await kept.memory.get("dog")).value == "Rex"


async def test_only_reading_with_touch_makes_an_entry_as_strong_as_new(kept: MemoryBench):
    await kept.store("dog", "Rex")
    kept.passes(30)
    assert (await kept.memory.get("dog")).strength == 0.5
    touched = await kept.memory.get("dog", touch=True)
    assert (touched.strength, touched.access_count) == (1.0, 1)


async def test_a_deleted_entry_can_be_restored_for_30_days_as_strong_as_new(kept: MemoryBench):
    await kept.store("dog", "Rex", tags=("pet",))
    await kept.memory.delete("dog", CLI)
    with pytest.raises(UnknownEntryError):
        await kept.memory.get("dog")
    assert await kept.found("Rex") == await kept.keys() == []
    kept.passes(29.9)
    restored = await kept.memory.restore("dog", CLI)
    assert (restored.value, restored.tags, restored.strength) == ("Rex", ("pet",), 1.0)
    assert await kept.found("Rex") == ["dog"]


async def test_after_30_days_a_deleted_entry_is_gone_for_good(kept: MemoryBench):
    await kept.store("dog", "Rex")
    await kept.memory.delete("dog", CLI)
    kept.passes(30)
    with pytest.raises(UnknownEntryError, match="30 days"):
        await kept.memory.restore("dog", CLI)
    await kept.memory.decay_daily()
    rows = await kept.bench.app.database.read(lambda c: c.execute("SELECT count(*) FROM memory_entries").fetchone()[0])
    assert rows == 0


async def test_restoring_takes_the_last_that_was_removed(kept: MemoryBench):
    for value in ("Rex", "Bella"):
        await kept.store("dog", value)
        await kept.memory.delete("dog", CLI)
        kept.passes(1)
    await kept.memory.restore("dog", CLI)
    assert (await kept.memory.get("dog")).value == "Bella"


async def test_what_was_replaced_can_be_restored_and_a_second_restore_takes_that_back(kept: MemoryBench):
    await kept.store("dog", "Rex", tags=("pet",))
    kept.passes(1)
    await kept.store("dog", "Bella")
    assert await kept.found("Rex") == []
    for value in ("Rex", "Bella", "Rex"):
        kept.passes(1)
        assert (await kept.memory.restore("dog", CLI)).value == value
        assert (await kept.found(value), await kept.keys()) == (["dog"], ["dog"])
    assert (await kept.memory.get("dog")).tags == ("pet",)
    kept.passes(30)
    with pytest.raises(UnknownEntryError):
        await kept.memory.restore("dog", CLI)
    assert (await kept.memory.get("dog")).value == "Rex"


async def test_of_a_key_that_is_replaced_again_and_again_the_last_20_are_kept(kept: MemoryBench):
    for number in range(30):
        await kept.store("dog", f"Rex {number}")
        await kept.store("dog", f"Rex {number}", importance=0.9)
    await kept.store("cat", "Tom")
    rows = await kept.bench.app.database.read(lambda c: c.execute("SELECT count(*) FROM memory_entries").fetchone()[0])
    assert rows == 22
    assert (await kept.memory.restore("dog", CLI)).value == "Rex 28"


async def test_decay_removes_what_is_weaker_than_the_threshold_and_can_be_undone(kept: MemoryBench):
    await kept.store("faded", "one", half_life_days=1)
    await kept.store("fading", "two", half_life_days=20)
    await kept.store("pinned", "three", half_life_days=1, pinned=True)
    await kept.store("lasting", "four", half_life_days=None)
    kept.passes(30)
    dry = await kept.memory.decay("cli", dry_run=True)
    assert to_json(dry) == {
        "dry_run": True, "evaluated": 4, "fading": 1, "removed": 1, "removed_keys": ["faded"],
    }  # fmt: skip
    assert len(await kept.keys()) == 4
    report = await kept.memory.decay("cli")
    assert report.found == dry.found
    assert sorted(await kept.keys()) == ["fading", "lasting", "pinned"]
    await kept.memory.restore("faded", CLI)
    assert (await kept.memory.decay("cli")).found.removed == 0


async def test_a_decay_with_a_half_life_uses_it_instead_of_each_entrys(kept: MemoryBench):
    await kept.store("a", "one", half_life_days=1000)
    await kept.store("b", "two", half_life_days=None)
    kept.passes(10)
    report = await kept.memory.decay("cli", half_life_days=1)
    assert report.found.removed_keys == ("a",)


async def test_decay_names_at_most_200_keys(kept: MemoryBench):
    for number in range(205):
        await kept.store(f"k{number}", "v", half_life_days=0.1)
    kept.passes(30)
    report = await kept.memory.decay("cli")
    assert (report.found.removed, len(report.found.removed_keys)) == (205, 200)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.booleans(), st.none() | st.floats(0.1, 90), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(0, 400),
    st.floats(0, 1),
)
async def test_decay_removes_exactly_what_the_formula_says(
    kept: MemoryBench, entries: list[tuple[bool, float | None, float]], days: float, threshold: float
):
    keys = [f"e{number}" for number in range(len(entries))]
    for key, (pinned, half_life, importance) in zip(keys, entries, strict=True):
        await kept.store(key, "v", pinned=pinned, half_life_days=half_life, importance=importance)
    stored_at = kept.clock.now()
    kept.passes(days)
    silent_s = kept.clock.now() - stored_at
    strengths = {key: compute_strength(*entry, silent_s) for key, entry in zip(keys, entries, strict=True)}
    report = await kept.memory.decay("cli", dry_run=True, threshold=threshold)
    certain = {key for key, strength in strengths.items() if abs(strength - threshold) > 1e-9}
    removed = set(report.found.removed_keys)
    assert removed & certain == {key for key in certain if strengths[key] < threshold}
    for key in keys:
        await kept.memory.delete(key, CLI)


async def test_an_expired_entry_is_gone_and_decay_removes_it_so_that_it_can_be_restored(kept: MemoryBench):
    await kept.store("guest", "password of the week", expires_at=kept.clock.now() + DAY_S)
    assert await kept.found("week") == ["guest"]
    kept.passes(1)
    assert await kept.found("week") == await kept.keys() == []
    with pytest.raises(UnknownEntryError):
        await kept.memory.get("guest")
    assert (await kept.memory.decay("cli")).found.removed_keys == ("guest",)
    assert (await kept.memory.restore("guest", CLI)).expires_at is None
    assert await kept.found("week") == ["guest"]


async def test_an_entry_that_expires_in_the_past_is_refused_and_replaces_nothing(kept: MemoryBench):
    await kept.store("guest", "old")
    for expires_at in (kept.clock.now(), -1e10):
        with pytest.raises(InvalidEntryError, match="past"):
            await kept.store("guest", "new", expires_at=expires_at)
    assert (await kept.memory.get("guest")).value == "old"


async def test_a_new_entry_takes_the_key_of_an_expired_one(kept: MemoryBench):
    await kept.store("guest", "old", expires_at=kept.clock.now() + DAY_S)
    kept.passes(2)
    entry, created = await kept.memory.set(EntryDraft(key="guest", value="new"), CLI, if_absent=True)
    assert (entry.value, created) == ("new", True)


async def test_the_daily_decay_runs_once_a_day_for_all_processes(kept: MemoryBench):
    await kept.store("a", "one", half_life_days=0.1)
    kept.passes(10)
    await kept.memory.decay_daily()
    await kept.store("b", "two", half_life_days=0.1)
    kept.passes(0.9)
    await kept.memory.decay_daily()
    assert await kept.keys() == ["b"]
    kept.passes(0.1)
    await kept.memory.decay_daily()
    assert await kept.keys() == []
    decays = [(source, facts) for action, source, facts in kept.audited() if action == "memory.decay"]
    assert decays == [("memory", {"removed": 1, "threshold": 0.05})] * 2


async def test_a_pinned_entry_does_not_fade_and_an_unpinned_one_fades_from_then_on(kept: MemoryBench):
    await kept.store("dog", "Rex")
    await kept.memory.pin("dog", CLI, pinned=True)
    kept.passes(500)
    assert (await kept.memory.get("dog")).strength == 1.0
    await kept.memory.pin("dog", CLI, pinned=False)
    kept.passes(30)
    assert (await kept.memory.get("dog")).strength == 0.5


async def test_every_change_leaves_one_audit_entry_and_no_value(kept: MemoryBench):
    await kept.store("dog", "Rex")
    await kept.store("dog", "Bella")
    await kept.memory.pin("dog", CLI, pinned=True)
    await kept.memory.pin("dog", CLI, pinned=False)
    await kept.memory.delete("dog", MemoryCaller(EntrySource.BOT, "chat:7"))
    await kept.memory.restore("dog", CLI)
    await kept.memory.decay("cli")
    await kept.memory.decay("cli", dry_run=True)
    await kept.memory.get("dog")
    await kept.found("Bella")
    about = {"key": "dog", "scope": "global"}
    assert kept.audited() == [
        ("memory.set", "cli", {**about, "created": True}),
        ("memory.set", "cli", {**about, "created": False}),
        ("memory.pin", "cli", about),
        ("memory.unpin", "cli", about),
        ("memory.delete", "bot", {**about, "actor": "chat:7"}),
        ("memory.restore", "cli", about),
        ("memory.decay", "cli", {"removed": 0, "threshold": 0.05}),
    ]
    assert "Bella" not in (kept.bench.app.settings.data_dir / "audit.log").read_text()


@pytest.mark.parametrize("value", ["it is correct-horse-battery-staple", "token xoxb-123456789-abc"])
async def test_a_value_with_a_secret_is_refused(kept: MemoryBench, value: str):
    with pytest.raises(InvalidEntryError, match="secret"):
        await kept.store("k", value)
    assert await kept.keys() == []


async def test_a_listing_goes_page_by_page_in_each_order_without_gaps(kept: MemoryBench):
    for number in range(7):
        await kept.store(f"k{number}", "v", importance=number / 10)
        kept.passes(1)
    for sort, first in (("updated_at", "k6"), ("strength", "k6"), ("key", "k0")):
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await kept.memory.listing(sort=sort, limit=3, cursor=cursor)
            found += [entry.key for entry in page.items]
            kept.clock.advance(60)
            cursor = page.next_cursor
        assert found[0] == first
        assert sorted(found) == [f"k{number}" for number in range(7)]


@pytest.mark.parametrize("cursor", ["x", "WzFd", "W10", "!", "eyJhIjoxfQ", "ä"])
async def test_a_foreign_cursor_is_refused(kept: MemoryBench, cursor: str):
    with pytest.raises(InvalidEntryError, match="cursor"):
        await kept.memory.listing(cursor=cursor)


async def test_a_listing_can_be_restricted(kept: MemoryBench):
    await kept.store("a", "50% off_", tags=("x",))
    await kept.store("b", "other", type=EntryType.EVENT, tags=("x", "y"))
    await kept.store("chat:1:1", "other")
    assert await kept.keys(wanted=EntryFilter(tag="x"), sort="key") == ["a", "b"]
    assert await kept.keys(wanted=EntryFilter(type=EntryType.EVENT)) == ["b"]
    assert await kept.keys(wanted=EntryFilter(scopes=("chat:1",))) == ["chat:1:1"]
    assert await kept.keys(wanted=EntryFilter(text="50% OFF_")) == ["a"]
    assert await kept.keys(wanted=EntryFilter(text="%")) == ["a"]


async def test_the_statistics_count_kinds_tags_and_strengths(kept: MemoryBench):
    await kept.store("a", "äb", tags=("x", "y"), pinned=True)
    await kept.store("b", "b", tags=("x",), type=EntryType.NOTE)
    kept.passes(45)
    await kept.store("c", "c", type=EntryType.NOTE)
    await kept.memory.decay("cli")
    stats = to_json(await kept.memory.stats())
    assert stats == {
        "count": 3, "bytes": 5, "pinned": 1, "by_type": {"note": 2, "fact": 1}, "by_tag": {"x": 2, "y": 1},
        "strength_histogram": [0, 0, 0, 1, 0, 0, 0, 0, 0, 2], "fading": 1,
        "newest_at": "2023-12-29T22:13:20.000Z", "oldest_at": "2023-11-14T22:13:20.000Z",
        "last_decay": {"at": "2023-12-29T22:13:20.000Z", "removed": 0},
    }  # fmt: skip


async def test_doctor_and_status_tell_how_much_there_is(kept: MemoryBench):
    assert [finding.state for finding in await kept.bench.findings()] == ["off"]
    assert [status.summary for status in (await kept.bench.subsystems())["memory"]] == ["empty"]
    await kept.store("a", "one")
    assert [(f.state, f.detail) for f in await kept.bench.findings()] == [("ok", "entries: 1, of which 0 decayed")]
    (status,) = (await kept.bench.subsystems())["memory"]
    assert (status.summary, status.counts) == ("1 entry, 0 decayed", {"entries": 1, "fading": 0})
