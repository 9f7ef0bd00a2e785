"""The checks of SSH in `tocsin doctor`; they connect to no host."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.text.strings import number_of
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.ssh.client.private_keys import private_key_problem
from tocsin.features.ssh.client.ssh_program import way_to
from tocsin.features.ssh.model import IdentityKind
from tocsin.features.ssh.service import Ssh
from tocsin.terminal.findings import Finding, failure


async def check_ssh(ssh: Ssh) -> AsyncIterator[Finding]:
    """Check the files of hosts and of refused commands, and the files and hosts that they name."""
    if problem := ssh.inventory.problem:
        yield Finding("error", "ssh", str(problem), problem.hint or "correct the file", logged=True)
    try:
        ssh.deny.patterns()
    except ConfigError as error:
        yield failure("ssh", error)
    hosts = ssh.inventory.value.hosts
    if not hosts:
        return
    if shutil.which("ssh", path=ssh.program.environment().get("PATH", os.defpath)) is None:
        yield Finding("error", "ssh", "ssh is not installed", "install the OpenSSH client (openssh-client)")
    if ssh.program.keep_s and ssh.program.too_long:
        detail = f"connections are not kept open: the path {ssh.program.folder} is too long for a socket"
        yield Finding("warning", "ssh", detail, "use a data directory with a shorter path, or set SSH_KEEP_S=0")
    for finding in (*_hosts(ssh), *_groups(ssh)):
        yield finding
    yield Finding("ok", "ssh", f"{number_of(len(hosts), 'host')} in {ssh.inventory.path}")


def _hosts(ssh: Ssh) -> Iterator[Finding]:
    known = ssh.inventory.all()
    for host in ssh.inventory.value.hosts:
        try:
            way_to(host, known)
        except ConfigError as error:
            yield failure("ssh", error)
        key = host.identity.ref if host.identity.kind is IdentityKind.KEY else ""
        if key and (reason := private_key_problem(Path(key))):
            yield Finding("warning", "ssh", f"{host.name}: {key}: {reason}", f"correct the file: chmod 600 {key}")


def _groups(ssh: Ssh) -> Iterator[Finding]:
    known = ssh.inventory.all()
    for group, hosts in ssh.inventory.groups().items():
        if missing := [name for name in hosts if name not in known]:
            detail = f"group {group} contains unknown hosts: {', '.join(missing)}"
            yield Finding("warning", "ssh", detail, f"correct {ssh.inventory.path}")


CHECKS: Checks[Ssh] = (FeatureCheck(check_ssh, at_start=True),)
