"""Entries as lines of JSON: out, and in again."""

import json
from pathlib import Path

import pytest
from tests.features.memory.conftest import CLI, MemoryBench

from tocsin.features.memory.exchange import format_line, read_entries
from tocsin.features.memory.feature import FEATURE
from tocsin.features.memory.model import InvalidEntryError
from tocsin.testing import FakeClock
from tocsin.testing.features import open_feature

NOW = 1_700_000_000.0


async def exported(kept: MemoryBench) -> str:
    return "".join([f"{format_line(entry)}\n" async for entry in kept.memory.export()])


async def test_what_is_exported_and_imported_elsewhere_is_the_same(kept: MemoryBench, tmp_path: Path):
    await kept.store("a", 'one\nline \u2028 and \x1b[31m 東京 🎉 \\ "quoted"', tags=("x", "日本"), importance=0.25)
    await kept.store("b", "two", half_life_days=None, pinned=True, expires_at=kept.clock.now() + 1e6)
    await kept.store("chat:-7:1", "three")
    kept.passes(3)
    await kept.memory.get("a", touch=True)
    await kept.store("deleted", "four")
    await kept.memory.delete("deleted", CLI)
    written = await exported(kept)
    assert written.isascii()
    async with open_feature(FEATURE, tmp_path / "other", clock=FakeClock(kept.clock.now())) as bench:
        other = MemoryBench(bench, kept.clock)
        counts = await other.memory.import_all(read_entries(written, NOW), "cli", overwrite=False)
        assert counts == (3, 0, 0)
        assert await exported(other) == written
        assert await other.found("東京") == ["a"]


async def test_an_import_keeps_what_is_there_unless_it_is_to_replace_it(kept: MemoryBench):
    await kept.store("a", "mine")
    entries = read_entries('{"key":"a","value":"theirs"}\n{"key":"b","value":"new"}', NOW)
    assert await kept.memory.import_all(entries, "cli", overwrite=False) == (1, 0, 1)
    assert (await kept.memory.get("a")).value == "mine"
    assert await kept.memory.import_all(entries, "cli", overwrite=True) == (0, 2, 0)
    assert (await kept.memory.get("a")).value == "theirs"
    assert [facts for action, _, facts in kept.audited() if action == "memory.import"] == [
        {"added": 1, "replaced": 0, "kept": 1},
        {"added": 0, "replaced": 2, "kept": 0},
    ]


async def test_an_import_with_a_settings_layers_nothing(kept: MemoryBench):
    lines = '{"key":"a","value":"fine"}\n{"key":"b","value":"correct-horse-battery-staple"}'
    with pytest.raises(InvalidEntryError, match="secret"):
        await kept.memory.import_all(read_entries(lines, NOW), "cli", overwrite=False)
    assert await kept.keys() == []


def test_an_array_is_read_as_well_as_lines():
    documents = [{"key": "a", "value": "1"}, {"key": "b", "value": "2", "half_life_days": None}]
    first, second = read_entries(json.dumps(documents), NOW)
    assert (first.half_life_days, second.half_life_days) == (30.0, None)
    assert first.created_at == first.last_accessed_at == NOW


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "line 2 is not valid JSON"),
        ("[]", "line 2 is not an object"),
        ('"text"', "line 2 is not an object"),
        ('{"key":"b"}', "line 2: key 'value' is missing"),
        ('{"key":"b","value":""}', "line 2: value: the value is empty"),
        ('{"key":"stats","value":"x"}', "line 2: key: the key 'stats' is reserved"),
        ('{"key":"b","value":"x","tag":[]}', "line 2: unknown key 'tag'"),
        ('{"key":"b","value":"x","key":"c"}', "line 2"),
        ('{"key":"b","value":7}', "line 2: value"),
        ('{"key":"b","value":"x","importance":2}', "line 2: importance"),
        ('{"key":"b","value":"x","half_life_days":0}', "line 2: a half-life"),
        ('{"key":"b","value":"x","type":"rumour"}', "line 2: type"),
        ('{"key":"b","value":"x","created_at":"soon"}', "line 2: created_at: expected a time"),
        ('{"key":"chat:1:2","value":"x","scope":"chat:2"}', "line 2: the key chat:1:2 belongs to the scope chat:1"),
        ('{"key":"a","value":"x"}', "line 2: duplicate key a, first in line 1"),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_read(line: str, sentence: str):
    with pytest.raises(InvalidEntryError) as raised:
        read_entries(f'{{"key":"a","value":"1"}}\n{line}\n', NOW)
    assert str(raised.value).startswith(sentence)
