"""What a failed try means: a table of kinds, policies and places in the schedule."""

from dataclasses import replace
from math import inf, nan

import pytest

from tocsin.core.errors import FailureKind
from tocsin.delivery.model import (
    JITTER,
    LEAST_THROTTLE_S,
    OPEN,
    PROMPT_SCHEDULE_S,
    REPLAYABLE,
    SCHEDULE_S,
    WAITING,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    Failure,
    Policy,
    judge,
    judge_abandoned,
)

PERMANENT, TRANSIENT = FailureKind.PERMANENT, FailureKind.TRANSIENT
RATE_LIMITED, AMBIGUOUS = FailureKind.RATE_LIMITED, FailureKind.AMBIGUOUS
AT_LEAST, AT_MOST = Policy.AT_LEAST_ONCE, Policy.AT_MOST_ONCE
DEAD, UNCERTAIN, RETRY, QUEUED = (
    DeliveryStatus.DEAD,
    DeliveryStatus.UNCERTAIN,
    DeliveryStatus.RETRY_WAIT,
    DeliveryStatus.QUEUED,
)
LAST = len(SCHEDULE_S) - 1
SPENT = len(SCHEDULE_S)


def delivery(policy: Policy = AT_LEAST, failures: int = 0) -> Delivery:
    return Delivery(
        "id", "bell", "door", "hello", "test", DeliveryStatus.SENDING, policy, created_at=0.0, failures=failures
    )


def judged(
    failure: Failure, of: Delivery | None = None, *, repeats: bool = False, jitter: float = 0.0
) -> AttemptOutcome:
    return judge(failure, of or delivery(), recognises_repeats=repeats, jitter=jitter)


@pytest.mark.parametrize(
    ("kind", "policy", "repeats", "failures", "status"),
    [
        # Trying again cannot help, whatever else is the case.
        *((PERMANENT, policy, repeats, n, DEAD) for policy in Policy for repeats in (0, 1) for n in (0, LAST, SPENT)),
        # Certainly not delivered: either policy tries again until the schedule ends.
        *((kind, policy, 0, n, RETRY) for kind in (TRANSIENT, RATE_LIMITED) for policy in Policy for n in (0, 1, LAST)),
        *((kind, policy, 0, SPENT, DEAD) for kind in (TRANSIENT, RATE_LIMITED) for policy in Policy),
        # It may have arrived.
        (AMBIGUOUS, AT_LEAST, 0, 0, RETRY),
        (AMBIGUOUS, AT_LEAST, 0, LAST, RETRY),
        (AMBIGUOUS, AT_LEAST, 0, SPENT, DEAD),
        (AMBIGUOUS, AT_MOST, 0, 0, UNCERTAIN),
        (AMBIGUOUS, AT_MOST, 0, SPENT, UNCERTAIN),
        (AMBIGUOUS, AT_MOST, 1, 0, RETRY),
        (AMBIGUOUS, AT_LEAST, 1, 0, RETRY),
        (AMBIGUOUS, AT_MOST, 1, SPENT, UNCERTAIN),
    ],
)
def test_a_failure_ends_as_its_kind_and_the_policy_say(
    kind: FailureKind, policy: Policy, repeats: bool, failures: int, status: DeliveryStatus
):
    outcome = judged(Failure(kind, "made-up"), delivery(policy, failures), repeats=repeats)
    assert (outcome.status, outcome.error, outcome.error_class) == (status, "made-up", str(kind))
    assert (outcome.wait_s > 0) is (status is RETRY)
    assert not outcome.throttled


@pytest.mark.parametrize("kind", [TRANSIENT, AMBIGUOUS, RATE_LIMITED])
def test_the_waits_are_those_of_the_schedule(kind: FailureKind):
    waits = [judged(Failure(kind, ""), delivery(failures=n)).wait_s for n in range(len(SCHEDULE_S))]
    assert waits == [5, 30, 120, 600, 1800, 7200, 21600, 43200]


@pytest.mark.parametrize("source", ["inbox", "bot"])
def test_an_answer_that_somebody_waits_for_is_tried_again_soon_after_any_outage(source: str):
    waits = [judged(Failure(TRANSIENT, ""), replace(delivery(failures=n), source=source)).wait_s for n in range(70)]
    assert waits[:6] == [1] * 6
    for n, wait_s in enumerate(waits):
        assert wait_s <= max(1.0, 0.15 * sum(waits[:n]))
    assert sum(waits) > 43200


def test_an_answer_that_cannot_be_sent_for_a_day_is_given_up():
    spent = replace(delivery(failures=len(PROMPT_SCHEDULE_S)), source="inbox")
    assert judged(Failure(TRANSIENT, ""), spent).status is DeliveryStatus.DEAD
    assert 86_400 <= sum(PROMPT_SCHEDULE_S) <= 1.2 * 86_400


