"""tocsin notifications."""

import json
import sqlite3
from contextlib import closing

from tests.cli.conftest import Cli


def keep(cli: Cli, *titles: str) -> None:
    """Keep notices as a feature would, in the table."""
    assert cli("notifications", "list").code == 0  # makes the tables
    assert cli("notifications", "read-all").code == 0
    with closing(sqlite3.connect(cli.data_dir / "tocsin.db")) as connection, connection:
        for number, title in enumerate(titles):
            connection.execute(
                "INSERT INTO notifications (id, title, body, level, category, source, link, dedupe_key, created_at,"
                " last_at, due) VALUES (?, ?, 'the text', 'error', 'cron', 'test', '', '', 4e9, 4e9, 0)",
                [f"0197f2d0-0000-7000-8000-{number:08x}0000", title],
            )


def test_notifications_are_listed_shown_read_and_deleted(cli: Cli):
    keep(cli, "backup failed", "disk full")
    listed = cli("notifications", "list", "--json").json()
    assert [each["title"] for each in listed] == ["disk full", "backup failed"]
    assert "backup failed" in cli.process("notifications", "list").out
    assert cli("notifications", "show", "00000001").out.endswith("\nthe text\n")
    assert cli("notifications", "unread", "--json").json()["count"] == 2
    assert cli("notifications", "read", "00000001").out == "disk full: read\n"
    assert cli("notifications", "unread").out.startswith("1 notification unread")
    assert cli("notifications", "read-all", "--category", "cron", "--json").json() == {"updated": 1}
    assert cli("notifications", "delete", "00000001", "--yes").code == 0
    assert [each["title"] for each in cli("notifications", "list", "--json").json()] == ["backup failed"]


def test_a_refused_question_keeps_the_notification_and_names_it(cli: Cli):
    keep(cli, "backup failed")
    done = cli("notifications", "delete", "00000000", stdin=b"n\n")
    assert (done.code, "'backup failed'? [y/N]" in done.err) == (1, True)
    assert [each["title"] for each in cli("notifications", "list", "--json").json()] == ["backup failed"]


def test_both_feeds_are_printed_whole(cli: Cli):
    keep(cli, "backup failed")
    assert [item["title"] for item in json.loads(cli("notifications", "feed").out)["items"]] == ["backup failed"]
    assert cli("notifications", "feed", "--format", "atom").out.startswith('<?xml version="1.0" encoding="utf-8"?>')
    assert cli("notifications", "feed", "--format", "atom", "--json").code == 2


def test_an_unknown_notification_is_exit_code_1_with_a_hint(cli: Cli):
    done = cli("notifications", "show", "ffff")
    assert done.code == 1
    assert "'ffff'" in done.err
    assert "`tocsin notifications list`" in done.err


def test_wrong_quiet_hours_stop_the_command_with_what_is_accepted(cli: Cli):
    done = cli("notifications", "list", env={"QUIET_HOURS": "at night"})
    assert done.code == 2
    assert "QUIET_HOURS" in done.err
    assert "22:00-07:00" in done.err
