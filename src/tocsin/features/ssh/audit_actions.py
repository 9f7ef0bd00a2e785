"""The audit entries of SSH."""

from tocsin.core.audit.actions import ACTOR, DURATION_MS, OK, OUTCOME, RUN, STATUS, TRIGGER, AuditAction, AuditField

_HOSTS = AuditField("hosts", "the names of the hosts")
_COMMAND = AuditField("command", "the command, with secrets masked, at most 200 characters")
_FAILED = AuditField("failed", "the names of the hosts on which it did not succeed")
_HOST = AuditField("host", "the name of the host")
_FINGERPRINT = AuditField("fingerprint", "of the key that is trusted now, as `SHA256:…`")
_PREVIOUS = AuditField("previous", "the state of the host key before: `unknown` or `changed`")

SSH_RUN = AuditAction(
    "ssh.run",
    "A command was run on hosts, or refused by `ssh_deny.txt`.",
    (_HOSTS, _COMMAND, ACTOR),
    optional=(RUN, TRIGGER, STATUS, OK, _FAILED, DURATION_MS, OUTCOME),
    note="`outcome` for what was refused, the other keys for what was run; never what it printed",
)
SSH_TRUST = AuditAction("ssh.trust", "The key of a host is trusted from now on.", (_HOST, _FINGERPRINT, _PREVIOUS))
