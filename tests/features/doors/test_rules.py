"""Rules of doors.yaml: read, tried in order, and bounded."""

from pathlib import Path
from typing import Any

import pytest
from tests.facts import mentions
from tests.features.doors.conftest import FrontBench

from tocsin.features.doors.rules.rule import MAX_RULES


def write(tmp_path: Path, text: str) -> None:
    (tmp_path / "doors.yaml").write_text(text)


async def sent(front: FrontBench, payload: object, **fields: Any) -> Any:
    """Send a payload to a new door, and return what `last` shows of it."""
    address = await front.add(**fields)
    await front.post(f"/in/{address.token}", payload, ("X-Kind", "build"))
    await front.work()
    return await front.last()


async def test_the_first_rule_that_matches_makes_the_message(front: FrontBench, tmp_path: Path):
    write(
        tmp_path,
        """
alerts:
- match: payload.status == 'running'
  drop: true
- match: payload.status == 'failed' and header.x-kind == 'build'
  title: "${door}: ${payload.job} failed"
  text: |
    ${for line in payload.lines}
    - ${line}
    ${end}
  severity: high
  key: ${payload.job}
  link: ${payload.page}
  profile: quiet
- title: not reached
""",
    )
    payload = {"status": "failed", "job": "deploy", "lines": ["a", "b"], "page": "https://ci.example.org/7"}

    last = await sent(front, payload)

    assert (last.title, last.text, last.severity) == ("alerts: deploy failed", "- a\n- b", "critical")
    assert (last.key, last.link, last.profile) == ("deploy", "https://ci.example.org/7", "quiet")
    [delivery] = await front.deliveries()
    assert delivery.target == "quiet"


async def test_a_dropped_request_sends_nothing_and_says_why(front: FrontBench, tmp_path: Path):
    write(tmp_path, "alerts: [{match: payload.status == 'running', drop: true}]")

    last = await sent(front, {"status": "running"})

    assert (last.state, last.note) == ("dropped", "rule 1 of doors.yaml drops it")
    assert await front.deliveries() == []


async def test_own_rules_come_before_those_of_the_preset_and_the_generic_form(front: FrontBench, tmp_path: Path):
    write(tmp_path, "alerts: [{match: payload.zen == 'mine', title: mine}]")
    address = await front.add(preset="github")
    for zen in ("mine", "theirs"):
        await front.post(f"/in/{address.token}", {"zen": zen, "hook_id": 1})
    await front.post(f"/in/{address.token}", {"title": "generic"}, ("X-GitHub-Event", "x"))
    titles = [each.content["title"] for each in await front.work()]

    assert titles == ["mine", "GitHub: the webhook works", "GitHub: x"]


async def test_a_rule_without_title_and_text_refines_what_was_found(front: FrontBench, tmp_path: Path):
    write(tmp_path, 'alerts: [{severity: "${payload.grade}", key: "${message.title}"}]')

    last = await sent(front, {"title": "Disk", "message": "full", "grade": "disaster"})

    assert (last.title, last.text, last.severity, last.key) == ("Disk", "full", "critical", "Disk")


@pytest.mark.parametrize(
    "text",
    [
        "${for a in payload.many}${for b in payload.many}${for c in payload.many}.${end}${end}${end}",
        "${for a in payload.many}${payload.long}${end}",
        "${payload}",
        "${for a in payload.long}${end}",
        "${if payload.long > 5}${end}",
    ],
)
async def test_a_text_that_fails_falls_back_to_the_generic_form_and_says_so(
    front: FrontBench, tmp_path: Path, text: str
):
    write(tmp_path, f'alerts: [{{title: by rule, text: "{text}"}}]')

    last = await sent(front, {"title": "Disk", "message": "full", "many": list(range(2_000)), "long": "x" * 50_000})

    assert (last.state, last.title) == ("sent", "Disk")
    assert last.note.startswith("rule 1 of doors.yaml: text:")
    [delivery] = await front.deliveries()
    assert delivery.message.startswith("full\n\n[rule 1 of doors.yaml: text:")


async def test_a_condition_that_fails_is_passed_over_with_a_note(front: FrontBench, tmp_path: Path):
    write(tmp_path, "alerts: [{match: payload.title > 5, title: no}, {title: yes}]")

    last = await sent(front, {"title": "Disk"})

    assert last.title == "yes"
    assert "rule 1 of doors.yaml: match: 'Disk'" in last.note


