"""How receiving is going, and who is told of it (docs/facts/botchat.md)."""

import logging

import pytest
from tests.facts import mentions

from tocsin.channels.botchat.receiving.liveness import Liveness, ReceiveStatus
from tocsin.core.service import StopEvent
from tocsin.testing import FakeClock


class Admin:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.away = 0

    async def __call__(self, text: str) -> None:
        if self.away:
            self.away -= 1
            raise OSError("the queue is away")
        self.texts.append(text)


@pytest.fixture
def admin() -> Admin:
    return Admin()


@pytest.fixture
def liveness(clock: FakeClock, admin: Admin) -> Liveness:
    return Liveness("polling", clock, admin)


async def test_the_age_is_the_time_since_the_last_good_moment(liveness: Liveness, clock: FakeClock):
    assert (liveness.state.status, liveness.state.age_s, liveness.state.is_healthy) == (
        ReceiveStatus.STARTING,
        None,
        True,
    )
    await liveness.record_success()
    clock.advance(31)
    await liveness.record_failure(ReceiveStatus.FAILING, "unreachable")
    assert (liveness.state.age_s, liveness.state.problem, liveness.state.is_healthy) == (31, "unreachable", False)


async def test_in_a_long_wait_the_admin_is_told_when_it_is_time_and_not_after_it(
    liveness: Liveness, clock: FakeClock, admin: Admin
):
    await liveness.record_failure(ReceiveStatus.FAILING, "wait")
    await liveness.pause(3600, StopEvent())
    assert [mentions(text, "5 minutes", "wait") for text in admin.texts] == [True]
    assert clock.slept == [300, 3300]


async def test_an_admin_who_cannot_be_told_is_told_a_minute_later(liveness: Liveness, clock: FakeClock, admin: Admin):
    admin.away = 2
    await liveness.record_failure(ReceiveStatus.FAILING, "wait")
    await liveness.pause(1000, StopEvent())
    assert [mentions(text, "7 minutes", "wait") for text in admin.texts] == [True]
    assert clock.slept == [300, 60, 60, 580]


async def test_trouble_that_comes_and_goes_is_told_once(liveness: Liveness, clock: FakeClock, admin: Admin):
    for _ in range(20):
        await liveness.record_failure(ReceiveStatus.CONFLICT, "two programs")
        await liveness.record_success()
        clock.advance(50)
    assert len(admin.texts) == 1
    clock.advance(60)
    await liveness.record_success()
    await liveness.record_success()
    assert len(admin.texts[1:]) == 1


async def test_short_trouble_is_not_told_at_all(liveness: Liveness, clock: FakeClock, admin: Admin):
    await liveness.record_failure(ReceiveStatus.FAILING, "502")
    clock.advance(23)
    await liveness.record_success()
    clock.advance(1000)
    await liveness.record_success()
    await liveness.pause(1000, StopEvent())
    assert admin.texts == []


async def test_every_episode_is_logged_once_for_each_kind_of_trouble_and_once_at_its_end(
    liveness: Liveness, clock: FakeClock, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    for _ in range(2):
        for status in (ReceiveStatus.FAILING, ReceiveStatus.CONFLICT, ReceiveStatus.FAILING):
            await liveness.record_failure(status, "made-up")
        clock.advance(60)
        await liveness.record_success()
    messages = ["messages cannot be received", "messages cannot be received", "the bot receives messages again"]
    assert [record.message for record in caplog.records] == messages * 2


async def test_waiting_for_another_process_is_no_trouble(liveness: Liveness, clock: FakeClock, admin: Admin):
    await liveness.record_failure(ReceiveStatus.FAILING, "no lock file")
    liveness.wait_for_lock("another process polls")
    await liveness.pause(1000, StopEvent())
    assert (liveness.state.is_healthy, admin.texts, clock.slept) == (True, [], [1000])
