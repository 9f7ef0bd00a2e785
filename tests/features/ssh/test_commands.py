"""The commands on hosts, where the file of hosts has mistakes."""

import pytest
from tests.cli.conftest import Cli, cli
from tests.facts import mentions

__all__ = ["cli"]


@pytest.mark.parametrize("words", [("hosts",), ("groups",), ("health",), ("run", "--host", "web1", "uptime")])
def test_a_mistake_in_the_file_is_told_in_place_of_an_empty_list(cli: Cli, words: tuple[str, ...]):
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "ssh_hosts.yaml").write_text("hosts: [{name: web1, hostnam: 127.0.0.1}]\n")
    done = cli("ssh", *words)
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, "ssh_hosts.yaml:1:22", "hosts[0]", "'hostnam'", "'hostname'")
