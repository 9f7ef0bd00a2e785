"""The operations on hosts, as a program calls them; the host is a real sshd."""

import json
import os
import pwd
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.ssh.conftest import Machine, Site
from tests.waiting import eventually

from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.delivery.store import DeliveryFilter
from tocsin.testing.dashboard import DashboardClient, open_dashboard

ME = pwd.getpwuid(os.geteuid()).pw_name


async def accept(_: object) -> bool:
    return True


def host(name: str, port: int = 1, **more: object) -> dict[str, object]:
    return {"name": name, "hostname": "127.0.0.1", "port": port, "user": ME, **more}


async def test_hosts_and_groups_are_listed_filtered_and_paged(client: DashboardClient, site: Site):
    site.write(
        host("web2", groups=["web"]), host("web1", groups=["web"], tags=["blue"]), host("db", description="Postgres")
    )
    first = (await client.get("/api/ssh/hosts?limit=2")).json()
    assert ([item["name"] for item in first["items"]], first["total"]) == (["db", "web1"], 3)
    second = (await client.get(f"/api/ssh/hosts?limit=2&cursor={first['next_cursor']}")).json()
    assert ([item["name"] for item in second["items"]], second["next_cursor"]) == (["web2"], None)
    assert first["items"][1] == {
        "name": "web1", "hostname": "127.0.0.1", "port": 1, "user": ME, "groups": ["web"], "tags": ["blue"],
        "description": "", "jump_host": None, "identity": {"kind": "agent", "ref": None},
        "host_key": {"status": "unknown", "fingerprint": None}, "source": "file", "enabled": True,
        "status": "unknown", "last_checked_at": None,
    }  # fmt: skip
    assert [item["name"] for item in (await client.get("/api/ssh/hosts?group=web")).json()["items"]] == ["web1", "web2"]
    assert [item["name"] for item in (await client.get("/api/ssh/hosts?q=POSTGRES")).json()["items"]] == ["db"]
    groups = (await client.get("/api/ssh/groups")).json()
    assert groups["items"] == [{"name": "web", "hosts": ["web1", "web2"], "host_count": 2}]


async def test_ssh_is_asked_for_the_hosts_of_the_page_alone(client: DashboardClient, site: Site):
    site.write(host("b"), host("a"), host("c"))
    asked = site.data_dir / "asked"
    (site.data_dir / "config").write_text(
        f'Match exec "echo %n >> {asked}"\n  User x\nHost front\n  HostName web.example\n'
    )
    page = (await client.get("/api/ssh/hosts?limit=1")).json()
    assert ([item["name"] for item in page["items"]], page["total"]) == (["a"], 4)
    assert set(asked.read_text().split()) == {"a"}
    # Of a name in the configuration of ssh, the address is known to ssh alone.
    found = (await client.get("/api/ssh/hosts?q=web.example")).json()["items"]
    assert [(item["name"], item["hostname"]) for item in found] == [("front", "web.example")]
    assert set(asked.read_text().split()) == {"a", "front"}


async def test_a_mistake_in_the_deny_list_is_the_services_own_trouble(client: DashboardClient, site: Site):
    site.write(host("web1"))
    (site.data_dir / "ssh_deny.txt").write_text("(\n")
    answer = await client.post("/api/ssh/run", {"command": "true", "hosts": ["web1"]})
    assert (answer.status, answer.json()["code"]) == (503, "not-ready")
    assert "ssh_deny.txt:1" in answer.json()["detail"]


async def test_what_cannot_run_is_refused_and_not_recorded(client: DashboardClient, site: Site):
    site.write(host("web1", groups=["web"]), host("off", enabled=False), groups={"none": []})
    (site.data_dir / "ssh_deny.txt").write_text("^reboot\n")
    for body, status, code, said in (
        ({"command": "reboot", "hosts": ["web1"]}, 403, "command-denied", "ssh_deny.txt:1"),
        ({"command": "true", "hosts": ["a", "b"]}, 404, "not-found", "Unknown host 'a', unknown host 'b'"),
        ({"command": "true", "groups": ["absent"]}, 404, "not-found", "Unknown group 'absent'"),
        ({"command": "true"}, 422, "validation-failed", "No hosts were chosen"),
        ({"command": "true", "groups": ["none"]}, 422, "validation-failed", "No hosts were chosen"),
        ({"command": "true", "hosts": ["off"]}, 422, "validation-failed", "Not enabled: off"),
        ({"command": "true", "hosts": ["web1"], "output": "nobody"}, 422, "validation-failed", "Unknown profile"),
        (
            {"command": "true", "hosts": ["web1"], "env": {"1": "x"}},
            422,
            "validation-failed",
            "is not a valid variable name",
        ),
    ):
        for dry in (False, True):
            answer = await client.post("/api/ssh/run", {**body, "dry_run": dry})
            assert (answer.status, answer.json()["code"]) == (status, code)
            assert said in answer.json()["detail"]
    wrong = await client.post("/api/ssh/run", {"comand": "true", "max_parallel": 0})
    assert {error["pointer"] for error in wrong.json()["errors"]} == {"#/comand", "#/command", "#/max_parallel"}
    assert (await client.get("/api/ssh/health?host=absent")).status == 404
    [refused] = site.bench.audit()  # the one that the deny list refused and that was no dry run
    assert (refused.action, refused.metadata["command"], refused.metadata["outcome"]) == ("ssh.run", "reboot", "denied")
    assert mentions(refused.detail, "ssh_deny.txt:1", "^reboot")


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, "#/hosts"),
        ({"hosts": ["web1"], "output": "nobody"}, "#/output"),
        ({"hosts": ["web1"], "env": {"1": "x"}}, "#/env"),
    ],
)
async def test_what_a_run_on_hosts_does_not_take_is_pointed_at(
    client: DashboardClient, site: Site, fields: dict[str, object], pointer: str
):
    site.write(host("web1"))
    answer = await client.post("/api/ssh/run", {"command": "true", **fields})
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_a_dry_run_tells_the_hosts_and_records_nothing(client: DashboardClient, site: Site):
    site.write(host("web1", groups=["web"]), host("web2", groups=["web"]))
    body = {"command": "ls", "groups": ["web"], "working_dir": "/srv", "dry_run": True}
    answer = await client.post("/api/ssh/run", body)
    assert answer.status == 200
    assert answer.json() == {"dry_run": True, "hosts": ["web1", "web2"], "command": "cd -- /srv || exit\nls"}
    assert (await client.get("/api/runs")).json()["items"] == []
    assert site.bench.audit() == []


