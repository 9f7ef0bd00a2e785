"""The model of SSH hosts, their keys and health, and of commands on them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.reading.value import shorten
from tocsin.core.records.marks import Private, TextOrNull, Time, after
from tocsin.core.text.shell import MAX_VARIABLE_BYTES, variable_bytes
from tocsin.runs.model import HostStatus

MAX_COMMAND = 100_000  # characters; Linux takes 131,072 bytes in one argument
MAX_ENV_BYTES = 2 * 1024 * 1024  # of all variables: what Linux takes, getconf ARG_MAX
SHOWN_COMMAND = 200  # characters, in lists and audit entries
MAX_TIMEOUT_S = 86_400
MAX_PARALLEL = 100
# None of them can begin with a dash, and none has a character that `ssh`, its configuration or a shell reads.
NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
NAME_RULE = "not a valid host name: use letters, digits and . _ -, not starting with a dash"
GROUP_RULE = NAME_RULE.replace("host", "group")
HOSTNAME = r"[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}"
HOSTNAME_RULE = "not the name or address of a machine"
USER = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}"
USER_RULE = "not a valid user name: use letters, digits and . _ @ + -, not starting with a dash"
_TOO_LARGE = f"at most {MAX_VARIABLE_BYTES // 1024} KiB; put longer values into a file on the host"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UnknownHostError(TocsinError):
    """A host or group that was asked for does not exist."""

    code = "unknown-host"


class CommandDeniedError(TocsinError):
    """A line of `ssh_deny.txt` refuses the command."""

    code = "command-denied"


class DenyListError(ConfigError):
    """`ssh_deny.txt` has an error, so every command is refused."""


class IdentityKind(StrEnum):
    """Method of authentication to a host."""

    AGENT = "agent"
    KEY = "key"
    VAULT = "vault"


@dataclass(frozen=True, slots=True)
class Identity:
    """Authentication method."""

    schema_name: ClassVar[str] = "IdentityRecord"

    kind: IdentityKind = IdentityKind.AGENT
    ref: Annotated[TextOrNull, "Key file, name of a secret, or socket of an agent."] = ""


class HostSource(StrEnum):
    """Source of a host's definition."""

    FILE = "file"
    SSH_CONFIG = "ssh_config"


@dataclass(frozen=True, slots=True)
class HostEntry:
    """A host of the file; the configuration of `ssh` decides empty fields."""

    name: str
    hostname: str = ""
    port: int = 0
    user: str = ""
    groups: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    description: str = ""
    jump_host: str = ""
    identity: Identity = field(default_factory=Identity)
    enabled: bool = True
    known_hosts: Path | None = None
    source: HostSource = HostSource.FILE


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a host as `ssh -G` reports it, and where its key is looked up."""

    hostname: str
    port: int
    user: str
    jump: str  # how it is reached, empty for directly
    key_name: str  # what `known_hosts` calls it
    known_hosts: tuple[Path, ...]


class KeyStatus(StrEnum):
    """State of the host key."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class HostKey:
    """State of the host key."""

    schema_name: ClassVar[str] = "HostKeyRecord"

    status: KeyStatus = KeyStatus.UNKNOWN
    fingerprint: TextOrNull = ""  # `SHA256:…`; empty if no key was seen
    type: Private[str] = ""


class HostHealth(StrEnum):
    """Result of the health check of a host."""

    UP = "up"
    DEGRADED = "degraded"  # it answers, but not by SSH, or slowly
    DOWN = "down"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHost:
    """A host."""

    name: str
    hostname: str
    port: int
    user: str
    groups: tuple[str, ...]
    tags: tuple[str, ...]
    description: str
    jump_host: str | None
    identity: Identity
    host_key: HostKey
    source: HostSource
    enabled: bool
    status: Annotated[HostHealth, "State at the last health check."]
    last_checked_at: Time | None


@dataclass(frozen=True, slots=True)
class SshGroup:
    """Group of hosts."""

    name: str
    hosts: tuple[str, ...]

    @property
    @after("hosts")
    def host_count(self) -> int:
        """Number of hosts."""
        return len(self.hosts)


