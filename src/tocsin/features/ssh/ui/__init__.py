"""The page of hosts and of commands on them."""

from tocsin.features.pages import MenuGroup, PageSpec, RunSubject, SearchList, Shortcut

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
)
