"""The service of the vault, for commands, features and the status; every method blocks."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.records.marks import Converted, Time
from tocsin.features.vault import declarations as actions
from tocsin.features.vault.model import (
    MAX_NOTE,
    NoVaultError,
    Recipient,
    VaultContent,
    VaultError,
    validate_name,
    validate_value,
)
from tocsin.features.vault.rotation import (
    RotationPolicies,
    RotationRecord,
    SecretAgeRecord,
    compute_age,
    count_by_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tocsin.core.audit.actions import AuditAction
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.errors import ConfigError
    from tocsin.features.vault.store import VaultStore

# 256 random bits, as long as the keys of providers.
GENERATED_BYTES = 32


class VaultStatusRecord(NamedTuple):
    """State of the vault."""

    initialized: bool
    locked: Annotated[bool, "Whether the vault cannot be read; `problem` has the reason."]
    backend: str
    vault_mode: str | None
    identity_mode: str | None
    permissions_ok: bool
    key_count: int | None
    updated_at: Time | None
    problem: Annotated[TocsinError | None, Converted(lambda error: error and error.sentence(), str | None)]
    rotation: RotationRecord


class Vault:
    """The vault of a data directory. Its audit entries contain names, never values."""

    def __init__(
        self,
        store: "VaultStore",
        audit: "Callable[[], AuditTrail]",
        policies: "Callable[[], tuple[RotationPolicies, ConfigError | None]]",
        now: "Callable[[], float]",
    ) -> None:
        """`audit` is called when an entry is recorded: a command that only lists does not import the audit log.

        `policies` returns the current policies, and the error of the file's present content, if any.
        """
        self.store = store
        self.policies = policies
        self._audit = audit
        self._now = now

    def init(self, *, source: str) -> str:
        """Create an identity and an empty vault; return the public key."""
        recipient = self.store.init()
        facts = {"recipient": recipient, "backend": self.store.cipher.name}
        self._record(actions.INIT, "the vault was created", source, facts)
        return recipient

    def get(self, name: str, *, source: str, reader: str) -> str:
        """Return a value; raise UnknownSecretError."""
        return self.reveal((name,), source=source, reader=reader)[name]

    def reveal(self, names: Collection[str] | None, *, source: str, reader: str) -> Mapping[str, str]:
        """Return values by name, by default all; no audit entry is written if there are none."""
        content = self.store.read()
        wanted = sorted(content.secrets) if names is None else dict.fromkeys(names)
        values = {name: content.secret(name).value for name in wanted}
        if values:
            shown = "all" if names is None else ", ".join(values)
            self._record(actions.GET, f"{reader} read {shown}", source, {"names": list(values), "reader": reader})
        return values

    def set(self, name: str, value: str, *, source: str) -> None:
        """Store a value; replacing one resets its age."""
        validate_name(name)
        validate_value(value)
        written = self.store.change(lambda content: content.with_secret(name, value, self._now()))
        self._record(actions.SET, f"{name} was set", source, {"names": [name], "write": written.writes})

    def rotate(self, name: str, value: str, *, source: str) -> None:
        """Replace the value of a secret; raise UnknownSecretError, or VaultError if it is unchanged."""
        validate_value(value)

        def renew(content: VaultContent) -> VaultContent:
            if content.secret(name).value == value:
                raise VaultError(f"{name} already has this value", hint="enter a new value")
            return content.with_secret(name, value, self._now())

        written = self.store.change(renew)
        self._record(actions.ROTATE, f"{name} has a new value", source, {"names": [name], "write": written.writes})

    def delete(self, name: str, *, source: str) -> None:
        """Delete a secret; raise UnknownSecretError."""
        written = self.store.change(lambda content: content.without(name))
        self._record(actions.DELETE, f"{name} was deleted", source, {"names": [name], "write": written.writes})

    def import_values(self, values: Mapping[str, str], *, origin: str, source: str) -> None:
        """Store all values of a file atomically; existing ones with the same value keep their age."""
        for name, value in values.items():
            validate_name(name)
            validate_value(value)

        def add(content: VaultContent) -> VaultContent:
            for name, value in values.items():
                if name not in content.secrets or content.secrets[name].value != value:
                    content = content.with_secret(name, value, self._now())
            return content

        written, names = self.store.change(add), list(values)
        facts = {"names": names, "from": origin, "write": written.writes}
        self._record(actions.SET, f"{len(names)} imported from {origin}", source, facts)

    def accept(self, *, source: str) -> None:
        """Accept an older copy of the vault as its newest version."""
        written = self.store.accept()
        self._record(actions.ACCEPT, "an older copy of the vault was accepted", source, {"write": written.writes})

    def rekey(self, *, source: str) -> str:
        """Encrypt the vault with a new identity; return its public key."""
        recipient = self.store.rekey()
        self._record(actions.REKEY, "the vault has a new identity", source, {"recipient": recipient})
        return recipient

    def recipients(self) -> tuple[Recipient, ...]:
        return self.store.read().recipients

    def add_recipient(self, key: str, note: str, *, source: str) -> str:
        """Add a public key that can decrypt the vault; return it in canonical form."""
        if len(note) > MAX_NOTE or not note.isprintable():
            raise VaultError("the note is too long, or contains invisible characters", hint="use a few words")
        checked = self.store.cipher.validate_recipient(key)
        if checked == self.store.recipient():
            raise VaultError(
                "this is the public key of the vault itself", hint="add the key of another person, or a recovery key"
            )
        self.store.change(lambda content: content.with_recipient(checked, note))
        self._record(actions.RECIPIENTS, "a recipient was added", source, {"recipient": checked, "change": "add"})
        return checked

    def remove_recipient(self, key: str, *, source: str) -> None:
        """Encrypt the vault without a recipient, who can still read earlier copies."""
        self.store.change(lambda content: content.without_recipient(key))
        self._record(actions.RECIPIENTS, "a recipient was removed", source, {"recipient": key, "change": "remove"})

    def ages(self) -> tuple[SecretAgeRecord, ...]:
        """Return the age of each secret, by name."""
        age = partial(compute_age, policies=self.policies()[0], now=self._now())
        return tuple(age(name, secret) for name, secret in sorted(self.store.read().secrets.items()))

    def status(self) -> VaultStatusRecord:
        """Return the state of the vault; an unreadable one has a `problem`."""
        try:
            return self._status(self.ages())
        except NoVaultError:
            return self._status()
        except TocsinError as problem:
            return self._status(problem=problem)

    def _status(
        self, ages: tuple[SecretAgeRecord, ...] | None = None, problem: TocsinError | None = None
    ) -> VaultStatusRecord:
        vault, identity = (_mode_of(file) for file in (self.store.vault, self.store.identity))
        initialized = ages is not None or problem is not None
        return VaultStatusRecord(
            initialized=initialized,
            locked=problem is not None,
            backend=self.store.cipher.name,
            vault_mode=vault,
            identity_mode=identity,
            permissions_ok=not initialized or {vault, identity} <= {"0600", "0400"},
            key_count=None if ages is None else len(ages),
            updated_at=self._updated_at(),
            problem=problem,
            rotation=count_by_state(ages or ()),
        )

    def _updated_at(self) -> float | None:
        try:
            return self.store.vault.stat().st_mtime
        except OSError:
            return None

    def _record(self, action: "AuditAction", detail: str, source: str, facts: Mapping[str, object]) -> None:
        self._audit().record(action, detail, source=source, metadata=facts)


def generate_value() -> str:
    from secrets import token_urlsafe

    return token_urlsafe(GENERATED_BYTES)


def _mode_of(file: "Path") -> str | None:
    try:
        return f"{file.stat().st_mode & 0o7777:04o}"
    except OSError:
        return None
