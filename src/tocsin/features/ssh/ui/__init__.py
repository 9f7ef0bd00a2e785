"""The page of hosts and of commands on them."""

import json
from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList, Shortcut, Tour, TourDemo, TourStop


def _run_on_hosts(demo: TourDemo) -> Mapping[str, str]:
    servers = demo.start_ssh_servers("web1", "web2", "db1")
    hosts = [
        {
            "name": server.name,
            "hostname": "127.0.0.1",
            "port": server.port,
            "user": "root",
            "groups": [server.name.rstrip("0123456789")],
            "identity": {"kind": "key", "ref": str(server.key)},
            "known_hosts": str(server.known_hosts),
        }
        for server in servers
    ]
    away = {"name": "old-mail", "hostname": "127.0.0.1", "port": 9, "user": "root", "groups": ["mail"]}
    file = demo.home / "ssh_hosts.yaml"
    file.touch(mode=0o600)
    file.write_text(json.dumps({"hosts": [*hosts, away]}))
    if servers:
        demo.run("ssh/run", hosts=[server.name for server in servers], command="uptime")
    demo.call("GET", "ssh/health")
    return {}


PAGE = PageSpec(
    name="ssh",
    title="SSH",
    group=MenuGroup.OPERATE,
    place=500,
    key="s",
    details={"/:name": "host"},
    subsystem="ssh",
    integration="SSH hosts",
    runs=(RunSubject(kind="ssh", label="SSH command"),),
    lists=(SearchList(path="/api/ssh/hosts", label="Hosts"),),
    shortcuts=(Shortcut(label="Run a command on hosts", icon="ssh", address="#/ssh"),),
    tour=Tour(stops=(TourStop(name="ssh", address="ssh", theme="dark"),), prepare=_run_on_hosts),
)
