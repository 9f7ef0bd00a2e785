"""The declaration of SSH."""

from pathlib import Path

from tocsin.core.audit.actions import ACTOR, DURATION_MS, OK, OUTCOME, RUN, STATUS, TRIGGER, AuditAction, AuditField
from tocsin.core.config.variables import Variable, directory, integer
from tocsin.features.contract import Feature, FeatureCommand, Subsystem, WrittenFile

# A released migration is never edited; a new one is added.
MIGRATIONS = (
    """
    CREATE TABLE ssh_probes (
        host TEXT PRIMARY KEY,
        status TEXT NOT NULL,
        failures INTEGER NOT NULL,
        checked_at REAL NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    """,
)

_HOSTS = AuditField("hosts", "names of the hosts")
_COMMAND = AuditField("command", "command, with secrets masked, at most 200 characters")
_FAILED = AuditField("failed", "names of the hosts on which it failed")
_HOST = AuditField("host", "name of the host")
_FINGERPRINT = AuditField("fingerprint", "fingerprint of the trusted key, `SHA256:…`")
_PREVIOUS = AuditField("previous", "previous state of the host key: `unknown` or `changed`")

SSH_RUN = AuditAction(
    "ssh.run",
    "A command was run on hosts, or rejected by `ssh_deny.txt`.",
    (_HOSTS, _COMMAND, ACTOR),
    optional=(RUN, TRIGGER, STATUS, OK, _FAILED, DURATION_MS, OUTCOME),
    note="`outcome` if it was rejected, the other keys if it ran. The output is not recorded.",
)
SSH_TRUST = AuditAction("ssh.trust", "The key of a host was trusted.", (_HOST, _FINGERPRINT, _PREVIOUS))

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
    title="SSH",
    package=__package__,
    summary="SSH hosts: run commands on many of them, check their health, and manage their host keys",
    page="ssh.md",
    files=(
        WrittenFile("ssh_hosts", "ssh_hosts.yaml", "hosts and groups of hosts", f"{__package__}.inventory:HOSTS_FILE"),
    ),
    variables=(SSH_CONFIG, SSH_KEEP_S),
    tables={"ssh": MIGRATIONS},
    audit_actions=(SSH_RUN, SSH_TRUST),
    commands=(FeatureCommand("ssh", "run commands on hosts, check their health, and trust their keys"),),
    subsystems=(Subsystem("ssh", "SSH", 300, "ssh"),),
    run_kinds=("ssh",),
)
