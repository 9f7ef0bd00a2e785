"""The tests of the example of a feature, as its author runs them."""

from test_tocsin_heartbeat import (
    test_a_gap_is_recorded_and_told_once,
    test_signs_of_life_on_time_are_no_gap,
)

__all__ = ["test_a_gap_is_recorded_and_told_once", "test_signs_of_life_on_time_are_no_gap"]