@dataclass(frozen=True, slots=True)
class Ping:
    """Reachability of the machine."""

    schema_name: ClassVar[str] = "PingRecord"

    ok: Annotated[bool | None, "Null if not checked."]
    method: Annotated[str, "`icmp` or `tcp`."] = "tcp"
    rtt_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SshAnswer:
    """Result of a login."""

    schema_name: ClassVar[str] = "LoginRecord"

    ok: bool
    latency_ms: int | None = None
    error: str | None = None
    status: Private[HostStatus] = HostStatus.SUCCEEDED


@dataclass(frozen=True, slots=True)
class HostHealthRecord:
    """Health of a host."""

    host: str
    status: HostHealth
    ping: Ping
    ssh: SshAnswer
    host_key: HostKey
    checked_at: Time
    failures: Private[int]  # in a row

    @property
    def key_changed(self) -> bool:
        """Whether the host showed another key than the one that is trusted."""
        return self.host_key.status is KeyStatus.CHANGED


@dataclass(frozen=True, slots=True)
class SshHealth:
    """Health of several hosts."""

    checked_at: Time
    summary: dict[HostHealth, int]
    items: list[HostHealthRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class SshPlan:
    """Effect of a command."""

    dry_run: bool = True
    hosts: list[str]
    command: Annotated[str, "Command that the shell of each host would receive."]


@dataclass(frozen=True, slots=True)
class SshRequest:
    """A command, and the hosts to run it on."""

    command: str
    hosts: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    timeout_s: float = 60.0
    max_parallel: int = 5
    stop_on_failure: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    dry_run: bool = False
    output: str = ""  # where the results are sent: `<channel>:<target>` or a profile
    user: str = ""  # there, in place of the one that is written down

    def check(self) -> None:
        """Raise ConfigError for invalid values."""
        if not self.command.strip():
            raise ConfigError("the command is empty", hint="give the command to run on the hosts", body_key="command")
        if "\0" in self.command or "\0" in self.working_dir:
            raise ConfigError("a command must not contain a NUL character", hint="remove it")
        if len(self.command.encode(errors="replace")) > MAX_COMMAND:
            raise ConfigError(
                f"a command can have at most {MAX_COMMAND:,} bytes", hint="put longer commands into a file on the host"
            )
        if not 0 < self.timeout_s <= MAX_TIMEOUT_S:
            raise ConfigError(
                f"the timeout of a command is at most {MAX_TIMEOUT_S:,} s",
                hint=f"choose a value from 1 to {MAX_TIMEOUT_S}",
            )
        if not 1 <= self.max_parallel <= MAX_PARALLEL:
            raise ConfigError(
                f"at most {MAX_PARALLEL} hosts can run at the same time",
                hint=f"choose a value from 1 to {MAX_PARALLEL}",
            )
        if self.user and not re.fullmatch(USER, self.user):
            raise ConfigError(
                f"{shorten(self.user)!r} is {USER_RULE.partition(':')[0]}", hint=USER_RULE.partition(": ")[2]
            )
        self._check_variables()

    def _check_variables(self) -> None:
        sizes = {name: variable_bytes(name, value) for name, value in self.env.items()}
        for name, value in self.env.items():
            if not _VARIABLE.fullmatch(name):
                wrong = f"{shorten(name)!r} is not a valid variable name"
                raise ConfigError(wrong, hint="use letters, digits and _", body_key="env")
            if "\0" in value:
                raise ConfigError(f"variable {name} contains a NUL character", hint="remove it")
            if sizes[name] > MAX_VARIABLE_BYTES:
                raise ConfigError(f"variable {name} has {sizes[name] // 1024} KiB", hint=_TOO_LARGE)
        if (total := sum(sizes.values())) > MAX_ENV_BYTES:
            largest = ", ".join(sorted(sizes, key=lambda name: -sizes[name])[:3])
            said = f"the variables have {total // 1024:,} KiB, the largest are {largest}"
            raise ConfigError(
                said, hint=f"at most {MAX_ENV_BYTES // 1024:,} KiB in total; put long values into files on the hosts"
            )
