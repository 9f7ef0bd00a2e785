"""tocsin status."""

from tests.cli.conftest import Cli


def test_status_shows_ten_subsystems_and_the_document_has_them_too(cli: Cli):
    shown = cli("status")
    assert shown.code == 0
    assert "unconfigured  vault" in shown.out
    document = cli.process("status", "--json").json()
    assert len(document["subsystems"]) == 10
    assert {*document} >= {"status", "version", "checked_at", "timezone", "services", "runs", "attention", "next_runs"}


def test_what_needs_a_person_comes_first(cli: Cli):
    shown = cli("status", env={"DASHBOARD_PASS": "changeme", "DASHBOARD_USER": "ops"})
    assert shown.out.startswith("severity")
    assert "DASHBOARD_PASS" in shown.out.splitlines()[1]
