"""No secret is shown: not in an output, not in the audit log, not in a file, whatever providers send back."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.cli.test_serve import post

from tocsin_standins import Fault, StandinCluster

CANARIES = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-canary-example-teamchat",
    "BOTCHAT_BOT_TOKEN": "7000000001:AAcanaryEXAMPLEcanaryEXAMPLE_bot",
    "GUILDCHAT_BOT_TOKEN": "canary-example-guildchat.AbC.dEf",
    "SMTP_PASS": 'canary "example" päss/wörd+ & <mail>',
    "DASHBOARD_PASS": "canary example dashboard",
    "GATEWAY_TOKEN": "canary-example-gateway",
}
NETWORK = ("teamchat", "botchat", "guildchat", "email")
PROFILE = """\
everyone:
  - {channel: teamchat, target: "#ops"}
  - {channel: botchat, target: 1001}
  - {channel: guildchat, target: "100000000000000002"}
  - {channel: email, target: ops@example.org}
"""


def forms(secret: str) -> set[str]:
    """Return how a secret may look when it travels."""
    encoded = b64encode(secret.encode()).decode()
    return {secret, quote(secret), quote(secret, safe=""), encoded, encoded.rstrip("=")}


@pytest.fixture
def guarded(town: StandinCluster, tmp_path: Path) -> Iterator[Cli]:
    """The command with a canary in every secret variable; the stand-ins take them as right."""
    before = (town.teamchat.token, town.botchat.token, town.guildchat.token, town.mail.password)
    town.teamchat.token = CANARIES["TEAMCHAT_BOT_TOKEN"]
    town.botchat.token = CANARIES["BOTCHAT_BOT_TOKEN"]
    town.guildchat.token = CANARIES["GUILDCHAT_BOT_TOKEN"]
    town.mail.password = CANARIES["SMTP_PASS"]
    cli = Cli(tmp_path, {**town.environment(), **CANARIES})
    cli.write_profiles(PROFILE)
    yield cli
    town.teamchat.token, town.botchat.token, town.guildchat.token, town.mail.password = before


def echo(*names: str) -> str:
    """Return secrets in all forms, as a careless provider would write them into an answer."""
    return " ".join(form for name in names or CANARIES for form in sorted(forms(CANARIES[name])))


def faults(*names: str) -> dict[str, Fault]:
    """Return answers that repeat the secrets of `names`, or all of them."""
    token = CANARIES["TEAMCHAT_BOT_TOKEN"]
    return {
        "a page": Fault.html_200(f"<html>{echo(*names)}</html>"),
        "a bad gateway": Fault.status(502, f"<html>{echo(*names)}</html>"),
        "a refusal": Fault.status(403, f'{{"ok":false,"error":"{token}","message":"x"}}'),
        "a redirect": Fault.redirect(f"https://elsewhere.example/{quote(token)}"),
        "an error": Fault.error(50035, echo(*names)),
        "an error's code": Fault.error(token),
        "a missing scope": Fault.error("missing_scope", echo(*names)),
        "a lost answer": Fault.reset_after_accept(),
    }


def leaks(text: str) -> list[str]:
    return [name for name, secret in CANARIES.items() if any(form in text for form in forms(secret))]


def files_of(directory: Path) -> str:
    return "".join(path.read_bytes().decode(errors="replace") for path in directory.rglob("*") if path.is_file())


def assert_nothing_leaks(cli: Cli, *commands: tuple[str, ...]) -> None:
    for command in commands:
        done = cli(*command)
        assert leaks(done.out + done.err) == [], command
    assert leaks(files_of(cli.data_dir)) == []


def test_the_canaries_work(guarded: Cli, town: StandinCluster):
    assert guarded("notify", "everyone", "hello", "--json").json()["sent"] == 4


def test_no_command_shows_a_secret(guarded: Cli):
    assert_nothing_leaks(
        guarded,
        ("channels",),
        ("channels", "--json", "-v"),
        ("config", "show"),
        ("config", "show", "--all"),
        ("config", "show", "--json"),
        ("profiles", "-v"),
        ("doctor",),
        ("doctor", "--json", "-v"),
        ("init", "--json"),
        *(("test", channel) for channel in NETWORK),
        ("notify", "everyone", "hello"),
        ("-v", "notify", "everyone", "hello"),
        ("audit", "tail"),
        ("audit", "tail", "--json"),
        ("audit", "search", CANARIES["TEAMCHAT_BOT_TOKEN"]),
        ("audit", "verify"),
        ("completion", "bash"),
    )


@pytest.mark.parametrize("name", faults())
def test_no_secret_is_shown_when_the_providers_send_them_all_back(guarded: Cli, town: StandinCluster, name: str):
    for standin in (town.teamchat, town.guildchat):
        standin.faults.hold(faults()[name])
    # A server error would be tried again for seconds there.
    town.botchat.faults.hold(faults()["a page" if name == "a bad gateway" else name])
    words = echo("SMTP_PASS").encode("ascii", "ignore").decode()
    town.mail.faults.hold(Fault.error(f"535 5.7.8 bad: {words}").only("MAIL"))
    assert_nothing_leaks(
        guarded,
        ("-v", "notify", "everyone", "hello", "--json"),
        ("notify", "everyone", "hello"),
        ("test", "teamchat"),
        ("doctor", "-v"),
        ("audit", "tail", "--json"),
    )
    assert guarded.audit_log(), "nothing was tried"


def test_no_secret_is_in_the_log_or_an_answer_of_the_gateway(guarded: Cli, town: StandinCluster, free_port: int):
    env = {"GATEWAY_PORT": str(free_port)}
    with guarded.running("gateway", "-v", env=env) as child:
        before = wait_until_it_listens(child)
        answers = []
        for fault in faults("TEAMCHAT_BOT_TOKEN").values():
            town.teamchat.faults.push(fault)
            message = {"channel": "teamchat", "target": "#ops", "message": "hello"}
            answers.append(post(free_port, message, Authorization=f"Bearer {CANARIES['GATEWAY_TOKEN']}"))
            answers.append(post(free_port, message, Authorization="Bearer wrong"))
        _, out, err = end(child)
    assert [status for status, _ in answers[1::2]] == [401] * len(faults())
    assert leaks(f"{before} {answers} {out} {err}") == []
    assert leaks(files_of(guarded.data_dir)) == []


def test_a_plug_in_that_raises_its_secret_does_not_show_it(guarded: Cli, tmp_path: Path):
    module = """
from tocsin.channels.contract import ChannelSpec, OutboundAdapter
from tocsin.core.config.variables import Variable, password

SECRET = Variable("LOUD_SECRET", password, "", "A secret.", secret=True, required=True)

class Adapter(OutboundAdapter):
    spec = ChannelSpec(kind="loud", label="Loud", product="Loud", secrets=(SECRET,), target_format="any")

    async def deliver(self, part):
        raise ValueError(f"cannot send with {self.config[SECRET]}")

    probe = deliver
"""
    site = tmp_path / "site"
    info = site / "loud-1.0.0.dist-info"
    info.mkdir(parents=True)
    (site / "loud.py").write_text(module)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text("[tocsin.channels]\nloud = loud:Adapter\n")
    env = {"PYTHONPATH": str(site), "LOUD_SECRET": CANARIES["DASHBOARD_PASS"]}
    for options in ((), ("-v",), ("--json",)):
        done = guarded.shell(f"tocsin {' '.join(options)} send loud any hello", env=env)
        assert done.code == 1
        assert "cannot send with [secret]" in done.out + done.err
        assert leaks(done.out + done.err) == []
    assert leaks(files_of(guarded.data_dir)) == []