@pytest.mark.parametrize(("login", "trigger"), [("session", "manual"), ("basic", "api"), ("token", "api")])
async def test_a_run_from_the_browser_was_started_by_a_person(
    client: DashboardClient, site: Site, login: str, trigger: str
):
    site.write(host("here"))
    client.login = login
    run = (await client.post("/api/ssh/run", {"command": "true", "hosts": ["here"]}, Prefer="wait=30")).json()
    assert run["trigger"] == trigger


async def test_a_command_runs_and_its_results_are_sent(client: DashboardClient, site: Site, machine: Machine):
    port, _ = machine.sshd()
    identity = {"kind": "key", "ref": str(machine.key)}
    site.write(host("here", port, identity=identity), host("there", port, identity=identity))
    await site.trust("here", "there")
    body = {"command": "echo $A; exit $B", "hosts": ["here", "there"], "env": {"A": "hi", "B": "3"}}
    answer = await client.post("/api/ssh/run", body, Prefer="wait=30")
    run = answer.json()
    assert (answer.status, run["kind"], run["trigger"], run["actor"]) == (200, "ssh", "api", "admin")
    assert [(each["host"], each["status"], each["exit_code"], each["stdout"]) for each in run["hosts"]] == [
        ("here", "failed", 3, "hi\n"),
        ("there", "failed", 3, "hi\n"),
    ]
    assert (run["status"], run["env_keys"]) == ("failed", ["A", "B"])
    [entry] = site.bench.audit("ssh.run")
    assert (entry.source, entry.metadata["actor"], entry.metadata["run"]) == ("dashboard", "admin", run["id"])
    begun = await client.post("/api/ssh/run", {"command": "true", "hosts": ["here"]})
    assert (begun.status, begun.headers["location"]) == (202, f"/api/runs/{begun.json()['id']}")
    assert [each["host"] for each in begun.json()["hosts"]] == ["here"]
    health = (await client.get("/api/ssh/health?host=here&refresh=true")).json()
    assert health["summary"] == {"up": 1, "degraded": 0, "down": 0, "unknown": 0}
    [item] = health["items"]
    assert (item["host"], item["status"], item["ssh"]["ok"], item["host_key"]["status"]) == (
        "here",
        "up",
        True,
        "trusted",
    )

    async def ended() -> bool:
        return bool((await client.get(begun.headers["location"])).json()["finished_at"])

    await eventually(ended)


async def test_the_results_are_queued_for_the_output(machine: Machine, tmp_path: Path):
    port, _ = machine.sshd()
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    identity = {"kind": "key", "ref": str(machine.key)}
    (data_dir / "ssh_hosts.yaml").write_text(json.dumps({"hosts": [host("here", port, identity=identity)]}))
    (data_dir / "config").touch()
    environ = {
        "TOCSIN_DATA_DIR": str(data_dir), "REDIS_URL": "off", "PATH": os.environ["PATH"], "SSH_KEEP_S": "0",
        "SSH_CONFIG": str(data_dir / "config"), "SMTP_HOST": "127.0.0.1", "SMTP_USER": "u@example.org",
        "SMTP_PASS": "a-long-password", "PUBLIC_URL": "https://tocsin.example",
    }  # fmt: skip
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app, open_dashboard(app) as client:
        await app.features.opened("ssh").trust("here", accept, source="cli")
        body = {"command": "echo hello", "hosts": ["here"], "output": "email:ops@example.org"}
        run = (await client.post("/api/ssh/run", body, Prefer="wait=30")).json()
        assert (run["status"], run["delivery"]["status"]) == ("succeeded", "pending")
        [delivery] = (await app.outbox.store.search(DeliveryFilter())).items
        assert delivery.message == "here: succeeded\nhello"
        page = f"https://tocsin.example/#/runs/{run['id']}"
        assert delivery.content == {"title": "echo hello: succeeded", "type": "success", "click": page}
