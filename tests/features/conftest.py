"""What the tests of all features ask of an open one; a feature's own conftest gives `bench`."""

from collections.abc import AsyncIterator

import pytest
from tests.databases import copied_tables

from tocsin.testing.dashboard import DashboardClient, open_dashboard
from tocsin.testing.features import FeatureBench

__all__ = ["copied_tables"]


@pytest.fixture
async def client(bench: FeatureBench) -> AsyncIterator[DashboardClient]:
    """Call the operations of the open feature."""
    async with open_dashboard(bench.app) as client:
        yield client
