"""A process that is killed again and again loses no run, repeats no step and reports every end once."""

import random
from dataclasses import asdict
from pathlib import Path

from tests.runs.kills import BAD, KINDS, survive_kills


async def test_after_kills_every_run_of_eight_kinds_has_ended_and_is_reported_once(
    tmp_path: Path, chance: random.Random
):
    found = await survive_kills(tmp_path, kills=3, chance=chance)
    assert found.kinds == KINDS, (tmp_path / "stderr").read_text()
    assert {name: asdict(found)[name] for name in BAD} == dict.fromkeys(BAD, 0)
