"""watchers.yaml: what it may say, what is told of mistakes, and what is in force then."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tocsin.core.errors import ConfigError
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.files import write_atomically
from tocsin.features.watchers.model import WatcherAction, WatcherRule
from tocsin.features.watchers.rules import WatcherRules, read_rules, with_rule


def test_a_rule_has_the_fields_and_defaults_that_the_page_names():
    [rule] = read_rules(b"- {name: a, path: /srv/in/, command: 'lp \"$1\"'}\n", Path("watchers.yaml"))
    assert to_json(rule) == {
        "name": "a",
        "path": "/srv/in",
        "recursive": True,
        "patterns": [],
        "exclude_patterns": [],
        "events": ["created", "modified", "moved"],
        "action": "shell",
        "command": 'lp "$1"',
        "debounce_ms": 500,
        "cooldown_seconds": 0,
        "enabled": True,
        "output": None,
    }


MISTAKES = """\
- name: good
  path: /srv
  comand: "true"
- name: good
  path: srv
  events: [create]
  action: shel
  command: "true"
"""
MORE_MISTAKES = """\
- name: -a
  path: ~/x
  debounce_ms: 99999999
  action: skill
  command: "greet 'x"
- {name: b, path: /srv, patterns: ["!", "#x"], command: "a\\0b", events: []}
- {name: c, path: /srv, action: notify, cooldown_seconds: -1, enabled: maybe}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            MISTAKES,
            [
                "watchers.yaml:1:3: [0]: key 'command' is missing",
                "3:3: [0]: unknown key 'comand' (did you mean 'command'?)",
                "4:9: [1].name: the watcher in line 1 already has this name",
                "expected the absolute path of a folder, or a path that starts with ~/",
                "'create' is not one of: created, modified, deleted, moved (did you mean 'created'?)",
                "'shel' is not one of: shell, skill, workflow, notify (did you mean 'shell'?)",
            ],
        ),
        (
            "[{name: a, path: /srv, command: x}, {name: a, path: /etc, command: y}]",
            ["1:44: [1].name: the watcher in line 1 already has this name"],
        ),
        (
            MORE_MISTAKES,
            [
                "'-a' is not a valid watcher name",
                "expected a whole number from 0 to 60000",
                "a quote is not closed",
                "not a valid .gitignore pattern",
                "this pattern matches no file;",
                "a command must not contain a NUL character",
                "this list must not be empty",
                "expected a whole number from 0 to 86400",
                "expected true or false",
            ],
        ),
    ],
)
def test_all_mistakes_of_a_file_are_told_at_once_with_line_and_suggestion(text: str, told: list[str]):
    with pytest.raises(ConfigError) as caught:
        read_rules(text.encode(), Path("watchers.yaml"))
    assert [said for said in told if said not in str(caught.value)] == []


def test_a_broken_edit_leaves_the_last_good_rules_in_force_and_says_why(tmp_path: Path):
    rules = WatcherRules(tmp_path / "watchers.yaml")
    assert rules.read() == ((), None)
    write_atomically(rules.path, "- {name: a, path: /srv, action: notify}\n")
    assert [rule.name for rule in rules.read()[0]] == ["a"]
    write_atomically(rules.path, "- {name: a, path: /srv, action: notify}\n- {name: b}\n")
    found, problem = rules.read()
    assert [rule.name for rule in found] == ["a"]
    assert problem is not None
    assert "watchers.yaml:2:3" in str(problem)
    rules.path.chmod(0o666)
    assert "other users" in str(rules.read()[1])


@pytest.mark.parametrize(
    "before",
    ["", "# mine\n- {name: x, path: /srv, action: notify} # one\n", "  - name: x\n    path: /srv\n    command: a\n"],
)
def test_a_new_rule_is_written_behind_the_others_and_nothing_else_changes(tmp_path: Path, before: str):
    path = tmp_path / "watchers.yaml"
    if before:
        path.write_text(before)
    hostile = WatcherRule(
        "new", Path('/srv/a "b": #'), "echo '{\"x\"}' # \\ \n\ttwo", patterns=("*.p df",), output="oncall"
    )
    with_rule(path, hostile)
    assert path.read_text().startswith(before.rstrip())
    found = read_rules(path.read_bytes(), path)
    assert [rule.name for rule in found] == (["x", "new"] if before else ["new"])
    assert to_json(found[-1]) == to_json(hostile)
    before = path.read_text()
    with pytest.raises(ConfigError, match="already"):
        with_rule(path, WatcherRule("new", Path("/srv"), action=WatcherAction.NOTIFY))
    assert path.read_text() == before


def test_rules_that_are_added_at_the_same_time_are_all_there(tmp_path: Path):
    path = tmp_path / "data" / "watchers.yaml"
    rules = [WatcherRule(f"rule{n}", Path("/srv"), "true") for n in range(8)]
    with ThreadPoolExecutor(len(rules)) as pool:
        list(pool.map(lambda rule: with_rule(path, rule), rules))
    assert {rule.name for rule in read_rules(path.read_bytes(), path)} == {rule.name for rule in rules}


def test_a_file_in_another_form_is_told_and_left_as_it_is(tmp_path: Path):
    path = tmp_path / "watchers.yaml"
    path.write_text("[{name: x, path: /srv, action: notify}]\n")
    with pytest.raises(ConfigError, match="added"):
        with_rule(path, WatcherRule("new", Path("/srv"), "true"))
    assert path.read_text() == "[{name: x, path: /srv, action: notify}]\n"


def test_a_command_takes_no_placeholder():
    rule = "- {name: a, path: /srv, command: 'lp ${vault:KEY}'%s}\n"
    with pytest.raises(ConfigError, match="shell"):
        read_rules((rule % "").encode(), Path("watchers.yaml"))
    assert read_rules((rule % ", action: notify").encode(), Path("watchers.yaml"))
