"""The indicator is shown for as long as somebody works, and never costs the answer."""

import asyncio

import pytest
from tests.messaging.inbound.inbox_hall import Bell, Ear, SteppedClock, message
from tests.waiting import eventually as until

from tocsin.channels.contract import Tools
from tocsin.messaging.inbound.indicator import show_indicator
from tocsin.testing.fakes import ScriptedTransport, settings_of


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def ear(clock: SteppedClock) -> Ear:
    values = settings_of([Bell], {"TOCSIN_DATA_DIR": "/nonexistent"}).only(())
    return Ear(values, Tools(ScriptedTransport(), clock))


async def test_it_is_shown_at_once_and_again_until_the_work_ends(ear: Ear, clock: SteppedClock):
    async with show_indicator(ear, clock, message("work")):
        await until(lambda: ear.indicated == ["work"])
        for shown in (2, 3):
            clock.advance(4)
            await until(lambda shown=shown: len(ear.indicated) == shown)
    clock.advance(100)
    await asyncio.sleep(0)
    assert len(ear.indicated) == 3


class Once(Ear):
    """Shows it until an answer comes."""

    indicator_every_s = None


async def test_once_is_enough_where_the_channel_says_so(ear: Ear, clock: SteppedClock):
    ear = Once(ear.config, Tools(ear.http, clock))
    async with show_indicator(ear, clock, message("work")):
        await until(lambda: ear.indicated)
        clock.advance(100)
        await asyncio.sleep(0)
    assert ear.indicated == ["work"]


async def test_it_ends_with_work_that_fails(ear: Ear, clock: SteppedClock):
    with pytest.raises(ZeroDivisionError):
        async with show_indicator(ear, clock, message("work")):
            raise ZeroDivisionError
    assert len(asyncio.all_tasks()) == 1
