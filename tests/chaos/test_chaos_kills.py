"""kill -9, in the small size; `make chaos` runs the full one. Every run ends with the ledger check."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.chaos.kills import kill_gateways, kill_guildchat_workers, kill_workers, resume_after_kills
from tests.chaos.redis_faults import kill_redis_workers

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_a_gateway_killed_while_accepting_loses_nothing_it_acknowledged(tmp_path: Path):
    must_be_met(kill_gateways(tmp_path, kills=2, accepted_each=80))


def test_workers_killed_while_sending_lose_nothing_and_repeat_at_most_what_was_in_flight(tmp_path: Path):
    must_be_met(kill_workers(tmp_path, kills=2, messages_each=40, workers=2))


def test_workers_killed_with_the_queue_in_redis_lose_and_repeat_no_more(tmp_path: Path):
    must_be_met(kill_redis_workers(tmp_path, kills=1, messages_each=40, workers=2))


def test_workers_killed_while_posting_to_guildchat_repeat_nothing(tmp_path: Path):
    must_be_met(kill_guildchat_workers(tmp_path, kills=1, messages=10))


def test_the_work_of_a_killed_worker_is_taken_over(tmp_path: Path):
    must_be_met(resume_after_kills(tmp_path, kills=2, spread_s=1.0))
