"""The bot's promises to people, in the small size; `make bot-proof` runs the full one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chaos.bot_runs import (
    Stage,
    answer_what_waited,
    endure_bad_gateways,
    obey_retry_after,
    on_a_stage,
    open_warm_stage,
    outlive_conflicts,
    outlive_outage,
    stay_small_and_quick,
    survive_kills,
)
from tests.chaos.figures import must_be_met

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A bot that has answered once; each test leaves it as it was."""
    with open_warm_stage(tmp_path_factory.mktemp("bot")) as stage:
        yield stage


def test_what_was_written_while_the_bot_was_down_is_answered_once_each(tmp_path: Path):
    must_be_met(answer_what_waited(tmp_path, chats_=4, messages_each=2))


def test_a_bot_killed_at_any_moment_loses_nothing_and_marks_what_it_repeats(tmp_path: Path):
    must_be_met(survive_kills(tmp_path, kills=2, messages=16, streaming=False))


def test_a_bot_killed_while_an_answer_is_being_written_finishes_it_in_its_place(tmp_path: Path):
    must_be_met(survive_kills(tmp_path, kills=1, messages=8, streaming=True))


def test_six_bad_gateways_in_a_row_cost_no_answer(stage: Stage):
    must_be_met(endure_bad_gateways(stage))


def test_the_time_that_the_chat_app_asks_for_is_waited_out(stage: Stage):
    must_be_met(obey_retry_after(stage, seconds=1))


def test_the_time_that_a_preview_was_told_to_wait_holds_for_the_answer_too(tmp_path: Path):
    must_be_met(on_a_stage(tmp_path, lambda stage: obey_retry_after(stage, seconds=2, times=1), streaming=True))


def test_three_conflicts_with_another_poller_cost_no_answer(stage: Stage):
    must_be_met(outlive_conflicts(stage))


def test_what_was_written_before_and_during_an_outage_is_answered_once_after_it(stage: Stage):
    must_be_met(outlive_outage(stage, seconds=2))


def test_gateway_and_bot_together_are_small(tmp_path: Path):
    must_be_met(stay_small_and_quick(tmp_path, idle_s=0.1, ask_too=False))
