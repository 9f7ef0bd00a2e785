"""Notification profiles: `profiles.yaml` is a mapping from name to a list of entries."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from tests.facts import mentions

from tocsin.core.errors import ChannelError, ConfigError, UnknownChannelError, UnknownProfileError
from tocsin.core.reading.yaml_node import YamlError
from tocsin.core.storage.files import write_atomically
from tocsin.messaging.outbound.profiles import Profile, ProfileEntry, Profiles

KINDS = ("bell", "horn")
GOOD = """\
ops:
  - channel: bell
    target: "#alerts"
  - channel: dingdong
    target: -100123456789
night.watch-2:
  - {channel: horn, target: tower}
"""

Write = Callable[[str | bytes], Profiles]


def profiles_at(path: Path) -> Profiles:
    return Profiles(path, known_kind)


def known_kind(name: str) -> str:
    kind = {"dingdong": "bell"}.get(name.lower(), name.lower())
    if kind not in KINDS:
        raise UnknownChannelError(f"Unknown channel: {name}", hint="choose from bell, horn (did you mean 'bell'?)")
    return kind


@pytest.fixture
def write(tmp_path: Path) -> Write:
    profiles = profiles_at(tmp_path / "profiles.yaml")

    def write(content: str | bytes) -> Profiles:
        profiles.path.write_bytes(content.encode() if isinstance(content, str) else content)
        return profiles

    return write


def mistakes(profiles: Profiles) -> list[str]:
    problem = profiles.problem
    assert isinstance(problem, YamlError), problem
    return [str(mistake) for mistake in problem.problems]


def test_a_profile_has_its_entries_in_order_and_an_alias_becomes_its_kind(write: Write):
    assert write(GOOD).get("ops") == Profile(
        "ops", (ProfileEntry("bell", "#alerts"), ProfileEntry("bell", "-100123456789"))
    )


def test_all_profiles_are_listed_in_the_order_of_the_file(write: Write):
    assert [profile.name for profile in write(GOOD).all()] == ["ops", "night.watch-2"]


@pytest.mark.parametrize(
    "target", ["123456789", "-100123", "+4915112345", "0123", "1e5", "0x1F", "2024-01-31", "1_000"]
)
def test_a_target_that_looks_like_a_number_is_text_in_its_own_spelling(write: Write, target: str):
    profile = write(f"ops:\n- channel: bell\n  target: {target}\n").get("ops")
    assert profile.entries[0].target == target


@pytest.mark.parametrize(
    ("target", "mistake"),
    [
        ("true", "found true (in quotes it would be text)"),
        ("[a]", "found a list"),
        ("{a: b}", "found a mapping"),
        ("", "found nothing"),
        ("~", "found nothing"),
        ("#alerts", "found no value (put a value that starts with # in quotes)"),
        ("''", "found only whitespace"),
    ],
)
def test_a_target_that_is_no_text_is_refused_with_its_place(write: Write, target: str, mistake: str):
    found = mistakes(write(f"ops:\n- channel: bell\n  target: {target}\n"))
    assert len(found) == 1
    assert found[0].startswith("3:")
    assert found[0].endswith(f": ops[0].target: expected text, {mistake}")


def test_an_unknown_key_is_refused_with_the_likely_meant_one(write: Write):
    profiles = write("ops:\n- channel: bell\n  target: a\nnight:\n- chanel: bell\n  target: b\n")
    assert mistakes(profiles) == [
        "5:3: night[0]: unknown key 'chanel' (did you mean 'channel'?)",
        "5:3: night[0]: key 'channel' is missing",
    ]
    assert str(profiles.problem).startswith(f"{profiles.path}:5:3: night[0]: unknown key 'chanel'")


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ("ops: []\n", "1:6: ops: this list must not be empty"),
        ("ops:\n", "1:1: ops: expected a list, found nothing"),
        ("ops: bell\n", "1:6: ops: expected a list, found text"),
        ("ops: {channel: bell, target: a}\n", "1:6: ops: expected a list, found a mapping"),
        ("ops:\n- bell\n", "2:3: ops[0]: expected a mapping, found text"),
        ("- channel: bell\n", "1:1: expected a mapping, found a list"),
        ("just words\n", "1:1: expected a mapping, found text"),
        ("x:\n- &a {}\n", "2:3: x[0]: anchors are not supported; put a value that starts with & in quotes"),
        ("x: *a\n", "1:4: x: aliases are not supported; put a value that starts with * in quotes"),
        (GOOD + "ops:\n- {channel: bell, target: b}\n", "8:1: duplicate key 'ops' (first in line 1)"),
        ("ops:\n- {target: a, target: b}\n", "2:15: ops[0]: duplicate key 'target' (first in line 2)"),
        ("ops:\n\t- channel: bell\n", "2:1: tabs cannot be used for indentation; use spaces"),
        ("ops:\n- channel: bell\n  target: @me\n", "3:11: put a value that starts with @ in quotes"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_file_is_named_with_line_column_and_key(write: Write, content: str, mistake: str):
    assert mistake in mistakes(write(content))


@pytest.mark.parametrize("name", ["_a", ".a", "-a", "a b", "a/b", "ä", "a" * 101, "a:b", '"a\\n"', '""'])
def test_a_name_with_other_characters_is_refused(write: Write, name: str):
    assert "profile" in str(write(f"{name}:\n- channel: bell\n  target: a\n").problem)


@pytest.mark.parametrize("name", ["a", "0", "A.b_c-d", "a" * 100, "123"])
def test_a_name_of_letters_digits_dot_underscore_and_dash_is_accepted(write: Write, name: str):
    assert write(f"{name}:\n- channel: bell\n  target: a\n").get(name).name == name


def test_all_mistakes_of_a_file_are_reported_at_once(write: Write):
    found = mistakes(write("a b: []\nops:\n- channel: [bell]\n  target: true\n- 7\n"))
    assert [mistake.split(": ")[0] for mistake in found] == ["1:1", "1:6", "3:12", "4:11", "5:3"]


def test_an_unknown_channel_makes_its_profile_invalid_and_no_other(write: Write):
    profiles = write("bad:\n- channel: bel\n  target: a\ngood:\n- channel: horn\n  target: a\n")
    assert profiles.problem is None
    assert [profile.valid for profile in profiles.all()] == [False, True]
    assert [mentions(str(problem), "2:12", "bad[0].channel", "'bell'") for problem in profiles.get("bad").problems] == [
        True
    ]


def test_a_mapping_adds_defaults_that_come_after_those_of_the_request_and_of_the_target(write: Write):
    first, second = (
        write("""\
