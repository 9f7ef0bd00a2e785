"""The demo's own host for `tocsin ssh`: an sshd on loopback that accepts one new key, if sshd is installed."""

import os
import pwd
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

from tocsin.core.process.starting import run, running
from tocsin.core.storage.files import make_directory, write_atomically

HOST, GROUP, HOSTS = "demo", "demo", "ssh_hosts.yaml"
_NO_SHELLS = ("nologin", "false")
_SERVER = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/login.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PermitUserRC no
LogLevel ERROR
"""
_HOSTS_FILE = """\
hosts:
  - name: {name}
    description: This machine, through the sshd of the demo
    hostname: 127.0.0.1
    port: {port}
    user: {user}
    groups: [{group}]
    identity: {{kind: key, ref: {folder}/login}}
"""


@asynccontextmanager
async def ssh_host(directory: Path, port: int) -> AsyncIterator[None]:
    """Run an sshd for the current user, and add it to the hosts of the data directory.

    Does nothing if sshd is not installed or refuses this account.
    """
    server = which("sshd") or which("sshd", path="/usr/sbin:/usr/local/sbin")
    user = _user_with_a_shell()
    if server is None or which("ssh") is None or which("ssh-keygen") is None or user is None:
        yield
        return
    folder = directory / "ssh-host"
    make_directory(folder)
    for name in ("host", "login"):
        await run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "demo", "-f", str(folder / name)], timeout_s=60)
    config = folder / "sshd_config"
    write_atomically(config, _SERVER.format(port=port, folder=folder))
    checked = await run([server, "-t", "-f", str(config)], timeout_s=60)
    if checked.exit_code != 0:  # for example in a container that lacks files which sshd requires
        yield
        return
    hosts = _HOSTS_FILE.format(name=HOST, port=port, user=user, group=GROUP, folder=folder)
    write_atomically(directory / HOSTS, hosts)
    key = (folder / "host.pub").read_text()
    write_atomically(directory / "ssh_known_hosts", f"[127.0.0.1]:{port} {key}")
    async with running([server, "-D", "-e", "-f", str(config)]):
        yield


def _user_with_a_shell() -> str | None:
    """Return the current user's login name; `None` if sshd would refuse the user."""
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:  # for example in a container that runs as a UID without an account
        return None
    return None if Path(account.pw_shell).name in _NO_SHELLS else account.pw_name
