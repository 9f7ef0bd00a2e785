"""Kills of the process that accepts mail; `make doors-proof` does the same at full size."""

from pathlib import Path

from tests.chaos.figures import must_be_met
from tests.chaos.mail_runs import survive_kills


def test_no_accepted_mail_is_lost_when_the_process_is_killed(tmp_path: Path):
    must_be_met(survive_kills(tmp_path, kills=3, accepted=60))
