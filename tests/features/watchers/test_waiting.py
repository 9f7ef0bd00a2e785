"""Which changes are acted on, when, and as what: with a clock that only the test moves."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.features.watchers.conftest import open_site

from tocsin.core.watching.folder_watcher import ChangeKind, FileChange
from tocsin.features.watchers.model import WatchedChange, WatcherRule, WatchEvent
from tocsin.features.watchers.store import WatcherStore
from tocsin.features.watchers.watching.matching import change_for, is_own
from tocsin.testing.fakes import FakeClock

ALL = tuple(WatchEvent)
RULE = WatcherRule("rule", Path("/srv"), "true", events=ALL)


class Queue:
    """The changes of rules, and what is taken of them."""

    def __init__(self, store: WatcherStore, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock

    async def note(self, rule: WatcherRule, *changes: tuple[str, ...]) -> int:
        """Note changes: what happened, the file, and for a moved one where it was."""
        found = [
            WatchedChange(WatchEvent(kind), f"/srv/{path}", *(f"/srv/{each}" for each in old))
            for kind, path, *old in changes
        ]
        return await self.store.note({rule: found}, self.clock.now())

    async def taken(self, rule: WatcherRule) -> list[tuple[str, str]]:
        """Take all that is due, each as soon as the one before it."""
        found = []
        while taken := await self.store.take(rule, self.clock.now()):
            found.append((str(taken.change.type), taken.change.path.removeprefix("/srv/")))
        return found


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[Queue]:
    clock = FakeClock()
    async with open_site(tmp_path, clock=clock) as site:
        store = site.watchers.store
        yield Queue(store, clock)


async def test_a_file_is_acted_on_once_when_it_has_rested_and_at_the_latest_after_a_minute(queue: Queue):
    await queue.note(RULE, ("created", "a"), ("created", "b"))
    queue.clock.advance(0.4)
    await queue.note(RULE, ("modified", "a"))
    assert await queue.taken(RULE) == []
    assert await queue.store.due([RULE], queue.clock.now()) == {"rule": pytest.approx(0.1)}
    queue.clock.advance(0.2)
    assert await queue.taken(RULE) == [("created", "b")]
    queue.clock.advance(0.3)
    assert await queue.taken(RULE) == [("created", "a")]
    for _ in range(150):
        await queue.note(RULE, ("modified", "log"))
        queue.clock.advance(0.4)
    assert await queue.taken(RULE) == [("modified", "log")]


@pytest.mark.parametrize(
    ("events", "changes", "taken"),
    [
        (ALL, [("created", "a"), ("modified", "a")], [("created", "a")]),
        (ALL, [("created", "a"), ("deleted", "a")], []),
        (ALL, [("modified", "a"), ("deleted", "a")], [("deleted", "a")]),
        (ALL, [("deleted", "a"), ("created", "a")], [("modified", "a")]),
        (ALL, [("created", "a"), ("moved", "b", "a")], [("created", "b")]),
        (ALL, [("modified", "a"), ("moved", "b", "a")], [("moved", "b")]),
        (ALL, [("moved", "b", "a"), ("modified", "b")], [("moved", "b")]),
        (ALL, [("modified", "b"), ("modified", "a"), ("moved", "b", "a")], [("modified", "b")]),
        (["created"], [("created", "a"), ("modified", "a")], [("created", "a")]),
        (["created"], [("created", "a"), ("deleted", "a")], []),
        (["modified"], [("created", "a"), ("modified", "a")], [("modified", "a")]),
        (["deleted"], [("modified", "a"), ("deleted", "a")], [("deleted", "a")]),
        (["modified"], [("modified", "a"), ("deleted", "a")], []),
    ],
)
async def test_several_changes_of_one_file_are_one(
    queue: Queue, events: Sequence[str], changes: Sequence[tuple[str, ...]], taken: Sequence[tuple[str, str]]
):
    rule = WatcherRule("rule", Path("/srv"), "true", events=tuple(map(WatchEvent, events)))
    for change in changes:
        await queue.note(rule, change)
    queue.clock.advance(1)
    assert await queue.taken(rule) == taken


async def test_after_a_run_a_rule_cools_down_and_then_acts_on_the_last_change(queue: Queue):
    rule = WatcherRule("rule", Path("/srv"), "true", cooldown_seconds=60)
    await queue.note(rule, ("created", "a"), ("created", "b"))
    queue.clock.advance(1)
    assert await queue.taken(rule) == [("created", "b")]
    await queue.note(rule, ("modified", "b"))
    await queue.note(rule, ("created", "c"))
    queue.clock.advance(30)
    assert await queue.taken(rule) == []
    assert (await queue.store.due([rule], queue.clock.now()))["rule"] == pytest.approx(30)
    queue.clock.advance(31)
    assert await queue.taken(rule) == [("created", "c")]
    recent = await queue.store.recent("rule")
    assert [(each.path, each.run_id is not None) for each in recent] == [
        ("/srv/c", True), ("/srv/b", False), ("/srv/b", True), ("/srv/a", False),
    ]  # fmt: skip


async def test_a_clock_that_is_set_back_delays_nothing(queue: Queue):
    rule = WatcherRule("rule", Path("/srv"), "true", cooldown_seconds=3600)
    await queue.note(rule, ("created", "a"))
    queue.clock.advance(1)
    assert await queue.taken(rule) == [("created", "a")]
    await queue.note(rule, ("created", "b"))
    queue.clock.advance(-86_400)
    assert await queue.store.due([rule], queue.clock.now()) == {"rule": 0.0}
    assert await queue.taken(rule) == [("created", "b")]


async def test_a_hundred_thousand_changes_may_wait_and_more_are_left_out(queue: Queue):
    assert await queue.note(RULE, *(("created", str(number)) for number in range(100_003))) == 3
    assert await queue.store.waiting() == 100_000


async def test_what_is_older_than_a_day_is_forgotten_but_the_newest_of_each_rule(queue: Queue):
    other = WatcherRule("other", Path("/srv"), "true")
    await queue.note(RULE, *(("created", str(number)) for number in range(60)))
    await queue.note(other, ("created", "a"))
    queue.clock.advance(1)
    await queue.taken(RULE)
    await queue.store.drop_waiting(["rule"])
    await queue.store.prune(queue.clock.now())
    assert len(await queue.store.recent("rule", 100)) == 60
    queue.clock.advance(90_000)
    await queue.note(RULE, ("created", "waits"))
    await queue.store.prune(queue.clock.now())
    assert len(await queue.store.recent("rule", 100)) == 50
    assert [(each.path, each.run_id) for each in await queue.store.recent("other")] == [("/srv/a", None)]


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (("created", "a.pdf"), ("created", "a.pdf", "")),
        (("created", "deep/a.pdf"), ("created", "deep/a.pdf", "")),
        (("created", "a.txt"), None),
        (("created", "old/a.pdf"), None),
        (("moved", "b.pdf", "a.pdf"), ("moved", "b.pdf", "a.pdf")),
        (("moved", "b.pdf", "b.pdf.uploading"), ("created", "b.pdf", "")),
        (("moved", "old/a.pdf", "a.pdf"), ("deleted", "a.pdf", "")),
        (("moved", "b.txt", "a.txt"), None),
        (("committed", ""), None),
    ],
)
def test_a_file_counts_by_its_patterns_and_renaming_it_brings_it_in_or_out(
    change: tuple[str, ...], seen: tuple[str, str, str] | None
):
    rule = WatcherRule("rule", Path("/srv"), patterns=("*.pdf",), exclude_patterns=("old/",))
    kind, path, *old = change
    found = change_for(rule, FileChange(Path("/real"), ChangeKind(kind), path, *old))
    told = found and (str(found.type), *(each.removeprefix("/srv/") for each in (found.path, found.old_path)))
    assert told == seen


@pytest.mark.parametrize(
    ("folder", "path", "own"),
    [
        ("/home/me", "data/tocsin.db", True),
        ("/home/me", "notes", False),
        ("/home/me", "database", False),
        ("/home/me/data", "tocsin.db-wal", True),
        ("/home/me/data/inbox", "x", False),
        ("/home/me/data/runs", "2026-01/x.log", True),
    ],
)
def test_what_tocsin_writes_itself_is_no_change(folder: str, path: str, own: bool):
    assert is_own(FileChange(Path(folder), ChangeKind.CREATED, path), Path("/home/me/data")) is own


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_at_a_handover_a_taken_change_is_acted_on_by_one_process(queue: Queue, is_recorded: bool):
    await queue.note(RULE, ("created", "a"))
    queue.clock.advance(10)
    taken = await queue.store.take(RULE, queue.clock.now())
    assert taken is not None
    # The next holder of the lease looks before the first process has noted that it began.
    if is_recorded:
        await queue.store.settle_taken(taken.run_id)
    else:
        await queue.store.redo(taken.run_id)
    assert await queue.store.began(taken) is is_recorded
    assert (await queue.store.take(RULE, queue.clock.now()) is None) is is_recorded