ops:
  defaults: {priority: high, thread: alerts, type: warning}
  targets:
    - {channel: bell, target: tower, min_priority: 3, without: [files]}
    - {channel: horn, target: ship, priority: low}
""")
        .get("ops")
        .entries
    )
    assert (first.channel, first.target, second.channel, second.target) == ("bell", "tower", "horn", "ship")
    assert first.adapt({"attach": [{"name": "a.log"}]}) == {"priority": 4, "thread": "alerts", "type": "warning"}
    assert second.adapt({"type": "info"}) == {"priority": 2, "thread": "alerts", "type": "info"}
    assert first.skips({"priority": 2})


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("ops:\n  targets: []\n", "2:12", "must not be empty"),
        ("ops:\n  defaults: {priority: high}\n", "2:3", "key 'targets' is missing"),
        ("ops:\n  defaults: {prio: 4}\n  targets: [{channel: bell, target: a}]\n", "2:14", "did you mean 'priority'?"),
        ("ops:\n  targets: [{channel: bell, target: a}]\n  default: {}\n", "3:3", "did you mean 'defaults'?"),
        ("ops: bell\n", "1:6", "expected a list"),
    ],
)
def test_a_mistake_in_a_profile_that_is_a_mapping_has_its_place(write: Write, text: str, place: str, said: str):
    [mistake] = mistakes(write(text))
    assert mentions(mistake, place, said), mistake


def test_a_target_that_a_send_would_refuse_is_a_mistake_at_its_place(tmp_path: Path):
    def check(channel: str, target: str) -> None:
        if target == "the moon":
            raise ChannelError(f"{channel} does not reach the moon", hint="name a tower")

    path = tmp_path / "profiles.yaml"
    path.write_text("ops:\n- {channel: dingdong, target: the moon}\n- {channel: horn, target: tower}\n")
    (profile,) = Profiles(path, known_kind).checked(check)
    assert [mentions(str(problem), "2:31", "ops[0].target") for problem in profile.problems] == [True]
    assert [entry.target for entry in profile.entries] == ["the moon", "tower"]


def test_a_profile_is_shown_as_the_record_of_the_command_line_and_the_api(write: Write):
    records = [profile.as_record() for profile in write("ops:\n- channel: bel\n  target: 7\n").all()]
    assert json.loads(json.dumps(records)) == [
        {
            "name": "ops",
            "entries": [{"channel": "bel", "target": "7"}],
            "valid": False,
            "errors": [
                {
                    "line": 2,
                    "column": 12,
                    "key": "ops[0].channel",
                    "detail": "Unknown channel: bel; choose from bell, horn (did you mean 'bell'?)",
                }
            ],
        }
    ]


def test_an_unknown_profile_is_answered_with_the_known_names_and_the_close_one(write: Write):
    with pytest.raises(UnknownProfileError) as raised:
        write(GOOD).get("opps")
    assert str(raised.value) == "Unknown profile: opps"
    assert mentions(raised.value.hint, "night.watch-2", "'ops'")


@pytest.mark.parametrize("content", ["", "# nothing yet\n", "---\n", "\n\n", "{}"])
def test_a_file_without_profiles_has_none_and_is_no_problem(write: Write, content: str):
    profiles = write(content)
    assert (profiles.all(), profiles.problem) == ((), None)
    with pytest.raises(UnknownProfileError, match="Unknown profile: ops") as raised:
        profiles.get("ops")
    assert raised.value.hint == "no profiles exist, `tocsin profiles` says where to create them"


def test_a_missing_file_has_no_profiles_and_is_no_problem(tmp_path: Path):
    profiles = profiles_at(tmp_path / "profiles.yaml")
    assert (profiles.all(), profiles.problem) == ((), None)


@pytest.mark.parametrize("content", [GOOD.encode("utf-8-sig"), GOOD.replace("\n", "\r\n").encode()])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(write: Write, content: bytes):
    assert [profile.name for profile in write(content).all()] == ["ops", "night.watch-2"]


def test_a_broken_edit_keeps_the_profiles_and_the_correction_replaces_them(write: Write):
    write(GOOD).get("ops")
    profiles = write("ops:\n- channel: [\n")
    assert profiles.problem is not None
    assert len(profiles.get("ops").entries) == 2
    profiles = write("ops:\n- channel: horn\n  target: new\n")
    assert profiles.problem is None
    assert profiles.get("ops").entries == (ProfileEntry("horn", "new"),)


def test_a_profile_that_a_broken_file_might_have_is_answered_with_the_mistake(write: Write):
    profiles = write("new:\n- chanel: horn\n  target: a\n")
    with pytest.raises(ConfigError, match="unknown key 'chanel'") as raised:
        profiles.get("new")
    assert not isinstance(raised.value, UnknownProfileError)


def test_a_reader_sees_the_old_or_the_new_file_and_nothing_between(tmp_path: Path):
    path = tmp_path / "profiles.yaml"
    versions = ["".join(f"p{n}:\n- channel: bell\n  target: {v}\n" for n in range(9)) for v in "ab"]
    write_atomically(path, versions[0])
    profiles = profiles_at(path)
    writer = Thread(target=lambda: [write_atomically(path, versions[n % 2]) for n in range(40)])
    writer.start()
    seen = set()
    while writer.is_alive():
        seen.add(tuple(profile.entries[0].target for profile in profiles.all()))
        assert profiles.problem is None
    writer.join()
    assert seen <= {("a",) * 9, ("b",) * 9}


# --- defaults and limits of an entry

LIMITED = """\
ops:
  - {channel: bell, target: a, priority: high, mention: ["@here"], min_priority: 3, silent_below: low}
  - {channel: horn, target: b, without: [actions, mention], on_resolve: edit, unable: skip}
