"""ssh_hosts.yaml, groups, and the configuration of ssh."""

from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.ssh.conftest import Site, open_site

from tocsin.core.errors import ConfigError
from tocsin.core.records.as_json import to_json
from tocsin.features.ssh.inventory import Inventory
from tocsin.features.ssh.model import SshGroup, UnknownHostError


def problem_of(tmp_path: Path, text: str) -> str:
    (tmp_path / "ssh_hosts.yaml").write_text(text)
    return str(Inventory(tmp_path / "ssh_hosts.yaml", tmp_path / "config").problem)


async def test_hosts_of_the_file_are_merged_over_those_of_the_configuration_of_ssh(site: Site, tmp_path: Path):
    (site.data_dir / "more").write_text("Host included\n  HostName 10.0.0.9\n")
    (site.data_dir / "config").write_text(
        f'Include "{site.data_dir}/more"\n'
        "Host web old *.example.org !not\n  HostName 10.0.0.1\n  Port 2200\n  User deploy\n"
        "Match host old\n  ProxyJump gate\nHost=gate\n"
    )
    site.write({"name": "web", "user": "root", "groups": ["all"], "tags": ["x"], "description": "Front"})
    found = {host.name: to_json(host) for host in await site.ssh.hosts()}
    assert list(found) == ["web", "included", "old", "gate"]
    assert found["web"] == {
        "name": "web",
        "hostname": "10.0.0.1",
        "port": 2200,
        "user": "root",
        "groups": ["all"],
        "tags": ["x"],
        "description": "Front",
        "jump_host": None,
        "identity": {"kind": "agent", "ref": None},
        "host_key": {"status": "unknown", "fingerprint": None},
        "source": "file",
        "enabled": True,
        "status": "unknown",
        "last_checked_at": None,
    }
    assert (found["old"]["user"], found["old"]["source"]) == ("deploy", "ssh_config")
    assert found["included"]["hostname"] == "10.0.0.9"
    assert [host.name for host in await site.ssh.hosts(q="FRONT")] == ["web"]


async def test_groups_come_from_hosts_and_from_the_mapping(site: Site):
    site.write({"name": "a", "groups": ["web"]}, {"name": "b", "enabled": False}, groups={"web": ["b"], "db": ["b"]})
    assert to_json(site.ssh.groups(), list[SshGroup]) == [
        {"name": "db", "hosts": ["b"], "host_count": 1},
        {"name": "web", "hosts": ["a", "b"], "host_count": 2},
    ]
    assert [host.name for host in site.ssh.inventory.choose((), ("web",))] == ["a"]
    with pytest.raises(ConfigError, match="not enabled: b"):
        site.ssh.inventory.choose(("b",), ())
    with pytest.raises(ConfigError, match="chosen"):
        site.ssh.inventory.choose((), ("db",))


async def test_all_unknown_hosts_and_groups_are_named_at_once(site: Site):
    site.write({"name": "web1"})
    with pytest.raises(
        UnknownHostError, match="unknown host 'wbe1', unknown host '-oProxyCommand=x', unknown group 'db'"
    ) as error:
        site.ssh.inventory.choose(("wbe1", "-oProxyCommand=x"), ("db",))
    assert "web1" in error.value.hint


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("name: -oProxyCommand=id", "'-oProxyCommand=id' is not a valid host name"),
        ("name: a b", "'a b' is not a valid host name"),
        ("{name: a, hostname: '-l'}", "'-l' is not the name or address of a machine"),
        ("{name: a, hostname: 'x y'}", "is not the name or address of a machine"),
        ("{name: a, user: '-oX'}", "'-oX' is not a valid user name"),
        ("{name: a, user: 'x;id'}", "is not a valid user name"),
        (
            "{name: a, identity: {kind: password, ref: x}}",
            ("passwords are not supported, because ssh asks for them interactively;"),
        ),
        ("{name: a, identity: {kind: key}}", "ref must be the path of a key file"),
        ("{name: a, identity: {kind: vault, ref: 'a b'}}", "ref must be the name of a secret in the vault"),
        ("{name: a, known_hosts: relative}", "expected the absolute path of a file,"),
        ("{name: a, hostnam: x}", "did you mean 'hostname'?"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(tmp_path: Path, host: str, told: str):
    problem = problem_of(tmp_path, f"hosts:\n- {host}\n")
    assert f"{tmp_path}/ssh_hosts.yaml:2:" in problem
    assert told in problem


def test_a_name_is_used_once(tmp_path: Path):
    assert "line 2" in problem_of(tmp_path, "hosts:\n- name: a\n- name: a\n")
    assert "line 1" in problem_of(tmp_path, "hosts: [{name: a}, {name: a}]\n")


async def test_jump_hosts_that_go_in_a_circle_or_nowhere_are_refused(site: Site):
    site.write({"name": "a", "jump_host": "b"}, {"name": "b", "jump_host": "a"}, {"name": "c", "jump_host": "gone"})
    with pytest.raises(ConfigError, match="cycle: a → b → a"):
        await site.run("true", "a")
    with pytest.raises(ConfigError, match="reached"):
        await site.run("true", "c")


async def test_doctor_tells_what_is_wrong_without_asking_a_host(tmp_path: Path):
    async with open_site(tmp_path / "data") as site:
        key = tmp_path / "key"
        key.touch()
        key.chmod(0o644)
        site.write(
            {"name": "a", "identity": {"kind": "key", "ref": str(key)}},
            {"name": "b", "jump_host": "gone"},
            groups={"web": ["lost"]},
        )
        (site.data_dir / "ssh_deny.txt").write_text("(\n")
        told = [f"{finding.state}: {finding.detail}" for finding in await site.bench.findings()]
        deny, readable, jump, group, total = told
        assert deny.startswith(f"error: {site.data_dir}/ssh_deny.txt:1: ")
        assert readable.startswith(f"warning: a: {key}: ")
        assert mentions(jump, "error: b ", "gone")
        assert mentions(group, "warning: ", "web", "lost")
        assert mentions(total, "ok: 2 hosts", f"{site.data_dir}/ssh_hosts.yaml")


async def test_an_empty_list_of_hosts_needs_no_ssh(tmp_path: Path):
    async with open_site(tmp_path / "data", {"PATH": "/nonexistent"}) as site:
        assert await site.ssh.describe(await site.ssh.search()) == []
