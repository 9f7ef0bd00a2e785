"""doctor finds what is wrong, and names cause and fix."""

import os
import re
import socket
import sqlite3
import time
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests import ports
from tests.cli.conftest import Cli, Done, wait_until_it_listens
from tests.facts import mentions
from tests.http_calls import http_call

from tocsin.terminal.packages import NEEDED_PACKAGES
from tocsin_standins import Fault, StandinCluster

MAIL = {"SMTP_HOST": "127.0.0.1", "SMTP_USER": "ops@example.org", "SMTP_PASS": "made-up"}
LOGIN = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "a long made-up password"}


@pytest.fixture
def sound(cli: Cli, free_port: int) -> Cli:
    """An installation without anything to find."""
    return Cli(cli.home, {**LOGIN, "GATEWAY_PORT": str(free_port), "DASHBOARD_PORT": str(ports.free_port())})


def findings(done: Done, subject: str) -> list[dict[str, Any]]:
    return [finding for finding in done.json()["findings"] if finding["subject"] == subject]


def examine(cli: Cli, subject: str, *options: str, **env: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the one finding about `subject`."""
    done = cli("doctor", "--offline", "--json", *options, env=env)
    (finding,) = findings(done, subject)
    return done.code, finding


def test_a_sound_installation_is_exit_code_0_without_warning_or_error(sound: Cli):
    done = sound("doctor", "--offline", "--json")
    assert (done.code, done.json()["ok"]) == (0, True)
    assert {finding["state"] for finding in done.json()["findings"]} <= {"ok", "off"}
    assert sound.process("doctor", "--offline").out.splitlines()[0].split() == ["state", "subject", "finding"]


@pytest.mark.parametrize(("value", "words"), [("off", "REDIS_URL=off: "), ("", "REDIS_URL is not set: ")])
def test_a_bus_that_is_switched_off_is_told_from_one_that_is_not_set(sound: Cli, value: str, words: str):
    code, found = examine(sound, "bus", REDIS_URL=value)
    assert (code, found["state"]) == (0, "off")
    assert found["detail"].startswith(words)


def test_what_keeps_messages_waiting_is_a_warning(sound: Cli):
    wired = Cli(sound.home, {**sound.env, "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa"})
    assert wired("send", "teamchat", "#ops", "hello", "--queue").code == 0
    with closing(sqlite3.connect(wired.data_dir / "tocsin.db")) as database:
        database.execute("UPDATE deliveries SET status = 'retry_wait'")
        database.execute(
            "INSERT INTO pace (key, blocked_until, blocked_until_wall, reason) VALUES ('account|teamchat', ?, ?, ?)",
            [time.monotonic() + 3600, time.time() + 3600, "429: slow down"],
        )
        database.commit()
    done = wired("doctor", "--offline", "--json")
    warnings = [finding["detail"] for finding in findings(done, "queue") if finding["state"] == "warning"]
    assert warnings[0].startswith("1 ")
    assert warnings[1].startswith("Slack:")
    assert warnings[1].endswith(" UTC (429: slow down)")
    assert done.code == 0


def test_every_finding_has_state_subject_detail_and_fix(cli: Cli):
    for finding in cli("doctor", "--offline", "--json").json()["findings"]:
        assert list(finding) == ["state", "subject", "detail", "fix"]
        assert finding["state"] in {"ok", "warning", "error", "off"}
        assert finding["fix"] or finding["state"] in {"ok", "off"}


def test_each_problem_is_shown_with_its_fix_below_the_table(cli: Cli, free_port: int):
    out = cli("doctor", "--offline", env={"GATEWAY_PORT": str(free_port), "SMTP_PASS": "changeme"}).out
    shown = "\nwarning: security: SMTP_PASS has a common value\n  fix: choose a random one"
    assert shown in out


# --- the data directory


def test_a_data_directory_that_cannot_be_made_is_an_error(sound: Cli):
    (sound.home / "file").touch()
    code, finding = examine(sound, "data directory", TOCSIN_DATA_DIR=str(sound.home / "file" / "data"))
    assert (code, finding["state"]) == (1, "error")
    assert "cannot write" in finding["detail"]
    assert f"{sound.home}/file belongs to " in finding["detail"]
    assert "TOCSIN_DATA_DIR" in finding["fix"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_directory_without_the_right_to_write_is_an_error(sound: Cli):
    sound.data_dir.mkdir(mode=0o500)
    assert examine(sound, "data directory")[1]["state"] == "error"


def test_a_data_directory_that_anybody_can_write_to_is_an_error(sound: Cli):
    sound.data_dir.mkdir()
    sound.data_dir.chmod(0o777)
    code, finding = examine(sound, "data directory")
    assert (code, finding["state"], finding["fix"]) == (1, "error", f"chmod go-w {sound.data_dir}")


def test_a_data_directory_that_is_not_there_yet_is_fine_and_is_not_made(sound: Cli):
    code, finding = examine(sound, "data directory", TOCSIN_DATA_DIR=str(sound.home / "later"))
    assert (code, finding["state"]) == (0, "ok")
    assert not (sound.home / "later").exists()


# --- settings


def test_an_env_file_that_others_may_read_is_a_warning(sound: Cli):
    path = sound.home / ".env"
    path.write_text("SMTP_HOST=mail.example\n")
    path.chmod(0o644)
    code, finding = examine(sound, ".env")
    assert (code, finding["state"], finding["fix"]) == (0, "warning", f"chmod 600 {path}")
    path.chmod(0o600)
    assert examine(sound, ".env")[1]["state"] == "ok"


def test_a_misspelt_setting_is_named_with_the_one_that_was_meant(sound: Cli):
    path = sound.home / ".env"
    path.write_text("TEAMCHAT_BOT_TOKN=x\nSMTP_PASS_FILE=/x\nMY_OWN_VARIABLE=1\n")
    path.chmod(0o600)
    (path.parent / "x").touch()
    done = sound("doctor", "--offline", "--json", env={"SMTP_PASS": "made-up"})
    (misspelt,) = findings(done, "settings")
    assert misspelt["state"] == "warning"
    assert mentions(misspelt["detail"], f"{path}:1:", "TEAMCHAT_BOT_TOKN")
    assert "TEAMCHAT_BOT_TOKEN" in misspelt["fix"]


def test_a_misspelt_setting_of_the_environment_is_named_too(sound: Cli):
    code, finding = examine(sound, "settings", GATEWAY_PROT="8101")
    assert (code, finding["state"]) == (0, "warning")
    assert mentions(finding["detail"], "environment", "GATEWAY_PROT")


def test_a_malformed_setting_is_an_error_and_the_machine_is_still_examined(sound: Cli):
    code, finding = examine(sound, "settings", GATEWAY_PORT="gate")
    assert (code, finding["state"]) == (1, "error")
    assert mentions(finding["detail"], "GATEWAY_PORT", "'gate'")
    assert "1 to 65535" in finding["fix"]
    assert "python" in sound("doctor", "--offline", env={"GATEWAY_PORT": "gate"}).out


@pytest.mark.parametrize(
    ("env", "state", "words"),
    [
        ({"SMTP_PASS": "password"}, "warning", "a common value"),
        ({"DASHBOARD_PASS": "changeme"}, "warning", "a common value"),
        ({"ENVIRONMENT": "production"}, "warning", "FORCE_HTTPS"),
        ({"ENVIRONMENT": "production", "FORCE_HTTPS": "false"}, "warning", "DANGER"),
        ({"WEBHOOK_REQUIRE_SIGNATURE": "false"}, "warning", "DANGER"),
        ({"GATEWAY_HOST": "0.0.0.0"}, "error", "without a token"),
        ({"DASHBOARD_HOST": "0.0.0.0"}, "error", "without TLS"),
        ({"DASHBOARD_TLS_KEY": "/nonexistent/key.pem"}, "error", "DASHBOARD_TLS_CERT"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_weak_setting_is_found(sound: Cli, env: dict[str, str], state: str, words: str):
    code, finding = examine(sound, "security", **env)
    assert (code, finding["state"]) == (1 if state == "error" else 0, state)
    assert words in finding["detail"] + finding["fix"]


def test_a_profile_for_notifications_that_does_not_exist_is_an_error(sound: Cli):
    code, finding = examine(sound, "notifications", NOTIFY_PROFILE="oncall")
    assert (code, finding["state"]) == (1, "error")
    assert finding["detail"] == "NOTIFY_PROFILE cannot be used; Unknown profile: oncall"


# --- the port


def test_a_port_that_another_program_uses_is_an_error(sound: Cli):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        code, finding = examine(sound, "gateway", GATEWAY_PORT=port)
    assert (code, finding["state"]) == (1, "error")
    assert f"port {port}" in finding["detail"]
    assert "GATEWAY_PORT" in finding["fix"]


def test_a_gateway_of_another_data_directory_is_told_from_ones_own(sound: Cli, tmp_path: Path):
    port = sound.env["GATEWAY_PORT"]
    with sound.running("gateway", env={"TOCSIN_DATA_DIR": str(tmp_path / "other")}) as child:
        wait_until_it_listens(child)
        code, finding = examine(sound, "gateway")
        health = http_call(f"http://127.0.0.1:{port}/health").accepted().body.decode()
    assert (code, finding["state"]) == (1, "error")
    assert mentions(finding["detail"], f"port {port}", "Tocsin")
    assert str(tmp_path) not in health


@pytest.mark.parametrize("limit", [0, 40])
def test_a_disk_that_takes_nothing_more_is_an_error_of_directory_and_queue(sound: Cli, limit: int):
    assert sound("send", "email", "ops@example.org", "hello", "--queue", env=MAIL).code == 0
    done = sound.shell(f"ulimit -f {limit}; tocsin doctor --offline --json")
    assert done.code == 1
    assert [finding["state"] for finding in findings(done, "data directory")] == ["error"]
    if not limit:
        assert {finding["state"] for finding in findings(done, "queue")} == {"error"}


def test_a_gateway_that_runs_is_fine(sound: Cli):
    with sound.running("gateway") as child:
        wait_until_it_listens(child)
        code, finding = examine(sound, "gateway")
    assert (code, finding["state"]) == (0, "ok")
    assert "running on" in finding["detail"]


def test_the_port_of_a_dashboard_that_does_not_run_is_free(sound: Cli):
    code, finding = examine(sound, "dashboard")
    assert (code, finding["state"]) == (0, "ok")
    assert finding["detail"] == f"127.0.0.1 port {sound.env['DASHBOARD_PORT']} is free"


def test_a_dashboard_where_nobody_can_sign_in_is_off_with_what_to_set(sound: Cli):
    code, finding = examine(sound, "dashboard", DASHBOARD_PASS="")
    assert (code, finding["state"]) == (0, "off")
    assert "DASHBOARD_PASS" in finding["detail"]


def test_a_dashboard_that_runs_is_fine(sound: Cli):
    with sound.running("dashboard") as child:
        wait_until_it_listens(child)
        code, finding = examine(sound, "dashboard")
    assert (code, finding["state"]) == (0, "ok")
    assert mentions(finding["detail"], "127.0.0.1", sound.env["DASHBOARD_PORT"])


def test_a_dashboard_that_speaks_tls_is_fine(sound: Cli, tmp_path: Path):
    cert = trustme.CA().issue_cert("dashboard.example")
    cert.private_key_pem.write_to_path(tmp_path / "key.pem")
    cert.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    tls = {"DASHBOARD_TLS_CERT": str(tmp_path / "chain.pem"), "DASHBOARD_TLS_KEY": str(tmp_path / "key.pem")}
    with sound.running("dashboard", env=tls) as child:
        wait_until_it_listens(child)
        code, finding = examine(sound, "dashboard", **tls)
    assert (code, finding["state"]) == (0, "ok")


def test_a_port_of_the_dashboard_that_another_program_uses_is_an_error(sound: Cli):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        code, finding = examine(sound, "dashboard", DASHBOARD_PORT=port)
    assert (code, finding["state"]) == (1, "error")
    assert f"port {port}" in finding["detail"]
    assert "DASHBOARD_PORT" in finding["fix"]


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_an_address_in_brackets_is_the_address_that_services_listen_on(sound: Cli, host: str):
    found = sound("doctor", "--offline", "--json", env={"GATEWAY_HOST": host, "DASHBOARD_HOST": host})
    told = [findings(found, service)[0]["detail"] for service in ("gateway", "dashboard")]
    assert told == [f"::1 port {sound.env[name]} is free" for name in ("GATEWAY_PORT", "DASHBOARD_PORT")]


# --- packages


def test_every_required_package_is_looked_for():
    required = [line for line in metadata.requires("tocsin") or () if "extra ==" not in line]
    dists = {re.match(r"[\w.-]+", line)[0].replace("_", "-").lower() for line in required}
    modules = metadata.packages_distributions()
    looked_for = {
        dist.replace("_", "-").replace(".", "-").lower()
        for module in ("uvloop", *NEEDED_PACKAGES)
        for dist in modules[module.partition(".")[0]]
    }
    of_channels = {"aiosmtplib"}
    assert {dist.replace(".", "-") for dist in dists} <= looked_for | of_channels


def test_a_required_package_that_is_missing_is_a_finding_beside_the_others(sound: Cli, tmp_path: Path):
    sound.write_profiles('oncall: [{channel: email, target: "ops@example.org"}]\n')
    (sound.home / ".env").write_text("SMTP_HOST=127.0.0.1\n")
    for package, *subjects in (("ruamel.yaml", "profiles"), ("dotenv", "settings")):
        (tmp_path / "site").mkdir(exist_ok=True)
        (tmp_path / "site" / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
        done = sound.process("doctor", "--offline", "--json", env={"PYTHONPATH": str(tmp_path / "site")})
        assert done.code == 1
        (finding,) = findings(done, "package")[:1]
        assert (finding["state"], finding["detail"].split()[0]) == ("error", package)
        for subject in subjects:
            assert f"{package.partition('.')[0]}: package not installed" in findings(done, subject)[0]["detail"]


# --- files


def test_a_broken_profiles_file_is_an_error_with_its_line(sound: Cli):
    sound.write_profiles("oncall: 5\n")
    code, finding = examine(sound, "profiles")
    assert (code, finding["state"]) == (1, "error")
    assert "profiles.yaml:1:9" in finding["detail"]


def test_an_unknown_channel_in_a_profile_is_an_error(sound: Cli):
    sound.write_profiles('oncall: [{channel: teamcaht, target: "#ops"}]\n')
    code, finding = examine(sound, "profiles")
    assert (code, finding["state"]) == (1, "error")
    assert "teamchat" in finding["detail"]


def test_a_profile_of_a_channel_that_is_not_configured_is_an_error(sound: Cli):
    sound.write_profiles('oncall: [{channel: teamchat, target: "#ops"}]\n')
    _, finding = examine(sound, "profiles")
    assert finding["state"] == "error"
    assert mentions(finding["detail"], "profiles.yaml:1:20: oncall[0].channel:", "TEAMCHAT_BOT_TOKEN")


def test_good_profiles_are_counted(sound: Cli):
    sound.write_profiles('oncall: [{channel: teamchat, target: "#ops"}]\n')
    assert examine(sound, "profiles", TEAMCHAT_BOT_TOKEN="xoxb-1-made-up")[1]["state"] == "ok"


def test_an_audit_log_that_cannot_be_read_is_an_error(sound: Cli):
    (sound.data_dir / "audit.log").mkdir(parents=True)
    code, finding = examine(sound, "audit log")
    assert (code, finding["state"]) == (1, "error")


# --- channels


def doctored(town: StandinCluster, home: Path, port: int, **env: str) -> Cli:
    own = {**LOGIN, "GATEWAY_PORT": str(port), "DASHBOARD_PORT": str(ports.free_port())}
    return Cli(home, {**town.environment(), **own, **env})


def test_channels_that_work_are_fine(town: StandinCluster, tmp_path: Path, free_port: int):
    done = doctored(town, tmp_path, free_port)("doctor", "--json")
    assert done.code == 0, done.out
    for channel in ("teamchat", "botchat", "guildchat", "email"):
        (finding,) = findings(done, channel)
        assert (finding["state"], finding["detail"][:13]) == ("ok", "connected as ")
    assert town.recorder.of() == []


def test_a_wrong_token_is_an_error_with_its_remedy(town: StandinCluster, tmp_path: Path, free_port: int):
    token = "xoxb-100000000001-example-example-example"
    done = doctored(town, tmp_path, free_port, TEAMCHAT_BOT_TOKEN=token)("doctor", "--json")
    assert done.code == 1
    (finding,) = findings(done, "teamchat")
    assert finding["state"] == "error"
    assert mentions(finding["detail"], "invalid_auth", "TEAMCHAT_BOT_TOKEN")
    assert [item["state"] for item in findings(done, "botchat")] == ["ok"]


def test_a_token_of_an_unusual_shape_is_a_warning(town: StandinCluster, tmp_path: Path, free_port: int):
    done = doctored(town, tmp_path, free_port, TEAMCHAT_BOT_TOKEN="not-a-bot-token")("doctor", "--offline", "--json")
    shape, _ = findings(done, "teamchat")
    assert shape["state"] == "warning"
    assert "TEAMCHAT_BOT_TOKEN" in shape["detail"]
    assert "not-a-bot-token" not in done.out


def test_offline_asks_no_provider(town: StandinCluster, tmp_path: Path, free_port: int):
    before = town.teamchat.requests + town.botchat.requests + town.guildchat.requests
    done = doctored(town, tmp_path, free_port)("doctor", "--offline", "--json")
    assert done.code == 0
    assert town.teamchat.requests + town.botchat.requests + town.guildchat.requests == before
    assert [finding["detail"] for finding in findings(done, "teamchat")] == ["configured (not probed)"]


def test_a_provider_that_answers_with_a_page_does_not_disturb_the_other_findings(
    town: StandinCluster, tmp_path: Path, free_port: int
):
    town.guildchat.faults.push(Fault.html_200())
    done = doctored(town, tmp_path, free_port)("doctor", "--json")
    assert done.code == 1
    assert [finding["state"] for finding in findings(done, "guildchat")] == ["error"]
    assert [finding["state"] for finding in findings(done, "teamchat")] == ["ok"]


def test_files_that_waiting_messages_lack_and_those_that_no_message_needs_are_found(sound: Cli):
    wired = Cli(sound.home, {**sound.env, "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa"})
    path = sound.home / "df.log"
    path.write_bytes(b"x" * 2**20)
    assert wired("send", "teamchat", "#ops", "full", "--attach", str(path), "--queue").code == 0
    assert examine(wired, "files")[1]["detail"] == "1 file of messages, 1 of 2,000 MiB"
    _, found = examine(wired, "files", FILES_QUOTA_MB="1")
    assert (found["state"], mentions(found["fix"], "FILES_KEEP_DAYS", "FILES_QUOTA_MB")) == ("warning", True)
    [stored] = [each for each in (wired.data_dir / "files").glob("*/*") if each.is_file()]
    left = stored.with_name("0" * 64)
    stored.rename(left)
    missing, usual = findings(wired("doctor", "--offline", "--json"), "files")
    assert (missing["state"], mentions(missing["detail"], "1 file of waiting messages")) == ("error", True)
    assert "1 not needed any more" in usual["detail"]
