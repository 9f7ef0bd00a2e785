"""audit tail, search and verify."""

import json
from dataclasses import fields

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions

from tocsin.core.audit.record import AuditRecord


@pytest.fixture
def used(cli: Cli) -> Cli:
    """A data directory with three entries."""
    for channel in ("first", "second", "third"):
        cli("send", channel, "somewhere", "hello")
    return cli


def test_without_a_log_there_is_nothing_to_show_and_nothing_wrong(cli: Cli):
    assert cli("audit", "tail", "--json").json() == []
    assert cli("audit", "search", "x", "--json").json() == []
    done = cli("audit", "verify", "--json")
    assert (done.code, done.json()["ok"]) == (0, True)
    assert not cli.data_dir.exists()


def test_tail_shows_the_newest_entry_next_to_the_prompt(used: Cli):
    lines = used.process("audit", "tail").out.splitlines()
    assert lines[0].split() == ["time", "action", "source", "detail"]
    assert ["first" in lines[1], "second" in lines[2], "third" in lines[3]] == [True, True, True]


def test_tail_shows_as_many_as_asked_for(used: Cli):
    assert len(used("audit", "tail", "-n", "2", "--json").json()) == 2
    assert len(used("audit", "tail", "--limit", "1", "--json").json()) == 1


def test_tail_as_json_has_the_records_of_the_rest_api_the_newest_first(used: Cli):
    newest, earlier = used("audit", "tail", "--json", "-n", "2").json()
    assert set(newest) == {field.name for field in fields(AuditRecord)}
    assert (newest["action"], newest["source"], newest["metadata"]["channel"]) == ("msg.send", "cli", "third")
    assert (newest["id"], newest["outcome"], newest["prev_hash"]) == ("3", "error", earlier["hash"])
    assert earlier["prev_hash"] == used("audit", "search", "first", "--json").json()[0]["hash"]


def test_search_finds_a_text_in_any_letter_case(used: Cli):
    (found,) = used("audit", "search", "SECOND", "--json").json()
    assert found["metadata"]["channel"] == "second"
    assert used("audit", "search", "nowhere to be found").out.splitlines()[1:] == []


def test_verify_says_that_all_is_well(used: Cli):
    done = used("audit", "verify")
    assert (done.code, done.out.split()[:2]) == (0, ["ok:", "3"])


def edit(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace("second", "nobody"), lines[2]]


def remove(lines: list[str]) -> list[str]:
    return [lines[0], lines[2]]


def cut(lines: list[str]) -> list[str]:
    return lines[:2]


def insert(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[1].replace("second", "nobody"), lines[2]]


@pytest.mark.parametrize("tamper", [edit, remove, cut, insert])
def test_verify_of_a_log_that_was_tampered_with_is_exit_code_1_and_names_the_place(used: Cli, tamper):
    path = used.data_dir / "audit.log"
    path.write_text("".join(tamper(path.read_text().splitlines(keepends=True))))
    done = used("audit", "verify")
    assert done.code == 1
    assert f"{path} failed verification" in done.err
    assert len(done.out.splitlines()) > 1
    document = used("audit", "verify", "--json")
    assert (document.code, document.json()["ok"]) == (1, False)
    assert document.json()["problems"]


def test_a_log_that_cannot_be_read_is_a_sentence(cli: Cli):
    (cli.data_dir / "audit.log").mkdir(parents=True)
    for command in ("tail", "verify"):
        done = cli("audit", command)
        assert done.code == 1
        assert mentions(done.err, cli.data_dir / "audit.log", "Is a directory")


def test_what_a_stranger_wrote_into_an_entry_cannot_drive_the_terminal(cli: Cli):
    cli("send", "\x1b]0;pwned\x07\x9b31m\u202e", "some\x1b[2Jwhere\nforged  line", "hello")
    done = cli("audit", "tail")
    assert len(done.out.splitlines()) == 2
    assert not set("\x1b\x07\x9b\u202e") & set(done.out)
    assert "\\u001b" in done.out
    assert not set("\x1b\x07\x9b\u202e") & set(cli("audit", "tail", "--json").out)


def test_a_message_that_went_out_is_reported_as_sent_although_the_log_cannot_be_written(cli: Cli):
    (cli.data_dir / "audit.log").mkdir(parents=True)
    done = cli("send", "bogus", "x", "hello", "--json")
    assert json.loads(done.out)["error"].startswith("Unknown channel")
    assert "an audit entry was lost" in done.err
    assert "Is a directory" in done.err


def test_verify_compares_with_an_anchor_that_was_noted_elsewhere(used: Cli):
    noted = used("audit", "verify", "--json").json()
    anchor = f"{noted['last']}:{noted['last_hash']}"
    assert used("audit", "verify", "--anchor", anchor).code == 0
    other = used("audit", "verify", "--anchor", f"{noted['last']}:{'0' * 64}", "--json")
    assert other.code == 1
    [problem] = other.json()["problems"]
    assert (problem["line"], problem["file"], "3" in problem["reason"]) == (0, "audit.log", True)


def test_verify_compares_with_the_file_of_anchors(used: Cli):
    anchors = used.data_dir / "anchors"
    anchors.write_text(f"2026-11-22T00:00:00Z 2 {'0' * 64}\n")
    done = used("audit", "verify", env={"AUDIT_ANCHOR": str(anchors)})
    assert done.code == 1
    assert "2" in done.out


def test_a_file_of_anchors_that_cannot_be_read_is_a_finding_once_something_was_noted(used: Cli):
    missing = used.home / "not-mounted" / "anchors"
    assert used("audit", "verify", env={"AUDIT_ANCHOR": str(missing)}).code == 0
    noted = used("audit", "verify", "--json").json()
    line = f"2026-11-22T00:00:00Z {noted['last']} {noted['last_hash']}\n"
    (used.data_dir / "audit.anchored").write_text(line)
    done = used("audit", "verify", env={"AUDIT_ANCHOR": str(missing)})
    assert done.code == 1
    assert "No such file or directory" in done.out
    assert "failed verification" in done.err
    document = used("audit", "verify", "--json", env={"AUDIT_ANCHOR": str(missing)}).json()
    assert (document["ok"], document["problems"][0]["file"]) == (False, str(missing))
    missing.parent.mkdir()
    missing.write_text(line)
    assert used("audit", "verify", env={"AUDIT_ANCHOR": str(missing)}).code == 0


def test_an_anchor_that_is_none_is_wrong_usage(used: Cli):
    done = used("audit", "verify", "--anchor", "3")
    assert done.code == 2
    assert "--anchor" in done.err


def test_verify_names_the_rotated_file_with_the_place(used: Cli):
    path = used.data_dir / "audit.log"
    path.rename(f"{path}.1")
    used("send", "fourth", "somewhere", "hello")
    rotated = used.data_dir / "audit.log.1"
    rotated.write_text(rotated.read_text().replace("second", "nobody"))
    done = used("audit", "verify")
    assert done.code == 1
    assert done.out.splitlines()[1].split()[:2] == ["audit.log.1", "2"]


@pytest.mark.parametrize(("setting", "shown"), [("true", False), ("false", True)])
def test_secrets_are_masked_in_the_log_unless_that_is_switched_off(cli: Cli, setting: str, shown: bool):
    secret = "canary-made-up-0123456789"
    cli("send", "email", secret, "hello", env={"SMTP_PASS": secret, "AUDIT_REDACT": setting})
    text = (cli.data_dir / "audit.log").read_text()
    assert (secret in text) is shown
    assert ("[secret]" in text) is not shown
