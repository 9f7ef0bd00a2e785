"""The audit entries of SSH."""

from tocsin.core.audit.actions import ACTOR, DURATION_MS, OK, OUTCOME, RUN, STATUS, TRIGGER, AuditAction, AuditField

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
