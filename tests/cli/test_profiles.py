"""profiles and notify."""

import subprocess

import pytest
from tests.cli.conftest import TOCSIN, Cli
from tests.facts import mentions
from tests.waiting import until

from tocsin_standins import Fault, StandinCluster

GOOD = """\
oncall:
  - {channel: teamchat, target: "#ops"}
  - {channel: telegram, target: 1001}
  - {channel: email, target: ops@example.org}
"""
HALF = """\
half:
  - {channel: teamchat, target: "#ops"}
  - {channel: teamchat, target: "#nowhere"}
  - {channel: email, target: ops@example.org}
"""


def test_profiles_are_listed_with_their_targets(wired: Cli):
    wired.write_profiles(GOOD)
    done = wired.process("profiles")
    assert done.code == 0
    assert "oncall   Slack #ops, Telegram 1001, E-mail ops@example.org  ok" in done.out


def test_profiles_as_json_have_the_documented_fields(wired: Cli):
    wired.write_profiles(GOOD + "broken: [{channel: teamcaht, target: x}]\n")
    good, broken = wired("profiles", "--json").json()
    assert good == {
        "name": "oncall",
        "entries": [
            {"channel": "teamchat", "target": "#ops"},
            {"channel": "botchat", "target": "1001"},
            {"channel": "email", "target": "ops@example.org"},
        ],
        "valid": True,
        "errors": [],
    }
    assert (broken["name"], broken["valid"]) == ("broken", False)
    (error,) = broken["errors"]
    assert (error["line"], error["column"], error["key"]) == (5, 20, "broken[0].channel")
    assert "'teamchat'" in error["detail"]


WRONG = """\
oncall:
  - {channel: teamchat, target: "#ops"}
  - {channel: slakc, target: "#ops"}
  - {channel: email, target: not an address}
  - {channel: guildchat, target: "1"}
"""


def test_profiles_are_checked_as_a_send_would(wired: Cli, town: StandinCluster):
    wired.write_profiles(WRONG)
    for options in ([], ["--json"]):
        done = wired("profiles", *options, env={"GUILDCHAT_BOT_TOKEN": ""})
        assert done.code == 2
        path = f"{wired.data_dir}/profiles.yaml"
        first, second, third = (line for line in done.err.splitlines() if "hint" not in line)
        assert mentions(first, f"{path}:3:15: oncall[1].channel: Unknown channel: slakc", "discord", "'slack'")
        assert mentions(second, f"{path}:4:30: oncall[2].target: 'not an address'")
        assert mentions(third, f"{path}:5:15: oncall[3].channel: Unknown channel: Discord", "GUILDCHAT_BOT_TOKEN")
    assert [len(profile["errors"]) for profile in done.json()] == [3]
    assert "error" in wired("profiles").out
    assert town.recorder.of() == []


@pytest.mark.parametrize("option", [[], ["--queue"]])
def test_notify_names_the_place_of_a_channel_that_there_is_not(wired: Cli, option: list[str]):
    wired.write_profiles("oncall:\n  - {channel: slakc, target: x}\n  - {channel: slack, target: '#ops'}\n")
    done = wired("notify", "oncall", "hello", "--json", *option)
    assert done.code == 1
    wrong, right = done.json()["results"]
    assert wrong["error"].startswith(f"{wired.data_dir}/profiles.yaml:2:15: oncall[0].channel: Unknown channel: slakc")
    assert "'slack'" in wrong["error"]
    assert right["ok"]


def test_without_profiles_the_file_to_write_is_named(cli: Cli):
    done = cli("profiles")
    assert (done.code, done.out) == (0, "")
    assert f"{cli.data_dir}/profiles.yaml" in done.err
    assert cli("profiles", "--json").json() == []


