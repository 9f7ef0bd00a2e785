"""The audit entries of the vault: names, never a value."""

from tocsin.core.audit.actions import AuditAction, AuditField, AuditSource

# Reads that no person asked for, such as for a skill.
VAULT = AuditSource("vault", "the vault, read for a part of Tocsin")

_NAMES = AuditField("names", "the names of the secrets")
_READER = AuditField("reader", "who reads: `cli`, or what needs them, such as `skill:` and its name")
_RECIPIENT = AuditField("recipient", "the public key")
_CHANGE = AuditField("change", "`add` or `remove`")
_BACKEND = AuditField("backend", "`pyrage` or `age`")
_FROM = AuditField("from", "the file that they were imported from")
_WRITE = AuditField("write", "how often the vault was written until then, as `vault.counter` says")
_VALUE = "never a value"

INIT = AuditAction("vault.init", "The vault was made.", (_RECIPIENT, _BACKEND))
SET = AuditAction("vault.set", "Values were entered or imported.", (_NAMES, _WRITE), (_FROM,), _VALUE)
GET = AuditAction(
    "vault.get",
    "Values were read, by a person or for a run; one entry for all of a run.",
    (_NAMES, _READER),
    (),
    _VALUE,
)
DELETE = AuditAction("vault.delete", "A secret was deleted.", (_NAMES, _WRITE))
ROTATE = AuditAction("vault.rotate", "A secret has a new value.", (_NAMES, _WRITE), (), _VALUE)
ACCEPT = AuditAction("vault.accept", "An older copy of the vault was accepted.", (_WRITE,))
REKEY = AuditAction("vault.rekey", "The vault was encrypted under a new identity.", (_RECIPIENT,))
RECIPIENTS = AuditAction("vault.recipients", "Who else can decrypt the vault was changed.", (_RECIPIENT, _CHANGE))

ACTIONS = (INIT, SET, GET, DELETE, ROTATE, ACCEPT, REKEY, RECIPIENTS)
