"""The files of the vault: the encrypted file and the identity, changed atomically under a lock."""

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tocsin.core.storage.files import WriteError, make_directory, only_writer, read_limited, write_atomically
from tocsin.features.vault.cipher import Cipher
from tocsin.features.vault.model import NoVaultError, OlderVaultError, VaultContent, VaultError, decode, encode

VAULT_FILE, IDENTITY_FILE, COUNTER_FILE = "vault.enc", "identity.txt", "vault.counter"
LOCKED_AS = "vault"  # by `vault.lock`
MAX_VAULT_BYTES = 32 * 1024 * 1024
LOCK_TIMEOUT_S = 30.0


class VaultStore:
    """The vault of a data directory; every method blocks, and raises VaultError with the remedy."""

    def __init__(
        self,
        data_dir: Path,
        cipher: Cipher,
        identity: Path | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.vault = data_dir / VAULT_FILE
        self.identity = identity or data_dir / IDENTITY_FILE
        self.counter = data_dir / COUNTER_FILE
        self.cipher = cipher
        self._locked_as = data_dir / LOCKED_AS
        self._monotonic = monotonic
        self._sleep = sleep

    def exists(self) -> bool:
        """Return True if there is a vault, readable or not."""
        return _is_there(self.vault) or _is_there(self.identity)

    def init(self) -> str:
        """Create an identity and an empty vault; return the public key.

        An identity without a vault, left by a kill between the two steps, is kept.
        """
        make_directory(self.vault.parent)
        with self._locked():
            if _is_there(self.vault):
                raise VaultError(f"a vault already exists: {self.vault}", hint="`tocsin vault status` shows its state")
            if _is_there(self.identity):
                refuse_readers(self.identity)
                recipient = self.cipher.read_recipient(self.identity)
            else:
                pair = self.cipher.generate()
                recipient = pair.recipient
                self._write_identity(pair.identity, recipient)
            self._write(VaultContent(), recipient)
        return recipient

    def read(self) -> VaultContent:
        """Return the content of the vault; raise OlderVaultError for a copy from before its last change."""
        counted = self.counted()  # before the vault, which is written first
        content = self.decrypt_any()
        self.refuse_older(content, counted)
        return content

    def refuse_older(self, content: VaultContent, counted: int) -> None:
        """Raise OlderVaultError if the counter has more writes than the content."""
        if content.writes < counted:
            raise OlderVaultError(
                f"{self.vault} is an older copy: it has {content.writes} of {counted} changes",
                hint="restore the newest one; `tocsin vault accept` accepts this copy",
            )

    def counted(self) -> int:
        """Return the number of writes from the counter file; 0 without that file."""
        try:
            return int(read_limited(self.counter, 100)) if os.path.lexists(self.counter) else 0
        except ValueError:
            sentence = f"{self.counter} does not hold a number"
            raise OlderVaultError(sentence, hint="`tocsin vault accept` writes it again") from None

    def accept(self) -> VaultContent:
        """Make an older copy the newest version; the newer one then counts as an older copy."""
        self.require()
        with self._locked():
            return self._write(self.decrypt_any(), self.cipher.read_recipient(self.identity))

    def decrypt_any(self) -> VaultContent:
        """Return the content of the vault, however old it is."""
        self.require()
        _leave_no_core()
        data = self._encrypted()
        while True:
            try:
                return decode(self.cipher.decrypt(data, self.identity))
            except VaultError:
                # Between the two reads, another process may have encrypted the vault with a new identity.
                tried, data = data, self._encrypted()
                if data == tried:
                    raise

    def recipient(self) -> str:
        """Return the public key of the identity."""
        self.require()
        return self.cipher.read_recipient(self.identity)

    def change(self, work: Callable[[VaultContent], VaultContent]) -> VaultContent:
        """Replace the content with the result of `work`, atomically for all readers and writers."""
        self.require()
        with self._locked():
            return self._write(work(self.read()), self.cipher.read_recipient(self.identity))

    def rekey(self) -> str:
        """Encrypt the vault with a new identity, which replaces the old one; return its public key.

        The identity file can decrypt the vault after every step: between the two replacements it is encrypted to both
        identities.
        """
        self.require()
        with self._locked():
            content = self.read()
            old = self.cipher.read_recipient(self.identity)
            pair = self.cipher.generate()
            self._write(content, old, pair.recipient)
            self._write_identity(pair.identity, pair.recipient)
            self._write(content, pair.recipient)
        return pair.recipient

    def require(self) -> None:
        """Raise VaultError unless both files exist and only this user can read them."""
        if not self.exists():
            raise NoVaultError("no vault exists", hint="create one with `tocsin vault init`")
        if not _is_there(self.vault):
            hint = "restore it from a backup, or make an empty one with `tocsin vault init`"
            raise VaultError(f"{self.vault} is missing", hint=hint)
        if not _is_there(self.identity):
            raise VaultError(
                f"{self.identity} is missing: without it, the vault cannot be opened", hint="restore it from a backup"
            )
        for file in (self.vault, self.identity):
            refuse_readers(file)

    def _encrypted(self) -> bytes:
        size = _stat(self.vault).st_size
        if size > MAX_VAULT_BYTES:
            sentence = f"{self.vault} has {size:,} bytes, more than any vault has"
            raise VaultError(sentence, hint="restore it from a backup")
        return read_limited(self.vault, MAX_VAULT_BYTES)

    def _write(self, content: VaultContent, *own: str) -> VaultContent:
        """Store the content, and return it with its number; the counter is written afterwards and may lag."""
        keys = dict.fromkeys((*own, *(other.key for other in content.recipients)))
        with suppress(OlderVaultError):  # without a number: it is written anew
            content = content._replace(writes=max(content.writes, self.counted()))
        content = content._replace(writes=content.writes + 1)
        data = self.cipher.encrypt(encode(content), list(keys))
        if len(data) > MAX_VAULT_BYTES:
            sentence = f"the vault would have {len(data):,} bytes, limit {MAX_VAULT_BYTES:,}"
            raise VaultError(sentence, hint="delete secrets that are not used")
        write_atomically(self.vault, data, read_back=True)
        with suppress(WriteError):  # the vault is stored; the next write updates the counter
            write_atomically(self.counter, f"{content.writes}\n")
        return content

    def _write_identity(self, identity: str, recipient: str) -> None:
        write_atomically(self.identity, f"# public key: {recipient}\n{identity}\n", read_back=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of all writers."""
        with only_writer(
            self._locked_as,
            LOCK_TIMEOUT_S,
            name="the vault",
            error=VaultError,
            monotonic=self._monotonic,
            sleep=self._sleep,
        ):
            self._remove_leftovers()
            yield

    def _remove_leftovers(self) -> None:
        """Remove files of a killed writer; the caller holds the lock, so no other writer is active."""
        for file in (self.vault, self.identity, self.counter):
            place = Path(os.path.realpath(file))
            for left in place.parent.glob(f".tocsin-{place.name}-*.tmp"):
                with suppress(OSError):
                    left.unlink()


def refuse_readers(file: Path) -> None:
    """Raise VaultError if other users may read or change a file."""
    found = _stat(file)
    quoted = shlex.quote(str(file))
    if found.st_uid != os.geteuid():
        hint = f"run this as the user with the number {found.st_uid}, or chown {os.geteuid()} {quoted}"
        raise VaultError(f"{file} belongs to another user", hint=hint)
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise VaultError(f"other users can access {file} (mode {mode})", hint=f"chmod 600 {quoted}")


def _is_there(file: Path) -> bool:
    try:
        return bool(_stat(file))
    except NoVaultError:
        return False


def _stat(file: Path) -> os.stat_result:
    """Return the state of a file; raise NoVaultError if it does not exist, VaultError if it cannot be accessed."""
    try:
        return file.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise NoVaultError(f"{file} is missing", hint="create a vault with `tocsin vault init`") from None
    except OSError as error:
        hint = "check the permissions of its directories"
        raise VaultError(f"cannot read {file}: {error.strerror}", hint=hint) from None


def _leave_no_core() -> None:
    """Disable core dumps of this process: from now on, its memory contains values."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
