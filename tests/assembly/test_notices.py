"""Notices that other hosts have left in Redis, as the one that keeps them finds them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tocsin.assembly.full.notices import CoreNotices
from tocsin.features.contract import Feature
from tocsin.testing.features import open_feature

NONE = Feature(name="none", summary="it does nothing", page="x.md")


class LeftNotices:
    """What was left, in memory."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def oldest(self) -> str | None:
        return self.texts[0] if self.texts else None

    async def drop(self, text: str) -> None:
        self.texts.remove(text)


async def test_what_another_version_has_left_holds_up_no_notice(tmp_path: Path):
    newer = {"title": "newer", "level": "error", "colour": "of a later version"}
    left: Any = LeftNotices("{", "[]", '{"title": "a"}', json.dumps(newer), '{"title": "last", "level": "info"}')
    async with open_feature(NONE, tmp_path) as bench:
        app = replace(bench.app, stores=replace(bench.app.stores, notices=lambda: left))
        await CoreNotices(app).step()
    assert left.texts == []
    assert [notice.title for notice in bench.notices if notice.category == "system"] == ["newer", "last"]
