"""`tocsin import`: the configuration of another tool as profiles and doors."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, cli

from tocsin.core.errors import UnknownChannelError
from tocsin.features.doors.importing.formats import READERS
from tocsin.features.doors.importing.plan import ImportPlan
from tocsin.features.doors.protocols.catalogue import PROTOCOLS

__all__ = ["cli"]

CHANNELS = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example",
    "BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example",
    "SMTP_HOST": "127.0.0.1",
    "SMTP_USER": "alerts@example.org",
    "SMTP_PASS": "made up",
}
APPRISE = """\
# of the house
night=tgram://987654321:AA-a-secret-token/-100200300
mailto://user:a-secret-pass@example.org?to=ops@example.org
hue://192.0.2.1/a-secret-key
apprise://192.0.2.1/a-secret-key
syslog://a-secret
family = night
"""
APPRISE_YAML = """\
version: 1
urls:
  - slack://T1JHA2PS/a-secret/token/#ops:
      - tag: ops, night
  - url: tgram://987654321:AA-a-secret-token/1001
"""
ALERTMANAGER = """\
route: {receiver: On-Call}
receivers:
  - name: On-Call
    slack_configs: [{channel: '#ops', api_url: 'https://hooks.slack.com/services/a-secret'}]
    email_configs: [{to: 'ops@example.org, boss@example.org'}]
    pagerduty_configs: [{service_key: a-secret}]
  - name: nobody
"""
NTFY_SERVER = """\
base-url: https://ntfy.example.org
auth-access: ["phil:alerts:rw", "*:up*:write-only", "ben:news:ro"]
auth-tokens: ["phil:tk_a-secret"]
"""
NTFY_CLIENT = "default-host: https://ntfy.example.org\nsubscribe:\n  - {topic: backups, command: notify-send}\n"
MAILRISE = """\
configs:
  nas@mailrise.xyz:
    urls: ["slack://T1JHA2PS/a-secret/token/#ops"]
  "*@example.org":
    urls: ["slack://T1JHA2PS/a-secret/token/#any"]
