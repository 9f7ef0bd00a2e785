"""What a preview shows of an unfinished answer."""

import pytest

from tocsin.channels.botchat.preview import render_preview
from tocsin.core.text.measures import utf16_units


@pytest.mark.parametrize("units", [3_990, 4_000, 4_001, 8_001, 12_000])
def test_a_preview_never_exceeds_one_message(units: int):
    for unit in ("a", "😀", "a ", "**a** ", "```\n", "> a\n\n"):
        assert utf16_units(render_preview(unit * (units // utf16_units(unit))).text) <= 4_000
