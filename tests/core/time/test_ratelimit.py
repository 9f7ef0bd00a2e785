"""Token buckets refill continuously, and idle ones are forgotten after ten minutes."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.time.ratelimit import IDLE_S, RateLimiter
from tocsin.testing.fakes import FakeClock


class ReferenceBucket:
    """A bucket in exact numbers."""

    def __init__(self, per_minute: int) -> None:
        self.full = Fraction(per_minute)
        self.left = self.full
        self.since = Fraction(0)

    def refill(self, now: Fraction) -> Fraction:
        self.left = min(self.full, self.left + (now - self.since) * self.full / 60)
        self.since = now
        return self.left


@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(0, 200_000), st.sampled_from("abc")), max_size=200),
)
def test_every_answer_is_that_of_an_exact_bucket(per_minute: int, calls: list[tuple[int, str]]):
    clock = FakeClock(0)
    limiter = RateLimiter(per_minute, clock.monotonic)
    buckets = {key: ReferenceBucket(per_minute) for key in "abc"}
    for wait_ms, key in calls:
        clock.advance(wait_ms / 1000)
        bucket = buckets[key]
        left = bucket.refill(Fraction(clock.monotonic()))
        allowed = limiter.take(key)
        if abs(left - 1) > Fraction(1, 10**6):  # nearer than that, the rounding of floats decides
            assert allowed == (left >= 1)
        bucket.left -= allowed


def test_a_full_bucket_allows_one_minutes_requests_at_once_and_no_more():
    limiter = RateLimiter(60, FakeClock().monotonic)
    assert [limiter.take("a") for _ in range(61)] == [True] * 60 + [False]


def test_tokens_come_back_one_by_one_and_not_all_at_the_full_minute():
    clock = FakeClock()
    limiter = RateLimiter(60, clock.monotonic)
    while limiter.take("a"):
        pass
    clock.advance(0.5)
    assert not limiter.take("a")
    clock.advance(0.5)
    assert [limiter.take("a"), limiter.take("a")] == [True, False]
    clock.advance(10)
    assert [limiter.take("a") for _ in range(11)] == [True] * 10 + [False]


def test_a_refused_request_costs_no_token():
    clock = FakeClock()
    limiter = RateLimiter(1, clock.monotonic)
    assert limiter.take("a")
    for _ in range(59):
        clock.advance(1)
        assert not limiter.take("a")
    clock.advance(1)
    assert limiter.take("a")


def test_a_bucket_never_holds_more_than_one_minutes_requests():
    clock = FakeClock()
    limiter = RateLimiter(3, clock.monotonic)
    limiter.take("a")
    clock.advance(IDLE_S - 1)
    assert [limiter.take("a") for _ in range(4)] == [True, True, True, False]


def test_keys_do_not_share_a_bucket():
    limiter = RateLimiter(1, FakeClock().monotonic)
    assert [limiter.take("a"), limiter.take("b"), limiter.take("a")] == [True, True, False]


def test_a_bucket_is_forgotten_after_ten_minutes_without_a_request():
    clock = FakeClock()
    limiter = RateLimiter(60, clock.monotonic)
    limiter.take("idle")
    clock.advance(IDLE_S / 2)
    limiter.take("busy")
    clock.advance(IDLE_S / 2 - 1)
    limiter.take("busy")
    assert len(limiter) == 2
    clock.advance(1)
    limiter.take("busy")
    assert len(limiter) == 1


def test_a_flood_from_ever_new_addresses_does_not_fill_the_memory():
    limiter = RateLimiter(60, FakeClock().monotonic, max_buckets=100)
    for number in range(1000):
        limiter.take(f"2001:db8:{number:x}::/64")
        limiter.take("regular")
    assert len(limiter) == 100
    assert not limiter.take("regular")  # whoever keeps asking is not forgotten