def test_the_example_in_the_help_is_a_profile(wired: Cli):
    shown = wired("profiles", "--help").out.partition("example of a profiles.yaml:\n")[2]
    wired.write_profiles(shown)
    (profile,) = wired("profiles", "--json").json()
    assert profile["valid"] is True


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("oncall:\n  - chanel: email\n    target: x\n", "profiles.yaml:2:5"),
        ("oncall: 5\n", "profiles.yaml:1:9"),
        ("oncall: [\n", "profiles.yaml:2:1"),
        ("- a\n", "profiles.yaml:1:1"),
    ],
)
@pytest.mark.parametrize("command", [("profiles",), ("notify", "oncall", "hello")])
def test_a_broken_file_is_refused_with_line_and_column(cli: Cli, text: str, place: str, command: tuple[str, ...]):
    cli.write_profiles(text)
    done = cli(*command)
    assert (done.code, done.out) == (2, "")
    assert place in done.err


def test_notify_sends_to_every_target_of_the_profile(wired: Cli, town: StandinCluster):
    wired.write_profiles(GOOD)
    done = wired("notify", "oncall", "Disk 91 % full")
    assert (done.code, done.err) == (0, "")
    received = {item.channel: item.text for item in town.recorder.of()}
    assert received == dict.fromkeys(("teamchat", "botchat", "email"), "Disk 91 % full")
    assert done.out.count("sent (") == 3


def test_notify_as_json_has_the_documented_fields(wired: Cli):
    wired.write_profiles(GOOD)
    document = wired("notify", "oncall", "hello", "--json").json()
    assert list(document) == ["profile", "ok", "sent", "failed", "results"]
    assert (document["profile"], document["ok"], document["sent"], document["failed"]) == ("oncall", True, 3, 0)
    assert [result["channel"] for result in document["results"]] == ["teamchat", "botchat", "email"]
    assert all(list(result) == ["ok", "channel", "target", "message", "error"] for result in document["results"])


def test_a_failed_target_is_exit_code_1_and_the_others_get_the_message(wired: Cli, town: StandinCluster):
    wired.write_profiles(HALF)
    done = wired("notify", "half", "hello", "--json")
    assert done.code == 1
    document = done.json()
    assert (document["ok"], document["sent"], document["failed"]) == (False, 2, 1)
    assert [result["ok"] for result in document["results"]] == [True, False, True]
    assert {item.channel for item in town.recorder.of()} == {"teamchat", "email"}
    assert "failed: channel_not_found" in wired("notify", "half", "hello").out


def test_an_unconfigured_channel_in_a_profile_fails_alone(wired: Cli, town: StandinCluster):
    wired.write_profiles(GOOD)
    done = wired("notify", "oncall", "hello", "--json", env={"BOTCHAT_BOT_TOKEN": ""})
    assert done.code == 1
    assert [result["ok"] for result in done.json()["results"]] == [True, False, True]
    assert "BOTCHAT_BOT_TOKEN" in done.json()["results"][1]["error"]


def test_a_hanging_target_does_not_delay_the_others(wired: Cli, town: StandinCluster):
    wired.write_profiles(GOOD)
    town.teamchat.faults.push(Fault.stall(86_400, accept=False))
    # What the child's outcome is does not matter here: whether the others were reached while it hung does.
    with subprocess.Popen([TOCSIN, "notify", "oncall", "hello"], env=wired.env) as child:
        try:
            until(lambda: {item.channel for item in town.recorder.of()} == {"botchat", "email"}, "the others wait")
            assert child.poll() is None
        finally:
            child.kill()


def test_an_unknown_profile_is_exit_code_1_with_the_ones_there_are(cli: Cli):
    cli.write_profiles(GOOD)
    done = cli("notify", "oncal", "hello")
    assert (done.code, done.out) == (1, "")
    assert mentions(done.err, "Unknown profile: oncal\n", "'oncall'")


def test_an_error_is_a_json_document_too(cli: Cli):
    document = cli("notify", "nobody", "hello", "--json").json()
    assert (document["ok"], document["code"], document["error"]) == (
        False,
        "unknown-profile",
        "Unknown profile: nobody",
    )


def test_notify_leaves_one_audit_entry(wired: Cli):
    wired.write_profiles(HALF)
    wired("notify", "half", "the text is nobody's business")
    (entry,) = wired.audit_log()
    assert (entry["action"], mentions(entry["detail"], "half", "2 of 3")) == ("msg.notify", True)
    assert "nobody's business" not in (wired.data_dir / "audit.log").read_text()
