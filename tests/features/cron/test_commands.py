"""`tocsin cron` as a person at a terminal and a program use it."""

import os
import re
import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from tests.cli.conftest import Cli, cli
from tests.facts import mentions

__all__ = ["cli"]


def test_a_job_is_added_listed_run_and_its_run_is_in_the_logs(cli: Cli):
    done = cli("cron", "add", "greet", "0 9 * * 1-5", "echo hello", "--timezone", "Europe/Berlin")
    assert done.code == 0
    assert "added greet: At 09:00 on Monday through Friday, Europe/Berlin" in done.out
    [job] = cli("cron", "list", "--json").json()
    assert (job["name"], job["state"], job["next_run_at"] is None) == ("greet", "scheduled", False)
    assert cli.process("cron", "run", "greet").out == "hello\n"
    document = cli("cron", "logs", "greet", "--json").json()
    assert [(run["status"], run["trigger"]) for run in document["items"]] == [("succeeded", "manual")]
    started = datetime.fromisoformat(document["items"][0]["started_at"]).astimezone(ZoneInfo("Europe/Berlin"))
    assert f"  {started:%Y-%m-%d %H:%M:%S}  " in cli("cron", "logs", "greet").out
    assert f"  succeeded {started:%Y-%m-%d %H:%M}\n" in cli("cron", "list").out
    assert [line["text"] for line in document["log"]["lines"]] == ["hello"]
    assert [entry["action"] for entry in cli.audit_log()] == ["cron.add", "cron.execute"]


def test_next_tells_a_schedule_in_words_and_marks_clock_changes(cli: Cli):
    document = cli("cron", "next", "30 2 29 3 *", "--timezone", "Europe/Berlin", "-n", "20", "--json").json()
    assert document["schedule_text"] == "At 02:30 on March 29, Europe/Berlin"
    assert {run["note"] for run in document["next_runs"]} >= {None, "clock change: runs at 03:00"}


CRONTAB = """\
# nightly work
MAILTO=ops@example.org
SHELL=/bin/bash
PATH=/usr/local/bin:/usr/bin:/bin
COLOUR="dark red"
CRON_TZ=Europe/Berlin
0 3 * * * cd /srv && ./backup.sh --all
@daily find /tmp -name '*.old' -delete
5 4 * * 1 date +\\%F > /tmp/day
7 4 * * 1 mail -s hi%Hello there
@reboot /usr/bin/start
61 * * * * true
"""


MAIL = {"SMTP_HOST": "mail.example", "SMTP_USER": "ops@example.org", "SMTP_PASS": "made-up"}


def test_a_crontab_is_taken_over_as_cron_runs_it_and_what_is_not_is_told_with_its_line(cli: Cli):
    (cli.home / "crontab").write_text(CRONTAB)
    done = cli("cron", "import", "crontab", env=MAIL)
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[:4] == [
        "added backup.sh: 0 3 * * *",
        "added find: @daily",
        "added date: 5 4 * * 1",
        "added start: at start",
    ]
    assert lines[5:] == [
        "   7  0 3 * * * cd /srv && ./backup.sh --all",
        "   8  @daily find /tmp -name '*.old' -delete",
        "   9  5 4 * * 1 date +\\%F > /tmp/day",
        "  11  @reboot /usr/bin/start",
    ]
    for line, said in (
        (10, "not imported: an unescaped % passes the rest of the line to standard input"),
        (12, "not imported: minute 61 is outside 0-59"),
    ):
        assert f"crontab:{line}: {said}" in done.err
    jobs = {job["name"]: job for job in cli("cron", "list", "--json").json()}
    env = {"SHELL": "/bin/bash", "PATH": "/usr/local/bin:/usr/bin:/bin", "COLOUR": "dark red"}
    assert jobs["backup.sh"]["env"] == env
    assert jobs["backup.sh"]["timezone"] == "Europe/Berlin"
    assert jobs["date"]["command"] == "exec /bin/bash -c 'date +%F > /tmp/day'"
    for job in jobs.values():
        assert (job["working_dir"], job["output"]) == (str(cli.home), "email:ops@example.org")
        assert job["output_on"] == "output,failure"
    assert (jobs["start"]["schedule"], jobs["start"]["state"], jobs["start"]["next_run_at"]) == (
        "at start",
        "scheduled",
        None,
    )


def test_a_job_of_a_crontab_runs_with_its_shell_in_the_home_directory(cli: Cli):
    (cli.home / "crontab").write_text("SHELL=/bin/bash\n0 3 * * * echo $BASH_VERSION ${PWD/#$HOME/at home}\n")
    cli("cron", "import", "crontab")
    assert re.fullmatch(r"\d\S+ at home\n", cli("cron", "run", "echo").out)
    (cli.home / "there").mkdir()
    (cli.home / "crontab").write_text(f"HOME={cli.home}/there\n0 3 * * * pwd\n")
    cli("cron", "import", "crontab")
    assert cli("cron", "run", "pwd").out == f"{cli.home}/there\n"


