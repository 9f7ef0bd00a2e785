"""Floods without credentials, in the small size; `make chaos` runs the full one."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.chaos.floods import survive_floods

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_connections_bodies_and_pipelines_of_strangers_take_little_memory_and_delay_no_request(tmp_path: Path):
    must_be_met(survive_floods(tmp_path, idle=300, bodies=300, asks=30))
