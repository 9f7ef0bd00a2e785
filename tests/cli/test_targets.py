"""targets: names are listed, and secrets behind them are checked, without an address."""

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions

from tocsin.channels.webhook.standin import SECRET

URL = "https://ci.example.org/hook?token=canary-of-an-address"


def write(cli: Cli, text: str) -> None:
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "targets.yaml").write_text(text)


@pytest.fixture
def named(cli: Cli) -> Cli:
    write(cli, f'webhook:\n  ci: {{url: "{URL}", secret: "${{env.CI_SECRET}}"}}\n')
    return cli


def test_targets_are_listed_by_name_alone(named: Cli):
    done = named("targets", "list", "--json")
    assert (done.code, done.json()) == (0, [{"channel": "webhook", "name": "ci"}])
    assert "canary" not in named("targets", "list").out


def test_a_missing_secret_is_found_and_exit_code_1(named: Cli):
    done = named("targets", "check", "--json")
    assert (done.code, done.json()[0]["ok"]) == (1, False)
    assert mentions(done.json()[0]["error"], "${env.CI_SECRET}", "set CI_SECRET in")
    assert "canary" not in done.out + named("targets", "check").out


def test_targets_with_all_secrets_are_good(named: Cli):
    done = named("targets", "check", "--json", env={"CI_SECRET": SECRET})
    assert (done.code, done.json()) == (0, [{"channel": "webhook", "name": "ci", "ok": True, "error": ""}])


@pytest.mark.parametrize("command", ["list", "check"])
def test_a_mistake_is_exit_code_2_with_its_place(cli: Cli, command: str):
    write(cli, "webhook:\n  ci: {url: ftp://x.example, secret: '${vault:CI}'}\n")
    done = cli("targets", command)
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, "targets.yaml:2:13:", "not the address of a receiver")


def test_no_targets_are_no_error_and_the_file_is_named(cli: Cli):
    done = cli("targets", "list")
    assert (done.code, mentions(done.err, "no targets exist", "targets.yaml")) == (0, True)


def test_doctor_names_a_missing_secret_and_a_mistake(named: Cli):
    found = {each["subject"]: each for each in named("doctor", "--offline", "--json").json()["findings"]}
    assert found["targets"]["state"] == "error"
    assert mentions(found["targets"]["detail"], "webhook ci", "${env.CI_SECRET}")
    write(named, "webhok: {}\n")
    found = {each["subject"]: each for each in named("doctor", "--offline", "--json").json()["findings"]}
    assert mentions(found["targets"]["detail"], "targets.yaml:1:1", "webhook")


def test_a_channel_is_configured_by_its_targets(named: Cli):
    states = {each["channel"]: each for each in named("channels", "--json").json()}
    assert states["webhook"]["configured"] is True
    (named.data_dir / "targets.yaml").unlink()
    states = {each["channel"]: each for each in named("channels", "--json").json()}
    assert states["webhook"]["missing"] == ["webhook in targets.yaml"]
