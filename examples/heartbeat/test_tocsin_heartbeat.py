"""The feature keeps its promises; `pytest` in this directory runs it."""
# ruff: noqa: S101  # tests assert

import json
from pathlib import Path

from tocsin_heartbeat.feature import FEATURE
from tocsin_heartbeat.service import Heartbeat

from tocsin.testing import FakeClock
from tocsin.testing.features import open_feature


async def test_a_gap_is_recorded_and_told_once(tmp_path: Path):
    """The operator learns that no service ran."""
    clock = FakeClock()
    async with open_feature(FEATURE, tmp_path, clock=clock) as bench:
        heartbeat: Heartbeat = bench.service
        await heartbeat.beat()
        clock.advance(600)
        await heartbeat.beat()
        await heartbeat.beat()
        assert [notice.body for notice in bench.notices] == ["no service ran for 600 s"]
        assert [entry.metadata["gap_s"] for entry in bench.audit("heartbeat.gap")] == [600]


async def test_signs_of_life_on_time_are_no_gap(tmp_path: Path):
    """Twice the time between two beats is allowed."""
    clock = FakeClock()
    async with open_feature(FEATURE, tmp_path, {"HEARTBEAT_EVERY_S": "300"}, clock=clock) as bench:
        for _ in range(3):
            await bench.service.beat()
            clock.advance(599)
        assert bench.notices == []


async def test_a_monitor_reads_at_the_gateway_whether_a_service_runs(tmp_path: Path):
    """The status tells it, too."""
    clock = FakeClock()
    async with open_feature(FEATURE, tmp_path, clock=clock) as bench:
        [route] = bench.features.gateway_routes()
        assert (route.method, route.path, route.protected) == ("GET", "/heartbeat", False)
        await bench.service.beat()
        clock.advance(30)
        answers = [await route.handler({"type": "http"}, None)]
        clock.advance(600)
        answers.append(await route.handler({"type": "http"}, None))
        assert [answer.status_code for answer in answers] == [200, 503]
        assert json.loads(answers[0].body) == {"alive": True, "age_s": 30.0}
