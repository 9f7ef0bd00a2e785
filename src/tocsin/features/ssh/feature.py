"""What SSH is to the rest of the program."""

from pathlib import Path

from tocsin.core.config.variables import Variable, directory, integer
from tocsin.features.contract import Feature, FeatureCommand, Subsystem
from tocsin.features.ssh.audit_actions import SSH_RUN, SSH_TRUST
from tocsin.features.ssh.schema import MIGRATIONS

SSH_CONFIG: Variable[Path | None] = Variable(
    "SSH_CONFIG",
    directory,
    None,
    "OpenSSH client configuration whose hosts `tocsin ssh` uses as well.",
    shown_default="`~/.ssh/config`, then `/etc/ssh/ssh_config`",
)
SSH_KEEP_S = Variable(
    "SSH_KEEP_S",
    integer(0, 3600),
    60,
    "Seconds that a connection stays open for further commands; 0 closes it at once.",
)

FEATURE = Feature(
    name="ssh",
    package=__package__,
    summary="SSH hosts: run commands on many of them, check their health, and manage their host keys",
    page="ssh.md",
    variables=(SSH_CONFIG, SSH_KEEP_S),
    tables={"ssh": MIGRATIONS},
    audit_actions=(SSH_RUN, SSH_TRUST),
    commands=(FeatureCommand("ssh", "run commands on hosts, check their health, and trust their keys"),),
    subsystems=(Subsystem("ssh", "SSH", 300, "ssh"),),
    run_kinds=("ssh",),
)
