"""Find entries by their words, in every language, whatever is typed."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.features.memory.conftest import CLI, MemoryBench

from tocsin.features.memory.model import EntryType, InvalidEntryError
from tocsin.features.memory.query import SNIPPET_CHARS, find_snippet, split_pairs, split_terms, within_reach
from tocsin.features.memory.tables.rows import EntryFilter


async def test_an_entry_is_found_by_all_words_of_key_value_and_tags(kept: MemoryBench):
    await kept.store("office.wifi", "The guest network is called Lighthouse", tags=("berlin",))
    await kept.store("home.wifi", "The network has no name")
    assert await kept.found("guest network") == ["office.wifi"]
    assert await kept.found("network berlin") == ["office.wifi"]
    assert sorted(await kept.found("wifi")) == ["home.wifi", "office.wifi"]
    assert await kept.found("guest berlin nowhere") == []


async def test_case_and_accents_do_not_matter_and_a_word_finds_longer_ones(kept: MemoryBench):
    await kept.store("a", "Die Rückfahrkarte nach Málaga, ÉCOLE")
    for query in ("ruckfahr", "RÜCKFAHRKARTE", "malaga", "école", "Ecole"):
        assert await kept.found(query) == ["a"], query
    assert await kept.found("karte") == []


@pytest.mark.parametrize(
    ("value", "query"),
    [
        ("私は東京に住んでいます", "東京"),
        ("私は東京に住んでいます", "住んでい"),
        ("我的狗叫小白。它喜欢散步", "喜欢散步"),
        ("我的狗叫小白。它喜欢散步", "狗"),
        ("ฉันชอบกินข้าวผัด", "ข้าว"),
        ("서울에서 회의가 있습니다", "서울"),
        ("서울에서 회의가 있습니다", "회의"),
        ("Meeting in 東京 with Anna", "anna 東京"),
        ("Meeting in 東京 with Anna", "meeting 東"),
        ("the party 🎉 begins at 8", "🎉"),
        ("Ελληνικά γράμματα", "ΕΛΛΗΝΙΚΆ"),
        ("Привет из Москвы", "москвы"),
        ("अंतरराष्ट्रीय समाचार", "समाचार"),
        ("שלום עולם", "שלום"),
        ("مرحبا بالعالم", "مرحبا"),
        ("𠀋 is a rare character", "𠀋"),
    ],
)
async def test_an_entry_is_found_in_its_own_language(kept: MemoryBench, value: str, query: str):
    await kept.store("it", value)
    await kept.store("other", "Nothing like that, 何もない, 아니요")
    assert await kept.found(query) == ["it"]


HOSTILE = [
    '"', '""', '"unclosed', "a'b", "foo*", "*", "^foo", "foo AND", "OR", "NOT foo", "foo NOT bar", "NEAR(foo bar)",
    "NEAR/2", "value:foo", "{key value}: foo", "(foo", ")", "foo + bar", "-foo", "foo\0bar", "foo%", "_", "\\",
    "memory_words", "'; DROP TABLE memory_entries; --", "foo\nbar", "🎉*", "東京 OR", '東"京', "%東%", "a" * 999,
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
async def test_operators_and_quotes_in_a_query_are_only_text(kept: MemoryBench, query: str):
    await kept.store("bait", "nothing of that kind")
    if split_terms(query):
        assert await kept.found(query) == []
        return
    with pytest.raises(InvalidEntryError, match="search"):
        await kept.found(query)


async def test_words_that_are_operators_elsewhere_are_found_as_words(kept: MemoryBench):
    await kept.store("a", "do NOT feed, or near the gate")
    for query in ("NOT", "OR", "near", '"NOT"', "feed*", "NEAR gate"):
        assert await kept.found(query) == ["a"], query


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
async def test_no_text_makes_a_search_or_a_recall_fail(kept: MemoryBench, query: str):
    try:
        await kept.memory.search(query)
    except InvalidEntryError:
        assert not split_terms(query) or len(split_terms(query)) > 32
    await kept.memory.related(query, ("global",), 5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x24F), min_size=1, max_size=12))
async def test_every_latin_word_is_found_by_itself(kept: MemoryBench, word: str):
    await kept.store("it", f"before {word} after")
    assert await kept.found(word) == ["it"]


@pytest.mark.parametrize("query", ["", "  ", "***", "?!", '""', "-"])
async def test_a_query_without_a_word_is_refused(kept: MemoryBench, query: str):
    with pytest.raises(InvalidEntryError, match="search"):
        await kept.memory.search(query)


async def test_a_query_that_is_too_long_is_refused(kept: MemoryBench):
    for query in ("a" * 1001, " ".join(f"w{number}" for number in range(33))):
        with pytest.raises(InvalidEntryError, match="too long"):
            await kept.memory.search(query)


async def test_the_stronger_of_two_equal_matches_comes_first(kept: MemoryBench):
    await kept.store("old", "the same words")
    kept.passes(30)
    await kept.store("new", "the same words")
    result = await kept.memory.search("same words")
    first, second = result.items
    assert (first.entry.key, second.entry.key) == ("new", "old")
    assert second.score == pytest.approx(first.score / 2)


@pytest.mark.parametrize("step", [(3, 10), (10, 200), (200, 2_000)])
async def test_a_strong_match_is_found_behind_many_faded_ones(kept: MemoryBench, step: tuple[int, int]):
    memory = kept.limited(steps=step)
    for number in range(30):
        await kept.store(f"faded{number}", "needle", half_life_days=1)
    kept.passes(20)
    await kept.store("strong", f"needle {'and much else that makes it a worse match ' * 20}")
    assert (await memory.search("needle", limit=3)).items[0].entry.key == "strong"
    assert len((await memory.search("needle", limit=200)).items) == 31


async def test_a_search_can_be_restricted_to_tag_type_and_scope(kept: MemoryBench):
    await kept.store("a", "needle", tags=("x",))
    await kept.store("b", "needle", type=EntryType.EVENT)
    await kept.store("chat:1:1", "needle 針")
    assert await kept.found("needle", EntryFilter(tag="x")) == ["a"]
    assert await kept.found("needle", EntryFilter(type=EntryType.EVENT)) == ["b"]
    assert await kept.found("needle", EntryFilter(("chat:1",))) == ["chat:1:1"]
    assert await kept.found("針", EntryFilter(("global",))) == []


async def test_a_snippet_shows_where_the_matches_are(kept: MemoryBench):
    await kept.store("a", f"{'x ' * 300}the Café is open {'y ' * 300}")
    (match,) = (await kept.memory.search("cafe open")).items
    text, matches = match.snippet.text, match.snippet.matches
    assert len(text) <= 160
    assert [text[start:end] for start, end in matches] == ["Café", "open"]


@pytest.mark.parametrize(
    ("value", "query", "marked"),
    [
        ("東京と東京", "東京", ["東京", "東京"]),
        ("nothing here", "absent", []),
        ("backup backups", "backup", ["backup", "backups"]),
        ("a (b) [c]", "(b)", ["b"]),
        ("foo-bar", "foo-bar", ["foo", "bar"]),
    ],
)
def test_matches_are_offsets_in_characters(value: str, query: str, marked: list[str]):
    snippet = find_snippet(value, split_terms(query))
    text, matches = snippet.text, snippet.matches
    assert [text[start:end] for start, end in matches] == marked


@given(st.text(max_size=400), st.text(max_size=30))
def test_offsets_are_always_inside_the_snippet_and_apart(value: str, query: str):
    snippet = find_snippet(value, split_terms(query))
    text, matches = snippet.text, snippet.matches
    ends = [0]
    for start, end in matches:
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)


def test_pairs_are_neighbours_in_words_without_spaces():
    assert split_pairs("私は東京 and Anna 京") == ["私は", "は東", "東京", "京"]


async def test_a_replaced_or_deleted_text_is_not_found_any_more(kept: MemoryBench):
    await kept.store("a", "first 東京の")
    await kept.store("a", "second")
    assert await kept.found("first") == await kept.found("東京の") == []
    await kept.memory.delete("a", CLI)
    assert await kept.found("second") == []


def test_no_match_is_looked_for_behind_what_a_snippet_can_show():
    endless = ((begin, begin + 1) for begin in itertools.count(7))
    assert [begin for begin, _ in within_reach(endless)] == list(range(7, 7 + SNIPPET_CHARS + 1))
    assert list(within_reach(())) == []
