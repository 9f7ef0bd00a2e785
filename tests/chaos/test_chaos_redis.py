"""Redis under load, in the small size; `make chaos` runs the full one."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.chaos.redis_faults import one_publish_is_one_send, survive_redis_as_bus, survive_redis_as_queue

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_a_queue_in_redis_survives_its_kill_and_its_pause_unattended(tmp_path: Path):
    must_be_met(survive_redis_as_queue(tmp_path, rounds=1, clients=2))


def test_the_bus_survives_flush_kill_and_pause_of_redis_unattended(tmp_path: Path):
    must_be_met(survive_redis_as_bus(tmp_path, rounds=1, messages_each=100))


def test_one_publish_is_one_send_with_one_two_and_four_workers(tmp_path: Path):
    must_be_met(one_publish_is_one_send(tmp_path, messages_each=30, most_workers=4))
