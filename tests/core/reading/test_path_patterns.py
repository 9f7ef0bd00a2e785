"""Patterns and names of files that strangers write."""

import pytest

from tocsin.core.reading.path_patterns import PathPatterns, is_pattern

HOSTILE = ["[z-a]", "[[:foo:]]", "?" * 100_000, "!"]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # the library compiles each pattern with `re`, too
@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:10])
def test_what_is_no_pattern_is_refused_whatever_the_library_raises(line: str):
    assert not is_pattern(line)
    with pytest.raises(ValueError, match="pattern"):
        PathPatterns([line])


@pytest.mark.parametrize("name", ["caf\udce9.csv", "\udcff.csv", "sub/\udcff\udcfe.csv", "a\nb.csv"], ids=ascii)
def test_a_name_of_any_bytes_is_matched(name: str):
    assert PathPatterns(["*.csv"]).take(name)
    assert not PathPatterns(["*.txt"]).take(name)