def test_jitter_makes_a_wait_of_the_schedule_longer_and_never_shorter():
    waits = [judged(Failure(TRANSIENT, ""), jitter=n / 10).wait_s for n in range(11)]
    assert waits == sorted(waits)
    assert waits[0] == SCHEDULE_S[0]
    assert waits[-1] == pytest.approx(SCHEDULE_S[0] * (1 + JITTER))


@pytest.mark.parametrize("told_s", [LEAST_THROTTLE_S, 1.0, 3.7, 30.0, 3600.0])
@pytest.mark.parametrize("failures", [0, SPENT])
@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_a_provider_that_says_when_is_asked_exactly_then_however_often(told_s: float, failures: int, jitter: float):
    outcome = judged(Failure(RATE_LIMITED, "", told_s), delivery(failures=failures), jitter=jitter)
    assert (outcome.status, outcome.wait_s, outcome.throttled) == (RETRY, told_s, True)


@pytest.mark.parametrize("told_s", [0.0, 0.001, 0.2])
def test_a_provider_that_says_at_once_is_not_asked_in_a_loop_and_less_than_a_second_late(told_s: float):
    wait_s = judged(Failure(RATE_LIMITED, "", told_s)).wait_s
    assert 0.3 < wait_s < told_s + 1


@pytest.mark.parametrize("kind", [RATE_LIMITED, TRANSIENT])
def test_an_absurd_wait_is_an_hour(kind: FailureKind):
    assert judged(Failure(kind, "", retry_after_s=400_000_000_000)).wait_s == 3600


@pytest.mark.parametrize("told_s", [nan, inf, -1.0])
@pytest.mark.parametrize("kind", [RATE_LIMITED, TRANSIENT])
def test_a_wait_that_nobody_can_keep_to_counts_as_none(told_s: float, kind: FailureKind):
    assert judged(Failure(kind, "", told_s)) == judged(Failure(kind, ""))


@pytest.mark.parametrize("told_s", [None, 5.0, 60.0])
def test_a_wait_for_the_whole_account_is_passed_on(told_s: float | None):
    assert judged(Failure(RATE_LIMITED, "", told_s, whole_account=True)).throttles_account
    assert not judged(Failure(RATE_LIMITED, "", told_s)).throttles_account
    assert not judged(Failure(PERMANENT, "", told_s, whole_account=True)).throttles_account


@pytest.mark.parametrize(("told_s", "wait_s"), [(0.0, 5.0), (3.0, 5.0), (5.0, 5.0), (6.5, 6.5), (3600.0, 3600.0)])
def test_server_trouble_with_a_time_is_never_asked_before_it_and_moves_the_schedule(told_s: float, wait_s: float):
    outcome = judged(Failure(TRANSIENT, "HTTP 503", told_s))
    assert (outcome.status, outcome.wait_s, outcome.throttled) == (RETRY, wait_s, False)
    assert judged(Failure(TRANSIENT, "HTTP 503", told_s), delivery(failures=SPENT)).status is DEAD


def test_jitter_is_not_added_to_a_time_that_server_trouble_came_with():
    assert judged(Failure(TRANSIENT, "HTTP 503", 3600.0), jitter=1.0).wait_s == 3600.0


@pytest.mark.parametrize(
    ("policy", "repeats", "failures", "status"),
    [
        (AT_LEAST, False, 0, QUEUED),
        (AT_LEAST, False, LAST, QUEUED),
        (AT_LEAST, False, SPENT, DEAD),
        (AT_MOST, False, 0, UNCERTAIN),
        (AT_MOST, True, 0, QUEUED),
        (AT_MOST, True, SPENT, UNCERTAIN),
    ],
)
def test_what_a_dead_worker_left_is_sent_again_held_or_in_the_end_given_up(
    policy: Policy, repeats: bool, failures: int, status: DeliveryStatus
):
    abandoned = replace(delivery(policy, failures), parts_sent=2, parts_total=5, duration_ms=7)
    outcome = judge_abandoned(abandoned, recognises_repeats=repeats)
    assert (outcome.status, outcome.wait_s, outcome.error_class) == (status, 0.0, "ambiguous")
    assert (outcome.parts_sent, outcome.parts_total, outcome.duration_ms) == (2, 5, 7)
    assert "worker died" in outcome.error


def test_every_state_is_open_or_final_and_what_waits_is_open():
    assert frozenset(DeliveryStatus) - {DeliveryStatus.SENT, DeliveryStatus.SUPERSEDED} == OPEN | REPLAYABLE
    assert frozenset() == OPEN & REPLAYABLE
    assert OPEN - {DeliveryStatus.SENDING} == WAITING


def test_progress_changes_nothing_else_of_an_outcome():
    outcome = judged(Failure(TRANSIENT, "HTTP 503"))
    progress = outcome.with_progress(1, 3, 12)
    assert (progress.parts_sent, progress.parts_total, progress.duration_ms) == (1, 3, 12)
    assert replace(progress, parts_sent=0, parts_total=0, duration_ms=0) == outcome