async def test_an_ok_that_ends_nothing_is_sent_unless_the_rule_says_otherwise(front: FrontBench, tmp_path: Path):
    write(tmp_path, 'alerts: [{title: "${payload.s}", severity: "${payload.s}", key: k, only_if_open: true}]')
    address = await front.add()
    for status in ("ok", "error", "ok", "ok"):
        await front.post(f"/in/{address.token}", {"s": status})

    assert [each.content["title"] for each in await front.work()] == ["error", "ok"]


async def test_the_last_valid_rules_stay_in_force(front: FrontBench, tmp_path: Path):
    write(tmp_path, "alerts: [{title: first}]")
    address = await front.add()
    await front.post(f"/in/{address.token}", {"x": 1})
    await front.work()
    write(tmp_path, "alerts: [{title: '${payload.'}]")
    await front.post(f"/in/{address.token}", {"x": 1})
    await front.work()

    assert [each.content["title"] for each in await front.deliveries()] == ["first", "first"]
    [finding] = [each for each in await front.bench.findings() if each.state == "error"]
    assert "1:18: alerts[0].title" in finding.detail


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alerts:\n- titel: x", "2:3: alerts[0]: unknown key 'titel' (did you mean 'title'?)"),
        ("alerts:\n- match: paylod.x == 1", "did you mean 'payload'?"),
        ("alerts:\n- text: ${frist(payload.x)}", "did you mean 'first'?"),
        ("alerts:\n- match: payload.x = 1", "write '=='"),
        ("alerts:\n- text: ${for a in payload.x}", "not closed"),
        ("alerts:\n- text: ${message.titel}", "message has title"),
        ("alerts:\n- drop: maybe", "true or false"),
        ("Alerts!: []", "lower-case"),
        ("alerts: [" + "{drop: true}," * (MAX_RULES + 1) + "]", "at most 100"),
    ],
)
async def test_a_mistake_is_named_with_its_place(front: FrontBench, tmp_path: Path, text: str, said: str):
    write(tmp_path, text)

    problem = front.doors.rules.read()[1]

    assert said in str(problem)


async def test_rules_that_do_nothing_are_named_with_the_nearest_that_would(front: FrontBench, tmp_path: Path):
    await sent(front, {"status": "x", "labels": {"severity": "page"}})
    write(
        tmp_path,
        """
alerst: [{drop: true}]
alerts:
- match: payload.labels.severty == 'page'
- match: 1 == 2
- match: payload.status == 'y'
- title: all
- title: never
""",
    )

    told = {(each.door, each.place): each.detail for each in await front.doors.rule_warnings()}

    facts = {
        ("alerst", "doors.yaml"): ("'alerst'", "'alerts'"),
        ("alerts", "rule 1 of doors.yaml"): ("payload.labels.severty ", "'payload.labels.severity'"),
        ("alerts", "rule 2 of doors.yaml"): ("never",),
        ("alerts", "rule 5 of doors.yaml"): ("never", "rule 4"),
    }
    assert told.keys() == facts.keys()
    assert [place for place, detail in told.items() if not mentions(detail, *facts[place])] == []


async def test_ten_thousand_alerts_are_one_message(front: FrontBench):
    alerts = [
        {"status": "firing", "labels": {"instance": f"h{n}"}, "annotations": {"summary": "s"}} for n in range(10_000)
    ]
    payload = {"status": "firing", "groupKey": "k", "receiver": "r", "groupLabels": {"a": "b"}, "alerts": alerts}

    last = await sent(front, payload, preset="alertmanager")

    assert (last.state, last.note, last.title) == ("sent", "", "[FIRING:10000] b")
    assert "Only 10 of 10000 alerts are shown." in last.text
    assert len(await front.deliveries()) == 1


async def test_a_profile_is_needed_unless_a_rule_names_one(front: FrontBench, tmp_path: Path):
    with pytest.raises(Exception, match="needs a profile"):
        await front.add(profile=None)
    write(tmp_path, "alerts: [{profile: quiet}]")
    await sent(front, {"message": "x"}, profile=None)

    assert [each.target for each in await front.deliveries()] == ["quiet"]