@pytest.mark.parametrize(
    ("mailto", "output", "remark"),
    [
        ("ops@example.org", "email:ops@example.org", ""),
        ('""', None, ""),
        ("root", None, "MAILTO=root is not imported: not an address"),
        ("a@example.org,b@example.org", None, "is not imported: several recipients; create a profile"),
    ],
)
def test_the_recipient_of_a_crontab_is_the_output_of_its_jobs(cli: Cli, mailto: str, output: str | None, remark: str):
    (cli.home / "crontab").write_text(f"MAILTO={mailto}\n@daily df\n")
    done = cli("cron", "import", "crontab", "--json", env=MAIL)
    assert [job.get("output") for job in done.json()["jobs"]] == [output]
    assert [remark in each["detail"] for each in done.json()["remarks"]] == ([True] if remark else [])


def test_without_a_mail_server_a_job_of_a_crontab_is_added_without_its_recipient(cli: Cli):
    (cli.home / "crontab").write_text("MAILTO=ops@example.org\n@daily df\n")
    done = cli("cron", "import", "crontab", "--json")
    ((job,), (remark,)) = done.json()["jobs"], done.json()["remarks"]
    assert (done.code, job.get("output"), remark["line"], remark["lost"]) == (0, None, 2, False)
    assert "SMTP_PASS" in remark["detail"]
    (cli.home / "crontab").write_text("MAILTO=ops@example.org\n@hourly df\n")
    assert cli("cron", "import", "crontab", "--output", "nowhere", "--dry-run").code == 1


def test_the_lines_to_remove_are_told_again_and_not_for_a_dry_run(cli: Cli):
    crontab = b"0 9 * * * echo hi\n"
    assert "remove" not in cli("cron", "import", "-", "--dry-run", stdin=crontab).out
    for _ in range(2):
        told = cli("cron", "import", "-", stdin=crontab).out
        assert mentions(told, "remove", "crontab")
        assert told.endswith("   1  0 9 * * * echo hi\n")
    disabled = cli("cron", "import", "-", "--disabled", stdin=b"0 8 * * * df\n").out
    assert "enable" in disabled


def test_a_column_of_users_is_read_and_told(cli: Cli):
    (cli.home / "crontab").write_text("CRON_TZ=Asia/Tokyo\n17 * * * * root cd / && run-parts /etc/cron.hourly\n")
    done = cli("cron", "import", "crontab", "--user-column", "--dry-run", "--json")
    assert done.code == 0
    assert done.json() == {
        "jobs": [
            {
                "id": None,
                "line": 2,
                "name": "run-parts",
                "schedule": "17 * * * *",
                "timezone": "Asia/Tokyo",
                "command": "cd / && run-parts /etc/cron.hourly",
                "env": {},
                "working_dir": str(cli.home),
                "summary": "run-parts: 17 * * * *  cd / && run-parts /etc/cron.hourly",
            }
        ],
        "known": 0,
        "remarks": [{"line": 2, "detail": "the user root is ignored: jobs run as the user of Tocsin", "lost": False}],
    }


def test_what_an_import_adds_can_be_read_by_programs(cli: Cli):
    (cli.home / "crontab").write_text("CRON_TZ=Europe/Berlin\n0 3 * * * df\n61 * * * * up\n")
    done = cli("cron", "import", "crontab", "--json")
    (job,), (remark,) = done.json()["jobs"], done.json()["remarks"]
    assert (done.code, remark["line"], remark["lost"]) == (1, 3, True)
    assert (job["name"], job["schedule"], job["timezone"], job["line"]) == ("df", "0 3 * * *", "Europe/Berlin", 2)
    assert cli("cron", "show", job["id"], "--json").json()["command"] == job["command"] == "df"


def test_a_job_of_a_crontab_that_cannot_be_added_is_told_with_its_line(cli: Cli):
    (cli.home / "crontab").write_text("\nCRON_TZ=Nowhere/Land\n0 3 * * * df\n")
    done = cli("cron", "import", "crontab")
    assert done.code == 1
    assert "crontab:3" in done.err


def test_every_mistake_of_a_job_is_told_at_once(cli: Cli):
    done = cli("cron", "add", "bad\nname", "61 * * * *", "df", "--timeout", "99999", "--output-on", "never")
    assert done.code == 2
    for said in (
        "name: ",
        "not a valid name",
        "minute 61 is outside 0-59",
        "from 0 to 86400",
        "expected one or more of:",
    ):
        assert said in done.err
    assert cli("cron", "list", "--json").json() == []


