"""Runs the system's `ssh` with a configuration of our own in a private folder that is removed."""

import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.core.config.data_dir import unusable
from tocsin.core.errors import ConfigError
from tocsin.core.ids import new_id
from tocsin.core.process.identity import is_dead, own_identity
from tocsin.core.process.starting import Finished, run, streaming
from tocsin.core.storage.files import make_directory, write_atomically
from tocsin.features.ssh.client.private_keys import needs_passphrase, private_key_problem
from tocsin.features.ssh.inventory import home
from tocsin.features.ssh.model import Address, HostEntry, IdentityKind

if TYPE_CHECKING:
    from tocsin.features.abilities import Secrets

CONNECT_TIMEOUT_S = 10
_OWNER = "owner"
# sun_path has 108 bytes on Linux, 104 on macOS; ssh appends 17 to the name while it makes the socket.
_MAX_SOCKET_PATH = 104 - 1 - 17
_SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
_FORCED = f"""
  BatchMode yes
  StrictHostKeyChecking yes
  VerifyHostKeyDNS no
  NoHostAuthenticationForLocalhost no
  UpdateHostKeys no
  CheckHostIP no
  ConnectTimeout {CONNECT_TIMEOUT_S}
  ConnectionAttempts 1
  ServerAliveInterval 15
  ServerAliveCountMax 3
  ControlMaster no
  ClearAllForwardings yes
  ForwardAgent no
  ForwardX11 no
  AddKeysToAgent no
  PermitLocalCommand no
  RemoteCommand none
  RequestTTY no
  EscapeChar none
  ForkAfterAuthentication no
  StdinNull no
  SessionType default"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SshProgram:
    """The parameters of every start of `ssh`; `folder` is private, and holds the sockets of shared connections."""

    folder: Path
    known_hosts: Path  # our own
    config: Path | None  # of the user; None is what `ssh` takes by itself
    environment: Callable[[], Mapping[str, str]]
    secrets: "Secrets"
    keep_s: int

    @property
    def shares(self) -> bool:
        """Whether connections are kept for the next command."""
        return self.keep_s > 0 and not self.too_long

    @property
    def too_long(self) -> bool:
        """Whether the path of the folder is too long for a socket in it."""
        return len(os.fsencode(self.folder)) + 1 + 16 > _MAX_SOCKET_PATH

    @asynccontextmanager
    async def session(self, hosts: Sequence[HostEntry], known: Mapping[str, HostEntry]) -> "AsyncIterator[SshSession]":
        """Write the configuration and the keys of the vault that these hosts need, and remove all of it at the end."""
        if shutil.which("ssh", path=self.environment().get("PATH", os.defpath)) is None:
            raise ConfigError("ssh is not installed", hint="install the OpenSSH client (openssh-client)")
        self._remove_leftovers()
        private = self.folder / new_id()
        try:
            make_directory(private)
        except OSError as error:
            raise unusable(private, error) from None
        try:
            (private / _OWNER).write_text(own_identity())
            keys = await self._reveal_keys(private, hosts, known)
            config = private / "config"
            write_atomically(config, "".join(self._config(known, keys)))
            yield SshSession(self, private, config)
        finally:
            shutil.rmtree(private, ignore_errors=True)

    def _remove_leftovers(self) -> None:
        """Remove the files of killed processes."""
        for owner in self.folder.glob(f"*/{_OWNER}"):
            with suppress(OSError):
                if is_dead(owner.read_text()):
                    shutil.rmtree(owner.parent, ignore_errors=True)

    async def _reveal_keys(
        self, private: Path, hosts: Sequence[HostEntry], known: Mapping[str, HostEntry]
    ) -> dict[str, Path]:
        """Write the key of each vault identity on the way to these hosts, and return the files by host."""
        found: dict[str, Path] = {}
        for host in {h.name: h for start in hosts for h in way_to(start, known)}.values():
            if host.identity.kind is IdentityKind.VAULT:
                secret = await self.secrets.reveal(host.identity.ref, reader="ssh")
                found[host.name] = private / f"key-{host.name}"
                write_atomically(found[host.name], secret.rstrip() + "\n")
        return found

    def _config(self, known: Mapping[str, HostEntry], keys: Mapping[str, Path]) -> Iterator[str]:
        """Yield the configuration: our hosts and fixed options, then those of the user and the system."""
        for host in known.values():
            yield f"Host {host.name}\n"
            yield from (f"  {line}\n" for line in _lines_of(host, keys.get(host.name)))
            if self.shares:
                yield f"  ControlPath {_file(self.socket_of(host))}\n"
        yield f"Match all{_FORCED}\n"
        for included in (self.config,) if self.config else (home() / ".ssh" / "config", _SYSTEM_CONFIG):
            yield f"  Include {_file(included)}\n"
        yield f"  UserKnownHostsFile {' '.join(map(_file, self.default_known_hosts))}\n"
        yield "  ControlPath none\n"

    @property
    def default_known_hosts(self) -> list[Path]:
        """The files with host keys, unless the configuration of the user names others: our own first."""
        return [self.known_hosts, *(home() / ".ssh" / name for name in ("known_hosts", "known_hosts2"))]

    def socket_of(self, host: HostEntry) -> Path:
        """Return the socket of the connection to a host; another description of it has another one."""
        told = repr((host, self.config))
        return self.folder / sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SshSession:
    """A configuration that was written, to start `ssh` with."""

    program: SshProgram
    private: Path
    config: Path

    def why_refused(self, host: HostEntry) -> str:
        """Return the problem of our private key for a host that explains a refused login, or an empty text."""
        identity = host.identity
        if identity.kind is IdentityKind.AGENT:
            return ""
        if identity.kind is IdentityKind.VAULT:
            has_passphrase = needs_passphrase(self.private / f"key-{host.name}")
            return (
                f"; the key {identity.ref} of the vault has a passphrase: store it without one"
                if has_passphrase
                else ""
            )
        path = Path(identity.ref)
        if problem := private_key_problem(path):
            return f"; the key {path}: {problem}"
        has_passphrase = needs_passphrase(path)
        return f"; the key {path} has a passphrase: load it into the agent with ssh-add" if has_passphrase else ""

    def log_of(self, host: HostEntry) -> Path:
        """Return the log file of the `ssh` of a host."""
        return self.private / f"log-{host.name}"

    def argv(self, host: HostEntry, words: Sequence[str], *options: str) -> list[str]:
        """Return the command line; `words` is the command as one argument, or nothing."""
        given = [part for option in options for part in ("-o", option)]
        log = str(self.log_of(host))
        return ["ssh", "-F", str(self.config), "-E", log, "-T", "-x", *given, "--", host.name, *words]

    def read_log(self, host: HostEntry) -> str:
        try:
            return self.log_of(host).read_text(errors="replace")
        except OSError:
            return ""

    async def ask(self, host: HostEntry, words: Sequence[str], *options: str, timeout_s: float) -> Finished:
        """Run `ssh` to its end; raises ProcessTimeoutError, ProcessError."""
        argv = self.argv(host, words, *options)
        return await run(argv, timeout_s=timeout_s, env=self.program.environment())

    async def address(self, host: HostEntry) -> Address:
        """Return the address of a host from `ssh -G`; raises ConfigError."""
        argv = ["ssh", "-F", str(self.config), "-G", "--", host.name]
        ended = await run(argv, timeout_s=CONNECT_TIMEOUT_S, env=self.program.environment())
        if ended.exit_code:
            reason = ended.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise ConfigError(f"ssh cannot read its configuration: {reason[0]}", hint="correct the file")
        ours = [host.known_hosts] if host.known_hosts else self.program.default_known_hosts
        return _address(ended.stdout, ours)

    async def share(self, host: HostEntry) -> tuple[int, str] | None:
        """Open the connection that commands to a host share; return exit code and log if that fails.

        A host that is reached through another program gets none: that program would end with us.
        """
        path = self.program.socket_of(host)
        if not self.program.shares or path.exists() or (await self.address(host)).jump:
            return None
        with _locked(path) as ours:
            if not ours or path.exists():  # another process opens it
                return None
            options = ("ControlMaster=yes", f"ControlPersist={self.program.keep_s}", "LogLevel=INFO")
            background = ("ForkAfterAuthentication=yes", "SessionType=none", "StdinNull=yes")
            code = await self._open_master(self.argv(host, (), *options, *background))
        log = self.read_log(host)
        self.log_of(host).unlink(missing_ok=True)
        return (code, log) if code else None

    async def _open_master(self, argv: Sequence[str]) -> int:
        """Start an `ssh` that goes to the background, and wait until it has left our process group."""
        environment = self.program.environment()
        async with streaming(argv, lambda _stream, _data: None, env=environment) as child:
            code = await child.wait()
            if code == 0:
                # It answers after it went there; before that, it would be ended with the group.
                check = ["ssh", "-F", str(self.config), "-O", "check", "--", argv[-1]]
                await run(check, timeout_s=CONNECT_TIMEOUT_S, env=environment)
        return code or 0

    def forget_dead(self, host: HostEntry) -> None:
        """Remove the socket of a dead connection."""
        path = self.program.socket_of(host)
        with _locked(path) as ours:
            if ours:
                path.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a socket, and tell whether that worked."""
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def way_to(host: HostEntry, known: Mapping[str, HostEntry]) -> list[HostEntry]:
    """Return a host and its jump hosts, the nearest first; raises ConfigError if they form a cycle."""
    way = [host]
    while jump := way[-1].jump_host:
        if jump not in known:
            raise ConfigError(f"{way[-1].name} is reached through {jump}, which is not a known host", hint="add it")
        if known[jump] in way:
            names = " → ".join([*(each.name for each in way), jump])
            raise ConfigError(f"the jump hosts form a cycle: {names}", hint="correct `jump_host` of one of them")
        way.append(known[jump])
    return way


