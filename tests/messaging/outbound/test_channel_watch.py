"""What the log and /health say of a provider that fails or throttles: once for each outage."""

import logging

import pytest

from tocsin.channels.contract import Receipt, SendResult
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.messaging.outbound.channel_watch import QUIET_S, ChannelWatch
from tocsin.testing.fakes import FakeClock


def sent(channel: str = "bell") -> Receipt:
    return Receipt(SendResult(True, channel, "door", message="rang"), attempts=1)


def failed(kind: FailureKind = FailureKind.TRANSIENT, channel: str = "bell", **facts: object) -> Receipt:
    failure = ChannelError("HTTP 502", kind=kind, **facts)  # type: ignore[arg-type]
    return Receipt(SendResult(False, channel, "door", error=failure.sentence()), attempts=1, failure=failure)


@pytest.fixture
def watch(clock: FakeClock) -> ChannelWatch:
    return ChannelWatch(clock)


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [(record.getMessage(), record.channel) for record in caplog.records]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [FailureKind.TRANSIENT, FailureKind.AMBIGUOUS])
def test_an_outage_is_told_at_its_first_failure_and_at_its_end(
    watch: ChannelWatch, clock: FakeClock, caplog: pytest.LogCaptureFixture, kind: FailureKind
):
    since = clock.now()
    for _ in range(100):
        watch.note(failed(kind))
        clock.advance(30)
    assert told(caplog) == [("a channel cannot deliver", "bell")]
    assert caplog.records[0].reason == "HTTP 502"  # type: ignore[attr-defined]
    assert watch.troubles().failing == {"bell": since}
    watch.note(sent())
    watch.note(sent())
    assert told(caplog)[1:] == [("a channel delivers again", "bell")]
    end = caplog.records[1]
    assert (end.lasted_s, end.failed_tries) == (3000, 100)  # type: ignore[attr-defined]
    assert watch.troubles().failing == {}


def test_each_channel_has_its_own_outage(watch: ChannelWatch, caplog: pytest.LogCaptureFixture):
    watch.note(failed())
    watch.note(failed(channel="horn"))
    watch.note(sent("horn"))
    assert told(caplog) == [
        ("a channel cannot deliver", "bell"),
        ("a channel cannot deliver", "horn"),
        ("a channel delivers again", "horn"),
    ]


@pytest.mark.parametrize("kind", [FailureKind.PERMANENT, FailureKind.RATE_LIMITED])
def test_a_refusal_is_neither_an_outage_nor_its_end(
    watch: ChannelWatch, caplog: pytest.LogCaptureFixture, kind: FailureKind
):
    watch.note(failed(kind))
    assert told(caplog) == []
    watch.note(failed())
    watch.note(failed(kind))
    assert watch.troubles().failing.keys() == {"bell"}


def test_a_channel_that_fails_now_and_then_is_told_once_a_minute_at_most(
    watch: ChannelWatch, clock: FakeClock, caplog: pytest.LogCaptureFixture
):
    for _ in range(10):
        watch.note(failed())
        watch.note(sent())
        clock.advance(QUIET_S / 10)
    assert len(told(caplog)) == 2
    watch.note(failed())
    assert len(told(caplog)) == 3


def test_an_outage_that_began_in_the_quiet_time_is_told_when_it_lasts(
    watch: ChannelWatch, clock: FakeClock, caplog: pytest.LogCaptureFixture
):
    for receipt in (failed(), sent(), failed()):
        watch.note(receipt)
    assert len(told(caplog)) == 2
    clock.advance(QUIET_S)
    watch.note(failed())
    watch.note(sent())
    assert [phrase for phrase, _ in told(caplog)[2:]] == ["a channel cannot deliver", "a channel delivers again"]


def test_a_throttle_of_the_whole_account_is_told_once_until_it_ends(
    watch: ChannelWatch, clock: FakeClock, caplog: pytest.LogCaptureFixture
):
    for _ in range(5):
        watch.note(failed(FailureKind.RATE_LIMITED, whole_account=True, retry_after_s=3600.0))
    assert told(caplog) == [("the provider throttles the account", "bell")]
    assert caplog.records[0].wait_s == 3600.0  # type: ignore[attr-defined]
    assert watch.troubles().throttled == {"bell": clock.now() + 3600}
    clock.advance(3600)
    assert watch.troubles().throttled == {}
    watch.note(failed(FailureKind.RATE_LIMITED, whole_account=True, retry_after_s=1.0))
    assert len(told(caplog)) == 2


def test_a_throttle_of_one_target_is_not_told(watch: ChannelWatch, caplog: pytest.LogCaptureFixture):
    watch.note(failed(FailureKind.RATE_LIMITED, retry_after_s=3600.0))
    assert told(caplog) == []
    assert watch.troubles().throttled == {}
