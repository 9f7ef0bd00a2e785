import gc

from tocsin.core.process.garbage import rare_collections


def test_collections_are_rare_inside_and_as_before_afterwards():
    usual = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold() == (10_000, *usual[1:])
    assert gc.get_threshold() == usual