def _lines_of(host: HostEntry, key: Path | None) -> Iterator[str]:
    for keyword, value in (("HostName", host.hostname), ("Port", host.port), ("User", host.user)):
        if value:
            yield f"{keyword} {value}"
    if host.jump_host:
        yield f"ProxyJump {host.jump_host}"
    if host.known_hosts:
        yield f"UserKnownHostsFile {_file(host.known_hosts)}"
        yield "GlobalKnownHostsFile /dev/null"
    identity = host.identity
    if key or identity.kind is IdentityKind.KEY:
        yield f"IdentityFile {_file(key or Path(identity.ref))}"
        yield "IdentitiesOnly yes"
    if key:
        yield "IdentityAgent none"
    elif identity.kind is IdentityKind.AGENT and identity.ref:
        yield f"IdentityAgent {_file(Path(identity.ref))}"


def _file(path: Path) -> str:
    """Return a path as the configuration takes it: quoted, and no `%` in it is a token."""
    return '"' + str(path).replace("%", "%%") + '"'


def _address(told: str, ours: Sequence[Path]) -> Address:
    values: dict[str, str] = {}
    for line in told.splitlines():
        keyword, _, value = line.partition(" ")
        values.setdefault(keyword, value)
    hostname, port = values.get("hostname", ""), int(values.get("port", "22"))
    jump = values.get("proxyjump", "") or values.get("proxycommand", "")
    name = values.get("hostkeyalias", "").replace("none", "") or (hostname if port == 22 else f"[{hostname}]:{port}")
    user_files = values.get("userknownhostsfile", "")
    # It is printed without quotes: of paths with blanks, only our own can be told apart.
    known = list(ours) if user_files == " ".join(map(str, ours)) else _paths(user_files)
    known += _paths(values.get("globalknownhostsfile", ""))
    return Address(hostname, port, values.get("user", ""), "" if jump == "none" else jump, name, tuple(known))


def _paths(text: str) -> list[Path]:
    return [home() / word[2:] if word.startswith("~/") else Path(word) for word in text.split()]
