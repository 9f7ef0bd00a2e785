"""A burst of webhook calls with a kill in it, in the small size; `make chaos` runs the full one."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.chaos.webhook_burst import survive_burst

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_a_burst_of_webhook_calls_loses_nothing_and_answers_once_though_the_gateway_is_killed(tmp_path: Path):
    must_be_met(survive_burst(tmp_path, seconds=1, channels=100))
