"""`tocsin heartbeats` as a person at a terminal and a program use it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, cli
from tests.features.heartbeats.healthchecks_api import FULL_KEY, READ_ONLY_KEY, check, healthchecks

__all__ = ["cli"]

SOME = [
    check("Nightly", 1, schedule="0 3 * * *", tz="Europe/Berlin", grace=1800, tags="backup db", desc="dumps"),
    check("sensor", 2, timeout=300, grace=60),
    check("systemd", 3, schedule="Mon *-*-* 03:00", tz="UTC"),
]


def test_a_heartbeat_is_added_listed_changed_paused_resumed_and_removed(cli: Cli):
    added = cli("heartbeats", "add", "nightly", "--schedule", "0 3 * * *", "--timezone", "Europe/Berlin", "--tag", "db")
    assert (added.code, added.out) == (0, "added nightly\n")
    [record] = cli("heartbeats", "list", "--json").json()
    assert (record["state"], record["schedule_text"]) == ("new", "At 03:00 every day, Europe/Berlin")
    assert cli("heartbeats", "edit", "nightly", "--grace", "1h", "--name", "backup").code == 0
    assert cli("heartbeats", "pause", "backup").out == "paused backup\n"
    assert [each["state"] for each in cli("heartbeats", "list", "--state", "paused", "--json").json()] == ["paused"]
    assert cli("heartbeats", "resume", "backup").code == 0
    assert "3600" in cli("heartbeats", "show", "backup").out
    assert cli("heartbeats", "remove", "backup", "--yes").out == "removed backup\n"
    assert cli("heartbeats", "list", "--json").json() == []
    words = ("create", "edit", "pause", "resume", "delete")
    assert [entry["action"] for entry in cli.audit_log()] == [f"heartbeat.{word}" for word in words]


def test_a_period_is_shown_in_words(cli: Cli):
    assert cli("heartbeats", "add", "sensor", "--period", "2h").code == 0
    assert cli("heartbeats", "show", "sensor", "--json").json()["schedule_text"] == "Every 2 hours"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nightyl"), "nightly"),
        (("add", "nightly", "--period", "1d"), "already exists"),
        (("add", "other", "--period", "1s"), "period"),
        (("edit", "nightly"), "no changes"),
        (("resume", "nightly"), "not paused"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(cli: Cli, arguments: tuple[str, ...], said: str):
    cli("heartbeats", "add", "nightly", "--period", "1d")
    done = cli("heartbeats", *arguments)
    assert (done.code != 0, said in done.err) == (True, True)


def test_url_prints_addresses_with_lines_for_each_place(cli: Cli):
    cli("heartbeats", "add", "nightly", "--period", "1d")
    done = cli("heartbeats", "url", "nightly", env={"FRONT_DOOR_URL": "https://tocsin.example.org"})
    url = done.out.splitlines()[0]
    assert url.startswith("https://tocsin.example.org/ping/")
    for title in ("crontab", "shell script", "systemd", "PowerShell", "Kubernetes"):
        assert f"# {title}" in done.out
    assert done.out.count(url) >= 7
    assert "/api/push/" in done.out
    assert url.split("/")[-1] not in str(cli.audit_log())


@pytest.mark.parametrize(
    ("expected", "schedule"),
    [
        (("--schedule", "*/10 6-18 * * 1-5"), "*/10 6-18 * * 1-5"),
        (("--period", "5m"), "* * * * *"),
        (("--period", "2h"), "0 * * * *"),
        (("--period", "1d"), "0 3 * * *"),
    ],
)
def test_the_crontab_line_runs_the_job_when_it_is_expected(cli: Cli, expected: tuple[str, str], schedule: str):
    cli("heartbeats", "add", "job", *expected)
    assert cli("heartbeats", "url", "job", "--for", "cron").out.startswith(f"{schedule} /usr/local/bin/job; curl ")


@pytest.mark.parametrize("status", [0, 3])
def test_the_lines_for_a_shell_report_what_the_job_returned(cli: Cli, tmp_path: Path, status: int):
    cli("heartbeats", "add", "job", "--period", "1d")
    lines = cli("heartbeats", "url", "job", "--for", "shell").out
    bin_dir, calls = tmp_path / "bin", tmp_path / "calls"
    bin_dir.mkdir()
    (bin_dir / "curl").write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    (bin_dir / "job").write_text(f"#!/bin/sh\necho done\nexit {status}\n")
    for each in bin_dir.iterdir():
        each.chmod(0o755)
    script = lines.replace("/usr/local/bin/job", str(bin_dir / "job"))
    env = {"PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([shutil.which("sh") or "sh", "-c", script], env=env, check=True)
    start, end = calls.read_text().splitlines()
    assert "/start?rid=" in start
    assert f"/{status}?rid={start.rpartition('=')[2]}" in end


def test_keys_and_addresses_can_be_replaced(cli: Cli):
    cli("heartbeats", "add", "job", "--period", "1d")
    before = cli("heartbeats", "url", "job", "--json").json()
    assert before["badge_url"] is None
    assert cli("heartbeats", "new-address", "job").code == 0
    for key in ("ping", "badge"):
        assert cli("heartbeats", "new-key", key).code == 0
    after = cli("heartbeats", "url", "job", "--json").json()
    assert all(before[name] != after[name] for name in before)
    assert "/badge/" in after["badge_url"]


def test_log_says_so_if_no_ping_had_a_body(cli: Cli):
    cli("heartbeats", "add", "job", "--period", "1d")
    done = cli("heartbeats", "log", "job")
    assert (done.code, "no ping with a body" in done.err) == (0, True)


def test_checks_of_healthchecks_are_taken_over_with_their_addresses(cli: Cli):
    with healthchecks(SOME) as url:
        done = cli("heartbeats", "import", "--url", url, stdin=FULL_KEY.encode())
        again = cli("heartbeats", "import", "--url", url, stdin=FULL_KEY.encode())
    assert (done.code, "imported 2 heartbeats" in done.out) == (1, True)
    assert "systemd" in done.err
    assert "2 heartbeats with the same name already exist" in again.out
    nightly, sensor = cli("heartbeats", "list", "--json").json()
    assert (nightly["schedule"], nightly["timezone"], nightly["grace"]) == ("0 3 * * *", "Europe/Berlin", 1800)
    assert (nightly["tags"], nightly["description"], sensor["period"]) == (["backup", "db"], "dumps", 300)
    assert SOME[0]["uuid"] in cli("heartbeats", "url", "nightly").out


def test_a_read_only_key_takes_over_checks_with_new_addresses(cli: Cli):
    with healthchecks(SOME[:2]) as url:
        assert cli("heartbeats", "import", "--url", url, stdin=READ_ONLY_KEY.encode()).code == 0
    assert SOME[0]["uuid"] not in cli("heartbeats", "url", "nightly").out


def test_a_dry_run_of_an_import_stores_nothing(cli: Cli):
    with healthchecks(SOME[:2]) as url:
        done = cli("heartbeats", "import", "--url", url, "--dry-run", stdin=FULL_KEY.encode())
    assert (done.code, "would import 2 heartbeats" in done.out) == (0, True)
    assert cli("heartbeats", "list", "--json").json() == []


@pytest.mark.parametrize(("path", "key", "said"), [("", "wrong", "API key"), ("/elsewhere", FULL_KEY, "--url")])
def test_an_import_says_why_it_failed(cli: Cli, path: str, key: str, said: str):
    with healthchecks(SOME) as url:
        done = cli("heartbeats", "import", "--url", f"{url}{path}", stdin=key.encode())
    assert (done.code, said in done.err, key in done.err + done.out) == (2, True, False)


def test_the_list_names_the_mistake_in_the_file_and_ends_like_other_commands(cli: Cli):
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "heartbeats.yaml").write_text("a: [b\n")
    done = cli("heartbeats", "list")
    assert (done.code, "heartbeats.yaml:1:4" in done.err) == (2, True)
