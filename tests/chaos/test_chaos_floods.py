"""Floods without credentials, in the small size; `make chaos` runs the full one."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.chaos.floods import survive_floods

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_floods_of_strangers_take_little_memory_and_others_are_answered_meanwhile(tmp_path: Path):
    must_be_met(survive_floods(tmp_path, idle=200, bodies=100, asks=30))
