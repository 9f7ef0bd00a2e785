"""How the states of parts make the state of the whole."""

from tocsin.core.records.as_json import to_json
from tocsin.features.context import AttentionItem, NextRun, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.status.model import RunCounts, StatusReport, by_severity, combine, linked

SUBSYSTEMS = ("cron", "messaging", "ssh")
OK, DEGRADED, ERROR = SubsystemState.OK, SubsystemState.DEGRADED, SubsystemState.ERROR


def report(**states: SubsystemStatus) -> StatusReport:
    return StatusReport(
        version="1",
        checked_at=1_700_000_000.0,
        timezone="UTC",
        data_dir="/data",
        subsystems={name: combine([states[name]] if name in states else []) for name in SUBSYSTEMS},
        services=[],
        runs=RunCounts(0, 0, 0, 0, 0, 0),
        unread_notifications=0,
        recent_runs=[],
        attention=[],
    )


def test_a_subsystem_that_nothing_tells_of_is_disabled_and_not_invented():
    document = to_json(report())
    assert document["status"] == "ok"
    assert list(document["subsystems"]) == list(SUBSYSTEMS)
    assert {each["status"] for each in document["subsystems"].values()} == {"disabled"}
    assert document["subsystems"]["messaging"] == {
        "status": "disabled",
        "summary": "not installed",
        "counts": {},
        "last_event_at": None,
        "link": "",
    }


def test_a_status_leads_to_the_page_of_its_subsystem_unless_it_names_another():
    assert linked(SubsystemStatus(OK, ""), "ssh").link == "#/ssh"
    assert linked(SubsystemStatus(OK, "", link="#/runs"), "ssh").link == "#/runs"


def test_the_whole_is_as_its_worst_subsystem():
    assert report(cron=SubsystemStatus(OK, ""), ssh=SubsystemStatus(DEGRADED, "")).status is DEGRADED
    assert report(cron=SubsystemStatus(ERROR, ""), ssh=SubsystemStatus(DEGRADED, "")).status is ERROR
    assert report(cron=SubsystemStatus(SubsystemState.UNCONFIGURED, "")).status is OK


def test_what_several_features_tell_of_one_subsystem_is_one_status():
    one = SubsystemStatus(OK, "2 skills", {"skills": 2}, 5.0)
    two = SubsystemStatus(DEGRADED, "1 broken", {"broken": 1}, 7.0, "#/x", [AttentionItem(NoticeLevel.ERROR, "look")])
    both = combine([one, two])
    assert (both.status, both.summary, both.counts) == (DEGRADED, "2 skills; 1 broken", {"skills": 2, "broken": 1})
    assert (both.last_event_at, both.link, [item.message for item in both.attention]) == (7.0, "#/x", ["look"])


def test_only_the_next_five_runs_are_shown_in_order():
    due = [NextRun(str(number), f"job {number}", 100.0 - number) for number in range(8)]
    assert [run.at for run in report(cron=SubsystemStatus(OK, "", next_runs=due)).next_runs] == [93, 94, 95, 96, 97]


def test_the_most_urgent_needs_a_person_first():
    items = [AttentionItem(level, level) for level in (NoticeLevel.INFO, NoticeLevel.WARNING, NoticeLevel.ERROR)]
    assert [item.message for item in by_severity(items)] == ["error", "warning", "info"]
