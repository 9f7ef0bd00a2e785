"""`tocsin doors` at a terminal."""

import json

import pytest
from tests.cli.conftest import Cli, cli

from tocsin.core.text.redaction import MASK, Redactor
from tocsin.features.doors.protocols.catalogue import PROTOCOLS

__all__ = ["cli"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_address_is_printed_unmasked_with_what_to_paste_where(cli: Cli, protocol: str):
    cli.write_profiles("oncall:\n- {channel: telegram, target: '1'}\n")
    env = {"FRONT_DOOR_URL": "https://tocsin.example.org/front", "TELEGRAM_BOT_TOKEN": "1:a"}
    env |= {"SMTP_IN_HOST": "tocsin.example.org", "SMTP_IN_PORT": "2525"}
    root = "smtp://tocsin.example.org:2525" if protocol == "mail" else "https://tocsin.example.org/front"
    added = cli("doors", "add", "alerts", "--profile", "oncall", "--protocol", protocol, "--json", env=env)
    address = added.json()
    fields = {"name", "protocol", "profile", "token", "url", "base_url"}
    assert address.keys() == fields | {"slack": {"services_url"}, "apprise": {"apprise_url"}}.get(protocol, set())
    rotated = cli("doors", "rotate", "alerts", env=env)

    assert (added.code, rotated.code) == (0, 0)
    assert MASK not in added.out + rotated.out
    assert (address["protocol"], address["base_url"]) == (protocol, root)
    assert address["url"].startswith(root)
    assert rotated.out.splitlines()[0].startswith(root)
    assert rotated.out.count(":\n  ") >= 2  # products
    assert address["token"] not in rotated.out
    shown = cli("doors", "show", "alerts", "--json", env=env).out + cli("doors", "list", env=env).out
    assert address["token"] not in shown


def test_masking_would_hide_some_addresses():
    """The reason why `add` does not mask: the shapes of other products' secrets are those of our addresses."""
    address = "https://tocsin.example.org/api/webhooks/1234567890/abcdefghijklmnopqrstuvwxyz"
    assert MASK in Redactor()(json.dumps(address))


def test_fields_of_a_door_are_changed_without_a_new_address(cli: Cli):
    cli.write_profiles("oncall:\n- {channel: telegram, target: '1'}\n")
    env = {"TELEGRAM_BOT_TOKEN": "1:a"}
    cli("doors", "add", "alerts", "--profile", "oncall", "--from", "10.0.0.0/8", env=env)
    options = ("--severity", "warning", "--from", "", "--secret-vault", "HOOK")
    changed = cli("doors", "edit", "alerts", *options, "--json", env=env)
    secret = cli("doors", "edit", "alerts", "--secret", "-", env=env, stdin=b"from standard input")
    none = cli("doors", "edit", "alerts", "--no-secret", "--json", env=env)

    told = changed.json()
    assert (told["severity"], told["sources"], told["secret_name"]) == ("warning", [], "HOOK")
    assert (secret.code, secret.out) == (0, "changed alerts\n")
    assert none.json()["has_secret"] is False
    assert cli("doors", "edit", "alerts", env=env).code == 2
    assert cli("doors", "edit", "nobody", "--rate", "5", env=env).code == 1


def test_the_list_tells_of_rules_that_cannot_be_read(cli: Cli):
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "doors.yaml").write_text("- match: [\n")
    listed = cli("doors", "list")
    assert listed.code == 2
    assert "doors.yaml" in listed.err
