"""triggers list and test."""

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions

GOOD = r"""
- pattern: '^disk (\w+)(?: (\w+))?$'
  command: df -h -- "/$1"
- pattern: disk
  command: eval rm $1
  reply: false
- pattern: 'explain (.+)'
  action: claude
  command: Explain what $1 is.
"""


@pytest.fixture
def ruled(cli: Cli) -> Cli:
    return with_rules(cli, GOOD)


def with_rules(cli: Cli, text: str) -> Cli:
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "triggers.yaml").write_text(text)
    return cli


def test_rules_are_listed_in_the_order_in_which_they_are_tried(ruled: Cli):
    done = ruled.process("triggers", "list")
    lines = done.out.splitlines()
    assert (done.code, lines[0].split()) == (0, ["rule", "on", "pattern", "action", "command", "reply"])
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]
    assert "Explain what $1 is." in lines[3]


def test_list_as_json_has_every_field_of_a_rule(ruled: Cli):
    first, second, third = ruled("triggers", "list", "--json").json()
    assert first == {
        "number": 1,
        "line": 2,
        "on": "message",
        "pattern": r"^disk (\w+)(?: (\w+))?$",
        "action": "shell",
        "command": 'df -h -- "/$1"',
        "reply": True,
        "notes": [],
    }
    assert (second["reply"], third["action"]) == (False, "claude")


def test_a_command_that_is_careless_with_captures_gets_advice(ruled: Cli):
    assert mentions(ruled("triggers", "list").err, "rule 2 (line 4): ", "eval")
    assert "eval" in ruled("triggers", "list", "--json").json()[1]["notes"][0]


def test_without_a_file_there_is_nothing_to_list_and_nothing_wrong(cli: Cli):
    done = cli("triggers", "list")
    assert (done.code, done.out) == (0, "")
    assert f"{cli.data_dir}/triggers.yaml" in done.err
    assert cli("triggers", "list", "--json").json() == []


def test_the_example_of_the_help_is_a_valid_file(cli: Cli):
    shown = cli("triggers", "--help").out.partition("example of a triggers.yaml:\n")[2]
    assert len(with_rules(cli, shown)("triggers", "list", "--json").json()) == 2


def test_test_tells_which_rule_fires_with_what_and_why_the_others_do_not(ruled: Cli):
    done = ruled("triggers", "test", "DISK home")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:4] == [
        "rule 1 matches (line 2): ^disk (\\w+)(?: (\\w+))?$",
        "  $1 = home",
        '  $2 = ""',
        'would run (shell): df -h -- "/$1"',
    ]


def test_test_as_json_has_the_groups_and_the_outcome_of_every_rule(ruled: Cli):
    document = ruled("triggers", "test", "explain a $2 bill", "--json").json()
    assert (document["matched"], document["rule"]["number"], document["groups"]) == (True, 3, ["a $2 bill"])
    assert document["would_run"] == "Explain what a $2 bill is."
    assert [rule["outcome"] for rule in document["rules"]] == ["no-match", "no-match", "fires"]


def test_test_tries_the_rules_for_buttons_when_it_is_told_to(cli: Cli):
    with_rules(cli, "- {pattern: '.*', command: a}\n- {on: action, name: 'clean-\\w+', command: b}\n")
    document = cli("triggers", "test", "--on", "action", "clean-up", "--json").json()
    assert (document["rule"]["number"], [rule["number"] for rule in document["rules"]]) == (2, [2])
    assert cli("triggers", "test", "--on", "action", "clean-up now").code == 1
    assert cli("triggers", "test", "clean-up", "--json").json()["rule"]["number"] == 1


def test_a_message_that_no_rule_matches_is_exit_code_1(ruled: Cli):
    done = ruled("triggers", "test", "hello")
    assert (done.code, "rule" in done.out.splitlines()[0], "fires (line" in done.out) == (1, True, False)
    document = ruled("triggers", "test", "hello", "--json")
    assert (document.code, document.json()["matched"], document.json()["rule"]) == (1, False, None)


def test_a_dash_reads_the_message_from_standard_input(ruled: Cli):
    assert ruled("triggers", "test", "-", stdin=b"disk var\n").code == 0


def test_test_runs_nothing(cli: Cli):
    canary = cli.home / "canary"
    with_rules(cli, f"- {{pattern: '(.*)', command: 'touch {canary}'}}\n")
    assert cli("triggers", "test", f"$(touch {canary})").code == 0
    assert not canary.exists()
    assert cli.audit_log() == []


def test_what_a_capture_holds_cannot_drive_the_terminal(cli: Cli):
    done = with_rules(cli, "- {pattern: '(?s)(.*)', command: x}")("triggers", "test", "\x1b[2J\nrule 9 fires")
    assert "\x1b" not in done.out
    assert done.out.splitlines()[1] == "  $1 = \\u001b[2J\\nrule 9 fires"


@pytest.mark.parametrize("command", [("list",), ("test", "x")])
def test_a_broken_file_is_refused_with_line_column_and_reason(cli: Cli, command: tuple[str, ...]):
    with_rules(cli, "- pattern: 'a(?=b)'\n  command: x\n")
    done = cli("triggers", *command)
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, "triggers.yaml:1:12: [0].pattern: ", "(?=…)")
