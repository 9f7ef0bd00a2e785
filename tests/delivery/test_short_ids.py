"""Short forms of ids, over a store whose ids the test chooses."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from tocsin.core.short_ids import AmbiguousIdError
from tocsin.delivery.short_ids import shortened, whole_id
from tocsin.delivery.store import DeliveryStore, UnknownDeliveryError

ONE = "01a1f8c8-9631-7eb0-9cca-a4186d41631b"
TWO = "01a1f8c8-9631-7eb0-9cca-a4186d41ffff"  # the random part begins alike, too
THREE = "01a1f8c8-9a3e-7d62-8e56-451af16be09e"
TWIN = "01a1f8c9-9a3e-7d62-8e56-451af16be09e"  # with the whole last group of THREE


class Shelf:
    """Finds ids as a store does."""

    def __init__(self, *ids: str) -> None:
        self._ids = ids

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        return [[i for i in self._ids if i.startswith(t) or i.rpartition("-")[2].startswith(t)][:limit] for t in texts]


def shelf(*ids: str) -> DeliveryStore:
    return cast(Any, Shelf(*ids))


async def test_a_short_id_is_eight_characters_of_the_random_part():
    assert await shortened(shelf(ONE, THREE), [ONE, THREE]) == {ONE: "a4186d41", THREE: "451af16b"}


async def test_a_short_id_is_longer_where_another_begins_alike_and_whole_where_that_does_not_help():
    store = shelf(ONE, TWO, THREE, TWIN)
    assert await shortened(store, [ONE, THREE]) == {ONE: "a4186d41631b", THREE: THREE}
    assert await shortened(store, []) == {}


@pytest.mark.parametrize("text", ["a4186d41631b", "A4186D416", ONE, ONE.upper(), f" {ONE[:-1]} ", ONE[:-3]])
async def test_a_unique_beginning_stands_for_the_whole_id(text: str):
    assert await whole_id(shelf(ONE, TWO, THREE), text) == ONE


@pytest.mark.parametrize("text", ["a4186d41", "01a1f8c8-96", ""])
async def test_a_beginning_of_several_or_of_nothing_is_an_error(text: str):
    with pytest.raises((AmbiguousIdError, UnknownDeliveryError)) as raised:
        await whole_id(shelf(ONE, TWO, THREE), text)
    assert (ONE in str(raised.value) and TWO in str(raised.value)) is bool(text)


@pytest.mark.parametrize("text", ["9cca", "zz", "%", "é", "a4186d41-631b"])
async def test_what_no_id_begins_with_is_unknown(text: str):
    with pytest.raises(UnknownDeliveryError, match=f"unknown delivery: {text}"):
        await whole_id(shelf(ONE, TWO, THREE), text)
