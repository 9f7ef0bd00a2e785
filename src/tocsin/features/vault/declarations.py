"""The settings, audit actions and audit source of the vault."""

from pathlib import Path

from tocsin.core.audit.actions import AuditAction, AuditField, AuditSource
from tocsin.core.config.variables import Variable, choice, directory

# Reads without a person, for example for a skill.
VAULT = AuditSource("vault", "the vault, read by a component of Tocsin")

_NAMES = AuditField("names", "names of the secrets")
_READER = AuditField("reader", "reader: `cli`, or the component, for example `skill:` and its name")
_RECIPIENT = AuditField("recipient", "public key")
_CHANGE = AuditField("change", "`add` or `remove`")
_BACKEND = AuditField("backend", "`pyrage` or `age`")
_FROM = AuditField("from", "file that they were imported from")
_WRITE = AuditField("write", "number of times the vault has been written, as recorded in `vault.counter`")
_VALUE = "The values are not recorded."

INIT = AuditAction("vault.init", "The vault was created.", (_RECIPIENT, _BACKEND))
SET = AuditAction("vault.set", "Values were stored or imported.", (_NAMES, _WRITE), (_FROM,), _VALUE)
GET = AuditAction(
    "vault.get",
    "Values were read, by a person or for a run; all reads of a run are one entry.",
    (_NAMES, _READER),
    (),
    _VALUE,
)
DELETE = AuditAction("vault.delete", "A secret was deleted.", (_NAMES, _WRITE))
ROTATE = AuditAction("vault.rotate", "The value of a secret was replaced.", (_NAMES, _WRITE), (), _VALUE)
ACCEPT = AuditAction("vault.accept", "An older copy of the vault was accepted.", (_WRITE,))
REKEY = AuditAction("vault.rekey", "The vault was encrypted for a new identity.", (_RECIPIENT,))
RECIPIENTS = AuditAction("vault.recipients", "A recipient of the vault was added or removed.", (_RECIPIENT, _CHANGE))

ACTIONS = (INIT, SET, GET, DELETE, ROTATE, ACCEPT, REKEY, RECIPIENTS)

BACKEND = Variable(
    "VAULT_BACKEND",
    choice("pyrage", "age"),
    "pyrage",
    "Encryption of the vault: `pyrage` in the Tocsin process, or the programs `age` and `age-keygen`.",
)
IDENTITY: Variable[Path | None] = Variable(
    "VAULT_IDENTITY",
    directory,
    None,
    "Path of the vault's private key, for keeping it apart from the vault.",
    shown_default="`identity.txt` in the data directory",
)
