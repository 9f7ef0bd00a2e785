"""Doors tried out: test messages, previews, and rules made from requests."""

from pathlib import Path

import pytest
import yaml
from tests.features.doors.conftest import TEST, FrontBench

from tocsin.core.errors import ConfigError
from tocsin.features.doors.model import UnknownDoorError
from tocsin.features.doors.trying import make_rule, preview, send_test

UNKNOWN = {
    "kind": "deploy.failed",
    "data": {"name": "shop 1.2", "detail": {"reason": "no image"}, "grade": 7},
    "where": {"url": "https://ci.example.org/9"},
    "state": {"level": "error"},
}


async def test_a_test_message_goes_to_the_profile(front: FrontBench):
    await front.add()

    sent = await send_test(front.doors, "alerts", TEST)

    [delivery] = await front.deliveries()
    assert sent.deliveries == (delivery.id,)
    assert delivery.content["title"] == "Test of the door alerts"
    assert [each.metadata["door"] for each in front.bench.audit("door.test")] == ["alerts"]


async def test_a_rotated_address_replaces_the_former_one(front: FrontBench):
    before = await front.add()
    after = await front.doors.rotate("alerts", TEST)

    assert (await front.post(f"/in/{before.token}", b"x")).status == 404
    assert (await front.post(f"/in/{after.token}", b"x")).status == 200


async def test_unknown_json_becomes_a_good_message_by_a_rule_made_from_it(front: FrontBench, tmp_path: Path):
    address = await front.add()
    await front.post(f"/in/{address.token}", UNKNOWN)
    await front.work()

    made = await make_rule(front.doors, "alerts", None, TEST, write=True)
    [shown] = await preview(front.doors, "alerts", None)

    assert '# payload.data.detail.reason = "no image"' in made.rule
    assert (shown.title, shown.severity, shown.link) == ("shop 1.2", "critical", "https://ci.example.org/9")
    assert shown.rule == "rule 1 of doors.yaml"
    await front.post(f"/in/{address.token}", UNKNOWN)
    assert (await front.work())[-1].content["title"] == "shop 1.2"
    assert len(front.bench.audit("door.rule")) == 1


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# mine\nalerts:\n- title: old\nother:\n- title: x\n",
        "# mine\nother:\n- title: x\nalerts:\n  # note\n  - title: old\n",
        "alerts: []\n",
        "other: [{title: x}]",
    ],
)
async def test_a_rule_is_added_before_the_others_and_the_rest_is_kept(front: FrontBench, tmp_path: Path, before: str):
    address = await front.add()
    await front.post(f"/in/{address.token}", UNKNOWN)
    await front.work()
    file = tmp_path / "doors.yaml"
    if before:
        file.write_text(before)

    await make_rule(front.doors, "alerts", None, TEST, write=True)

    after, old = yaml.safe_load(file.read_text()), yaml.safe_load(before or "{}") or {}
    assert after["alerts"][0]["title"] == "${payload.data.name}"
    assert after["alerts"][1:] == (old.get("alerts") or [])
    assert after.get("other") == old.get("other")
    assert all(line in file.read_text() for line in before.splitlines() if line.startswith("#"))


async def test_a_file_in_another_form_is_left_alone(front: FrontBench, tmp_path: Path):
    address = await front.add()
    await front.post(f"/in/{address.token}", UNKNOWN)
    await front.work()
    file = tmp_path / "doors.yaml"
    file.write_text("alerts: [{title: old}]\n")

    with pytest.raises(ConfigError, match="cannot be added"):
        await make_rule(front.doors, "alerts", None, TEST, write=True)

    assert file.read_text() == "alerts: [{title: old}]\n"


@pytest.mark.parametrize(
    "payload",
    [{}, [], "text", {"a": [{"b": 1}]}, {"a b": {"c::d": "x"}}, {"type": "it's", "n": 1}, {"x": "${payload}"}, [[1]]],
)
async def test_a_rule_can_be_made_from_any_payload(front: FrontBench, tmp_path: Path, payload: object):
    address = await front.add()
    await front.post(f"/in/{address.token}", payload)
    await front.work()

    await make_rule(front.doors, "alerts", None, TEST, write=True)
    [shown] = await preview(front.doors, "alerts", None)

    assert (front.doors.rules.read()[1], shown.rule, shown.note) == (None, "rule 1 of doors.yaml", "")


async def test_a_kept_request_has_its_headers_and_no_secrets(front: FrontBench):
    address = await front.add(preset="github")
    headers = (("X-GitHub-Event", "member"), ("Authorization", "Bearer abcdefghijklmnopqrst"))
    await front.post(f"/in/{address.token}", {"action": "added", "repository": {"full_name": "o/r"}}, *headers)
    await front.work()

    [shown] = await preview(front.doors, "alerts", None)

    assert (shown.title, shown.rule) == ("o/r: member added", "rule 11 of the preset github")


async def test_without_a_kept_request_there_is_nothing_to_make_a_rule_from(front: FrontBench):
    await front.add()

    with pytest.raises(UnknownDoorError, match="no request with a payload"):
        await make_rule(front.doors, "alerts", None, TEST)


async def test_only_the_newest_twenty_requests_are_kept_for_a_week(front: FrontBench):
    address = await front.add()
    for n in range(25):
        await front.post(f"/in/{address.token}", {"message": str(n)})
    await front.work()
    kept = await front.doors.requests("alerts", 100)
    assert [each.text for each in kept] == [str(n) for n in range(24, 4, -1)]

    front.clock.advance(7 * 86_400 + 1)
    await front.doors.prune()

    assert await front.doors.requests("alerts") == []
