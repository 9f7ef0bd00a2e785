"""A scheduler that is killed and started again loses no instant and runs none twice."""

import random
from pathlib import Path

from tests.features.cron.kills import survive_kills


async def test_after_kills_every_instant_has_one_record_and_ran_at_most_once(tmp_path: Path, chance: random.Random):
    found = await survive_kills(tmp_path, kills=4, jobs=3, chance=chance)
    assert found.planned >= 3
    assert (found.lost, found.doubled, found.open, found.run_twice, found.untold) == (0, 0, 0, 0, 0)
