"""`tocsin watchers` as a person at a terminal and a program use it."""

from tests.cli.conftest import Cli, cli
from tests.facts import mentions

__all__ = ["cli"]


def test_a_rule_is_written_tried_listed_shown_and_switched(cli: Cli):
    folder = cli.home / "in"
    folder.mkdir()
    (folder / "a.pdf").write_text("1")
    words = ("--path", str(folder), "--pattern", "*.pdf", "--command", 'echo "got $1 as $WATCH_EVENT"')
    assert cli("watchers", "new", "scans", *words).code == 0
    done = cli("watchers", "run", "scans", str(folder / "a.pdf"), "--event", "created")
    assert done.out == f"got {folder}/a.pdf as created\n"
    done = cli("watchers", "run", "scans", str(folder / "b.txt"))
    assert (done.code, "scans" in done.err) == (0, True)
    done = cli("watchers", "run", "scans", "/etc/passwd")
    assert (done.code, "folder" in done.err) == (2, True)
    [record] = cli("watchers", "list", "--json").json()
    assert (record["name"], record["state"], record["events_24h"]) == ("scans", "paused", 2)
    assert [each["type"] for each in cli("watchers", "show", "scans", "--json").json()["recent"]] == [
        "modified", "created",
    ]  # fmt: skip
    assert cli("watchers", "disable", "scans").out == "scans is disabled\n"
    assert cli("watchers", "enable", "scans", "--json").json()["enabled"] is True
    done = cli("watchers", "show", "scan")
    assert (done.code, mentions(done.err, "'scan'", "'scans'")) == (1, True)


def test_files_whose_last_run_failed_are_retried_from_the_command_line(cli: Cli):
    folder = cli.home / "in"
    folder.mkdir()
    assert cli("watchers", "new", "scans", "--path", str(folder), "--command", 'cat "$1/x"').code == 0
    assert "failed" in cli("watchers", "retry", "--failed").err
    (folder / "a").mkdir()
    failed = cli("watchers", "run", "scans", str(folder / "a"), "--json").json()
    done = cli("watchers", "retry", "--failed")
    assert (done.code, mentions(done.err, folder, "/a", "code 1")) == (1, True)
    (folder / "a" / "x").write_text("mended")
    [run] = cli("watchers", "retry", "scans", "--failed", "--json").json()
    assert (run["status"], run["params"]["path"], run["output"]["tail"]) == ("succeeded", f"{folder}/a", "mended")
    assert run["retry_of"] != failed["id"]
    assert cli("watchers", "retry", "scans").code == 2


def test_a_mistake_in_the_file_is_told_by_list(cli: Cli):
    assert "watchers" in cli("watchers", "list").err
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "watchers.yaml").write_text("- {name: a, path: /srv, comand: x}\n")
    done = cli("watchers", "list")
    assert (done.code, "'command'" in done.err) == (2, True)
    done = cli("watchers", "run", "a", "/srv/x")
    assert (done.code, "'command'" in done.err) == (2, True)


def test_the_list_names_a_folder_that_does_not_exist(cli: Cli):
    folder = cli.home / "in"
    assert cli("watchers", "new", "scans", "--path", str(folder), "--command", "true").code == 0
    [record] = cli("watchers", "list", "--json").json()
    assert (record["state"], mentions(record["error"], str(folder), "create it")) == ("error", True)
    folder.mkdir()
    [record] = cli("watchers", "list", "--json").json()
    assert (record["state"], mentions(record["error"], "`tocsin up`")) == ("paused", True)
