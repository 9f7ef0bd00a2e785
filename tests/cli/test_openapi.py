"""tocsin openapi."""

from tests.cli.conftest import Cli


def test_the_document_of_the_rest_api_is_printed_and_nothing_is_started_or_written(cli: Cli):
    shown = cli("openapi")
    assert shown.code == 0
    assert shown.json()["openapi"].startswith("3.1")
    assert "/api/status" in shown.json()["paths"]
    assert cli("openapi", "--json").out == shown.out
    assert not cli.data_dir.exists()