def test_a_job_is_edited_disabled_enabled_and_removed(cli: Cli):
    assert cli("cron", "add", "--name", "a", "--schedule", "@daily", "--command", "true", "--tag", "x").code == 0
    assert cli("cron", "edit", "a", "--schedule", "@hourly", "--max-attempts", "3").code == 0
    job = cli("cron", "show", "a", "--json").json()
    assert (job["schedule"], job["retry"]["max_attempts"], len(job["next_runs"])) == ("@hourly", 3, 5)
    assert cli("cron", "disable", "a", "--reason", "moving").code == 0
    assert cli("cron", "list", "--state", "paused", "--json").json()[0]["paused_reason"] == "moving"
    assert cli("cron", "enable", "a").code == 0
    assert "a" in cli("cron", "upcoming", "--hours", "2").out
    assert cli("cron", "remove", "a", "--yes").code == 0
    assert cli("cron", "show", "a").code == 1
    assert cli("cron", "add", "a", "@daily").code == 2


def test_a_job_in_a_file_is_shown_with_its_source_and_cannot_be_edited(cli: Cli):
    folder = cli.data_dir / "cron.d"
    folder.mkdir(parents=True)
    (folder / "disk.yaml").write_text("schedule: '*/15 * * * *'\ncommand: df -h\n")
    [job] = cli("cron", "list", "--json").json()
    assert (job["name"], job["source"], job["file"]) == ("disk", "file", "disk.yaml")
    done = cli("cron", "edit", "disk", "--schedule", "@daily")
    assert done.code == 1
    assert "cron.d/disk.yaml" in done.err
    (folder / "disk.yaml").write_text("schedule: '61 * * * *'\ncomand: df -h\n")
    done = cli("cron", "list")
    assert "1:11: schedule: minute 61 is outside 0-59" in done.err
    assert "*/15 * * * *" in done.out
    assert cli("cron", "disable", "disk").code == 0


def test_a_command_removes_the_job_of_a_file_that_has_been_gone_for_seconds(cli: Cli):
    folder = cli.data_dir / "cron.d"
    folder.mkdir(parents=True)
    (folder / "disk.yaml").write_text("schedule: '@daily'\ncommand: df -h\n")
    assert [job["name"] for job in cli("cron", "list", "--json").json()] == ["disk"]
    (folder / "disk.yaml").unlink()
    earlier = time.time() - 60
    os.utime(folder, (earlier, earlier))
    assert cli("cron", "list", "--json").json() == []
    assert "cron.remove" in cli("audit", "tail").out


def test_output_to_an_unknown_place_is_refused(cli: Cli):
    done = cli("cron", "add", "a", "@daily", "true", "--output", "nobody")
    assert (done.code, "Unknown profile: nobody" in done.err) == (2, True)
    done = cli("cron", "add", "a", "@daily", "true", "--output", "slack")
    assert (done.code, "slack is a channel: write slack:TARGET" in done.err) == (2, True)


def test_a_word_that_is_no_policy_is_answered_with_those_that_are(cli: Cli):
    done = cli("cron", "add", "x", "@daily", "true", "--overlap", "never")
    assert (done.code, "skip, queue, parallel, replace" in done.err) == (2, True)


def test_colours_of_the_output_are_left_out_while_it_runs(cli: Cli):
    assert cli("cron", "add", "a", "@daily", r"printf '\033[31mred\033[0m\n'").code == 0
    assert cli("cron", "run", "a").out == "red\n"


def test_a_job_of_a_workflow_that_does_not_exist_is_added_with_a_warning(cli: Cli):
    done = cli("cron", "add", "a", "@daily", "nightly", "--type", "workflow")
    assert done.code == 0
    assert "'nightly'" in done.err


def test_a_crontab_that_is_taken_over_again_adds_only_what_is_new(cli: Cli):
    crontab = cli.home / "crontab"
    crontab.write_bytes(b"\xef\xbb\xbf0 9 * * * echo hi\n")
    assert cli("cron", "import", "crontab").code == 0
    crontab.write_text('MAILTO=""\nTZ=Asia/Tokyo\n0 9 * * * echo hi\nTZ=\n@daily df\n')
    done = cli("cron", "import", "crontab", "--json")
    found = done.json()
    assert [job["summary"] for job in found["jobs"]] == ["added echo-2: 0 9 * * *", "added df: @daily"]
    assert (found["known"], found["remarks"]) == (0, [])
    done = cli("cron", "import", "crontab")
    assert done.code == 0
    assert mentions(done.err, "0 jobs", "0 lines", "2 jobs")
    jobs = {job["name"]: job for job in cli("cron", "list", "--json").json()}
    assert jobs["echo-2"]["env"] == {"TZ": "Asia/Tokyo"}
    assert jobs["echo"]["timezone"] == jobs["echo-2"]["timezone"]


def test_the_list_names_the_mistake_in_a_file_and_ends_like_other_commands(cli: Cli):
    (cli.data_dir / "cron.d").mkdir(parents=True)
    (cli.data_dir / "cron.d" / "nightly.yaml").write_text("a: [b\n")
    done = cli("cron", "list")
    assert (done.code, "nightly.yaml:1:4" in done.err) == (2, True)
    assert "invalid" in done.out
