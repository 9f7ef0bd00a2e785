"""Hostile calls to every webhook, in the small size; `make chaos` makes 200,000 to each."""

from pathlib import Path

import pytest
from tests.chaos.figures import must_be_met
from tests.web.webhook_fuzz import fuzz
from tests.web.webhook_products import PRODUCTS


@pytest.mark.parametrize("kind", PRODUCTS)
def test_hostile_calls_break_nothing_and_nothing_happens_before_verification(kind: str, tmp_path: Path):
    must_be_met(fuzz(tmp_path, kind, calls=750))
