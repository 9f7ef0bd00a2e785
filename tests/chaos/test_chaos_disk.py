"""A full disk, in the small size; `make chaos` runs the full one."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.chaos.limits import survive_a_full_disk, why_no_small_disk

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_a_full_disk_is_told_by_health_tears_nothing_and_heals_when_space_returns(tmp_path: Path):
    if reason := why_no_small_disk(tmp_path):
        pytest.skip(reason)
    must_be_met(survive_a_full_disk(tmp_path, rounds=1))
