"""Host keys: which one a host shows, whether it is known, and taking it into our file of known hosts."""

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.process.starting import ProcessTimeoutError, run
from tocsin.core.storage.files import read_limited, write_atomically
from tocsin.features.ssh.client.outcome import key_in
from tocsin.features.ssh.client.ssh_program import CONNECT_TIMEOUT_S, SshSession
from tocsin.features.ssh.model import Address, HostEntry, HostKey, KeyStatus

_TIMEOUT_S = 3 * CONNECT_TIMEOUT_S  # there may be jump hosts
_LOOK_S = 0.02
_NO_LOGIN = (
    "ControlPath=none",
    "PubkeyAuthentication=no",
    "PasswordAuthentication=no",
    "KbdInteractiveAuthentication=no",
    "GSSAPIAuthentication=no",
    "HostbasedAuthentication=no",
)
_FINGERPRINT = re.compile(r"\b(SHA256:\S+)")


class UnreachableError(TocsinError):
    """A host could not be asked for its key."""

    code = "unreachable"


@dataclass(frozen=True, slots=True)
class ShownKey:
    """The key that a host shows, and its line for `known_hosts`."""

    key: HostKey
    line: str


async def look_at(session: SshSession, host: HostEntry) -> HostKey:
    """Ask a host for its key without logging in, and return it with its state; raises UnreachableError."""
    log = await _connect(session, host)
    try:
        return key_in(log)
    except LookupError as error:
        raise UnreachableError(
            f"{host.name} sent no host key: {error}", hint="check address, port and network"
        ) from None


async def shown_key(session: SshSession, host: HostEntry) -> ShownKey:
    """Ask a host for its key and return it whole, with its state; raises UnreachableError."""
    key = await look_at(session, host)
    taken = session.private / "shown"
    taken.unlink(missing_ok=True)
    first = "StrictHostKeyChecking=accept-new", f'UserKnownHostsFile="{taken}"', "GlobalKnownHostsFile=/dev/null"
    # Only the kind of key that was shown: else the line would be that of another one.
    await _connect(session, host, *first, f"HostKeyAlgorithms={_algorithms(key.type)}")
    line = taken.read_text().strip() if taken.exists() else ""
    if key.fingerprint not in await _fingerprints(session, None, taken):
        raise UnreachableError(
            f"{host.name} sent two different keys",
            hint="try again; if this happens again, the connection may be intercepted",
        )
    return ShownKey(key, line)


async def known_key(session: SshSession, address: Address) -> HostKey:
    """Return the first key that our files have for a host, without asking it."""
    for path in address.known_hosts:
        if found := await _fingerprints(session, address.key_name, path):
            return HostKey(KeyStatus.TRUSTED, found[0])
    return HostKey()


async def trust(session: SshSession, shown: ShownKey, path: Path) -> None:
    """Let a file of known hosts have this key for the host, and no other one."""
    name = shown.line.split()[0]
    copy = session.private / "known_hosts"
    async with _only_writer(session.program.folder):
        copy.write_bytes(_content_of(path))
        await _keygen(session, "-R", name, "-f", str(copy))
        rest = copy.read_text(errors="surrogateescape")
        rest = rest if not rest or rest.endswith("\n") else rest + "\n"
        content = f"{rest}{shown.line}\n".encode(errors="surrogateescape")
        await asyncio.to_thread(write_atomically, path, content)


@asynccontextmanager
async def _only_writer(folder: Path) -> AsyncIterator[None]:
    """Lock files of known hosts against other writers: keys that are trusted at the same time must stay."""
    descriptor = os.open(folder / "known_hosts.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        await _take(descriptor)
        yield
    finally:
        os.close(descriptor)  # gives the lock back, as the end of a process does


async def _take(lock: int) -> None:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    await asyncio.sleep(_LOOK_S)
                else:
                    return
    except TimeoutError:
        sentence = "another process has been changing the known hosts for too long"
        raise ConfigError(sentence, hint="stop it, or try again") from None


def file_for(session: SshSession, host: HostEntry, address: Address) -> Path:
    """Return the file for the trusted keys of a host; raises ConfigError if the user's configuration names one."""
    path = host.known_hosts or session.program.known_hosts
    if path not in address.known_hosts:
        raise ConfigError(
            f"the ssh configuration sets UserKnownHostsFile for {host.name} to {address.known_hosts[0]}",
            hint="add the key to that file, or define the host in ssh_hosts.yaml with known_hosts",
        )
    return path


async def _connect(session: SshSession, host: HostEntry, *options: str) -> str:
    """Connect up to the login, which is refused, and return the log."""
    try:
        # `true` is for hosts that accept any login.
        await session.ask(host, ("true",), *options, *_NO_LOGIN, "LogLevel=DEBUG1", timeout_s=_TIMEOUT_S)
    except ProcessTimeoutError:
        raise UnreachableError(
            f"{host.name} does not respond within {_TIMEOUT_S} s", hint="check the network"
        ) from None
    return session.read_log(host)


def _content_of(path: Path) -> bytes:
    return read_limited(path) if path.exists() else b""


def _algorithms(key_type: str) -> str:
    # An RSA key signs with SHA-2. Source: RFC 8332, section 3.
    return "rsa-sha2-512,rsa-sha2-256" if key_type == "ssh-rsa" else key_type


async def _fingerprints(session: SshSession, name: str | None, path: Path) -> list[str]:
    """Return the fingerprints in a file of known hosts, those of one host or all."""
    wanted = () if name is None else ("-F", name)
    return _FINGERPRINT.findall(await _keygen(session, "-l", *wanted, "-f", str(path)))


async def _keygen(session: SshSession, *words: str) -> str:
    environment = session.program.environment()
    ended = await run(["ssh-keygen", *words], timeout_s=CONNECT_TIMEOUT_S, env=environment)
    return ended.stdout
