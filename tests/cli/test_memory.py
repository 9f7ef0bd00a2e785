"""`tocsin memory`, as a person at a terminal and a program see it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path, {})


def test_an_entry_is_stored_found_deleted_and_restored(cli: Cli):
    assert cli("memory", "set", "office.wifi", "The guest network is Lighthouse", "--tag", "office").code == 0
    (item,) = cli("memory", "search", "guest network", "--json").json()
    assert item["entry"]["key"] == "office.wifi"
    assert item["snippet"]["matches"] == [[4, 9], [10, 17]]
    assert item["score"] == 1.0
    replaced = cli("memory", "set", "office.wifi", "Another")
    assert "tocsin memory restore office.wifi" in replaced.err
    assert cli("memory", "restore", "office.wifi").code == 0
    assert cli.process("memory", "get", "office.wifi").out == "The guest network is Lighthouse\n"
    gone = cli("memory", "delete", "office.wifi", "--yes")
    assert (gone.code, gone.out) == (0, "deleted office.wifi\n")
    assert "tocsin memory restore office.wifi" in gone.err
    done = cli("memory", "get", "office.wifi")
    assert (done.code, mentions(done.err, "'office.wifi'", "`tocsin memory search`")) == (1, True)
    assert cli("memory", "restore", "office.wifi").code == 0
    assert [entry["key"] for entry in cli("memory", "list", "--tag", "office", "--json").json()] == ["office.wifi"]


def test_get_prints_the_value_alone_and_everything_with_v(cli: Cli):
    value = "first line\n  second line"
    cli("memory", "set", "note", value)
    assert cli("memory", "get", "note").out == f"{value}\n"
    told = cli("memory", "get", "note", "-v").out
    assert told.endswith(f"\n\n{value}\n")
    assert any(line.split() == ["type", "fact"] for line in told.splitlines())


def test_what_can_never_be_right_is_exit_code_2_and_what_is_not_there_1(cli: Cli):
    reserved = cli("memory", "set", "stats", "x")
    assert (reserved.code, "the key 'stats' is reserved" in reserved.err) == (2, True)
    assert cli("memory", "set", "a", "x", "--importance", "2").code == 2
    assert cli.process("memory", "set", "a", "-", stdin=b"").code == 2
    assert cli("memory", "set", "a", "-", stdin=b"x" * 65_537).code == 2
    assert cli("memory", "search", "***").code == 2
    assert cli("memory", "search", "nowhere").code == 1


def test_a_value_comes_from_standard_input_and_goes_out_and_in_again_as_lines(cli: Cli, tmp_path: Path):
    assert cli("memory", "set", "a", "-", "--expires", "90d", stdin="two\nlines 東京\n".encode()).code == 0
    exported = cli("memory", "export").out
    assert json.loads(exported)["value"] == "two\nlines 東京"
    other = Cli(tmp_path / "other", {})
    other.home.mkdir()
    (other.home / "memory.jsonl").write_text(exported)
    assert other("memory", "import", "memory.jsonl").out.count("1 added, 0 ") == 1
    assert other("memory", "import", "-", stdin=exported.encode()).out.count("0 added, 0 replaced, 1 ") == 1
    assert _at_rest(other("memory", "export").out) == _at_rest(exported)


def _at_rest(line: str) -> dict[str, Any]:
    """Return an entry but for its strength, which fades from one second to the next."""
    return {key: value for key, value in json.loads(line).items() if key != "strength"}


def test_decay_shows_first_and_then_removes(cli: Cli):
    for key in ("a", "b"):
        entry = {"key": key, "value": "v", "half_life_days": 1, "last_accessed_at": "2020-01-01T00:00:00Z"}
        cli("memory", "import", "-", stdin=json.dumps(entry).encode())
    assert cli("memory", "pin", "b").code == 0
    assert cli("memory", "decay", "--dry-run").out.splitlines()[1:] == ["a"]
    assert cli("memory", "decay", "--json").json() == {
        "dry_run": False, "evaluated": 2, "fading": 0, "removed": 1, "removed_keys": ["a"],
    }  # fmt: skip
    stats = cli("memory", "stats", "--json").json()
    assert (stats["count"], stats["pinned"], stats["last_decay"]["removed"]) == (1, 1, 1)


def test_a_data_directory_that_is_a_file_is_called_so(cli: Cli):
    cli.data_dir.write_text("")
    done = cli("memory", "list")
    assert (done.code, mentions(done.err, f"{cli.data_dir} is not a directory", "choose another")) == (1, True)
