"""A process that takes pings, is killed and started again loses no instant, no ping, and reports nobody wrongly."""

from pathlib import Path
from random import Random

from tests.features.heartbeats.kills import survive_kills


def test_after_kills_and_clock_changes_every_instant_has_one_row_and_nobody_is_falsely_down(
    tmp_path: Path, chance: Random
):
    found = survive_kills(tmp_path, kills=3, chance=chance)
    assert (found.lost, found.invented, found.forgotten, found.false_downs, found.unnoticed) == (0, 0, 0, 0, 0)
    assert found.planned > 0
