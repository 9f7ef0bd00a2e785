"""Encryption of the vault: the age v1 format with X25519, in this process or by the `age` programs.

Both backends read each other's files. Format: https://age-encryption.org/v1
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tocsin.core.errors import ProcessError
from tocsin.core.storage.files import read_limited
from tocsin.features.vault.model import ProgramFailedError, VaultError

# Decrypting the largest vault takes a second; a hanging program must not block the caller.
AGE_TIMEOUT_S = 60.0
INSTALL_AGE = "install age (Debian and Ubuntu: apt-get install age), or set VAULT_BACKEND=pyrage"
_MAGIC = b"age-encryption.org/v1\n"
_ARMOR_BEGIN, _ARMOR_END = "-----BEGIN AGE ENCRYPTED FILE-----", "-----END AGE ENCRYPTED FILE-----"
_WRONG_IDENTITY = "use the identity with which the vault was created, or restore both files from the same backup"


class KeyPair(NamedTuple):
    """An identity, which is secret, and its public key."""

    identity: str
    recipient: str


class Cipher(Protocol):
    """Encrypts and decrypts. Methods block, and raise VaultError with the remedy."""

    name: str

    def generate(self) -> KeyPair:
        """Return a new key pair."""

    def read_recipient(self, identity_file: Path) -> str:
        """Return the public key of the identity in a file."""

    def validate_recipient(self, recipient: str) -> str:
        """Validate a public key for encryption and return it; raises VaultError."""

    def encrypt(self, clear: bytes, recipients: Sequence[str]) -> bytes:
        """Encrypt `clear`, text in UTF-8, for each recipient."""

    def decrypt(self, data: bytes, identity_file: Path) -> bytes:
        """Decrypt `data`."""


class PyrageCipher:
    """The cipher in this process, with `pyrage`."""

    name = "pyrage"

    def generate(self) -> KeyPair:
        from pyrage import x25519

        identity = x25519.Identity.generate()
        return KeyPair(str(identity), str(identity.to_public()))

    def read_recipient(self, identity_file: Path) -> str:
        return str(self._identity(identity_file).to_public())

    def validate_recipient(self, recipient: str) -> str:
        from pyrage import RecipientError, x25519

        try:
            return str(x25519.Recipient.from_str(recipient.strip()))
        except RecipientError:
            raise _bad_recipient() from None

    def encrypt(self, clear: bytes, recipients: Sequence[str]) -> bytes:
        import pyrage

        try:
            keys = [pyrage.x25519.Recipient.from_str(key) for key in recipients]
        except pyrage.RecipientError:
            raise _bad_recipient() from None
        return bytes(pyrage.encrypt(clear, keys))

    def decrypt(self, data: bytes, identity_file: Path) -> bytes:
        import pyrage

        identity = self._identity(identity_file)
        _refuse_foreign(data)
        try:
            return bytes(pyrage.decrypt(data, [identity]))
        except pyrage.DecryptError as error:
            raise _unreadable(str(error), data) from None

    def _identity(self, file: Path) -> Any:
        from pyrage import IdentityError, x25519

        try:
            return x25519.Identity.from_str(identity_line(file))
        except IdentityError:
            raise _bad_identity(file) from None


class AgeCipher:
    """The cipher with the programs `age` and `age-keygen`."""

    name = "age"

    def generate(self) -> KeyPair:
        text = self._run(["age-keygen"]).decode()
        identity = next(line for line in text.splitlines() if line.startswith("AGE-SECRET-KEY-"))
        recipient = next(line for line in text.splitlines() if line.startswith("# public key: "))
        return KeyPair(identity, recipient.removeprefix("# public key: "))

    def read_recipient(self, identity_file: Path) -> str:
        try:
            return self._run(["age-keygen", "-y", str(identity_file)]).decode().split()[-1]
        except (ProgramFailedError, IndexError):
            identity_line(identity_file)
            raise _bad_identity(identity_file) from None

    def validate_recipient(self, recipient: str) -> str:
        key = recipient.strip()
        # For any other form, such as a plug-in's, `age` would start another program.
        if not re.fullmatch(r"age1[02-9ac-hj-np-z]{58}", key):
            raise _bad_recipient()
        try:
            self._run(["age", "-r", key], b"x")
        except ProgramFailedError:
            raise _bad_recipient() from None
        return key

    def encrypt(self, clear: bytes, recipients: Sequence[str]) -> bytes:
        return self._run(["age", *(word for key in recipients for word in ("-r", key))], clear)

    def decrypt(self, data: bytes, identity_file: Path) -> bytes:
        _refuse_foreign(data)
        try:
            return self._run(["age", "-d", "-i", str(identity_file)], _armor(data))
        except ProgramFailedError as error:
            self.read_recipient(identity_file)
            raise _unreadable(str(error), data) from None

    def _run(self, argv: Sequence[str], stdin: bytes = b"") -> bytes:
        from tocsin.features.vault.programs import run_program

        try:
            return run_program(argv, stdin, AGE_TIMEOUT_S)
        except ProgramFailedError:
            raise
        except ProcessError:
            raise VaultError(f"{argv[0]} cannot be started", hint=INSTALL_AGE) from None


def select_cipher(backend: str) -> Cipher:
    return AgeCipher() if backend == "age" else PyrageCipher()


def identity_line(file: Path) -> str:
    """Return the only X25519 identity of a file in the format of `age-keygen`; raises VaultError."""
    try:
        lines = read_limited(file, 64 * 1024).decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise _bad_identity(file) from None
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if len(found) != 1 or not found[0].startswith("AGE-SECRET-KEY-1"):
        raise _bad_identity(file)
    return found[0]


def _armor(data: bytes) -> bytes:
    """Encode a file in the text form of the format (RFC 7468), which any text pipe can carry."""
    from base64 import b64encode
    from textwrap import wrap

    return "\n".join([_ARMOR_BEGIN, *wrap(b64encode(data).decode(), 64), _ARMOR_END, ""]).encode()


def _refuse_foreign(data: bytes) -> None:
    if not data.startswith(_MAGIC):
        raise VaultError(
            "the vault is empty or not an age file" if data else "the vault is an empty file",
            hint="restore vault.enc from a backup",
        )


def _unreadable(reason: str, data: bytes) -> VaultError:
    if b"-> scrypt " in data[:400]:
        hint = "decrypt it with `age -d` and store each secret again"
        return VaultError("the vault is encrypted with a passphrase", hint=hint)
    # A damaged header gives the same error: the vault cannot be opened in either case.
    if "matching" in reason or "no identity" in reason or "incorrect" in reason:
        return VaultError("the vault was encrypted for another identity, or is damaged", hint=_WRONG_IDENTITY)
    return VaultError("the vault is damaged and cannot be decrypted", hint="restore vault.enc from a backup")


def _bad_identity(file: Path) -> VaultError:
    return VaultError(f"{file} must contain exactly one age identity", hint=_WRONG_IDENTITY)


def _bad_recipient() -> VaultError:
    return VaultError("not an age public key", hint="it starts with age1; `age-keygen -y` prints it")
