"""kill -9 at every step of a write, in the small size; `python -m tools.chaos vault` runs the full one."""

from pathlib import Path

from tests.chaos.figures import must_be_met
from tests.features.vault.writers import kill_writers


def test_a_process_killed_at_any_step_of_a_write_leaves_a_readable_and_complete_vault(tmp_path: Path):
    must_be_met(kill_writers(tmp_path, kills=16))
