"""`tocsin cron` as a person at a terminal and a program use it."""

from tests.cli.conftest import Cli, cli

__all__ = ["cli"]


def test_a_job_is_added_listed_run_and_its_run_is_in_the_logs(cli: Cli):
    done = cli("cron", "add", "greet", "0 9 * * 1-5", "echo hello", "--timezone", "Europe/Berlin")
    assert done.code == 0
    assert "added greet: At 09:00 on Monday through Friday, Europe/Berlin" in done.out
    [job] = cli("cron", "list", "--json").json()
    assert (job["name"], job["state"], job["next_run_at"] is None) == ("greet", "scheduled", False)
    assert cli("cron", "run", "greet").out == "hello\n"
    document = cli("cron", "logs", "greet", "--json").json()
    assert [(run["status"], run["trigger"]) for run in document["items"]] == [("succeeded", "manual")]
    assert [line["text"] for line in document["log"]["lines"]] == ["hello"]
    assert [entry["action"] for entry in cli.audit_log()] == ["cron.add", "cron.execute"]


def test_next_tells_a_schedule_in_words_and_marks_clock_changes(cli: Cli):
    document = cli("cron", "next", "30 2 29 3 *", "--timezone", "Europe/Berlin", "-n", "20", "--json").json()
    assert document["schedule_text"] == "At 02:30 on March 29, Europe/Berlin"
    assert {run["note"] for run in document["next_runs"]} >= {None, "clock change: runs at 03:00"}