smtp: {auth: {basic: {u: a-secret}}}
"""


class EveryAddress:
    """Channels that reach every service by its address, and have no targets of their own."""

    def find_target(self, channel: str, candidates: Sequence[str]) -> tuple[str, str]:
        raise UnknownChannelError(channel)

    def check_service(self, address: str) -> str:
        return "apprise"


def run(cli: Cli, tool: str, text: str, *options: str) -> tuple[dict, str]:
    file = cli.home / "oncall.conf"
    file.write_text(text)
    done = cli("import", tool, str(file), *options, "--json", env=CHANNELS)
    assert "a-secret" not in done.out + done.err
    return json.loads(done.out), done.err


def targets(document: dict) -> dict[str, list[str]]:
    return {name: [each["target"] for each in entries] for name, entries in document["profiles"].items()}


def services(document: dict) -> list[str]:
    return [each["name"].partition("-")[0] for each in document["targets"]]


def left_out(document: dict) -> list[str]:
    return [each["what"] for each in document["left_out"]]


def test_targets_of_apprise_become_profiles_by_tag(cli: Cli):
    found, said = run(cli, "apprise", APPRISE)
    [hue] = found["targets"]
    assert targets(found) == {"oncall": ["-100200300", "ops@example.org", hue["name"]], "night": ["-100200300"]}
    assert left_out(found) == ["line 7", "line 5, apprise://…", "line 6, syslog://…"]
    assert "an address of this machine" in said
    assert targets(run(cli, "apprise", APPRISE_YAML)[0]) == {
        "oncall": ["#ops", "1001"],
        "ops": ["#ops"],
        "night": ["#ops"],
    }


def test_receivers_of_alertmanager_become_doors_with_their_profiles(cli: Cli):
    found, _ = run(cli, "alertmanager", ALERTMANAGER, "--write")
    assert targets(found) == {"on-call": ["#ops", "ops@example.org", "boss@example.org"]}
    assert found["doors"] == [{"name": "on-call", "protocol": "alertmanager", "profile": "on-call"}]
    assert left_out(found) == ["On-Call: pagerduty_configs 1", "nobody"]
    [address] = found["addresses"]
    assert "/in/" in address["url"]
    assert [each["name"] for each in cli("doors", "list", "--json").json()] == ["on-call"]
    [profile] = cli("profiles", "--json", env=CHANNELS).json()
    assert len(profile["entries"]) == 3

    again, _ = run(cli, "alertmanager", ALERTMANAGER, "--write")
    assert (again["doors"], left_out(again)[-1]) == ([], "on-call")
    [profile] = cli("profiles", "--json", env=CHANNELS).json()
    assert len(profile["entries"]) == 3


def test_addresses_without_a_channel_of_their_own_go_to_the_vault(cli: Cli):
    first, said = run(cli, "apprise", APPRISE, "--write")
    assert ("vault init" in said, first["targets"]) == (True, [])
    assert targets(first) == {"oncall": ["-100200300", "ops@example.org"], "night": ["-100200300"]}

    assert cli("vault", "init").code == 0
    (cli.data_dir / "targets.yaml").write_text('apprise:\n  # mine\n  phone: "pover://a@b"\n')
    [hue] = run(cli, "apprise", APPRISE, "--write")[0]["targets"]
    [age] = cli("vault", "list", "--json").json()
    assert run(cli, "apprise", APPRISE, "--write")[0]["targets"] == [hue]

    assert cli("vault", "list", "--json").json() == [age]

    written = (cli.data_dir / "targets.yaml").read_text()
    assert written == f'apprise:\n  # mine\n  {hue["name"]}: "{hue["entry"]}"\n  phone: "pover://a@b"\n'
    name = hue["entry"].removeprefix("${vault:").removesuffix("}")
    assert cli("vault", "get", name).out.strip() == "hue://192.0.2.1/a-secret-key"
    kinds = [each["channel"] for each in cli("profiles", "--json", env=CHANNELS).json()[0]["entries"]]
    assert "apprise" in kinds


def test_pagerduty_receivers_are_targets_in_their_region_and_other_servers_are_left_out(cli: Cli):
    urls = ("", ", url: 'https://events.eu.pagerduty.com/v2/enqueue'", ", url: 'https://incidents.example.org'")
    configs = ", ".join(f"{{routing_key: {str(n) * 32}{url}}}" for n, url in enumerate(urls, start=1))
    assert cli("vault", "init").code == 0

    found, _ = run(cli, "alertmanager", f"receivers: [{{name: phones, pagerduty_configs: [{configs}]}}]", "--write")

    assert (services(found), left_out(found)) == (["pagerduty", "pagerduty"], ["phones: pagerduty_configs 3"])
    names = [each["entry"].removeprefix("${vault:").removesuffix("}") for each in found["targets"]]
    stored = [cli("vault", "get", name).out.strip() for name in names]
    assert stored == [f"pagerduty://{'1' * 32}@{'1' * 32}", f"pagerduty://{'2' * 32}@{'2' * 32}?region=eu"]


def test_receivers_of_alertmanager_with_an_address_of_apprise_are_targets(cli: Cli):
    receiver = "pushover_configs: [{user_key: u, token: a-secret}], opsgenie_configs: [{api_key_file: /etc/key}]"
    found, _ = run(cli, "alertmanager", f"receivers: [{{name: phones, {receiver}}}]")
    assert (services(found), left_out(found)) == (["pover"], ["phones: opsgenie_configs 1"])
    assert found["doors"] == [{"name": "phones", "protocol": "alertmanager", "profile": "phones"}]


@pytest.mark.parametrize(
    ("config", "service", "address"),
    [
        ("pushover_configs: [{user_key: u/1, token: t}]", "pover", "pover://u%2F1@t"),
        ("victorops_configs: [{api_key: k, routing_key: r}]", "splunk", "victorops://r@k"),
        ("opsgenie_configs: [{api_key: k}]", "opsgenie", "opsgenie://k"),
        ("opsgenie_configs: [{api_key: k, api_url: https://api.eu.opsgenie.com/}]", "", ""),
    ],
)
def test_the_addresses_of_receivers_are_those_that_apprise_reads(config: str, service: str, address: str):
    plan = ImportPlan(EveryAddress())
    READERS["alertmanager"](f"receivers: [{{name: phones, {config}}}]", Path("alertmanager.yml"), plan)
    assert [each.address for each in plan.services] == [address] * bool(address)
    if address:
        shown = f"import apprise; [found] = apprise.Apprise({address!r}); print(found.url())"
        told = subprocess.run([sys.executable, "-c", shown], check=True, capture_output=True, text=True)
        assert told.stdout.startswith(f"{service}://")
    assert bool(plan.left_out) is not bool(address)


def test_a_service_whose_name_begins_with_a_digit_goes_to_the_vault(cli: Cli):
    assert cli("vault", "init").code == 0
    found, _ = run(cli, "apprise", "oncall=46elks://user:a-secret@+15551234567/\n", "--write")
    assert (services(found), left_out(found)) == (["46elks"], [])


def test_nothing_is_stored_without_write(cli: Cli):
    run(cli, "alertmanager", ALERTMANAGER)
    assert cli("doors", "list", "--json").json() == []
    assert not (cli.data_dir / "profiles.yaml").exists()


@pytest.mark.parametrize(
    ("tool", "text", "doors", "missing"),
    [
        ("ntfy", NTFY_SERVER, ["alerts"], ["auth-access of *", "auth-tokens"]),
        ("ntfy", NTFY_CLIENT, ["backups"], ["subscribe: command"]),
        ("mailrise", MAILRISE, ["nas"], ["*@example.org", "smtp"]),
    ],
)
def test_what_is_not_taken_over_is_named(cli: Cli, tool: str, text: str, doors: list[str], missing: list[str]):
    (cli.data_dir).mkdir()
    (cli.data_dir / "profiles.yaml").write_text("oncall: [{channel: email, target: ops@example.org}]\n")
    found, _ = run(cli, tool, text, "--profile", "oncall")
    protocol = {"mailrise": "mail"}.get(tool, tool)
    assert [each["name"] for each in found["doors"]] == (doors if protocol in PROTOCOLS else [])
    assert left_out(found)[: len(missing)] == missing


@pytest.mark.parametrize(("text", "said"), [("- a", "is not a mapping"), ("a: [", "1:5")])
def test_a_broken_file_is_refused_with_its_place(cli: Cli, tmp_path: Path, text: str, said: str):
    file = tmp_path / "broken.yml"
    file.write_text(text)
    done = cli("import", "alertmanager", str(file))
    assert done.code != 0
    assert said in done.err
    assert cli("import", "ntfy", str(tmp_path / "none")).code != 0
