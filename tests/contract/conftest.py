"""Details of assertions inside the suite, and the example on the path as if it were installed."""

import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "webhookchat"

SUITE = ("channel_bench", "channel_contract", "http_channel_contract", "inbound_bench", "inbound_contract")

pytest.register_assert_rewrite(*(f"tocsin.testing.{module}" for module in SUITE))
sys.path.append(str(EXAMPLE))  # at collection: the example's own test module is imported below
