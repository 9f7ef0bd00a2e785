"""The known hosts: `ssh_hosts.yaml`, and the names in the configuration of `ssh`."""

import glob
import os
import pwd
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tocsin.core.errors import ConfigError
from tocsin.core.reading.fields import (
    BooleanType,
    Field,
    IntegerType,
    ListType,
    MappingType,
    RecordType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.value import near_word, shorten
from tocsin.core.reading.yaml_file import parse_yaml, refuse_repeated
from tocsin.core.reading.yaml_node import Node
from tocsin.core.storage.files import WatchedFile
from tocsin.features.ssh.model import (
    GROUP_RULE,
    HOSTNAME,
    HOSTNAME_RULE,
    NAME,
    NAME_RULE,
    USER,
    USER_RULE,
    HostEntry,
    HostSource,
    Identity,
    IdentityKind,
    UnknownHostError,
)

FILE_NAME = "ssh_hosts.yaml"
_MAX_INCLUDES = 16  # levels; source: readconf.c, READCONF_MAX_DEPTH
_NAME = TextType(pattern=NAME, rule=NAME_RULE)
_GROUP = TextType(pattern=NAME, rule=GROUP_RULE)
_WORD = re.compile(r'"[^"]*"|[^\s"]+')


def _identity_kind(text: str) -> IdentityKind:
    if text == "password":
        raise ValueError(
            "passwords are not supported, because ssh asks for them interactively; use a key (ssh-copy-id)"
        )
    if text not in {*IdentityKind}:
        raise ValueError(f"expected agent, key or vault, found {shorten(text)}")
    return IdentityKind(text)


def _path(text: str) -> Path:
    path = Path(text)
    if text.startswith("~/"):
        path = home() / text[2:]
    if not path.is_absolute():
        raise ValueError("expected the absolute path of a file, or a path that starts with ~/")
    if not text.isprintable() or '"' in text:
        raise ValueError("a path with quotes or control characters cannot be used in an ssh configuration")
    return path


_IDENTITY = RecordType(
    (
        Field(
            "kind",
            TextType(parse=_identity_kind, schema={"enum": list(IdentityKind)}),
            required=True,
            doc="`agent`, `key` or `vault`",
        ),
        Field("ref", TextType(), doc="Key file, name of a secret, or socket of an agent"),
    )
)
HOST = RecordType(
    (
        Field("name", _NAME, required=True, doc="Name of the host in Tocsin"),
        Field("hostname", TextType(pattern=HOSTNAME, rule=HOSTNAME_RULE), doc="Host name or address of the machine"),
        Field("port", IntegerType(1, 65535), doc="Its port"),
        Field("user", TextType(pattern=USER, rule=USER_RULE), doc="User on the host"),
        Field("groups", ListType(_GROUP), default=(), doc="Groups of the host"),
        Field("tags", ListType(TextType()), default=(), doc="Tags"),
        Field("description", TextType(blank=True), default="", doc="Description"),
        Field("jump_host", _NAME, doc="Host through which it is reached"),
        Field("identity", _IDENTITY, doc="How Tocsin logs in"),
        Field("enabled", BooleanType(), default=True, doc="Whether groups include the host"),
        Field(
            "known_hosts",
            TextType(parse=_path, schema={"type": "string", "pattern": "^(/|~/)"}),
            doc="Separate file with its host keys",
        ),
    )
)
HOSTS_FILE = RecordType(
    (
        Field("hosts", ListType(HOST), default=(), doc="The hosts"),
        Field("groups", MappingType(ListType(_NAME), NAME, GROUP_RULE), default={}, doc="Groups of hosts"),
    )
)


@dataclass(frozen=True, slots=True)
class HostsFile:
    """The content of `ssh_hosts.yaml`."""

    hosts: tuple[HostEntry, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Inventory(WatchedFile[HostsFile]):
    """The hosts of the file, which is read again when it changes, and those of the configuration of `ssh`."""

    def __init__(self, path: Path, ssh_config: Path | None) -> None:
        super().__init__(path, lambda content: parse_yaml(content, path, _read), HostsFile(), is_run=True)
        self._config = ssh_config

    def all(self) -> dict[str, HostEntry]:
        """Return all hosts by name; the file takes precedence over the configuration of `ssh`."""
        found = {host.name: host for host in self.value.hosts}
        config = self._config or home() / ".ssh" / "config"
        for name in names_in(config):
            found.setdefault(name, HostEntry(name, source=HostSource.SSH_CONFIG))
        return found

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the hosts in each group, sorted."""
        found: dict[str, set[str]] = {}
        for host in self.value.hosts:
            for group in host.groups:
                found.setdefault(group, set()).add(host.name)
        for group, hosts in self.value.groups.items():
            found.setdefault(group, set()).update(hosts)
        return {group: tuple(sorted(found[group])) for group in sorted(found)}

    def choose(self, hosts: Sequence[str], groups: Sequence[str]) -> tuple[HostEntry, ...]:
        """Return these hosts and those of these groups, each once; raises UnknownHostError, ConfigError.

        A group stands for its enabled hosts; a host that is named itself must be enabled.
        """
        known, members = self.all(), self.groups()
        wrong = [f"host {shorten(name)!r}" for name in hosts if name not in known]
        wrong += [f"group {shorten(name)!r}" for name in groups if name not in members]
        wrong += [f"host {n!r} of group {g}" for g in groups for n in members.get(g, ()) if n not in known]
        if wrong:
            near = near_word((*hosts, *groups)[0], (*known, *members))
            hint = f"did you mean {near}?" if near else "`tocsin ssh hosts` and `tocsin ssh groups` list them"
            raise UnknownHostError(f"unknown {', unknown '.join(wrong)}", hint=hint)
        if off := [name for name in hosts if not known[name].enabled]:
            hint = f"set enabled: true in {self.path}"
            raise ConfigError(f"not enabled: {', '.join(off)}", hint=hint, body_key="hosts")
        named = [*hosts, *(name for group in groups for name in members[group] if known[name].enabled)]
        if not named:
            raise ConfigError(
                "no hosts were chosen", hint="give a host, or a group with enabled hosts", body_key="hosts"
            )
        return tuple(known[name] for name in dict.fromkeys(named))


def home() -> Path:
    """Return the home directory that `ssh` uses: that of the system's list of users, whatever HOME says."""
    return Path(pwd.getpwuid(os.geteuid()).pw_dir)


def names_in(config: Path, depth: int = 0) -> Iterator[str]:
    """Yield the names of hosts in a configuration of `ssh` and in the files it includes, without patterns.

    What is set for a name is never read here: `ssh -G` tells it.
    """
    try:
        lines = config.read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        keyword, _, rest = line.strip().replace("=", " ", 1).partition(" ")
        words = [word.strip('"') for word in _WORD.findall(rest)]
        if keyword.lower() == "host":
            yield from (word for word in words if re.fullmatch(NAME, word))
        elif keyword.lower() == "include" and depth < _MAX_INCLUDES:
            for word in words:
                for path in sorted(glob.glob(_included(word))):  # noqa: PTH207  # the pattern may be absolute
                    yield from names_in(Path(path), depth + 1)


def _included(word: str) -> str:
    """Return the path that `Include` means. Source: ssh_config(5)."""
    if word.startswith("~/"):
        return str(home() / word[2:])
    return word if word.startswith("/") else str(home() / ".ssh" / word)


def _read(root: Node) -> HostsFile:
    if root.absent or root.is_null:
        return HostsFile()
    read = HOSTS_FILE.read(root)
    hosts = [_host(each) for each in read["hosts"]]
    refuse_repeated(read["hosts"], "name", "the host in line {} already has this name")
    return HostsFile(tuple(hosts), {name: tuple(members) for name, members in read["groups"].items()})


def _host(read: RecordValues[Node]) -> HostEntry:
    return HostEntry(
        name=read["name"],
        hostname=read["hostname"] or "",
        port=read["port"] or 0,
        user=read["user"] or "",
        groups=tuple(read["groups"]),
        tags=tuple(read["tags"]),
        description=read["description"],
        jump_host=read["jump_host"] or "",
        identity=_identity(read["identity"]),
        enabled=read["enabled"],
        known_hosts=read["known_hosts"],
    )


def _identity(read: Any) -> Identity:
    if read is None or read["kind"] is None:
        return Identity()
    kind, ref = read["kind"], read["ref"] or ""
    if kind is IdentityKind.VAULT and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", ref):
        read.source.refuse("ref must be the name of a secret in the vault")
    elif kind is IdentityKind.KEY or ref:
        try:
            ref = ref if kind is IdentityKind.VAULT else str(_path(ref))
        except ValueError as error:
            read.given["ref"].refuse(str(error)) if ref else read.source.refuse("ref must be the path of a key file")
    return Identity(kind, ref)
