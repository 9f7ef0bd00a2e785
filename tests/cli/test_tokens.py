"""tokens create, list, revoke; dashboard hash-password."""

import pytest
from argon2 import PasswordHasher
from tests.cli.conftest import Cli

from tocsin.core.config.core_variables import DASHBOARD_PASS_HASH
from tocsin.core.config.settings import Settings


def test_a_token_is_printed_once_and_listed_without_its_value(cli: Cli):
    made = cli("tokens", "create", "backup", "--scope", "send", "--scope", "read")
    token = made.out.strip()
    assert token.startswith("tcs_")
    assert "is shown only now" in made.err
    assert token not in made.err
    listed = cli("tokens", "list")
    assert listed.out.splitlines()[1].split()[:3] == ["backup", "read", "send"]
    assert "never" in listed.out
    (document,) = cli("tokens", "list", "--json").json()
    assert (document["name"], document["scopes"], document["last_used_at"]) == ("backup", ["read", "send"], None)
    assert token not in listed.out + str(document)


def test_a_new_token_as_json_is_the_record_of_the_interface_with_the_token(cli: Cli):
    made = cli("tokens", "create", "backup", "--scope", "send", "--json").json()
    (listed,) = cli("tokens", "list", "--json").json()
    assert made.pop("token").startswith("tcs_")
    assert made == listed


@pytest.mark.parametrize(
    ("arguments", "warns"),
    [
        (("--scope", "read", "--scope", "send"), True),
        (("--scope", "read", "--scope", "send", "--profiles", "oncall"), False),
        (("--scope", "send"), False),
        (("--scope", "read"), False),
    ],
)
def test_a_token_that_reads_and_sends_to_any_target_is_warned_about(cli: Cli, arguments: tuple[str, ...], warns: bool):
    done = cli("tokens", "create", "agent", *arguments)
    assert ("can send what it reads to any target" in done.err) is warns


def test_a_token_names_the_only_profiles_it_sends_to_and_those_that_do_not_exist_are_named(cli: Cli):
    cli.write_profiles("oncall:\n- {channel: teamchat, target: '#ops'}\n")
    done = cli("tokens", "create", "agent", "--scope", "send", "--profiles", "oncall, nigthly", "--json")
    assert done.json()["profiles"] == ["oncall", "nigthly"]
    assert "No profile has this name yet: nigthly." in done.err
    assert "No profile" not in cli("tokens", "create", "other", "--scope", "send", "--profiles", "oncall").err


def test_a_revoked_token_is_gone_from_the_list_and_both_changes_are_in_the_audit_log(cli: Cli):
    assert cli("tokens", "create", "backup", "--scope", "admin", "--json").json()["name"] == "backup"
    assert cli("tokens", "revoke", "backup", "--yes").out == "revoked backup\n"
    assert cli("tokens", "list", "--json").json() == []
    assert [(e["action"], e["source"]) for e in cli.audit_log()] == [("token.create", "cli"), ("token.revoke", "cli")]


def test_wrong_use_is_told_in_a_sentence(cli: Cli):
    cli("tokens", "create", "backup", "--scope", "read")
    for arguments, code, sentence in [
        (("create", "backup", "--scope", "read"), 1, "a token named backup already exists"),
        (("create", "a b", "--scope", "read"), 2, "invalid token name"),
        (("create", "x", "--scope", "write"), 2, "--scope: 'write'"),
        (("create", "x"), 2, "required: --scope"),
        (("revoke", "nobody", "--yes"), 1, "unknown token: nobody"),
    ]:
        done = cli("tokens", *arguments)
        assert done.code == code
        assert sentence in done.err


def test_hash_password_prints_a_line_for_the_env_file_that_settings_take(cli: Cli):
    done = cli("dashboard", "hash-password", stdin="schöne grüße\n".encode())
    (cli.home / ".env").write_text(done.out)
    hashed = cli("dashboard", "hash-password", "--json", stdin="schöne grüße\n".encode()).json()["value"]
    settings = Settings.load(environ={}, env_file=cli.home / ".env")
    assert settings[DASHBOARD_PASS_HASH] != hashed, "each has a salt of its own"
    for each in (hashed, settings[DASHBOARD_PASS_HASH]):
        assert each.startswith("$argon2id$v=19$m=65536,t=3,p=1$")
        assert PasswordHasher().verify(each, "schöne grüße")


@pytest.mark.parametrize("lines", [b"one\ntwo", b"one\ntwo\n", b"one\r\ntwo\r\n", b"one\n\n"])
def test_a_password_of_several_lines_is_refused(cli: Cli, lines: bytes):
    done = cli("dashboard", "hash-password", stdin=lines)
    assert (done.code, done.out) == (2, "")


def test_an_empty_password_is_refused(cli: Cli):
    done = cli("dashboard", "hash-password", stdin=b"\n")
    assert (done.code, done.out) == (2, "")


def test_a_link_leads_to_where_the_dashboard_listens(cli: Cli):
    login = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "made up", "DASHBOARD_PORT": "8299"}
    made = cli("dashboard", "link", env={**login, "DASHBOARD_HOST": "::1"})
    assert made.out.startswith("http://[::1]:8299/login/link/")
    assert cli("dashboard", "link", "--json", env=login).json()["value"].startswith("http://127.0.0.1:8299/login/link/")
    refused = cli("dashboard", "link")
    assert (refused.code, "set DASHBOARD_USER and DASHBOARD_PASS" in refused.err) == (2, True)