"""


def entries(write: Write) -> tuple[ProfileEntry, ...]:
    return write(LIMITED).get("ops").entries


def test_an_entry_gives_defaults_that_a_message_overrides(write: Write):
    bell, _ = entries(write)
    assert bell.adapt({"title": "T"}) == {"title": "T", "priority": 4, "mention": ["@here"]}
    assert bell.adapt({"priority": 5})["priority"] == 5


def test_a_message_below_the_least_priority_is_skipped_with_the_reason(write: Write):
    bell, horn = entries(write)
    assert mentions(bell.skips({"priority": "low"}), "2", "min_priority 3")
    assert [bell.skips({}), horn.skips({"priority": 1})] == ["", ""]


def test_fields_that_a_target_does_not_want_are_left_out(write: Write):
    _, horn = entries(write)
    assert horn.adapt({"title": "T", "mention": ["@here"], "actions": []}) == {"title": "T", "unable": "skip"}


def test_an_entry_with_degrade_leaves_out_what_its_channel_refuses(tmp_path: Path):
    path = tmp_path / "profiles.yaml"
    path.write_text(
        "ops:\n"
        "  - {channel: bell, target: a, degrade: true, without: [actions]}\n"
        "  - {channel: bell, target: b, degrade: false}\n"
        "  - {channel: horn, target: c, degrade: true}\n"
    )
    profiles = Profiles(path, known_kind, {"bell": ("attach",), "horn": ()}.__getitem__)
    content = {"title": "T", "attach": [{"name": "a.txt"}], "actions": []}
    found = [sorted(entry.adapt(content)) for entry in profiles.get("ops").entries]
    assert found == [["title"], ["actions", "attach", "title"], ["actions", "attach", "title"]]


def test_the_end_of_a_problem_edits_where_the_entry_says_so(write: Write):
    bell, horn = entries(write)
    assert "key" not in bell.adapt({"key": "disk"}, "message")
    assert horn.adapt({"key": "disk"}, "message")["key"] == "disk"
    assert bell.adapt({"key": "disk"}, "edit")["key"] == "disk"


@pytest.mark.parametrize(
    "wrong",
    ["min_priority: 9", "without: [colour]", "on_resolve: maybe", "type: panic", "loud: true", "degrade: maybe"],
)
def test_a_wrong_option_of_an_entry_is_refused_with_its_place(write: Write, wrong: str):
    profiles = write(f"ops:\n  - {{channel: bell, target: a, {wrong}}}\n")
    assert profiles.all() == ()
    assert profiles.problem is not None
    assert mentions(str(profiles.problem), ":2:", wrong.partition(":")[0])


# --- targets that are added


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'ops:\n  - channel: email\n    target: "a@example.org"\n'),
        ("# mine\nb: [{channel: email, target: b@c.de}]\n", None),
        ("ops: # on call\n- channel: email\n  target: b@c.de # Ben\n", None),
        ("ops:\n    # Ben\n    -   target: b@c.de\n        channel: email\n", None),
    ],
)
def test_an_added_target_leaves_the_rest_of_the_file_as_it_is(write: Write, before: str, after: str | None):
    profiles = write(before)
    profiles.add("ops", "email", "a@example.org")
    text = profiles.path.read_text()
    assert after is None or text == after
    assert all(line in text for line in before.splitlines())
    assert ("email", "a@example.org") in {(each.channel, each.target) for each in profiles.get("ops").entries}
    profiles.add("ops", "email", "a@example.org")
    assert profiles.path.read_text() == text, "it is not added twice"


def test_a_profile_of_another_form_is_not_edited_and_the_line_to_add_is_named(write: Write):
    profiles = write("ops: [{channel: email, target: b@c.de}]\n")
    with pytest.raises(ConfigError, match=r"\bops\b") as refused:
        profiles.add("ops", "email", "a@example.org")
    assert '{channel: email, target: "a@example.org"}' in refused.value.hint
    assert profiles.path.read_text() == "ops: [{channel: email, target: b@c.de}]\n"
