"""How old a secret may become."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.errors import ConfigError
from tocsin.features.vault.model import Secret
from tocsin.features.vault.rotation import RotationPolicies, RotationState, compute_age, parse_policies

DAY = 86_400.0
FILE = Path("rotation_policies.yaml")


@pytest.mark.parametrize(
    ("days", "state"),
    [
        (0, RotationState.OK),
        (-5, RotationState.OK),
        (71.99, RotationState.OK),
        (72, RotationState.WARNING),
        (89.99, RotationState.WARNING),
        (90, RotationState.EXPIRED),
        (4000, RotationState.EXPIRED),
    ],
)
def test_a_secret_is_a_warning_at_80_percent_of_90_days_and_expired_at_100(days: float, state: RotationState):
    assert compute_age("A", Secret("x", 0, 0), RotationPolicies(), days * DAY).status is state


def test_the_age_counts_from_the_last_value():
    age = compute_age("A", Secret("x", 0, 100 * DAY), RotationPolicies(), 101.5 * DAY)
    assert (age.age_days, age.warn_at, age.expires_at) == (1, 172 * DAY, 190 * DAY)


@given(st.integers(1, 36_500), st.floats(0, 40_000, allow_nan=False))
def test_the_state_only_ever_becomes_worse_until_the_next_value(limit: int, days: float):
    policies, secret = RotationPolicies(limit), Secret("x", 0, 0)
    order = [RotationState.OK, RotationState.WARNING, RotationState.EXPIRED]
    now, later = (compute_age("A", secret, policies, moment * DAY).status for moment in (days, days * 1.5))
    assert order.index(now) <= order.index(later)


def test_a_policy_of_a_name_wins_over_the_default():
    policies = parse_policies(b"default_max_age_days: 10\nsecrets:\n  A: {max_age_days: 5}\n", FILE)
    assert (policies.max_age_days("A"), policies.max_age_days("B")) == (5, 10)


@pytest.mark.parametrize("content", [b"", b"# only a comment\n", b"secrets: {}\n"])
def test_without_policies_it_is_90_days(content: bytes):
    assert parse_policies(content, FILE).max_age_days("A") == 90


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (b"default_max_age: 9\n", "1:1: unknown key 'default_max_age' (did you mean 'default_max_age_days'?)"),
        (b"default_max_age_days: 0\n", "1:23: default_max_age_days: expected a whole number from 1 to 36500, found 0"),
        (b"default_max_age_days: never\n", "1:23: default_max_age_days: expected a whole number, found text"),
        (b"secrets: [A]\n", "1:10: secrets: expected a mapping, found a list"),
        (b"secrets:\n  A: 30\n", "2:6: secrets.A: expected a mapping, found a number"),
        (b"secrets:\n  A: {}\n", "2:6: secrets.A: key 'max_age_days' is missing"),
        (b"secrets:\n  A-B: {max_age_days: 1}\n", "2:3: secrets: 'A-B' is not a valid secret name"),
        (b"secrets:\n  A: {max_age_days: 1}\n  A: {max_age_days: 2}\n", "3:3: secrets: duplicate key 'A'"),
    ],
    ids=lambda value: value[:20],
)
def test_a_mistake_has_its_place(content: bytes, mistake: str):
    with pytest.raises(ConfigError) as told:
        parse_policies(content, FILE)
    assert f"rotation_policies.yaml:{mistake}" in str(told.value)
