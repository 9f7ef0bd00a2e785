"""A process that is killed again and again loses no run, repeats no step and reports every end once."""

import random
from dataclasses import asdict
from pathlib import Path

from tests.runs.kills import survive_kills


async def test_after_six_kills_every_run_of_six_kinds_has_ended_and_is_reported_once(
    tmp_path: Path, chance: random.Random
):
    found = await survive_kills(tmp_path, kills=6, chance=chance)
    assert found.kinds >= 4, (tmp_path / "stderr").read_text()
    bad = ("lost", "twice", "unreported", "reported_twice", "not_retried")
    assert {name: asdict(found)[name] for name in bad} == dict.fromkeys(bad, 0)
