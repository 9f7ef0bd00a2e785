"""What may not repeat begins once, on both stores: presses by default, messages if their rule says so."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.features.triggers.conftest import Triggered, opened, received
from tests.redis_clients import patient_redis
from tests.waiting import eventually as until

from tocsin.channels.inbound import MessageKind
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.process.beats import RedisBeats
from tocsin.features.triggers.service import INTERRUPTED
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, PressedAction
from tocsin.runs.model import RunStatus
from tocsin.runs.redis.records import redis_runs

PRESS = PressedAction("ack", "web1", "Ack", "d1", "bell", "tower", "", "Disk is full", "api", "Ada", by_link=False)
RULE = "- on: action\n  command: 'echo >> effects; sleep 600'\n"
QUICK = "- on: action\n  command: 'echo >> effects; echo done'\n"


@pytest.fixture(params=["sqlite", "redis"])
async def either(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Triggered]:
    """A handler over the runs of either store."""
    if request.param == "sqlite":
        async with opened(tmp_path) as triggered:
            yield triggered
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    client, prefix = patient_redis(server.url), f"test-{new_id()}"
    async with opened(tmp_path, redis_runs(client, "here", prefix=prefix), RedisBeats(client, prefix=prefix)) as found:
        yield found
    await client.aclose()


async def press(triggered: Triggered, id: str, attempt: int = 1) -> HandlerResult:
    """Press the button, as the inbox hands it over at an attempt."""
    pressed = received("", id=id, attempt=attempt, kind=MessageKind.CALLBACK)
    result = await triggered.handler()(replace(pressed, press=PRESS))
    assert result is not None
    return result


async def cut_off(triggered: Triggered, id: str) -> None:
    """Press the button, and end the work after it had its effect."""
    task = asyncio.create_task(press(triggered, id))
    await until(lambda: effects(triggered) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def effects(triggered: Triggered) -> int:
    file = triggered.data_dir / "effects"
    return len(file.read_text().splitlines()) if file.exists() else 0


async def test_a_press_whose_command_is_interrupted_is_told_so_and_not_run_again(either: Triggered):
    event = new_id()
    await cut_off(either.write(RULE), event)
    result = await press(either, event, attempt=2)
    assert (result.ending, [reply.text for reply in result.replies]) == (HandlingStatus.FAILED, [INTERRUPTED])
    assert [(run.id, run.status) for run in await either.all_runs()] == [(event, RunStatus.INTERRUPTED)]
    assert [notice.title for notice in either.notices] == [".* was interrupted"]
    assert effects(either) == 1
    silent = await press(either.write(RULE + "  reply: false\n"), event, attempt=3)
    assert (silent.replies, silent.hint) == ((), INTERRUPTED)


async def test_a_press_whose_command_had_not_begun_at_a_kill_runs_at_the_next_attempt(either: Triggered):
    result = await press(either.write(QUICK), new_id(), attempt=2)
    assert (result.ending, [reply.text for reply in result.replies]) == (HandlingStatus.ANSWERED, ["done"])


async def test_a_press_whose_command_ended_before_its_answer_was_stored_is_answered(either: Triggered):
    event = new_id()
    for attempt in (1, 2):
        result = await press(either.write(QUICK), event, attempt)
        assert [reply.text for reply in result.replies] == ["done"]
    assert effects(either) == 1


async def test_a_press_runs_again_where_its_rule_says_that_it_may(either: Triggered):
    event = new_id()
    await cut_off(either.write(RULE + "  repeat: true\n"), event)
    assert (await press(either.write(QUICK + "  repeat: true\n"), event, attempt=2)).ending is HandlingStatus.ANSWERED
    assert effects(either) == 2


async def test_a_message_that_may_not_repeat_runs_if_it_had_not_begun_at_a_kill(either: Triggered):
    either.write("- {pattern: go, command: echo gone, repeat: false}")
    assert await either.answer("go", id=new_id(), attempt=2) == "gone"


async def test_a_press_that_could_not_be_recorded_runs_once_the_store_is_back(
    private_redis: RedisServer, tmp_path: Path
):
    client, event = patient_redis(private_redis.url), new_id()
    async with opened(tmp_path, redis_runs(client, "here"), RedisBeats(client)) as triggered:
        triggered.write(QUICK)
        private_redis.kill()
        with pytest.raises(StoreUnavailableError):
            await press(triggered, event)
        private_redis.start()
        await until(lambda: store_is_back(triggered))
        assert (await press(triggered, event)).ending is HandlingStatus.ANSWERED
        (run,) = await triggered.all_runs()
        assert (run.id, run.status, effects(triggered)) == (event, RunStatus.SUCCEEDED, 1)
    await client.aclose()


async def store_is_back(triggered: Triggered) -> bool:
    try:
        return not await triggered.all_runs()
    except StoreUnavailableError:
        return False
