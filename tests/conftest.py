"""Details of assertions inside the importable suites: they must be rewritten before any test imports them."""

import pytest

SUITE = ("channel_bench", "channel_contract", "http_channel_contract", "inbound_bench", "inbound_contract")

pytest.register_assert_rewrite(*(f"tocsin.testing.{module}" for module in SUITE))
