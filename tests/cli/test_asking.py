"""What deletes asks first; a script answers with --yes, or by a pipe."""

import pytest
from tests.cli.conftest import Cli

# A command that makes something, one that deletes it, and one that fails without it.
DELETABLE = {
    "cron": (("add", "nightly", "0 3 * * *", "true"), ("remove", "nightly"), ("show", "nightly")),
    "memory": (("set", "wifi", "Lighthouse"), ("delete", "wifi"), ("get", "wifi")),
    "vault": (("set", "API_KEY"), ("delete", "API_KEY"), ("get", "API_KEY")),
}


@pytest.mark.parametrize("group", DELETABLE)
def test_deleting_takes_a_yes_and_without_an_answer_refuses(cli: Cli, group: str):
    make, delete, show = DELETABLE[group]
    if group == "vault":
        cli("vault", "init")
    assert cli(group, *make, stdin=b"a-value").code == 0
    unanswered = cli(group, *delete)
    assert (unanswered.code, "add --yes" in unanswered.err) == (2, True)
    declined = cli(group, *delete, "--json", stdin=b"n\n")
    assert (declined.code, declined.json()["code"], cli(group, *show).code) == (1, "declined", 0)
    assert cli(group, *delete, "--json", stdin=b"y\n").json()
    assert cli(group, *show).code == 1


def test_yes_deletes_without_a_question(cli: Cli):
    cli("memory", "set", "wifi", "Lighthouse")
    done = cli("memory", "delete", "wifi", "--yes")
    assert (done.code, "[y/N]" in done.err, cli("memory", "get", "wifi").code) == (0, False, 1)


def test_a_notification_a_task_job_and_a_token_are_not_deleted_without_a_yes(cli: Cli):
    cli("tokens", "create", "script", "--scope", "read")
    cli("jobs", "create", "Fix the login", "--command", "true")
    (job,) = cli("jobs", "list", "--json").json()
    assert (cli("tokens", "revoke", "script").code, cli("jobs", "delete", job["id"]).code) == (2, 2)
    assert [token["name"] for token in cli("tokens", "list", "--json").json()] == ["script"]
    assert [left["id"] for left in cli("jobs", "list", "--json").json()] == [job["id"]]
