"""The settings of the vault."""

from pathlib import Path

from tocsin.core.config.variables import Variable, choice, directory

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
