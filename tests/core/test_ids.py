"""Identifiers are UUIDv7 (RFC 9562, section 5.7)."""

import time
from uuid import RFC_4122, UUID

import pytest

from tocsin.core.ids import new_id


def test_an_id_is_a_uuid_of_version_7_in_its_usual_spelling():
    for _ in range(1000):
        text = new_id()
        parsed = UUID(text)
        assert str(parsed) == text
        assert (parsed.version, parsed.variant) == (7, RFC_4122)


def test_an_id_starts_with_the_time_so_that_ids_sort_by_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)
    assert UUID(new_id()).int >> 80 == 1_700_000_000_123


def test_ids_made_within_one_millisecond_sort_by_their_time_too(monkeypatch: pytest.MonkeyPatch):
    times = iter(range(1_700_000_000_000_000_000, 1_700_000_000_001_000_000, 250))
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    made = [new_id() for _ in range(4000)]
    assert made == sorted(made)
    assert {UUID(text).version for text in made} == {7}


def test_no_two_ids_are_the_same():
    assert len({new_id() for _ in range(20_000)}) == 20_000
