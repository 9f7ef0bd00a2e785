"""How entries fade, by hand and for all numbers; which keys, values and scopes there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.features.memory.model import (
    MAX_VALUE_BYTES,
    EntryDraft,
    EntryState,
    InvalidEntryError,
    classify_strength,
    compute_strength,
    half_lives_until,
    validate_draft,
)

DAY_S = 86_400.0
half_lives = st.floats(0.01, 36_500)
importances = st.floats(0, 1)
silences = st.floats(0, 1e10)


@pytest.mark.parametrize(
    ("days", "half_life", "importance", "expected"),
    [
        (0, 30, 0.5, 1.0),
        (30, 30, 0.5, 0.5),  # 0.5 ^ (30 / (30 x 1))
        (60, 30, 0.5, 0.25),
        (30, 30, 0.0, 0.25),  # 0.5 ^ (30 / (30 x 0.5))
        (45, 30, 1.0, 0.5),  # 0.5 ^ (45 / (30 x 1.5))
        (7, 14, 0.5, 0.5**0.5),
        (1, 2, 0.25, 0.5 ** (1 / 1.5)),
    ],
)
def test_the_strength_is_that_of_the_formula(days: float, half_life: float, importance: float, expected: float):
    assert compute_strength(False, half_life, importance, days * DAY_S) == pytest.approx(expected)


@given(half_lives, importances, silences)
def test_a_strength_is_from_0_to_1(half_life: float, importance: float, silent_s: float):
    assert 0.0 <= compute_strength(False, half_life, importance, silent_s) <= 1.0


@given(half_lives, importances, silences, silences)
def test_an_entry_never_gets_stronger_by_waiting(half_life: float, importance: float, a: float, b: float):
    sooner, later = sorted([a, b])
    assert compute_strength(False, half_life, importance, later) <= compute_strength(
        False, half_life, importance, sooner
    )


@given(half_lives, importances, importances, silences)
def test_what_matters_more_is_never_weaker(half_life: float, a: float, b: float, silent_s: float):
    less, more = sorted([a, b])
    assert compute_strength(False, half_life, less, silent_s) <= compute_strength(False, half_life, more, silent_s)


@given(half_lives, importances, silences)
def test_what_is_pinned_or_has_no_half_life_keeps_its_full_strength(half_life: float, importance: float, s: float):
    assert compute_strength(True, half_life, importance, s) == compute_strength(False, None, importance, s) == 1.0


def test_an_access_in_the_future_is_one_now():
    assert compute_strength(False, 30, 0.5, -DAY_S) == 1.0


@given(st.floats(0.0001, 1))
def test_after_the_computed_half_lives_an_entry_has_that_strength(strength: float):
    assert compute_strength(False, 10, 0.5, half_lives_until(strength) * 10 * DAY_S) == pytest.approx(strength)


@pytest.mark.parametrize(
    ("strength", "state"),
    [(1.0, EntryState.ACTIVE), (0.5, EntryState.ACTIVE), (0.499, EntryState.FADING), (0.05, EntryState.FADING),
     (0.049, EntryState.FADED), (0.0, EntryState.FADED)],
)  # fmt: skip
def test_the_states_are_those_of_the_strength(strength: float, state: EntryState):
    assert classify_strength(strength) is state


@pytest.mark.parametrize("key", ["a", "A1", "9", "office.wifi", "chat:-100123:7", "a_b-c.d:e", "x" * 128])
def test_a_key_has_letters_digits_and_four_marks(key: str):
    assert validate_draft(EntryDraft(key=key, value="v")).key == key


@pytest.mark.parametrize("key", ["", " ", ".a", "-a", ":a", "a b", "a/b", "ä", "a\n", "x" * 129, "a\0b", "日本"])
def test_a_key_of_another_shape_is_refused(key: str):
    with pytest.raises(InvalidEntryError, match=r"1 to.*128 letters"):
        validate_draft(EntryDraft(key=key, value="v"))


@pytest.mark.parametrize("key", ["stats", "search", "decay"])
def test_a_reserved_key_is_refused(key: str):
    with pytest.raises(InvalidEntryError, match=f"the key '{key}' is reserved"):
        validate_draft(EntryDraft(key=key, value="v"))


def test_a_value_has_at_most_64_kib_in_utf_8():
    assert validate_draft(EntryDraft(key="k", value="é" * (MAX_VALUE_BYTES // 2))).value
    with pytest.raises(InvalidEntryError, match=r"65,536 bytes.*65,537"):
        validate_draft(EntryDraft(key="k", value="é" * (MAX_VALUE_BYTES // 2) + "a"))


@pytest.mark.parametrize("value", ["", "  ", "\n\t", "\0"])
def test_an_empty_value_is_refused(value: str):
    with pytest.raises(InvalidEntryError, match="value"):
        validate_draft(EntryDraft(key="k", value=value))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"importance": 1.1}, "importance"),
        ({"importance": float("nan")}, "importance"),
        ({"half_life_days": 0}, "half-life"),
        ({"half_life_days": float("inf")}, "half-life"),
        ({"tags": ("a b",)}, "a tag has"),
        ({"tags": tuple(f"t{n}" for n in range(21))}, "at most 20 tags"),
        ({"scope": "chat:"}, "not a scope"),
        ({"scope": "everybody"}, "not a scope"),
    ],
)
def test_a_field_out_of_bounds_is_refused(fields: dict[str, object], sentence: str):
    with pytest.raises(InvalidEntryError, match=sentence):
        validate_draft(EntryDraft(key="k", value="v", **fields))  # type: ignore[arg-type]


def test_a_key_that_begins_as_a_chats_belongs_to_that_chat():
    assert validate_draft(EntryDraft(key="chat:-5:1", value="v")).scope == "chat:-5"
    assert validate_draft(EntryDraft(key="k", value="v")).scope == "global"
    with pytest.raises(InvalidEntryError, match="chat:5"):
        validate_draft(EntryDraft(key="chat:5:1", value="v", scope="global"))
